"""ALiBi: a penalty on the scores that grows linearly with the distance."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from structpos.encoders.base import PositionEncoder, at_least, one_of
from structpos.encoders.relative import pairwise
from structpos.positions import Positions
from structpos.signals import DistanceBias, Kind


class ALiBi(PositionEncoder):
    """A bias of minus slope times distance, one slope a head, along any axis.

    Nothing is learned and no length is built in: words, lines, pages, hours all have distances.

    Args:
        heads: Number of heads.
        axis: The axis it reads.
        form: ``symmetric``: minus slope times |key - query|. ``causal``: slope times (key - query), right only where no
            query sees a later key, and refused by ``attend`` elsewhere.

    Shapes:
        return: a Bias of batch heads queries keys, float32; 0 where either token lacks the axis.

    Raises:
        PositionError: fewer than one head, an unknown form, no such axis.

    Source: Press et al. 2022, section 3; slopes for a number of heads that is no power of two as in the authors' code.

    Example:
        >>> ALiBi(heads=1)(Positions({"order": [[0.0, 0.5, 3.0]]})).dense()[0, 0, 0] * 256
        tensor([-0.0000, -0.5000, -3.0000])
    """

    signal: Kind = "bias"

    def __init__(self, heads: int, axis: str = "order", *, form: Literal["symmetric", "causal"] = "symmetric") -> None:
        super().__init__()
        at_least("ALiBi", "heads", heads)
        one_of("ALiBi", "form", form, ("symmetric", "causal"))
        self.heads, self.axis, self.form = heads, axis, form

    def forward(self, queries: Positions, keys: Positions | None = None) -> LinearBias:
        """The bias between ``queries`` and ``keys``."""
        self.read(queries, self.axis)
        slope = slopes(self.heads, queries.device).to(self.precision)
        return LinearBias(slope, self.form == "causal", *pairwise(self, queries, keys))


class LinearBias(DistanceBias):
    """Slope times distance: ``slopes`` (heads), and whether the distance keeps its sign."""

    tensors: ClassVar[tuple[str, ...]] = ("slopes", *DistanceBias.tensors)
    facts: ClassVar[tuple[str, ...]] = ("causal_only", *DistanceBias.facts)

    def __init__(self, slopes: Float[Tensor, " heads"], causal_only: bool, *pair: object) -> None:
        super().__init__(*pair)  # type: ignore[arg-type]
        self.slopes, self.causal_only = slopes, causal_only

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.slopes.shape[0]

    def of(self, difference: Shaped[Tensor, "#batch *place"]) -> Float[Tensor, "#batch heads *place"]:
        """The bias at differences key - query, which are taken before they are rounded."""
        distance = difference if self.causal_only else -difference.abs()
        return distance.to(self.slopes.dtype).unsqueeze(1) * self.slopes.view(-1, *[1] * (difference.dim() - 1))


def slopes(heads: int, device: torch.device | None = None) -> Float[Tensor, " heads"]:
    """The slopes of ALiBi for any number of heads, float64.

    Example:
        >>> slopes(6).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    """
    power = 1 << (heads.bit_length() - 1)
    odd = 2 * torch.arange(heads - power, dtype=torch.float64, device=device) + 1
    whole = torch.exp2(-8.0 / power * torch.arange(1, power + 1, dtype=torch.float64, device=device))
    between = torch.exp2(-4.0 / power * odd)
    return torch.cat([whole, between])
