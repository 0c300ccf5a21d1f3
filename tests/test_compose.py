"""Compositions: signals together, vectors side by side, gates, regions, and settings that build all of it again."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import structpos as sp
from structpos import (
    ALiBi,
    Concat,
    GatedSum,
    Layout,
    NoPosition,
    Positions,
    Region,
    Rotary,
    Sinusoidal,
    Sum,
    T5Bias,
    Where,
)
from structpos.encoders import find
from structpos.signals import Bias, Rotation, Signals

WORDS = Positions({"order": [[0, 1, 2, 3]], "line": [[0, 0, 1, 2]], "column": [[0, 7, 3, 0]]})


def test_vectors_and_biases_add_up() -> None:
    vector = Sum(parts={"a": Sinusoidal(8), "b": Sinusoidal(8, "line")})(WORDS)
    assert torch.equal(vector, Sinusoidal(8)(WORDS) + Sinusoidal(8, "line")(WORDS))
    bias = Sum(parts={"a": ALiBi(4), "b": ALiBi(4, "line")})(WORDS)
    assert isinstance(bias, Bias)
    assert torch.equal(bias.dense(), ALiBi(4)(WORDS).dense() + ALiBi(4, "line")(WORDS).dense())


def test_one_object_gives_all_three_signals() -> None:
    both = Sum(parts={"layout": Layout(16), "rope": Rotary(8, ("line", "column")), "distance": ALiBi(2)})
    assert both.signal == "signals" and both.axes == ("order", "line", "column")
    signals = both(WORDS)
    assert isinstance(signals, Signals) and isinstance(signals.rotation, Rotation) and isinstance(signals.bias, Bias)
    assert signals.vector is not None and signals.vector.shape == (1, 4, 16)
    q = torch.randn(1, 2, 4, 8, generator=torch.Generator().manual_seed(0))
    wanted = sp.attend(q, q, q, Rotary(8, ("line", "column"))(WORDS), ALiBi(2)(WORDS), queries=WORDS)
    assert torch.equal(sp.attend(q, q, q, signals, queries=WORDS), wanted)


def test_the_kind_of_a_sum_is_what_its_parts_have_in_common() -> None:
    kinds = {part.signal for part in (Sum(parts={"a": NoPosition(), "b": NoPosition()}),)}
    assert kinds == {"none"}
    assert Sum(parts={"a": NoPosition(), "b": Rotary(8)}).signal == "rotation"
    assert isinstance(Sum(parts={"a": NoPosition(), "b": Rotary(8)})(WORDS), Rotation)
    assert Sum(parts={"a": Rotary(8), "b": T5Bias(2)}).signal == "signals"


def test_biases_of_one_head_and_of_many_are_added() -> None:
    bias = ALiBi(1)(WORDS) + ALiBi(4, "line")(WORDS) + ALiBi(4)(WORDS)
    assert bias.shape == (1, 4, 4, 4) and len(bias.parts) == 3  # type: ignore[attr-defined]
    q = torch.zeros(1, 4, 4, 8)
    assert sp.attend(q, q, q, bias).shape == (1, 4, 4, 8)
    with pytest.raises(sp.PositionError, match=r"added need the same heads, got \[2, 4\]"):
        _ = (ALiBi(2)(WORDS) + ALiBi(4)(WORDS)).shape


def test_widths_stand_side_by_side() -> None:
    encoder = Concat(parts={"a": Sinusoidal(6), "b": Sinusoidal(3, "line")})
    got = encoder(WORDS)
    assert encoder.width == 9 and torch.equal(got[..., :6], Sinusoidal(6)(WORDS))
    assert torch.equal(got[..., 6:], Sinusoidal(3, "line")(WORDS))


def test_a_gate_at_zero_leaves_a_model_as_it_was_and_opens() -> None:
    gated = GatedSum(parts={"line": Sinusoidal(8, "line"), "order": sp.Learned(8, 16)}, start=0.0)
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0))
    assert torch.equal((x + gated(WORDS)).view(torch.int32), x.view(torch.int32))
    (x + gated(WORDS)).square().sum().backward()
    assert all(gate.grad is not None and gate.grad.shape == (1,) and gate.grad.any() for gate in gated.gates.values())


def test_gates_weigh_their_part() -> None:
    gated = GatedSum(parts={"a": Sinusoidal(8), "b": Sinusoidal(8, "line")})
    with torch.no_grad():
        gated.gates["a"].fill_(2.0)
        gated.gates["b"].fill_(-1.0)
    torch.testing.assert_close(gated(WORDS), 2 * Sinusoidal(8)(WORDS) - Sinusoidal(8, "line")(WORDS))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Sum(parts={}), r"Sum needs its parts by name"),
        (lambda: Sum(parts=[Sinusoidal(8)]), r"Sum needs its parts by name, e\.g\."),  # type: ignore[arg-type]
        (lambda: Sum(parts={"a": 3}), "part 'a' is no encoder but int"),  # type: ignore[dict-item]
        (lambda: Sum(parts={"a.b": Sinusoidal(8)}), "'a.b' cannot name a part"),
        (lambda: GatedSum(parts={"keys": Sinusoidal(8)}), "'keys' cannot name a part"),
        (
            lambda: Sum(parts={"a": Rotary(8, "line"), "b": Rotary(8, "column")}),
            r"two rotations \(a, b\).*axes=\('line', 'column'\)",
        ),
        (lambda: Sum(parts={"a": Sum(parts={"b": Rotary(8), "c": ALiBi(2)}), "d": Rotary(8)})(WORDS), "axes="),
        (lambda: Sum(parts={"a": Sinusoidal(8), "b": Sinusoidal(6)})(WORDS), r"one width, got \[6, 8\]\. Concat"),
        (lambda: Concat(parts={"a": Sinusoidal(8), "b": ALiBi(2)}), r"part 'b' \(ALiBi\) gives a bias.*Sum"),
        (lambda: GatedSum(parts={"a": Rotary(8)}), r"part 'a' \(Rotary\) gives a rotation"),
        (lambda: GatedSum(parts={"a": Sinusoidal(8), "b": Sinusoidal(6)})(WORDS), "one width"),
    ],
)
def test_what_does_not_go_together_is_refused(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


# Only some tokens.


def test_outside_its_region_an_encoder_is_silent() -> None:
    region = Region(axis="line", start=1, stop=2)
    vector = Where(Sinusoidal(8), region)(WORDS)
    assert not vector[0, [0, 1, 3]].any() and torch.equal(vector[0, 2], Sinusoidal(8)(WORDS)[0, 2])
    bias = Where(ALiBi(2), Region(axis="line", stop=1))(WORDS).dense()
    assert torch.equal(bias[:, :, :2, :2], ALiBi(2)(WORDS).dense()[:, :, :2, :2])
    assert not bias[:, :, 2:].any() and not bias[..., 2:].any()
    x = torch.randn(1, 1, 4, 8, generator=torch.Generator().manual_seed(0))
    turned = Where(Rotary(8), region)(WORDS)
    assert torch.equal(turned.query(x)[:, :, [0, 1, 3]], x[:, :, [0, 1, 3]])


def test_a_region_between_queries_and_keys_of_two_sides() -> None:
    bias = Where(ALiBi(2), Region(stop=2))(WORDS[:, 2:], WORDS).dense()
    assert not bias.any()
    bias = Where(ALiBi(2), Region(start=2))(WORDS[:, 2:], WORDS).dense()
    assert bias.shape == (1, 2, 2, 4) and not bias[..., :2].any() and bias[..., 2:].any()


def test_tokens_without_the_axis_are_outside() -> None:
    positions = Positions({"order": [[0, 1]], "line": [[0, 0]]}, present={"line": [[True, False]]})
    vector = Where(Sinusoidal(4), Region(axis="line"))(positions)
    assert vector[0, 0].any() and not vector[0, 1].any()


def test_the_region_of_another_axis_must_be_there() -> None:
    with pytest.raises(sp.PositionError, match="Where reads the axis 'page'; these positions have order, line, column"):
        Where(Sinusoidal(4), Region(axis="page"))(WORDS)


# Settings.


def line_zero(positions: Positions) -> torch.Tensor:
    return positions["line"] == 0


def test_settings_of_a_tree_of_encoders_build_it_again() -> None:
    encoder = Sum(
        parts={
            "where": Where(Sinusoidal(8), Region(axis="line", start=1)),
            "gated": GatedSum(
                parts={"learned": sp.Learned(8, 16), "emphasis": sp.Emphasis(Sinusoidal(8), Region(stop=3))}
            ),
            "rope": Rotary(8, ("line", "column"), sections=sp.Sections(pairs=(3, 1))),
        }
    )
    again = sp.build(encoder.settings())
    assert again.settings() == encoder.settings()
    again.load_state_dict(encoder.state_dict())
    one, two = encoder(WORDS), again(WORDS)
    assert torch.equal(one.vector, two.vector) and torch.equal(one.rotation.query_cos, two.rotation.query_cos)


def test_a_function_is_written_by_its_name_and_read_only_from_trusted_modules() -> None:
    encoder = Where(Sinusoidal(8), Region(where=line_zero))
    written = encoder.settings()
    name = written["init_args"]["region"]["where"]
    assert name == f"{__name__}.line_zero"
    with pytest.raises(sp.PositionError, match=r"would run code of .*trust=\("):
        sp.build(written)
    with pytest.raises(sp.PositionError, match="has no name to be written down by"):
        Where(Sinusoidal(8), Region(where=lambda positions: positions["line"] == 0)).settings()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"class_path": "rotery"}, r"Unknown encoder 'rotery'\. Did you mean 'rotary'\? Known: alibi,"),
        ({"class_path": "structpos.Rotery"}, "no 'structpos.Rotery' to import"),
        ({"class_path": "os.path.join"}, r"would run code of os\.path"),
        ({"class_path": "structpos.Positions"}, "'structpos.Positions' is no PositionEncoder"),
        (
            {"class_path": "rotary", "init_args": {"head_widht": 8}},
            r"setting of rotary 'head_widht'\. Did you mean 'head_width'",
        ),
        ({"class_path": "rotary"}, "rotary cannot be built from {}"),
        ({"class_path": "rotary", "init_args": [1]}, r"init_args of rotary are arguments by name, got \[1\]"),
        (
            {"class_path": "rotary", "init_args": {"head_width": 8, "sections": {"pair": [2, 2]}}},
            "setting of Sections 'pair'. Did you mean 'pairs'",
        ),
        ({"init_args": {}}, r"\{'class_path': \.\.\., 'init_args'"),
        ("rotary", "'class_path'"),
    ],
)
def test_settings_that_build_nothing_are_told(settings: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        sp.build(settings)


def test_short_names_are_found() -> None:
    assert (
        find("t5") is T5Bias
        and sp.build({"class_path": "alibi", "init_args": {"heads": 3}}).settings() == ALiBi(3).settings()
    )


def test_l6_a_checkpoint_of_settings_loads_with_the_safe_default(tmp_path: Any) -> None:
    encoder = Sum(parts={"layout": Layout(16), "t5": T5Bias(2)})
    torch.save({"encoder": encoder.settings(), "state": encoder.state_dict()}, tmp_path / "checkpoint.pt")
    read = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    again = sp.build(read["encoder"])
    again.load_state_dict(read["state"])
    assert torch.equal(again(WORDS).bias.dense(), encoder(WORDS).bias.dense())


def test_nothing_is_a_scheme_too() -> None:
    signals = NoPosition()(WORDS)
    assert (signals.vector, signals.rotation, signals.bias) == (None, None, None) and NoPosition().axes == ()
