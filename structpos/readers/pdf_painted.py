"""What a page paints behind its text: fills, pictures, outlines. Asked only where text may not be seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FAINT = 5  # alpha up to this paints nothing that a person sees [of 255]
WHITE = 250  # a colour with every channel at least this is white [of 255]
SLACK = 1.0  # how far a word may reach beyond a shape that holds it [pt]


def is_white(colour: int) -> bool:
    """Whether a colour 0xRRGGBB can't be told from white paper.

    Example:
        >>> is_white(0xFFFFFF), is_white(0xFFFF00)
        (True, False)
    """
    return min(colour >> 16 & 255, colour >> 8 & 255, colour & 255) >= WHITE


def dark_behind(page: Any, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words have something other than white behind their middle.

    What is painted later lies on top; but a white shape only where it is a level rectangle that holds the whole word,
    so that a doubt is settled for the word. Pictures are looked for only where no fill decides: that takes longer.

    Args:
        page: The open page.
        boxes: ``(n, 4)`` boxes of words in points of the unturned page.
    """
    darks, pales = [], []
    for drawing in page.get_cdrawings():
        if "f" not in (drawing.get("type") or "") or (drawing.get("fill_opacity") or 0.0) * 255 <= FAINT:
            continue
        colour = drawing.get("fill")
        if colour is None or min(colour) * 255 < WHITE:
            darks.append((drawing["seqno"], *drawing["rect"]))
        elif all(item[0] == "re" for item in drawing["items"]):
            pales.append((drawing["seqno"], *drawing["rect"]))
    middles = np.tile((boxes[:, :2] + boxes[:, 2:]) / 2, 2)
    dark, pale = _last_around(middles, darks), _last_around(boxes + np.array([SLACK, SLACK, -SLACK, -SLACK]), pales)
    if (dark <= pale).any():
        pictures = [
            (number, *rect)
            for number, (kind, rect) in enumerate(page.get_bboxlog())
            if "image" in kind or "imgmask" in kind or "shade" in kind
        ]
        dark = np.maximum(dark, _last_around(middles, pictures))
    return dark > pale


def _last_around(boxes: NDArray[np.float64], shapes: list[tuple[float, ...]]) -> NDArray[np.float64]:
    """For each box the number of the last shape (number, x0, y0, x1, y1) that holds it; -1 where none does."""
    number, x0, y0, x1, y1 = np.array(shapes, np.float64).reshape(-1, 5).T
    left, top, right, bottom = boxes.T[:, :, None]
    held = (left >= x0) & (top >= y0) & (right <= x1) & (bottom <= y1)  # (box, shape)
    last: NDArray[np.float64] = np.where(held, number, -1.0).max(axis=1, initial=-1.0)
    return last


def dark_outline(page: Any, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words have letters with a drawn outline that is not white."""
    outlined = np.zeros(len(boxes), np.bool_)
    for span in page.get_texttrace():
        if span["type"] == 1 and min(span["color"] or (0.0,)) * 255 < WHITE:
            outlined |= _covered(boxes, span["bbox"])
    return outlined


def traced_unseen(page: Any, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words are invisible by the trace of the page, which every MuPDF has and which takes longer."""
    seen, unseen = np.zeros(len(boxes), np.bool_), np.zeros(len(boxes), np.bool_)
    for span in page.get_texttrace():
        invisible = span["type"] == 3 or span.get("opacity", 1.0) * 255 <= FAINT
        (unseen if invisible else seen)[_covered(boxes, span["bbox"])] = True
    return unseen & ~seen


def picture_share(page: Any) -> float:
    """Share of the page that lies under pictures, overlaps counted twice, at most 1."""
    width, height = float(page.rect.width), float(page.rect.height)
    if page.rotation % 180:
        width, height = height, width
    area = 0.0
    for kind, (x0, y0, x1, y1) in page.get_bboxlog():
        if "image" in kind or "imgmask" in kind:
            area += max(0.0, min(x1, width) - max(x0, 0.0)) * max(0.0, min(y1, height) - max(y0, 0.0))
    return min(1.0, area / max(width * height, 1e-9))


def _covered(boxes: NDArray[np.float64], rect: Sequence[float]) -> NDArray[np.bool_]:
    """Which boxes have their middle inside a rectangle."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return (x >= rect[0]) & (x <= rect[2]) & (y >= rect[1]) & (y <= rect[3])
