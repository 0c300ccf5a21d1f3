"""Ladders of angular frequencies, and the angles that coordinates take on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Shaped
from torch import Tensor

from structpos.errors import PositionError

WITHOUT_FLOAT64 = {"mps"}


@dataclass(frozen=True, kw_only=True)
class Frequencies:
    """A geometric ladder of angular frequencies, fastest first.

    Args:
        base: Pair i of a code of width d turns by ``base ** (-2 i / d)`` radians a unit of the axis; any number > 1.
        wavelengths: The shortest and the longest wavelength in units of the axis instead, with equal ratios between.

    Raises:
        PositionError: a base that is no number above 1, or wavelengths that do not rise from above 0.

    Source: Vaswani et al. 2017, section 3.5; tensor2tensor's ladder is ``wavelengths=(2 pi, 2 pi base)``.

    Example:
        >>> Frequencies().angular(4, 8).float()
        tensor([1.0000, 0.1000, 0.0100, 0.0010])
        >>> (2 * math.pi / Frequencies(wavelengths=(2, 32)).angular(3, 6)).float()
        tensor([ 2.,  8., 32.])
    """

    base: float = 10000.0
    wavelengths: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.base, bool) or not isinstance(self.base, (int, float)):
            raise PositionError(f"base needs a number above 1, got {self.base!r} ({type(self.base).__name__}).")
        if not (math.isfinite(self.base) and self.base > 1):
            raise PositionError(f"base needs to be above 1, got {self.base}; 10000 is the usual one.")
        if self.wavelengths is not None:
            pair = tuple(self.wavelengths)
            if len(pair) != 2 or not 0 < pair[0] < pair[1] < math.inf:
                raise PositionError(
                    f"wavelengths need (shortest, longest) with 0 < shortest < longest, got {self.wavelengths}."
                )

    def angular(
        self, pairs: int, width: int, *, start: int = 0, device: torch.device | None = None
    ) -> Float64[Tensor, " pairs"]:
        """Radians a unit of the axis for pairs ``start`` to ``start + pairs``, of a code of ``width`` features."""
        _needs_float64(device)
        index = torch.arange(start, start + pairs, dtype=torch.float64, device=device)
        if self.wavelengths is None:
            return torch.pow(float(self.base), -2.0 * index / width)
        shortest, longest = self.wavelengths
        last = max(width // 2 + width % 2 - 1, 1)
        return 2.0 * math.pi / shortest * torch.pow(longest / shortest, -index / last)


def angles(
    coordinate: Shaped[Tensor, "*place"], frequencies: Float[Tensor, " pairs"]
) -> Float64[Tensor, "*place pairs"]:
    """Coordinate times frequency in float64: in float32 the angle is off by 0.05 radians at position 1,000,000.

    Multiplied element by element, which autocast leaves alone; a matrix product it would run in half precision.
    """
    _needs_float64(coordinate.device)
    return coordinate.double().unsqueeze(-1) * frequencies


def _needs_float64(device: torch.device | None) -> None:
    if device is not None and device.type in WITHOUT_FLOAT64:
        raise PositionError(
            f"Angles are computed in float64, which {device.type} lacks. Keep Positions and encoder on the CPU and "
            "move the signal to the device."
        )
