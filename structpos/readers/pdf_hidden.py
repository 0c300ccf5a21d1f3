"""Text that is in the file and not on the page: invisible, white on white, or the layer behind a scan.

Nothing here runs on an ordinary page; :func:`looks_hidden` decides that from the styles of a page's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Style = tuple[int, int, int]  # alpha 0-255, colour 0xRRGGBB, how it is painted (bits of MuPDF's char_flags)

SEEN: Style = (255, 0, 0)
UNNAMED = ("Type3", "Unnamed-T3")  # how MuPDF calls Type 3 fonts without a name
FAINT = 5  # alpha up to this paints nothing that a person sees [of 255]
WHITE = 250  # a colour with every channel at least this is white [of 255]
UNTOLD = -1  # alpha of a span whose library does not tell it
CLIPS = 64  # text used as a clip path
SCANNED = 0.5  # share of the page under pictures, from which invisible text is the layer of a scan


def style_of(span: dict[str, Any]) -> Style:
    """Alpha, colour and paint bits of a span; alpha is -1 from a MuPDF before 1.25, which does not tell it."""
    return span.get("alpha", UNTOLD), span.get("color", 0), span.get("char_flags", 0)


def is_white(colour: int) -> bool:
    """Whether a colour 0xRRGGBB can't be told from white paper.

    Example:
        >>> is_white(0xFFFFFF), is_white(0xFFFF00)
        (True, False)
    """
    return min(colour >> 16 & 255, colour >> 8 & 255, colour & 255) >= WHITE


def looks_hidden(styles: Iterable[Style]) -> bool:
    """Whether any of a page's styles may paint nothing; always where alpha is not told."""
    return any(alpha <= FAINT or is_white(colour) for alpha, colour, _ in styles)


def hidden_words(page: Any, words: Sequence[tuple[Any, ...]], blocks: list[dict[str, Any]]) -> NDArray[np.int8]:
    """Which words paint nothing.

    Args:
        page: The open page.
        words: As extracted: box at 0-3, text at 4, block at 5, line at 6.
        blocks: Of the dictionary of the same text page.

    Returns:
        ``(n,)``: 0 seen, 1 not painted, 2 a copy of a seen word that only serves as a clip path.
    """
    styles = _styles(words, blocks, _drawn_glyphs(page))
    boxes = np.array([word[:4] for word in words], np.float64).reshape(-1, 4)
    if any(alpha == UNTOLD for alpha, _, _ in styles):
        unseen = _traced(page, boxes)
        styles = [(0 if hides else 255, *style[1:]) for hides, style in zip(unseen, styles, strict=True)]
    invisible = np.array([alpha <= FAINT and not flags & CLIPS for alpha, _, flags in styles], np.bool_)
    clips = np.array([alpha <= FAINT and bool(flags & CLIPS) for alpha, _, flags in styles], np.bool_)
    white = np.array([alpha > FAINT and is_white(colour) for alpha, colour, _ in styles], np.bool_)
    state = invisible.astype(np.int8)
    doubtful = white | clips
    if doubtful.any():
        dark = _dark_behind(page, boxes)
        outlined = _outlined(page, boxes) if white.any() else np.zeros(len(boxes), np.bool_)
        state[doubtful & ~dark & ~outlined] = 1
    places = [(word[4], *(round(side, 1) for side in word[:4])) for word in words]
    seen = {place for place, hides in zip(places, (invisible | clips).tolist(), strict=True) if not hides}
    for index in np.flatnonzero(clips).tolist():
        if places[index] in seen:
            state[index] = 2
    return state


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


def _drawn_glyphs(page: Any) -> set[str]:
    """Names of the Type 3 fonts: their glyphs are little drawings, whose text MuPDF reports as not painted."""
    return {font[3] for font in page.get_fonts() if font[2] == "Type3"}


def _styles(words: Sequence[tuple[Any, ...]], blocks: list[dict[str, Any]], drawn: set[str]) -> list[Style]:
    """Style of each word: that of the first seen letter in it."""
    lines = {
        (block["number"], index): line["spans"] for block in blocks for index, line in enumerate(block.get("lines", ()))
    }
    found: list[Style] = []
    reached: dict[tuple[int, int], int] = {}
    for word in words:
        key = (word[5], word[6])
        spans = lines.get(key, [])
        styles = [
            SEEN if span["font"] in drawn or span["font"].startswith(UNNAMED) else style_of(span) for span in spans
        ]
        if len(set(styles)) <= 1:
            found.append(styles[0] if styles else SEEN)
            continue
        text = "".join(span["text"] for span in spans)
        start = max(text.find(word[4], reached.get(key, 0)), 0)
        end = reached[key] = start + len(word[4])
        position, inside = 0, []
        for span, style in zip(spans, styles, strict=True):
            if position < end and position + len(span["text"]) > start:
                inside.append(style)
            position += len(span["text"])
        found.append(next((style for style in inside if not looks_hidden([style])), inside[0] if inside else styles[0]))
    return found


def _covers(boxes: NDArray[np.float64], rect: Sequence[float]) -> NDArray[np.bool_]:
    """Which boxes have their middle inside a rectangle."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return (x >= rect[0]) & (x <= rect[2]) & (y >= rect[1]) & (y <= rect[3])


def _dark_behind(page: Any, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words have something other than white behind their middle.

    What is painted later lies on top; but a white shape only where it is a level rectangle that holds the whole word,
    so that a doubt is settled for the word.
    """
    fills = {drawing["seqno"]: drawing for drawing in page.get_cdrawings() if "f" in (drawing.get("type") or "")}
    dark = np.zeros(len(boxes), np.bool_)
    for number, (kind, (x0, y0, x1, y1)) in enumerate(page.get_bboxlog()):
        if "text" in kind or "stroke" in kind or kind.startswith("ignore"):
            continue
        drawing = fills.get(number)
        colour = drawing.get("fill") if drawing else None
        if drawing and (drawing.get("fill_opacity") or 0.0) * 255 <= FAINT:
            continue
        if colour is None or min(colour) * 255 < WHITE:
            dark |= _covers(boxes, (x0, y0, x1, y1))
        elif drawing and all(item[0] == "re" for item in drawing["items"]):
            left, top, right, bottom = boxes.T
            dark &= ~((left >= x0 - 1.0) & (top >= y0 - 1.0) & (right <= x1 + 1.0) & (bottom <= y1 + 1.0))
    return dark


def _outlined(page: Any, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words have letters with a drawn outline that is not white."""
    outlined = np.zeros(len(boxes), np.bool_)
    for span in page.get_texttrace():
        if span["type"] == 1 and min(span["color"] or (0.0,)) * 255 < WHITE:
            outlined |= _covers(boxes, span["bbox"])
    return outlined


def _traced(page: Any, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words are invisible by the trace of the page, which every MuPDF has and which takes longer."""
    seen, unseen = np.zeros(len(boxes), np.bool_), np.zeros(len(boxes), np.bool_)
    for span in page.get_texttrace():
        invisible = span["type"] == 3 or span.get("opacity", 1.0) * 255 <= FAINT
        (unseen if invisible else seen)[_covers(boxes, span["bbox"])] = True
    return unseen & ~seen
