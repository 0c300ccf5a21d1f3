"""Right-to-left lines: the order of words inside a line, by its base direction and its runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
LTR, RTL, NEUTRAL = 0, 1, 2


def any_rtl(text: Sequence[str]) -> bool:
    """Whether any of the words holds a letter of a right-to-left script."""
    joined = "".join(text)
    if joined.isascii():
        return False
    high = np.frombuffer(
        joined.encode("utf-16-le", "surrogatepass"), np.uint16
    )  # quicker than a search, page after page
    return bool((high >= 0x590).any()) and _RTL.search(joined) is not None


def letters(word: str) -> tuple[int, int]:
    """Number of right-to-left and of other letters in a word.

    Example:
        >>> letters("abc"), letters("\u05d1\u05df"), letters("14")
        ((0, 3), (2, 0), (0, 0))
    """
    right = len(_RTL.findall(word))
    return right, sum(c.isalpha() for c in word) - sum(c.isalpha() for c in _RTL.findall(word))


def mostly_rtl(text: Sequence[str]) -> bool:
    """Whether most of the letters of some words belong to right-to-left scripts."""
    if not any_rtl(text):
        return False
    right, left = letters("".join(text))
    return right > left


def way(word: str) -> int:
    """Direction of one word: LTR, RTL, or NEUTRAL for numbers and signs."""
    right, left = letters(word)
    return RTL if right > left else LTR if left else NEUTRAL


def line_order(words: Sequence[str]) -> tuple[list[int], bool]:
    """Put the words of a line, given from left to right, in the order in which they are read.

    Args:
        words: Words of one line from left to right.

    Returns:
        Their indices in reading order, and whether the line as a whole runs right to left.

    Example:
        >>> line_order(["A", "line", "\u05d2\u05d3", "\u05d0\u05d1", "embedded"])
        ([0, 1, 3, 2, 4], False)
    """
    counts = [letters(word) for word in words]
    right, left = sum(c[0] for c in counts), sum(c[1] for c in counts)
    base = RTL if right > left else LTR
    if not right:
        return list(range(len(words))), False
    ways = [RTL if r > other else LTR if other else NEUTRAL for r, other in counts]
    against = LTR if base == RTL else RTL  # runs of the other direction turn round as a whole
    sequence = list(range(len(words)))
    if base == RTL:
        sequence.reverse()
    result: list[int] = []
    run: list[int] = []

    def flush() -> None:
        tail: list[int] = []
        while against == RTL and run and ways[run[-1]] == NEUTRAL:  # numbers after a run belong to the line
            tail.insert(0, run.pop())
        if any(ways[i] == against for i in run):
            run.reverse()
        result.extend(run + tail)
        run.clear()

    for i in sequence:
        if ways[i] == against or (ways[i] == NEUTRAL and (run or against == LTR)):
            run.append(i)
        else:
            flush()
            result.append(i)
    flush()
    return result, base == RTL


__all__ = ["LTR", "NEUTRAL", "RTL", "any_rtl", "letters", "line_order", "mostly_rtl", "way"]
