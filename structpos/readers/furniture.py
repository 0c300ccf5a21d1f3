"""Furniture: page numbers and running heads and feet, told by their place and by their return from page to page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MARGIN = 0.12  # share of the page's height, at the top and at the bottom, in which furniture is looked for
SAME_PLACE = 0.02  # how far a running head may move from page to page [share of the height]
PAGES = 3  # a line that returns on this many pages is a running head; in documents of up to 4 pages, on 2

_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"[-–—~\[(|·]*\s*(page|p\.|pg\.|seite|página|pagina)?\s*(\d{1,4}|[ivxl]{1,7}|[a-z]{1,2}[-–]\d{1,3})"
    r"(\s*(of|/|von|de|sur|di)\s*\d{1,4})?\s*[-–—~\])|·.]*",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """A visual line in the margin: its rows of the table, its place, its text."""

    rows: list[int]
    page: int
    y: float
    text: str


def furniture(
    page: NDArray[np.int64],
    line: NDArray[np.int64],
    boxes: NDArray[np.float64],
    text: Sequence[Any] | NDArray[Any],
    pages: int,
) -> NDArray[np.bool_]:
    """Which words belong to page numbers, running heads or running feet.

    A line is furniture where the same text, whatever its digits, stands at the same height of several pages, or where
    it is nothing but a page number and stands outermost on its page.

    Args:
        page: ``(n,)`` page of each word.
        line: ``(n,)`` visual line of the page.
        boxes: ``(n, 4)`` fractions of the displayed page.
        text: ``n`` words.
        pages: Number of pages of the document.

    Returns:
        ``(n,)`` True for furniture.

    Example:
        >>> boxes = np.array([[0.1, 0.5, 0.2, 0.52], [0.49, 0.95, 0.51, 0.97]])
        >>> furniture(np.array([0, 0]), np.array([0, 1]), boxes, ["Agreement", "3"], 1)
        array([False,  True])
    """
    found = np.zeros(len(page), np.bool_)
    top = boxes[:, 3] < MARGIN
    margin = top | (boxes[:, 1] > 1.0 - MARGIN)
    if not margin.any():
        return found
    heads = _lines(np.flatnonzero(margin & top), page, line, boxes, text)
    feet = _lines(np.flatnonzero(margin & ~top), page, line, boxes, text)
    least = 2 if pages <= 4 else PAGES
    for lines, outwards in ((heads, 1.0), (feet, -1.0)):
        repeated = _returning(lines, least)
        by_page: dict[int, list[int]] = defaultdict(list)
        for index, one in enumerate(lines):
            by_page[one.page].append(index)
        for members in by_page.values():
            outermost = True
            for index in sorted(members, key=lambda index: outwards * lines[index].y):
                if index in repeated or (outermost and _NUMBER.fullmatch(lines[index].text)):
                    found[lines[index].rows] = True
                else:
                    outermost = False
    return found


def _lines(
    rows: NDArray[np.int64],
    page: NDArray[np.int64],
    line: NDArray[np.int64],
    boxes: NDArray[np.float64],
    text: Sequence[Any] | NDArray[Any],
) -> list[_Line]:
    """The visual lines that the given rows make, words from left to right."""
    grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
    left = boxes[:, 0]
    for row, key in zip(rows.tolist(), zip(page[rows].tolist(), line[rows].tolist(), strict=True), strict=True):
        grouped[key].append(row)
    made = []
    for (number, _), members in grouped.items():
        members.sort(key=lambda row: left[row])
        made.append(_Line(members, number, float(boxes[members[0], 1]), " ".join(text[row] for row in members)))
    return made


def _returning(lines: list[_Line], least: int) -> set[int]:
    """Lines whose text, digits masked, stands at one height of at least ``least`` pages."""
    alike: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(lines):
        masked = _DIGITS.sub("#", one.text)
        if any(letter.isalpha() for letter in masked) or _NUMBER.fullmatch(one.text):
            alike[masked].append(index)
    found: set[int] = set()
    for members in alike.values():
        if len(members) < least:
            continue
        members.sort(key=lambda index: lines[index].y)
        for start, first in enumerate(members):
            near = [index for index in members[start:] if lines[index].y - lines[first].y <= SAME_PLACE]
            if len({lines[index].page for index in near}) >= least:
                found.update(near)
    return found
