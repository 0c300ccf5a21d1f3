"""A small pre-norm Transformer that takes any encoder: to learn from, to compare schemes with, to build on."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from structpos.attention import attend
from structpos.encoders.base import NoPosition, PositionEncoder, at_least
from structpos.encoders.scale import AddPositions
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Signals, as_signals


@dataclass
class KeyStore:
    """Keys and values of the tokens seen so far, for decoding step by step; keys are stored before they are turned."""

    positions: Positions | None = None
    keys: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def place(self, positions: Positions) -> Positions:
        """Add the new tokens' positions and give those of all."""
        seen = [positions] if self.positions is None else [self.positions, positions]
        self.positions = Positions.concat(seen)
        return self.positions

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the new tokens' keys and values in one layer and give those of all."""
        if layer in self.keys:
            k, v = (torch.cat([old, new], -2) for old, new in zip(self.keys[layer], (k, v), strict=True))
        self.keys[layer] = k, v
        return k, v


class Attention(nn.Module):
    """Multi-head attention through ``attend``, with fewer key heads where wanted."""

    def __init__(self, width: int, heads: int, kv_heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width, self.dropout = heads, kv_heads, width // heads, dropout
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * kv_heads * self.head_width)
        self.out = nn.Linear(width, width)

    def project(self, source: Float[Tensor, "batch keys width"]) -> tuple[Tensor, Tensor]:
        """Keys and values of a source, `batch kv_heads keys head_width` each."""
        k, v = self.kv(source).unflatten(-1, (2, self.kv_heads, self.head_width)).movedim(2, 0).transpose(2, 3)
        return k, v

    def forward(
        self,
        x: Float[Tensor, "batch queries width"],
        k: Float[Tensor, "batch kv_heads keys head_width"],
        v: Float[Tensor, "batch kv_heads keys head_width"],
        signals: Signals,
        queries: Positions,
        keys: Positions,
        causal: bool = False,
        window: int | None = None,
    ) -> Float[Tensor, "batch queries width"]:
        """What the queries in ``x`` find."""
        q = self.q(x).unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)
        dropout = self.dropout if self.training else 0.0
        found = attend(
            q, k, v, signals, queries=queries, keys=keys, causal=causal, window=window, dropout=dropout
        )  # (batch, heads, queries, head_width)
        out: Tensor = self.out(found.transpose(1, 2).flatten(-2))
        return out


class Block(nn.Module):
    """Attention, attention to a memory where there is one, and a feed-forward network, each normed before and added."""

    def __init__(self, width: int, heads: int, *, kv_heads: int, hidden: int, dropout: float, cross: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, kv_heads, dropout)
        if cross:
            self.cross_norm = nn.LayerNorm(width)
            self.cross_attention = Attention(width, heads, kv_heads, dropout)
        self.hidden_norm = nn.LayerNorm(width)
        self.hidden = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        self.dropout = nn.Dropout(dropout)


class Transformer(nn.Module):
    """A pre-norm Transformer, encoder or decoder, for any position encoder or composition.

    A vector is added to the input, a rotation and a bias act in every layer.

    Args:
        width: Width of the model.
        depth: Number of layers.
        heads: Number of heads.
        encoder: The positions; None for none.
        per_layer: Whether every layer has an encoder of its own (with its own learned tables) or all share one.
        causal: Whether a token sees no later one: a decoder.
        cross: Whether every layer also attends to a memory.
        cross_encoder: Rotation or bias between tokens and memory.
        kv_heads: Heads of keys and values; as many as ``heads`` by default.
        hidden: Width of the feed-forward network; four times ``width`` by default.
        window: Local attention: a token sees ``window - 1`` tokens before it (and after it, where not causal).
        norm_input: Whether a LayerNorm follows the sum of tokens and positions.
        dropout: In training, on the input sum, on attention weights and on what layers add.

    Shapes:
        x: batch seq width.
        return: batch seq width, normed; zeros for padding.

    Raises:
        PositionError: a width that heads cannot share, or a memory missing or unexpected.

    Example:
        >>> from structpos import Rotary
        >>> model = Transformer(32, 2, 4, encoder=Rotary(8), causal=True).eval()
        >>> x, positions, store = torch.randn(1, 5, 32), Positions.sequence(5), model.key_store()
        >>> steps = [model(x[:, t : t + 1], positions[:, t], store=store) for t in range(5)]
        >>> torch.allclose(torch.cat(steps, 1), model(x, positions), atol=1e-5)
        True
    """

    def __init__(
        self,
        width: int,
        depth: int,
        heads: int,
        *,
        encoder: PositionEncoder | None = None,
        per_layer: bool = False,
        causal: bool = False,
        cross: bool = False,
        cross_encoder: PositionEncoder | None = None,
        kv_heads: int | None = None,
        hidden: int | None = None,
        window: int | None = None,
        norm_input: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        hidden = 4 * width if hidden is None else hidden
        sizes = {"width": width, "depth": depth, "heads": heads, "kv_heads": kv_heads, "hidden": hidden}
        for name, value in sizes.items():
            at_least("Transformer", name, value)
        if window is not None:
            at_least("Transformer", "window", window)
        if width % heads or heads % kv_heads:
            raise PositionError(
                f"Transformer: width {width} and kv_heads {kv_heads} need to fit heads {heads}: "
                "width a multiple of heads, heads a multiple of kv_heads."
            )
        if cross_encoder is not None and not cross:
            raise PositionError("Transformer: cross_encoder acts between tokens and a memory; set cross=True.")
        encoder = NoPosition() if encoder is None else encoder
        self.causal, self.cross, self.window = causal, cross, window
        self.input = AddPositions(encoder, norm=width if norm_input else None, dropout=dropout)
        self.blocks = nn.ModuleList(
            Block(width, heads, kv_heads=kv_heads, hidden=hidden, dropout=dropout, cross=cross) for _ in range(depth)
        )
        own = depth - 1 if per_layer and encoder.signal in ("rotation", "bias", "signals") else 0
        self.layer_encoders = nn.ModuleList(_fresh(encoder) for _ in range(own))
        self.cross_encoder = NoPosition() if cross_encoder is None else cross_encoder
        self.norm = nn.LayerNorm(width)

    def key_store(self) -> KeyStore:
        """An empty store for decoding step by step; ``forward(..., store=store)`` fills it."""
        return KeyStore()

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        positions: Positions,
        *,
        memory: Float[Tensor, "batch keys width"] | None = None,
        memory_positions: Positions | None = None,
        store: KeyStore | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """The tokens, with what they saw.

        Args:
            x: Token embeddings without positions.
            positions: Where the tokens are.
            memory: What a decoder attends to besides, with
            memory_positions: where that is.
            store: Keys of earlier tokens; these are added to it.
        """
        if self.cross != (memory is not None) or (memory is None) != (memory_positions is None):
            raise PositionError(
                "A Transformer with cross=True takes memory and memory_positions, one without takes neither; "
                f"cross is {self.cross}, memory was {'given' if memory is not None else 'not given'}."
            )
        if store is not None and not self.causal:
            raise PositionError("Stored keys are for a causal Transformer; this one sees later tokens too.")
        x = _tokens("x", x, positions, self.norm.normalized_shape[0])
        if memory is not None and memory_positions is not None:
            memory = _tokens("memory", memory, memory_positions, self.norm.normalized_shape[0])
        x = self.input(x, positions)
        keys = positions if store is None else store.place(positions)
        shared = as_signals(self.input.encoder(positions, keys))
        across = Signals() if memory is None else as_signals(self.cross_encoder(positions, memory_positions))
        for layer, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            own = layer > 0 and len(self.layer_encoders) > 0
            signals = as_signals(self.layer_encoders[layer - 1](positions, keys)) if own else shared
            normed = block.norm(x)
            k, v = block.attention.project(normed)
            if store is not None:
                k, v = store.extend(layer, k, v)
            x = x + block.dropout(
                block.attention(normed, k, v, signals, positions, keys, causal=self.causal, window=self.window)
            )
            if memory is not None and memory_positions is not None:
                k, v = block.cross_attention.project(memory)
                found = block.cross_attention(block.cross_norm(x), k, v, across, positions, memory_positions)
                x = x + block.dropout(found)
            x = x + block.dropout(block.hidden(block.hidden_norm(x)))
        out: Tensor = self.norm(x)
        return out if positions.mask is None else out.masked_fill(~positions.mask[..., None], 0.0)


def _tokens(name: str, tokens: Tensor, positions: Positions, width: int) -> Tensor:
    """The tokens with zeros for padding, where NaN would reach the gradients.

    Raises:
        PositionError: they are no embeddings, or not at these positions.
    """
    if not isinstance(positions, Positions):
        raise PositionError(f"Transformer takes Positions beside {name}, got {type(positions).__name__}.")
    if tokens.dim() != 3 or tokens.shape[-1] != width or not tokens.is_floating_point():
        raise PositionError(
            f"Transformer takes {name} as embeddings of (batch, seq, {width}), "
            f"got {tuple(tokens.shape)}, {tokens.dtype}."
        )
    if positions.shape[1] != tokens.shape[1] or positions.shape[0] not in (1, tokens.shape[0]):
        raise PositionError(
            f"{name} of {tuple(tokens.shape)} does not fit positions of (batch, seq) {positions.shape}."
        )
    return tokens if positions.mask is None else tokens.masked_fill(~positions.mask[..., None], 0.0)


def _fresh(encoder: PositionEncoder) -> PositionEncoder:
    """A copy with learned parameters drawn afresh."""
    new = copy.deepcopy(encoder)
    for module in new.modules():
        if isinstance(module, PositionEncoder):
            module.reset_parameters()
    return new
