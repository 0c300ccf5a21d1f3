"""What a person sees on 41 difficult pages: order, lines, columns, turned text, boxes, spelling."""

from __future__ import annotations

import json
import os
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from structpos.readers.document import Document
from structpos.readers.pdf import read_pdf

pytest.importorskip("pymupdf")

DATA = Path(os.environ.get("STRUCTPOS_TEST_DATA", "")) / "pdf_stress"
if not os.environ.get("STRUCTPOS_TEST_DATA") or not DATA.is_dir():
    pytest.skip("STRUCTPOS_TEST_DATA does not name a folder with pdf_stress", allow_module_level=True)

FACTS = [json.loads(line) for line in (DATA / "facts.jsonl").read_text(encoding="utf-8").splitlines()]
# The characters themselves are wrong in these files; no reader without eyes can mend them, so the page says so.
WRONG_CHARACTERS = {"files/pdfminer__issue-791-non-unicode-cmap.pdf", "files/ocrmypdf__truetype_font_nomapping.pdf"}


def name(fact: dict[str, Any]) -> str:
    return f"{Path(fact['file']).stem[:30]}-{fact['page']}-{fact['fact']}"


def plain(text: str) -> str:
    """Compared after NFKC and without blanks, as the facts say."""
    return "".join(unicodedata.normalize("NFKC", text).split())


@cache
def document(file: str) -> Document:
    return read_pdf(DATA / file)


def words(fact: dict[str, Any]) -> Any:
    """The words of the page that a person sees."""
    table = document(fact["file"]).words
    return table[(table.page == fact["page"]) & ~table.hidden]


def rows_of(fact: dict[str, Any], word: str) -> Any:
    table = words(fact)
    found = table[table.text.map(plain) == plain(word)]
    assert len(found), f"{word!r} is not among the words"
    return found


def facts(kind: str) -> Any:
    return pytest.mark.parametrize("fact", [fact for fact in FACTS if fact["fact"] == kind], ids=name)


@facts("reading_order")
def test_phrases_come_in_the_order_in_which_a_person_reads_them(fact: dict[str, Any]) -> None:
    text = "".join(words(fact).text.map(plain))
    at = 0
    for phrase in fact["value"]:
        found = text.find(plain(phrase), at)
        assert found >= 0, f"{phrase!r} {'comes earlier' if plain(phrase) in text else 'is torn apart'}"
        at = found + len(plain(phrase))


@facts("line_of")
def test_words_that_stand_on_one_line_have_one_line_number(fact: dict[str, Any]) -> None:
    lines = [set(rows_of(fact, word).line) for word in fact["words"]]
    assert bool(set.intersection(*lines)) is fact["same_line"]


@facts("band_of")
def test_words_stand_in_one_x_band_or_not(fact: dict[str, Any]) -> None:
    first, second = (rows_of(fact, word).column for word in fact["words"])
    near = {bool(abs(a - b) <= 1) for a in first for b in second}  # a word may stand elsewhere on the page, too
    assert fact["same_band"] in near


@facts("rotation")
def test_boxes_are_those_of_the_page_as_shown(fact: dict[str, Any]) -> None:
    pages = document(fact["file"]).pages
    assert pages.rotation[pages.page == fact["page"]].item() == fact["value"]
    if "upright_box_of" in fact:
        word, *box = fact["upright_box_of"]
        boxes = rows_of(fact, word)[["x0", "y0", "x1", "y1"]].to_numpy()
        assert (abs(boxes - box) <= 0.02).all(axis=1).any(), boxes


@facts("text_rotation")
def test_turned_words_have_their_angle(fact: dict[str, Any]) -> None:
    for word in fact["words"]:
        assert (abs(rows_of(fact, word).angle - fact["value"]) <= 2.0).any(), word


@facts("column_count")
def test_columns_of_running_text_are_counted(fact: dict[str, Any]) -> None:
    share = words(fact).text_column.value_counts(normalize=True)  # of the words that stand in a column
    assert (share >= 0.05).sum() == fact["value"], share


@facts("direction")
def test_the_page_is_read_in_its_direction(fact: dict[str, Any]) -> None:
    wanted = {"rtl": "rtl", "vertical-rl": "ttb"}[fact["value"]]
    assert (words(fact).direction == wanted).mean() > 0.5


@facts("times_seen")
def test_a_word_drawn_twice_comes_as_often_as_it_is_seen(fact: dict[str, Any]) -> None:
    assert len(rows_of(fact, fact["word"])) == fact["value"]


@facts("word_seen")
def test_words_are_spelt_as_a_person_types_them_or_the_page_is_flagged(fact: dict[str, Any]) -> None:
    if fact["file"] in WRONG_CHARACTERS:
        pages = document(fact["file"]).pages
        assert pages.suspicious_text[pages.page == fact["page"]].item()
    else:
        assert len(rows_of(fact, fact["word"]))
