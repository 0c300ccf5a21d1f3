"""The blocked route: rows of scores chunk by chunk, so that no bias of full size ever exists. Exact for every bias."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from structpos.attention.dense import core, scores
from structpos.attention.mask import Mask
from structpos.signals import EVERYTHING, Bias

ROWS = 128


def blocked(
    q: Float[Tensor, "batch heads queries head_width"],
    k: Float[Tensor, "batch kv_heads keys head_width"],
    v: Float[Tensor, "batch kv_heads keys value_width"],
    bias: Bias | None,
    mask: Mask,
    scale: float,
    dropout: float,
    rows: int = ROWS,
) -> Float[Tensor, "batch heads queries value_width"]:
    """Attention a chunk of ``rows`` queries at a time; in training a chunk is computed again for its gradient."""
    chunks = []
    for start in range(0, max(q.shape[-2], 1), rows):  # once where there is no query either
        part = slice(start, min(start + rows, q.shape[-2]))
        columns = EVERYTHING
        if mask.causal:  # later keys are not looked at, nor computed
            columns = slice(0, mask.keys - mask.queries + part.stop)

        def one(
            q: Tensor, k: Tensor, v: Tensor, bias: Bias | None, part: slice = part, columns: slice = columns
        ) -> Tensor:
            added = scores(bias, mask, part, columns, q, k)
            return core(q[..., part, :], k[..., columns, :], v[..., columns, :], added, scale, dropout)

        if torch.is_grad_enabled():
            chunks.append(checkpoint(one, q, k, v, bias, use_reentrant=False))
        else:
            chunks.append(one(q, k, v, bias))
    return torch.cat(chunks, -2)
