"""Columns or rows: whether the two sides of a river are read one after the other, or across."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np

from structpos.readers.order.frame import Floats
from structpos.readers.order.page import Page
from structpos.readers.order.rivers import Cell, River, Row
from structpos.readers.order.signatures import is_label, repeated

LABEL = 4.0  # a cell no wider than this many heights may be a label
WIDE = 9.0  # a label does not stand further than this many heights from its text
_FILLER = re.compile(r"[-–—_.]{2,}|(?<!\S)[-–—_](?!\S)")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Verdict:
    """What a river separates, and by which rule."""

    kind: str  # "columns", "rows", or "entries": a row of cells at a time
    reason: str

    @property
    def cuts(self) -> bool:
        """Whether the region is cut at the river."""
        return self.kind != "rows"


def numeric(words: Sequence[str]) -> bool | None:
    """Whether a cell is mostly digits; None where it holds nothing but dashes, underscores or dots.

    Example:
        >>> numeric(["$", "1,024.50"]), numeric(["Total", "of", "2"]), numeric(["--"])
        (True, False, None)
    """
    body = _FILLER.sub("", " ".join(words)).strip()
    if not body:
        return None
    digits = len(_DIGIT.findall(body))
    return digits > len(_LETTER.findall(body))


def mostly_numeric(cells: Sequence[Cell], page: Page) -> bool:
    """Whether half of the cells that say anything are numbers."""
    kinds = [kind for kind in (numeric(page.words(cell)) for cell in cells) if kind is not None]
    return bool(kinds) and 2 * sum(kinds) >= len(kinds)


class Sides:
    """What the rules ask about a river; each answer is worked out once, when asked."""

    def __init__(self, river: River, rows: Sequence[Row], others: Sequence[River], page: Page, pitch: float) -> None:
        self.river, self.rows, self.others, self.page, self.pitch = river, rows, others, page, pitch
        tall = self.tall = page.tall
        self.left, self.right = river.left, river.right
        self.gap = (river.x1 - river.x0) / tall

    def _width(self, cells: Sequence[Cell]) -> float:
        return median([cell.x1 - cell.x0 for cell in cells]) / self.tall

    @property
    def lines(self) -> int:
        """Lines of the side that has fewer."""
        return min(len(self.left), len(self.right))

    @cached_property
    def left_width(self) -> float:
        """Median width of the left cells [heights]."""
        return self._width(self.left)

    @cached_property
    def right_width(self) -> float:
        """Median width of the right cells [heights]."""
        return self._width(self.right)

    @cached_property
    def flush(self) -> float:
        """Share of the right cells whose left edges agree."""
        return _agree([cell.x0 for cell in self.right], 0.6 * self.tall)

    @cached_property
    def centred(self) -> float:
        """Share of the right cells whose middles agree."""
        return _agree([(cell.x0 + cell.x1) / 2 for cell in self.right], 0.6 * self.tall)

    @cached_property
    def numbers_right(self) -> bool:
        """Whether the right cells are mostly numbers."""
        return mostly_numeric(self.right, self.page)

    @cached_property
    def numbers_left(self) -> bool:
        """Whether the left cells are mostly numbers."""
        return mostly_numeric(self.left, self.page)

    @cached_property
    def parallel(self) -> int:
        """Other rivers that run beside this one."""
        mine = self.river
        return sum(
            1
            for r in self.others
            if r is not mine
            and (r.x1 <= mine.x0 or r.x0 >= mine.x1)
            and _shared(r, mine) >= 0.5 * (mine.last - mine.first + 1)
        )

    @cached_property
    def terms(self) -> bool:
        """Whether the left cells are terms that the right ones explain: they end in a colon, or stand far apart."""
        beside = {cell.line for cell in self.right}
        partners = sum(cell.line in beside for cell in self.left)
        if partners < 2:
            return False
        colons = sum(self.page.words(cell)[-1].endswith(":") for cell in self.left)
        if 2 * colons >= len(self.left):
            return partners >= 0.6 * len(self.left)
        return partners >= 0.8 * len(self.left) and self.fits and len(self.right) >= 1.5 * len(self.left)

    @cached_property
    def guarded(self) -> bool:
        """A few rows in the middle of prose: the line above or below runs across."""
        river, rows = self.river, self.rows
        if river.last - river.first + 1 >= 6 or self.gap >= 6.0:
            return False
        pitch = 1.3 * self.pitch
        for inner, outer in ((river.first, river.first - 1), (river.last, river.last + 1)):
            if 0 <= outer < len(rows) and abs(rows[outer].y - rows[inner].y) <= pitch:
                if any(cell.x0 < river.x0 and cell.x1 > river.x1 for cell in rows[outer].cells):
                    return True
        return False

    @cached_property
    def fits(self) -> bool:
        """Whether the sides look like columns at all: aligned, far enough apart, not a chance gap in prose."""
        many = self.river.last - self.river.first + 1 >= 6
        return max(self.flush, self.centred) >= 0.5 and self.gap >= (0.8 if many else 1.2) and not self.guarded


def _agree(places: Sequence[float], within: float) -> float:
    """Largest share of the places that lie within ``within`` of one of them."""
    ranked = sorted(places)
    return max(bisect_right(ranked, p + within) - bisect_left(ranked, p - within) for p in ranked) / len(ranked)


def _shared(one: River, other: River) -> int:
    return min(one.last, other.last) - max(one.first, other.first) + 1


def ruled(river: River, rows: Sequence[Row], rules: Floats, tall: float) -> tuple[float, float, float]:
    """How much of a river vertical rules cover (share), and from where to where they go [pt]."""
    top, bottom = rows[river.first].y - 0.8 * tall, rows[river.last].y + 0.2 * tall
    inside = (
        (rules[:, 2] - rules[:, 0] < 0.3 * tall)
        & (rules[:, 3] - rules[:, 1] > 0.5 * tall)
        & (rules[:, 0] >= river.x0 - 0.3 * tall)
        & (rules[:, 2] <= river.x1 + 0.3 * tall)
        & (rules[:, 3] > top)
        & (rules[:, 1] < bottom)
    )
    if not inside.any():
        return 0.0, top, bottom
    pieces = rules[inside][:, [1, 3]]
    pieces = pieces[np.argsort(pieces[:, 0])]
    covered, edge = 0.0, top
    for y0, y1 in pieces.tolist():
        covered += max(min(y1, bottom) - max(y0, edge), 0.0)
        edge = max(edge, y1)
    return covered / max(bottom - top, 1e-9), float(pieces[:, 0].min()), float(pieces[:, 1].max())


def repeated_labels(s: Sides) -> Verdict | None:
    """Parties sign side by side: ``By:`` and ``By:``, ``Name:`` and ``Name:``."""
    labels = repeated(s.river, s.rows, s.page, s.pitch)
    if any(map(is_label, labels)) and not s.numbers_right:
        if len(labels) >= 2 or (s.gap >= 1.5 and s.flush >= 0.3):
            return Verdict("columns", "repeated labels")
    return None


def labels(s: Sides) -> Verdict | None:
    """Numbers of clauses, bullets, short labels: they belong to the text beside them."""
    narrow = all(cell.x1 - cell.x0 <= LABEL * s.tall for cell in s.left)
    narrow = narrow or (s.left_width <= LABEL and len(s.right) >= 1.5 * len(s.left))
    return Verdict("rows", "labels") if narrow and s.gap < WIDE else None


def numbers(s: Sides) -> Verdict | None:
    """A table of numbers is read across, but for numbers that a drawn line parts from the rest."""
    if s.numbers_right:
        return Verdict("rows", "numbers right")
    return (drawn_apart(s) or Verdict("rows", "numbers left")) if s.numbers_left else None


def terms(s: Sides) -> Verdict | None:
    """Terms on the left, what they mean on the right."""
    return Verdict("entries", "terms") if s.terms else None


def long_lines(s: Sides) -> Verdict | None:
    """Running text on both sides."""
    least = min(median([cell.last - cell.first for cell in side]) for side in (s.left, s.right))
    if s.fits and s.lines >= 3 and least >= 3 and min(s.left_width, s.right_width) >= 9.0:
        return Verdict("columns", "long lines")
    return None


def blocks(s: Sides) -> Verdict | None:
    """Two blocks of about as many lines, and not a table of more columns."""
    even = 0.6 <= len(s.right) / len(s.left) <= 1.7
    if (
        s.fits
        and s.lines >= 3
        and even
        and s.gap >= 1.5
        and min(s.left_width, s.right_width) >= 3.0
        and s.parallel <= 1
    ):
        return Verdict("columns", "blocks")
    return None


def wide_gap(s: Sides) -> Verdict | None:
    """Far apart, lined up, and nothing on the left that asks for its right side."""
    asks = any(s.page.words(cell)[-1].endswith(":") for cell in s.left)
    if s.fits and s.lines >= 2 and s.gap >= WIDE and s.flush >= 0.8 and s.parallel <= 2 and not asks:
        return Verdict("columns", "wide gap")
    return None


def drawn_apart(s: Sides) -> Verdict | None:
    """A vertical rule in this river, and not in most of those beside it."""
    rules = s.page.rules
    if rules is None or s.lines < 3 or not s.fits:
        return None
    lines = rules()
    if not len(lines) or ruled(s.river, s.rows, lines, s.tall)[0] < 0.6:
        return None
    beside = [r for r in s.others if r is not s.river and _shared(r, s.river) > 0]
    drawn = sum(ruled(r, s.rows, lines, s.tall)[0] >= 0.6 for r in beside)
    return Verdict("columns", "ruled") if drawn <= 0.6 * len(beside) else None


RULES = (repeated_labels, labels, numbers, terms, long_lines, blocks, wide_gap, drawn_apart)


def judge(sides: Sides) -> Verdict:
    """Decide one river; the first of the ``RULES`` that has a verdict decides.

    Args:
        sides: The river and what surrounds it; the drawings of the page are asked for only where they can decide.
    """
    for rule in RULES:
        verdict = rule(sides)
        if verdict:
            return verdict
    return Verdict("rows", "nothing says columns")
