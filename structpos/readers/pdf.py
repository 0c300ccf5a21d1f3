"""Reading a PDF: words of all pages in one table, in the order in which a person reads them.

MuPDF, which does the parsing, must not work in two threads at once. The functions here hold a lock while it does, so
threads are safe and take turns; to read faster, use processes.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structpos.errors import ReadError
from structpos.readers.document import Document
from structpos.readers.pdf_assemble import assemble
from structpos.readers.pdf_open import first_line, mentions, messages, mupdf, open_pdf, quiet
from structpos.readers.pdf_page import FontCheck, RawPage, harvest
from structpos.readers.pdf_rules import drawn_rules


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

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structpos.datasets.sample_pdfs import write_samples
        >>> with TemporaryDirectory() as folder:
        ...     paths = write_samples(folder)
        ...     document = read_pdf(f"{folder}/two_columns.pdf")
        >>> document.words.text_column.nunique()
        2
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
    with quiet():
        source = _Source(path, password)
    try:
        left = deque(_numbers(path, source.count, pages))
        held: list[Document] = []  # until one page can be read
        started = not left
        while left or not held:
            with quiet(), _no_collection():
                part = source.part(left, pages_per_part, seconds_per_part, raw_text, on_page)
            held.append(part)
            started = started or bool((part.page_columns["error"] == "").any() or len(part))
            if started:
                yield from held
                if not left:
                    return
                held.clear()
        reason = held[0].page_columns["error"][0]
        raise ReadError(path, "damaged", f"no page can be read ({reason}). Fetch or export the file again.")
    finally:
        with quiet():
            source.close()


class _Source:
    """An open PDF and what is known of it."""

    def __init__(self, path: Path, password: str | None) -> None:
        self.library = mupdf()
        self.document = open_pdf(path, password)
        self.name = path.name
        self.count: int = self.document.page_count
        self.forms = bool(self.document.is_form_pdf)
        self.xfa = _has_xfa(self.document)
        self.units = mentions(path, b"UserUnit", b"ObjStm")  # the second may hide the first
        self.fonts = FontCheck(self.document)

    def part(
        self, left: deque[int], pages: int, seconds: float, raw_text: bool, on_page: Callable[[int], None] | None
    ) -> Document:
        """Read the next pages of ``left``."""
        raws: list[RawPage] = []
        end = time.monotonic() + seconds
        while left and len(raws) < pages and (not raws or time.monotonic() < end):
            number = left.popleft()
            if on_page is not None:
                on_page(number)
            raws.append(self.page(number))
        part = assemble(
            self.name, raws, rules=lambda raw: drawn_rules(self.document, raw), raw_text=raw_text, xfa=self.xfa
        )
        part.messages = messages()
        return part

    def page(self, number: int) -> RawPage:
        """One page, or why it could not be read."""
        try:
            return harvest(self.document, number, self.library, self.fonts, forms=self.forms, units=self.units)
        except Exception as error:
            return RawPage(number, error=first_line(error))

    def close(self) -> None:
        """Give back what MuPDF holds."""
        self.document.close()
        self.library.TOOLS.store_shrink(100)


def _numbers(path: Path, count: int, pages: Iterable[int] | None) -> list[int]:
    if pages is None:
        return list(range(count))
    wanted = sorted(set(pages))
    if wanted and not (0 <= wanted[0] and wanted[-1] < count):
        wrong = wanted[0] if wanted[0] < 0 else wanted[-1]
        raise ReadError(path, "no-pages", f"page {wrong} was asked for; there are pages 0 to {count - 1}.")
    return wanted


def _has_xfa(document: Any) -> bool:
    """Whether the document carries an XFA form, of which MuPDF shows at most a stand-in."""
    try:
        return bool(document.xref_get_key(document.pdf_catalog(), "AcroForm/XFA")[0] != "null")
    except Exception:
        return False


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
