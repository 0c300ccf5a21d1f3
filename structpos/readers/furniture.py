"""Furniture: page numbers and running heads and feet, told by their place and by their return from page to page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MARGIN = 0.12  # share of the page's height, at the top and at the bottom, in which furniture is looked for
FAR = 0.25  # the same for page numbers that return and stand outermost: some pages have wide margins
BEYOND = 0.06  # the strip next to it, in which the line that furniture is set off from is looked for
SAME_PLACE = 0.02  # how far a running head may move from page to page [share of the height]
SET_OFF = 0.3  # least blank between furniture and the text of the page [heights of the line]
APART = 1.0  # the same, next to a line of a signature block
NUMBER_WORDS = 6  # a page number has no more words
PAGES = 3  # a line that returns on this many pages is a running head; in documents of up to 3 pages, on 2

_SIGNED = re.compile(r"/s/|_{3}|\b(By|Name|Title)\s*:")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"[-–—~\[(|·]*\s*(page|p\.|pg\.|seite|página|pagina)?\s*(\d{1,4}|[ivxl]{1,7}|[a-z]{1,2}[-–]\d{1,3})"
    r"(\s*(of|/|von|de|sur|di)\s*\d{1,4})?\s*[-–—~\])|·.]*",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """A visual line near the edge of a page: its rows of the table, its place and, if it may be furniture, its text."""

    rows: NDArray[np.int64]
    page: int
    y0: float
    y1: float
    text: str | None
    near: bool  # in the margin itself


def furniture(
    page: NDArray[np.int64],
    line: NDArray[np.int64],
    boxes: NDArray[np.float64],
    text: Sequence[Any] | NDArray[Any],
    pages: int,
) -> NDArray[np.bool_]:
    """Which words belong to page numbers, running heads or running feet.

    A line is furniture where the same text (but for a number that counts the pages) stands at one height of several
    pages, or where it is nothing but a page number and stands outermost; and where blanks set it off from other text.

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
    least = 2 if pages < PAGES + 1 else PAGES
    top, bottom = boxes[:, 3], boxes[:, 1]
    for near, sign in ((top < FAR + BEYOND, 1.0), (bottom > 1.0 - FAR - BEYOND, -1.0)):
        lines = _lines(np.flatnonzero(near), page, line, boxes, text, sign)
        repeated = _returning(lines, least)
        start = 0
        for _, members in groupby(lines, key=lambda one: one.page):
            mine = list(members)
            end = start + len(mine)
            for rows in _set_off(mine, {index - start for index in repeated if start <= index < end}, sign):
                found[rows] = True
            start = end
    return found


def _lines(
    rows: NDArray[np.int64],
    page: NDArray[np.int64],
    line: NDArray[np.int64],
    boxes: NDArray[np.float64],
    text: Sequence[Any] | NDArray[Any],
    sign: float,
) -> list[_Line]:
    """The visual lines that the given rows make, page by page from the edge inwards, words from left to right."""
    if not len(rows):
        return []
    rows = rows[np.lexsort((boxes[rows, 0], sign * line[rows], page[rows]))]
    changes = (np.diff(page[rows]) != 0) | (np.diff(line[rows]) != 0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    tops = np.minimum.reduceat(boxes[rows, 1], starts)
    bottoms = np.maximum.reduceat(boxes[rows, 3], starts)
    depth = bottoms if sign > 0 else 1.0 - tops
    ends = np.append(starts[1:], len(rows))
    near = depth < MARGIN
    read = near | ((depth < FAR) & (ends - starts <= NUMBER_WORDS))
    words = np.asarray(text, object)[rows].tolist()
    return [
        _Line(rows[start:end], number, y0, y1, " ".join(words[start:end]) if inside else None, in_margin)
        for start, end, number, y0, y1, inside, in_margin in zip(
            starts.tolist(),
            ends.tolist(),
            page[rows[starts]].tolist(),
            tops.tolist(),
            bottoms.tolist(),
            read.tolist(),
            near.tolist(),
            strict=True,
        )
    ]


def _returning(lines: list[_Line], least: int) -> set[int]:
    """Lines whose text stands at one height of at least ``least`` pages; one number in it may count the pages."""
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, one in enumerate(lines):
        if one.text is None or not ((one.near and any(map(str.isalpha, one.text))) or _NUMBER.fullmatch(one.text)):
            continue
        alike[one.text, -1].append(index)
        for number in _DIGITS.finditer(one.text):
            masked = f"{one.text[: number.start()]}#{one.text[number.end() :]}"
            alike[masked, int(number.group()) - one.page].append(index)
    found: set[int] = set()
    for members in alike.values():
        if len(members) < least:
            continue
        members.sort(key=lambda index: lines[index].y0)
        for start, first in enumerate(members):
            near = [index for index in members[start:] if lines[index].y0 - lines[first].y0 <= SAME_PLACE]
            if len({lines[index].page for index in near}) >= least:
                found.update(near)
    return found


def _set_off(lines: list[_Line], repeated: set[int], sign: float) -> list[NDArray[np.int64]]:
    """Rows of the furniture at one edge of one page, whose lines come from the edge inwards."""
    chosen = [False] * len(lines)
    signed = [bool(one.text and _SIGNED.search(one.text)) for one in lines]
    for index, one in enumerate(lines):
        outermost = all(chosen[:index])
        number = one.text is not None and one.near and outermost and _NUMBER.fullmatch(one.text)
        returns = index in repeated and (one.near or outermost)
        chosen[index] = (returns or bool(number)) and not signed[index]
    joined = []
    for index, (outer, inner) in enumerate(pairwise(lines)):
        blank = inner.y0 - outer.y1 if sign > 0 else outer.y0 - inner.y1
        least = APART if signed[index] or signed[index + 1] else SET_OFF
        if blank < least * (outer.y1 - outer.y0):
            joined.append(index)
    for index in joined + joined[::-1]:  # a line that touches text of the page is text, and so is what touches that
        chosen[index] = chosen[index + 1] = chosen[index] and chosen[index + 1]
    return [one.rows for one, furnished in zip(lines, chosen, strict=True) if furnished]
