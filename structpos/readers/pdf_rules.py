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
    found: list[tuple[float, float, float, float]] = []
    for drawing in drawings:
        stroked = "s" in (drawing.get("type") or "")
        for item in drawing["items"]:
            if item[0] == "l":
                (ax, ay), (bx, by) = item[1], item[2]
                if abs(ax - bx) <= 1.0 or abs(ay - by) <= 1.0:
                    found.append((min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)))
            elif item[0] == "re":
                x0, y0, x1, y1 = item[1]
                if x1 - x0 <= THIN or y1 - y0 <= THIN:
                    found.append((x0, y0, x1, y1))
                elif stroked:
                    found += [(x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)]
    return to_display(np.array(found, np.float64).reshape(-1, 4), raw.rotation, raw.width, raw.height)
