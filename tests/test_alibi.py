"""ALiBi: the paper's slopes for any number of heads, distances on any axis, exact also far from zero."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import structpos as sp
from structpos import ALiBi, Positions
from structpos.encoders.alibi import slopes

EIGHT = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]


def test_s22_the_first_slope_is_not_one() -> None:
    assert slopes(8).tolist() == EIGHT
    assert slopes(1).tolist() == [0.00390625]


def test_s23_heads_that_are_no_power_of_two() -> None:
    assert slopes(6).tolist() == [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    assert slopes(12).tolist() == pytest.approx([*EIGHT, 0.7071068, 0.3535534, 0.1767767, 0.0883883], abs=1e-7)


def test_s24_symmetric_for_encoders() -> None:
    bias = ALiBi(8)(Positions.sequence(3)).dense()[0, 0]
    assert bias.tolist() == [[0, -0.5, -1.0], [-0.5, 0, -0.5], [-1.0, -0.5, 0]]


def test_s24_packed_documents() -> None:
    positions = Positions({"order": [[0, 1, 2, 0, 1]]}, segments=[[0, 0, 0, 1, 1]])
    for packed in (positions, Positions.pack([Positions.sequence(3), Positions.sequence(2)])):
        bias = ALiBi(8)(packed).dense()[0, 0]
        assert bias[:3, :3].tolist() == [[0, -0.5, -1.0], [-0.5, 0, -0.5], [-1.0, -0.5, 0]]
        assert bias[3:, 3:].tolist() == [[0, -0.5], [-0.5, 0]]


def test_s24_the_causal_form_is_the_shortcut_after_softmax() -> None:
    generator = torch.Generator().manual_seed(0)
    positions, scores = Positions.sequence(9), torch.randn(8, 9, 9, generator=generator)
    seen = torch.ones(9, 9).tril().bool()
    causal, symmetric = (ALiBi(8, form=form)(positions).dense()[0] for form in ("causal", "symmetric"))
    shortcut = slopes(8).float()[:, None, None] * torch.arange(9)
    by = [(scores + bias).masked_fill(~seen, -torch.inf).softmax(-1) for bias in (causal, symmetric, shortcut)]
    torch.testing.assert_close(by[0], by[2], atol=1e-6, rtol=0)
    torch.testing.assert_close(by[1], by[2], atol=1e-6, rtol=0)


def test_the_causal_form_is_refused_where_later_keys_are_seen() -> None:
    q = torch.zeros(1, 2, 3, 4)
    with pytest.raises(sp.PositionError, match=r"rewards later keys.*causal=True, or a symmetric form"):
        sp.attend(q, q, q, ALiBi(2, form="causal")(Positions.sequence(3)))


@pytest.mark.parametrize("route", ["dense", "blocked"])
def test_s25_positions_need_not_be_whole(route: Any) -> None:
    positions = Positions({"order": [[0.0, 0.5, 3.0]]})
    bias = ALiBi(8)(positions)
    assert bias.dense()[0, 0, 0].tolist() == [0, -0.25, -1.5]
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 8, 3, 4, generator=generator) for _ in range(3))
    wanted = (q @ k.mT / 2 + bias.dense()).softmax(-1) @ v
    torch.testing.assert_close(sp.attend(q, k, v, bias, queries=positions, route=route), wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("cast", [torch.bfloat16, torch.float16])
def test_s26_the_bias_stays_float32_in_a_half_model(cast: torch.dtype) -> None:
    far = ALiBi(8).to(cast)(Positions({"order": [[0, 257]]})).dense()
    assert far.dtype == torch.float32 and far[0, 0, 0, 1] == -128.5
    row = ALiBi(4).to(cast)(Positions.sequence(1024)).dense()[0, 0, 0]
    assert len(row.unique()) == 1024


@pytest.mark.parametrize("shift", [1e3, 1e6, 450_000.25])
@pytest.mark.parametrize("form", ["causal", "symmetric"])
def test_moving_every_position_changes_nothing(form: Any, shift: float) -> None:
    places = torch.tensor([[0, 1.0, 2.5, 7, 100]], dtype=torch.float64)
    here, there = (ALiBi(5, form=form)(Positions({"order": values})).dense() for values in (places, places + shift))
    torch.testing.assert_close(here, there, atol=1e-6, rtol=1e-6)


def test_instants_are_subtracted_before_they_are_rounded() -> None:
    stamps = Positions.timestamps(["2023-11-14T22:13:20Z", "2023-11-14T22:13:20.000001Z"])
    assert ALiBi(1, "time")(stamps).dense()[0, 0, 0, 1] == -1000 / 256


@given(st.permutations(range(6)))
@settings(max_examples=20, deadline=None)
def test_permuted_tokens_have_permuted_biases(order: list[int]) -> None:
    places = Positions({"line": [[0, 0, 3, 5.5, 9, 20]]})
    bias = ALiBi(3, "line")
    wanted = bias(places).dense()[:, :, order][..., order]
    assert torch.equal(bias(places.take([order])).dense(), wanted)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ALiBi(0), "heads needs a whole number of at least 1, got 0"),
        (lambda: ALiBi(True), "heads needs a whole number of at least 1, got True"),
        (lambda: ALiBi(2, form="linear"), "form is one of 'symmetric', 'causal'; got 'linear'"),  # type: ignore[arg-type]
        (lambda: ALiBi(2, "line")(Positions.sequence(2)), "ALiBi reads the axis 'line'"),
    ],
)
def test_what_cannot_be_is_named(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


@pytest.mark.parametrize("heads", [*range(1, 20), 40, 64])
def test_peers_bloom_and_mpt_have_the_same_slopes(heads: int) -> None:
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    mpt = pytest.importorskip("transformers.models.mpt.modeling_mpt")
    mask = torch.ones(1, 7, dtype=torch.long)
    wanted = bloom.build_alibi_tensor(mask, heads, torch.float32).reshape(heads, 7)
    ours = ALiBi(heads, form="causal")(Positions.sequence(7)).dense()[0, :, 0]
    torch.testing.assert_close(ours, wanted, atol=1e-6, rtol=0)
    theirs = mpt.build_mpt_alibi_tensor(heads, 7).reshape(heads, 7)
    last = ALiBi(heads)(Positions.sequence(7)).dense()[0, :, -1]
    torch.testing.assert_close(last, theirs, atol=1e-6, rtol=0)
