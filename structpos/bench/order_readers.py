"""Readers whose order is compared: ours, PyMuPDF's two orders and its layout model, and poppler's pdftotext."""

from __future__ import annotations

import importlib.util
import multiprocessing
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from html import unescape
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structpos.errors import require
from structpos.readers.order import to_display
from structpos.readers.pdf import read_pdf


class Page(NamedTuple):
    """Words of one page in the order of a reader, and their boxes as fractions of the displayed page."""

    text: list[str]
    boxes: NDArray[np.float64]


class Reader(NamedTuple):
    """One way of reading.

    Attributes:
        name: How tables call it.
        pages: Words of some pages of a file; pages that could not be read are missing.
        text: Where the reader writes running text of its own: one page of a file as words.
    """

    name: str
    pages: Callable[[Path, Iterable[int]], dict[int, Page]]
    text: Callable[[Path, int], list[str]] | None = None


def readers(*, seconds: float) -> tuple[list[Reader], list[str]]:
    """All readers that can be had, ours first, and a sentence for each that cannot."""
    found = [
        Reader("structpos", _ours),
        Reader("PyMuPDF sort=False", lambda path, pages: _stored(path, pages, sort=False)),
        Reader("PyMuPDF sort=True", lambda path, pages: _stored(path, pages, sort=True)),
    ]
    missing = []
    if shutil.which("pdftotext"):
        found.append(Reader("pdftotext", _poppler, _poppler_text))
    else:
        missing.append("pdftotext: skipped, poppler's pdftotext is not installed")
    if _has_layout_model():
        found.append(Reader(LAYOUT_MODEL, LayoutModel(seconds=seconds)))
    else:
        missing.append("PyMuPDF layout model: skipped, pymupdf_layout is not installed")
    return found, missing


LAYOUT_MODEL = "PyMuPDF layout"


def _ours(path: Path, pages: Iterable[int]) -> dict[int, Page]:
    document = read_pdf(path, pages=sorted(pages))
    columns = document.columns
    seen = ~columns["hidden"]
    boxes = np.stack([columns[side] for side in ("x0", "y0", "x1", "y1")], axis=1)
    return {
        int(number): Page(columns["text"][mine].tolist(), boxes[mine])
        for number in document.page_columns["page"]
        for mine in [seen & (columns["page"] == number)]
    }


def stored_words(page: Any, *, sort: bool = False) -> Page:
    """Words of a PyMuPDF page as that library gives them."""
    pymupdf = require("pymupdf", "pdf")
    words = page.get_text("words", sort=sort, flags=pymupdf.TEXTFLAGS_WORDS & ~pymupdf.TEXT_PRESERVE_IMAGES)
    width, height = page.rect.width, page.rect.height
    boxes = to_display(np.array([word[:4] for word in words], np.float64).reshape(-1, 4), page.rotation, width, height)
    return Page([word[4] for word in words], boxes / [width, height, width, height])


def _stored(path: Path, pages: Iterable[int], *, sort: bool) -> dict[int, Page]:
    pymupdf = require("pymupdf", "pdf")
    with pymupdf.open(path) as document:
        return {number: stored_words(document[number], sort=sort) for number in pages}


_POPPLER_PAGE = re.compile(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', re.DOTALL)
_POPPLER_WORD = re.compile(
    r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)"[^>]*>(.*?)</word>', re.DOTALL
)


def _poppler(path: Path, pages: Iterable[int]) -> dict[int, Page]:
    found: dict[int, Page] = {}
    text = _run("-bbox-layout", path)
    wanted = set(pages)
    for number, page in enumerate(_POPPLER_PAGE.finditer(text)):
        if number in wanted:
            words = _POPPLER_WORD.findall(page[3])
            size = np.array([float(page[1]), float(page[2])] * 2)
            boxes = np.array([word[:4] for word in words], np.float64).reshape(-1, 4)
            found[number] = Page([unescape(word[4]) for word in words], boxes / size)
    return found


def _poppler_text(path: Path, number: int) -> list[str]:
    return _run("-f", str(number + 1), "-l", str(number + 1), path).split()


def _run(*arguments: str | Path) -> str:
    command = ["pdftotext", "-enc", "UTF-8", *map(str, arguments), "-"]
    return subprocess.run(command, capture_output=True, check=False, timeout=120).stdout.decode("utf-8", "replace")


def _has_layout_model() -> bool:
    try:
        return importlib.util.find_spec("pymupdf.layout") is not None
    except ModuleNotFoundError:
        return False


class LayoutModel:
    """PyMuPDF's layout model in a process of its own: its boxes in its order, in each the words as they are stored.

    Words outside every box come after those inside. A page that takes too long is left out, and the process started
    anew.

    Args:
        seconds: Limit for one page, the first one apart.
    """

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __call__(self, path: Path, pages: Iterable[int]) -> dict[int, Page]:
        """Read some pages."""
        found = {}
        for number in pages:
            pipe, limit = self._started()
            pipe.send((str(path), number))
            if pipe.poll(limit):
                page = pipe.recv()
                if page is not None:
                    found[number] = page
            else:
                self.close()
        return found

    def _started(self) -> tuple[Connection, float]:
        if self._process is not None and self._pipe is not None and self._process.is_alive():
            return self._pipe, self.seconds
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve_layout, args=(theirs,), daemon=True)
        self._process.start()
        return self._pipe, self.seconds + 60.0

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = None


def _serve_layout(pipe: Connection) -> None:
    pymupdf = require("pymupdf", "pdf")
    require("pymupdf.layout", "pdf")  # gives pages their get_layout
    pymupdf.TOOLS.mupdf_display_errors(False)
    while True:
        path, number = pipe.recv()
        try:
            with pymupdf.open(path) as document:
                page = document[number]
                page.get_layout()
                pipe.send(_by_boxes(stored_words(page), page))
        except Exception:
            pipe.send(None)


def _by_boxes(words: Page, page: Any) -> Page:
    x, y = (words.boxes[:, :2] + words.boxes[:, 2:]).T / 2
    given = np.array([box[:4] for box in page.layout_information or ()], np.float64).reshape(-1, 4)
    size = (page.rect.width, page.rect.height)
    candidates = []
    for boxes in (given, to_display(given, page.rotation, *size)):  # on turned pages it is not said which it gives
        x0, y0, x1, y1 = (boxes / np.tile(size, 2)).T[:, :, None]
        inside = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)  # (boxes, words)
        candidates.append(inside)
    inside = max(candidates, key=lambda held: held.any(axis=0).sum())
    first = np.where(inside.any(axis=0), inside.argmax(axis=0), len(given)) if len(given) else np.zeros(len(x), int)
    order = np.argsort(first, kind="stable")
    return Page([words.text[i] for i in order.tolist()], words.boxes[order])
