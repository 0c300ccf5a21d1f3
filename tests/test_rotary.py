"""Rotary positions: lengths kept, scores of differences only, any axes, both pairings, angles that no cast touches."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import structpos as sp
from structpos import Positions, Rotary, Sections

PAIRINGS = pytest.mark.parametrize("pairing", ["interleaved", "half"])


def features(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def at(*places: float, axis: str = "order") -> Positions:
    return Positions({axis: [list(places)]})


def score(rope: Rotary, query: float, key: float, q: torch.Tensor, k: torch.Tensor) -> float:
    rotation = rope(at(query), at(key))
    return float((rotation.query(q) * rotation.key(k)).sum())


def test_s16_both_layouts_of_the_case() -> None:
    x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]], dtype=torch.float64)
    cos, sin, slow_cos, slow_sin = (
        float(value) for value in (mpmath.cos(1), mpmath.sin(1), mpmath.cos(0.01), mpmath.sin(0.01))
    )
    pairs = Rotary(4).double()(at(1)).query(x).flatten().tolist()
    halves = Rotary(4, pairing="half").double()(at(1)).query(x).flatten().tolist()
    assert pairs == pytest.approx(
        [cos - 2 * sin, sin + 2 * cos, 3 * slow_cos - 4 * slow_sin, 3 * slow_sin + 4 * slow_cos], abs=1e-12
    )
    assert halves == pytest.approx(
        [cos - 3 * sin, 2 * slow_cos - 4 * slow_sin, sin + 3 * cos, 2 * slow_sin + 4 * slow_cos], abs=1e-12
    )


def test_s16_scores_agree_between_layouts() -> None:
    q, k, places = features(1, 2, 5, 8), features(1, 2, 5, 8, seed=1), at(0, 3, 900, 2.5, 7)
    to_interleaved = [0, 4, 1, 5, 2, 6, 3, 7]
    half, pairs = Rotary(8, pairing="half").double()(places), Rotary(8).double()(places)
    wanted = half.query(q) @ half.key(k).mT
    torch.testing.assert_close(
        pairs.query(q[..., to_interleaved]) @ pairs.key(k[..., to_interleaved]).mT, wanted, atol=1e-12, rtol=0
    )


@PAIRINGS
@given(place=st.floats(-1e6, 1e6), more=st.floats(-1e3, 1e3), rotate=st.sampled_from([None, 2, 6]))
@settings(max_examples=30, deadline=None)
def test_turning_keeps_lengths_adds_up_and_turns_back(
    pairing: Any, place: float, more: float, rotate: int | None
) -> None:
    rope, x = Rotary(8, pairing=pairing, rotate=rotate).double(), features(1, 1, 1, 8)
    turned = rope(at(place)).query(x)
    torch.testing.assert_close(turned.norm(), x.norm(), atol=1e-12, rtol=0)
    torch.testing.assert_close(rope(at(more)).query(turned), rope(at(place + more)).query(x), atol=1e-7, rtol=0)
    torch.testing.assert_close(rope(at(-place)).query(turned), x, atol=1e-12, rtol=0)
    assert torch.equal(rope(at(0)).query(x), x)
    assert rotate is None or torch.equal(turned[..., rotate:], x[..., rotate:])


@pytest.mark.parametrize("shift", [1e3, 1e6, 0.37, 12345.678])
@PAIRINGS
def test_scores_depend_on_differences_only(pairing: Any, shift: float) -> None:
    q, k = features(1, 1, 1, 128), features(1, 1, 1, 128, seed=1)
    rope = Rotary(128, pairing=pairing).double()
    near = score(rope, 0, 10, q, k)
    assert score(rope, shift, shift + 10, q, k) == pytest.approx(near, abs=1e-8)
    single = Rotary(128, pairing=pairing)
    moved = score(single, shift, shift + 10, q.float(), k.float())
    assert moved == pytest.approx(score(single, 0, 10, q.float(), k.float()), abs=2e-5)


def test_the_score_turns_by_key_minus_query() -> None:
    rope = Rotary(2, wavelengths=(6.283185307179586, 100.0)).double()
    q, k = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64), torch.tensor([[[[0.0, 1.0]]]], dtype=torch.float64)
    assert score(rope, 7, 3, q, k) == pytest.approx(float(mpmath.sin(4)), abs=1e-12)  # q . R(3 - 7) k = -sin(3 - 7)


def test_a_base_need_not_be_an_integer() -> None:
    q, k, rope = features(1, 1, 1, 64), features(1, 1, 1, 64, seed=1), Rotary(64, base=41829.36592889949).double()
    assert score(rope, 7, 3, q, k) == pytest.approx(score(rope, 107, 103, q, k), abs=1e-12)


@pytest.mark.parametrize("cast", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@PAIRINGS
def test_s4_no_cast_touches_the_angles(pairing: Any, cast: torch.dtype) -> None:
    rotation = Rotary(32, pairing=pairing).to(cast)(Positions.sequence(2048))
    exact = Rotary(32).angles(Positions.sequence(2048))[:, None]
    assert rotation.query_cos.dtype == torch.promote_types(cast, torch.float32)
    assert float((rotation.query_cos.double() - exact.cos()).abs().max()) <= 1e-6
    assert float((rotation.query_sin.double() - exact.sin()).abs().max()) <= 1e-6


@pytest.mark.parametrize("place", [16_777_217, 1_700_000_000])
def test_s6_cosines_hold_for_large_positions(place: int) -> None:
    rotation = Rotary(16, base=10000)(at(place))
    with mpmath.workdps(40):
        wanted = [float(mpmath.cos(place * mpmath.mpf(10000) ** (mpmath.mpf(-i) / 8))) for i in range(8)]
    assert rotation.query_cos.flatten().tolist() == pytest.approx(wanted, abs=1e-6)


def test_half_features_are_turned_in_float32_and_a_later_float32_call_is_not_spoiled() -> None:
    q, rope = features(1, 2, 4096, 64, dtype=torch.float32), Rotary(64)
    before = rope(Positions.sequence(4096)).query(q)
    for kind, allowed in ((torch.bfloat16, 3e-2), (torch.float16, 4e-3)):
        got = rope(Positions.sequence(4096)).query(q.to(kind))
        assert got.dtype == kind and float((got.float() - before).abs().max()) <= allowed
        assert torch.equal(got, rope(Positions.sequence(4096)).query(q.to(kind).float()).to(kind))
    assert torch.equal(rope(Positions.sequence(4096)).query(q), before)


def test_s17_the_offset_counts() -> None:
    rope = Rotary(8)
    whole, later = rope(Positions.sequence(9)), rope(Positions.sequence(4, start=5))
    assert torch.equal(later.query_cos, whole.query_cos[:, :, 5:])
    assert not torch.equal(later.query_cos, rope(Positions.sequence(4)).query_cos)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Rotary(9), r"even head width, got 9. Use 10, or turn part of it: Rotary\(head_width=9, rotate=8\)"),
        (lambda: Rotary(9, rotate=10), "rotate needs an even number up to the head width 9, got 10"),
        (lambda: Rotary(8, rotate=3), "rotate needs an even number up to the head width 8, got 3"),
        (lambda: Rotary(8, rotate=0), "rotate needs a whole number of at least 2, got 0"),
        (lambda: Rotary(8, ()), "at least one axis and each of them once"),
        (lambda: Rotary(8, ("row", "row")), "each of them once"),
        (lambda: Rotary(8, ("a", "b", "c")), "4 pairs cannot be shared equally by 3 axes"),
        (lambda: Rotary(8, ("a", "b"), sections=Sections(pairs=(1, 2))), r"add up to 4 pairs, got \(1, 2\)"),
        (lambda: Rotary(8, ("a", "b"), sections=Sections(pairs=(4, 0))), r"shares of at least 1"),
        (
            lambda: Rotary(16, ("a", "b"), sections=Sections(pairs=(2, 6), interleaved=True)),
            "give 'b' one pair in 2 of 8, 4 at most",
        ),
        (lambda: Rotary(4)(Positions.sequence(2)).query(torch.zeros(1, 1, 2, 8)), "heads of width 4, got .*rotate="),
        (
            lambda: Rotary(8)(Positions.sequence(2, batch=3)).query(torch.zeros(1, 1, 2, 8)),
            "for a batch of 3 and 1 heads",
        ),
        (lambda: Rotary(8, sections=Sections(ladder="new")), "ladder is one of 'restart', 'continue'"),  # type: ignore[arg-type]
        (lambda: Rotary(8, pairing="split"), "pairing is one of 'interleaved', 'half'; got 'split'"),  # type: ignore[arg-type]
        (lambda: Rotary(8, base=0.5), r"base needs to be above 1, got 0\.5"),
        (lambda: Rotary(8, "line")(Positions.sequence(2)), "Rotary reads the axis 'line'; these positions have order"),
        (lambda: Rotary(8)(Positions.sequence(2)).query(torch.zeros(1, 1, 3, 8)), "turns 8 features of 2 tokens.*got "),
        (lambda: Rotary(8)(Positions.sequence(2)).query(torch.zeros(1, 2, 8)), "needs .batch, heads, seq, head_width."),
        (lambda: Rotary(8)(Positions.sequence(2)).query(torch.zeros(1, 1, 2, 4)), "turns 8 features"),
    ],
)
def test_s19_what_cannot_be_turned_is_refused_when_built(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


def test_s19_the_ninth_feature_passes() -> None:
    x = features(1, 1, 4, 9)
    turned = Rotary(9, rotate=8).double()(Positions.sequence(4)).query(x)
    assert torch.equal(turned[..., 8:], x[..., 8:]) and not torch.equal(turned[..., :8], x[..., :8])


@PAIRINGS
def test_equal_coordinates_on_all_axes_are_the_one_axis(pairing: Any) -> None:
    one = Rotary(16, "order", pairing=pairing).angles(at(0, 3, 11.5))
    three = Positions({axis: [[0, 3, 11.5]] for axis in ("time", "row", "col")})
    for interleaved in (False, True):
        sections = Sections(pairs=(2, 3, 3), interleaved=interleaved, ladder="continue")
        torch.testing.assert_close(Rotary(16, ("time", "row", "col"), sections=sections).angles(three), one)


def test_text_beside_an_image_is_not_turned_by_rows() -> None:
    mixed = Positions.concat([Positions.sequence(2), Positions.grid(1, 2)])
    angles = Rotary(8, ("row", "col")).angles(mixed)
    assert not angles[0, :2].any() and angles[0, 3].any()


def test_the_backward_pass_turns_back() -> None:
    x, grad = features(1, 1, 3, 8).requires_grad_(), features(1, 1, 3, 8, seed=2)
    rope = Rotary(8).double()
    (rope(at(1, 5, 900)).query(x) * grad).sum().backward()
    torch.testing.assert_close(x.grad, rope(at(-1, -5, -900)).query(grad))
    assert torch.autograd.gradcheck(rope(at(1, 5, 900)).query, (features(1, 1, 3, 8).requires_grad_(),))


def test_features_may_begin_anywhere_in_memory() -> None:
    flat = features(1 + 2 * 8, dtype=torch.float32)
    x = flat[1:].view(1, 1, 2, 8)
    assert torch.equal(Rotary(8)(at(3, 4)).query(x), Rotary(8)(at(3, 4)).query(x.clone()))
    strided = features(1, 2, 1, 16, dtype=torch.float32)[..., ::2].transpose(1, 2)
    assert torch.equal(Rotary(8)(at(3, 4)).query(strided), Rotary(8)(at(3, 4)).query(strided.contiguous()))


def test_peer_llama_in_transformers() -> None:
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = pytest.importorskip("transformers").LlamaConfig(
        hidden_size=64, num_attention_heads=4, max_position_embeddings=64
    )
    q, k = features(2, 4, 10, 16, dtype=torch.float32), features(2, 4, 10, 16, dtype=torch.float32, seed=1)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, torch.arange(10)[None])
    wanted = llama.apply_rotary_pos_emb(q, k, cos, sin)
    rotation = Rotary(16, pairing="half")(Positions.sequence(10))
    torch.testing.assert_close(rotation.query(q), wanted[0], atol=2e-6, rtol=0)
    torch.testing.assert_close(rotation.key(k), wanted[1], atol=2e-6, rtol=0)


def test_peer_gptj_in_transformers() -> None:
    gptj = pytest.importorskip("transformers.models.gptj.modeling_gptj")
    q = features(1, 10, 2, 16, dtype=torch.float32)
    sin, cos = gptj.create_sinusoidal_positions(10, 16)[None].chunk(2, -1)
    wanted = gptj.apply_rotary_pos_emb(q, sin, cos)
    got = Rotary(16)(Positions.sequence(10)).query(q.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(got, wanted, atol=2e-6, rtol=0)


def test_peer_eva_in_timm() -> None:
    timm = pytest.importorskip("timm.layers.pos_embed_sincos")
    embed = timm.RotaryEmbeddingCat(16, in_pixels=False, feat_shape=[2, 3]).get_embed([2, 3])
    x = features(1, 2, 6, 16, dtype=torch.float32)
    got = Rotary(16, ("row", "col"))(Positions.grid(2, 3)).query(x)
    torch.testing.assert_close(got, timm.apply_rot_embed_cat(x, embed), atol=2e-6, rtol=0)
