"""The rules of reading order one by one, on tables of numbers instead of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from structpos.readers.order import judge as judging
from structpos.readers.order.bidi import line_order, way
from structpos.readers.order.frame import islands, slanted, to_display, turn
from structpos.readers.order.judge import Sides, judge, numeric
from structpos.readers.order.lattice import tables
from structpos.readers.order.lines import cells, copies, medians, visual_lines
from structpos.readers.order.margin import line_numbers
from structpos.readers.order.page import Page
from structpos.readers.order.rivers import Cell, Row, pitch_of, rivers, rows_of
from structpos.readers.order.signatures import sort_of
from structpos.readers.order.skew import slopes

TALL = 10.0
LINE = list[tuple[float, float, str]]  # left and right edge and words of each cell of a line


def sheet(lines: Sequence[LINE], pitch: float = 12.0, **more: Any) -> tuple[Page, list[Cell]]:
    """A page of lines ``pitch`` apart; the words of a cell share its width."""
    text: list[str] = []
    x0: list[float] = []
    x1: list[float] = []
    found: list[Cell] = []
    for number, line in enumerate(lines):
        for left, right, words in line:
            first, said = len(text), words.split()
            edges = np.linspace(left, right, len(said) + 1).tolist()
            text += said
            x0 += edges[:-1]
            x1 += [edge - 2.0 for edge in edges[1:-1]] + [right]
            found.append(Cell(left, right, number * pitch, number, first, len(text)))
    return Page(TALL, text, x0, x1, **more), found


def verdicts(lines: Sequence[LINE], **more: Any) -> dict[float, tuple[str, str]]:
    """What each river comes to, by its left edge."""
    page, found = sheet(lines, **more)
    rows = rows_of(found)
    pitch = pitch_of(rows, TALL)
    streams = rivers(rows, TALL, pitch=pitch)
    decided = {river.x0: judge(Sides(river, rows, streams, page, pitch)) for river in streams}
    return {x0: (verdict.kind, verdict.reason) for x0, verdict in decided.items()}


WORDS = "some words of running text"
JUDGED: list[tuple[str, list[LINE], tuple[str, str]]] = [
    ("prose on both sides", [[(0, 200, WORDS), (220, 420, WORDS)]] * 6, ("columns", "long lines")),
    ("short blocks side by side", [[(0, 60, "two words"), (90, 150, "two words")]] * 4, ("columns", "blocks")),
    ("far apart and lined up", [[(0, 20, "ab"), (300, 320, "cd")]] * 3, ("columns", "wide gap")),
    ("far apart, but the left asks for the right", [[(0, 30, "ab:"), (300, 330, "cd")]] * 3, ("entries", "terms")),
    ("numbers of clauses", [[(0, 12, "1.1"), (30, 400, WORDS)]] * 6, ("rows", "labels")),
    ("bullets of some lines", [[(0, 5, "-"), (20, 400, WORDS)], [(20, 400, WORDS)]] * 3, ("rows", "labels")),
    ("a table of numbers", [[(0, 90, "item name"), (150, 180, "12.50")]] * 6, ("rows", "numbers right")),
    ("numbers before text", [[(0, 80, "12 345 678"), (150, 250, "some words")]] * 6, ("rows", "numbers left")),
    (
        "labels of signatures",
        [[(0, 90, "By: Ann"), (150, 240, "By: Bo")], [(0, 90, "Name: Ann"), (150, 240, "Name: Bo")]],
        ("columns", "repeated labels"),
    ),
    (
        "one label, signed differently",
        [[(0, 90, "/s/ Ann"), (150, 240, "By:/s/ Bo")], [(0, 90, "Ann Smith"), (150, 240, "Bo Jones")]],
        ("columns", "repeated labels"),
    ),
    (
        "terms with long answers",
        [[(0, 80, "Closing date:"), (120, 400, WORDS)], [(120, 400, WORDS)]] * 4,
        ("entries", "terms"),
    ),
    (
        "gaps that meet by chance in prose",
        [[(0, 420, WORDS)]] + [[(0, 200, WORDS), (213, 420, WORDS)]] * 4 + [[(0, 420, WORDS)]],
        ("rows", "nothing says columns"),
    ),
]


@pytest.mark.parametrize(("lines", "wanted"), [case[1:] for case in JUDGED], ids=[case[0] for case in JUDGED])
def test_a_river_is_judged_by_what_stands_beside_it(lines: list[LINE], wanted: tuple[str, str]) -> None:
    assert set(verdicts(lines).values()) == {wanted}


RULED = [[(0, 90, "one two"), (110, 200, "three four")]] * 12 + [[(0, 90, "five six")]] * 12


def test_a_drawn_rule_parts_blocks_of_different_length() -> None:
    """Without the rule the left side has too many lines for two blocks side by side."""
    lines = [[(0, 90, "five six")]] * 10 + RULED[:4] + [[(0, 90, "five six")]] * 10
    rule = np.array([[100.0, -20.0, 100.5, 300.0]])
    assert ("columns", "ruled") in verdicts(lines, rules=lambda: rule).values()
    assert {kind for kind, _ in verdicts(lines, rules=lambda: np.zeros((0, 4))).values()} == {"rows"}


def test_rules_between_all_columns_are_those_of_a_table() -> None:
    lines: list[LINE] = [[(0, 80, "12 345 678"), (100, 180, "one two"), (200, 280, "12 345")]] * 6
    rule = np.array([[x, -20.0, x + 0.5, 300.0] for x in (90.0, 190.0)])
    assert {kind for kind, _ in verdicts(lines, rules=lambda: rule).values()} == {"rows"}


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        ("repeated_labels", "labels of signatures"),
        ("labels", "bullets of some lines"),
        ("numbers", "a table of numbers"),
        ("terms", "terms with long answers"),
        ("long_lines", "prose on both sides"),
        ("blocks", "short blocks side by side"),
        ("wide_gap", "far apart and lined up"),
    ],
)
def test_each_rule_earns_its_place(rule: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out, some river is judged otherwise."""
    lines, wanted = next(rest for name, *rest in JUDGED if name == case)
    rest = tuple(other for other in judging.RULES if other.__name__ != rule)
    assert len(rest) == len(judging.RULES) - 1
    monkeypatch.setattr(judging, "RULES", rest)
    assert set(verdicts(lines).values()) != {wanted}


def test_prose_is_guarded_against_gaps_that_meet_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sides, "guarded", False)
    lines = next(case[1] for case in JUDGED if case[0] == "gaps that meet by chance in prose")
    assert ("columns", "long lines") in verdicts(lines).values()


def test_a_river_ends_where_text_crosses_it() -> None:
    _, found = sheet([[(0, 420, WORDS)]] + [[(0, 200, WORDS), (220, 420, WORDS)]] * 3 + [[(0, 420, WORDS)]])
    rows = rows_of(found)
    (river,) = rivers(rows, TALL, pitch=12.0)
    assert (river.x0, river.x1, river.first, river.last) == (200, 220, 1, 3)


def test_rivers_stop_at_their_cap() -> None:
    lines: list[LINE] = [[(60.0 * i + 7 * (n % 5), 60.0 * i + 30, "ab") for i in range(10)] for n in range(60)]
    assert len(rivers(rows_of(sheet(lines)[1]), TALL, pitch=12.0, cap=3)) == 3


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("$ 1,024.50", True),
        ("(12.5%)", True),
        ("Total of 2", False),
        ("-- ____", None),
        ("....", None),
        ("L0", False),
        ("[***]", False),
    ],
)
def test_what_counts_as_a_number(words: str, wanted: bool | None) -> None:
    assert numeric(words.split()) is wanted


def test_whatever_opens_a_signature_is_one_thing() -> None:
    assert {sort_of(token) for token in ("/s/", "/S/Ann", "By:/s/", "By:/s/Bo")} == {"/s/"}


def test_borders_drawn_cell_by_cell_make_one_table() -> None:
    pieces = [[x, y, x + 50.0, y + 0.4] for y in (10.0, 40.0, 70.0) for x in (0.0, 50.1, 100.2)]
    (table,) = tables(np.array(pieces[::-1]), TALL)
    assert (table.x0, table.x1) == (0.0, 150.2)
    assert np.allclose(table.at, [10.2, 40.2, 70.2])


def test_underlines_of_different_words_make_no_table() -> None:
    assert not tables(np.array([[0.0, 10, 90, 10], [30.0, 40, 190, 40], [10.0, 70, 300, 70]]), TALL)
    assert not tables(np.array([[0.0, 10, 90, 10], [0.0, 40, 90, 40]]), TALL)


def numbered(values: Sequence[int], words: str = WORDS) -> list[Cell]:
    page, found = sheet([[(0, 10, str(value)), (40, 400, words)] for value in values])
    return line_numbers(rows_of(found), page)


def test_line_numbers_count_on_by_one() -> None:
    assert len(numbered(range(1, 13))) == 12
    assert len(numbered(range(40, 52))) == 12
    assert not numbered([1, 2, 3, 4, 6, 7, 8, 9, 10])
    assert not numbered(range(1, 6))
    assert not numbered(range(1, 13), "few words")


def test_medians_of_runs() -> None:
    assert medians(np.array([0, 0, 0, 4, 4]), np.array([3.0, 1.0, 2.0, 9.0, 7.0])).tolist() == [2.0, 7.0]


def test_lines_of_two_grids_that_touch_are_told_apart() -> None:
    """Left and right lines each lie within a step of the next, so that together they look like one line."""
    left = [[0.0, 3.0 * i, 40.0, 3.0 * i + 10] for i in range(6)]
    _, line = visual_lines(np.array(left), np.zeros(6, int), ["a"] * 6)
    assert line.max() == 2


def test_copies_are_told_by_place_and_text() -> None:
    boxes = np.array([[0.0, 0, 30, 10], [0.5, 0.2, 30.5, 10.2], [0.5, 0, 30, 10], [32.0, 0, 62, 10]])
    text = ["bold", "bold", "else", "bold"]
    place, line = visual_lines(boxes, np.zeros(4, int), text)
    keep, original = copies(boxes, place, line, text)
    assert keep.tolist() == [True, False, True, True]
    assert original.tolist() == [0, 0, 2, 3]


def test_wide_spaces_of_justified_lines_do_not_make_cells() -> None:
    boxes = np.array([[30.0 * i, 0.0, 30.0 * i + 18, 10.0] for i in range(10)])
    first, _ = cells(boxes, np.zeros(10, int), np.zeros(10, int))
    assert first.tolist() == [0]


@pytest.mark.parametrize("quarter", [0, 1, 2, 3])
def test_turning_undoes_what_a_page_turned(quarter: int) -> None:
    boxes = np.array([[10.0, 20, 30, 25], [100.0, 200, 150, 210]])
    width, height = (300.0, 400.0) if quarter % 2 == 0 else (400.0, 300.0)
    shown = to_display(boxes, 90 * quarter, width, height)
    assert np.allclose(turn(shown, quarter, width, height), boxes)


@pytest.mark.parametrize("degrees", [0.0, 20.0, 45.0, 90.0, 200.0, 270.0])
def test_slanted_words_get_their_length_and_height_back(degrees: float) -> None:
    cos, sin = abs(np.cos(np.deg2rad(degrees))), abs(np.sin(np.deg2rad(degrees)))
    outer = np.array([[0.0, 0.0, 60 * cos + 12 * sin, 60 * sin + 12 * cos]])
    (box,) = slanted(outer, degrees)
    if degrees == 45.0:  # length and height cannot be told apart: only the order along the line is kept
        assert box[2] > box[0] and box[3] > box[1]
    else:
        assert np.allclose([box[2] - box[0], box[3] - box[1]], [60, 12])


def test_boxes_in_a_chain_are_one_island() -> None:
    boxes = np.array([[0.0, 0, 10, 10], [12.0, 0, 22, 10], [24.0, 0, 34, 10], [90.0, 0, 99, 10]])
    assert islands(boxes, 5.0, 5.0).tolist() == [0, 0, 0, 1]


def test_pages_without_a_slope_have_none() -> None:
    boxes = np.array([[20.0 * i, 0.0 if i % 7 else 0.4, 20.0 * i + 15, 10.0] for i in range(40)])
    assert slopes(boxes, np.zeros(40, int), np.zeros(40, int)).tolist() == [0.0]


RIGHT = ["\u05d0\u05d1", "\u05d2\u05d3"]


@pytest.mark.parametrize(
    ("words", "wanted", "rtl"),
    [
        (["a", "b"], [0, 1], False),
        ([RIGHT[1], RIGHT[0]], [1, 0], True),
        (["a", RIGHT[1], RIGHT[0], "bc", "de"], [0, 2, 1, 3, 4], False),
        (["text", "text", RIGHT[0], "12"], [0, 1, 2, 3], False),
        ([RIGHT[1] * 4, "12", "34", RIGHT[0]], [3, 2, 1, 0], True),
        ([RIGHT[1] * 4, "x", "12", RIGHT[0]], [3, 1, 2, 0], True),
    ],
)
def test_words_of_a_mixed_line(words: list[str], wanted: list[int], rtl: bool) -> None:
    assert line_order(words) == (wanted, rtl)


def test_signs_and_numbers_have_no_direction() -> None:
    assert way("14") == way("--") != way("a") != way(RIGHT[0])


def test_rows_know_what_is_free_beside_them() -> None:
    row = Row([Cell(10, 40, 0, 0, 0, 1), Cell(30, 60, 0, 0, 1, 2), Cell(80, 90, 0, 0, 2, 3)], 0)
    assert row.gaps == [(float("-inf"), 10), (60, 80), (90, float("inf"))]
