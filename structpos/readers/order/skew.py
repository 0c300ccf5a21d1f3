"""Pages that lie a little askew, as scans do: their lines are levelled before they are told apart."""

from __future__ import annotations

import numpy as np

from structpos.readers.order.frame import Floats, Ints
from structpos.readers.order.lines import BASELINE, heights

LEAST = 0.004  # slopes below this move no line by a third of its height over a page
MOST = 0.1  # slopes above this (6 degrees) are no accident
UNEVEN = 0.3  # share of neighbours on other heights that makes a page worth a closer look
PAIRS = 10  # neighbours that are enough to tell
BETTER = 1.1  # how much sharper the lines of a page must become


def slopes(boxes: Floats, line: Ints, group: Ints) -> Floats:
    """How far the lines of each group fall per point to the right; 0 where they are level.

    Args:
        boxes: ``(n, 4)`` of words sorted by line and left edge [pt].
        line: Of the same words.
        group: Of the same words.

    Returns:
        One slope for each number up to the last group.
    """
    found = np.zeros(int(group[-1]) + 1 if len(group) else 0)
    base = boxes[:, 1] + BASELINE * heights(boxes)
    across = np.maximum(boxes[1:, 0] - boxes[:-1, 0], 0.1)
    beside = (line[1:] == line[:-1]) & (across < 12.0 * heights(boxes)[1:])
    uneven = beside & (np.abs(np.diff(base)) > LEAST * across)
    if uneven.sum() < max(UNEVEN * PAIRS, 1):
        return found
    pairs = np.bincount(group[1:][beside], minlength=len(found))
    wrong = np.bincount(group[1:][uneven], minlength=len(found))
    for number in np.flatnonzero((pairs >= PAIRS) & (wrong >= UNEVEN * pairs)).tolist():
        a, b = np.searchsorted(group, [number, number + 1])
        found[number] = _sharpest((boxes[a:b, 0] + boxes[a:b, 2]) / 2, base[a:b], heights(boxes[a:b]))
    return found


def _sharpest(x: Floats, base: Floats, tall: Floats) -> float:
    """The slope at which most baselines fall together; 0 where that is hardly better than level."""
    bin_size = 0.25 * float(np.median(tall))
    x, base = x - x.mean(), base - base.min()  # so that the place of the text on its page decides nothing
    step = bin_size / max(float(np.ptp(x)), bin_size)
    level = best = _sharpness(0.0, x, base, bin_size)
    slope = 0.0
    for width, reach in ((step, MOST), (step / 5, step)):
        for candidate in (slope + np.arange(-reach, reach + width / 2, width)).tolist():
            sharp = _sharpness(candidate, x, base, bin_size)
            if sharp > best:
                best, slope = sharp, candidate
    return slope if best > BETTER * level and abs(slope) > LEAST / 4 else 0.0


def _sharpness(slope: float, x: Floats, base: Floats, bin_size: float) -> float:
    place = np.floor((base - slope * x) / bin_size).astype(np.int64)
    counts = np.bincount(place - place.min()).astype(np.float64)
    near = counts.copy()  # two bins together, so that an edge between bins does not part a line
    near[1:] += counts[:-1]
    return float((near * near).sum())


def levelled(boxes: Floats, slope: Floats) -> Floats:
    """Boxes turned back about the corner of their page; ``slope`` is that of each word."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return boxes + np.stack([slope * y, -slope * x, slope * y, -slope * x], axis=1)
