"""Properties of graphs: compiling over many lengths, exporting with a dynamic length."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from structpos.attention import attend
from structpos.encoders.base import PositionEncoder
from structpos.positions import Positions
from structpos.signals import as_signals
from structpos.testing.case import Case
from structpos.testing.report import Failed, Skipped
from structpos.testing.seen import Seen, head_width, heads_of, same, spell

LENGTHS = 7
GRAPHS = 2  # one for the first length, one for all others


class InUse(nn.Module):
    """The encoder as a model uses it: its vector, and attention with its rotation and bias."""

    def __init__(self, encoder: PositionEncoder, heads: int, width: int) -> None:
        super().__init__()
        self.encoder, self.heads, self.width = encoder, heads, width

    def forward(self, positions: Positions, content: Tensor) -> tuple[Tensor, ...]:
        """The vector, where there is one, and what queries find."""
        signals = as_signals(self.encoder(positions))
        found = [] if signals.vector is None else [signals.vector + 0]
        if signals.rotation is not None or signals.bias is not None:
            found.append(attend(content, content, content, signals, queries=positions, causal=True))
        return tuple(found)


class Alone(nn.Module):
    """The encoder alone, so that a signal leaves the graph."""

    def __init__(self, encoder: PositionEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, positions: Positions) -> Any:
        """The signal."""
        return self.encoder(positions)


def compiling(case: Case) -> None:
    """``torch.compile(fullgraph=True)`` gives the same over 7 lengths, padded or not, with at most 2 graphs."""
    refuse_silent(case.encoder)
    for padded in (False, True):
        module = in_use(case)
        graphs: list[int] = []
        compiled = _compiled(module, graphs, case.inductor)
        for positions in _lengths(case, padded):
            x = features(module, positions)
            with torch.no_grad():
                wanted = module(positions, x)
                try:
                    got = compiled(positions, x)
                except Exception as error:
                    first = str(error).strip().splitlines()[0]
                    raise Failed(f"compiling ends in {type(error).__name__}: {first}; {spell(positions)}") from error
            _equal(got, wanted, "compiled", positions)
        if len(graphs) > GRAPHS:
            raise Failed(f"{LENGTHS} lengths made {len(graphs)} graphs, expected at most {GRAPHS}.")
    torch._dynamo.reset()


def exporting(case: Case) -> None:
    """``torch.export`` with a dynamic length, alone and in use; saved, loaded and run at other lengths."""
    module = in_use(case)
    refuse_silent(module.encoder)
    example = case.make(min(5, case.length))
    for what, exported, inputs in (
        ("the encoder alone", Alone(case.fresh()), lambda positions: (positions,)),
        ("the encoder with attend", module, lambda positions: (positions, features(module, positions))),
    ):
        given = inputs(example)
        shapes, length = torch.export.ShapesCollection(), torch.export.Dim("length", min=2, max=4096)
        for leaf in tree_leaves(given):
            axis = 1 if leaf.dim() == 2 else 2
            shapes[leaf] = {axis: length}
        file = io.BytesIO()
        try:
            with torch.no_grad():
                program = torch.export.export(exported, given, dynamic_shapes=shapes, strict=False)
            torch.export.save(program, file)
            file.seek(0)
            loaded = torch.export.load(file).module()
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise Failed(f"exporting {what} ends in {type(error).__name__}: {first}; {spell(example)}") from error
        for tokens in (2, 3, case.length):
            positions = case.make(tokens)
            with torch.no_grad():
                got, wanted = loaded(*inputs(positions)), exported(*inputs(positions))
            if type(got) is not type(wanted):
                raise Failed(f"{what}, exported, gives {type(got).__name__}, before {type(wanted).__name__}.")
            _equal(tree_leaves(got), tree_leaves(wanted), f"{what}, exported and loaded", positions)


def refuse_silent(encoder: PositionEncoder) -> None:
    """Skip what gives no signal at all."""
    if encoder.signal == "none":
        raise Skipped("it gives no signal")


def in_use(case: Case) -> InUse:
    """The encoder in a module as a model uses it."""
    encoder = case.fresh()
    signals = as_signals(encoder(case.make(2)))
    return InUse(encoder, heads_of(signals), head_width(encoder, signals)).eval()


def features(module: InUse, positions: Positions) -> Tensor:
    """Random features for every token, `batch heads seq head_width`."""
    size = (positions.shape[0], module.heads, positions.shape[1], module.width)
    return torch.randn(size, generator=torch.Generator().manual_seed(0))


def _lengths(case: Case, padded: bool) -> list[Positions]:
    longest = max(case.length, LENGTHS + 2)
    lengths = [longest - step for step in range(LENGTHS)][::-1]
    rows = [case.make(length) for length in lengths]
    return [Positions.collate([row, row[:, 1:]]) for row in rows] if padded else rows


def _compiled(module: nn.Module, graphs: list[int], inductor: bool) -> Callable[..., tuple[Tensor, ...]]:
    torch._dynamo.reset()
    below = torch._dynamo.lookup_backend("inductor" if inductor else "aot_eager")

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(len(inputs))
        return below(graph, inputs)

    return torch.compile(module, fullgraph=True, backend=backend)


def _equal(got: Any, wanted: Any, what: str, positions: Positions) -> None:
    for one, two in zip(got, wanted, strict=True):
        same(
            Seen(vector=one, scores=None, bias=None),
            Seen(vector=two, scores=None, bias=None),
            what,
            positions,
            allowed=1e-4,
        )
