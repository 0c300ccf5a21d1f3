"""What a signal does, as plain tensors: a vector for each token, numbers for each pair of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from structpos.encoders.base import PositionEncoder
from structpos.positions import Positions
from structpos.signals import Signals, as_signals
from structpos.testing.report import Failed

HEADS = 2  # where a signal serves any number of heads


@dataclass(frozen=True, kw_only=True)
class Seen:
    """An encoder's effect on tokens of equal content.

    Every query has the same features and so has every key, whatever their place: what differs comes from positions.

    Args:
        vector: What is added to the input, `batch seq width`.
        scores: Products of turned queries and keys, `batch heads queries keys`.
        bias: What is added to scores, `batch heads queries keys`.
    """

    vector: Tensor | None
    scores: Tensor | None
    bias: Tensor | None

    def part(self, row: int, tokens: Any, keys: Any = None) -> Seen:
        """One row, some of its tokens (and, for pairs, some of its keys)."""
        keys = tokens if keys is None else keys

        def pairs(all_pairs: Tensor | None) -> Tensor | None:
            return None if all_pairs is None else all_pairs[row : row + 1][:, :, tokens][..., keys]

        vector = None if self.vector is None else self.vector[row : row + 1][:, tokens]
        return Seen(vector=vector, scores=pairs(self.scores), bias=pairs(self.bias))

    def items(self) -> dict[str, Tensor]:
        """What there is, by name."""
        found = {"vector": self.vector, "score": self.scores, "bias": self.bias}
        return {name: tensor for name, tensor in found.items() if tensor is not None}

    def profiles(self) -> Tensor:
        """All that tells the tokens of row 0 apart, `seq features`."""
        seen = [self.vector[0]] if self.vector is not None else []
        for pairs in (self.scores, self.bias):
            if pairs is not None:
                seen += [pairs[0].flatten(0, 1).T, pairs[0].movedim(1, 0).flatten(1)]
        return torch.cat([tensor.double() for tensor in seen], 1)


def head_width(encoder: PositionEncoder, signals: Signals) -> int:
    """Width of a head that the signals fit."""
    stated = getattr(encoder, "head_width", None)
    if isinstance(stated, int):
        return stated
    return 8 if signals.rotation is None else 2 * int(signals.rotation.query_cos.shape[-1])


def heads_of(signals: Signals) -> int:
    """Number of heads that the signals fit."""
    counts = [1]
    if signals.rotation is not None:
        counts.append(signals.rotation.query_cos.shape[1])
    if signals.bias is not None:
        counts.append(signals.bias.shape[1])
    return HEADS if max(counts) == 1 else max(counts)


def content(batch: int, heads: int, tokens: int, width: int, seed: int, like: Tensor | None = None) -> Tensor:
    """The same random features for every token, `batch heads tokens width`."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(1, heads, 1, width, generator=generator)
    if like is not None:
        features = features.to(device=like.device, dtype=like.dtype)
    return features.expand(batch, heads, tokens, width)


def look(encoder: PositionEncoder, queries: Positions, keys: Positions | None = None) -> Seen:
    """Call the encoder and see what its signal does."""
    signals = as_signals(encoder(queries, keys) if keys is not None else encoder(queries))
    other = queries if keys is None else keys
    batch, rows, columns = queries.shape[0], queries.shape[1], other.shape[1]
    heads, width = heads_of(signals), head_width(encoder, signals)
    scores = bias = None
    if signals.rotation is not None:
        cos = signals.rotation.query_cos
        q = signals.rotation.query(content(batch, heads, rows, width, 0, cos))
        k = signals.rotation.key(content(batch, heads, columns, width, 1, cos))
        with torch.autocast("cpu", enabled=False):
            scores = q @ k.transpose(-1, -2)  # (batch, heads, rows, columns)
    if signals.bias is not None:
        q, k = (content(batch, heads, n, width, seed) for n, seed in ((rows, 0), (columns, 1)))
        given = (q.to(queries.device), k.to(queries.device)) if signals.bias.reads_content else (None, None)
        bias = signals.bias.dense(*given).expand(batch, heads, rows, columns)
    return Seen(vector=signals.vector, scores=scores, bias=bias)


def same(got: Seen, wanted: Seen, what: str, positions: Positions, *, allowed: float = 1e-5) -> None:
    """Refuse a difference of more than ``allowed``, absolute and relative; 0 asks for equal bits.

    Raises:
        Failed: saying what differs, by how much, and at which positions.
    """
    if got.items().keys() != wanted.items().keys():
        raise Failed(f"{what}: gives {sorted(got.items())}, expected {sorted(wanted.items())}; {spell(positions)}.")
    for name, tensor in got.items().items():
        other = wanted.items()[name]
        if tensor.shape != other.shape:
            raise Failed(
                f"{what}: the {name} has shape {tuple(tensor.shape)}, expected {tuple(other.shape)}; {spell(positions)}"
            )
        one, two = tensor.detach().double(), other.detach().double()
        far = ~((one - two).abs() <= allowed + allowed * two.abs())
        if far.any():
            place = tuple(int(index) for index in far.nonzero()[0])
            raise Failed(
                f"{what}: the {name} at {place} is {one[place].item():.7g}, expected {two[place].item():.7g} "
                f"(allowed {allowed:g}); {spell(positions)}"
            )


def spell(positions: Positions) -> str:
    """Small positions written out, so that they can be pasted."""
    if positions.device.type == "meta" or positions.shape[0] * positions.shape[1] > 32:
        return repr(positions)
    parts = [repr({axis: tensor.tolist() for axis, tensor in positions.coordinates.items()})]
    if positions.present:
        parts.append(f"present={ {axis: flags.int().tolist() for axis, flags in positions.present.items()} }")
    for name in ("mask", "segments"):
        tensor = getattr(positions, name)
        if tensor is not None:
            parts.append(f"{name}={tensor.int().tolist()}")
    if positions.even:
        parts.append(f"even={positions.even}")
    return f"smallest input: Positions({', '.join(parts)})"
