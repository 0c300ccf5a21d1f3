"""Opening a PDF: every way in which that fails is one named error, and MuPDF's own messages stay off the terminal.

MuPDF must not be used by two threads at once: :data:`LOCK` is held whenever it works. Use processes to read in
parallel.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from structpos.errors import ReadError, require

LOCK = threading.RLock()
PASSWORD_VARIABLE = "STRUCTPOS_PDF_PASSWORD"


def mupdf() -> ModuleType:
    """PyMuPDF, or one sentence on how to get it."""
    return require("pymupdf", "pdf")


@contextmanager
def quiet() -> Iterator[None]:
    """Hold the lock and keep MuPDF's messages off the terminal; they are kept for the report."""
    tools = mupdf().TOOLS
    with LOCK:
        errors, warnings = tools.mupdf_display_errors(), tools.mupdf_display_warnings()
        tools.mupdf_display_errors(False)
        tools.mupdf_display_warnings(False)
        try:
            yield
        finally:
            tools.mupdf_display_errors(errors)
            tools.mupdf_display_warnings(warnings)


def messages() -> list[str]:
    """What MuPDF has complained about since the last call, each sentence once."""
    return list(dict.fromkeys(line.strip() for line in mupdf().TOOLS.mupdf_warnings().splitlines() if line.strip()))


def open_pdf(path: Path, password: str | None) -> Any:
    """Open a PDF for reading.

    Args:
        path: The file.
        password: User or owner password; None takes it from the environment variable ``STRUCTPOS_PDF_PASSWORD``.

    Returns:
        The open ``pymupdf.Document``, with at least one page.

    Raises:
        ReadError: kind ``missing``, ``empty``, ``not-a-pdf``, ``damaged``, ``password`` or ``no-pages``.
    """
    library = mupdf()
    if not path.is_file():
        raise ReadError(path, "missing", "there is no such file. Check the path.")
    if path.stat().st_size == 0:
        raise ReadError(path, "empty", "the file is empty (0 bytes). Fetch or export it again.")
    messages()  # forget what other files said
    try:
        document = library.open(path, filetype="pdf")
    except Exception as error:
        raise _refused(path, error) from None
    try:
        _check(document, path, password)
    except BaseException:
        document.close()
        raise
    return document


def _check(document: Any, path: Path, password: str | None) -> None:
    if not document.is_pdf:  # a web page or a picture opens too, and would end the process later
        raise ReadError(path, "not-a-pdf", "the content is no PDF, whatever the name says. Convert it to PDF first.")
    if document.needs_pass:
        given = password if password is not None else os.environ.get(PASSWORD_VARIABLE)
        if given is None:
            raise ReadError(
                path, "password", f"a password is needed. Give it (password=, --password), or set {PASSWORD_VARIABLE}."
            )
        if not document.authenticate(given):
            raise ReadError(path, "password", "the password does not open this file. Check its spelling.")
    try:
        count = document.page_count
    except Exception as error:
        raise ReadError(
            path, "damaged", f"the pages cannot be counted ({first_line(error)}). Export the file again."
        ) from None
    objects = document.xref_length()
    if count > objects:
        raise ReadError(path, "damaged", f"the file claims {count} pages and holds {objects} objects. Export it again.")
    if count > 0:
        return
    if document.is_repaired:
        raise ReadError(
            path, "damaged", "no page could be found in what is left of the file. Fetch or export it again."
        )
    raise ReadError(path, "no-pages", "the file has no pages. Export it again.")


def _refused(path: Path, error: Exception) -> ReadError:
    with path.open("rb") as file:
        head = file.read(1024)
    if b"%PDF" not in head:
        return ReadError(path, "not-a-pdf", "the file does not begin as a PDF does (%PDF). Convert it to PDF first.")
    return ReadError(
        path, "damaged", f"the file is too damaged to open ({first_line(error)}). Fetch or export it again."
    )


def mentions(path: Path, *words: bytes) -> bool:
    """Whether a file that is not empty holds one of the words as they are."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(word) >= 0 for word in words)


def first_line(error: Exception) -> str:
    """The first line of a library's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
