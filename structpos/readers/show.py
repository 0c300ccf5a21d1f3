"""A picture of what was read: a page with its reading order, lines, columns and blocks drawn over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from structpos.errors import PositionError, ReadError
from structpos.readers.document import Document
from structpos.readers.pdf_open import mupdf, open_pdf, quiet
from structpos.readers.show_marks import INK, LEFT, RIGHT, Canvas, box_of, draw_marks

_LONG_SIDE = 842.0  # of the page in the picture [pt], whatever its own size
_PAPER = (595.0, 842.0)


def draw_page(
    document: Document,
    page: int,
    path: str | Path,
    *,
    source: str | Path | None = None,
    password: str | None = None,
    pixels: int = 1600,
) -> Path:
    """Draw one page as a PNG: words tinted by column, blocks framed, and the path on which they are read.

    The path runs below the words of a line, an arrow leads on to the next block, and each stretch carries its number;
    the numbers of visual lines stand in the left margin. Furniture, hidden words and form fields are marked, and a
    legend names what there is on the page.

    Args:
        document: What a reader returned.
        page: Number of the page, from 0.
        path: The PNG to write; replaced where it exists.
        source: The PDF that was read, to be drawn beneath; without it the words stand on an empty page.
        password: For a PDF that asks for one.
        pixels: Longer side of the drawn page [px].

    Returns:
        The path of the picture.

    Raises:
        PositionError: the document has no such page, or the picture's name does not end in .png.
        ReadError: the PDF cannot be opened or drawn, or the picture not written.

    Example:
        >>> import tempfile
        >>> boxes = {"x0": [0.1, 0.3], "y0": [0.1, 0.1], "x1": [0.2, 0.4], "y1": [0.12, 0.12]}
        >>> note = Document("note", {"page": [0, 0], "text": ["Hello", "world"], **boxes}, {"page": [0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_page(note, 0, Path(folder, "note.png"), pixels=400).name
        'note.png'
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise PositionError(f"A page is drawn as PNG; '{path.name}' does not end in .png.")
    pages = document.page_columns["page"].tolist()
    if page not in pages:
        known = f"{pages[0]} to {pages[-1]}" if pages else "none"
        raise PositionError(f"'{document.name}' has no page {page}; its pages are {known}.")
    with quiet(), mupdf().open() as picture:
        canvas = _canvas(picture, document, page)
        if source is None:
            _draw_words(canvas, document, page)
        else:
            _draw_source(canvas, Path(source), page, password)
        draw_marks(canvas, document, page)
        canvas.shape.commit()
        scale = pixels / _LONG_SIDE
        data = canvas.page.get_pixmap(matrix=mupdf().Matrix(scale, scale)).tobytes("png")
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ReadError(path, "not-writable", f"the picture cannot be written ({error.strerror}).") from None
    return path


def _canvas(picture: Any, document: Document, page: int) -> Canvas:
    index = document.page_columns["page"].tolist().index(page)
    width, height = (float(document.page_columns[side][index]) for side in ("width", "height"))
    if not (width > 0 and height > 0):
        width, height = _PAPER
    scale = _LONG_SIDE / max(width, height)
    width, height = width * scale, height * scale
    sheet = picture.new_page(width=LEFT + width + RIGHT, height=max(height, 300.0))
    return Canvas(sheet, sheet.new_shape(), width, height)


def _draw_source(canvas: Canvas, source: Path, page: int, password: str | None) -> None:
    """The page itself, paled so that the marks stand out."""
    with open_pdf(source, password) as pdf:
        try:
            shown = pdf[page]
            scale = 2 * _LONG_SIDE / max(shown.rect.width, shown.rect.height)
            pixmap = shown.get_pixmap(matrix=mupdf().Matrix(scale, scale), alpha=False)
        except (RuntimeError, ValueError, IndexError) as error:
            raise ReadError(source, "damaged", f"page {page} cannot be drawn ({error}).") from None
    frame = canvas.box(0, 0, 1, 1)
    canvas.page.insert_image(frame, pixmap=pixmap, keep_proportion=False)
    canvas.shape.draw_rect(frame)
    canvas.shape.finish(color=None, fill=(1, 1, 1), fill_opacity=0.3)


def _draw_words(canvas: Canvas, document: Document, page: int) -> None:
    """The words themselves, as large as their boxes, where there is no page to be drawn beneath."""
    for row in np.flatnonzero(document.columns["page"] == page).tolist():
        text = str(document.columns["text"][row])
        x0, y0, x1, y1 = canvas.box(*box_of(document, row))
        length = mupdf().get_text_length(text, fontname="helv", fontsize=1)
        if length > 0 and x1 > x0 and document.columns["angle"][row] == 0:
            size = min(0.8 * (y1 - y0), (x1 - x0) / length)
            if size > 0.5:
                canvas.shape.insert_text((x0, y1 - 0.2 * (y1 - y0)), text, fontname="helv", fontsize=size, color=INK)
