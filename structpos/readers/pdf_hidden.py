"""Text that is in the file and not on the page: invisible, white on white, or the layer behind a scan.

Nothing here runs on an ordinary page; :func:`looks_hidden` decides that from the styles of a page's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.readers.pdf_painted import FAINT, dark_behind, dark_outline, is_white, traced_unseen

Style = tuple[int, int, int]  # alpha 0-255, colour 0xRRGGBB, how it is painted (bits of MuPDF's char_flags)

SEEN: Style = (255, 0, 0)
UNNAMED = ("Type3", "Unnamed-T3")  # how MuPDF calls Type 3 fonts without a name
UNTOLD = -1  # alpha of a span whose library does not tell it
CLIPS = 64  # text used as a clip path
SCANNED = 0.5  # share of the page under pictures, from which invisible text is the layer of a scan


def style_of(span: dict[str, Any]) -> Style:
    """Alpha, colour and paint bits of a span; alpha is -1 from a MuPDF before 1.25, which does not tell it."""
    return span.get("alpha", UNTOLD), span.get("color", 0), span.get("char_flags", 0)


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
        unseen = traced_unseen(page, boxes)
        styles = [(0 if hides else 255, *style[1:]) for hides, style in zip(unseen, styles, strict=True)]
    invisible = np.array([alpha <= FAINT and not flags & CLIPS for alpha, _, flags in styles], np.bool_)
    clips = np.array([alpha <= FAINT and bool(flags & CLIPS) for alpha, _, flags in styles], np.bool_)
    white = np.array([alpha > FAINT and is_white(colour) for alpha, colour, _ in styles], np.bool_)
    state = invisible.astype(np.int8)
    if (doubtful := np.flatnonzero(white | clips)).size:
        gone = doubtful[~dark_behind(page, boxes[doubtful])]
        if white[gone].any():
            gone = gone[~(white[gone] & dark_outline(page, boxes[gone]))]
        state[gone] = 1
    if clips.any():
        places = [(word[4], *(round(side, 1) for side in word[:4])) for word in words]
        seen = {place for place, hides in zip(places, (invisible | clips).tolist(), strict=True) if not hides}
        for index in np.flatnonzero(clips).tolist():
            if places[index] in seen:
                state[index] = 2
    return state


def _drawn_glyphs(page: Any) -> set[str]:
    """Names of the Type 3 fonts: their glyphs are little drawings, whose text MuPDF reports as not painted."""
    return {font[3] for font in page.get_fonts() if font[2] == "Type3"}


def _styles(words: Sequence[tuple[Any, ...]], blocks: list[dict[str, Any]], drawn: set[str]) -> list[Style]:
    """Style of each word: that of the first seen letter in it."""
    lines: dict[tuple[int, int], list[tuple[str, Style]]] = {}
    for block in blocks:
        for index, line in enumerate(block["lines"]):
            lines[block["number"], index] = [
                (span["text"], SEEN if span["font"] in drawn or span["font"].startswith(UNNAMED) else style_of(span))
                for span in line["spans"]
            ]
    single = {key: spans[0][1] for key, spans in lines.items() if len({style for _, style in spans}) == 1}
    found: list[Style] = []
    reached: dict[tuple[int, int], int] = {}
    for word in words:
        key = (word[5], word[6])
        if key in single:
            found.append(single[key])
            continue
        spans = lines.get(key, [])
        start = max("".join(text for text, _ in spans).find(word[4], reached.get(key, 0)), 0)
        end = reached[key] = start + len(word[4])
        position, inside = 0, [SEEN]
        for text, style in spans:
            if position < end and position + len(text) > start:
                inside.append(style)
            position += len(text)
        found.append(next((style for style in inside[1:] if not looks_hidden([style])), inside[-1]))
    return found
