"""Positions: where tokens are, whatever is done to them: cutting, gathering, padding, packing, moving, loading."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torch.utils.data import DataLoader, Dataset, default_collate

import structpos as sp
from structpos import Positions


def the_same(one: Positions, other: Positions) -> bool:
    """Equal where there are tokens with a place; what stands elsewhere is nobody's business."""
    if one.axes != other.axes or one.shape != other.shape or not torch.equal(one.real(), other.real()):
        return False
    for axis in one.axes:
        there = one.presence(axis) & one.real()
        if not torch.equal(there, other.presence(axis) & other.real()):
            return False
        if not torch.equal(one[axis][there], other[axis][there]) or one[axis].dtype != other[axis].dtype:
            return False
    if one.segments is None or other.segments is None:
        return one.segments is None and other.segments is None
    return torch.equal(one.segments[one.real()], other.segments[other.real()])


def even_holds(positions: Positions) -> bool:
    """Whether the steps that positions state are those between consecutive tokens of each document."""
    for axis, step in positions.even.items():
        for row in range(positions.shape[0]):
            real = positions.real()[row]
            document = torch.zeros_like(real).long() if positions.segments is None else positions.segments[row]
            index = torch.arange(positions.shape[1])
            place = positions[axis][row].double()
            for number in document[real].unique():
                mine = real & (document == number)
                if len(place[mine]) and not bool(
                    (place[mine] - place[mine][0] == step * (index[mine] - index[mine][0])).all()
                ):
                    return False
    return True


# Made from what people have.


def test_coordinates_are_int64_or_float64_from_whatever_came() -> None:
    positions = Positions(
        {"a": [0, 1], "b": np.array([[1.5, 2]], dtype=np.float32), "c": torch.tensor([[3, 4]], dtype=torch.int16)}
    )
    assert {axis: positions[axis].dtype for axis in "abc"} == {"a": torch.int64, "b": torch.float64, "c": torch.int64}
    assert positions.shape == (1, 2) and positions.axes == ("a", "b", "c")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_s5_half_coordinates_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(sp.PositionError, match="makes neighbours equal"):
        Positions({"order": torch.arange(255, 262).to(dtype)[None]})


def test_l12_float64_is_not_sent_to_a_device_without_it() -> None:
    with pytest.raises(sp.PositionError, match="'hours' is float64, which mps lacks"):
        Positions({"hours": [[0.5]]}).to("mps")


def test_positions_are_moved_and_never_cast() -> None:
    positions = Positions.sequence(3)
    with pytest.raises(sp.PositionError, match=r"moved, never cast, and got torch\.bfloat16"):
        positions.to(torch.bfloat16)  # type: ignore[arg-type]
    assert positions.to("meta").device.type == "meta" and positions.to("cpu")["order"].dtype == torch.int64


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Positions({}), "at least one axis, got none"),
        (lambda: Positions({"a": [[0, 1]], "b": [[0]]}), r"'a' has \(1, 2\), 'b' \(1, 1\)"),
        (lambda: Positions({"a": torch.zeros(2, 3, 4)}), r"shape \(batch, seq\), got \(2, 3, 4\).*features of width d"),
        (lambda: Positions({"a": [[True]]}), "integer or float coordinates, got torch.bool"),
        (lambda: Positions({"a": [[0, 1]]}, mask=[[0.0, 1.0]]), "a mask added to scores is no mask"),
        (lambda: Positions({"a": [[0, 1]]}, present={"b": [[1, 1]]}), "'b' is no axis of these positions; they have a"),
        (lambda: Positions({"a": [[0.0, float("nan")]]}), "'a' is nan at token 1 of row 0. Say where"),
        (lambda: Positions({"a": [[0, 1, 2]]}, segments=[[0, 1, 0]]), "document 0 stands in several pieces"),
        (lambda: Positions.sequence(segments=[[5, 5, 7, 5]]), "document 5 stands in several pieces"),
        (lambda: Positions.sequence(), "needs a length, a mask or segments"),
        (lambda: Positions.grid(0, 3), "at least one row and one column, got 0 x 3"),
        (lambda: Positions.timestamps(["2024-01-01T00:00"]), "names no zone"),
        (lambda: Positions.timestamps(["yesterday"]), "'yesterday' is no ISO 8601 instant"),
        (lambda: Positions.timestamps([1.7e18]), "whole nanoseconds"),
        (lambda: Positions.timestamps(np.array(["2024-01-01", "NaT"], dtype="M8[s]")), "Instant 1 is missing"),
        (lambda: Positions.layout({"words": ["a"]}), "columns such as order, page, line, column, x0, y1; got words"),
        (lambda: Positions.layout({"line": ["a"]}), "'line' needs numbers"),
        (lambda: Positions({"a": ["x"]}), "'a' needs numbers of int64 or float64, got <U1"),
        (lambda: Positions({"a": [1, None]}), "'a' needs numbers"),
        (lambda: Positions({"a": [[1, 2], [3]]}), "rows of different lengths.*collate"),
        (lambda: Positions({"a": np.array([2**63 + 1], dtype=np.uint64)}), "int64 or float64, got uint64"),
        (lambda: Positions.sequence(-1), "length needs a whole number of at least 0, got -1"),
        (lambda: Positions.sequence(2.5), r"whole number of at least 0, got 2\.5"),  # type: ignore[arg-type]
        (lambda: Positions.sequence(5, mask=[[1, 1]]), "takes a length, or a mask or segments"),
        (lambda: Positions.sequence(segments=[[0.5, 1.5]]), "segments needs whole numbers, got torch.float64"),
        (lambda: Positions.sequence(mask=[[1, 1]], segments=[[0, 0, 1]]), r"mask has \(1, 2\), segments \(1, 3\)"),
        (lambda: Positions.grid(2.0, 3), "Positions.grid needs a whole number"),  # type: ignore[arg-type]
        (lambda: Positions.timestamps(["9999-01-01T00:00Z"]), "outside 1678 to 2261"),
        (lambda: Positions.timestamps(np.array(["9999"], dtype="M8[Y]")), "'9999' lies outside 1678 to 2261"),
        (lambda: Positions.layout([1, 2]), "columns by name, got list"),  # type: ignore[arg-type]
        (lambda: Positions.layout({"line": [1, 2], "page": [1]}), "need one length, got 'page' 1, 'line' 2"),
        (lambda: Positions.sequence(3).take([[0.5]]), "index needs whole numbers"),
        (lambda: Positions.sequence(2, batch=2).take([[0, 1], [1]]), "rows of different lengths"),
        (lambda: Positions.concat([]), "at least one Positions, got an empty list"),
        (lambda: Positions.collate([Positions.sequence(1), 3]), "item 1 is int"),
        (lambda: Positions.collate([Positions.sequence(1)], side="top"), "'right' or the 'left', got 'top'"),
        (lambda: Positions.pack([Positions.sequence(mask=[[0, 1]])]), "single documents without padding; item 0"),
        (lambda: Positions.sequence(3)["line"], "reads the axis 'line'; these positions have order"),
        (lambda: Positions.sequence(3)[:, ::-1], "cut forwards, got a step of -1"),
        (lambda: Positions.sequence(3)[:, 3], "There is no number 3 among 3 tokens"),
        (
            lambda: Positions.sequence(3)[torch.tensor([0])],
            "cut by numbers and slices, got Tensor; to gather, use take",
        ),
        (lambda: Positions.sequence(3).take([[0, 3]]), "index runs from 0 to 3; there are 3 tokens"),
        (lambda: Positions.sequence(3).take([[0], [1]]), "index has 2 rows, these positions 1"),
    ],
)
def test_what_cannot_be_is_refused_with_words(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


def test_no_number_is_needed_where_a_token_has_no_place() -> None:
    nan = float("nan")
    positions = Positions({"a": [[nan, 1.0, nan]]}, present={"a": [[0, 1, 1]]}, mask=[[1, 1, 0]])
    assert positions["a"].tolist() == [[0.0, 1.0, 0.0]]


def test_instants_are_int64_nanoseconds_of_utc() -> None:
    texts = ["2024-01-01T00:00Z", "2024-01-01T01:10+01:00", "2023-12-31T19:20-05:00"]
    positions = Positions.timestamps(texts)
    assert positions["time"].dtype == torch.int64
    assert positions["time"].diff().tolist() == [[600 * 10**9, 600 * 10**9]]
    assert positions.even == {"time": 600e9}
    assert torch.equal(
        positions["time"],
        Positions.timestamps(
            np.array(texts_utc := ["2024-01-01T00:00", "2024-01-01T00:10", "2024-01-01T00:20"], dtype="M8[m]")
        )["time"],
    ), texts_utc
    assert Positions.timestamps([0, 60, 180]).even == {}


def test_a_table_of_words_becomes_axes() -> None:
    table = {
        "order": [0, 1, 2, 3],
        "page": [0, 0, 1, 1],
        "line": [0, 4, 0, None],
        "column": [3, 7, 3, 9],
        "x0": [0.1, 0.2, 0.3, 0.4],
        "y1": [0.5, None, 0.5, 0.5],
    }
    words = Positions.layout(table)
    assert words.axes == ("order", "page", "line", "column", "line_from_bottom", "x", "y")
    assert words["line_from_bottom"].tolist() == [[4, 0, 0, 0]]
    assert words.present["line"].tolist() == [[True, True, True, False]] == words.present["line_from_bottom"].tolist()
    assert words["x"].tolist() == [[100.0, 200.0, 300.0, 400.0]] and words.present["y"].tolist() == [
        [True, False, True, True]
    ]
    assert words.even == {"order": 1.0}
    assert Positions.layout({"order": [0, 2]}).even == {}


def test_grids_run_row_by_row() -> None:
    grid = Positions.grid(2, 3, batch=2)
    assert grid["row"].tolist() == [[0, 0, 0, 1, 1, 1]] * 2 and grid["col"].tolist() == [[0, 1, 2, 0, 1, 2]] * 2


def test_s28_only_tokens_are_counted() -> None:
    assert Positions.sequence(mask=[[0, 0, 1, 1, 1]])["order"][0, 2:].tolist() == [0, 1, 2]
    packed = Positions.sequence(segments=[[0, 0, 0, 1, 1, 1]], mask=[[0, 1, 1, 0, 1, 1]])
    assert packed["order"][0, [1, 2, 4, 5]].tolist() == [0, 1, 0, 1] and packed.even == {}


# What happens to them.

rows = st.integers(1, 3)
lengths = st.integers(1, 6)


@st.composite
def anywhere(draw: Any, tokens: int | None = None, batch: int = 1) -> Positions:
    """Positions on two axes, one of them missing here and there."""
    tokens = draw(lengths) if tokens is None else tokens
    numbers = st.lists(st.integers(-5, 99), min_size=tokens * batch, max_size=tokens * batch)
    flags = st.lists(st.booleans(), min_size=tokens * batch, max_size=tokens * batch)
    shape = (batch, tokens)
    line, hours = (np.array(draw(numbers)).reshape(shape) for _ in range(2))
    present = {"line": np.array(draw(flags)).reshape(shape)} if draw(st.booleans()) else {}
    even = {"order": 1} if draw(st.booleans()) else {}
    order = np.arange(tokens)[None].repeat(batch, 0) + draw(st.integers(0, 9))
    return Positions({"order": order, "line": line, "hours": hours / 4}, present=present, even=even)


@given(anywhere(), st.data())
@settings(max_examples=60, deadline=None)
def test_cutting_is_taking_the_numbers_of_the_cut(positions: Positions, data: Any) -> None:
    tokens = positions.shape[1]
    start, stop, step = (
        data.draw(st.integers(0, tokens)),
        data.draw(st.integers(0, tokens)),
        data.draw(st.integers(1, 3)),
    )
    index = list(range(tokens))[start:stop:step]
    cut = positions[:, start:stop:step]
    taken = positions.take(torch.tensor([index], dtype=torch.int64))
    assert the_same(cut, taken) and even_holds(cut) and even_holds(taken)


@given(anywhere(), st.data())
@settings(max_examples=60, deadline=None)
def test_taking_twice_is_taking_once(positions: Positions, data: Any) -> None:
    places = st.lists(st.integers(-1, positions.shape[1] - 1), min_size=1, max_size=6)
    first = data.draw(places)
    second = data.draw(st.lists(st.integers(-1, len(first) - 1), min_size=1, max_size=6))
    at_once = [first[number] if number >= 0 else -1 for number in second]
    assert the_same(positions.take([first]).take([second]), positions.take([at_once]))


@given(st.lists(anywhere(), min_size=1, max_size=4), st.sampled_from(["right", "left"]))
@settings(max_examples=60, deadline=None)
def test_rows_come_out_of_a_batch_as_they_went_in(items: list[Positions], side: Any) -> None:
    batch = Positions.collate(items, side=side)
    assert even_holds(batch)
    for number, item in enumerate(items):
        real = batch.real()[number]
        row = batch[number]
        assert the_same(
            row.take(real.nonzero().T, mask=[[True] * item.shape[1]]),
            item.take([list(range(item.shape[1]))], mask=[[True] * item.shape[1]]),
        )


@given(st.lists(anywhere(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_documents_come_out_of_a_packed_row_as_they_went_in(items: list[Positions]) -> None:
    packed, start = Positions.pack(items), 0
    assert even_holds(packed) and packed.segments is not None
    for number, item in enumerate(items):
        stop = start + item.shape[1]
        part = packed[:, start:stop]
        assert bool((part.segments == number).all())
        assert the_same(Positions(part.coordinates, present=part.present), item)
        start = stop
    assert the_same(Positions.concat(items), Positions(packed.coordinates, present=packed.present))


@given(anywhere(tokens=4), anywhere(tokens=2), anywhere(tokens=3))
@settings(max_examples=30, deadline=None)
def test_joining_is_associative(one: Positions, two: Positions, three: Positions) -> None:
    left = Positions.concat([Positions.concat([one, two]), three])
    right = Positions.concat([one, Positions.concat([two, three])])
    assert the_same(left, right) and the_same(left, Positions.concat([one, two, three])) and even_holds(left)


def test_evenness_is_never_claimed_where_it_does_not_hold() -> None:
    sequence = Positions.sequence(6)
    claims = {
        "whole": (sequence, 1),
        "every second": (sequence[:, ::2], 2),
        "of every second again": (sequence[:, ::2][:, 1::2], 4),
        "padded left": (Positions.sequence(mask=[[0, 0, 1, 1, 1]]), 1),
        "padded right": (Positions.sequence(mask=[[1, 1, 0]]), 1),
        "a mask with a hole": (Positions.sequence(mask=[[1, 0, 1]]), None),
        "taken": (sequence.take([[0, 2, 3]]), None),
        "words and sub-words": (sequence.take([[None, 0, 0, 1]]), None),
        "restricted": (sequence.restrict(torch.tensor([[True, False] * 3])), None),
        "another axis restricted": (sequence.with_axes(line=[[0] * 6]).restrict(torch.ones(1, 6) > 0, ["line"]), 1),
        "replaced": (sequence.with_axes(order=[[0, 1, 3, 5, 6, 9]]), None),
        "joined": (Positions.concat([sequence, sequence]), None),
        "packed": (Positions.pack([sequence, sequence[:, 2:]]), 1),
        "packed with another step": (Positions.pack([sequence, sequence[:, ::2]]), None),
        "collated": (Positions.collate([sequence, sequence[:, 3:]]), 1),
        "collated with another step": (Positions.collate([sequence, sequence[:, ::3]]), None),
        "collated with one that states nothing": (Positions.collate([sequence, sequence.take([[0, 5]])]), None),
        "a packed row padded in the middle, where saying less is safe": (
            Positions.sequence(segments=[[0, 0, 1, 1]], mask=[[1, 1, 0, 1]]),
            None,
        ),
        "two parts of a packed row": (Positions.sequence(segments=[[0, 0, 0, 1]], mask=[[1, 0, 1, 1]]), None),
    }
    for what, (positions, step) in claims.items():
        assert positions.even.get("order") == step, what
        assert even_holds(positions), what


def test_the_difference_told_by_a_fact_is_that_of_the_coordinates() -> None:
    """A relative bias may count tokens instead of reading coordinates; wherever it does, both agree."""
    sequence = Positions.sequence(8)
    padded = Positions.collate([sequence[:, :3], sequence], side="left")
    encoder = sp.T5Bias(2, buckets=8, distance=9)
    pairs = [
        (sequence, None),
        (sequence[:, ::2], None),
        (sequence[:, 5:], sequence),
        (sequence[:, 1::2], sequence[:, ::2]),
        (padded, None),
        (padded[:, -2:], padded),
        (Positions.pack([sequence, sequence]), None),
        (Positions.pack([sequence, sequence])[:, 9:], Positions.pack([sequence, sequence])),
    ]
    for queries, keys in pairs:
        signal = encoder(queries, keys)
        line = signal.diagonals()
        if line is None:
            continue
        other = queries if keys is None else keys
        allowed = queries.real()[:, :, None] & other.real()[:, None, :]
        if queries.segments is not None:
            allowed = allowed & (queries.segments[:, :, None] == other.segments[:, None, :])
        index = torch.arange(other.shape[1])[None] - torch.arange(queries.shape[1])[:, None] + queries.shape[1] - 1
        by_line = line[:, :, index].expand(signal.shape)
        plain = encoder(Positions(queries.coordinates), Positions(other.coordinates)).dense()
        assert torch.equal(by_line.masked_fill(~allowed[:, None], 0), plain.masked_fill(~allowed[:, None], 0))


def test_sub_words_take_the_place_of_their_word() -> None:
    words = Positions({"line": [[3, 4], [7, 0]]}, mask=[[True, True], [True, False]])
    tokens = words.take([[None, 0, 0, 1, None], [None, 0, None, None, None]], mask=[[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    assert tokens["line"][0, 1:4].tolist() == [3, 3, 4]
    assert tokens.present["line"].tolist() == [[False, True, True, True, False], [False, True, False, False, False]]
    assert tokens.real().sum(1).tolist() == [5, 3]


def test_a_token_without_a_place_belongs_to_the_document_it_stands_in() -> None:
    packed = Positions.pack([Positions.sequence(2), Positions.sequence(1)])
    tokens = packed.take([[None, 0, 1, None, 2, None, None]])
    assert tokens.segments is not None and tokens.segments.tolist() == [[0, 0, 0, 0, 1, 1, 1]]
    assert packed.take([[]]).shape == (1, 0)
    with pytest.raises(sp.PositionError, match="document 0 stands in several pieces"):
        packed.take([[0, 2, 1]])


def test_new_axes_keep_what_is_there() -> None:
    more = Positions.sequence(2, batch=2).with_axes(
        line=[[0, 1], [1, 1]], present={"line": [[True, False], [True, True]]}
    )
    assert more.axes == ("order", "line") and more.even == {"order": 1} and list(more.present) == ["line"]


def test_they_print_what_they_are() -> None:
    positions = Positions.pack([Positions.sequence(3), Positions.sequence(2)])
    assert repr(positions) == "Positions(batch 1, seq 5: order 0..2 even; 2 documents)"
    words = Positions({"line": [[0, 7]], "hours": [[0.5, 2.25]]}, present={"line": [[False, True]]})
    assert repr(words) == "Positions(batch 1, seq 2: line 7 on 1 of 2, hours 0.5..2.25)"
    assert repr(Positions.sequence(2).to("meta")) == "Positions(batch 1, seq 2: order even)"
    assert "1 padded" in repr(Positions.sequence(mask=[[True, False]]))


# In torch's hands.


def full() -> Positions:
    """Positions that have everything."""
    return Positions(
        {"order": [[0, 1]], "line": [[4, 0]]},
        present={"line": [[True, False]]},
        mask=[[True, True]],
        segments=[[0, 1]],
        even={"order": 1},
    )


def test_torch_sees_their_tensors_and_gives_them_back() -> None:
    positions = full()
    leaves, spec = tree_flatten({"positions": positions})
    assert len(leaves) == 5 and all(isinstance(leaf, torch.Tensor) for leaf in leaves)
    again = tree_unflatten(leaves, spec)["positions"]
    assert the_same(again, positions) and again.even == positions.even
    assert tree_map(lambda tensor: tensor.to("meta"), positions).device.type == "meta"


def test_they_are_copied_pickled_and_saved_with_weights_only(tmp_path: Any) -> None:
    positions = full()
    torch.save(positions, tmp_path / "positions.pt")
    others = (copy.deepcopy(positions), pickle.loads(pickle.dumps(positions)), torch.load(tmp_path / "positions.pt"))
    assert all(the_same(other, positions) and other.even == positions.even for other in others)


def test_l1_lightning_moves_positions_of_a_batch_and_casts_none() -> None:
    plugins = pytest.importorskip("lightning.pytorch.plugins.precision")
    stamps = torch.tensor([[1_700_000_000 + 60 * number for number in range(4)]], dtype=torch.float64)
    batch = {
        "positions": Positions({"time": stamps * 1.0, "order": torch.arange(300, 304)[None]}),
        "x": torch.zeros(2, 3),
    }
    for plugin, kind in (
        (plugins.HalfPrecision("bf16-true"), torch.bfloat16),
        (plugins.HalfPrecision("16-true"), torch.float16),
        (plugins.DoublePrecision(), torch.float64),
    ):
        cast = plugin.convert_input(batch)
        assert cast["x"].dtype == kind
        assert torch.equal(cast["positions"]["time"], stamps) and cast["positions"]["time"].dtype == torch.float64
        assert cast["positions"]["order"].tolist() == [[300, 301, 302, 303]]


class Words(Dataset[dict[str, Any]]):
    """Six documents of one to six words."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"positions": Positions.sequence(index + 1), "label": index}


@pytest.mark.parametrize("start", [None, "fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_data_loader_collates_them(start: str | None) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork.*")  # Python 3.12 and later, in a process with threads
        loader = DataLoader(Words(), batch_size=3, num_workers=0 if start is None else 1, multiprocessing_context=start)
        batches = list(loader)
    assert [batch["positions"].shape for batch in batches] == [(3, 3), (3, 6)]
    assert batches[0]["positions"].real().sum(1).tolist() == [1, 2, 3] and batches[0]["positions"].even == {"order": 1}


def test_default_collate_knows_them() -> None:
    assert default_collate([Positions.sequence(2), Positions.sequence(4)]).shape == (2, 4)


def test_nanoseconds_of_a_text_are_kept() -> None:
    assert Positions.timestamps(["2024-01-01T00:00:00.123456789Z"])["time"].tolist() == [[1704067200123456789]]


def test_pinning_reaches_every_tensor() -> None:
    positions = full()
    if torch.cuda.is_available():
        assert all(tensor.is_pinned() for tensor in tree_flatten(positions.pin_memory())[0])
    seen: list[int] = []
    positions._map(lambda tensor: seen.append(id(tensor)) or tensor)  # all that pin_memory pins
    assert set(seen) == {id(tensor) for tensor in tree_flatten(positions)[0]}


def test_an_axis_called_even_that_is_not_is_refused() -> None:
    """Biases count tokens on an even axis: a false claim would be a silent wrong answer."""
    with pytest.raises(sp.PositionError, match="called even with step 1, but two neighbours lie 4 apart"):
        sp.Positions({"a": [[1, 5, 6]]}, even={"a": 1})
    packed = sp.Positions({"a": [[0, 2, 0, 2]]}, segments=[[0, 0, 1, 1]], even={"a": 2})
    padded = sp.Positions({"a": [[0, 1, 9]]}, mask=[[1, 1, 0]], even={"a": 1})
    assert packed.even == {"a": 2} and padded.even == {"a": 1}
