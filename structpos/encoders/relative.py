"""Relative biases from a learned table: one number a bucket of distances."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor, nn
from torch.nn import functional

from structpos.encoders.base import PositionEncoder, at_least
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import DistanceBias, Kind


class T5Bias(PositionEncoder):
    """A learned bias for each bucket of distances: one by one when near, by ratio when far, one for all beyond.

    Args:
        heads: Number of heads.
        axis: The axis it reads. Distances that are no whole numbers are cut to whole units.
        buckets: Number of buckets.
        distance: Distance from which on all share the last bucket.
        bidirectional: Whether keys before and after the query have buckets of their own; else keys after it count
            as near.
        scale: Factor on the softmax scale. T5 itself does not divide scores: ``scale=math.sqrt(head_width)``.
        std: Standard deviation of the table at the start.

    Shapes:
        return: a Bias of batch heads queries keys, float32; 0 where either token lacks the axis.

    Raises:
        PositionError: too few buckets, or a distance that the near buckets cover already.

    Source: Raffel et al. 2020, section 2.1; buckets as in the authors' code, exact at every edge.

    Example:
        >>> T5Bias(heads=8)(Positions.sequence(5))
        BucketBias(batch 1, heads 8, 5 queries, 5 keys)
        >>> bucket(torch.tensor([-16, -1, 0, 1, 200])).tolist()
        [10, 1, 0, 17, 31]
    """

    signal: Kind = "bias"

    def __init__(
        self,
        heads: int,
        axis: str = "order",
        *,
        buckets: int = 32,
        distance: int = 128,
        bidirectional: bool = True,
        scale: float = 1.0,
        std: float = 0.02,
    ) -> None:
        super().__init__()
        at_least("T5Bias", "heads", heads)
        at_least("T5Bias", "buckets", buckets, 4 if bidirectional else 2)
        near = buckets // (4 if bidirectional else 2)
        if (bidirectional and buckets % 2) or distance <= near:
            raise PositionError(
                f"T5Bias: buckets {buckets} (even in two directions) need a distance above {near}, got {distance}."
            )
        self.heads, self.axis, self.buckets, self.distance = heads, axis, buckets, distance
        self.bidirectional, self.scale, self.std = bidirectional, scale, std
        self.table = nn.Parameter(torch.empty(buckets, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table afresh."""
        nn.init.normal_(self.table, std=self.std)

    def forward(self, queries: Positions, keys: Positions | None = None) -> BucketBias:
        """The bias between ``queries`` and ``keys``."""
        self.read(queries, self.axis)
        table = self.table.to(self.precision, copy=True)
        return BucketBias(table, self.distance, self.bidirectional, float(self.scale), *pairwise(self, queries, keys))


class BucketBias(DistanceBias):
    """A table's row for the bucket of the distance: ``table`` (buckets heads)."""

    tensors: ClassVar[tuple[str, ...]] = ("table", *DistanceBias.tensors)
    facts: ClassVar[tuple[str, ...]] = ("distance", "bidirectional", "scale", *DistanceBias.facts)

    def __init__(
        self, table: Float[Tensor, "buckets heads"], distance: int, bidirectional: bool, scale: float, *pair: object
    ) -> None:
        super().__init__(*pair)  # type: ignore[arg-type]
        self.table, self.distance, self.bidirectional, self.scale = table, distance, bidirectional, scale

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.table.shape[1]

    def of(self, difference: Shaped[Tensor, "#batch *place"]) -> Float[Tensor, "#batch heads *place"]:
        """The bias at differences key - query."""
        which = bucket(difference, self.table.shape[0], self.distance, bidirectional=self.bidirectional)
        return functional.embedding(which, self.table).movedim(-1, 1)


def bucket(
    difference: Shaped[Tensor, "*place"], buckets: int = 32, distance: int = 128, *, bidirectional: bool = True
) -> Int64[Tensor, "*place"]:
    """The number of the bucket of a difference key - query.

    Where the ratio hits an edge exactly, a logarithm in floating point may fall on the wrong side; the small push
    before rounding down is far below the next distance and far above the rounding. Differences of real coordinates
    that should be whole are pushed likewise: 9.37 - 2.37 is less than 7.
    """
    size = difference.abs()
    if difference.is_floating_point():
        size = (size + 1e-6).floor()
    if bidirectional:
        buckets //= 2
        start = ((difference > 0) & (size > 0)).long() * buckets
    else:
        size = torch.where(difference < 0, size, 0)
        start = torch.zeros_like(size, dtype=torch.int64)
    near = buckets // 2
    ratio = (size.double().clamp(min=near) / near).log() / math.log(distance / near) * (buckets - near)
    far = near + (ratio + 1e-9).floor().clamp(max=buckets - near - 1)
    return start + torch.where(size < near, size.double(), far).long()


def pairwise(
    encoder: PositionEncoder, queries: Positions, keys: Positions | None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, float | None]:
    """Coordinates, presence and step of queries and keys, as a DistanceBias takes them.

    Between tokens of one even sequence the difference is that of their numbers, whatever their start: one row then
    serves the whole batch, and documents packed together.
    """
    axis = encoder.axes[0]
    own = keys is None or keys is queries
    other = queries if keys is None else keys
    query, key = encoder.read(queries, axis), encoder.read(other, axis)
    present = queries.has(axis), other.has(axis)
    step = queries.even.get(axis)
    alone = present == (None, None)
    if step is None or not alone:
        return query, key, *present, None
    if own:
        index = torch.arange(query.shape[1], device=query.device)[None]
        row = index * (int(step) if float(step).is_integer() else step)
        return row, row, None, None, step
    # Between two rows the difference of their first tokens counts, which padding and documents hide.
    hidden = any(tensor is not None for side in (queries, other) for tensor in (side.mask, side.segments))
    return query, key, None, None, None if hidden or other.even.get(axis) != step else step
