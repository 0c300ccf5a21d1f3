"""The dense route: the whole bias at once, into torch's own attention. Exact for every bias."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from structpos.attention.mask import Mask
from structpos.signals import EVERYTHING, Bias


def dense(
    q: Float[Tensor, "batch heads queries head_width"],
    k: Float[Tensor, "batch kv_heads keys head_width"],
    v: Float[Tensor, "batch kv_heads keys value_width"],
    bias: Bias | None,
    mask: Mask,
    scale: float,
    dropout: float,
) -> Float[Tensor, "batch heads queries value_width"]:
    """Attention with one mask of all scores; without bias and padding it is torch's fused causal attention."""
    if bias is None and mask.causal and mask.window is None and mask.queries == mask.keys and mask.key_real is None:
        if mask.key_segments is None:
            return core(q, k, v, None, scale, dropout, causal=True)
    return core(q, k, v, scores(bias, mask, EVERYTHING, EVERYTHING, q, k), scale, dropout)


def scores(
    bias: Bias | None, mask: Mask, rows: slice, columns: slice, q: Tensor, k: Tensor
) -> Shaped[Tensor, "#batch #heads rows columns"] | None:
    """What is added to a tile of scores: the bias, and minus infinity where a query may not look."""
    allowed = mask.tile(rows, columns)
    if bias is None:
        return allowed
    groups = q.shape[1] // k.shape[1]
    if bias.reads_content:
        keys = k if groups == 1 else k.repeat_interleave(groups, 1)
        added = bias.tile(rows, columns, q[..., rows, :], keys[..., columns, :])
    else:
        added = bias.tile(rows, columns)
    # Biases and minus infinity are never added in a half type, where they would overflow.
    added = added if added.dtype == torch.float64 else added.float()
    return added if allowed is None else torch.where(allowed, added, -math.inf)


def core(
    q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, scale: float, dropout: float, *, causal: bool = False
) -> Tensor:
    """Torch's attention with what is added to the scores (or True where a query may look)."""
    if added is not None and added.dtype != torch.bool:
        # torch takes a float32 mask beside half-precision features on the CPU; elsewhere the mask has their dtype.
        exact = q.device.type == "cpu" and added.dtype == torch.float32 and q.dtype in (torch.bfloat16, torch.float16)
        if not exact and added.dtype != q.dtype:
            if q.dtype in (torch.bfloat16, torch.float16):
                return core(q.float(), k.float(), v.float(), added, scale, dropout).to(q.dtype)
            added = added.to(q.dtype)
    return scaled_dot_product_attention(
        q, k, v, attn_mask=added, dropout_p=dropout, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )
