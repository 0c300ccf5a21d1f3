"""Signature blocks: parties that sign side by side, each under its own heading, with the same labels on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from structpos.readers.order.page import Page
from structpos.readers.order.rivers import Cell, River, Row

FOLLOW = 4.0  # rows of one block are no further apart than this many pitches
HEADINGS = 5  # rows above the labels that are looked at


def is_label(token: str) -> bool:
    """Whether a token is the sort that signature blocks repeat: ``By:``, ``Name:``, ``____``, ``/s/``."""
    return token.endswith(":") or "_" in token or token.lower().startswith("/s/")


def sort_of(token: str) -> str:
    """A token as it is compared: whatever opens a signature counts as one thing.

    Example:
        >>> sort_of("By:/s/"), sort_of("/s/John"), sort_of("Name:")
        ('/s/', '/s/', 'Name:')
    """
    return "/s/" if "/s/" in token.lower() else token


def repeated(river: River, rows: Sequence[Row], page: Page, pitch: float) -> list[str]:
    """Tokens that open a cell right of the river and, on the same row or within a pitch, the row left of it."""
    lefts = [(row.y, row.cells[0]) for row in rows[river.first : river.last + 1] if row.cells[0].x1 <= river.x0]
    rights = [(rows[i].y, cell) for i, cell in zip(river.right_rows, river.right, strict=True)]
    found = []
    for y, cell in rights:
        token = sort_of(page.token(cell))
        close = [start for at, start in lefts if abs(at - y) < pitch]
        if any(token == sort_of(page.token(start)) for start in close) or (
            is_label(token) and "_" not in token and any(token in map(sort_of, page.words(start)) for start in close)
        ):
            found.append(token)
    return found


def last_row(river: River, rows: Sequence[Row], page: Page, pitch: float) -> int:
    """Last row of a block: rows on one side that repeat a label seen in it belong to it, such as a second ``By:``."""
    seen = {page.token(cell) for row in rows[river.first : river.last + 1] for cell in row.cells}
    seen = {token for token in seen if token.endswith(":")}
    last = river.last
    for i in range(river.last + 1, len(rows)):
        sides = {cell.x0 + cell.x1 < 2 * river.middle for cell in rows[i].cells}
        crosses = any(cell.x0 < river.x0 and cell.x1 > river.x1 for cell in rows[i].cells)
        if rows[i].y - rows[i - 1].y > FOLLOW * pitch or len(sides) > 1 or crosses:
            break
        if page.token(rows[i].cells[0]) in seen:
            last = i
    return last


def headings(river: River, rows: Sequence[Row], page: Page, pitch: float) -> tuple[int, dict[Cell, tuple[Cell, Cell]]]:
    """First row of a block whose headings stand so close that they look like one line.

    A row above the labels is split where its one wide space lies at the river. Rows in between go along. The row above
    the first one must be clear of it, or it is the end of a paragraph.

    Returns:
        The first row, and the cells that fall in two.
    """
    first, split = river.first, {}
    found: dict[Cell, tuple[Cell, Cell]] = {}
    width = max(row.cells[-1].x1 for row in rows) - min(row.cells[0].x0 for row in rows)
    for i in range(river.first - 1, max(river.first - 1 - HEADINGS, -1), -1):
        if rows[i + 1].y - rows[i].y > FOLLOW * pitch:
            break
        crossing = [cell for cell in rows[i].cells if cell.x0 < river.x0 and cell.x1 > river.x1]
        parts = _halves(crossing[0], river, page) if crossing else None
        if parts:
            found[crossing[0]] = parts
            if i == 0 or rows[i].y - rows[i - 1].y >= 1.4 * pitch:
                first, split = i, dict(found)
        elif crossing and crossing[0].x1 - crossing[0].x0 > 0.75 * width:
            break
    return first, split


def _halves(cell: Cell, river: River, page: Page) -> tuple[Cell, Cell] | None:
    """A cell in two at its widest space, where that is clearly wider than the others and lies at the river."""
    spaces = [page.x0[i] - page.x1[i - 1] for i in range(cell.first + 1, cell.last)]
    if len(spaces) < 2:
        return None
    widest = max(spaces)
    others = sorted(spaces)[:-1]
    at = cell.first + 1 + spaces.index(widest)
    away = max(page.x0[at] - river.x1, river.x0 - page.x1[at - 1], river.x0 - page.x0[at], page.x1[at - 1] - river.x1)
    if widest < 1.6 * max(median(others), 0.0) or widest < 0.5 * page.tall or away > 2.0 * page.tall:
        return None
    return replace(cell, x1=page.x1[at - 1], last=at), replace(cell, x0=page.x0[at], first=at)
