"""Reading a PDF: words of all pages in one table, in the order in which a person reads them.

MuPDF, which does the parsing, must not work in two threads at once. The functions here hold a lock while it does, so
threads are safe and take turns; to read faster, use processes.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.errors import ReadError
from structpos.readers.document import Document
from structpos.readers.order import to_display
from structpos.readers.pdf_assemble import assemble
from structpos.readers.pdf_open import first_line, messages, mupdf, open_pdf, quiet
from structpos.readers.pdf_page import FontCheck, RawPage, harvest

THIN = 3.0  # a filled rectangle up to this wide or high is a line [pt]


def read_pdf(
    path: str | Path,
    *,
    password: str | None = None,
    pages: Iterable[int] | None = None,
    raw_text: bool = False,
    on_page: Callable[[int], None] | None = None,
) -> Document:
    """Read the words of a PDF with their reading order, page, line, column and box.

    The order follows from where the words stand, not from how they are stored: columns are read one after the other,
    tables row by row, turned pages and vertical or right-to-left writing their own way. Words drawn several times to
    look bold come once. Text that the page does not show is kept and flagged ``hidden``; values of form fields are
    there and flagged ``form``, page numbers and running heads ``furniture``. Ligatures are spelt out.

    Args:
        path: The file.
        password: User or owner password; by default that of the environment variable ``STRUCTPOS_PDF_PASSWORD``.
        pages: Numbers of the pages to read, from 0; by default all.
        raw_text: Whether to keep each word as it is stored, too, in the column ``raw_text``.
        on_page: Called with the number of each page before it is read.

    Returns:
        Document: ``words``, one row a word in reading order (boxes as fractions of the displayed page, origin top
        left), ``pages`` (size, rotation, whether a page needs OCR, an error that kept it from being read), ``report``
        and ``positions()``.

    Raises:
        ReadError: the file is missing, empty, no PDF, locked or damaged; the message names it and says what to do. A
            damaged page among others raises nothing: it has its error in ``pages``.
        MissingExtraError: PyMuPDF is not installed.
    """
    return Document.join(read_parts(path, password=password, pages=pages, raw_text=raw_text, on_page=on_page))


def read_parts(
    path: str | Path,
    *,
    password: str | None = None,
    pages: Iterable[int] | None = None,
    raw_text: bool = False,
    on_page: Callable[[int], None] | None = None,
    pages_per_part: int = 64,
    seconds_per_part: float = 1.0,
) -> Iterator[Document]:
    """Read a PDF part by part, so that what is read is safe when the rest takes too long.

    ``Document.join`` makes one document of the parts; running heads are found anew over all of them. Arguments and
    errors are those of :func:`read_pdf`.

    Args:
        path: The file.
        password: User or owner password.
        pages: Numbers of the pages to read.
        raw_text: Whether to keep each word as it is stored, too.
        on_page: Called with the number of each page before it is read.
        pages_per_part: Most pages of a part.
        seconds_per_part: A part ends with the page during which this time has passed [s].

    Yields:
        Document: the next pages.
    """
    path = Path(path)
    library = mupdf()
    with quiet():
        document = open_pdf(path, password)
    failures: list[str] = []
    read = 0
    try:
        numbers = iter(_numbers(path, document.page_count, pages))
        with quiet():
            xfa = _has_xfa(document)
        fonts = FontCheck(document)
        following = next(numbers, None)
        while following is not None or (not read and not failures):
            raws: list[RawPage] = []
            with quiet(), _no_collection():
                end = time.monotonic() + seconds_per_part
                while following is not None and len(raws) < pages_per_part and (not raws or time.monotonic() < end):
                    if on_page is not None:
                        on_page(following)
                    raws.append(_page(document, following, library, fonts))
                    following = next(numbers, None)
                part = assemble(path.name, raws, rules=lambda raw: _rules(document, raw), raw_text=raw_text, xfa=xfa)
                part.messages = messages()
            failed = [raw.error for raw in raws if raw.error and not raw.words]
            failures += failed
            read += len(raws) - len(failed)
            if read:
                yield part
            if not raws:
                break
        if not read and failures:
            raise ReadError(path, "damaged", f"no page can be read ({failures[0]}). Fetch or export the file again.")
    finally:
        with quiet():
            document.close()
            library.TOOLS.store_shrink(100)


def _numbers(path: Path, count: int, pages: Iterable[int] | None) -> list[int]:
    if pages is None:
        return list(range(count))
    wanted = sorted(set(pages))
    if wanted and not (0 <= wanted[0] and wanted[-1] < count):
        wrong = wanted[0] if wanted[0] < 0 else wanted[-1]
        raise ReadError(path, "no-pages", f"page {wrong} was asked for; there are pages 0 to {count - 1}.")
    return wanted


def _page(document: Any, number: int, library: Any, fonts: FontCheck) -> RawPage:
    """One page, or why it could not be read."""
    try:
        return harvest(document, number, library, fonts)
    except Exception as error:
        return RawPage(number, error=first_line(error))


def _has_xfa(document: Any) -> bool:
    """Whether the document carries an XFA form, of which MuPDF shows at most a stand-in."""
    try:
        return bool(document.xref_get_key(document.pdf_catalog(), "AcroForm/XFA")[0] != "null")
    except Exception:
        return False


def _rules(document: Any, raw: RawPage) -> NDArray[np.float64]:
    """Level and upright lines drawn on a page, ``(m, 4)`` in points of the displayed page."""
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


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection, which costs a tenth of the time while many small tuples are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
