"""Little PDFs for tests: pages drawn by a function, and files written object by object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from structpos.readers.document import Document

pymupdf = pytest.importorskip("pymupdf")

Make = Callable[..., Path]
SIDES = ["x0", "y0", "x1", "y1"]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a PDF of one page or more; ``draw`` gets each page before it is turned and cropped."""

    def write(
        draw: Callable[[Any], None],
        *,
        size: tuple[float, float] = (612, 792),
        rotation: int = 0,
        crop: tuple[float, float, float, float] | None = None,
        pages: int = 1,
        name: str = "page.pdf",
    ) -> Path:
        document = pymupdf.open()
        for _ in range(pages):
            page = document.new_page(width=size[0], height=size[1])
            draw(page)
            if crop:
                page.set_cropbox(crop)
            page.set_rotation(rotation)
        document.save(tmp_path / name)
        document.close()
        return tmp_path / name

    return write


def texts(document: Document) -> list[str]:
    return list(document.words.text)


def box(document: Document, word: str) -> list[float]:
    """Box of a word in points of the displayed page."""
    table = document.words
    row = table[table.text == word].iloc[0]
    page = document.pages.iloc[row.page]
    return [row.x0 * page.width, row.y0 * page.height, row.x1 * page.width, row.y1 * page.height]


def size(document: Document) -> tuple[float, float]:
    return document.pages.width[0], document.pages.height[0]


def write_objects(path: Path, objects: list[bytes]) -> Path:
    """A PDF of the given objects, numbered from 1, the first one the catalogue."""
    data, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        table,
        len(objects) + 1,
        len(data),
    )
    path.write_bytes(data)
    return path
