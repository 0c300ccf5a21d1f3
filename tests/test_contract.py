"""Every encoder keeps every promise of the contract, and a broken encoder is told by the property that it breaks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

import structpos as sp
from structpos.encoders import ENCODERS as NAMES
from structpos.signals import Rotation
from structpos.testing import PROPERTIES, EncoderFault, check_encoder

# Tests are imported one by one, without a package; the table is a module of its own so that settings can name it.
_PLACE = Path(__file__).parent / "contract_cases.py"
_SPEC = importlib.util.spec_from_file_location("structpos_contract_cases", _PLACE)
assert _SPEC is not None and _SPEC.loader is not None
cases = sys.modules.setdefault("structpos_contract_cases", importlib.util.module_from_spec(_SPEC))
if not hasattr(cases, "ENCODERS"):
    _SPEC.loader.exec_module(cases)
ENCODERS = cases.ENCODERS

SLOW = ("compile", "export", "sharding", "lightning")
FAST = tuple(name for name in PROPERTIES if name not in SLOW)


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_keeps_the_contract(name: str) -> None:
    report = check_encoder(ENCODERS[name](), only=FAST)
    assert set(report.passed) | set(report.skipped) == set(FAST)
    assert not [why for why in report.skipped.values() if "learned" not in why and "reads no axis" not in why]


# Graphs of these differ; the other forms differ in numbers only, which are looked at above.
GRAPHS = """sinusoidal learned hybrid-start hybrid-mix rotary rotary-axial rotary-interleaved-sections alibi
    alibi-causal-odd alibi-time t5 t5-causal-scaled layout-all layout-xy-gated emphasis-soft-learned sum-biases sum-all
    concat gated scale-matched where-vector where-rotation where-bias"""


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS.split())
def test_every_encoder_compiles_exports_and_shards(name: str) -> None:
    pytest.importorskip("lightning")
    assert set(check_encoder(ENCODERS[name](), only=SLOW).passed) == set(SLOW)


@pytest.mark.parametrize("name", ["rotary", "t5", "gated"])
def test_one_encoder_a_kind_exports_and_shards(name: str) -> None:
    assert check_encoder(ENCODERS[name](), only=["export", "sharding"]).passed == ("export", "sharding")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sinusoidal", "rotary", "t5", "sum-all"])
def test_one_encoder_a_kind_of_signal_compiles_to_machine_code(name: str) -> None:
    assert check_encoder(ENCODERS[name](), only=["compile"], inductor=True).passed == ("compile",)


def test_the_table_covers_every_registered_encoder() -> None:
    kinds = {type(part) for make in ENCODERS.values() for part in make().modules()}
    assert set(NAMES.values()) <= kinds


# Broken encoders of a user: each is caught by the property meant for it.


class Mine(sp.PositionEncoder):
    """Two channels: the coordinate, and one."""

    def __init__(self, axis: str = "order") -> None:
        super().__init__()
        self.axis, self.width = axis, 2

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return torch.stack([place.double() / 7, torch.ones_like(place).double()], -1)

    def forward(self, queries: sp.Positions, keys: sp.Positions | None = None) -> torch.Tensor:
        vector = self.code(self.read(queries, self.axis), queries)
        there = queries.presence(self.axis) & queries.real()
        return vector.masked_fill(~there[..., None], 0.0).to(self.dtype)


class Centred(Mine):
    """Takes the mean over the batch away."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return super().code(place - place.double().mean(0, keepdim=True), positions)


class Remembering(Mine):
    """Divides by the longest length it has seen."""

    longest = 1

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        self.longest = max(self.longest, place.shape[1])
        return super().code(place / self.longest, positions)


class CastFirst(Mine):
    """Casts positions to the model's dtype before it uses them."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return super().code(place.to(self.dtype).sin(), positions)


class Believing(Mine):
    """Counts tokens wherever an axis is called even, whatever the step."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        if self.axis in positions.even:
            place = place[:, :1] + torch.arange(place.shape[1])
        return super().code(place, positions)


class Looking(Mine):
    """Decides by a value."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        if place.numel() and float(place.max()) > 1e9:
            raise ValueError("too far")
        return super().code(place, positions)


class Absolute(Mine):
    """Numbers tokens by their index in the row."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return super().code(torch.arange(place.shape[1]).expand_as(place), positions)


class PlaceForAll(Mine):
    """Gives tokens without the axis the code of what stands there."""

    def forward(self, queries: sp.Positions, keys: sp.Positions | None = None) -> torch.Tensor:
        return self.code(self.read(queries, self.axis), queries).to(self.dtype) * queries.real()[..., None]


class Coarse(Mine):
    """Cannot tell neighbours apart."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return super().code(place // 2, positions)


class Forgetful(Mine):
    """Keeps no attribute of the name of its argument."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.times = factor


class Buffered(Mine):
    """Keeps numbers in a buffer that no state dict holds."""

    def __init__(self, axis: str = "order") -> None:
        super().__init__(axis)
        self.register_buffer("factor", torch.tensor([0.5]), persistent=False)

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return super().code(place * self.factor, positions)


class Unused(Mine):
    """Has a parameter that nothing reads."""

    def __init__(self, axis: str = "order") -> None:
        super().__init__(axis)
        self.gain = torch.nn.Parameter(torch.ones(1))


class Blunt(Mine):
    """Raises a KeyError where the axis is missing."""

    def forward(self, queries: sp.Positions, keys: sp.Positions | None = None) -> torch.Tensor:
        return self.code(queries.coordinates[self.axis], queries).to(self.dtype)


class QueriesOnly(sp.Rotary):
    """Turns keys as if they were the queries, so that decoding goes wrong."""

    def forward(self, queries: sp.Positions, keys: sp.Positions | None = None) -> Rotation:
        signal = super().forward(queries, keys)
        if signal.key_cos is not None:
            signal.key_cos, signal.key_sin = signal.key_cos.roll(1, 2), signal.key_sin.roll(1, 2)
        return signal


class Guarded(Mine):
    """Makes a graph for every length."""

    def code(self, place: torch.Tensor, positions: sp.Positions) -> torch.Tensor:
        return super().code(place, positions) * (1 if place.shape[1] % 2 else 1 + 0 * len(range(place.shape[1])))


class SmallDimension(sp.Learned):
    """Has a learned number without a dimension, which FSDP2 refuses."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__(width, length)
        self.gain = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, queries: sp.Positions, keys: sp.Positions | None = None) -> torch.Tensor:
        return super().forward(queries, keys) * self.gain


BROKEN: dict[str, tuple[sp.PositionEncoder, str]] = {
    "batch": (Centred(), "rows"),
    "memory": (Remembering(), "history"),
    "cast": (CastFirst(), "dtype"),
    "facts": (Believing(), "facts"),
    "values": (Looking(), "values"),
    "left-padding": (Absolute(), "padding"),
    "packing": (Absolute(), "packing"),
    "absent": (PlaceForAll(), "absent"),
    "coarse": (Coarse(), "distinct"),
    "settings": (Forgetful(), "settings"),
    "buffer": (Buffered(), "meta"),
    "unused": (Unused(), "gradient"),
    "blunt": (Blunt(), "errors"),
    "keys": (QueriesOnly(8), "decoding"),
    "dimension": (SmallDimension(8, 16), "sharding"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_encoder_is_told_by_the_property_it_breaks(name: str) -> None:
    encoder, broken = BROKEN[name]
    with pytest.raises(EncoderFault) as caught:
        check_encoder(encoder, only=[broken])
    assert caught.value.report.failed == (broken,)
    assert f"{broken}: failed: " in str(caught.value)


def test_a_correct_encoder_of_a_user_passes() -> None:
    report = check_encoder(Mine(), only=FAST)
    assert not report.failed and set(report.skipped) == {"gradient"}


@pytest.mark.slow
def test_an_encoder_that_makes_a_graph_for_each_length_is_told() -> None:
    with pytest.raises(EncoderFault, match="graphs, expected at most 2"):
        check_encoder(Guarded(), only=["compile"])


def test_a_fault_comes_with_numbers_and_the_smallest_input() -> None:
    with pytest.raises(EncoderFault) as caught:
        check_encoder(Absolute(), only=["padding", "packing"])
    text = str(caught.value)
    assert isinstance(caught.value, AssertionError)
    assert "with 1 of padding on the left: the vector at (0, 0, 0) is 0.1428571, expected 0 (allowed 1e-05)" in text
    assert "smallest input: Positions({'order': [[0, 0]]}, mask=[[0, 1]], even={'order': 1.0})" in text


def test_own_positions_are_used() -> None:
    calls = []

    def make(tokens: int) -> sp.Positions:
        calls.append(tokens)
        return sp.Positions({"hours": torch.linspace(0, 40, 16)[None, :tokens]})

    assert check_encoder(sp.Sinusoidal(8, "hours"), positions=make, only=["shape", "packing", "distinct"]).passed
    assert max(calls) == 16


def test_what_cannot_be_asked_for_is_refused() -> None:
    with pytest.raises(sp.PositionError, match="Did you mean 'padding'"):
        check_encoder(sp.ALiBi(2), only=["paddign"])
    with pytest.raises(sp.PositionError, match="takes a PositionEncoder, got Linear"):
        check_encoder(torch.nn.Linear(2, 2))  # type: ignore[arg-type]
    with pytest.raises(sp.PositionError, match="length of at least 9, got 4"):
        check_encoder(sp.ALiBi(2), length=4)


def test_the_check_leaves_the_encoder_and_the_random_state_alone() -> None:
    encoder = sp.T5Bias(2).train()
    before, state = encoder.table.detach().clone(), torch.get_rng_state()
    check_encoder(encoder, only=FAST)
    assert torch.equal(encoder.table, before) and encoder.training and encoder.table.grad is None
    assert torch.equal(torch.get_rng_state(), state)
