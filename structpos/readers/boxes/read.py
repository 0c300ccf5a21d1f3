"""Words with boxes from other tools, as the same table that a PDF gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.readers.boxes.files import read_bytes
from structpos.readers.boxes.kinds import read_raw
from structpos.readers.boxes.raw import Hints, RawWords, Size, Unit
from structpos.readers.boxes.units import to_fractions
from structpos.readers.document import Document
from structpos.readers.order import Reading, read_order
from structpos.readers.tidy import TidyBoxes

_PAPER = (595.0, 842.0)  # the shape of a page of which nothing else is known [pt]
_READ = ("line", "word", "text_column", "block", "direction")
_FLAGS = ("form", "hidden", "furniture")
_NONE = np.zeros(0, np.int64)


def read_boxes(
    path: str | Path,
    *,
    kind: str | None = None,
    unit: Unit | None = None,
    page_size: Size | Mapping[int, Size] | None = None,
    columns: Mapping[str, str] | None = None,
    first_page: int | None = None,
    keep_order: bool | None = None,
) -> Document:
    r"""Read words and boxes that another tool found, and put them into reading order.

    Kinds: Parquet and CSV (one row a word, under the column names that tools commonly use; Parquet also with one row a
    page and lists of words and boxes), Tesseract's TSV, hOCR, JSON (annotated forms as FUNSD publishes them, ``words``
    with ``bboxes``, one object a word). A table that structpos wrote comes back as it was.

    Args:
        path: The file.
        kind: ``parquet``, ``csv``, ``tesseract``, ``hocr`` or ``json``; found from the content where not given.
        unit: Of the boxes: ``fraction`` (0-1), ``thousandth`` (0-1000, as layout models take them), ``pixel`` or
            ``point``; found where only one can be meant, otherwise asked for in an error.
        page_size: Width and height of every page, or of each page (from 0), in the unit of the boxes; needed for pixels
            and points where the file does not say it.
        columns: Names that the file uses for ``text``, ``page``, ``x0``, ``y0``, ``x1``, ``y1`` or ``box``.
        first_page: Number of the first page in the file; 0 where a word has page 0, otherwise 1.
        keep_order: Keep the order of the file, with its lines and blocks where it has them, and every word. By default
            only a table that structpos wrote keeps its order; everything else is read by geometry.

    Returns:
        Document: words without text are left out; corners in the wrong order are put right; boxes that reach over the
        edge of the page are cut there, and words outside it dropped. All of it is counted in ``report``.

    Raises:
        ReadError: no such kind, a cell that cannot be read (the message names row and value), or a unit or page size
            that the file leaves open.
        PositionError: an unknown kind or unit was asked for.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "note.csv")
        ...     _ = file.write_text("text,x0,y0,x1,y1\nworld,300,100,400,120\nHello,100,100,200,120\n")
        ...     read_boxes(file, unit="thousandth").words[["text", "order", "line", "x0"]].values.tolist()
        [['Hello', 0, 0, 0.1], ['world', 1, 0, 0.3]]
    """
    path = Path(path)
    hints = Hints(unit=unit, page_size=page_size, columns=columns or {}, first_page=first_page, keep_order=keep_order)
    raw = read_raw(path, read_bytes(path), kind, hints)
    tidied, sizes, found_unit = to_fractions(raw, hints)
    keep_order = raw.complete if keep_order is None else keep_order
    rows = _rows(raw, tidied, keep_order=keep_order)
    points = _points(raw, sizes, found_unit)
    if raw.complete and keep_order:
        table: dict[str, Any] = {name: [values[row] for row in rows] for name, values in raw.stated.items()}
        pages = raw.pages or _pages(raw, tidied, rows, points)
        return Document(raw.name, table | _places(raw, tidied, rows), pages, messages=raw.notes)
    full = {page: points.get(page, _PAPER) for page in np.unique(raw.page).tolist()}
    scale = np.array([full[page] for page in raw.page[rows].tolist()]).reshape(-1, 2)
    reading = read_order(
        raw.page[rows],
        tidied.boxes[rows] * np.tile(scale, 2),
        [raw.text[row] for row in rows],
        sizes=full,
        angle=np.array(raw.stated["angle"], np.float64)[rows] if "angle" in raw.stated else None,
    )
    if keep_order:
        table = _in_order_of_file(raw, rows, reading)
        copies = rows[:0]
    else:
        kept = np.flatnonzero(reading.keep)
        kept = kept[np.argsort(reading.order[kept], kind="stable")]
        copies, rows = rows[~reading.keep], rows[kept]
        table = {name: getattr(reading, name)[kept] for name in _READ}
        tidied.boxes[rows] = reading.boxes[kept] / np.tile(scale[kept], 2)
    table |= {name: np.array(raw.stated[name])[rows] for name in (*_FLAGS, "angle") if name in raw.stated}
    pages = _pages(raw, tidied, rows, points, copies=copies)
    document = Document(raw.name, table | _places(raw, tidied, rows), pages, messages=_messages(raw, tidied))
    return document if "furniture" in raw.stated else document.marked()


def _rows(raw: RawWords, tidied: TidyBoxes, *, keep_order: bool) -> NDArray[np.int64]:
    """Rows of the file that become words: those on their page, pages ascending, in the order of the file if wanted."""
    rows = np.flatnonzero(tidied.inside)
    if keep_order and "order" in raw.stated:
        stated = np.array(raw.stated["order"], np.int64)[rows]
        rows = rows[np.argsort(stated, kind="stable")]
    return rows[np.argsort(raw.page[rows], kind="stable")]


def _points(raw: RawWords, sizes: Mapping[int, Size], unit: Unit) -> dict[int, Size]:
    """Page sizes in points; where only the shape of a page is known, its longer side is that of the usual paper."""
    if unit == "point":
        return dict(sizes)
    if raw.dpi:
        return {page: (width * 72 / raw.dpi, height * 72 / raw.dpi) for page, (width, height) in sizes.items()}
    scale = {page: _PAPER[1] / max(size) for page, size in sizes.items()}
    return {page: (width * scale[page], height * scale[page]) for page, (width, height) in sizes.items()}


def _places(raw: RawWords, tidied: TidyBoxes, rows: NDArray[np.int64]) -> dict[str, Any]:
    text = np.empty(len(rows), object)
    text[:] = [raw.text[row] for row in rows]
    x0, y0, x1, y1 = tidied.boxes[rows].T
    return {"page": raw.page[rows], "text": text, "x0": x0, "y0": y0, "x1": x1, "y1": y1}


def _in_order_of_file(raw: RawWords, rows: NDArray[np.int64], reading: Reading) -> dict[str, Any]:
    """What the file states of its order, lines and blocks; what it does not state follows from geometry."""
    table: dict[str, Any] = {name: getattr(reading, name) for name in _READ}
    for name in ("line", "word", "block", "text_column"):
        if name in raw.stated:
            table[name] = np.array(raw.stated[name], np.int64)[rows]
    return table


def _pages(
    raw: RawWords,
    tidied: TidyBoxes,
    rows: NDArray[np.int64],
    points: Mapping[int, Size],
    *,
    copies: NDArray[np.int64] = _NONE,
) -> dict[str, Any]:
    """The table of pages: those that have words and those whose size the file states."""
    numbers = np.array(sorted({*raw.page.tolist(), *points}), np.int64)
    sizes = np.array([points.get(page, (0.0, 0.0)) for page in numbers.tolist()]).reshape(-1, 2)

    def count(pages: NDArray[np.int64], weights: NDArray[np.int64] | None = None) -> NDArray[np.float64 | np.int64]:
        return np.bincount(np.searchsorted(numbers, pages), weights, len(numbers))

    lengths = np.array([len(raw.text[row]) for row in rows], np.int64)
    return {
        "page": numbers,
        "width": sizes[:, 0],
        "height": sizes[:, 1],
        "user_unit": np.ones(len(numbers)),
        "words": count(raw.page[rows]),
        "characters": count(raw.page[rows], lengths),
        "dropped": count(raw.page[~tidied.inside]),
        "copies": count(raw.page[copies]),
        "clipped": count(raw.page[tidied.inside & tidied.clipped]),
    }


def _messages(raw: RawWords, tidied: TidyBoxes) -> list[str]:
    counts = (
        (int(tidied.swapped.sum()), "boxes had their corners in the wrong order"),
        (raw.skipped, "rows had no text"),
    )
    return [*raw.notes, *(f"{what}: {count}" for count, what in counts if count)]
