"""Signals: tensors that torch sees, biases in tiles, kinds of one's own in a few lines."""

from __future__ import annotations

import copy
import io
from typing import Any, ClassVar

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import structpos as sp
from structpos import ALiBi, Bias, Positions, Rotary, Rotation, Signals, T5Bias
from structpos.signals import BiasSum, as_signals

WORDS = Positions({"order": [[0, 1, 2, 5, 6]], "line": [[0, 0, 1, 1, 2]]}, present={"line": [[1, 1, 0, 1, 1]]})

SIGNALS: dict[str, Any] = {
    "rotation": lambda: Rotary(8, pairing="half")(WORDS),
    "rotation of two sides": lambda: Rotary(8)(WORDS[:, 3:], WORDS),
    "alibi": lambda: ALiBi(3, form="causal")(WORDS),
    "t5": lambda: T5Bias(2, "line", scale=2.0)(WORDS),
    "bias sum": lambda: ALiBi(2)(WORDS) + T5Bias(2, "line")(WORDS),
    "signals": lambda: sp.Sum(parts={"a": sp.Sinusoidal(8), "b": Rotary(8), "c": ALiBi(2)})(WORDS),
}


def numbers(signal: Any) -> list[torch.Tensor]:
    """What a signal says, as tensors."""
    parts = as_signals(signal)
    x = torch.randn(1, 2, WORDS.shape[1], 8, generator=torch.Generator().manual_seed(0))
    found = [] if parts.vector is None else [parts.vector]
    if parts.rotation is not None:
        length = parts.rotation.query_cos.shape[2]
        found += [parts.rotation.query(x[:, :, -length:]), parts.rotation.key(x)]
    return found if parts.bias is None else [*found, parts.bias.dense()]


@pytest.mark.parametrize("name", SIGNALS)
def test_torch_sees_the_tensors_of_a_signal_and_gives_it_back(name: str) -> None:
    signal = SIGNALS[name]()
    leaves, spec = tree_flatten(signal)
    assert leaves and all(isinstance(leaf, torch.Tensor) for leaf in leaves)
    again = tree_unflatten(leaves, spec)
    assert type(again) is type(signal) and repr(again) == repr(signal)
    assert all(torch.equal(one, two) for one, two in zip(numbers(again), numbers(signal), strict=True))
    moved = tree_map(lambda tensor: tensor.to("meta"), signal)
    assert all(leaf.is_meta for leaf in tree_flatten(moved)[0])
    assert repr(moved) == repr(signal)


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_is_saved_and_read_with_weights_only(name: str) -> None:
    signal, file = SIGNALS[name](), io.BytesIO()
    signal = tree_map(torch.Tensor.detach, signal)
    torch.save(signal, file)
    file.seek(0)
    for again in (torch.load(file), copy.deepcopy(signal)):
        assert all(torch.equal(one, two) for one, two in zip(numbers(again), numbers(signal), strict=True))


@pytest.mark.parametrize("name", ["alibi", "t5", "bias sum"])
def test_tiles_are_cut_from_the_whole(name: str) -> None:
    bias = SIGNALS[name]()
    whole = bias.dense()
    assert tuple(whole.shape) == bias.shape
    for rows in (slice(0, 2), slice(2, 5), slice(4, 5)):
        for columns in (slice(None), slice(1, 4)):
            assert torch.equal(bias.tile(rows, columns), whole[:, :, rows, columns])


def test_a_sum_of_sums_is_flat_and_keeps_what_its_parts_demand() -> None:
    causal = ALiBi(2, form="causal")(WORDS)
    total = (ALiBi(2)(WORDS) + causal) + (T5Bias(2, scale=3.0)(WORDS) + T5Bias(2, scale=2.0)(WORDS))
    assert isinstance(total, BiasSum) and len(total.parts) == 4
    assert total.causal_only and total.scale == 6.0 and not total.reads_content
    with pytest.raises(TypeError):
        _ = causal + 1  # type: ignore[operator]


def test_diagonals_say_what_the_whole_says() -> None:
    positions = Positions.sequence(6)
    for bias in (
        ALiBi(2)(positions),
        T5Bias(2)(positions),
        ALiBi(2)(positions) + T5Bias(2)(positions),
        T5Bias(2)(positions[:, 4:], positions),
        ALiBi(2)(positions[:, ::2], positions[:, 1::2]),
    ):
        line = bias.diagonals()
        assert line is not None
        queries, keys = bias.shape[2:]
        index = torch.arange(keys)[None] - torch.arange(queries)[:, None] + queries - 1
        assert torch.equal(line[:, :, index].expand(bias.shape), bias.dense().expand(bias.shape))
    uneven = (ALiBi(2)(WORDS), T5Bias(2)(positions) + ALiBi(2)(positions.take([[0, 1, 2, 3, 5, 5]])))
    assert all(bias.diagonals() is None for bias in uneven)


def test_a_bias_holds_a_copy_of_the_table_and_passes_gradients_to_it() -> None:
    encoder = T5Bias(2)
    bias = encoder(WORDS)
    assert bias.table is not encoder.table and bias.table.data_ptr() != encoder.table.data_ptr()
    bias.dense().sum().backward()
    assert encoder.table.grad is not None and encoder.table.grad.any()


class Checkered(Bias):
    """A bias of one's own: its tensors and facts named, a shape and a tile."""

    tensors: ClassVar[tuple[str, ...]] = ("strength",)
    facts: ClassVar[tuple[str, ...]] = ("length",)

    def __init__(self, strength: torch.Tensor, length: int) -> None:
        self.strength, self.length = strength, length

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return 1, self.strength.shape[0], self.length, self.length

    def tile(self, rows: slice, columns: slice, q: Any = None, k: Any = None) -> torch.Tensor:
        index = torch.arange(self.length)
        odd = (index[rows, None] + index[None, columns]) % 2
        return (self.strength[:, None, None] * odd)[None]


class ByContent(Checkered):
    """One that reads queries and keys, as disentangled attention does."""

    reads_content = True

    def tile(self, rows: slice, columns: slice, q: Any = None, k: Any = None) -> torch.Tensor:
        return super().tile(rows, columns) * (q.sum(-1)[..., None] - k.sum(-1)[..., None, :])


@pytest.mark.parametrize("kind", [Checkered, ByContent])
@pytest.mark.parametrize("causal", [False, True])
def test_a_bias_of_ones_own_works_on_every_route(kind: type[Checkered], causal: bool) -> None:
    q = torch.randn(2, 4, 300, 8, generator=torch.Generator().manual_seed(0))
    k, v = (torch.randn(2, 2, 300, 8, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    bias = kind(torch.tensor([1.0, -2.0, 0.5, 0.0]), 300)
    keys, values = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    score = q @ keys.mT / 8**0.5 + bias.dense(q, keys)
    score = score.masked_fill(~torch.ones(300, 300).tril().bool(), -torch.inf) if causal else score
    wanted = score.softmax(-1) @ values
    for route in ("dense", "blocked"):
        got = sp.attend(q, k, v, bias, causal=causal, route=route)
        torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    leaves, spec = tree_flatten(bias)
    again = tree_unflatten(leaves, spec)
    assert torch.equal(again.dense(q, keys), bias.dense(q, keys))


def test_a_kind_may_be_defined_again_as_in_a_notebook() -> None:
    for _ in range(2):
        kind = type("Mine", (Checkered,), {"__module__": "__main__"})
        bias = kind(torch.ones(1), 2)
        assert torch.equal(tree_map(lambda tensor: tensor, bias).dense(), bias.dense())


def test_what_is_no_signal_is_told() -> None:
    with pytest.raises(sp.PositionError, match="a vector, a Rotation, a Bias or Signals; got list"):
        as_signals([1])  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="Bias needs a shape"):
        _ = Bias().shape
    assert repr(Signals()) == "Signals(vector=None, rotation=None, bias=None)"
    assert isinstance(as_signals(Rotary(8)(WORDS)).rotation, Rotation)
