"""A picture of one page with its reading order, drawn by a process of its own, under the limits of a run."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structpos.encode.pool import Pool
from structpos.encode.read import is_pdf, parts_of
from structpos.errors import PositionError, ReadError
from structpos.readers.document import Document
from structpos.readers.show import draw_page


@dataclass(frozen=True, kw_only=True)
class DrawPage:
    """The work: a page of a document becomes a picture; returns what went wrong, or None."""

    picture: Path
    page: int
    password: str | None

    def prepare(self) -> None:
        """Nothing is needed beforehand."""

    def __call__(self, source: Path, /) -> Exception | None:
        """Read the page and draw it."""
        try:
            document = Document.join(parts_of(source, password=self.password, pages=[self.page]))
            self.picture.parent.mkdir(parents=True, exist_ok=True)
            beneath = source if is_pdf(source) else None
            draw_page(document, self.page, self.picture, source=beneath, password=self.password)
        except (ReadError, PositionError, OSError) as error:
            return error
        return None


def show_page(
    source: Path,
    picture: Path,
    *,
    page: int = 0,
    password: str | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> None:
    """Draw the reading order, the lines and the columns over a page.

    Args:
        source: The document.
        picture: The PNG to write.
        page: The page, counted from 0.
        password: For a PDF that asks for one.
        time_limit: [s].
        memory_limit: [bytes].

    Raises:
        ReadError: the document has no such page, cannot be read, or needs more than a limit.
    """
    work: Any = DrawPage(picture=picture, page=page, password=password)
    with Pool(work, workers=1, seconds=time_limit, memory=memory_limit) as pool:
        for outcome in pool.results(deque([source])):
            if outcome is not None and outcome.stopped:
                raise ReadError(source, outcome.stopped, outcome.reason)
            if outcome is not None and outcome.value is not None:
                raise outcome.value
