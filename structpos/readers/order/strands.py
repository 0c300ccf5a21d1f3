"""Strands: runs of words that are read in one go, a line of a page or of one of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from structpos.readers.order import bidi
from structpos.readers.order.cut import Leaf, arrange
from structpos.readers.order.frame import Floats, Ints
from structpos.readers.order.gate import gate
from structpos.readers.order.lines import BASELINE, cells, heights, medians, starts_of, visual_lines
from structpos.readers.order.page import Note, Page
from structpos.readers.order.rivers import Cell

Rules = Callable[[], Floats]
MARGINAL = 3  # an island beside at least so many lines, and over none, stands in the margin
EDGES = (np.minimum, np.minimum, np.maximum, np.maximum)  # of several boxes together


@dataclass
class Strands:
    """Words in reading order; the arrays run along that order.

    Attributes:
        words: Numbers of the words.
        strand: Number of the line each word is read in, ascending.
        leaf: Number of the part of the page it stands in, ascending.
        column: Number of the column.
        group: Page or island.
    """

    words: Ints
    strand: Ints
    leaf: Ints
    column: Ints
    group: Ints


def follow(
    place: Ints,
    line: Ints,
    group: Ints,
    boxes: Floats,
    text: Sequence[str],
    rules: Mapping[int, Rules],
    rtl: bool,
) -> tuple[Strands, dict[int, list[Note]]]:
    """Cut pages into leaves where they have columns, and line the words of each leaf up.

    Args:
        place: From :func:`structpos.readers.order.lines.visual_lines`, without copies.
        line: From there.
        group: Of the words as sorted.
        boxes: ``(n, 4)`` of all words, in their frames [pt].
        text: All words.
        rules: For some groups, what gives the line segments drawn there.
        rtl: Whether any of the words is right to left.
    """
    sorted_boxes = boxes[place]
    first, _ = cells(sorted_boxes, line, group)
    strands = Strands(place.copy(), line.copy(), group.copy(), np.zeros(len(place), np.int64), group)
    notes: dict[int, list[Note]] = {}
    looked_at = gate(sorted_boxes, line, group, first, lambda at: [text[i] for i in place[at].tolist()])
    if not len(looked_at):
        return strands, notes
    usual = medians(group, heights(sorted_boxes))
    present = group[starts_of(group)]
    left, right = sorted_boxes[:, 0].tolist(), sorted_boxes[:, 2].tolist()
    laid: list[tuple[int, Leaf]] = []  # first word of the page, leaf
    for g in looked_at.tolist():
        a, b = np.searchsorted(group, [g, g + 1]).tolist()
        mine = [text[i] for i in place[a:b].tolist()]
        tall = float(usual[np.searchsorted(present, g)])
        page = Page(tall, mine, left[a:b], right[a:b], rules.get(g), rtl and bidi.mostly_rtl(mine))
        c, d = np.searchsorted(first, [a, b]).tolist()
        opening = np.union1d(first[c:d] - a, _ruled_apart(mine))
        leaves, _ = arrange(_cells_of(sorted_boxes[a:b], line[a:b], opening), page)
        notes[g] = page.notes
        if len(leaves) > 1:
            laid += [(a, leaf) for leaf in leaves]
    if laid:
        _lay(strands, laid, boxes, text)
    return strands, notes


def _ruled_apart(text: Sequence[str]) -> Ints:
    """Words drawn as a rule right after another rule: two blanks to be filled in, however close they stand."""
    rules = [i for i, word in enumerate(text) if word[:3] in ("---", "___", "===")]
    return np.array([j for i, j in pairwise(rules) if j == i + 1], np.int64)


def _cells_of(boxes: Floats, line: Ints, first: Ints) -> list[Cell]:
    last = np.append(first[1:], len(line))
    right = np.maximum.reduceat(boxes[:, 2], first)
    base = boxes[first, 1] + BASELINE * heights(boxes[first])
    columns = (boxes[first, 0], right, base, line[first], first, last)
    return [Cell(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _lay(strands: Strands, laid: Sequence[tuple[int, Leaf]], boxes: Floats, text: Sequence[str]) -> None:
    """Write the words of some pages leaf by leaf, each leaf lined up by its own words alone."""
    counts = [[c.last - c.first for c in leaf.cells] for _, leaf in laid]
    local = [a + i for a, leaf in laid for c in leaf.cells for i in range(c.first, c.last)]
    tints = [-1 if i in leaf.spanning else leaf.column for _, leaf in laid for i in range(len(leaf.cells))]
    mine = strands.words[local]
    leaf_of = np.repeat(np.arange(len(laid)), [sum(count) for count in counts])
    column = np.repeat(tints, [n for count in counts for n in count])
    place, line = visual_lines(boxes[mine], leaf_of, [text[i] for i in mine.tolist()])
    at = np.sort(local)  # the pages keep their places
    strands.words[at] = mine[place]
    strands.column[at] = column[place]
    strands.leaf[at] = leaf_of[place]
    strands.strand[at] = line


def runs(strands: Strands) -> Ints:
    """First word of each strand."""
    new = np.ones(len(strands.words), bool)
    new[1:] = np.diff(strands.strand) != 0
    new[1:] |= np.diff(strands.leaf) != 0
    new[1:] |= np.diff(strands.group) != 0
    return np.flatnonzero(new)


def right_to_left(strands: Strands, text: Sequence[str]) -> Ints:
    """Turn lines of right-to-left scripts the way they are read, in place.

    Returns:
        The words that run right to left: those written so, and signs and numbers on lines that run so.
    """
    found: list[int] = []
    start = runs(strands)
    marked = np.array([bidi.any_rtl([text[i]]) for i in strands.words.tolist()])
    hit = np.logical_or.reduceat(marked, start)
    stop = np.append(start[1:], len(strands.words))
    for a, b in zip(start[hit].tolist(), stop[hit].tolist(), strict=True):
        words = strands.words[a:b].tolist()
        sequence, rtl = bidi.line_order([text[i] for i in words])
        strands.words[a:b] = [words[i] for i in sequence]
        strands.column[a:b] = strands.column[a:b][sequence]
        for i in words:
            way = bidi.way(text[i])
            if way == bidi.RTL or (way == bidi.NEUTRAL and rtl):
                found.append(i)
    return np.array(found, np.int64)


def with_islands(strands: Strands, line: Ints, shown: Floats, home: Mapping[int, int]) -> tuple[Strands, Ints]:
    """Put islands before the line of their page that follows below them, and those of the margin after its last line.

    Args:
        strands: Pages first, islands last.
        line: ``(n,)`` visual line of each word, numbered over all groups; the later a group, the higher.
        shown: ``(n, 4)`` in the frames of the pages [pt].
        home: Group of the page that each island stands on.

    Returns:
        The strands, page by page, and the lines, numbered anew.
    """
    start = runs(strands)
    edges_of = np.stack([f.reduceat(shown[strands.words, i], start) for i, f in enumerate(EDGES)])
    edges = np.append(starts_of(strands.group), len(strands.group))
    span = {int(strands.group[a]): (a, b) for a, b in pairwise(edges.tolist())}
    guests: dict[int, list[tuple[float, float, float, float, int]]] = {}
    for island, page in home.items():
        if island in span:
            box = shown[strands.words[slice(*span[island])]]
            x0, y0, x1, y1 = (float(f.reduce(box[:, i])) for i, f in enumerate(EDGES))
            guests.setdefault(page, []).append((y0, y1, x0, x1, island))
    pieces: list[Ints] = []
    renumbered = line.copy()
    pages = sorted((set(span) - set(home)) | set(home.values()))
    following = 0
    for page in pages:
        a, b = span.get(page, (0, 0))
        mine = (start >= a) & (start < b)
        lines = line[strands.words[a:b]]
        numbers, at = np.unique(lines, return_inverse=True)
        tops = np.full(len(numbers), np.inf)
        np.minimum.at(tops, at, shown[strands.words[a:b], 1])
        cuts: list[tuple[int, int]] = []  # position in reading order, island
        before: list[tuple[int, int]] = []  # line of the page, island
        for y0, y1, x0, x1, island in sorted(guests.get(page, [])):
            cuts.append((_before(edges_of[:, mine], (x0, y0, x1, y1), start[mine], b), island))
            under = np.flatnonzero(tops >= y1)
            before.append((int(under[0]) if len(under) else len(numbers), island))
        edge = a
        for position, island in sorted(cuts, key=lambda c: c[0]):
            pieces += [np.arange(edge, position), np.arange(*span[island])]
            edge = position
        pieces.append(np.arange(edge, b))
        before.sort(key=lambda c: c[0])
        shift = np.zeros(len(numbers) + 1, np.int64)
        added = 0
        for position, island in before:
            words = strands.words[slice(*span[island])]
            own, inner = np.unique(line[words], return_inverse=True)
            renumbered[words] = following + position + added + inner
            added += len(own)
            shift[position:] += len(own)
        renumbered[strands.words[a:b]] = following + at + shift[at]
        following += len(numbers) + added
    turn = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
    fields = (strands.words, strands.strand, strands.leaf, strands.column, strands.group)
    return Strands(*(array[turn] for array in fields)), renumbered


def _before(strands: Floats, island: tuple[float, float, float, float], start: Ints, end: int) -> int:
    """Where in the reading order of its page an island goes.

    Args:
        strands: ``(4, m)`` left, top, right and bottom of the strands of the page.
        island: Of the island.
        start: First word of each strand.
        end: End of the page.
    """
    x0, y0, x1, y1 = island
    left, top, right, bottom = strands
    over = (left < x1) & (right > x0)
    if ((top < y1) & (bottom > y0)).sum() >= MARGINAL and not over.any():
        return end
    below = np.flatnonzero(top >= y1)
    under = np.flatnonzero((top >= y1) & over)
    first = under if len(under) else below
    return int(start[first[0]]) if len(first) else end


def blocks(strands: Strands, page: Ints, boxes: Floats) -> Ints:
    """Number the blocks of text of each page: lines of one leaf that follow closely and are of one size.

    Args:
        strands: Words in reading order.
        page: ``(n,)`` page of each word.
        boxes: ``(n, 4)`` in frames [pt].

    Returns:
        Block of each word along the reading order.
    """
    start = runs(strands)
    size = np.diff(np.append(start, len(strands.words)))
    own = boxes[strands.words]
    tall = np.add.reduceat(heights(own), start) / size
    base = np.add.reduceat(own[:, 1] + BASELINE * heights(own), start) / size
    part = strands.leaf[start] + strands.group[start] * (int(strands.leaf.max()) + 1)
    new = np.ones(len(start), bool)
    step = np.diff(base)
    inside = part[1:] == part[:-1]
    run = np.cumsum(~np.concatenate([[False], inside])) - 1
    pitch = np.full(len(start), np.inf)
    if inside.any():
        usual = medians(run[1:][inside], step[inside])
        pitch[:] = np.inf
        known = run[1:][inside][starts_of(run[1:][inside])]
        table = np.full(int(run[-1]) + 1, np.inf)
        table[known] = usual
        pitch = table[run]
    unit = np.minimum(tall[1:], tall[:-1])
    limit = 1.35 * np.clip(pitch[1:], 0.9 * unit, 2.0 * unit)
    new[1:] = ~inside | (step > limit) | (step < -0.5 * unit) | (np.maximum(tall[1:], tall[:-1]) > 1.3 * unit)
    number = np.cumsum(new) - 1
    first = starts_of(page[strands.words[start]])
    paged = number - np.repeat(number[first], np.diff(np.append(first, len(start))))
    return np.repeat(paged, size)
