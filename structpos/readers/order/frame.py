"""Frames: each word is looked at the way it is written, so that every line runs left to right and downwards."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# A page is turned to a direction that holds this share of its characters. Text on its head gets the higher bar: a page
# of which three quarters are mirrored or turned by half is still held upright by its reader.
DOMINANT = {0: 0.0, 1: 0.75, 2: 0.90, 3: 0.75}
ISLAND_CAP = 1500  # words of one direction on one page; above, they make one island


def to_display(boxes: Floats, rotation: int, width: float, height: float) -> Floats:
    """Move boxes of the unturned page onto the page as displayed.

    Args:
        boxes: ``(n, 4)`` x0, y0, x1, y1 in points of the unturned page, origin top left.
        rotation: The page's own rotation in degrees clockwise: 0, 90, 180 or 270.
        width: Of the page as displayed [pt].
        height: Of the page as displayed [pt].

    Returns:
        ``(n, 4)`` boxes in points of the displayed page.

    Example:
        >>> to_display(np.array([[10.0, 20.0, 30.0, 40.0]]), 90, 200.0, 100.0)
        array([[160.,  10., 180.,  30.]])
    """
    x0, y0, x1, y1 = boxes.T
    turned = {
        0: (x0, y0, x1, y1),
        90: (width - y1, x0, width - y0, x1),
        180: (width - x1, height - y1, width - x0, height - y0),
        270: (y0, height - x1, y1, height - x0),
    }
    return np.stack(turned[rotation % 360], axis=1)


def turn(boxes: Floats, quarter: int, width: float, height: float) -> Floats:
    """Turn a page until text that runs ``quarter`` quarter turns clockwise runs left to right.

    Example:
        >>> turn(np.array([[160.0, 10.0, 180.0, 30.0]]), 1, 200.0, 100.0)  # reads downwards, the rightmost line first
        array([[10., 20., 30., 40.]])
    """
    return to_display(boxes, -90 * quarter % 360, *((height, width) if quarter % 2 else (width, height)))


def slanted(boxes: Floats, degrees: float) -> Floats:
    """Upright boxes of words that run at an angle, from the boxes around their slanted outlines.

    The middle is turned back about the origin; width and height follow from the outer box where the angle is not too
    near 45 degrees, and from the smaller side there.
    """
    radians = np.deg2rad(degrees)
    cos, sin = float(np.cos(radians)), float(np.sin(radians))
    across, down = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    mx, my = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    x, y = cos * mx + sin * my, cos * my - sin * mx
    c, s = abs(cos), abs(sin)
    det = c * c - s * s
    if abs(det) > 0.2:
        length, height = (c * across - s * down) / det, (c * down - s * across) / det
    else:
        length, height = np.maximum(across, down), np.minimum(across, down) / (c + s)
    height = np.maximum(height, 0.2 * np.minimum(across, down))
    length = np.maximum(length, 0.2 * height)
    return np.stack([x - length / 2, y - height / 2, x + length / 2, y + height / 2], axis=1)


def runs_at(angle: Floats, vertical: Flags | None) -> Floats:
    """Direction in which each word runs, in degrees clockwise, 0 to 360; vertical writing runs downwards."""
    angle = np.asarray(np.round(np.mod(angle, 360.0), 1) % 360.0, np.float64)  # a new array
    if vertical is not None:
        angle[vertical & (angle == 0.0)] = 90.0
    return angle


def islands(boxes: Floats, reach: float, drop: float) -> Ints:
    """Number the groups of boxes that come closer than ``reach`` in x and ``drop`` in y [pt], also in a chain."""
    n = len(boxes)
    if n > ISLAND_CAP:
        return np.zeros(n, np.int64)
    x0, y0, x1, y1 = boxes.T
    near = (
        (x0[:, None] < x1 + reach) & (x0 < x1[:, None] + reach) & (y0[:, None] < y1 + drop) & (y0 < y1[:, None] + drop)
    )
    label = np.arange(n)
    while True:
        lower = np.where(near, label, n).min(axis=1)
        lower = lower[lower]
        if (lower == label).all():
            return np.unique(label, return_inverse=True)[1].astype(np.int64)
        label = lower


def frames(
    page: Ints,
    boxes: Floats,
    angle: Floats | None,
    vertical: Flags | None,
    weight: Ints,
    sizes: Mapping[int, tuple[float, float]],
) -> tuple[Floats, Ints, dict[int, int], dict[int, int]]:
    """Put every word into the frame it is read in.

    Args:
        page: ``(n,)`` page of each word.
        boxes: ``(n, 4)`` displayed boxes [pt].
        angle: As in :func:`structpos.readers.order.read_order`.
        vertical: As there.
        weight: ``(n,)`` characters of each word.
        sizes: Displayed size of each page [pt].

    Returns:
        The boxes in their frames; the region of each word (first one for each page, in ascending order of the pages,
        then one for each island of words that run another way); the quarter turns of each page where directions were
        looked at; the region of the page of each island.
    """
    numbers, region = np.unique(page, return_inverse=True)
    region = region.astype(np.int64)
    quarters: dict[int, int] = {}
    home: dict[int, int] = {}
    if angle is None and vertical is None:
        return boxes, region, quarters, home
    way = runs_at(np.zeros(len(page)) if angle is None else angle, vertical)
    if not way.any():
        return boxes, region, quarters, home
    framed = boxes.copy()
    following = len(numbers)
    for place in np.unique(region[way != 0.0]).tolist():
        mine = np.flatnonzero(region == place)
        number = int(numbers[place])
        width, height = sizes[number]
        quarter = np.round(way[mine] / 90.0).astype(np.int64) % 4
        tilt = np.abs(way[mine] - 90.0 * np.round(way[mine] / 90.0))
        upright = tilt <= 5.0
        share = np.bincount(quarter[upright], weights=weight[mine][upright], minlength=4) / max(
            int(weight[mine].sum()), 1
        )
        main = next((q for q in (1, 2, 3) if share[q] >= DOMINANT[q]), 0)
        quarters[number] = main
        rest = ~(upright & (quarter == main))
        if rest.all() and len(np.unique(way[mine])) == 1:  # all at one slant: the page has no other frame
            framed[mine] = slanted(boxes[mine], float(way[mine][0]))
            continue
        body = mine[~rest]
        framed[body] = turn(boxes[body], main, width, height) if main else boxes[body]
        tilted = way[body] % 90.0 != 0.0
        if tilted.any():  # a scan that lies a little askew: all words turn back by what most of them are off
            off = float(np.median((way[body] + 45.0) % 90.0 - 45.0))
            framed[body] = slanted(framed[body], off) if off else framed[body]
        for degrees in np.unique(way[mine][rest]).tolist():
            some = mine[rest & (way[mine] == degrees)]
            turned = boxes[some] if degrees == 0.0 else slanted(boxes[some], degrees)
            tall = float(np.median(turned[:, 3] - turned[:, 1]))
            group = islands(turned, 1.5 * tall, tall)
            framed[some] = turned
            region[some] = following + group
            for island in range(int(group.max()) + 1):
                home[following + island] = place
            following += int(group.max()) + 1
    return framed, region, quarters, home
