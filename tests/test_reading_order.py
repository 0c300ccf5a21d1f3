"""Reading order from words and boxes: pages drawn here, each for one way in which order goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structpos.errors import PositionError
from structpos.readers.order import Reading, read_order, to_display

SIZE = (612.0, 792.0)
Piece = tuple[float, float, str]  # left edge, baseline, words


def word_boxes(pieces: Sequence[Piece], size: float = 10.0) -> tuple[list[str], np.ndarray]:
    """Words of a font half as wide as high, drawn from the left edge of each piece; boxes as high as fonts say."""
    text, boxes = [], []
    for x, baseline, words in pieces:
        for word in words.split():
            boxes.append((x, baseline - 1.05 * size, x + 0.5 * size * len(word), baseline + 0.3 * size))
            text.append(word)
            x += 0.5 * size * (len(word) + 1)
    return text, np.array(boxes)


def read(text: Sequence[str], boxes: np.ndarray, **more: Any) -> Reading:
    """Read words of page 0, shuffled before and put back after, so that nothing rests on how they are stored."""
    shuffle = np.random.default_rng(len(text)).permutation(len(text))
    more = {
        key: np.asarray(value)[shuffle] if key in ("angle", "vertical", "page") else value
        for key, value in more.items()
    }
    page = more.pop("page", np.zeros(len(text), int))
    reading = read_order(page, boxes[shuffle], [text[i] for i in shuffle], **{"sizes": {0: SIZE}, **more})
    back = np.argsort(shuffle)
    arrays = {name: getattr(reading, name)[back] for name in Reading.__dataclass_fields__ if name != "reasons"}
    return Reading(**arrays, reasons=reading.reasons)


def said(text: Sequence[str], reading: Reading) -> str:
    """The words as they are read."""
    return " ".join(text[i] for i in np.argsort(reading.order) if reading.keep[i])


def told(pieces: Sequence[Piece], **more: Any) -> str:
    text, boxes = word_boxes(pieces)
    return said(text, read(text, boxes, **more))


def of(values: np.ndarray, text: Sequence[str], *words: str) -> list[Any]:
    """What some words have, in the order asked for."""
    return [values[text.index(word)].item() for word in words]


def column(name: str, x: float, rows: int, top: float = 100.0, pitch: float = 14.0) -> list[Piece]:
    return [(x, top + pitch * i, f"{name}{i}a {name}{i}b") for i in range(rows)]


def prose(name: str, x: float, rows: int, words: int = 7, top: float = 100.0, pitch: float = 14.0) -> list[Piece]:
    """Lines of running text; every word is told apart by its letters."""
    letters = "bcdfghjklmnpqrs"
    return [
        (x, top + pitch * i, " ".join(f"{name}{letters[i // 10]}{letters[i % 10]}{letters[j]}" for j in range(words)))
        for i in range(rows)
    ]


def plain(pieces: Sequence[Piece]) -> str:
    return " ".join(words for _, _, words in pieces)


def test_p6_two_columns_are_not_read_across() -> None:
    left, right = column("L", 72, 4), column("R", 330, 4)
    text, boxes = word_boxes(left + right)
    reading = read(text, boxes)
    assert said(text, reading) == plain(left + right)
    assert of(reading.text_column, text, "L0a", "L3b", "R0a", "R3b") == [0, 0, 1, 1]
    assert of(reading.line, text, "L0a", "R0a", "L3b", "R3b") == [0, 0, 3, 3]
    assert of(reading.word, text, "L0a", "L0b", "R0a", "R0b") == [0, 1, 2, 3]


def test_p7_a_title_drawn_last_is_read_first() -> None:
    right, left = column("R", 330, 3), column("L", 72, 3)
    assert told([*right, *left, (72, 60, "TITLE")]) == "TITLE " + plain(left + right)


def test_p8_heading_and_page_number_do_not_end_up_between_columns() -> None:
    heading = (72, 60, "A heading that runs over both of the columns of this page")
    left, right = column("L", 72, 3), column("R", 330, 3)
    text, boxes = word_boxes([heading, *left, *right, (300, 770, "3")])
    reading = read(text, boxes)
    assert said(text, reading) == f"{heading[2]} {plain(left + right)} 3"
    assert set(of(reading.text_column, text, *heading[2].split())) == {-1}


def test_running_head_and_foot_stay_outside_two_columns_of_prose() -> None:
    left, right = prose("L", 60, 30), prose("R", 320, 30)
    head, foot = [(60, 60, "Journal"), (500, 60, "Volume 7")], [(60, 760, "Publisher"), (540, 760, "12")]
    assert told([*right, *foot, *left, *head]) == " ".join(map(plain, (head, left, right, foot)))


def test_p9_three_columns() -> None:
    left, middle, right = column("L", 50, 3), column("M", 230, 3), column("R", 410, 3)
    text, boxes = word_boxes(middle + right + left)
    reading = read(text, boxes)
    assert said(text, reading) == plain(left + middle + right)
    assert of(reading.text_column, text, "L0a", "M1b", "R2a") == [0, 1, 2]


def test_p10_a_number_stays_with_its_line() -> None:
    text, boxes = word_boxes([(72, 100, "(1)"), (100, 100, "First line"), (100, 114, "second line")])
    reading = read(text, boxes)
    assert said(text, reading) == "(1) First line second line"
    assert set(reading.text_column) == {0}
    assert reading.line.tolist() == [0, 0, 0, 1, 1]


def test_p11_slightly_different_heights_are_one_line() -> None:
    text, boxes = word_boxes([(72, 100, "one"), (92, 100.1, "two"), (112, 100.4, "three"), (142, 100.1, "four")])
    reading = read(text, boxes)
    assert said(text, reading) == "one two three four"
    assert set(reading.line) == {0}


def test_p12_a_superscript_does_not_break_its_line() -> None:
    words, boxes = word_boxes(
        [(72, 100, "finish 7"), (150, 100, "in the season"), (72, 114, "and the next line")], 11.0
    )
    small, small_box = word_boxes([(117, 96, "th")], 6.0)
    text, boxes = words + small, np.concatenate([boxes, small_box])
    reading = read(text, boxes)
    assert said(text, reading) == "finish 7 th in the season and the next line"
    assert of(reading.line, text, "7", "th", "in") == [0, 0, 0]


@pytest.mark.parametrize(("right", "down"), [(0.3, 0.0), (0.001, 0.04), (0.0, 0.0)])
def test_p13_a_word_drawn_twice_is_read_once_with_the_union_of_its_boxes(right: float, down: float) -> None:
    text, boxes = word_boxes([(72, 100, "Statement"), (72 + right, 100 + down, "Statement"), (72, 120, "of account")])
    reading = read(text, boxes)
    assert said(text, reading) == "Statement of account"
    kept = int(np.flatnonzero(reading.keep[:2])[0])
    assert np.allclose(reading.boxes[kept], [72, boxes[0, 1], boxes[1, 2], boxes[1, 3]])
    assert reading.order[1 - kept] == -1


def test_p13_words_that_truly_repeat_stay() -> None:
    assert told([(72, 100, "had had had"), (72, 114, "had")]) == "had had had had"


def test_p17_sideways_text_is_read_in_its_own_direction() -> None:
    level, level_boxes = word_boxes([(200, 300, "Horizontal Text")])
    down = ["Vertical", "Text"]
    down_boxes = np.array([[100.0, 80, 112, 130], [100.0, 135, 112, 160]])
    reading = read(level + down, np.concatenate([level_boxes, down_boxes]), angle=[0, 0, 90, 90])
    assert said(level + down, reading) == "Vertical Text Horizontal Text"


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_a_turned_page_is_read_like_the_same_page_upright(angle: int) -> None:
    pieces = [*prose("L", 60, 8), *prose("R", 320, 8)]
    text, boxes = word_boxes(pieces)
    size = SIZE if angle % 180 == 0 else SIZE[::-1]
    reading = read(text, to_display(boxes, angle, *size), sizes={0: size}, angle=np.full(len(text), angle))
    assert said(text, reading) == plain(pieces)
    assert of(reading.text_column, text, text[0], text[-1]) == [0, 1]


def test_p18_slanted_words_are_read_along_their_line() -> None:
    """Outer boxes of words that fall by 30 degrees overlap in x and y."""
    boxes, text = [], [f"w{i}" for i in range(12)]
    for i in range(12):
        along, line = 60.0 * (i % 6), 14.0 * (i // 6)
        x = 100 + along * np.cos(np.pi / 6) - line * np.sin(np.pi / 6)
        y = 100 + along * np.sin(np.pi / 6) + line * np.cos(np.pi / 6)
        wide, high = (50 * 0.866 + 12 * 0.5) / 2, (50 * 0.5 + 12 * 0.866) / 2
        boxes.append((x - wide, y - high, x + wide, y + high))
    reading = read(text, np.array(boxes), angle=np.full(12, 30.0))
    assert said(text, reading) == " ".join(text)
    assert reading.line.tolist() == [0] * 6 + [1] * 6


def test_vertical_writing_is_read_from_right_to_left() -> None:
    text = ["first", "second", "third"]
    boxes = np.array([[500.0, 100, 512, 400], [480.0, 100, 492, 400], [460.0, 100, 472, 400]])
    reading = read(text, boxes, vertical=np.ones(3, bool), angle=np.zeros(3))
    assert said(text, reading) == "first second third"
    assert set(reading.direction) == {"ttb"}


def test_a_stamp_in_the_margin_does_not_interrupt_the_text() -> None:
    body = prose("t", 80, 30, words=12)
    text, boxes = word_boxes(body)
    stamp = ["sideways", "stamp"]
    reading = read(
        text + stamp,
        np.concatenate([boxes, [[20.0, 250, 34, 300], [20.0, 200, 34, 240]]]),
        angle=np.array([0] * len(text) + [270, 270]),
    )
    assert said(text + stamp, reading) == plain(body) + " sideways stamp"


@pytest.mark.parametrize("degrees", [-4.0, -1.0, 0.4, 2.0])
@pytest.mark.parametrize("known", [True, False], ids=["angle given", "angle found"])
def test_a_page_that_lies_askew_is_read_like_a_straight_one(degrees: float, known: bool) -> None:
    pieces = [*prose("L", 60, 30), *prose("R", 320, 30)]
    text, boxes = word_boxes(pieces)
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    x, y, wide, high = cos * x - sin * y, sin * x + cos * y, wide * cos + high * abs(sin), high * cos + wide * abs(sin)
    askew = np.stack([x - wide / 2, y - high / 2, x + wide / 2, y + high / 2], axis=1)
    angle = {"angle": np.full(len(text), degrees)} if known else {}
    reading = read(text, askew, **angle)
    assert said(text, reading) == plain(pieces)
    assert of(reading.line, text, text[0], text[-1]) == [0, 29]


def test_columns_on_different_grids_keep_their_own_lines() -> None:
    left, right = prose("L", 60, 20), prose("R", 320, 22, top=103, pitch=12.7)
    assert told(left + right) == plain(left + right)


def test_a_footnote_under_one_column_stays_in_it() -> None:
    left, right = prose("L", 60, 20), prose("R", 320, 26)
    words, boxes = word_boxes(left + right)
    note, note_boxes = word_boxes([(60, 420, "1 A note in smaller type"), (60, 431, "of two lines.")], 8.0)
    reading = read(words + note, np.concatenate([boxes, note_boxes]))
    assert said(words + note, reading) == f"{plain(left)} {' '.join(note)} {plain(right)}"
    assert set(of(reading.text_column, words + note, *note)) == {0}


def test_verses_side_by_side_are_read_stanza_by_stanza() -> None:
    stanzas = [
        [*prose("a", 60, 4, 7, 100), *prose("b", 320, 4, 7, 100)],
        [*prose("c", 60, 4, 7, 190), *prose("d", 320, 4, 7, 190)],
    ]
    assert told([*stanzas[1], *stanzas[0]]) == " ".join(map(plain, stanzas))


def test_a_table_of_numbers_is_read_row_by_row() -> None:
    rows = [
        [(72, y, f"Item{n}"), (250, y, f"{n * 7}.50"), (400, y, f"{n * 31},000")]
        for n, y in enumerate(range(100, 240, 14))
    ]
    assert told([cell for row in reversed(rows) for cell in row]) == " ".join(map(plain, rows))


def test_a_list_of_terms_is_read_term_by_term() -> None:
    rows = [
        [(72, 100, "Term:"), (200, 100, "ten years from the date on which the"), (200, 114, "last party has signed")],
        [(72, 138, "Governing Law:"), (200, 138, "the law of the place where the"), (200, 152, "goods are delivered")],
        [(72, 176, "Notices:"), (200, 176, "to the address that stands above")],
    ]
    assert told([cell for row in reversed(rows) for cell in row]) == " ".join(map(plain, rows))


TABLE_CELLS = [
    [
        *[(72, 100, "Delivery"), (72, 114, "and transport")],
        *[(250, 100, "The seller brings the goods"), (250, 114, "to the harbour named above")],
    ],
    [(72, 140, "Payment"), (250, 140, "Within thirty days after"), (250, 154, "the invoice has been sent")],
    [(72, 180, "Warranty"), (250, 180, "Two years")],
]
TABLE_RULES = [[70.0, y, 450.0, y + 0.5] for y in (87, 122, 162, 190)]


def test_cells_of_several_lines_are_read_cell_by_cell_between_drawn_rules() -> None:
    above, below = prose("u", 72, 2, 9, 40), prose("v", 72, 4, 9, 220)
    pieces = [cell for row in TABLE_CELLS for cell in row]
    asked: list[int] = []

    def rules(page: int) -> np.ndarray:
        asked.append(page)
        return np.array(TABLE_RULES)

    assert told([*below, *reversed(pieces), *above], rules=rules) == plain([*above, *pieces, *below])
    assert asked == [0]


def test_rows_between_two_rules_are_records_and_not_lines_of_one_cell() -> None:
    """A table with a rule above, below its head and below: its body is one band of many rows."""
    names = [f"{name} Smithson" for name in ("Annabel", "Bernard", "Charles", "Deborah", "Edwina")]
    body = [[(72, 120 + 14 * i, name), (200, 120 + 14 * i, f"Town-{name[:2]}")] for i, name in enumerate(names)]
    pieces = [(72, 100, "Signatory"), (200, 100, "Domicile"), *chain(*body)]
    rules = np.array([[70.0, y, 300.0, y] for y in (86, 106, 182)])
    assert told(pieces, rules=lambda page: rules) == plain(pieces)


def test_drawings_are_not_asked_for_where_they_decide_nothing() -> None:
    def rules(page: int) -> np.ndarray:
        raise AssertionError("asked")

    assert told(prose("t", 72, 40, 10), rules=rules) == plain(prose("t", 72, 40, 10))


def test_cells_that_a_rule_alone_keeps_apart() -> None:
    """The columns stand a space apart; without the drawn rule between them they would be one."""
    left = [(72, 100, "Territory granted here"), (72, 114, "all states of the Union")]
    right = [(192, 100, "Duration"), (192, 114, "One year")]
    more = [
        [(72, 140, "Price"), (260, 140, "on request")],
        [(72, 166, "Fee"), (260, 166, "none at all")],
        [(72, 192, "Place"), (260, 192, "here")],
    ]
    rules = np.array([*[[70.0, y, 450.0, y] for y in (87, 122, 148, 174, 200)], [188.0, 87.0, 188.3, 200.0]])
    assert told([*left, *right, *chain(*more)], rules=lambda page: rules).startswith(plain(left + right))


SIGNATURES = [
    [
        (72, 100, "FIRST PARTY INC."),
        (72, 140, "By: /s/ Ann Smith"),
        (72, 154, "Name: Ann Smith"),
        (72, 168, "Title: Head"),
    ],
    [
        (330, 100, "SECOND PARTY"),
        (330, 140, "By: /s/ Bo Jones"),
        (330, 154, "Name: Bo Jones"),
        (330, 168, "Title: Clerk"),
    ],
]


def test_parties_that_sign_side_by_side_are_read_one_after_the_other() -> None:
    text, boxes = word_boxes([*SIGNATURES[1], *SIGNATURES[0]])
    reading = read(text, boxes)
    assert said(text, reading) == plain(SIGNATURES[0] + SIGNATURES[1])
    assert of(reading.line, text, "Ann", "Bo") == [1, 1]  # the line runs across both


def test_headings_of_signature_blocks_that_nearly_touch_go_to_their_own_block() -> None:
    left = [(72, 100, "THE FIRST MANAGEMENT PARTY COMPANY INC."), *SIGNATURES[0][1:]]
    right = [(278, 100, "SECOND PARTY"), *[(278.0, y, words) for _, y, words in SIGNATURES[1][1:]]]
    above = prose("t", 72, 3, 10, 40)
    assert told([*above, *left, *right]) == plain([*above, *left, *right])


def test_labels_on_shifted_lines_are_still_the_same_labels() -> None:
    right = [(x, y - 4, words) for x, y, words in SIGNATURES[1]]
    assert told([*SIGNATURES[0], *right]) == plain([*SIGNATURES[0], *right])


def test_a_second_signatory_below_on_one_side_belongs_to_that_side() -> None:
    second = [(72, 200, "By: /s/ Cy Brown"), (72, 214, "Name: Cy Brown")]
    assert told([*SIGNATURES[0], *SIGNATURES[1], *second]) == plain([*SIGNATURES[0], *second, *SIGNATURES[1]])


def test_blanks_to_be_filled_in_side_by_side_stay_apart_however_close() -> None:
    left = [(72, 100, "FIRST"), (72, 114, "-" * 46), (72, 140, "By:"), (72, 154, "-" * 46), (72, 180, "Name:")]
    right = [(313, 100, "SECOND"), (313, 114, "-" * 40), (313, 140, "By:"), (313, 154, "-" * 40), (313, 180, "Name:")]
    assert told(left + right) == plain(left + right)


def test_line_numbers_in_the_margin_are_read_apart() -> None:
    body = prose("t", 100, 25, 11, 100, 24)
    numbers = [(60 if i > 9 else 65, 100 + 24 * (i - 1), str(i)) for i in range(1, 26)]
    text, boxes = word_boxes(body + numbers)
    reading = read(text, boxes)
    assert said(text, reading) == plain(body + numbers)
    assert of(reading.line, text, "7") == of(reading.line, text, body[6][2].split()[0])


def test_a_counted_list_is_no_column_of_line_numbers() -> None:
    rows = [[(72, 100 + 14 * i, str(i + 1)), (110, 100 + 14 * i, f"Entry {'abcdefghijkl'[i]}")] for i in range(12)]
    assert told([cell for row in rows for cell in row]) == " ".join(map(plain, rows))


HEBREW = ["\u05d0\u05d1", "\u05d2\u05d3", "\u05d4\u05d5"]


def test_a_right_to_left_line_is_read_from_the_right() -> None:
    text = [HEBREW[2], HEBREW[1], HEBREW[0], HEBREW[0] * 2]
    boxes = np.array([[100.0, 90, 120, 103], [125.0, 90, 145, 103], [150.0, 90, 170, 103], [130.0, 110, 170, 123]])
    reading = read(text, boxes)
    assert reading.order.tolist() == [2, 1, 0, 3]
    assert reading.word.tolist() == [2, 1, 0, 0]
    assert set(reading.direction) == {"rtl"}


def test_latin_words_and_numbers_keep_their_order_inside_a_right_to_left_line() -> None:
    text = [HEBREW[1], "14", "april", "1434", HEBREW[0] * 4]
    boxes = np.array([[100.0 + 40 * i, 90, 130.0 + 40 * i, 103] for i in range(5)])
    assert said(text, read(text, boxes)) == f"{HEBREW[0] * 4} 14 april 1434 {HEBREW[1]}"


def test_right_to_left_columns_are_read_right_column_first() -> None:
    text, boxes, wanted = [], [], []
    for x, name in ((320.0, "\u05d0"), (60.0, "\u05d1")):
        for i in range(12):
            for j in range(6):
                word = name * 3 + chr(0x5D0 + i) + chr(0x5D0 + j)
                text.append(word)
                wanted.append(word)
                boxes.append((x + 35 * (5 - j), 100 + 14 * i, x + 35 * (5 - j) + 28, 113 + 14 * i))
    assert said(text, read(text, np.array(boxes))) == " ".join(wanted)


def test_blocks_are_paragraphs_in_reading_order() -> None:
    text, boxes = word_boxes(
        [*prose("p", 72, 3, 8, 100, 12), *prose("q", 72, 2, 8, 160, 12), *prose("r", 72, 2, 8, 220, 12)]
    )
    assert dict.fromkeys(read(text, boxes).block.tolist()) == {0: None, 1: None, 2: None}


def test_pages_come_in_ascending_order_whatever_their_numbers() -> None:
    text, boxes = word_boxes([(72, 100, "c"), (72, 100, "b"), (72, 114, "bb"), (72, 100, "a")])
    page = np.array([9, 4, 4, -2])
    reading = read(text, boxes, page=page, sizes={9: SIZE, 4: SIZE, -2: SIZE})
    assert said(text, reading) == "a b bb c"
    assert of(reading.line, text, "a", "b", "bb", "c") == [0, 0, 1, 0]


def test_each_page_is_read_as_if_it_were_alone() -> None:
    pages = [column("L", 72, 4) + column("R", 330, 4), prose("t", 72, 9), [*SIGNATURES[0], *SIGNATURES[1]]]
    parts = [word_boxes(pieces) for pieces in pages]
    text = [word for words, _ in parts for word in words]
    page = np.repeat(np.arange(3), [len(words) for words, _ in parts])
    together = read(text, np.concatenate([boxes for _, boxes in parts]), page=page, sizes=dict.fromkeys(range(3), SIZE))
    assert said(text, together) == " ".join(said(words, read(words, boxes)) for words, boxes in parts)


def test_nothing_to_read_is_read() -> None:
    reading = read_order([], [], [], sizes={})
    assert len(reading.order) == len(reading.keep) == 0


def test_one_word_is_read() -> None:
    assert told([(72, 100, "alone")]) == "alone"


def test_a_page_of_scraps_is_read_row_by_row_and_ends() -> None:
    """Thousands of words in random places: rivers everywhere, none of them looked for."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 600, 20_000), rng.uniform(0, 780, 20_000)
    reading = read_order(np.zeros(20_000), np.stack([x, y, x + 3, y + 4], 1), ["a"] * 20_000, sizes={0: SIZE})
    assert sum(map(len, reading.reasons.values())) <= 200
    assert sorted(reading.order[reading.keep]) == list(range(reading.keep.sum()))


def test_boxes_that_are_no_places_do_not_stop_the_reading() -> None:
    text, boxes = word_boxes([(72, 100, "one two"), (72, 114, "three four")])
    boxes[2] = [np.nan, np.inf, -np.inf, 1e30]
    assert sorted(read(text, boxes).order) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"boxes": [[0, 0, 1, 1]]}, "1 boxes for 2 words"),
        ({"boxes": [[0, 0, 1], [0, 0, 1]]}, "boxes"),
        ({"page": [0]}, "1 values of 'page' for 2 words"),
        ({"sizes": {}}, "no size"),
        ({"angle": [0.0]}, "1 values of 'angle'"),
        ({"vertical": [True] * 3}, "3 values of 'vertical'"),
    ],
)
def test_wrong_input_is_named(change: dict[str, Any], says: str) -> None:
    good: dict[str, Any] = {
        "page": [0, 0],
        "boxes": [[0, 0, 1, 1], [2, 0, 3, 1]],
        "text": ["a", "b"],
        "sizes": {0: SIZE},
    }
    given = {**good, **change}
    with pytest.raises(PositionError, match=says):
        read_order(given.pop("page"), given.pop("boxes"), given.pop("text"), **given)


# Pages for the properties: a few blocks of lines anywhere, on a grid of eighths of a point, with ties and copies.
_eighths = st.integers(0, 4000).map(lambda n: n / 8)
_block = st.tuples(_eighths, _eighths, st.integers(1, 6), st.integers(1, 5), st.sampled_from([8.0, 10.0, 16.0]))


@st.composite
def pages(draw: Callable[..., Any]) -> tuple[list[str], np.ndarray]:
    text: list[str] = []
    parts = []
    for x, y, rows, words, size in draw(st.lists(_block, min_size=1, max_size=6)):
        kinds = draw(
            st.lists(
                st.sampled_from(["ab", "12.5", "By:", "word", "\u05d0\u05d1", "a"]), min_size=words, max_size=words
            )
        )
        more, boxes = word_boxes([(x, y + 1.25 * size * i, " ".join(kinds)) for i in range(rows)], size)
        text += more
        parts.append(boxes)
    return text, np.round(np.concatenate(parts) * 8) / 8


def seen(text: Sequence[str], boxes: np.ndarray, reading: Reading) -> list[tuple[Any, ...]]:
    """All that a reader would notice, in reading order."""
    kept = np.argsort(reading.order)[(~reading.keep).sum() :]
    marks = (reading.line, reading.word, reading.text_column, reading.block, reading.direction)
    return [(text[i], *boxes[i].tolist(), *(mark[i].item() for mark in marks)) for i in kept]


@settings(max_examples=150, deadline=None)
@given(pages(), st.randoms(use_true_random=False))
def test_the_order_of_storage_changes_nothing(page: tuple[list[str], np.ndarray], random: Any) -> None:
    text, boxes = page
    shuffle = list(range(len(text)))
    random.shuffle(shuffle)
    first = read_order(np.zeros(len(text)), boxes, text, sizes={0: SIZE})
    other = [text[i] for i in shuffle]
    second = read_order(np.zeros(len(text)), boxes[shuffle], other, sizes={0: SIZE})
    assert seen(text, boxes, first) == seen(other, boxes[shuffle], second)


@settings(max_examples=100, deadline=None)
@given(pages(), st.integers(-20, 20), st.integers(-20, 20))
def test_moving_a_page_changes_nothing(page: tuple[list[str], np.ndarray], right: int, down: int) -> None:
    text, boxes = page
    zeros = np.zeros(len(text))
    first = read_order(zeros, boxes, text, sizes={0: SIZE})
    moved = read_order(zeros, boxes + np.array([right, down, right, down]) * 8.0, text, sizes={0: SIZE})
    assert first.order.tolist() == moved.order.tolist()
    assert first.line.tolist() == moved.line.tolist()


@settings(max_examples=100, deadline=None)
@given(pages(), st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_the_scale_of_a_page_changes_nothing(page: tuple[list[str], np.ndarray], factor: float) -> None:
    text, boxes = page
    zeros = np.zeros(len(text))
    first = read_order(zeros, boxes, text, sizes={0: SIZE})
    scaled = read_order(zeros, boxes * factor, text, sizes={0: (SIZE[0] * factor, SIZE[1] * factor)})
    assert first.order.tolist() == scaled.order.tolist()
    assert first.text_column.tolist() == scaled.text_column.tolist()


@settings(max_examples=100, deadline=None)
@given(pages())
def test_every_kept_word_has_one_place(page: tuple[list[str], np.ndarray]) -> None:
    text, boxes = page
    reading = read_order(np.zeros(len(text)), boxes, text, sizes={0: SIZE})
    assert sorted(reading.order[reading.keep]) == list(range(reading.keep.sum()))
    places = list(zip(reading.line[reading.keep].tolist(), reading.word[reading.keep].tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert set(reading.line[reading.keep]) == set(range(reading.line.max() + 1))
    assert set(reading.block[reading.keep]) == set(range(reading.block.max() + 1))
    for name in ("order", "line", "word", "block"):
        assert (getattr(reading, name)[~reading.keep] == -1).all()
