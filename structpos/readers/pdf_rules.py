"""Lines drawn on a page: they part columns and rows where geometry alone leaves a doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.readers.order import to_display
from structpos.readers.pdf_page import RawPage

THIN = 3.0  # a filled rectangle up to this wide or high is a line [pt]


def drawn_rules(document: Any, raw: RawPage) -> NDArray[np.float64]:
    """Level and upright lines drawn on a page, ``(m, 4)`` in points of the displayed page; none where that fails."""
    try:
        drawings = document.load_page(raw.number).get_cdrawings()
    except Exception:
        return np.zeros((0, 4))
    lines = [(*item[1], *item[2]) for drawing in drawings for item in drawing["items"] if item[0] == "l"]
    boxes = [
        (*item[1], "s" in (drawing.get("type") or ""))
        for drawing in drawings
        for item in drawing["items"]
        if item[0] == "re"
    ]
    ax, ay, bx, by = np.array(lines, np.float64).reshape(-1, 4).T
    straight = (np.abs(ax - bx) <= 1.0) | (np.abs(ay - by) <= 1.0)
    drawn = np.stack([np.minimum(ax, bx), np.minimum(ay, by), np.maximum(ax, bx), np.maximum(ay, by)], axis=1)[straight]
    x0, y0, x1, y1, stroked = np.array(boxes, np.float64).reshape(-1, 5).T
    thin = (x1 - x0 <= THIN) | (y1 - y0 <= THIN)
    framed = (stroked > 0) & ~thin
    sides = ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1))
    found = [drawn, np.stack([x0, y0, x1, y1], axis=1)[thin], *(np.stack(side, axis=1)[framed] for side in sides)]
    return to_display(np.concatenate(found), raw.rotation, raw.width, raw.height)
