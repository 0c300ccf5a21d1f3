"""The path of reading over a page: words that follow one another on a line become one stretch of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structpos.readers.document import Document


class Run(NamedTuple):
    """Words of one line that are read without a jump.

    Args:
        rows: Their rows of the table, in reading order.
        line: The visual line they stand on.
        start: Where reading them begins, x and y as fractions of the page: at the foot of the first word.
        end: Where it ends.
    """

    rows: list[int]
    line: int
    start: tuple[float, float]
    end: tuple[float, float]


def runs_of(document: Document, page: int) -> list[Run]:
    """The stretches of a page in reading order.

    Example:
        >>> boxes = {"x0": [0.1, 0.3, 0.1], "y0": [0.1, 0.1, 0.2], "x1": [0.2, 0.4, 0.2], "y1": [0.12, 0.12, 0.22]}
        >>> words = {"page": [0, 0, 0], "line": [0, 0, 1], "text": ["Hello", "world", "again"], **boxes}
        >>> [run.rows for run in runs_of(Document("note", words, {"page": [0]}), 0)]
        [[0, 1], [2]]
    """
    columns = document.columns
    keys = [columns[name] for name in ("line", "text_column", "block", "hidden", "angle")]
    stretches: list[list[int]] = []
    previous: tuple[object, ...] = ()
    for row in np.flatnonzero(columns["page"] == page).tolist():
        key = tuple(values[row] for values in keys)
        if not stretches or key != previous:
            stretches.append([])
        stretches[-1].append(row)
        previous = key
    return [_run(document, rows) for rows in stretches]


def _run(document: Document, rows: list[int]) -> Run:
    columns = document.columns
    x0, y0 = (float(columns[name][rows].min()) for name in ("x0", "y0"))
    x1, y1 = (float(columns[name][rows].max()) for name in ("x1", "y1"))
    ends = {
        "right": ((x0, y1), (x1, y1)),
        "left": ((x1, y1), (x0, y1)),
        "down": ((x0, y0), (x0, y1)),
        "up": ((x1, y1), (x1, y0)),
    }
    directions, counts = np.unique(columns["direction"][rows], return_counts=True)
    start, end = ends[_way(str(directions[counts.argmax()]), float(columns["angle"][rows[0]]))]
    return Run(rows, int(columns["line"][rows[0]]), start, end)


def _way(direction: str, angle: float) -> str:
    """Which way the words run on the page as displayed, to the nearest side."""
    if direction == "ttb":
        return "down"
    ways = ("right", "down", "left", "up")
    return ways[(round(angle / 90) + 2 * (direction == "rtl")) % 4]
