"""Boxes made fit for use: corners in order, inside the page, as fractions or as whole thousandths of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_VISIBLE = 0.05  # share of a word's width and height that must lie on the page for the word to be seen


class TidyBoxes(NamedTuple):
    """Boxes on the page, and what was done to them.

    Args:
        boxes: ``(n, 4)`` x0, y0, x1, y1 with x0 <= x1, y0 <= y1, cut at the edges of the page.
        inside: ``(n,)`` whether anything of the box can be seen on the page.
        clipped: ``(n,)`` whether it was cut at an edge.
        swapped: ``(n,)`` whether its corners came in the wrong order.
    """

    boxes: NDArray[np.float64]
    inside: NDArray[np.bool_]
    clipped: NDArray[np.bool_]
    swapped: NDArray[np.bool_]


def tidy_boxes(
    boxes: NDArray[np.float64], width: float | NDArray[np.float64], height: float | NDArray[np.float64]
) -> TidyBoxes:
    """Put corners in order and cut boxes at the edges of their page.

    Args:
        boxes: ``(n, 4)`` in the unit of ``width`` and ``height``, origin top left.
        width: Width of the page, or ``(n,)`` one for each box.
        height: Height of the page, or ``(n,)`` one for each box.

    Returns:
        TidyBoxes: a box that is not finite or of which less than 5 % lies on the page is not ``inside``.

    Example:
        >>> tidy_boxes(np.array([[10.0, 50.0, 20.0, 40.0]]), 100.0, 100.0).boxes
        array([[10., 40., 20., 50.]])
    """
    finite = np.isfinite(boxes.sum(axis=1))
    if not finite.all():
        boxes = np.where(finite[:, None], boxes, -1.0)
    x0, y0, x1, y1 = boxes.T
    swapped = (x1 < x0) | (y1 < y0)
    if swapped.any():
        x0, x1, y0, y1 = np.minimum(x0, x1), np.maximum(x0, x1), np.minimum(y0, y1), np.maximum(y0, y1)
    left, right = np.clip(x0, 0.0, width), np.clip(x1, 0.0, width)
    top, bottom = np.clip(y0, 0.0, height), np.clip(y1, 0.0, height)
    seen_x = (right - left >= LEAST_VISIBLE * (x1 - x0)) & (x1 >= 0.0) & (x0 <= width)
    seen_y = (bottom - top >= LEAST_VISIBLE * (y1 - y0)) & (y1 >= 0.0) & (y0 <= height)
    clipped = (left != x0) | (right != x1) | (top != y0) | (bottom != y1)
    tidied = np.stack([left, top, right, bottom], axis=1)
    return TidyBoxes(tidied, finite & seen_x & seen_y, clipped, swapped)


def thousandths(boxes: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Boxes as whole numbers from 0 to 1000, as layout models take them, and how many had to be clamped.

    Args:
        boxes: ``(n, 4)`` fractions of the displayed page.

    Example:
        >>> thousandths(np.array([[0.0721, 0.5, 0.2, 1.024], [-0.001, 0.1, 0.2, 0.3]]))
        (array([[  72,  500,  200, 1000],
               [   0,  100,  200,  300]]), 2)
    """
    scaled = np.rint(boxes * 1000.0).astype(np.int64)
    clamped = np.clip(scaled, 0, 1000)
    return clamped, int((clamped != scaled).any(axis=1).sum())
