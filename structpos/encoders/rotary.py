"""Rotary positions: queries and keys are turned by angles that grow with the position, on one axis or on several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor

from structpos.encoders.base import PositionEncoder, at_least, one_of
from structpos.errors import PositionError
from structpos.frequencies import Frequencies, angles
from structpos.positions import Positions
from structpos.signals import Kind, Pairing, Rotation


@dataclass(frozen=True, kw_only=True)
class Sections:
    """Which pairs of features read which axis.

    Args:
        pairs: Number of pairs of each axis; an equal share by default.
        interleaved: Whether axes take turns pair by pair, the first one keeping what the others leave (as Qwen3-VL), or
            stand in blocks one after another.
        ladder: ``restart``: each axis has the whole ladder of frequencies (axial, EVA). ``continue``: one ladder
            runs on through all pairs, so that the first block is the fastest (M-RoPE of Qwen2-VL).
    """

    pairs: tuple[int, ...] | None = None
    interleaved: bool = False
    ladder: Literal["restart", "continue"] = "restart"


class Rotary(PositionEncoder):
    """Turns pairs of features of queries and keys, so that scores depend on differences of positions.

    Args:
        head_width: Width of one head.
        axes: The axis it reads, or several that share the head.
        base: Pair i turns by ``base ** (-2 i / r)`` radians a unit, for r rotated features.
        wavelengths: Shortest and longest wavelength in units of the axis, instead of ``base``.
        pairing: ``interleaved`` (RoFormer, GPT-J; the fast one) or ``half`` (Llama, GPT-NeoX checkpoints).
        rotate: Number of features that are turned; all of them by default, the rest pass unchanged.
        sections: Which pairs read which axis.

    Shapes:
        return: a Rotation for batch 1 queries and keys; angle 0 for tokens without the axis.

    Raises:
        PositionError: an odd number of features, sections that do not fill them, no such axis.

    Source: Su et al. 2021 (RoFormer), equation 34.

    Example:
        >>> rope = Rotary(head_width=4)
        >>> rope(Positions.sequence(2)).query(torch.ones(1, 1, 2, 4))[0, 0, 1]
        tensor([-0.3012,  1.3818,  0.9900,  1.0099])
        >>> Rotary(head_width=64, axes=("row", "col"))(Positions.grid(2, 3))
        Rotation(6 queries, 6 keys, 64 features, interleaved)
    """

    signal: Kind = "rotation"

    def __init__(
        self,
        head_width: int,
        axes: str | tuple[str, ...] = "order",
        *,
        base: float = 10000.0,
        wavelengths: tuple[float, float] | None = None,
        pairing: Pairing = "interleaved",
        rotate: int | None = None,
        sections: Sections | None = None,
    ) -> None:
        super().__init__()
        at_least("Rotary", "head_width", head_width)
        one_of("Rotary", "pairing", pairing, ("interleaved", "half"))
        if rotate is None and head_width % 2:
            raise PositionError(
                f"Rotary needs an even head width, got {head_width}. Use {head_width + 1}, or turn part of it: "
                f"Rotary(head_width={head_width}, rotate={head_width - 1})."
            )
        turned = head_width if rotate is None else rotate
        at_least("Rotary", "rotate", turned, 2)
        if turned % 2 or turned > head_width:
            raise PositionError(f"Rotary: rotate needs an even number up to the head width {head_width}, got {rotate}.")
        self.frequencies = Frequencies(base=base, wavelengths=wavelengths)
        self._axes = (axes,) if isinstance(axes, str) else tuple(axes)
        if not self._axes or len(set(self._axes)) < len(self._axes):
            raise PositionError(f"Rotary needs at least one axis and each of them once, got {axes!r}.")
        self.head_width, self.base, self.wavelengths = head_width, base, wavelengths
        self.pairing, self.rotate, self.sections = pairing, rotate, sections
        self.pairs = turned // 2
        self.shares = _shares(self._axes, self.pairs, sections or Sections())

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it reads."""
        return self._axes

    def angles(self, positions: Positions) -> Float64[Tensor, "batch seq pairs"]:
        """Every pair's angle at every token [radians]; 0 for padding and for tokens without the axis."""
        sections = self.sections or Sections()
        turns = [self._turns(positions, axis, number, sections) for number, axis in enumerate(self._axes)]
        return torch.stack(turns).sum(0) if sections.interleaved else torch.cat(turns, -1)

    def forward(self, queries: Positions, keys: Positions | None = None) -> Rotation:
        """The rotation of queries at ``queries`` and of keys at ``keys``."""
        query = self._table(queries)
        key = (None, None) if keys is None or keys is queries else self._table(keys)
        return Rotation(*query, *key, pairing=self.pairing, head_width=self.head_width)

    def _table(self, positions: Positions) -> tuple[Tensor, Tensor]:
        angle = self.angles(positions)[:, None]  # (batch, 1, seq, pairs)
        return angle.cos().to(self.precision), angle.sin().to(self.precision)

    def _turns(self, positions: Positions, axis: str, number: int, sections: Sections) -> Tensor:
        coordinate = self.read(positions, axis)
        present = positions.has(axis)
        if present is not None:
            coordinate = coordinate.masked_fill(~present, 0)
        if positions.mask is not None:
            coordinate = coordinate.masked_fill(~positions.mask, 0)
        share, device = self.shares[number], coordinate.device
        if sections.interleaved:
            return angles(coordinate, self._every_nth(number, share, sections, device))
        if sections.ladder == "restart":
            return angles(coordinate, self.frequencies.angular(share, 2 * share, device=device))
        before = sum(self.shares[:number])
        return angles(coordinate, self.frequencies.angular(share, 2 * self.pairs, start=before, device=device))

    def _every_nth(self, number: int, share: int, sections: Sections, device: torch.device) -> Tensor:
        """The frequencies of one axis at its own pairs, 0 at all others."""
        count, index = len(self._axes), torch.arange(self.pairs, device=device)
        owner = torch.zeros_like(index)
        for other in range(1, count):
            owner = torch.where((index % count == other) & (index < count * self.shares[other]), other, owner)
        mine = owner == number
        if sections.ladder == "continue":
            ladder = self.frequencies.angular(self.pairs, 2 * self.pairs, device=device)
        else:
            ladder = self.frequencies.angular(self.pairs, 2 * share, device=device)[(mine.cumsum(0) - 1).clamp(min=0)]
        return torch.where(mine, ladder, 0.0)


def _shares(axes: tuple[str, ...], pairs: int, sections: Sections) -> tuple[int, ...]:
    one_of("Sections", "ladder", sections.ladder, ("restart", "continue"))
    if sections.pairs is None:
        if pairs % len(axes):
            raise PositionError(
                f"Rotary: {pairs} pairs cannot be shared equally by {len(axes)} axes ({', '.join(axes)}). "
                "State the shares: sections=Sections(pairs=(...))."
            )
        return (pairs // len(axes),) * len(axes)
    shares = tuple(sections.pairs)
    if len(shares) != len(axes) or sum(shares) != pairs or min(shares) < 1:
        raise PositionError(
            f"Sections: {len(axes)} axes need as many shares of at least 1 that add up to {pairs} pairs, got {shares}."
        )
    room = [pairs] + [(pairs - 1 - number) // len(axes) + 1 for number in range(1, len(axes))]
    for axis, share, most in zip(axes, shares, room, strict=True):
        if sections.interleaved and sections.ladder == "restart" and share > most:
            raise PositionError(
                f"Sections: axes that take turns give '{axis}' one pair in {len(axes)} of {pairs}, {most} at most; "
                f"got {shares}. Name the axis with the largest share first, or use interleaved=False."
            )
    return shares
