"""Who may see whom: padding, packing, causality and local windows, for any rows and columns of the scores."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from structpos.errors import PositionError
from structpos.positions import Positions


@dataclass(frozen=True, kw_only=True)
class Mask:
    """What limits the pairs of queries and keys.

    Args:
        queries, keys: Their numbers.
        causal: Whether a query sees no key after it; the last query stands at the last key.
        window: A query sees the key at its place and ``window - 1`` before it (and after it, where not causal).
        query_real, key_real: True for tokens, False for padding; None where nothing is padded.
        query_segments, key_segments: Documents of a packed row; None for one document.
    """

    queries: int
    keys: int
    causal: bool
    window: int | None
    query_real: Tensor | None
    key_real: Tensor | None
    query_segments: Tensor | None
    key_segments: Tensor | None
    device: torch.device

    @property
    def by_index(self) -> bool:
        """Whether the places in the row limit anything; a single causal query at the end sees all."""
        return self.window is not None or (self.causal and self.queries != 1)

    @property
    def empty(self) -> bool:
        """Whether every query sees every key."""
        return not self.by_index and self.key_real is None and self.key_segments is None

    def tile(self, rows: slice, columns: slice) -> Bool[Tensor, "#batch 1 rows columns"] | None:
        """True where a query may see a key; None where all may."""
        allowed: Tensor | None = None
        if self.by_index:
            query = torch.arange(self.queries, device=self.device)[rows, None] + (self.keys - self.queries)
            ahead = torch.arange(self.keys, device=self.device)[None, columns] - query
            if self.causal:
                allowed = ahead <= 0
            if self.window is not None:
                near = (ahead > -self.window) & (ahead < self.window)
                allowed = near if allowed is None else allowed & near
            assert allowed is not None
            allowed = allowed[None, None]
        if self.key_real is not None:
            allowed = _both(allowed, self.key_real[:, None, None, columns])
        if self.query_segments is not None and self.key_segments is not None:
            same = self.query_segments[:, None, rows, None] == self.key_segments[:, None, None, columns]
            allowed = _both(allowed, same)
        return allowed


def make_mask(
    q: Tensor, k: Tensor, queries: Positions | None, keys: Positions | None, causal: bool, window: int | None
) -> Mask:
    """The mask of queries ``q`` at ``queries`` and keys ``k`` at ``keys``.

    Raises:
        PositionError: positions and tensors differ in length, only one side is packed, or the window is no number
            above 0.
    """
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
        raise PositionError(f"window needs a whole number above 0 (1 is the token alone), got {window!r}.")
    if queries is not None and keys is None and q.shape[-2] == k.shape[-2]:
        keys = queries
    if queries is None and keys is not None and q.shape[-2] == k.shape[-2]:
        queries = keys
    for name, positions, tensor in (("queries", queries, q), ("keys", keys, k)):
        if positions is None:
            continue
        if not isinstance(positions, Positions):
            raise PositionError(f"{name} takes Positions, which say where tokens are, got {type(positions).__name__}.")
        batch, length = positions.shape
        if length != tensor.shape[-2] or batch not in (1, tensor.shape[0]):
            raise PositionError(
                f"{name} is at positions of (batch, seq) {positions.shape}, but the tensor has {tuple(tensor.shape)} "
                "(batch, heads, seq, head_width)."
            )
    packed = (queries is not None and queries.segments is not None, keys is not None and keys.segments is not None)
    if packed[0] != packed[1]:
        raise PositionError(
            "Only the queries' or only the keys' positions are packed (have segments): documents cannot be kept apart. "
            "Give both: attend(..., queries=..., keys=...)."
        )
    if causal and q.shape[-2] > k.shape[-2]:
        raise PositionError(
            "With causal=True the last query stands at the last key, so there are at most as many queries as keys; "
            f"got {q.shape[-2]} queries and {k.shape[-2]} keys."
        )
    return Mask(
        queries=q.shape[-2],
        keys=k.shape[-2],
        causal=causal,
        window=window,
        query_real=None if queries is None else queries.mask,
        key_real=None if keys is None else keys.mask,
        query_segments=None if queries is None else queries.segments,
        key_segments=None if keys is None else keys.segments,
        device=q.device,
    )


def _both(one: Tensor | None, other: Tensor) -> Tensor:
    return other if one is None else one & other
