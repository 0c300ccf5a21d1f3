"""Visual lines: the words that stand beside each other, whatever block or column they belong to.

All words of a document go through these functions at once, sorted by ``group`` (a page, or an island of turned words):
nothing here is done word by word, or page by page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structpos.readers.order.frame import Flags, Floats, Ints

BASELINE = 0.78125  # share of a word's box above its baseline; 25/32, so that moving a page rounds nothing differently
STEP = 0.32  # baselines further apart than this share of the smaller word are two lines
CHAIN = 0.5  # lines whose baselines spread further [heights] are several lines that touch
RECUT = 0.45  # their new lines reach this far from their first baseline [heights]
SAME_PLACE = 0.25  # copies start no further apart [heights]


def heights(boxes: Floats) -> Floats:
    """Heights of the boxes [pt]; flat ones count as a tenth of a point high."""
    return np.maximum(boxes[:, 3] - boxes[:, 1], 0.1)


def starts_of(group: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    return np.flatnonzero(np.concatenate([np.ones(min(len(group), 1), bool), group[1:] != group[:-1]]))


def offsets(group: Ints, values: Floats) -> Floats:
    """What to add to ``values`` so that those of a later group are larger than those of every earlier one."""
    if not len(values):
        return np.zeros(0)
    stride = np.ceil(float(values.max() - values.min())) + 1000.0
    return np.asarray(group * stride, np.float64)


def medians(group: Ints, values: Floats) -> Floats:
    """The (lower) median of each run of equal numbers in ``group``, which is sorted; one for each run, in order."""
    start = starts_of(group)
    if not len(start):
        return np.zeros(0)
    shift = offsets(group, values)
    ranked = values[np.argsort(values + shift)]  # groups stay where they are
    size = np.diff(np.append(start, len(group)))
    return np.asarray(ranked[start + (size - 1) // 2], np.float64)


def line_numbers(base: Floats, tall: Floats, group: Ints) -> Ints:
    """Number the lines of words sorted by group and baseline, over all groups, from 0.

    Args:
        base: ``(n,)`` baselines [pt].
        tall: ``(n,)`` heights [pt].
        group: ``(n,)`` sorted.
    """
    if not len(base):
        return np.zeros(0, np.int64)
    new = np.ones(len(base), bool)
    new[1:] = (group[1:] != group[:-1]) | (np.diff(base) > STEP * np.minimum(tall[1:], tall[:-1]))
    start = np.flatnonzero(new)
    stop = np.append(start[1:], len(base))
    middle = np.add.reduceat(tall, start) / (stop - start)
    for i in np.flatnonzero(base[stop - 1] - base[start] > CHAIN * middle).tolist():
        at, end, reach = int(start[i]), int(stop[i]), RECUT * float(middle[i])
        while True:
            at += int(np.searchsorted(base[at:end], base[at] + reach, side="right"))
            if at >= end:
                break
            new[at] = True
    return np.cumsum(new) - 1


def settle(place: Ints, key: Floats, boxes: Floats, text: Sequence[str]) -> Ints:
    """Give exact ties of a sorted ``key`` an order of their own: by box, then by text, never by place of storage."""
    if len(place) < 2:
        return place
    same = key[1:] == key[:-1]
    if not same.any():
        return place
    edge = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    for a, b in edge.reshape(-1, 2).tolist():
        run = place[a : b + 1].tolist()
        run.sort(key=lambda i: (*boxes[i, [0, 2, 1, 3]].tolist(), text[i]))
        place[a : b + 1] = run
    return place


def visual_lines(boxes: Floats, group: Ints, text: Sequence[str], *, raised: bool = True) -> tuple[Ints, Ints]:
    """Gather words into visual lines.

    Args:
        boxes: ``(n, 4)`` boxes in their frames [pt].
        group: ``(n,)`` numbers of pages and islands.
        text: The n words; they decide between words in one and the same place only.
        raised: Put superscripts and subscripts on the line they belong to.

    Returns:
        ``place``: the words sorted by group, line and left edge; ``line``: the number of the line of each of these,
        over all groups, from 0.

    Example:
        >>> boxes = np.array([[60.0, 10, 90, 20], [10, 10.4, 50, 20.4], [10, 24, 50, 34]])
        >>> place, line = visual_lines(boxes, np.zeros(3, int), ["world", "hello", "again"])
        >>> place.tolist(), line.tolist()
        ([1, 0, 2], [0, 0, 1])
    """
    tall = heights(boxes)
    base = np.round(boxes[:, 1] + BASELINE * tall, 6)
    key = base + offsets(group, base)
    place = np.argsort(key)
    ordered = key[place]
    tied = ordered[1:] == ordered[:-1]
    if (tied & (np.diff(tall[place]) != 0.0)).any():  # which of two equal baselines comes first matters
        place = np.lexsort((tall, key))
    line = line_numbers(base[place], tall[place], group[place])
    left = boxes[place, 0]
    place, line = _by_left_edge(place, line, left, boxes, text)
    if raised:
        moved = _raise(boxes[place], tall[place], line, group[place])
        if moved is not None:
            place, line = _by_left_edge(place, moved, boxes[place, 0], boxes, text)
            line = np.cumsum(np.concatenate([[0], (np.diff(line) != 0)]))
    return place, line


def _by_left_edge(place: Ints, line: Ints, left: Floats, boxes: Floats, text: Sequence[str]) -> tuple[Ints, Ints]:
    key = left + offsets(line, left)
    again = np.argsort(key)
    return settle(place[again], key[again], boxes, text), line[again]


def _raise(boxes: Floats, tall: Floats, line: Ints, group: Ints) -> Ints | None:
    """Lines after small lone words have joined the line of the bigger word they touch; None where nothing moves."""
    if not len(line):
        return None
    start = starts_of(group)
    size = np.diff(np.append(start, len(group)))
    usual = np.repeat(medians(group, tall), size)
    x0, y0, x1, y1 = boxes.T
    alone = 1.2 * tall
    gap = np.full(len(line) + 1, np.inf)  # before each word, on its own line
    gap[1:-1] = np.where(line[1:] == line[:-1], x0[1:] - x1[:-1], np.inf)
    small = np.flatnonzero((tall < 0.8 * usual) & (gap[:-1] > alone) & (gap[1:] > alone))
    if not len(small):
        return None
    shift = offsets(line, x0)
    stride = shift[-1] / max(int(line[-1]), 1)
    key = x0 + shift
    best = np.full(len(small), np.inf)
    target = line[small].copy()
    for beside in (-1, 1, -2, 2):
        at = np.searchsorted(key, x0[small] + shift[small] + beside * stride)
        for candidate in (at - 1, at):
            c = np.clip(candidate, 0, len(line) - 1)
            fits = (line[c] == line[small] + beside) & (group[c] == group[small]) & (tall[c] > tall[small] / 0.8)
            over = np.minimum(y1[c], y1[small]) - np.maximum(y0[c], y0[small])
            away = np.maximum(np.maximum(x0[c] - x1[small], x0[small] - x1[c]), 0.0)
            fits &= (over >= 0.5 * tall[small]) & (away <= 0.35 * tall[c])
            score = np.where(fits, away - over / 1000.0, np.inf)
            better = score < best
            best[better] = score[better]
            target[better] = line[c][better]
    moves = np.isfinite(best)
    if not moves.any():
        return None
    moved = line.copy()
    moved[small[moves]] = target[moves]
    return moved


def copies(boxes: Floats, place: Ints, line: Ints, text: Sequence[str]) -> tuple[Flags, Ints]:
    """Find words drawn again in nearly the same place, as fake bold does.

    Args:
        boxes: ``(n, 4)`` in frames [pt].
        place: From :func:`visual_lines`.
        line: From there; copies lie on one line, next to each other.
        text: The n words.

    Returns:
        Which words to keep, and which word each one is a copy of (itself where it is kept).
    """
    keep = np.ones(len(boxes), bool)
    original = np.arange(len(boxes))
    x0, y0 = boxes[place, 0], boxes[place, 1]
    near = SAME_PLACE * heights(boxes)[place]
    for ahead in range(1, 5):
        if ahead >= len(place):
            break
        close = (line[ahead:] == line[:-ahead]) & (x0[ahead:] - x0[:-ahead] <= near[:-ahead])
        close &= np.abs(y0[ahead:] - y0[:-ahead]) <= near[:-ahead]
        for i in np.flatnonzero(close).tolist():
            first, second = int(place[i]), int(place[i + ahead])
            if keep[second] and text[first] == text[second]:
                keep[second] = False
                original[second] = original[first]
    return keep, original


def cells(boxes: Floats, line: Ints, group: Ints) -> tuple[Ints, Floats]:
    """Break lines where a gap is wider than a space.

    Args:
        boxes: ``(n, 4)`` of words sorted by line and left edge [pt].
        line: Of the same words.
        group: Of the same words.

    Returns:
        The first word of each cell, and the median gap between words of each group [pt], repeated for each word.
    """
    n = len(line)
    if not n:
        return np.zeros(0, np.int64), np.zeros(0)
    tall = heights(boxes)
    far = boxes[:, 2] + offsets(line, boxes[:, 2])
    reach = np.maximum.accumulate(far) - (far - boxes[:, 2])  # right edge of all words so far on the line
    gap = np.zeros(n)
    gap[1:] = boxes[1:, 0] - reach[:-1]
    new = np.ones(n, bool)
    new[1:] = line[1:] != line[:-1]
    wordy = np.flatnonzero(~new & (gap > 0.0) & (gap < 2.0 * tall))
    usual = np.zeros(int(group[-1]) + 1)
    usual[group[wordy][starts_of(group[wordy])]] = medians(group[wordy], gap[wordy])
    space = usual[group]
    return np.flatnonzero(new | (gap > np.maximum(0.9 * tall, 2.1 * space))), space


__all__ = ["cells", "copies", "heights", "medians", "starts_of", "visual_lines"]
