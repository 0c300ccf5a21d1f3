"""attend: every route against attention written out in float64, whoever may see whom, and nobody who may not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import structpos as sp
from structpos import ALiBi, Positions, Rotary, T5Bias, attend
from structpos.attention import routes
from structpos.attention.mask import make_mask

ROUTES = pytest.mark.parametrize("route", ["dense", "blocked"])


def features(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def written_out(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    rope: Rotary | None,
    bias: sp.PositionEncoder | None,
    queries: Positions,
    keys: Positions,
    causal: bool,
    window: int | None,
) -> torch.Tensor:
    """Attention in float64, pair by pair."""
    q, k, v = q.double(), k.double(), v.double()
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    if rope is not None:
        rotation = rope.double()(queries, keys)
        q, k = rotation.query(q), rotation.key(k)
    score = q @ k.mT / q.shape[-1] ** 0.5
    if bias is not None:
        score = score + bias.double()(Positions(queries.coordinates), Positions(keys.coordinates)).dense()
    out = torch.zeros(*q.shape[:3], v.shape[-1], dtype=torch.float64)
    for row in range(q.shape[0]):
        one = min(row, queries.shape[0] - 1)
        for i in range(q.shape[2]):
            place = i + k.shape[2] - q.shape[2]
            seen = [
                j
                for j in range(k.shape[2])
                if queries.real()[one, i]
                and keys.real()[one, j]
                and (queries.segments is None or queries.segments[one, i] == keys.segments[one, j])
                and (not causal or j <= place)
                and (window is None or abs(j - place) < window)
            ]
            if seen:
                out[row, :, i] = (score[row, :, i, seen].softmax(-1)[:, None] @ v[row][:, seen])[:, 0]
    return out


@st.composite
def situations(draw: Any) -> dict[str, Any]:
    """Queries and keys with padding, packing, causality, windows, fewer key heads, fewer queries than keys."""
    keys = draw(st.integers(1, 9))
    queries = draw(st.integers(1, keys))
    kind = draw(st.sampled_from(["plain", "padded", "packed"]))
    if kind == "padded":
        mask = [[draw(st.booleans()) for _ in range(keys)] for _ in range(2)]
        positions = Positions.sequence(mask=mask).with_axes(order=torch.arange(keys).expand(2, -1).contiguous() * 1.5)
    elif kind == "packed":
        cut = draw(st.integers(0, keys))
        positions = Positions.sequence(segments=[[0] * cut + [1] * (keys - cut)] * 2)
    else:
        positions = Positions.sequence(keys, batch=draw(st.sampled_from([1, 2])))
    return {
        "positions": positions,
        "queries": queries,
        "causal": draw(st.booleans()),
        "window": draw(st.sampled_from([None, 1, 2, 4])),
        "kv_heads": draw(st.sampled_from([1, 2, 4])),
        "rope": draw(st.booleans()),
        "bias": draw(st.sampled_from([None, "alibi", "t5"])),
    }


@given(situations())
@settings(max_examples=50, deadline=None)
def test_every_route_is_attention_written_out(situation: dict[str, Any]) -> None:
    keys = situation["positions"]
    queries = keys[:, keys.shape[1] - situation["queries"] :]
    q = features(2, 4, queries.shape[1], 8)
    k, v = (features(2, situation["kv_heads"], keys.shape[1], 8, seed=seed) for seed in (1, 2))
    torch.manual_seed(0)
    rope = Rotary(8) if situation["rope"] else None
    bias = {None: None, "alibi": ALiBi(4), "t5": T5Bias(4, buckets=8, distance=5, std=1.0)}[situation["bias"]]
    limits = {"causal": situation["causal"], "window": situation["window"]}
    signals = [encoder(queries, keys) for encoder in (rope, bias) if encoder is not None]
    got = [
        attend(q, k, v, *signals, queries=queries, keys=keys, route=route, **limits) for route in ("dense", "blocked")
    ]
    with torch.no_grad():
        wanted = written_out(q, k, v, rope, bias, queries, keys, **limits)
    for out in got:
        torch.testing.assert_close(out.double(), wanted, atol=2e-5, rtol=0)


@pytest.mark.parametrize("length", [127, 128, 129, 300])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("queries", [1, 64, None])
def test_blocks_meet_without_a_seam(length: int, causal: bool, queries: int | None) -> None:
    count = length if queries is None else queries
    keys = Positions.sequence(mask=torch.arange(length)[None] >= torch.tensor([[0], [5]]))
    own = keys[:, length - count :]
    bias, rope = T5Bias(4, std=1.0), Rotary(16)
    q, k, v = features(2, 4, count, 16), features(2, 2, length, 16, seed=1), features(2, 2, length, 16, seed=2)
    results = []
    for route in ("dense", "blocked"):
        bias.zero_grad()
        inputs = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
        out = attend(*inputs, rope(own, keys), bias(own, keys), queries=own, keys=keys, causal=causal, route=route)
        out.square().sum().backward()
        results.append([out, *(tensor.grad for tensor in inputs), bias.table.grad.clone()])
    for dense, blocked in zip(*results, strict=True):
        torch.testing.assert_close(dense, blocked, atol=2e-4, rtol=1e-4)


@ROUTES
def test_gradients_are_those_of_float64_written_out(route: Any) -> None:
    positions = Positions.sequence(mask=[[0, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    bias = T5Bias(2, std=1.0).double()
    inputs = tuple(features(2, 2, 5, 4, seed=seed, dtype=torch.float64).requires_grad_() for seed in range(3))

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        encoder = T5Bias(2).double()
        del encoder.table
        encoder.table = table  # type: ignore[assignment]
        return attend(q, k, v, encoder(positions), queries=positions, causal=True, route=route)

    assert torch.autograd.gradcheck(run, (*inputs, bias.table), atol=1e-6, fast_mode=True)


@given(st.permutations(range(7)))
@settings(max_examples=20, deadline=None)
def test_permuted_tokens_have_permuted_results(order: list[int]) -> None:
    positions = Positions({"order": [[0, 1, 2.5, 7, 8, 9, 40]], "line": [[0, 0, 1, 1, 2, 3, 3]]})
    q, k, v = (features(1, 2, 7, 8, seed=seed) for seed in range(3))
    torch.manual_seed(0)
    encoders = (Rotary(8, ("order", "line")), ALiBi(2, "line"), T5Bias(2, std=1.0))

    def run(place: Positions, index: list[int]) -> torch.Tensor:
        parts = [tensor[:, :, index] for tensor in (q, k, v)]
        return attend(*parts, *(encoder(place) for encoder in encoders), queries=place)

    torch.testing.assert_close(
        run(positions.take([order]), order), run(positions, list(range(7)))[:, :, order], atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("shift", [1e3, 1e6, 0.37])
def test_moving_every_position_changes_nothing(shift: float) -> None:
    places = torch.tensor([[0.0, 1, 2, 3.5, 9]], dtype=torch.float64)
    q, k, v = (features(1, 2, 5, 64, seed=seed) for seed in range(3))
    torch.manual_seed(0)
    encoders = (Rotary(64), ALiBi(2), T5Bias(2, std=1.0))
    here, there = (
        attend(q, k, v, *(encoder(positions) for encoder in encoders), causal=True)
        for positions in (Positions({"order": places}), Positions({"order": places + shift}))
    )
    torch.testing.assert_close(here, there, atol=64 * 5 * 2**-24, rtol=0)


def test_without_positions_results_are_merely_permuted() -> None:
    q, k, v = (features(1, 2, 6, 8, seed=seed) for seed in range(3))
    order = [3, 1, 5, 0, 2, 4]
    torch.testing.assert_close(
        attend(q[:, :, order], k[:, :, order], v[:, :, order]), attend(q, k, v)[:, :, order], atol=1e-6, rtol=0
    )


# Who sees whom.


@ROUTES
@pytest.mark.parametrize("causal", [True, False])
def test_s29_packed_documents_never_meet(route: Any, causal: bool) -> None:
    one, two = Positions.sequence(3), Positions.sequence(2)
    packed = Positions.pack([one, two])
    q, k, v = (features(1, 2, 5, 8, seed=seed) for seed in range(3))
    encoders = (Rotary(8), ALiBi(2))
    whole = attend(q, k, v, *(encoder(packed) for encoder in encoders), queries=packed, causal=causal, route=route)
    with_mask = Positions(packed.coordinates, segments=packed.segments, mask=torch.ones(1, 5, dtype=torch.bool))
    masked = attend(
        q, k, v, *(encoder(with_mask) for encoder in encoders), queries=with_mask, causal=causal, route=route
    )
    alone = attend(
        *(tensor[:, :, 3:] for tensor in (q, k, v)), *(encoder(two) for encoder in encoders), queries=two, causal=causal
    )
    torch.testing.assert_close(whole[:, :, 3:], alone, atol=1e-5, rtol=0)
    torch.testing.assert_close(masked, whole, atol=1e-6, rtol=0)
    last = packed[:, 4:]
    step = attend(
        q[:, :, 4:], k, v, *(encoder(last, packed) for encoder in encoders), queries=last, keys=packed, causal=causal
    )
    torch.testing.assert_close(step, whole[:, :, 4:], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bias", [None, "alibi", "t5"])
@ROUTES
def test_s30_rows_with_nothing_to_see_are_zero_and_poison_nothing(
    route: Any, bias: str | None, kind: torch.dtype
) -> None:
    queries, keys = Positions.sequence(3, batch=2), Positions.sequence(mask=[[0, 0, 0], [1, 1, 0]])
    torch.manual_seed(0)
    encoder = {None: None, "alibi": ALiBi(2), "t5": T5Bias(2)}[bias]
    inputs = [features(2, 2, 3, 8, seed=seed, dtype=kind).requires_grad_() for seed in range(3)]
    signals = [] if encoder is None else [encoder(queries, keys)]
    out = attend(*inputs, *signals, queries=queries, keys=keys, route=route)
    assert out.dtype == kind and not out[0].any() and bool(out[1].all())
    out.square().sum().backward()
    grads = [tensor.grad for tensor in inputs] + [
        parameter.grad for parameter in (encoder.parameters() if encoder else ())
    ]
    assert all(grad is not None and bool(grad.isfinite().all()) for grad in grads)
    assert not any(bool(tensor.grad[0].any()) for tensor in inputs)


@ROUTES
def test_s30_a_sample_of_padding_only(route: Any) -> None:
    positions = Positions.sequence(mask=[[0, 0, 0], [0, 1, 1]])
    inputs = [features(2, 2, 3, 8, seed=seed).requires_grad_() for seed in range(3)]
    out = attend(*inputs, Rotary(8)(positions), ALiBi(2)(positions), queries=positions, causal=True, route=route)
    out.sum().backward()
    assert not out[0].any() and not out[1, :, 0].any() and all(bool(tensor.grad.isfinite().all()) for tensor in inputs)


@ROUTES
@pytest.mark.parametrize("bias", [False, True])
def test_s31_nan_in_padding_reaches_nothing(route: Any, bias: bool) -> None:
    positions = Positions.sequence(mask=[[1, 1, 0]])
    signals = [Rotary(8)(positions)] + ([ALiBi(2)(positions)] if bias else [])
    clean = [features(1, 2, 3, 8, seed=seed) for seed in range(3)]
    wanted = attend(*clean, *signals, queries=positions, route=route)
    spoiled = [tensor.clone() for tensor in clean]
    for tensor in spoiled:
        tensor[:, :, 2] = torch.nan
        tensor.requires_grad_()
    got = attend(*spoiled, *signals, queries=positions, route=route)
    assert torch.equal(got, wanted)
    got.sum().backward()
    assert all(bool(tensor.grad.isfinite().all()) for tensor in spoiled)


@pytest.mark.parametrize("side", ["left", "right"])
@ROUTES
def test_s28_padding_on_either_side_changes_nothing(side: Any, route: Any) -> None:
    alone = Positions.sequence(3)
    both = Positions.collate([alone, Positions.sequence(5)], side=side)
    place = slice(0, 3) if side == "right" else slice(2, 5)
    encoders = (Rotary(8), T5Bias(2))
    q, k, v = (features(2, 2, 5, 8, seed=seed) for seed in range(3))
    padded = attend(q, k, v, *(encoder(both) for encoder in encoders), queries=both, causal=True, route=route)
    single = attend(
        *(tensor[:1, :, place] for tensor in (q, k, v)), *(encoder(alone) for encoder in encoders), causal=True
    )
    torch.testing.assert_close(padded[:1, :, place], single, atol=1e-5, rtol=0)
    assert not padded[:1, :, 3:].any() if side == "right" else not padded[:1, :, :2].any()


def visible(window: int | None, causal: bool, length: int = 6, queries: int | None = None) -> list[int]:
    """How many keys each query sees, on both routes."""
    q, k = torch.zeros(1, 1, queries or length, 4), torch.zeros(1, 1, length, 4)
    v = torch.eye(length)[None, None]
    seen = [attend(q, k, v, window=window, causal=causal, route=route)[0, 0] > 0 for route in ("dense", "blocked")]
    assert torch.equal(*seen)
    return seen[0].sum(1).tolist()


def test_s39_a_window_of_three_is_the_token_and_the_two_before_it() -> None:
    assert visible(3, True) == [1, 2, 3, 3, 3, 3]
    assert visible(3, False) == [3, 4, 5, 5, 4, 3]
    assert visible(1, True) == visible(1, False) == [1] * 6
    assert visible(100, True) == [1, 2, 3, 4, 5, 6] and visible(None, False) == [6] * 6
    assert visible(3, True, queries=1) == [3] and visible(3, True, queries=2) == [3, 3]


@pytest.mark.parametrize("window", [0, -1, 2.0, True])
def test_s39_a_window_of_nothing_is_an_error(window: Any) -> None:
    q = torch.zeros(1, 1, 3, 4)
    with pytest.raises(sp.PositionError, match=r"window needs a whole number above 0 \(1 is the token alone\)"):
        attend(q, q, q, window=window)


def test_the_last_query_stands_at_the_last_key() -> None:
    assert visible(None, True, queries=2) == [5, 6] and visible(None, True, queries=1) == [6]


# Precision.


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("learned", [False, True])
@ROUTES
def test_l13_half_features_beside_float32_biases(route: Any, learned: bool, kind: torch.dtype) -> None:
    """Slopes at long distances, -inf in masks and half features: the result is that of float32 within its rounding."""
    positions = Positions.sequence(mask=[[1] * 300, [0] * 200 + [1] * 100])
    torch.manual_seed(0)
    encoder: sp.PositionEncoder = T5Bias(2, std=2.0) if learned else ALiBi(2)
    q, k, v = (features(2, 2, 300, 16, seed=seed, dtype=kind) for seed in range(3))
    wanted = attend(q.float(), k.float(), v.float(), encoder(positions), queries=positions, causal=True, route=route)
    inputs = [tensor.requires_grad_() for tensor in (q, k, v)]
    got = attend(*inputs, encoder.to(kind)(positions), queries=positions, causal=True, route=route)
    assert got.dtype == kind
    torch.testing.assert_close(got.float(), wanted, atol=3e-2, rtol=0)
    got.float().square().sum().backward()
    assert all(bool(tensor.grad.isfinite().all()) for tensor in (*inputs, *encoder.parameters()))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@ROUTES
def test_s26_half_features_meet_the_bias_unrounded(route: Any, kind: torch.dtype) -> None:
    """At distances 2057 and 2058 slope 1/2 makes a half of a difference, which bfloat16 and float16 do not have."""
    query, keys = Positions({"order": [[2058]]}), Positions({"order": [[0, 1]]})
    zero, value = torch.zeros(1, 8, 1, 4, dtype=kind), torch.eye(2, dtype=kind).expand(1, 8, 2, 2)
    weights = attend(zero, zero.expand(1, 8, 2, 4), value, ALiBi(8)(query, keys), route=route)[0, 0, 0]
    assert weights.float().tolist() == pytest.approx([0.3775, 0.6225], abs=3e-3)


def test_a_bias_far_below_zero_keeps_rows_finite() -> None:
    far = Positions({"order": [[0, 10**9, 2 * 10**9]]})
    for kind in (torch.float16, torch.bfloat16, torch.float32):
        q = features(1, 8, 3, 8, dtype=kind)
        out = attend(q, q, q, ALiBi(8)(far), queries=far)
        torch.testing.assert_close(out, q, atol=1e-3, rtol=0)  # every token sees itself alone


def test_double_features_get_a_double_result() -> None:
    positions = Positions.sequence(4)
    q = features(1, 2, 4, 8, dtype=torch.float64)
    out = attend(q, q, q, Rotary(8)(positions), ALiBi(2)(positions))
    assert out.dtype == torch.float64


def test_autocast_leaves_biases_alone() -> None:
    positions = Positions.sequence(2048)
    q = features(1, 2, 2048, 8)
    with torch.autocast("cpu", torch.bfloat16):
        bias = ALiBi(2)(positions).dense()
    assert bias.dtype == torch.float32 and len(bias[0, 0, 0].unique()) == 2048
    with torch.autocast("cpu", torch.bfloat16):
        got = attend(q, q, q, ALiBi(2)(positions), causal=True)
    torch.testing.assert_close(got.float(), attend(q, q, q, ALiBi(2)(positions), causal=True), atol=3e-2, rtol=0)


# The rest.


@ROUTES
def test_fewer_key_heads_serve_groups(route: Any) -> None:
    positions = Positions.sequence(5)
    q, k, v = features(2, 6, 5, 8), features(2, 2, 5, 8, seed=1), features(2, 2, 5, 12, seed=2)
    got = attend(q, k, v, Rotary(8)(positions), ALiBi(6)(positions), route=route)
    many = attend(
        q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1), Rotary(8)(positions), ALiBi(6)(positions), route=route
    )
    assert got.shape == (2, 6, 5, 12)
    torch.testing.assert_close(got, many, atol=1e-6, rtol=0)


@ROUTES
def test_dropout_drops_weights_and_keeps_their_mean(route: Any) -> None:
    torch.manual_seed(0)
    q, v = torch.zeros(1, 1, 400, 4), torch.ones(1, 1, 400, 1)
    out = attend(q, q, v, dropout=0.5, route=route)
    assert float(out.std()) > 0.01 and float(out.mean()) == pytest.approx(1.0, abs=0.02)


def test_the_factor_on_scores_is_ours_to_state() -> None:
    q, k, v = (features(1, 1, 4, 8, seed=seed) for seed in range(3))
    torch.testing.assert_close(attend(q, k, v, scale=1.0), (q @ k.mT).softmax(-1) @ v, atol=1e-6, rtol=0)
    rotation = Rotary(8)(Positions.sequence(4))
    rotation.scale = 2.0
    torch.testing.assert_close(
        attend(q, k, v, rotation, scale=0.5), attend(q, k, v, Rotary(8)(Positions.sequence(4)), scale=1.0)
    )


def test_large_biases_go_in_blocks_and_small_ones_whole() -> None:
    def first(length: int, batch: int, positions: Positions | None = None) -> str:
        q = torch.zeros(batch, 8, length, 4, device="meta")
        places = positions or Positions.sequence(length)
        return routes(q, q, ALiBi(8)(places), make_mask(q, q, positions, None, False, None))[0]

    assert first(512, 16) == "dense" and first(2048, 1) == "blocked"
    assert first(1024, 16, Positions.sequence(mask=torch.ones(16, 1024, dtype=torch.bool))) == "blocked"


def test_no_bias_of_full_size_exists_on_the_blocked_route() -> None:
    positions, sizes = Positions.sequence(1000), []
    bias = ALiBi(2)(positions)
    tile = type(bias).tile
    q = features(1, 2, 1000, 8)

    def watched(self: Any, *arguments: Any) -> torch.Tensor:
        made = tile(self, *arguments)
        sizes.append(made.shape[2:])
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(bias), "tile", watched)
        attend(q, q, q, bias, causal=True, route="blocked")
    assert max(rows for rows, _ in sizes) <= 128 and sizes[0] == (128, 128)  # and no later key is computed


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda q, p: attend(q[0], q, q), r"takes \(batch, heads, seq, head_width\); got q \(2, 3, 4\)"),
        (lambda q, p: attend(q, q[:, :, :2], q), "lengths of k and v, or widths of q and k differ"),
        (lambda q, p: attend(q, q[..., :2], q), "differ: q"),
        (
            lambda q, p: attend(q, q.repeat(1, 2, 1, 1)[:, :3], q.repeat(1, 2, 1, 1)[:, :3]),
            "2 query heads cannot share 3",
        ),
        (lambda q, p: attend(q, q.half(), q.half()), "one floating dtype, got torch.float32, torch.float16"),
        (lambda q, p: attend(q.long(), q.long(), q.long()), "one floating dtype"),
        (lambda q, p: attend(q, q, q, queries=torch.arange(3)[None]), "queries takes Positions.*got Tensor"),
        (lambda q, p: attend(q, q, q, dropout=1.0), r"dropout needs a share from 0 to below 1, got 1\.0"),
        (lambda q, p: attend(q, q, q, sp.Sinusoidal(4)(p)), r"x \+ encoder\(positions\), not given to attend"),
        (lambda q, p: attend(q, q, q, Rotary(4)(p), Rotary(4)(p)), "takes one rotation"),
        (lambda q, p: attend(q, q, q, ALiBi(3)(p)), r"\(1, 3, 3, 3\) does not fit q \(1, 2, 3, 4\)"),
        (lambda q, p: attend(q, q, q, ALiBi(2)(p[:, :2])), "does not fit"),
        (lambda q, p: attend(q, q, q, queries=p[:, :2]), r"queries is at positions of \(batch, seq\) \(1, 2\)"),
        (lambda q, p: attend(q, q, q, queries=Positions.sequence(3, batch=2)), "queries is at positions"),
        (
            lambda q, p: attend(q, q[:, :, :2], q[:, :, :2], causal=True),
            "at most as many queries as keys; got 3 queries and 2",
        ),
        (
            lambda q, p: attend(q, q, q, queries=Positions.pack([p[:, :1], p[:, 1:]]), keys=p),
            "documents cannot be kept apart",
        ),
        (lambda q, p: attend(q, q, q, route="flash"), "route is one of 'dense', 'blocked'; got 'flash'"),
        (lambda q, p: attend(q, q, q, "alibi"), "A signal is a vector, a Rotation, a Bias or Signals; got str"),
    ],
)
def test_what_does_not_fit_is_told_with_shapes(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make(torch.zeros(1, 2, 3, 4), Positions.sequence(3))


@ROUTES
def test_no_tokens_give_no_result_and_no_error(route: Any) -> None:
    positions = Positions.sequence(3)[:, :0]
    q = torch.zeros(1, 2, 0, 8)
    assert attend(q, q, q, Rotary(8)(positions), ALiBi(2)(positions), queries=positions, route=route).shape == (
        1,
        2,
        0,
        8,
    )
