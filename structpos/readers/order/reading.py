"""Reading order: from words and their boxes to lines, columns, blocks and the order in which a person reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structpos.errors import PositionError
from structpos.readers.order.bidi import any_rtl
from structpos.readers.order.frame import Flags, Floats, Ints, frames, turn
from structpos.readers.order.lines import copies, starts_of, visual_lines
from structpos.readers.order.page import Note
from structpos.readers.order.skew import levelled, slopes
from structpos.readers.order.strands import Strands, blocks, follow, right_to_left, with_islands


@dataclass(frozen=True)
class Reading:
    """How the words of a document are read; all arrays run over the words as they were given.

    Attributes:
        keep: ``(n,)`` False for a copy of another word (bold made by drawing twice).
        boxes: ``(n, 4)`` as given; a kept word's box takes in its copies.
        order: ``(n,)`` place in reading order from 0, pages in ascending order; -1 for copies.
        line: ``(n,)`` visual line of the page from 0 at the top, counted across blocks and columns.
        word: ``(n,)`` number on that line, as the line is read.
        text_column: ``(n,)`` column of running text from the left; -1 on lines that span several.
        block: ``(n,)`` text block of the page.
        direction: ``(n,)`` "ltr", "rtl" or "ttb".
        reasons: For each page that was looked at closely, its rivers: box [pt, in the frame of the page], "columns" or
            "rows", and the rule that decided.
    """

    keep: Flags
    boxes: Floats
    order: Ints
    line: Ints
    word: Ints
    text_column: Ints
    block: Ints
    direction: NDArray[np.str_]
    reasons: Mapping[int, list[Note]] = field(default_factory=dict)


def read_order(
    page: ArrayLike,
    boxes: ArrayLike,
    text: Sequence[str],
    *,
    sizes: Mapping[int, tuple[float, float]],
    angle: ArrayLike | None = None,
    vertical: ArrayLike | None = None,
    block: ArrayLike | None = None,
    rules: Callable[[int], Floats] | None = None,
) -> Reading:
    """Put the words of a document into the order in which a person reads them.

    Nothing depends on the order in which the words come in.

    Args:
        page: ``(n,)`` page of each word.
        boxes: ``(n, 4)`` x0, y0, x1, y1 in points of the page as displayed, origin top left.
        text: The n words.
        sizes: Width and height of each page as displayed [pt].
        angle: ``(n,)`` direction in which each word runs, in degrees clockwise as displayed; None: all level.
        vertical: ``(n,)`` True where the writing mode is vertical; None: nowhere.
        block: ``(n,)`` blocks of the stored order; not needed.
        rules: Gives the line segments drawn on a page, ``(m, 4)`` in displayed points, thin rectangles among them.
            Called at most once a page, and only where drawings can decide; None: there are none.

    Returns:
        Reading: order, line, column, block and direction of each word.

    Raises:
        PositionError: arrays of different lengths, or a page without a size.

    Example:
        >>> boxes = [[60, 10, 90, 20], [10, 10, 50, 20], [10, 24, 50, 34]]
        >>> read_order([0, 0, 0], boxes, ["world", "hello", "again"], sizes={0: (200, 100)}).order.tolist()
        [1, 0, 2]
    """
    page, given = _checked(page, boxes, text, sizes)
    n = len(text)
    ways = None if angle is None else _column("angle", angle, n, np.float64)
    modes = None if vertical is None else _column("vertical", vertical, n, np.bool_)
    if not n:
        none = np.zeros(0, np.int64)
        return Reading(np.zeros(0, bool), given, none, none, none, none, none, np.zeros(0, "<U3"))
    weight = np.fromiter(map(len, text), np.int64, n)
    framed, group, quarters, home = frames(page, _clipped(given, page, sizes), ways, modes, weight, sizes)
    place, line = visual_lines(framed, group, text)
    slope = slopes(framed[place], line, group[place])
    if slope.any():
        framed = levelled(framed, slope[group])
        place, line = visual_lines(framed, group, text)
    keep, original = copies(framed, place, line, text)
    widened = _widened(given, keep, original)
    if not keep.all():
        framed = _widened(framed, keep, original)
        kept = keep[place]
        place, line = place[kept], line[kept]
        line = np.cumsum(np.concatenate([[0], np.diff(line) != 0]))

    line_of = np.zeros(n, np.int64)
    line_of[place] = line
    rtl = any_rtl(text)
    drawn = _framed_rules(np.unique(page), quarters, sizes, rules)
    strands, notes = follow(place, line, group[place], framed, text, drawn, rtl)
    rightward = right_to_left(strands, text) if rtl else np.zeros(0, np.int64)
    if home:
        shown = framed.copy()
        for number, quarter in quarters.items():
            mine = (page == number) & np.isin(group, list(home))
            shown[mine] = turn(_clipped(given, page, sizes)[mine], quarter, *sizes[number])
        strands, line_of = with_islands(strands, line_of, shown, home)
    return _numbered(strands, line_of, page, keep, widened, framed, modes, rightward, notes)


def _checked(
    page: ArrayLike, boxes: ArrayLike, text: Sequence[str], sizes: Mapping[int, tuple[float, float]]
) -> tuple[Ints, Floats]:
    n = len(text)
    numbers = _column("page", page, n, np.int64)
    given = np.array(boxes, np.float64) if n else np.zeros((0, 4))
    if given.ndim != 2 or given.shape[1] != 4:
        raise PositionError(f"read_order got boxes of shape {given.shape}. Give (x0, y0, x1, y1) for each word.")
    if len(given) != n:
        raise PositionError(
            f"read_order got {len(given)} boxes for {n} words. Give one box (x0, y0, x1, y1) for each word."
        )
    missing = sorted(set(np.unique(numbers).tolist()) - set(sizes))
    if missing:
        raise PositionError(
            f"read_order got words on page {missing[0]} but no size for it. Give sizes[page] = (width, height)."
        )
    return numbers, given


def _column(name: str, values: ArrayLike, n: int, kind: type[np.generic]) -> NDArray[Any]:
    column = np.asarray(values, kind).reshape(-1)
    if len(column) != n:
        raise PositionError(f"read_order got {len(column)} values of {name!r} for {n} words. Give one for each word.")
    return column


def _clipped(boxes: Floats, page: Ints, sizes: Mapping[int, tuple[float, float]]) -> Floats:
    """Boxes no further out than ten page sizes; damaged files place words anywhere."""
    far = 10.0 * max(max(size) for size in sizes.values())
    return np.clip(np.nan_to_num(boxes, nan=0.0, posinf=far, neginf=-far), -far, far)


def _widened(boxes: Floats, keep: Flags, original: Ints) -> Floats:
    """Boxes of kept words together with those of their copies."""
    if keep.all():
        return boxes
    wide = boxes.copy()
    dropped = np.flatnonzero(~keep)
    np.minimum.at(wide[:, :2], original[dropped], boxes[dropped, :2])
    np.maximum.at(wide[:, 2:], original[dropped], boxes[dropped, 2:])
    return wide


def _framed_rules(
    pages: Ints,
    quarters: Mapping[int, int],
    sizes: Mapping[int, tuple[float, float]],
    rules: Callable[[int], Floats] | None,
) -> dict[int, Callable[[], Floats]]:
    """For each page group, what fetches its rules once, turned as the page is turned."""
    if rules is None:
        return {}

    def fetcher(number: int) -> Callable[[], Floats]:
        @cache
        def fetch() -> Floats:
            lines = np.asarray(rules(number), np.float64).reshape(-1, 4)
            return turn(lines, quarters[number], *sizes[number]) if quarters.get(number) else lines

        return fetch

    return {group: fetcher(number) for group, number in enumerate(pages.tolist())}


def _numbered(
    strands: Strands,
    line_of: Ints,
    page: Ints,
    keep: Flags,
    widened: Floats,
    framed: Floats,
    vertical: Flags | None,
    rightward: Ints,
    notes: Mapping[int, list[Note]],
) -> Reading:
    n = len(page)
    words = strands.words
    order, line, word, column, block = (np.full(n, -1, np.int64) for _ in range(5))
    order[words] = np.arange(len(words))
    column[words] = strands.column
    block[words] = blocks(strands, page, framed)
    number = line_of[words]
    by_line = np.argsort(number, kind="stable")
    first = starts_of(number[by_line])
    word[words[by_line]] = np.arange(len(words)) - np.repeat(first, np.diff(np.append(first, len(words))))
    lowest = starts_of(page[words])
    size = np.diff(np.append(lowest, len(words)))
    line[words] = number - np.repeat(np.minimum.reduceat(number, lowest), size)
    direction = np.full(n, "ltr", "<U3")
    direction[rightward] = "rtl"
    if vertical is not None:
        direction[vertical] = "ttb"
    numbers = np.unique(page)
    reasons = {int(numbers[g]): note for g, note in notes.items() if g < len(numbers)}
    return Reading(keep, widened, order, line, word, column, block, direction, reasons)
