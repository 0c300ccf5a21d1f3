"""Every scheme gives the numbers of its paper's formula, in float64 and, with one rounding, in float32."""

from __future__ import annotations

import json
import math
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
import torch

import structpos as sp
from structpos.encoders.alibi import slopes
from structpos.encoders.relative import bucket

GOLDEN: dict[str, dict[str, Any]] = {
    entry["id"]: entry for entry in json.loads((Path(__file__).parent / "golden.json").read_text())["entries"]
}
DTYPES = {"float64": torch.float64, "float32": torch.float32}
both = pytest.mark.parametrize("name", DTYPES)


def agree(identity: str, got: torch.Tensor, wanted: Any, name: str) -> None:
    """Within the entry's tolerance, and in the dtype that was asked for."""
    wanted = torch.tensor(wanted, dtype=torch.float64)
    assert got.dtype == DTYPES[name] and got.shape == wanted.shape
    allowed = GOLDEN[identity]["tolerance"][name]
    assert float((got.double() - wanted).abs().max()) <= allowed, identity


def order(values: list[float]) -> sp.Positions:
    return sp.Positions({"order": [values]})


@both
@pytest.mark.parametrize(
    ("identity", "channels"), [("sinusoidal_interleaved", "interleaved"), ("sinusoidal_halves", "halved")]
)
def test_sinusoid(identity: str, channels: Any, name: str) -> None:
    entry = GOLDEN[identity]
    encoder = sp.Sinusoidal(8, channels=channels).to(DTYPES[name])
    agree(identity, encoder(order(entry["inputs"]["positions"]))[0], entry["output"], name)


@both
def test_sinusoid_of_tensor2tensor_is_a_pair_of_wavelengths(name: str) -> None:
    entry = GOLDEN["sinusoidal_t2t_variant"]
    ends = (2 * math.pi, 2 * math.pi * 10000)
    encoder = sp.Sinusoidal(8, wavelengths=ends, channels="halved").to(DTYPES[name])
    agree("sinusoidal_t2t_variant", encoder(order(entry["inputs"]["positions"]))[0], entry["output"], name)


@both
def test_sinusoid_of_elapsed_hours(name: str) -> None:
    entry = GOLDEN["elapsed_hours_sinusoid"]
    ends = (entry["inputs"]["shortest_period_h"], entry["inputs"]["longest_period_h"])
    encoder = sp.Sinusoidal(8, "hours", wavelengths=ends).to(DTYPES[name])
    got = encoder(sp.Positions({"hours": [entry["inputs"]["hours"]]}))[0]
    agree("elapsed_hours_sinusoid", got, entry["output"], name)


@both
def test_two_axes_as_in_masked_autoencoders(name: str) -> None:
    parts = {axis: sp.Sinusoidal(4, axis, channels="halved") for axis in ("col", "row")}
    got = sp.Concat(parts=parts).to(DTYPES[name])(sp.Positions.grid(2, 3))[0]
    agree("sinusoid2d_mae", got, GOLDEN["sinusoid2d_mae"]["output"]["mae_col_first"], name)


@both
def test_layout(name: str) -> None:
    entry = GOLDEN["layout_additive"]
    columns = zip(*entry["inputs"]["order_line_column"], strict=True)
    words = sp.Positions.layout(dict(zip(("order", "line", "column"), columns, strict=True)))
    agree("layout_additive", sp.Layout(16).to(DTYPES[name])(words)[0], entry["output"], name)


@both
@pytest.mark.parametrize(("identity", "pairing"), [("rope_interleaved", "interleaved"), ("rope_half", "half")])
def test_rotary(identity: str, pairing: Any, name: str) -> None:
    entry = GOLDEN[identity]
    places = entry["inputs"]["positions"]
    x = torch.tensor(entry["inputs"]["x"], dtype=DTYPES[name]).expand(1, 1, len(places), 8)
    rotation = sp.Rotary(8, pairing=pairing).to(DTYPES[name])(order(places))
    agree(identity, rotation.query(x)[0, 0], entry["output"], name)
    agree(identity, rotation.key(x)[0, 0], entry["output"], name)


@both
@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_rotary_of_a_part(pairing: Any, name: str) -> None:
    entry = GOLDEN["rope_partial"]
    x = torch.tensor(entry["inputs"]["x"], dtype=DTYPES[name])[None, None, None]
    rotation = sp.Rotary(8, pairing=pairing, rotate=4).to(DTYPES[name])(order([entry["inputs"]["position"]]))
    agree("rope_partial", rotation.query(x)[0, 0, 0], entry["output"][pairing], name)


@pytest.mark.parametrize("number", range(3))
def test_frequencies_of_any_base(number: int) -> None:
    entry = GOLDEN["rope_inv_freq_bases"]
    got = sp.Rotary(8, base=entry["inputs"]["bases"][number]).angles(order([1]))[0, 0]
    agree("rope_inv_freq_bases", got, entry["output"][number], "float64")


def test_frequencies_of_a_base_that_is_no_integer() -> None:
    entry = GOLDEN["rope_ntk_static"]
    got = sp.Rotary(64, base=entry["inputs"]["new_base"]).angles(order([1]))[0, 0]
    agree("rope_ntk_static", got, entry["output"], "float64")


@pytest.mark.parametrize("interleaved", [False, True])
def test_sections_of_one_ladder(interleaved: bool) -> None:
    identity = "mrope_interleaved" if interleaved else "mrope_contiguous"
    entry = GOLDEN[identity]
    axes = ("time", "row", "col")
    columns = zip(*entry["inputs"]["positions_thw"], strict=True)
    positions = sp.Positions(dict(zip(axes, ([list(column)] for column in columns), strict=True)))
    sections = sp.Sections(pairs=tuple(entry["inputs"]["section"]), interleaved=interleaved, ladder="continue")
    got = sp.Rotary(16, axes, sections=sections, pairing="half").angles(positions)[0]
    agree(identity, got, entry["output"], "float64")


def test_sections_in_turns_with_the_released_shares() -> None:
    released = GOLDEN["mrope_interleaved"]["inputs"]["axis_of_pair_24_20_20"]
    axes = ("time", "row", "col")
    sections = sp.Sections(pairs=(24, 20, 20), interleaved=True, ladder="continue")
    rotary = sp.Rotary(128, axes, sections=sections)
    for number, axis in enumerate(axes):
        one = {name: [[int(name == axis)]] for name in axes}
        turned = rotary.angles(sp.Positions(one))[0, 0] > 0
        assert turned.tolist() == [owner == number for owner in released]


def test_two_axes_as_in_eva() -> None:
    entry = GOLDEN["axial2d_eva"]
    rotary = sp.Rotary(16, ("row", "col"))
    grid = sp.Positions.grid(2, 3)
    agree("axial2d_eva", rotary.angles(grid)[0], entry["output"]["angles"], "float64")
    resized = grid.with_axes(row=grid["row"] / 2 * 16, col=grid["col"].double() / 3 * 16)
    agree("axial2d_eva", rotary.angles(resized)[0], entry["output"]["angles_ref16"], "float64")


def test_two_axes_as_in_dinov3() -> None:
    grid = sp.Positions.grid(2, 3)
    centred = grid.with_axes(row=2 * (grid["row"].double() + 0.5) / 2 - 1, col=2 * (grid["col"].double() + 0.5) / 3 - 1)
    rotary = sp.Rotary(16, ("row", "col"), wavelengths=(1.0, 100**0.75), pairing="half")
    agree("axial2d_dinov3", rotary.angles(centred)[0], GOLDEN["axial2d_dinov3"]["output"], "float64")


@pytest.mark.parametrize("heads", GOLDEN["alibi_slopes"]["inputs"]["heads"])
def test_alibi_slopes(heads: int) -> None:
    wanted = GOLDEN["alibi_slopes"]["output"][str(heads)]
    agree("alibi_slopes", slopes(heads), wanted, "float64")
    agree("alibi_slopes", sp.ALiBi(heads)(sp.Positions.sequence(1)).slopes, wanted, "float32")


@both
@pytest.mark.parametrize("form", ["causal", "symmetric"])
def test_alibi_bias(form: Any, name: str) -> None:
    bias = sp.ALiBi(4, form=form).to(DTYPES[name])(sp.Positions.sequence(5)).dense()[0, :2]
    assert bias.dtype == DTYPES[name]
    for head, rows in enumerate(GOLDEN["alibi_bias"]["output"][form]):
        for query, row in enumerate(rows):
            for key, number in enumerate(row):
                assert number is None or bias[head, query, key] == number


BUCKETS = [identity for identity in GOLDEN if identity.startswith("t5_bucket")]


@pytest.mark.parametrize("identity", BUCKETS)
def test_t5_buckets(identity: str) -> None:
    entry = GOLDEN[identity]
    inputs = entry["inputs"]
    wanted = list(chain.from_iterable(repeat(value, count) for value, count in entry["output"]))
    difference = torch.arange(inputs["rel_from"], inputs["rel_to"] + 1)
    settings = (inputs["num_buckets"], inputs["max_distance"])
    for values in (difference, difference.double()):
        assert bucket(values, *settings, bidirectional="causal" not in identity).tolist() == wanted


def test_buckets_of_layout_language_models() -> None:
    entry = GOLDEN["layout_relative_2d"]
    boxes = torch.tensor(entry["inputs"]["bbox"])
    places = {"bucket_1d": torch.arange(len(boxes)), "bucket_x": boxes[:, 0], "bucket_y": boxes[:, 3]}
    for name, place in places.items():
        settings = (32, 128) if name == "bucket_1d" else (64, 256)
        assert bucket(place[None] - place[:, None], *settings).tolist() == entry["output"][name]


def test_the_permutation_between_pairings() -> None:
    entry = GOLDEN["rope_pairing_permutation"]["output"]
    to_interleaved, to_half = entry["half_to_interleaved"], entry["interleaved_to_half"]
    x = torch.randn(1, 2, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    places = order([0, 1, 7, 30, 4096])
    half, interleaved = (sp.Rotary(8, pairing=pairing).double()(places) for pairing in ("half", "interleaved"))
    torch.testing.assert_close(
        interleaved.query(x[..., to_interleaved])[..., to_half], half.query(x), atol=1e-12, rtol=0
    )
