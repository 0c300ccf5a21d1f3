"""The picture of a page: marks lie on the words they speak of, and the path goes the way a person reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structpos.errors import PositionError, ReadError
from structpos.readers.document import Document
from structpos.readers.runs import runs_of
from structpos.readers.show import draw_page
from structpos.readers.show_marks import LEFT

pymupdf = pytest.importorskip("pymupdf")

LONG = 842.0


def table(words: list[tuple[str, float, float, float, float]], **columns: Any) -> Document:
    text, x0, y0, x1, y1 = zip(*words, strict=True)
    boxes = {"x0": x0, "y0": y0, "x1": x1, "y1": y1}
    pages = {"page": [0], "width": [600.0], "height": [800.0]}
    return Document("note", {"page": [0] * len(text), "text": list(text), **boxes, **columns}, pages)


TWO = [("a", 0.1, 0.2, 0.3, 0.22), ("b", 0.1, 0.3, 0.3, 0.32), ("c", 0.6, 0.2, 0.8, 0.22), ("d", 0.6, 0.3, 0.8, 0.32)]
COLUMNS: dict[str, Any] = {"text_column": [0, 0, 1, 1], "line": [0, 1, 0, 1], "block": [0, 0, 1, 1]}


def pixel(picture: Any, x: float, y: float, *, pixels: int = 842) -> tuple[int, ...]:
    """The colour at a place given as fractions of a page of 600 x 800."""
    scale = pixels / LONG
    return tuple(picture.pixel(round((LEFT + x * LONG * 600 / 800) * scale), round(y * LONG * scale)))


def test_words_are_tinted_by_column_where_they_stand(tmp_path: Path) -> None:
    picture = pymupdf.Pixmap(str(draw_page(table(TWO, **COLUMNS), 0, tmp_path / "note.png", pixels=842)))
    assert picture.height == 842
    left, right = pixel(picture, 0.29, 0.21), pixel(picture, 0.79, 0.21)
    assert left[2] > left[0] + 30  # blue
    assert right[0] > right[2] + 30  # orange
    assert pixel(picture, 0.45, 0.6) == (255, 255, 255)


def test_a_larger_picture_shows_the_same_page(tmp_path: Path) -> None:
    small = pymupdf.Pixmap(str(draw_page(table(TWO, **COLUMNS), 0, tmp_path / "s.png", pixels=842)))
    large = pymupdf.Pixmap(str(draw_page(table(TWO, **COLUMNS), 0, tmp_path / "l.png", pixels=1684)))
    assert large.height == 1684
    assert abs(large.width - 2 * small.width) <= 1
    assert pixel(large, 0.29, 0.21, pixels=1684) == pixel(small, 0.29, 0.21)


@pytest.mark.parametrize("flag", ["hidden", "form", "furniture"])
def test_flags_change_the_picture_at_the_word_alone(tmp_path: Path, flag: str) -> None:
    plain = pymupdf.Pixmap(str(draw_page(table(TWO, **COLUMNS), 0, tmp_path / "plain.png")))
    flags = {flag: [False, False, False, True]}
    marked = pymupdf.Pixmap(str(draw_page(table(TWO, **COLUMNS, **flags), 0, tmp_path / "marked.png")))
    first, second = (
        np.frombuffer(picture.samples, np.uint8).reshape(picture.height, picture.width, -1)
        for picture in (plain, marked)
    )
    changed = (first != second).any(2)
    scale = 1600 / LONG
    x0, x1 = ((LEFT + x * LONG * 0.75) * scale for x in (0.6, 0.8))
    y0, y1 = (y * LONG * scale for y in (0.3, 0.32))
    assert changed[int(y0) - 5 : int(y1) + 5, int(x0) - 25 : int(x1) + 5].any()
    page = changed[:, : int((LEFT + 0.75 * LONG) * scale)]
    assert not page[: int(0.15 * page.shape[0])].any() and not page[int(0.4 * page.shape[0]) :].any()
    assert changed[:, page.shape[1] :].any()  # the legend names it


def test_the_legend_names_what_is_there_only(tmp_path: Path) -> None:
    # Two columns take one entry more than one: the legend has more ink.
    ink = []
    for columns in ({}, COLUMNS):
        picture = pymupdf.Pixmap(str(draw_page(table(TWO, **columns), 0, tmp_path / "note.png")))
        pixels = np.frombuffer(picture.samples, np.uint8).reshape(picture.height, picture.width, -1)
        ink.append(int((pixels[:, -280:] < 200).any(2).sum()))
    assert ink[1] > ink[0] + 500


def test_the_page_of_the_pdf_lies_beneath_as_it_is_displayed(tmp_path: Path) -> None:
    source = tmp_path / "turned.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=600, height=800)
        page.draw_rect((60, 80, 120, 160), fill=(0, 0, 0))
        page.set_rotation(90)
        pdf.save(source)
    pages = {"page": [0], "width": [800.0], "height": [600.0], "rotation": [90]}
    document = Document("turned.pdf", {"page": [], "text": [], "x0": [], "y0": [], "x1": [], "y1": []}, pages)
    picture = pymupdf.Pixmap(str(draw_page(document, 0, tmp_path / "turned.png", source=source, pixels=842)))
    # Displayed, the black square runs from (640, 60) to (720, 120) of 800 x 600.
    dark = picture.pixel(round(LEFT + 842 * 680 / 800), round(842 * 90 / 800))
    assert max(dark) < 120
    assert picture.pixel(round(LEFT + 842 * 90 / 800), round(842 * 90 / 800)) == (255, 255, 255)


def test_a_page_of_unknown_size_is_drawn(tmp_path: Path) -> None:
    document = Document(
        "note", {"page": [0], "text": ["a"], "x0": [0.1], "y0": [0.1], "x1": [0.2], "y1": [0.2]}, {"page": [0]}
    )
    assert draw_page(document, 0, tmp_path / "note.png", pixels=400).stat().st_size > 1000


def test_samples_are_read_and_drawn(tmp_path: Path) -> None:
    from structpos.datasets.sample_pdfs import write_samples
    from structpos.readers.pdf import read_pdf

    for source in write_samples(tmp_path):
        document = read_pdf(source)
        for page in document.page_columns["page"].tolist():
            assert draw_page(document, page, tmp_path / "page.png", source=source, pixels=500).exists()


# The path.


def test_the_path_goes_down_one_column_and_then_the_next() -> None:
    runs = runs_of(table(TWO, **COLUMNS), 0)
    assert [run.rows for run in runs] == [[0], [1], [2], [3]]
    assert [run.line for run in runs] == [0, 1, 0, 1]


def test_words_of_one_line_are_one_stretch_and_copies_of_its_number_are_not() -> None:
    words = [("a", 0.1, 0.2, 0.2, 0.22), ("b", 0.25, 0.2, 0.4, 0.23), ("c", 0.6, 0.2, 0.7, 0.22)]
    runs = runs_of(table(words, line=[0, 0, 0], block=[0, 0, 1]), 0)
    assert [run.rows for run in runs] == [[0, 1], [2]]
    assert (runs[0].start, runs[0].end) == ((0.1, 0.23), (0.4, 0.23))


@pytest.mark.parametrize(
    ("direction", "angle", "start", "end"),
    [
        ("ltr", 0, (0.1, 0.4), (0.3, 0.4)),
        ("rtl", 0, (0.3, 0.4), (0.1, 0.4)),
        ("ttb", 0, (0.1, 0.2), (0.1, 0.4)),
        ("ltr", 90, (0.1, 0.2), (0.1, 0.4)),
        ("ltr", 270, (0.3, 0.4), (0.3, 0.2)),
        ("ltr", 180, (0.3, 0.4), (0.1, 0.4)),
        ("ltr", 358, (0.1, 0.4), (0.3, 0.4)),
        ("rtl", 180, (0.1, 0.4), (0.3, 0.4)),
    ],
)
def test_a_stretch_starts_where_its_writing_does(direction: str, angle: float, start: object, end: object) -> None:
    document = table([("a", 0.1, 0.2, 0.3, 0.4)], direction=[direction], angle=[float(angle)])
    (run,) = runs_of(document, 0)
    assert (run.start, run.end) == (start, end)


def test_a_foreign_word_does_not_break_a_line() -> None:
    words = [("a", 0.8, 0.2, 0.9, 0.22), ("R", 0.7, 0.2, 0.75, 0.22), ("b", 0.5, 0.2, 0.65, 0.22)]
    (run,) = runs_of(table(words, direction=["rtl", "ltr", "rtl"]), 0)
    assert run.start[0] == 0.9 and run.end[0] == 0.5


# What cannot be drawn.


def test_a_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PositionError, match="'note' has no page 3; its pages are 0 to 0"):
        draw_page(table(TWO), 3, tmp_path / "note.png")


def test_another_kind_of_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PositionError, match=r"'note\.jpg' does not end in \.png"):
        draw_page(table(TWO), 0, tmp_path / "note.jpg")


def test_a_source_that_is_no_pdf_is_named(tmp_path: Path) -> None:
    (tmp_path / "note.pdf").write_text("Hello")
    with pytest.raises(ReadError) as caught:
        draw_page(table(TWO), 0, tmp_path / "note.png", source=tmp_path / "note.pdf")
    assert caught.value.kind == "not-a-pdf"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"no.note\.png: the picture cannot be written"):
        draw_page(table(TWO), 0, tmp_path / "no" / "note.png")
