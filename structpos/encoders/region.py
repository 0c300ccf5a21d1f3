"""A region of the tokens, and encoders restricted to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from structpos.encoders.base import PositionEncoder, Signal
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Kind


@dataclass(frozen=True, kw_only=True)
class Region:
    """Some of the tokens: those with ``start <= coordinate < stop`` on an axis, or those a function picks.

    Args:
        axis: The axis; tokens without it are outside.
        start, stop: Its ends; None leaves that side open.
        edge: Over how many units of the axis the region fades out beyond its ends (half a cosine); 0 is a hard edge.
        where: A function of Positions that gives True or a weight from 0 to 1 for each token, instead of the ends.
            For a mask of your own, make it an axis: ``positions.with_axes(headline=..., present={"headline":
            mask})``.

    Raises:
        PositionError: ends that do not rise, an edge below 0, or a function that gives another shape.

    Example:
        >>> Region(axis="order", start=1, stop=3).weight(Positions.sequence(5))
        tensor([[0., 1., 1., 0., 0.]])
        >>> Region(axis="order", stop=2, edge=2).weight(Positions.sequence(5))
        tensor([[1.0000, 1.0000, 1.0000, 0.5000, 0.0000]])
    """

    axis: str = "order"
    start: float | None = None
    stop: float | None = None
    edge: float = 0.0
    where: Callable[[Positions], Tensor] | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.stop is not None and not self.start < self.stop:
            raise PositionError(f"Region: start needs to be below stop, got {self.start} and {self.stop}.")
        if self.edge < 0:
            raise PositionError(f"Region: edge needs to be 0 or more, got {self.edge}.")

    def weight(self, positions: Positions) -> Float[Tensor, "batch seq"]:
        """1 inside, 0 outside, between at a soft edge."""
        if self.where is not None:
            weight = self.where(positions)
            if weight.shape != positions.shape:
                raise PositionError(f"Region: where gave {tuple(weight.shape)} for positions of {positions.shape}.")
            return weight.float() * positions.real()
        place = positions.axis(self.axis, "Region").double()
        weight = torch.ones_like(place)
        if self.start is not None:
            weight = weight * self._fade(self.start - place)
        if self.stop is not None:
            beyond = place - self.stop
            weight = weight * (self._fade(beyond) if self.edge else (beyond < 0).double())
        return (weight * positions.presence(self.axis) * positions.real()).float()

    def contains(self, positions: Positions) -> Bool[Tensor, "batch seq"]:
        """True for the tokens inside; a soft edge is cut in its middle."""
        return self.weight(positions) >= 0.5

    def _fade(self, beyond: Tensor) -> Tensor:
        if not self.edge:
            return (beyond <= 0).double()
        return 0.5 + 0.5 * torch.cos(math.pi * (beyond / self.edge).clamp(0, 1))


class Where(PositionEncoder):
    """An encoder for some of the tokens; to it, the others have no place.

    Args:
        part: Any encoder.
        region: The tokens it is for.

    Example:
        >>> from structpos import Sinusoidal
        >>> Where(Sinusoidal(2), Region(stop=1))(Positions.sequence(2))
        tensor([[[0., 1.],
                 [0., 0.]]])
    """

    def __init__(self, part: PositionEncoder, region: Region) -> None:
        super().__init__()
        self.part, self.region = part, region
        self.signal: Kind = part.signal

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it reads."""
        own = () if self.region.where else (self.region.axis,)
        return tuple(dict.fromkeys((*self.part.axes, *own)))

    def forward(self, queries: Positions, keys: Positions | None = None) -> Signal:
        """The part's signal, neutral outside the region."""
        if keys is None or keys is queries:
            signal: Any = self.part(self._inside(queries))
        else:
            signal = self.part(self._inside(queries), self._inside(keys))
        return signal  # type: ignore[no-any-return]

    def _inside(self, positions: Positions) -> Positions:
        for axis in self.axes:
            self.read(positions, axis)
        return positions.restrict(self.region.contains(positions), self.part.axes)
