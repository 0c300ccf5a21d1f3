"""Tables as they are drawn: horizontal rules of one width below each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from structpos.readers.order.frame import Floats

RULES = 3  # horizontal rules that make a table: one row of cells alone may be a frame around anything


@dataclass(frozen=True, slots=True)
class Table:
    """Rules of one width below each other [pt].

    Attributes:
        x0: Left end of the rules.
        x1: Right end of the rules.
        at: Their heights on the page, from the top.
        uprights: Vertical rules between them: place, top and bottom.
    """

    x0: float
    x1: float
    at: tuple[float, ...]
    uprights: tuple[tuple[float, float, float], ...] = ()


def tables(rules: Floats, tall: float) -> list[Table]:
    """Find the tables among the line segments of a page.

    Borders drawn cell by cell are joined first.

    Args:
        rules: ``(m, 4)`` x0, y0, x1, y1 [pt]; thin rectangles count.
        tall: Height of a usual word [pt].

    Example:
        >>> [t.at for t in tables(np.array([[0, y, 90.0, y] for y in (10, 30, 70)]), 12.0)]
        [(10.0, 30.0, 70.0)]
    """
    flat = rules[(rules[:, 3] - rules[:, 1] < 0.3 * tall) & (rules[:, 2] - rules[:, 0] > 0.3 * tall)]
    joined: list[list[float]] = []  # y, x0, x1
    middle = (flat[:, 1] + flat[:, 3]) / 2
    flat = flat[np.argsort(middle, kind="stable")]
    middle = np.sort(middle)
    level = np.cumsum(np.diff(middle, prepend=-inf) > 0.15 * tall)  # edges of neighbouring cells lie a hair apart
    ranked = np.lexsort((flat[:, 0], level))
    seen = -1
    for number, y, (x0, _, x1, _) in zip(
        level[ranked].tolist(), middle[ranked].tolist(), flat[ranked].tolist(), strict=True
    ):
        if joined and number == seen and x0 <= joined[-1][2] + 0.4 * tall:
            joined[-1][2] = max(joined[-1][2], x1)
        else:
            joined.append([y, x0, x1])
        seen = number
    found: list[tuple[float, float, list[float]]] = []
    for y, x0, x1 in joined:
        for left, right, at in reversed(found):
            if abs(left - x0) <= tall and abs(right - x1) <= tall:
                at.append(y)
                break
        else:
            found.append((x0, x1, [y]))
    upright = rules[(rules[:, 2] - rules[:, 0] < 0.3 * tall) & (rules[:, 3] - rules[:, 1] > 0.5 * tall)]
    sides = [((x0 + x1) / 2, y0, y1) for x0, y0, x1, y1 in upright.tolist()]
    return [
        Table(x0, x1, tuple(at), tuple(s for s in sides if x0 < s[0] < x1 and s[2] > at[0] and s[1] < at[-1]))
        for x0, x1, at in found
        if len(at) >= RULES and x1 - x0 > 6.0 * tall
    ]
