"""One page of a PDF, as MuPDF stores it: words, the direction of their lines, and what is out of the ordinary."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.readers.characters import REPLACEMENT, has_arabic, mend_lam_alef, normalise_all, ordinary, unreadable
from structpos.readers.pdf_forms import Field, fields
from structpos.readers.pdf_hidden import SCANNED, hidden_words, looks_hidden, style_of
from structpos.readers.pdf_painted import picture_share

KEEP_LIGATURES = 1  # the one text flag set: no picture is decoded, unknown characters stay unknown, nothing is cut off
MUCH_UNREADABLE = 0.03  # share of a page's characters from which it is called suspicious

_FONT_AND_STYLE = itemgetter("font", "alpha", "color", "char_flags")

Word = tuple[float, float, float, float, str, int, int, int]


@dataclass(slots=True)
class RawPage:
    """What was found on one page; boxes in points of the unturned page, origin top left.

    Args:
        number: Page, from 0.
        width, height: Size as displayed [pt].
        rotation: The page's own rotation, in degrees clockwise.
        user_unit: Size of the page's unit [1/72 inch].
        words: Box, text as stored, block, line, number.
        texts: Normalised texts of the words.
        angles: Degrees clockwise of each word on the unturned page; None where all run left to right.
        vertical: Whether each word is written downwards letter by letter; None where none is.
        hidden: Whether each word paints nothing; None where all do.
        fields: Form fields.
        scanned: A picture with an invisible layer of text, which is taken as its text.
        copies: Words that only repeat others as clip paths.
        replacement: Characters without a Unicode value.
        suspicious: Why the characters can't be trusted; empty where they can.
        error: Why the page could not be read; empty where it could.
    """

    number: int
    width: float = 0.0
    height: float = 0.0
    rotation: int = 0
    user_unit: float = 1.0
    words: list[Word] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    angles: list[float] | None = None
    vertical: list[bool] | None = None
    hidden: NDArray[np.bool_] | None = None
    fields: list[Field] = field(default_factory=list)
    scanned: bool = False
    copies: int = 0
    replacement: int = 0
    suspicious: str = ""
    error: str = ""


class FontCheck:
    """Which fonts of a document have no way from their glyphs to characters; each font is looked at once."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.known: set[str] = set()
        self.bad: set[str] = set()
        self._seen: set[int] = set()

    def unmapped(self, page: Any, names: set[str]) -> set[str]:
        """Those of the fonts named on a page whose text says nothing sure."""
        if not names <= self.known:
            self.known |= names
            for xref, extension, kind, name, _, encoding, *_ in page.get_fonts():
                if xref in self._seen:
                    continue
                self._seen.add(xref)
                if kind == "TrueType" and extension != "n/a" and not encoding and "+" in name:
                    if self.document.xref_get_key(xref, "ToUnicode")[0] == "null":
                        self.bad.add(name.split("+", 1)[1])
        return names & self.bad


def harvest(document: Any, number: int, library: Any, fonts: FontCheck, *, forms: bool, units: bool) -> RawPage:
    """Read one page; what only few pages have is looked at only there.

    Args:
        document: The open ``pymupdf.Document``.
        number: Page, from 0.
        library: PyMuPDF.
        fonts: What is known of the document's fonts.
        forms: Whether the document has form fields.
        units: Whether a page may have a user unit.
    """
    page = document.load_page(number)
    rect = page.rect
    raw = RawPage(number, float(rect.width), float(rect.height), page.rotation)
    if units:
        raw.user_unit = _user_unit(document, page)
    text_page = page.get_textpage(clip=library.INFINITE_RECT(), flags=KEEP_LIGATURES)
    words: list[Word] = text_page.extractWORDS()
    blocks: list[dict[str, Any]] = text_page.extractDICT()["blocks"]
    if forms:
        raw.fields = fields(page, library)
    if not words:
        return raw
    lines = [line for block in blocks for line in block["lines"]]
    try:
        styled = {_FONT_AND_STYLE(span) for line in lines for span in line["spans"]}
    except KeyError:  # MuPDF before 1.25
        styled = {(span["font"], *style_of(span)) for line in lines for span in line["spans"]}
    if any(line["dir"] != (1.0, 0.0) or line["wmode"] for line in lines):
        _directions(raw, words, blocks)
    if looks_hidden(style[1:] for style in styled):
        _hide(raw, page, words, hidden_words(page, words, blocks))
    raw.words = words
    raw.texts = [word[4] for word in words]
    joined = "".join(raw.texts)
    names = {style[0] for style in styled}
    if not ordinary(joined):
        if has_arabic(joined):
            raw.texts = mend_lam_alef(words, _letters(text_page))
        raw.texts = normalise_all(raw.texts, joined)
        _judge_characters(raw, page)
    if bad := fonts.unmapped(page, names):
        raw.suspicious = "; ".join([*filter(None, [raw.suspicious]), f"no character map in {', '.join(sorted(bad))}"])
    return raw


def _user_unit(document: Any, page: Any) -> float:
    kind, value = document.xref_get_key(page.xref, "UserUnit")
    return float(value) if kind in ("int", "float", "real") else 1.0


def _directions(raw: RawPage, words: list[Word], blocks: list[dict[str, Any]]) -> None:
    ways: dict[tuple[int, int], tuple[float, bool]] = {}
    for block in blocks:
        for index, line in enumerate(block["lines"]):
            x, y = line["dir"]
            angle = round(float(np.degrees(np.arctan2(y, x))), 1) % 360.0
            ways[block["number"], index] = (angle, bool(line["wmode"]))
    found = [ways.get((word[5], word[6]), (0.0, False)) for word in words]
    raw.angles = [angle for angle, _ in found]
    raw.vertical = [vertical for _, vertical in found] if any(vertical for _, vertical in found) else None


def _hide(raw: RawPage, page: Any, words: list[Word], state: NDArray[np.int8]) -> None:
    """Note the hidden words; take them for the text of the page where it is a scan and has no other."""
    clips = state == 2
    if clips.any():
        raw.copies = int(clips.sum())
        for index in np.flatnonzero(clips)[::-1].tolist():
            del words[index]
            for values in (raw.angles, raw.vertical):
                if values is not None:
                    del values[index]
        state = state[~clips]
    hidden = state == 1
    if hidden.all() and picture_share(page) >= SCANNED:
        raw.scanned = True
    elif hidden.any():
        raw.hidden = hidden


def _letters(text_page: Any) -> dict[tuple[int, int], list[tuple[str, float]]]:
    """Characters and their widths of the lines with Arabic in them."""
    found: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for block in text_page.extractRAWDICT()["blocks"]:
        for index, line in enumerate(block["lines"]):
            letters = [
                (letter["c"], letter["bbox"][2] - letter["bbox"][0])
                for span in line["spans"]
                for letter in span["chars"]
                if not letter["c"].isspace()
            ]
            found[block["number"], index] = letters
    return found


def _judge_characters(raw: RawPage, page: Any) -> None:
    """Count the characters that say nothing; drop words of glyphs that are only drawn."""
    joined = "".join(raw.texts)
    raw.replacement = joined.count(REPLACEMENT)
    share = unreadable(joined) / max(len(joined), 1)
    if share > MUCH_UNREADABLE:
        raw.suspicious = f"{share:.0%} of the characters say nothing"
    if raw.replacement and not joined.strip(REPLACEMENT) and _only_drawn(page):
        raw.words, raw.texts, raw.angles, raw.vertical, raw.hidden = [], [], None, None, None


def _only_drawn(page: Any) -> bool:
    """Whether all fonts are of Type 3: glyphs without a character are little drawings there, not words."""
    return all(font[2] == "Type3" for font in page.get_fonts())
