"""Rivers: the white strips between cells that stand side by side over several rows of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from statistics import median

FREE = 0.8  # a strip narrower than this many heights is no river
TWO_GRIDS = 0.95  # rows closer than this many heights belong to columns with lines of their own


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of one line without a wide gap: edges and baseline [pt], the line, and its words first..last - 1."""

    x0: float
    x1: float
    y: float
    line: int
    first: int
    last: int


@dataclass(slots=True)
class Row:
    """The cells of one visual line, from left to right, and what is free beside and between them."""

    cells: list[Cell]
    y: float
    gaps: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        edge = -inf
        for cell in self.cells:
            if cell.x0 > edge:
                self.gaps.append((edge, cell.x0))
            edge = max(edge, cell.x1)
        self.gaps.append((edge, inf))

    @property
    def written(self) -> float:
        """Width of the text on the row [pt]."""
        return sum(cell.x1 - cell.x0 for cell in self.cells)


@dataclass(slots=True)
class River:
    """A white strip: its edges [pt], its rows first..last (both taken), and the cells next to it on either side."""

    x0: float
    x1: float
    first: int
    last: int
    left: list[Cell] = field(default_factory=list)
    right: list[Cell] = field(default_factory=list)
    right_rows: list[int] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """Where a cut goes [pt]."""
        return (self.x0 + self.x1) / 2


def rows_of(cells: Sequence[Cell]) -> list[Row]:
    """Sort cells into rows from the top."""
    lines: dict[int, list[Cell]] = {}
    for cell in cells:
        lines.setdefault(cell.line, []).append(cell)
    rows = [Row(sorted(line, key=lambda c: (c.x0, c.first)), median([c.y for c in line])) for line in lines.values()]
    return sorted(rows, key=lambda row: (row.y, row.cells[0].line))


def pitch_of(rows: Sequence[Row], tall: float) -> float:
    """Usual distance of baselines [pt], between 0.9 and 2 heights."""
    steps = [b.y - a.y for a, b in pairwise(rows)]
    return min(max(median(steps), 0.9 * tall), 2.0 * tall) if steps else 1.2 * tall


def rivers(rows: Sequence[Row], tall: float, *, pitch: float, cap: int = 60) -> list[River]:
    """Find the rivers of a region, at most ``cap`` of them, from the top.

    Args:
        rows: From :func:`rows_of`.
        tall: Height of a usual word [pt].
        pitch: From :func:`pitch_of`.
        cap: When to stop: a page of scraps has a river at every gap.
    """
    least = FREE * tall
    used: set[tuple[int, float]] = set()
    found: dict[tuple[float, float, int, int], River] = {}
    for first, last, x0, x1 in _springs(rows, tall):
        if (first, x0) in used and first == last:
            continue
        river = _grow(rows, first, last, x0, x1, least, used)
        trimmed = trim(river, rows, tall, pitch=pitch)
        if trimmed is not None:
            found.setdefault((trimmed.x0, trimmed.x1, trimmed.first, trimmed.last), trimmed)
        if len(found) >= cap:
            break
    return list(found.values())


def _springs(rows: Sequence[Row], tall: float) -> list[tuple[int, int, float, float]]:
    """Where rivers may start: first and last row, left and right edge."""
    springs = []
    for i, row in enumerate(rows):
        enough = row.written > 4.0 * tall
        for x0, x1 in row.gaps[1 if row.gaps[0][0] == -inf else 0 : -1]:
            if x1 - x0 >= FREE * tall and (enough or x1 - x0 > 6.0 * tall):
                springs.append((i, i, x0, x1))
        if i + 1 < len(rows) and rows[i + 1].y - row.y < TWO_GRIDS * tall:
            below = rows[i + 1]
            for x0, x1 in row.gaps:
                for u0, u1 in below.gaps:
                    a, b = max(x0, u0), min(x1, u1)
                    crossed = (a == x0) != (b == x1)  # one edge from either row
                    if crossed and a > -inf and b < inf and b - a >= FREE * tall:
                        springs.append((i, i + 1, a, b))
    return springs


def _grow(
    rows: Sequence[Row], first: int, last: int, x0: float, x1: float, least: float, used: set[tuple[int, float]]
) -> River:
    """Follow a strip up and down while every row leaves some of it free."""
    passed: list[tuple[int, float]] = []

    def through(at: int) -> bool:
        nonlocal x0, x1
        best, width = None, least
        for gap in rows[at].gaps:
            a, b = max(x0, gap[0]), min(x1, gap[1])
            if b - a >= width and (best is None or b - a > width):
                best, width = (a, b, gap[0]), b - a
        if best is None:
            return False
        x0, x1 = best[0], best[1]
        passed.append((at, best[2]))
        return True

    while first > 0 and through(first - 1):
        first -= 1
    while last + 1 < len(rows) and through(last + 1):
        last += 1
    used.update(passed)
    return River(x0, x1, first, last)


def trim(river: River, rows: Sequence[Row], tall: float, *, pitch: float) -> River | None:
    """Keep the rows where both sides have text, and the one-sided rows that go on from there; None without any."""
    middle = river.middle
    left: dict[int, Cell] = {}
    right: dict[int, Cell] = {}
    for i in range(river.first, river.last + 1):
        for cell in rows[i].cells:
            if cell.x0 + cell.x1 < 2 * middle:
                left[i] = cell
            elif i not in right:
                right[i] = cell
    if not left or not right:
        return None
    top, bottom = max(min(left), min(right)), min(max(left), max(right))
    if top > bottom:  # the sides stand one below the other
        return None
    flush = min(right[i].x0 for i in right if top <= i <= bottom) if any(top <= i <= bottom for i in right) else inf
    top = _extend(top, river.first, -1, rows, left, right, flush, tall, pitch, 3.0)
    bottom = _extend(bottom, river.last, 1, rows, left, right, flush, tall, pitch, 4.0)
    near_left = [left[i] for i in range(top, bottom + 1) if i in left]
    right_rows = [i for i in range(top, bottom + 1) if i in right]
    near_right = [right[i] for i in right_rows]
    x0, x1 = max(c.x1 for c in near_left), min(c.x0 for c in near_right)
    return River(x0, x1, top, bottom, near_left, near_right, right_rows)


def _extend(
    at: int,
    end: int,
    step: int,
    rows: Sequence[Row],
    left: dict[int, Cell],
    right: dict[int, Cell],
    flush: float,
    tall: float,
    pitch: float,
    patience: float,
) -> int:
    """Take one-sided rows beyond ``at`` while they follow closely; right ones that line up may follow less closely."""
    while at != end:
        following = at + step
        away = abs(rows[following].y - rows[at].y)
        lined_up = following in right and following not in left and abs(right[following].x0 - flush) <= 0.6 * tall
        if away > (patience if lined_up else 1.6) * pitch:
            break
        at = following
    return at
