"""Line numbers in the margin: a column of its own that nobody reads between the lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from structpos.readers.order.page import Page
from structpos.readers.order.rivers import Cell, Row

LEAST = 8  # numbers in a row that make line numbers
WORDS = 4  # words on a usual line beside them; rows of a table say less


def line_numbers(rows: Sequence[Row], page: Page) -> list[Cell]:
    """Cells that number the lines of a page of text: one above the other, evenly spaced, counting on by one.

    Lines without text may be numbered, too. A table or a list whose first column counts has shorter or more cells.
    """
    for side in (0, -1):
        edge = [row.cells[side] for row in rows if row.cells[side].last - row.cells[side].first == 1]
        numbers = [cell for cell in edge if page.token(cell).isdecimal() and page.token(cell).isascii()]
        if len(numbers) < LEAST:
            continue
        values = [int(page.token(cell)) for cell in numbers]
        steps = [b.y - a.y for a, b in pairwise(numbers)]
        usual = median(steps)
        counting = all(b == a + 1 for a, b in pairwise(values))
        even = all(abs(step - usual) <= 0.2 * usual for step in steps)
        flush = min(_spread([c.x0 for c in numbers]), _spread([c.x1 for c in numbers])) <= 0.6 * page.tall
        if not (counting and even and flush):
            continue
        lines = {cell.line for cell in numbers}
        beside = [row.cells for row in rows if any(c.line in lines for c in row.cells) and len(row.cells) > 1]
        alone = sum(len(cells) == 2 for cells in beside)
        text = [sum(c.last - c.first for c in cells) - 1 for cells in beside]
        if beside and 3 * alone >= 2 * len(beside) and median(text) >= WORDS:
            return numbers
    return []


def _spread(places: Sequence[float]) -> float:
    return max(places) - min(places)
