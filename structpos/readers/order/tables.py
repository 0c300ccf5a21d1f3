"""Tables whose cells hold several lines: read cell by cell between their rules, or entry by entry without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from math import inf
from statistics import median

import numpy as np

from structpos.readers.order.judge import mostly_numeric
from structpos.readers.order.page import Page
from structpos.readers.order.rivers import FREE, Cell, River, Row

SLACK = 0.2  # how far text may reach over a rule [heights]
TALLEST = 15  # lines in a row of cells; a frame that holds more is no table


def table_in(rows: Sequence[Row], page: Page) -> tuple[int, int, list[int]] | None:
    """The first table that holds whole rows of a region.

    Returns:
        Its first row, the row after its last, and the band of each of its rows; None where there is none.
    """
    for table in page.tables:
        reach = (table.x0 - page.tall, table.x1 + page.tall)
        band = np.searchsorted(table.at, [row.y for row in rows]).tolist()
        holds = [
            0 < b < len(table.at) and all(reach[0] <= cell.x0 and cell.x1 <= reach[1] for cell in row.cells)
            for b, row in zip(band, rows, strict=True)
        ]
        outside = {b for b, inside in zip(band, holds, strict=True) if not inside}
        outside |= {b for b, count in Counter(band).items() if count > TALLEST}
        runs = groupby(range(len(rows)), key=lambda i: band[i] not in outside)
        for inside, run in runs:
            mine = list(run)
            if inside and band[mine[0]] != band[mine[-1]]:
                return mine[0], mine[-1] + 1, band[mine[0] : mine[-1] + 1]
    return None


def uprights(rows: Sequence[Row], page: Page) -> list[float]:
    """Places of the vertical rules that cross all of some rows of a table [pt]."""
    top, bottom = rows[0].y - 0.3 * page.tall, rows[-1].y
    return [
        x
        for table in page.tables
        for x, upper, lower in table.uprights
        if upper <= top and lower >= bottom and table.at[0] < bottom <= table.at[-1]
    ]


def parted(row: Row, places: Sequence[float], page: Page) -> list[Cell]:
    """The cells of a row, parted at vertical rules between words that stand too close to tell."""
    slack = SLACK * page.tall
    cells: list[Cell] = []
    for cell in row.cells:
        inside = [x for x in places if cell.x0 < x < cell.x1]
        starts = [
            i
            for i in range(cell.first + 1, cell.last)
            if any(page.x1[i - 1] - slack <= x <= page.x0[i] + slack for x in inside)
        ]
        for a, b in pairwise([cell.first, *starts, cell.last]):
            cells.append(replace(cell, x0=page.x0[a], x1=max(page.x1[a:b]), first=a, last=b) if starts else cell)
    return cells


def entries(river: River, rows: Sequence[Row], page: Page, pitch: float) -> list[int]:
    """Number the entries of a list of terms with what stands beside them: a term after a row without one begins a new.

    Returns:
        The entry of each row of the river.
    """
    band: list[int] = []
    number = 0
    before: Cell | None = None
    for i in range(river.first, river.last + 1):
        term = next((cell for cell in rows[i].cells if cell.x1 <= river.middle), None)
        if term and band:
            blank = rows[i].y - rows[i - 1].y >= 1.25 * pitch
            number += before is None or blank or page.words(before)[-1].endswith(":")
        before = term
        band.append(number)
    return band


def by_cells(rows: Sequence[Row], band: Sequence[int], page: Page) -> list[list[Cell]]:
    """Cells of a table in reading order: band after band, in each the columns one after the other.

    Args:
        rows: Rows of the table.
        band: The band of each.
        page: What they are judged by.

    Returns:
        Groups of cells; each is read line by line.
    """
    groups: list[list[Cell]] = []
    single = False  # the last group is read row by row
    for number in dict.fromkeys(band):
        mine = [row for row, b in zip(rows, band, strict=True) if b == number]
        places = uprights(mine, page) if len(mine) > 1 else []
        cells = [cell for row in mine for cell in (parted(row, places, page) if places else row.cells)]
        columns = columns_of(cells, places, page.tall)
        if len(mine) == 1 or len(columns) == 1 or are_records(columns, page):
            if single:
                groups[-1] += cells
            else:
                groups.append(cells)
            single = True
        else:
            groups += reversed(columns) if page.rtl else columns
            single = False
    return groups


def columns_of(cells: Sequence[Cell], places: Sequence[float], tall: float) -> list[list[Cell]]:
    """Cells of a band, parted where a strip is free over its whole height, however narrow where a rule stands in it."""
    columns: list[list[Cell]] = []
    edge = -inf
    slack = SLACK * tall
    for cell in sorted(cells, key=lambda cell: cell.x0):
        if cell.x0 - edge >= FREE * tall or any(edge - slack <= x <= cell.x0 + slack for x in places):
            columns.append([])
        columns[-1].append(cell)
        edge = max(edge, cell.x1)
    return columns


def are_records(columns: Sequence[Sequence[Cell]], page: Page) -> bool:
    """Whether the rows of a band are records of their own, and not the lines of its cells.

    Records have numbers below each other, or entries of few words in every column; text that wraps fills its lines.
    """
    counts = [len({cell.line for cell in column}) for column in columns]
    for column, count in zip(columns, counts, strict=True):
        if count > 1 and (mostly_numeric(column, page) or not any(c.isalpha() for c in page.written(column))):
            return True
    if 2 * min(counts) <= max(counts) or max(counts) <= 2:
        return False
    return not any(median([cell.last - cell.first for cell in column]) >= 3 for column in columns)
