"""Amplitude: how large positions are beside the tokens that they are added to."""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from structpos.encoders.base import PositionEncoder, at_least
from structpos.encoders.compose import on_the_input
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import as_signals


class Scale(PositionEncoder):
    """An encoder on the input, times a number.

    A token embedding of standard deviation 0.02 drowns under a sinusoid of 0.7. ``amount="match"`` gives positions the
    standard deviation of the tokens, measured once; the number is part of the state dict and stays what it was.

    Args:
        part: An encoder on the input.
        amount: The number, or ``match``: measured by ``match(tokens, positions)``, which ``AddPositions`` calls.
        learnable: Whether the number is learned from there.

    Raises:
        PositionError: a part that is not on the input, or a matched scale used before it was measured.

    Example:
        >>> from structpos import Sinusoidal
        >>> Scale(Sinusoidal(2), 0.1)(Positions.sequence(1))
        tensor([[[0.0000, 0.1000]]])
    """

    amplitude: Tensor

    def __init__(
        self, part: PositionEncoder, amount: float | Literal["match"] = 1.0, *, learnable: bool = False
    ) -> None:
        super().__init__()
        on_the_input("Scale", "part", part)
        if isinstance(amount, str) and amount != "match":
            raise PositionError(f"Scale: amount is a number or 'match', got '{amount}'.")
        self.part, self.amount, self.learnable = part, amount, learnable
        self.width = part.width
        self.matched = amount != "match"
        value = torch.empty(1)
        if learnable:
            self.amplitude = nn.Parameter(value)
        else:
            self.register_buffer("amplitude", value)
        self.reset_parameters()

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it reads."""
        return self.part.axes

    def reset_parameters(self) -> None:
        """Set the number to its start; one that is to be matched is measured afresh."""
        self.matched = self.amount != "match"
        with torch.no_grad():
            self.amplitude.fill_(0.0 if self.amount == "match" else float(self.amount))

    @torch.no_grad()
    def match(self, tokens: Float[Tensor, "*tokens width"] | float, positions: Positions) -> None:
        """Set the number so that the positions' standard deviation is that of the tokens.

        Args:
            tokens: Token embeddings, the table or some that occur, or their standard deviation (0.02 for BERT's).
            positions: Positions as they occur.

        Raises:
            PositionError: tokens or positions that do not vary.
        """
        vector = self.part(positions)[positions.real()]
        own = float(vector.float().std()) if vector.numel() > 1 else 0.0
        wanted = float(tokens.float().std()) if isinstance(tokens, Tensor) else float(tokens)
        if not (own > 0 and wanted > 0):
            raise PositionError(
                f"Amplitudes can be matched only where both vary: tokens have a standard deviation of {wanted:g}, "
                f"positions of {own:g}. State a number instead: Scale(part, 0.02)."
            )
        self.amplitude.fill_(wanted / own)
        self.matched = True

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors, scaled."""
        if not self.matched:
            raise PositionError(
                "This Scale is to match the tokens and has not seen any. Call scale.match(embedding.weight, positions) "
                "once, or add positions with AddPositions."
            )
        vector: Tensor = self.part(queries)
        return self.amplitude.to(vector.dtype) * vector

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """A loaded number is a measured one; the 0 of a scale that had measured nothing is not."""
        super()._load_from_state_dict(state_dict, prefix, *args)
        loaded = state_dict.get(f"{prefix}amplitude")
        if loaded is not None and self.amount == "match":
            self.matched = bool((loaded != 0).any())


class AddPositions(nn.Module):
    """Token embeddings plus positions, as a model's first layer: sum, LayerNorm if wanted, dropout on the sum.

    Dropout acts on the sum, never on positions alone, which would take a token's place away at random.

    Args:
        encoder: Any encoder; only its vector is added.
        norm: Width of a LayerNorm after the sum; None for none.
        dropout: Share of the sum that is dropped in training.

    Shapes:
        tokens: batch seq width; positions of a single row serve the whole batch.
        return: batch seq width, in the dtype of ``tokens``.

    Example:
        >>> from structpos import Sinusoidal
        >>> add = AddPositions(Scale(Sinusoidal(64), "match"), norm=64)
        >>> add(0.02 * torch.randn(1, 10, 64), Positions.sequence(10)).std().round(decimals=1)
        tensor(1., grad_fn=<RoundBackward1>)
    """

    def __init__(self, encoder: PositionEncoder, *, norm: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        if norm is not None:
            at_least("AddPositions", "norm", norm)
        self.encoder = encoder
        self.norm = nn.Identity() if norm is None else nn.LayerNorm(norm)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, tokens: Float[Tensor, "batch seq width"], positions: Positions
    ) -> Float[Tensor, "batch seq width"]:
        """The sum. The first call measures amplitudes that are to match; a compiled model needs that done before."""
        if not tokens.is_floating_point():
            raise PositionError(
                f"Positions are added to embeddings of tokens, got {tokens.dtype}: embed token ids first."
            )
        for module in self.encoder.modules():
            if isinstance(module, Scale) and not module.matched and not torch.compiler.is_compiling():
                module.match(tokens[positions.real().expand(tokens.shape[:2])], positions)
        vector = as_signals(self.encoder(positions)).vector
        if vector is not None:
            if vector.shape[1:] != tokens.shape[1:] or vector.shape[0] not in (1, tokens.shape[0]):
                raise PositionError(
                    f"Positions of {tuple(vector.shape)} cannot be added to tokens of {tuple(tokens.shape)}."
                )
            tokens = tokens + vector.to(tokens.dtype)
        summed: Tensor = self.dropout(self.norm(tokens))
        return summed
