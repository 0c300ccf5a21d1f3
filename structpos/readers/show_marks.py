"""The marks of a picture: columns, blocks, flags, lines, the path of reading, and a legend of what is there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structpos.readers.document import Document
from structpos.readers.pdf_open import mupdf
from structpos.readers.runs import Run, runs_of

LEFT = 26.0  # room left of the page, for the numbers of lines [pt]
RIGHT = 150.0  # room right of the page, for the legend

Colour = tuple[float, float, float]

# Colours that remain apart for readers who do not see all of them.
_COLUMNS: tuple[Colour, ...] = ((0.0, 0.45, 0.70), (0.90, 0.55, 0.0), (0.0, 0.60, 0.45), (0.80, 0.40, 0.65))
_ACROSS: Colour = (0.45, 0.45, 0.45)
_PATH: Colour = (0.10, 0.10, 0.45)
_BLOCK: Colour = (0.55, 0.55, 0.60)
_FURNITURE: Colour = (0.55, 0.40, 0.20)
_HIDDEN: Colour = (0.80, 0.0, 0.0)
_FORM: Colour = (0.0, 0.50, 0.10)
INK: Colour = (0.2, 0.2, 0.2)


class Canvas(NamedTuple):
    """A page of a new PDF with a frame for the displayed page in it; fractions of that page become points.

    Args:
        page: The page of PyMuPDF.
        shape: What collects the drawing.
        width: Width of the frame [pt].
        height: Height of the frame [pt].
    """

    page: Any
    shape: Any
    width: float
    height: float

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A place on the displayed page as a place in the picture."""
        return LEFT + x * self.width, y * self.height

    def box(self, x0: float, y0: float, x1: float, y1: float, grow: float = 0.0) -> tuple[float, float, float, float]:
        """A box on the displayed page as one in the picture, larger by ``grow`` [pt] on each side."""
        left, top = self.point(x0, y0)
        right, bottom = self.point(x1, y1)
        return left - grow, top - grow, right + grow, bottom + grow


def box_of(document: Document, row: int) -> tuple[float, float, float, float]:
    """The box of a word."""
    x0, y0, x1, y1 = (float(document.columns[side][row]) for side in ("x0", "y0", "x1", "y1"))
    return x0, y0, x1, y1


def draw_marks(canvas: Canvas, document: Document, page: int) -> None:
    """Draw all marks of a page and the legend."""
    rows = np.flatnonzero(document.columns["page"] == page)
    runs = runs_of(document, page)
    canvas.shape.draw_rect(canvas.box(0, 0, 1, 1))
    canvas.shape.finish(color=_ACROSS, width=0.5)
    _draw_columns(canvas, document, rows)
    _draw_blocks(canvas, document, rows)
    _draw_flags(canvas, document, rows)
    _draw_lines(canvas, document, runs)
    _draw_path(canvas, document, runs)
    _draw_legend(canvas, document, page, rows)


def _column_colour(number: int) -> Colour:
    return _ACROSS if number < 0 else _COLUMNS[number % len(_COLUMNS)]


def _draw_columns(canvas: Canvas, document: Document, rows: NDArray[np.int64]) -> None:
    for row in rows.tolist():
        canvas.shape.draw_rect(canvas.box(*box_of(document, row)))
        colour = _column_colour(int(document.columns["text_column"][row]))
        canvas.shape.finish(color=None, fill=colour, fill_opacity=0.22)


def _draw_blocks(canvas: Canvas, document: Document, rows: NDArray[np.int64]) -> None:
    columns = document.columns
    for block in np.unique(columns["block"][rows]).tolist():
        members = rows[(columns["block"][rows] == block) & ~columns["hidden"][rows]]
        if not columns["furniture"][members].all():
            x0, y0 = (float(columns[side][members].min()) for side in ("x0", "y0"))
            x1, y1 = (float(columns[side][members].max()) for side in ("x1", "y1"))
            canvas.shape.draw_rect(canvas.box(x0, y0, x1, y1, grow=3.0))
            canvas.shape.finish(color=_BLOCK, width=0.6, dashes="[2 2] 0")


def _draw_flags(canvas: Canvas, document: Document, rows: NDArray[np.int64]) -> None:
    for flag, colour, grow in (("furniture", _FURNITURE, 1.0), ("form", _FORM, 1.5), ("hidden", _HIDDEN, 0.5)):
        for row in rows[document.columns[flag][rows]].tolist():
            box = canvas.box(*box_of(document, row), grow=grow)
            canvas.shape.draw_rect(box)
            if flag == "hidden":  # crossed out as well
                canvas.shape.draw_line(box[:2], box[2:])
            canvas.shape.finish(color=colour, width=0.9, dashes="[3 1.5] 0" if flag == "furniture" else None)


def _draw_lines(canvas: Canvas, document: Document, runs: list[Run]) -> None:
    """Numbers of the visual lines in the margin, beside the first place where each occurs."""
    feet: dict[int, list[float]] = {}
    for run in runs:
        if not document.columns["hidden"][run.rows[0]]:
            feet.setdefault(run.line, []).append(canvas.point(*run.start)[1])
    last, lane = -np.inf, 0
    for line, places in sorted(feet.items(), key=lambda item: min(item[1])):
        y = min(places)
        lane = lane + 1 if y - last < 6 else 0
        last = y
        canvas.shape.insert_text(
            (3 + 11 * (lane % 2), y - 1.5), str(line), fontname="helv", fontsize=6.5, color=_ACROSS
        )


def _draw_path(canvas: Canvas, document: Document, runs: list[Run]) -> None:
    shape = canvas.shape
    columns = document.columns
    seen = [run for run in runs if not columns["hidden"][run.rows[0]]]
    for run, following in pairwise(seen):
        start, end = canvas.point(*run.end), canvas.point(*following.start)
        if columns["block"][run.rows[-1]] == columns["block"][following.rows[0]]:
            shape.draw_line(start, end)  # on to the next line: so much is expected, and an arrow would hide the words
            shape.finish(color=_PATH, width=0.35, stroke_opacity=0.25)
        else:
            _arrow(shape, start, end)
    for run in seen:
        shape.draw_line(canvas.point(*run.start), canvas.point(*run.end))
    shape.finish(color=_PATH, width=1.0)
    for number, run in enumerate(seen, 1):
        _badge(shape, str(number), canvas.point(*run.start), np.subtract(run.end, run.start))


def _badge(shape: Any, label: str, place: tuple[float, float], way: NDArray[np.float64]) -> None:
    """A number just before the beginning of a stretch, so that it covers no word."""
    width = mupdf().get_text_length(label, fontname="hebo", fontsize=5.5) + 2.5
    x, y = place
    if abs(way[0]) >= abs(way[1]):
        left, top = (x - width - 1, y - 6.5) if way[0] >= 0 else (x + 1, y - 6.5)
    else:
        left, top = (x - width, y - 8.5) if way[1] > 0 else (x - width, y + 1)
    shape.draw_rect((left, top, left + width, top + 7.5))
    shape.finish(color=None, fill=_PATH, fill_opacity=0.85)
    shape.insert_text((left + 1.3, top + 5.7), label, fontname="hebo", fontsize=5.5, color=(1, 1, 1))


def _arrow(shape: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A thin line with a head at its end."""
    shape.draw_line(start, end)
    shape.finish(color=_PATH, width=0.6, stroke_opacity=0.6)
    way = np.subtract(end, start)
    length = float(np.hypot(*way))
    if length < 8:
        return
    along = way / length
    across = np.array([-along[1], along[0]])
    tip = np.array(end) - 1.5 * along
    wings = [tip - 4 * along + side * 1.6 * across for side in (1, -1)]
    shape.draw_polyline([tuple(tip), tuple(wings[0]), tuple(wings[1])])
    shape.finish(color=None, fill=_PATH, fill_opacity=0.7, closePath=True)


def _draw_legend(canvas: Canvas, document: Document, page: int, rows: NDArray[np.int64]) -> None:
    shape, columns = canvas.shape, document.columns
    x, y = LEFT + canvas.width + 14, 22.0

    def write(text: str, *, size: float = 8, font: str = "helv", indent: float = 0.0) -> None:
        shape.insert_text((x + indent, y), text, fontname=font, fontsize=size, color=INK)

    def entry(text: str, draw: Callable[[], None]) -> None:
        nonlocal y
        y += 15
        draw()
        write(text, indent=24)

    def swatch(
        colour: Colour, *, fill: float = 0.0, dashes: str | None = None, cross: bool = False
    ) -> Callable[[], None]:
        def draw() -> None:
            box = (x, y - 7, x + 16, y + 1)
            shape.draw_rect(box)
            if cross:
                shape.draw_line(box[:2], box[2:])
            frame = None if fill else colour
            shape.finish(color=frame, fill=colour if fill else None, fill_opacity=fill or 1, width=0.9, dashes=dashes)

        return draw

    def path() -> None:
        shape.draw_line((x, y), (x + 16, y))
        shape.finish(color=_PATH, width=1.0)

    def jump() -> None:
        _arrow(shape, (x, y - 6), (x + 16, y))

    name = document.name if len(document.name) <= 26 else f"...{document.name[-24:]}"
    write(name, size=9, font="hebo")
    y += 12
    write(f"page {page}, {len(rows)} words")
    y += 6
    entry("read in this order", path)
    entry("on to the next block", jump)
    entry("number of the line", lambda: write("12", size=6.5, indent=5))
    for number in np.unique(columns["text_column"][rows]).tolist():
        text = "in no column" if number < 0 else f"text column {number}"
        entry(text, swatch(_column_colour(number), fill=0.35))
    entry("text block", swatch(_BLOCK, dashes="[2 2] 0"))
    if columns["furniture"][rows].any():
        entry("page number, head, foot", swatch(_FURNITURE, dashes="[3 1.5] 0"))
    if columns["form"][rows].any():
        entry("form field", swatch(_FORM))
    if columns["hidden"][rows].any():
        entry("hidden", swatch(_HIDDEN, cross=True))
