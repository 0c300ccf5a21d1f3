"""Cutting a page: at the strongest river first, then each part again, until what is left is read line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from structpos.readers.order.judge import Sides, Verdict, judge, ruled
from structpos.readers.order.margin import line_numbers
from structpos.readers.order.page import Page
from structpos.readers.order.rivers import Cell, River, Row, pitch_of, rivers, rows_of
from structpos.readers.order.signatures import headings, last_row
from structpos.readers.order.tables import by_cells, entries, table_in

CELLS = 4000  # a page with more cells than this is scraps; it is read row by row
DEPTH = 12
BAND = 2.5  # steps from line to line: one empty line ends a paragraph, more of it ends what stands in columns


@dataclass
class Leaf:
    """Cells that are read line by line, their column, and which of them span several columns."""

    cells: list[Cell]
    column: int
    spanning: set[int] = field(default_factory=set)  # positions in ``cells``


def arrange(cells: Sequence[Cell], page: Page, column: int = 0, depth: int = 0) -> tuple[list[Leaf], int]:
    """Put the cells of a region into leaves in reading order.

    Args:
        cells: Any cells of one page.
        page: What they are judged by.
        column: Number of the leftmost column.
        depth: How often the region was cut before.

    Returns:
        The leaves in reading order, and the number of columns side by side in them.
    """
    whole = [Leaf(list(cells), column)]
    if not cells or len(cells) > CELLS or depth > DEPTH:
        return (whole if cells else []), 1
    rows = rows_of(cells)
    if len(rows) < 2:
        return whole, 1
    numbers = line_numbers(rows, page) if depth == 0 else []
    if numbers:
        lines = {cell.first for cell in numbers}
        text, count = arrange([cell for cell in cells if cell.first not in lines], page, column, depth + 1)
        return [*text, Leaf(numbers, -1)], count
    pitch = pitch_of(rows, page.tall)
    chosen, ragged = _strongest(rows, page, pitch)
    table = table_in(rows, page) if ragged else None
    if table:
        return _as_table(rows, *table, page, column, depth)
    if chosen is None:
        return whole, 1
    river, verdict = chosen
    if verdict.reason != "repeated labels":
        shave(river, rows, page.tall, pitch)
    if verdict.kind == "entries":
        band = entries(river, rows, page, pitch)
        return _as_table(rows, river.first, river.last + 1, band, page, column, depth)
    if verdict.reason == "long lines":
        edges = bands(river, rows, pitch)
        if len(edges) > 1:
            leaves: list[Leaf] = []
            most = 1
            for a, b in zip([0, *edges], [*edges, len(rows)], strict=True):
                part, count = arrange([c for row in rows[a:b] for c in row.cells], page, column, depth + 1)
                leaves += part
                most = max(most, count)
            return leaves, most
    first, last = river.first, river.last
    split: dict[Cell, tuple[Cell, Cell]] = {}
    if verdict.reason == "repeated labels":
        last = last_row(river, rows, page, pitch)
        first, split = headings(river, rows, page, pitch)
    middle = river.middle
    body = [part for row in rows[first : last + 1] for cell in row.cells for part in split.get(cell, (cell,))]
    left = [cell for cell in body if cell.x0 + cell.x1 < 2 * middle]
    right = [cell for cell in body if cell.x0 + cell.x1 >= 2 * middle]
    above, n_above = arrange([c for row in rows[:first] for c in row.cells], page, column, depth + 1)
    lefts, n_left = arrange(left, page, column, depth + 1)
    rights, n_right = arrange(right, page, column + n_left, depth + 1)
    below, n_below = arrange([c for row in rows[last + 1 :] for c in row.cells], page, column, depth + 1)
    across = sum(any(c.x0 < river.x0 and c.x1 > river.x1 for c in row.cells) for row in rows[:first] + rows[last + 1 :])
    if across <= last - first + 1:  # a page of columns with a heading, not a page of text with some columns in it
        for leaf in above + below:
            leaf.spanning |= {i for i, c in enumerate(leaf.cells) if c.x0 < river.x0 and c.x1 > river.x1}
    sides = rights + lefts if page.rtl else lefts + rights
    return above + sides + below, max(n_above, n_left + n_right, n_below)


def _as_table(
    rows: Sequence[Row], first: int, last: int, band: Sequence[int], page: Page, column: int, depth: int
) -> tuple[list[Leaf], int]:
    above, n_above = arrange([c for row in rows[:first] for c in row.cells], page, column, depth + 1)
    below, n_below = arrange([c for row in rows[last:] for c in row.cells], page, column, depth + 1)
    return above + [Leaf(g, column) for g in by_cells(rows[first:last], band, page)] + below, max(n_above, n_below)


def _strongest(rows: Sequence[Row], page: Page, pitch: float) -> tuple[tuple[River, Verdict] | None, bool]:
    """The river with most cells beside it at which a region is cut, and whether drawings may show a table here."""
    found = rivers(rows, page.tall, pitch=pitch)
    best: tuple[River, Verdict] | None = None
    ragged = False
    for river in sorted(found, key=_weight, reverse=True):
        sides = Sides(river, rows, found, page, pitch)
        verdict = judge(sides)
        box = (river.x0, rows[river.first].y - page.tall, river.x1, rows[river.last].y)
        page.notes.append((box, verdict.kind, verdict.reason))
        ragged |= verdict.cuts and verdict.reason != "repeated labels"
        ragged |= (
            verdict.reason == "nothing says columns" and sides.lines >= 2 and sides.gap >= 1.5 and sides.flush >= 0.8
        )
        if verdict.kind == "columns" or (verdict.cuts and best is None):
            best = river, verdict
        if verdict.kind == "columns":
            break
    if best and best[1].reason == "ruled" and page.rules is not None:
        river, _ = best
        _, top, bottom = ruled(river, rows, page.rules(), page.tall)
        inside = [i for i in range(river.first, river.last + 1) if top <= rows[i].y <= bottom + 0.5 * page.tall]
        if inside:
            river.first, river.last = inside[0], inside[-1]
    return best, ragged


def _weight(river: River) -> int:
    return len(river.left) + len(river.right)


def shave(river: River, rows: Sequence[Row], tall: float, pitch: float) -> None:
    """Leave running heads and feet out of a river: a row or two at its end, set off by a blank.

    They need a wider blank where they line up with the column below or above them, as its own heading would.
    """
    edge = median([cell.x0 for cell in river.right])
    for rank in (1, 2):
        for end in (1, -1):  # from the top, from the bottom
            inside = list(range(river.first, river.last + 1))[::end]
            if len(inside) < 5 + rank:
                continue
            blank = abs(rows[inside[rank]].y - rows[inside[rank - 1]].y)
            outer = [cell for i in inside[:rank] for cell in rows[i].cells if cell.x0 >= river.middle]
            flush = any(abs(cell.x0 - edge) <= 0.6 * tall for cell in outer)
            if blank > (3.0 if flush else 1.6) * pitch:
                river.first, river.last = min(inside[rank:]), max(inside[rank:])


def bands(river: River, rows: Sequence[Row], pitch: float) -> list[int]:
    """Rows before which the page is cut across, because a blank runs over both columns.

    The river's own first row and its end are among them. Empty unless every band keeps three rows on each side.
    """
    middle = river.middle
    inner = [i for i in range(river.first + 1, river.last + 1) if rows[i].y - rows[i - 1].y >= BAND * pitch]
    if not inner:
        return []
    edges = [river.first, *inner, river.last + 1]
    for a, b in pairwise(edges):
        left = sum(any(c.x0 + c.x1 < 2 * middle for c in row.cells) for row in rows[a:b])
        right = sum(any(c.x0 + c.x1 >= 2 * middle for c in row.cells) for row in rows[a:b])
        if min(left, right) < 3:
            return []
    return edges
