"""The gate: which pages may hold columns at all; the rest are read line by line without a closer look."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structpos.readers.order.frame import Flags, Floats, Ints
from structpos.readers.order.judge import LABEL, WIDE
from structpos.readers.order.lines import BASELINE, heights, starts_of
from structpos.readers.order.margin import LEAST
from structpos.readers.order.rivers import FREE, TWO_GRIDS

REACH = 8  # lines over which two gaps can belong to one river
AHEAD = 16  # gaps compared with each gap


def gate(boxes: Floats, line: Ints, group: Ints, first: Ints, token: Callable[[Ints], list[str]]) -> Ints:
    """Groups in which gaps lie over each other, two grids of lines run side by side, or lines are numbered.

    Args:
        boxes: ``(n, 4)`` of words sorted by line and left edge [pt].
        line: Of the same words.
        group: Of the same words.
        first: First word of each cell, from :func:`structpos.readers.order.lines.cells`.
        token: Gives the text of some of the words.

    Returns:
        Numbers of the groups, ascending.
    """
    if len(first) < 2:
        return np.zeros(0, np.int64)
    tall = heights(boxes)
    before, after = first[:-1], first[1:]
    inner = line[after] == line[before]
    before, after = before[inner], after[inner]  # cells beside a wide gap on their line
    passes: list[Ints] = []
    if len(after):
        x0, x1 = boxes[after - 1, 2], boxes[after, 0]
        row, of, unit = line[after], group[after], tall[after]
        text = x0 - boxes[before, 0] > LABEL * unit  # not just a number or a label before the gap
        wide = (x1 - x0 >= FREE * unit) & (text | (x1 - x0 >= WIDE * unit))
        x0, x1, row, of, unit = x0[wide], x1[wide], row[wide], of[wide], unit[wide]
        seen = np.zeros(len(x0), np.int64)
        for ahead in range(1, min(AHEAD, len(x0) - 1) + 1):
            near = (row[ahead:] - row[:-ahead] <= REACH) & (row[ahead:] != row[:-ahead]) & (of[ahead:] == of[:-ahead])
            over = np.minimum(x1[ahead:], x1[:-ahead]) - np.maximum(x0[ahead:], x0[:-ahead])
            unit_ = unit[:-ahead]
            pair = near & (over >= 1.2 * unit_) & (np.abs(x1[ahead:] - x1[:-ahead]) <= 0.6 * unit_)
            pair |= near & (over >= WIDE * unit_)
            seen[:-ahead] += np.where(pair, 2, near & (over >= FREE * unit_))
        passes.append(of[seen >= 2])
        opening = (before == 0) | (line[before] != line[before - 1])
        alone = before[opening & (after - before == 1)]  # one word, then a gap: perhaps the number of a line
        alone = alone[np.bincount(group[alone], minlength=int(group[-1]) + 1)[group[alone]] >= LEAST]
        counted = alone[np.array([word.isdecimal() for word in token(alone)], bool)]
        passes.append(np.flatnonzero(np.bincount(group[counted], minlength=1) >= LEAST))
    start = starts_of(line)
    stop = np.append(start[1:], len(line)) - 1
    base = boxes[start, 1] + BASELINE * tall[start]
    same = group[start[1:]] == group[start[:-1]]
    close = same & (np.diff(base) < TWO_GRIDS * tall[start][1:])
    beside: Flags = (boxes[stop[:-1], 2] < boxes[start[1:], 0]) | (boxes[stop[1:], 2] < boxes[start[:-1], 0])
    passes.append(group[start[1:]][close & beside])
    return np.unique(np.concatenate(passes))
