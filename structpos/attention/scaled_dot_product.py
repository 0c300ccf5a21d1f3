"""attend: scaled dot-product attention that takes signals."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from structpos.attention.blocked import blocked
from structpos.attention.dense import dense
from structpos.attention.mask import Mask, make_mask
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Bias, Rotation, Signals, as_signals

Route = Literal["dense", "blocked"]
_ROUTES = {"dense": dense, "blocked": blocked}
DENSE_BYTES = 64 * 2**20  # a bias up to this size is built whole: faster, and small beside the features of a model


def attend(
    q: Float[Tensor, "batch heads queries head_width"],
    k: Float[Tensor, "batch kv_heads keys head_width"],
    v: Float[Tensor, "batch kv_heads keys value_width"],
    *signals: Rotation | Bias | Signals,
    queries: Positions | None = None,
    keys: Positions | None = None,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    route: Route | None = None,
) -> Float[Tensor, "batch heads queries value_width"]:
    """Scaled dot-product attention with rotations, biases, padding, packing, causality and windows.

    Padding changes nothing, not even where it holds NaN. A query that may look at nothing, and padding, get zeros.

    Args:
        q, k, v: Queries, keys and values; keys and values may have fewer heads, each serving a group of query heads.
        signals: What encoders gave, in any order: rotations, biases, ``Signals``. A vector belongs to the model's
            input.
        queries, keys: Positions, which bring padding and packing. Of equal lengths, one stands for both.
        causal: Whether a query sees no later token of the row; the last query stands at the last key, so a decoding
            step with stored keys needs nothing else.
        window: A query sees the token at its own place and ``window - 1`` before it, and as many after it where not
            causal: window 3 is the token and the two before it.
        scale: Factor on q . k; ``1 / sqrt(head_width)`` by default. Signals may carry a factor on top.
        dropout: Share of attention weights that is dropped; for training only.
        route: ``dense`` or ``blocked``; chosen by size by default, both exact.

    Raises:
        PositionError: shapes do not fit (named), a vector is given, two rotations, or a causal bias without ``causal``.

    Example:
        >>> from structpos import ALiBi, Rotary
        >>> positions = Positions.sequence(5)
        >>> q = k = v = torch.randn(1, 4, 5, 16)
        >>> attend(q, k, v, Rotary(16)(positions), ALiBi(4)(positions), queries=positions, causal=True).shape
        torch.Size([1, 4, 5, 16])
    """
    _check(q, k, v, dropout)
    rotation, bias = _sorted(signals)
    mask = make_mask(q, k, queries, keys, causal, window)
    if bias is not None:
        _check_bias(bias, q, k, causal)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if rotation is not None:
        q, k, scale = rotation.query(q), rotation.key(k), scale * rotation.scale
    if bias is not None:
        scale = scale * bias.scale
    if mask.key_real is not None:  # NaN times 0 is NaN, forward and backward
        absent = ~mask.key_real[:, None, :, None]
        k, v = k.masked_fill(absent, 0.0), v.masked_fill(absent, 0.0)
    if mask.query_real is not None:
        q = q.masked_fill(~mask.query_real[:, None, :, None], 0.0)
    chosen = routes(q, k, bias, mask)[0] if route is None else route
    if chosen not in _ROUTES:
        raise PositionError(f"route is one of {', '.join(map(repr, _ROUTES))}; got {chosen!r}.")
    out = _ROUTES[chosen](q, k, v, bias, mask, scale, dropout)
    return out if mask.query_real is None else out.masked_fill(~mask.query_real[:, None, :, None], 0.0)


def routes(q: Tensor, k: Tensor, bias: Bias | None, mask: Mask) -> list[Route]:
    """The routes that are exact here, best first, by static facts alone."""
    if torch.compiler.is_compiling() or (bias is None and mask.empty):
        return ["dense", "blocked"]  # a choice by length would make one graph for each side of it
    batch, heads = (1, 1) if bias is None else bias.shape[:2]
    if mask.key_real is not None or mask.key_segments is not None:
        batch = max(batch, q.shape[0])
    size = 4 * batch * heads * q.shape[-2] * k.shape[-2]
    return ["dense", "blocked"] if size <= DENSE_BYTES else ["blocked", "dense"]


def _check(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> None:
    shapes = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4:
        raise PositionError(f"attend takes (batch, heads, seq, head_width); got {shapes}.")
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise PositionError(f"Batches, lengths of k and v, or widths of q and k differ: {shapes}.")
    mixed = not q.dtype == k.dtype == v.dtype and not torch.is_autocast_enabled(q.device.type)
    if mixed or not q.is_floating_point():
        raise PositionError(f"q, k and v need one floating dtype, got {q.dtype}, {k.dtype}, {v.dtype}.")
    if not k.shape[1] or q.shape[1] % k.shape[1]:
        raise PositionError(f"{q.shape[1]} query heads cannot share {k.shape[1]} key heads equally: {shapes}.")
    if not 0 <= dropout < 1 or not math.isfinite(dropout):
        raise PositionError(f"dropout needs a share from 0 to below 1, got {dropout}.")


def _sorted(signals: tuple[Rotation | Bias | Signals, ...]) -> tuple[Rotation | None, Bias | None]:
    rotation: Rotation | None = None
    bias: Bias | None = None
    for given in signals:
        parts = as_signals(given)
        if parts.vector is not None and not isinstance(given, Signals):
            raise PositionError("A vector is added to the model's input, x + encoder(positions), not given to attend.")
        if parts.rotation is not None and rotation is not None:
            raise PositionError("attend takes one rotation; one Rotary reads several axes: Rotary(..., axes=(...)).")
        rotation = parts.rotation if rotation is None else rotation
        if parts.bias is not None:
            bias = parts.bias if bias is None else bias + parts.bias
    return rotation, bias


def _check_bias(bias: Bias, q: Tensor, k: Tensor, causal: bool) -> None:
    batch, heads, queries, keys = bias.shape
    if (queries, keys) != (q.shape[-2], k.shape[-2]) or batch not in (1, q.shape[0]) or heads not in (1, q.shape[1]):
        raise PositionError(
            f"A bias of (batch, heads, queries, keys) {bias.shape} does not fit q {tuple(q.shape)}, k {tuple(k.shape)}."
        )
    if bias.causal_only and not causal:
        raise PositionError(
            "This bias rewards later keys and is right only where none is seen. Use causal=True, or a symmetric form."
        )
