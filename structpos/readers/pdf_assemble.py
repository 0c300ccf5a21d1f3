"""From raw pages to a document: displayed boxes, what is off the page, form values, reading order, counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.readers.characters import REPLACEMENT
from structpos.readers.document import Document
from structpos.readers.order import read_order, to_display
from structpos.readers.pdf_forms import holds, spread
from structpos.readers.pdf_page import RawPage
from structpos.readers.tidy import tidy_boxes

Rules = Callable[[RawPage], NDArray[np.float64]]


def assemble(name: str, raws: Sequence[RawPage], *, rules: Rules, raw_text: bool, xfa: bool) -> Document:
    """Make the tables of some pages.

    Hidden words are read apart, after the words that their page shows, so that neither disturbs the other.

    Args:
        name: Name of the document.
        raws: Pages in ascending order.
        rules: Line segments drawn on a page, in displayed points; asked only where they decide.
        raw_text: Whether to keep the stored text of each word as the column ``raw_text``.
        xfa: Whether the document carries an XFA form.
    """
    rows = _gather(raws, raw_text=raw_text)
    count = len(raws)
    sizes = np.array([(raw.width, raw.height) for raw in raws], np.float64).reshape(-1, 2)
    at = rows["at"]
    tidied = tidy_boxes(rows.pop("boxes"), sizes[at, 0], sizes[at, 1])
    rows["boxes"] = tidied.boxes
    dropped = np.bincount(at[~tidied.inside], minlength=count)
    clipped = np.bincount(at[tidied.inside & tidied.clipped], minlength=count)
    if not tidied.inside.all():
        rows = {key: None if value is None else value[tidied.inside] for key, value in rows.items()}
        at = rows["at"]
    numbers = np.array([raw.number for raw in raws], np.int64)
    hidden = rows["hidden"]
    reading = read_order(
        2 * at + hidden,
        rows["boxes"],
        rows["text"].tolist(),
        sizes={2 * index + layer: (raw.width, raw.height) for index, raw in enumerate(raws) for layer in (0, 1)},
        angle=rows["angle"],
        vertical=rows["vertical"],
        rules=lambda page: rules(raws[page // 2]),
    )
    kept = np.flatnonzero(reading.keep)
    kept = kept[np.argsort(reading.order[kept], kind="stable")]
    line, block = reading.line, reading.block
    if hidden.any():
        line, block = (_after_seen(values, at, hidden, count) for values in (line, block))
    at, hidden, text = at[kept], hidden[kept], rows["text"][kept]
    boxes = reading.boxes[kept] / np.tile(sizes, 2)[at]
    columns: dict[str, Any] = {
        "page": numbers[at],
        "line": line[kept],
        "word": reading.word[kept],
        "text_column": np.where(hidden, -1, reading.text_column[kept]),
        "block": block[kept],
        "x0": boxes[:, 0],
        "y0": boxes[:, 1],
        "x1": boxes[:, 2],
        "y1": boxes[:, 3],
        "text": text,
        "form": rows["form"][kept],
        "hidden": hidden,
        "direction": reading.direction[kept],
    }
    if rows["angle"] is not None:
        columns["angle"] = rows["angle"][kept]
    if raw_text:
        columns["raw_text"] = rows["raw"][kept]
    failed = np.array([bool(raw.error) and not raw.words for raw in raws], np.bool_)
    pages = {
        "page": numbers,
        "width": sizes[:, 0],
        "height": sizes[:, 1],
        "rotation": [raw.rotation for raw in raws],
        "user_unit": [raw.user_unit for raw in raws],
        "words": np.bincount(at, minlength=count),
        "characters": np.bincount(at, weights=np.fromiter(map(len, text), np.int64, len(text)), minlength=count),
        "dropped": dropped,
        "copies": np.bincount(rows["at"][~reading.keep], minlength=count) + [raw.copies for raw in raws],
        "clipped": clipped,
        "replacement": [raw.replacement for raw in raws],
        "needs_ocr": (_readable(raws, at[~hidden], text[~hidden]) == 0) & ~failed,
        "scanned": [raw.scanned for raw in raws],
        "suspicious_text": np.array([raw.suspicious for raw in raws], object),
        "xfa": np.full(count, xfa),
        "error": np.array([raw.error for raw in raws], object),
    }
    return Document(name, columns, pages).marked()


def _gather(raws: Sequence[RawPage], *, raw_text: bool) -> dict[str, Any]:
    """The words of all pages as arrays, boxes in points of the displayed page, values of form fields among them."""
    counts = [len(raw.words) for raw in raws]
    total = sum(counts)
    boxes = np.empty((total, 4))
    stored: tuple[str, ...] = ()
    if total:
        sides = zip(*chain.from_iterable(raw.words for raw in raws), strict=True)
        for side in range(4):
            boxes[:, side] = np.fromiter(next(sides), np.float64, total)
        stored = next(sides)
    text = np.empty(total, object)
    text[:] = list(chain.from_iterable(page.texts for page in raws))
    rows: dict[str, Any] = {
        "at": np.repeat(np.arange(len(raws)), counts),
        "boxes": boxes,
        "text": text,
        "hidden": np.zeros(total, np.bool_),
        "form": np.zeros(total, np.bool_),
        "angle": np.zeros(total) if any(page.angles or (page.rotation and page.words) for page in raws) else None,
        "vertical": np.zeros(total, np.bool_) if any(page.vertical for page in raws) else None,
        "raw": np.array(stored, object) if raw_text else None,
    }
    undrawn: list[tuple[int, str, tuple[float, float, float, float]]] = []
    start = 0
    for index, page in enumerate(raws):
        span = slice(start, start + len(page.words))
        start = span.stop
        if page.rotation:
            boxes[span] = to_display(boxes[span], page.rotation, page.width, page.height)
        if rows["angle"] is not None:
            rows["angle"][span] = np.mod(np.asarray(page.angles or 0.0) + page.rotation, 360.0)
        if page.vertical is not None:
            rows["vertical"][span] = page.vertical
        if page.hidden is not None:
            rows["hidden"][span] = page.hidden
        for field in page.fields:
            inside = holds(field, boxes[span])
            rows["form"][span] |= inside
            if not inside.any() and field.value:
                undrawn.extend((index, word, box) for word, box in zip(*spread(field), strict=True))
    return _with_values(rows, undrawn) if undrawn else rows


def _with_values(
    rows: dict[str, Any], undrawn: list[tuple[int, str, tuple[float, float, float, float]]]
) -> dict[str, Any]:
    """Add words that only the values of form fields hold, each at the end of its page."""
    index, text, boxes = zip(*undrawn, strict=True)
    words = np.array(text, object)
    more = {
        "at": np.array(index),
        "boxes": np.array(boxes),
        "text": words,
        "hidden": np.zeros(len(words), np.bool_),
        "form": np.ones(len(words), np.bool_),
        "angle": np.zeros(len(words)),
        "vertical": np.zeros(len(words), np.bool_),
        "raw": words,
    }
    sequence = np.argsort(np.concatenate([rows["at"], more["at"]]), kind="stable")
    return {key: None if value is None else np.concatenate([value, more[key]])[sequence] for key, value in rows.items()}


def _after_seen(
    values: NDArray[np.int64], at: NDArray[np.int64], hidden: NDArray[np.bool_], count: int
) -> NDArray[np.int64]:
    """Lines or blocks of hidden words, counted on after those that are seen on their page."""
    seen = np.zeros(count, np.int64)
    np.maximum.at(seen, at[~hidden], values[~hidden] + 1)
    return np.where(hidden, values + seen[at], values)


def _readable(raws: Sequence[RawPage], at: NDArray[np.int64], text: NDArray[Any]) -> NDArray[np.int64]:
    """For each page, how many of the given words hold a known character."""
    if not any(raw.replacement for raw in raws):
        return np.bincount(at, minlength=len(raws))
    known = np.array([bool(word.strip(REPLACEMENT)) for word in text], np.bool_)
    return np.bincount(at[known], minlength=len(raws))
