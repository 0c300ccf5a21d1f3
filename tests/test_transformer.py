"""The small Transformer: any encoder, decoding with stored keys, a memory, padding, and no look ahead."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import structpos as sp
from structpos import ALiBi, Layout, Positions, Rotary, Sum, T5Bias, Transformer

ENCODERS = {
    "none": lambda: None,
    "sinusoidal": lambda: sp.Sinusoidal(32),
    "learned": lambda: sp.Learned(32, 16),
    "rotary": lambda: Rotary(8),
    "alibi": lambda: ALiBi(4),
    "alibi-causal": lambda: ALiBi(4, form="causal"),
    "t5": lambda: T5Bias(4, bidirectional=False),
    "all": lambda: Sum(parts={"place": sp.Sinusoidal(32), "rope": Rotary(8), "distance": ALiBi(4)}),
}
EVERY = pytest.mark.parametrize("name", ENCODERS)


def tokens(batch: int, length: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(batch, length, 32, generator=torch.Generator().manual_seed(seed))


def decoder(name: str, **arguments: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(32, 2, 4, encoder=ENCODERS[name](), causal=True, **arguments).eval()


def step_by_step(
    model: Transformer, x: torch.Tensor, positions: Positions, cuts: list[int], **memory: Any
) -> torch.Tensor:
    store, out = model.key_store(), []
    for start, stop in zip([0, *cuts], [*cuts, x.shape[1]], strict=True):
        out.append(model(x[:, start:stop], positions[:, start:stop], store=store, **memory))
    return torch.cat(out, 1)


@EVERY
@pytest.mark.parametrize("cuts", [[1, 2, 3, 4, 5, 6], [4], [3, 4]])
@pytest.mark.parametrize("arguments", [{}, {"per_layer": True, "kv_heads": 2, "window": 3}])
def test_s34_decoding_with_stored_keys_is_the_whole_pass(name: str, cuts: list[int], arguments: dict[str, Any]) -> None:
    model, x, positions = decoder(name, **arguments), tokens(1, 7), Positions.sequence(7)
    with torch.no_grad():
        torch.testing.assert_close(step_by_step(model, x, positions, cuts), model(x, positions), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["rotary", "t5", "all"])
def test_s34_left_padded_batches_decode_too(name: str) -> None:
    model, x = decoder(name), tokens(2, 7)
    positions = Positions.collate([Positions.sequence(4), Positions.sequence(7)], side="left")
    with torch.no_grad():
        got, whole = step_by_step(model, x, positions, [5, 6]), model(x, positions)
        alone = model(x[:1, 3:], Positions.sequence(4))
    torch.testing.assert_close(got, whole, atol=1e-5, rtol=0)
    torch.testing.assert_close(whole[:1, 3:], alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["rotary", "t5", "all"])
def test_s29_packed_documents_decode_apart(name: str) -> None:
    model, x, packed = decoder(name), tokens(1, 5), Positions.pack([Positions.sequence(3), Positions.sequence(2)])
    with torch.no_grad():
        got = step_by_step(model, x, packed, [3, 4])
        torch.testing.assert_close(got, model(x, packed), atol=1e-5, rtol=0)
        torch.testing.assert_close(got[:, 3:], model(x[:, 3:], Positions.sequence(2)), atol=1e-5, rtol=0)


@EVERY
def test_a_causal_model_sees_no_later_token(name: str) -> None:
    model, x, positions = decoder(name), tokens(1, 6), Positions.sequence(6)
    with torch.no_grad():
        before = model(x, positions)
        x[:, 4:] = tokens(1, 2, seed=5)
        after = model(x, positions)
    assert torch.equal(after[:, :4], before[:, :4]) and not torch.allclose(after[:, 4:], before[:, 4:])


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "alibi-causal"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_s28_padding_changes_no_token(name: str, side: Any) -> None:
    torch.manual_seed(0)
    model = Transformer(32, 2, 4, encoder=ENCODERS[name]()).eval()
    x, both = tokens(2, 5), Positions.collate([Positions.sequence(3), Positions.sequence(5)], side=side)
    place = slice(0, 3) if side == "right" else slice(2, 5)
    with torch.no_grad():
        got = model(x, both)
        torch.testing.assert_close(got[:1, place], model(x[:1, place], Positions.sequence(3)), atol=1e-5, rtol=0)
    assert not got[0][~both.real()[0]].any()


def test_s32_training_and_evaluation_agree_on_shapes_and_padding() -> None:
    model = decoder("rotary")
    positions = Positions.sequence(mask=[[1, 1, 1, 0, 0]] * 2)
    x = tokens(2, 5)
    train, evaluation = model.train()(x, positions), model.eval()(x, positions)
    assert train.shape == evaluation.shape == (2, 5, 32)
    torch.testing.assert_close(train, evaluation, atol=1e-5, rtol=0)
    assert not train[:, 3:].any() and not evaluation[:, 3:].any()


def test_s30_a_sample_of_padding_leaves_gradients_finite_and_nan_in_it_too() -> None:
    model = decoder("all", norm_input=True).train()
    x = tokens(2, 4)
    x[0] = torch.nan
    out = model(x, Positions.sequence(mask=[[0] * 4, [1, 1, 1, 0]]))
    out.square().sum().backward()
    assert not out[0].any() and bool(out.isfinite().all())
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters() if parameter.grad is not None)


def test_s31_nan_in_the_padding_of_a_memory_reaches_no_gradient() -> None:
    model, memory = Transformer(32, 1, 4, cross=True), tokens(1, 4)
    memory[:, 3] = torch.nan
    places = Positions.sequence(mask=[[1, 1, 1, 0]])
    model(tokens(1, 2), Positions.sequence(2), memory=memory, memory_positions=places).square().sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters() if parameter.grad is not None)


def test_every_layer_may_have_tables_of_its_own() -> None:
    shared, own = (Transformer(32, 3, 4, encoder=T5Bias(4), per_layer=per_layer) for per_layer in (False, True))
    count = [sum(name.endswith("table") for name, _ in model.named_parameters()) for model in (shared, own)]
    assert count == [1, 3]
    tables = [parameter for name, parameter in own.named_parameters() if name.endswith("table")]
    assert not torch.equal(tables[0], tables[1])
    own(tokens(1, 4), Positions.sequence(4)).square().sum().backward()
    assert all(table.grad is not None and table.grad.any() for table in tables)
    assert len(Transformer(32, 3, 4, encoder=sp.Learned(32, 16), per_layer=True).layer_encoders) == 0


@pytest.mark.parametrize("cross_encoder", [None, lambda: Rotary(8), lambda: T5Bias(4)])
def test_a_decoder_with_a_memory_decodes_step_by_step(cross_encoder: Any) -> None:
    torch.manual_seed(0)
    across = None if cross_encoder is None else cross_encoder()
    model = Transformer(32, 2, 4, encoder=Rotary(8), causal=True, cross=True, cross_encoder=across).eval()
    memory, memory_positions = tokens(1, 9, seed=1), Positions.sequence(mask=[[1] * 6 + [0] * 3])
    x, positions = tokens(1, 5), Positions.sequence(5)
    given = {"memory": memory, "memory_positions": memory_positions}
    with torch.no_grad():
        whole = model(x, positions, **given)
        torch.testing.assert_close(step_by_step(model, x, positions, [1, 2, 3, 4], **given), whole, atol=1e-5, rtol=0)
        memory[:, 6:] = torch.nan
        torch.testing.assert_close(model(x, positions, **given), whole, atol=1e-6, rtol=0)
        memory[:, 5] += 1.0
        assert not torch.allclose(model(x, positions, **given), whole)


def test_a_layout_and_a_rotary_of_two_axes_work_together() -> None:
    words = Positions.layout({"order": [0, 1, 2], "line": [0, 0, 1], "column": [2, 9, 2]})
    encoder = Sum(parts={"layout": Layout(32), "rope": Rotary(8, ("line", "column"))})
    out = Transformer(32, 1, 4, encoder=encoder)(tokens(1, 3), words)
    assert out.shape == (1, 3, 32) and bool(out.isfinite().all())


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_a_cast_model_runs_in_its_dtype(kind: torch.dtype) -> None:
    model = decoder("all").to(kind)
    out = model(tokens(1, 5).to(kind), Positions.sequence(5))
    assert out.dtype == kind
    torch.testing.assert_close(out.float(), decoder("all")(tokens(1, 5), Positions.sequence(5)), atol=0.1, rtol=0)


@EVERY
def test_positions_of_one_row_serve_the_whole_batch(name: str) -> None:
    model, x = decoder(name), tokens(3, 5)
    with torch.no_grad():
        assert torch.equal(model(x, Positions.sequence(5)), model(x, Positions.sequence(5, batch=3)))


def test_a_store_outlives_no_call_of_another() -> None:
    model, x, positions = decoder("rotary"), tokens(1, 4), Positions.sequence(4)
    with torch.no_grad():
        first = model(x, positions)
        step_by_step(model, x, positions, [2])
        assert torch.equal(model(x, positions), first)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Transformer(30, 1, 4), "width 30 and kv_heads 4 need to fit heads 4"),
        (lambda: Transformer(32, 1, 4, kv_heads=3), "kv_heads 3 need to fit heads 4"),
        (lambda: Transformer(32, 0, 4), "depth needs a whole number of at least 1, got 0"),
        (lambda: Transformer(32, 1, 4, cross_encoder=Rotary(8)), "set cross=True"),
        (lambda: Transformer(32, 1, 4, cross=True)(tokens(1, 3), Positions.sequence(3)), "memory was not given"),
        (
            lambda: Transformer(32, 1, 4)(tokens(1, 3), Positions.sequence(3), memory=tokens(1, 2)),
            "cross is False, memory was given",
        ),
        (
            lambda: (model := Transformer(32, 1, 4))(tokens(1, 3), Positions.sequence(3), store=model.key_store()),
            "Stored keys are for a causal Transformer",
        ),
        (
            lambda: Transformer(32, 1, 4, encoder=sp.Sinusoidal(16))(tokens(1, 3), Positions.sequence(3)),
            "cannot be added",
        ),
        (
            lambda: Transformer(32, 1, 4, encoder=ALiBi(4, form="causal"))(tokens(1, 3), Positions.sequence(3)),
            "causal=True",
        ),
        (lambda: Transformer(32, 1, 4, encoder=ALiBi(3))(tokens(1, 3), Positions.sequence(3)), "does not fit q"),
        (lambda: Transformer(32, 1, 4)(tokens(1, 3), torch.arange(3)), "takes Positions beside x, got Tensor"),
        (lambda: Transformer(32, 1, 4)(tokens(1, 3)[0], Positions.sequence(3)), r"\(batch, seq, 32\), got \(3, 32\)"),
        (lambda: Transformer(32, 1, 4)(tokens(1, 3).long(), Positions.sequence(3)), "as embeddings of .* torch.int64"),
        (
            lambda: Transformer(32, 1, 4)(tokens(1, 3), Positions.sequence(4)),
            r"does not fit positions of \(batch, seq\)",
        ),
    ],
)
def test_what_does_not_fit_is_told(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all", "t5"])
def test_l17_a_compiled_model_makes_two_graphs_for_all_lengths(name: str) -> None:
    model, graphs = decoder(name), []
    torch._dynamo.reset()
    below = torch._dynamo.lookup_backend("aot_eager")

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return below(graph, inputs)

    compiled = torch.compile(model, fullgraph=True, backend=backend)
    with torch.no_grad():
        for length in (64, 128, 192, 256):
            x, positions = tokens(2, length), Positions.sequence(length, batch=2)
            torch.testing.assert_close(compiled(x, positions), model(x, positions), atol=1e-4, rtol=0)
    torch._dynamo.reset()
    assert len(graphs) <= 2
