"""hOCR: HTML whose elements say in their title where they stand on the page, in pixels."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from structpos.readers.boxes.raw import RawWords, Size, bad, number, whole

_LINES = {"ocr_line", "ocr_header", "ocr_footer", "ocr_caption", "ocr_textfloat", "ocrx_line"}
_WORDS = {"ocrx_word", "ocr_word"}
_BLOCKS = {"ocr_carea", "ocrx_block"}
_NEVER_CLOSED = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def from_hocr(path: Path, text: str) -> RawWords:
    r"""Words of an hOCR file, of Tesseract or of other tools that mark words.

    Raises:
        ReadError: no word is marked, or a word or page has no box; the message names the line.

    Example:
        >>> page = "<div class='ocr_page' title='image \"a.png\"; bbox 0 0 600 800; ppageno 0'>"
        >>> word = "<span class='ocrx_word' title='bbox 60 80 90 92; x_wconf 96'><strong>R&amp;D</strong></span>"
        >>> words = from_hocr(Path("page.hocr"), page + word + "</div>")
        >>> words.text, words.boxes.tolist(), words.sizes
        (['R&D'], [[60.0, 80.0, 90.0, 92.0]], {0: (600.0, 800.0)})
    """
    parser = _Parser(path)
    parser.feed(text)
    parser.close()
    if not parser.pages:
        raise bad(path, "no element of class ocr_page was found; this is HTML, but no hOCR.")
    # Files put after one another all call their page 0; their order then counts.
    stated = [page.numbered for page in parser.pages]
    clear = len(set(stated)) == len(stated) and None not in stated
    number_of = [int(page) for page in stated if page is not None] if clear else list(range(len(stated)))
    words = [word for word in parser.words if word.text.strip()]
    pages = [parser.pages[word.page] for word in words]
    return RawWords(
        path=path,
        text=[word.text.strip() for word in words],
        page=np.array([number_of[word.page] for word in words], np.int64),
        boxes=np.array(
            [np.subtract(word.box, page.origin * 2) for word, page in zip(words, pages, strict=True)], np.float64
        ).reshape(-1, 4),
        sizes={number: page.size for number, page in zip(number_of, parser.pages, strict=True)},
        unit="pixel",
        dpi=next((page.dpi for page in parser.pages if page.dpi), None),
        stated={
            "line": [word.line for word in words],
            "word": [word.word for word in words],
            "block": [word.block for word in words],
            "angle": [word.angle for word in words],
        },
        place=lambda index: f"line {words[index].row}",
        skipped=len(parser.words) - len(words),
    )


@dataclass
class _Page:
    size: Size
    origin: tuple[float, float]
    numbered: int | None
    dpi: float | None
    lines: int = -1
    blocks: int = -1


@dataclass
class _Word:
    row: int
    page: int
    box: tuple[float, ...]
    line: int
    word: int
    block: int
    angle: float
    text: str = ""


@dataclass
class _Element:
    tag: str
    kinds: set[str] = field(default_factory=set)
    angle: float = 0.0


class _Parser(HTMLParser):
    """Collects pages and words; HTML that is not well-formed is read as far as it goes."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.pages: list[_Page] = []
        self.words: list[_Word] = []
        self._path = path
        self._open: list[_Element] = []
        self._on_line = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NEVER_CLOSED:
            return
        values = {name: value or "" for name, value in attrs}
        element = _Element(tag, set(values.get("class", "").split()), self._open[-1].angle if self._open else 0.0)
        self._open.append(element)
        title = _QUOTED.sub("", values.get("title", ""))
        row = self.getpos()[0]
        if "ocr_page" in element.kinds:
            self.pages.append(self._page(title, f"line {row}"))
        elif element.kinds & _BLOCKS and self.pages:
            self.pages[-1].blocks += 1
        elif element.kinds & _LINES and self.pages:
            self.pages[-1].lines += 1
            self._on_line = 0
            turned = _property(title, "textangle")
            # hOCR turns against the clock, the table of words with it.
            element.angle = -number(self._path, turned[0], "textangle", f"line {row}") % 360 if turned else 0.0
        elif element.kinds & _WORDS:
            if not self.pages:
                raise bad(self._path, f"the word in line {row} stands outside any ocr_page.")
            page = self.pages[-1]
            box = self._box(title, f"the word in line {row}")
            word = _Word(
                row, len(self.pages) - 1, box, max(page.lines, 0), self._on_line, max(page.blocks, 0), element.angle
            )
            self.words.append(word)
            self._on_line += 1
        elif "ocr_symbol" in element.kinds or ("ocrx_cinfo" in element.kinds and "x_bboxes" not in title):
            element.kinds.add("not-text")  # other readings of a character

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].tag == tag:
                del self._open[index:]
                return

    def handle_data(self, data: str) -> None:
        if not any(element.kinds & _WORDS for element in self._open):
            return
        if not any("not-text" in element.kinds for element in self._open):
            self.words[-1].text += data

    def _page(self, title: str, place: str) -> _Page:
        x0, y0, x1, y1 = self._box(title, f"the page in {place}")
        numbered = _property(title, "ppageno")
        resolution = _property(title, "scan_res")
        return _Page(
            size=(x1 - x0, y1 - y0),
            origin=(x0, y0),
            numbered=whole(self._path, numbered[0], "ppageno", place) if numbered else None,
            dpi=number(self._path, resolution[0], "scan_res", place) if resolution else None,
        )

    def _box(self, title: str, place: str) -> tuple[float, ...]:
        values = _property(title, "bbox")
        if len(values) != 4:
            raise bad(self._path, f"{place} has no box: its title is '{title.strip()}', 'bbox x0 y0 x1 y1' is needed.")
        return tuple(number(self._path, value, "bbox", place) for value in values)


def _property(title: str, name: str) -> list[str]:
    """The values of one property of a title such as ``bbox 1 2 3 4; x_wconf 90``."""
    for part in title.split(";"):
        words = part.split()
        if words and words[0] == name:
            return words[1:]
    return []
