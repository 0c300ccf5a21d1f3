"""Local emphasis: positions count more where it matters."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from structpos.encoders.base import PositionEncoder
from structpos.encoders.compose import on_the_input
from structpos.encoders.region import Region
from structpos.positions import Positions


class Emphasis(PositionEncoder):
    """An encoder on the input whose vectors are multiplied inside a region, such as the headline that holds the date.

    Args:
        part: An encoder on the input.
        region: The tokens that count more; ``Region(start=1, stop=21)`` are tokens 1 to 20.
        gain: The factor inside; outside it is 1, at a soft edge between.
        learnable: Whether the gain is learned from there.

    Shapes:
        return: batch seq width; zeros for padding and for tokens without the axis.

    Raises:
        PositionError: a part that is not on the input.

    Example:
        >>> from structpos import Sinusoidal
        >>> Emphasis(Sinusoidal(2), Region(stop=1), gain=1.5)(Positions.sequence(2))
        tensor([[[0.0000, 1.5000],
                 [0.8415, 0.5403]]])
    """

    amount: Tensor

    def __init__(self, part: PositionEncoder, region: Region, *, gain: float = 1.5, learnable: bool = False) -> None:
        super().__init__()
        on_the_input("Emphasis", "part", part)
        self.part, self.region, self.gain, self.learnable = part, region, gain, learnable
        self.width = part.width
        if learnable:
            self.amount = nn.Parameter(torch.empty(1))
            self.reset_parameters()

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it reads."""
        own = () if self.region.where else (self.region.axis,)
        return tuple(dict.fromkeys((*self.part.axes, *own)))

    def reset_parameters(self) -> None:
        """Set a learned gain to its start."""
        if self.learnable:
            nn.init.constant_(self.amount, self.gain)

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors, emphasised."""
        for axis in self.axes:
            self.read(queries, axis)
        vector: Tensor = self.part(queries)
        weight = self.region.weight(queries)[..., None].to(vector.dtype)
        gain = self.amount.to(vector.dtype) if self.learnable else self.gain
        return vector * (1 + (gain - 1) * weight)
