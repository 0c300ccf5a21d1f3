"""The sample files by name, and the function that writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from structpos.datasets.sample_pdfs.agreement import side_by_side_signatures
from structpos.datasets.sample_pdfs.pages import form, letter_with_header_and_footer, rotated, table, two_columns
from structpos.errors import ReadError, require

SAMPLES: dict[str, Callable[[Any], None]] = {
    "two_columns.pdf": two_columns,
    "table.pdf": table,
    "side_by_side_signatures.pdf": side_by_side_signatures,
    "letter_with_header_and_footer.pdf": letter_with_header_and_footer,
    "rotated.pdf": rotated,
    "form.pdf": form,
}


def write_samples(folder: str | Path) -> list[Path]:
    """Write the sample PDFs into a folder, which is made where it is missing.

    The same version of PyMuPDF writes the same bytes each time: the files hold no date and no random identifier. A file
    of the same name is replaced.

    Args:
        folder: Where they go.

    Returns:
        The paths, in the order of `SAMPLES`.

    Raises:
        MissingExtraError: PyMuPDF is not installed.
        ReadError: the folder cannot be made or written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write_samples(folder)][:2]
        ['two_columns.pdf', 'table.pdf']
    """
    pymupdf = require("pymupdf", "pdf")
    folder = Path(folder)
    paths = []
    for name, draw in SAMPLES.items():
        with pymupdf.open() as document:
            draw(document)
            data = document.tobytes(garbage=3, deflate=True, no_new_id=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        except OSError as error:
            reason = f"the samples cannot be written here ({error.strerror}). Name a folder that can be written to."
            raise ReadError(folder, "not-writable", reason) from None
        paths.append(folder / name)
    return paths
