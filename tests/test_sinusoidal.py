"""The sinusoid: exact at every position, in every dtype, at every width; what its values do and do not do."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import structpos as sp
from structpos import frequencies


def exact(position: float, width: int, base: float = 10000.0) -> list[float]:
    """The vector by 50 digits."""
    with mpmath.workdps(50):
        angles = [
            mpmath.mpf(position) * mpmath.mpf(base) ** (mpmath.mpf(-2 * i) / width) for i in range((width + 1) // 2)
        ]
        return [float(wave) for angle in angles for wave in (mpmath.sin(angle), mpmath.cos(angle))][:width]


def at(*places: float) -> sp.Positions:
    return sp.Positions({"order": [list(places)]})


@pytest.mark.parametrize("position", [0, 1, 2047, 16_777_217, 1_700_000_000, 0.37])
def test_s6_phases_hold_at_any_position(position: float) -> None:
    got = sp.Sinusoidal(16)(at(position))[0, 0]
    assert got.dtype == torch.float32
    assert max(abs(a - b) for a, b in zip(got.tolist(), exact(position, 16), strict=True)) < 1e-6


def test_s6_a_minute_since_1970_is_seen() -> None:
    code = sp.Sinusoidal(8)(at(1_700_000_000, 1_700_000_060))[0]
    assert float((code[0] - code[1]).abs().max()) > 0.1


@pytest.mark.parametrize("cast", [torch.float16, torch.bfloat16, torch.float32])
def test_s4_casting_the_module_touches_no_angle(cast: torch.dtype) -> None:
    got = sp.Sinusoidal(32).to(cast)(sp.Positions.sequence(2048))
    wanted = sp.Sinusoidal(32).double()(sp.Positions.sequence(2048))
    assert got.dtype == cast and torch.equal(got, wanted.float().to(cast))


@pytest.mark.parametrize("cast", [torch.float16, torch.bfloat16])
def test_s5_2048_positions_are_2048_vectors_in_any_precision(cast: torch.dtype) -> None:
    got = sp.Sinusoidal(64).to(cast)(sp.Positions.sequence(2048))[0]
    assert len(got.unique(dim=0)) == 2048


def test_autocast_changes_nothing() -> None:
    wanted = sp.Sinusoidal(32)(sp.Positions.sequence(4096))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(sp.Sinusoidal(32)(sp.Positions.sequence(4096)), wanted)


def test_s20_odd_and_tiny_widths() -> None:
    positions = sp.Positions.sequence(4)
    assert sp.Sinusoidal(3)(positions)[0, 1].tolist() == pytest.approx([0.841471, 0.540302, 0.002154], abs=1e-6)
    assert sp.Sinusoidal(2)(positions)[0, 1].tolist() == pytest.approx([0.841471, 0.540302], abs=1e-6)
    for width in (1, 2, 3, 5):
        for channels in ("interleaved", "halved"):
            assert sp.Sinusoidal(width, channels=channels)(positions).shape == (1, 4, width)


def test_s21_features_are_no_positions() -> None:
    with pytest.raises(
        sp.PositionError, match=r"takes Positions.*got a tensor of shape \(2, 16, 64\).*Positions\.sequence"
    ):
        sp.Sinusoidal(64)(torch.zeros(2, 16, 64))


@pytest.mark.parametrize("base", [1_000_000, 1_000_000.0])
def test_s15_an_integer_base_and_a_float_one_are_the_same(base: float) -> None:
    wanted = sp.Sinusoidal(8, base=1e6)(at(1234))
    assert torch.equal(sp.Sinusoidal(8, base=base)(at(1234)), wanted)
    written = sp.Sinusoidal(8, base=base).settings()["init_args"]["base"]
    assert written == 1_000_000 and isinstance(written, int)
    assert sp.Sinusoidal(8, base=41829.37).settings()["init_args"]["base"] == 41829.37


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"base": "1e6"}, r"base needs a number above 1, got '1e6' \(str\)"),
        ({"base": 1}, "base needs to be above 1, got 1"),
        ({"base": float("inf")}, "base needs to be above 1, got inf"),
        ({"wavelengths": (5, 2)}, r"0 < shortest < longest, got \(5, 2\)"),
        ({"channels": "mixed"}, "channels is one of 'interleaved', 'halved'; got 'mixed'"),
        ({"width": 0}, "width needs a whole number of at least 1, got 0"),
        ({"width": 8.0}, r"width needs a whole number of at least 1, got 8\.0"),
    ],
)
def test_settings_that_cannot_be_are_named(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        sp.Sinusoidal(**{"width": 8, **arguments})  # type: ignore[arg-type]


def test_low_channels_are_the_fast_ones() -> None:
    ladder = frequencies.Frequencies().angular(256, 512)
    assert bool((ladder.diff() < 0).all()) and float(ladder[0]) == 1.0
    assert 2 * math.pi / float(ladder[-1]) == pytest.approx(60611.477, abs=0.01)


def test_a_lower_base_has_a_shorter_range() -> None:
    longest = {
        base: 2 * math.pi / float(frequencies.Frequencies(base=base).angular(64, 128)[-1]) for base in (1000, 10000)
    }
    assert longest == {1000: pytest.approx(5640.33, abs=0.01), 10000: pytest.approx(54410.15, abs=0.1)}


def test_nothing_saturates() -> None:
    code = sp.Sinusoidal(512).double()(at(0, 1, 2000, 2001))[0]
    assert float((code[0] - code[1]).norm()) == pytest.approx(3.71427, abs=1e-5)
    assert float((code[2] - code[3]).norm()) == pytest.approx(3.71427, abs=1e-5)
    torch.testing.assert_close(code.square().sum(1), torch.full((4,), 256.0, dtype=torch.float64))


def test_products_depend_on_the_distance_only() -> None:
    code = sp.Sinusoidal(64).double()(at(0, 10, 100, 110, 1000, 1010, 90))[0]
    for one, other in ((0, 1), (2, 3), (4, 5), (2, 6)):
        assert float(code[one] @ code[other]) == pytest.approx(21.0516, abs=1e-4)


def test_2048_positions_lie_apart() -> None:
    code = sp.Sinusoidal(64).double()(sp.Positions.sequence(2048))[0]
    distance = torch.cdist(code, code).fill_diagonal_(torch.inf)
    assert float(distance.min()) == pytest.approx(1.47, abs=0.01)


@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3), st.sampled_from([2, 4, 8, 64]))
@settings(max_examples=50, deadline=None)
def test_a_shift_turns_each_pair(position: float, shift: float, width: int) -> None:
    here, there = sp.Sinusoidal(width).double()(at(position, position + shift))[0]
    angle = shift * frequencies.Frequencies().angular(width // 2, width)
    sin, cos = here[0::2], here[1::2]
    turned = torch.stack([sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()], -1).flatten()
    torch.testing.assert_close(turned, there, atol=1e-8, rtol=0)


def test_s18_nothing_is_kept_by_length() -> None:
    encoder = sp.Sinusoidal(8)
    before = {name: value for name, value in vars(encoder).items() if not name.startswith("_")}
    for length in torch.randperm(500, generator=torch.Generator().manual_seed(0)).tolist()[:60]:
        encoder(sp.Positions.sequence(length + 1))
    assert {name: value for name, value in vars(encoder).items() if not name.startswith("_")} == before
    assert not encoder.state_dict() and sum(tensor.numel() for tensor in encoder.buffers()) == 0


def test_s7_a_module_from_the_meta_device_needs_no_call() -> None:
    with torch.device("meta"):
        encoder = sp.Sinusoidal(8)
    got = encoder.to_empty(device="cpu")(at(1))[0, 0]
    assert got.tolist() == pytest.approx(exact(1, 8), abs=1e-7)


def test_l10_no_key_of_a_table_comes_or_goes() -> None:
    assert sp.Sinusoidal(8).state_dict() == {} and sp.Rotary(8).state_dict() == {} and sp.ALiBi(8).state_dict() == {}


def test_l12_a_device_without_float64_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "WITHOUT_FLOAT64", {"cpu"})
    for encoder in (sp.Sinusoidal(8), sp.Rotary(8)):
        with pytest.raises(sp.PositionError, match=r"float64, which cpu lacks\. Keep Positions and encoder on the CPU"):
            encoder(sp.Positions.sequence(2))


def test_l14_a_double_model_gets_double_vectors() -> None:
    got = sp.Sinusoidal(8).double()(sp.Positions.timestamps(["2024-01-01T00:10Z"]).with_axes(order=[[3]]))[0, 0]
    assert got.dtype == torch.float64 and got.tolist() == pytest.approx(exact(3, 8), abs=1e-15)


def test_peer_marian_has_the_same_halves() -> None:
    marian = pytest.importorskip("transformers.models.marian.modeling_marian")
    table = marian.MarianSinusoidalPositionalEmbedding(2001, 64)
    weight = (table.create_weight if hasattr(table, "create_weight") else table._init_weight)()
    wanted = torch.as_tensor(weight if weight is not None else table.weight).detach()
    got = sp.Sinusoidal(64, channels="halved")(sp.Positions.sequence(2001))[0]
    torch.testing.assert_close(got, wanted, atol=2e-4, rtol=0)


def test_peer_timm_has_the_same_grid() -> None:
    timm = pytest.importorskip("timm.layers.pos_embed_sincos")
    wanted = timm.build_sincos2d_pos_embed([2, 3], dim=16, interleave_sin_cos=True)
    parts = {axis: sp.Sinusoidal(8, axis, channels="halved") for axis in ("row", "col")}
    got = sp.Concat(parts=parts)(sp.Positions.grid(2, 3))[0]
    torch.testing.assert_close(got, wanted.reshape(6, 16), atol=1e-6, rtol=0)
