"""Reading one input of any kind, page by page, so that what was read outlives the process that read it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from structpos.errors import ReadError
from structpos.readers.boxes.kinds import ENDINGS
from structpos.readers.boxes.read import read_boxes
from structpos.readers.document import Document
from structpos.readers.pdf import read_parts

KINDS = f"PDF (.pdf), words with boxes from other tools ({', '.join(ENDINGS)})"


def parts_of(
    path: Path,
    *,
    password: str | None = None,
    pages: Iterable[int] | None = None,
    on_page: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """The parts of a file that holds words with places, by the reader of its kind.

    Args:
        path: The file; its content tells a PDF, its ending everything else.
        password: For a PDF that asks for one.
        pages: Pages to read of a PDF, from 0; by default all.
        on_page: Called with the number of each page of a PDF before it is read.

    Raises:
        ReadError: what the readers raise; kind ``unknown-kind``, with a list of the kinds, where none can read it.
    """
    if not path.is_file():
        raise ReadError(path, *_no_file(path))
    if is_pdf(path):
        return read_parts(path, password=password, pages=pages, on_page=on_page)
    if path.suffix.lower() in ENDINGS:
        return iter([read_boxes(path)])
    kind = f"files ending in {path.suffix}" if path.suffix else "files without an ending"
    raise ReadError(path, "unknown-kind", f"there is no reader for {kind}. Kinds there are: {KINDS}.")


def is_pdf(path: Path) -> bool:
    """Whether a file is called a PDF, or begins as one does whatever it is called."""
    if path.suffix.lower() == ".pdf":
        return True
    try:
        with path.open("rb") as file:
            return b"%PDF-" in file.read(1024)
    except OSError as error:
        raise ReadError(path, "no-access", f"the file cannot be opened ({error.strerror}). Check its rights.") from None


def _no_file(path: Path) -> tuple[str, str]:
    if path.is_dir():
        return "no-access", "the folder cannot be looked into. Check its rights."
    if path.exists():
        return "unknown-kind", "this is neither a file nor a folder."
    return "missing", "there is no such file. Check the path."


class PageKeeper:
    """Writes the pages of a document to a file as they are read.

    Args:
        path: The file; made with the first page, replaced where there is one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("wb", buffering=0)

    def __enter__(self) -> PageKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.path.unlink(missing_ok=True)

    def begin(self, page: int) -> None:
        """Note that a page is about to be read."""
        self.file.write(pickle.dumps(page))

    def keep(self, part: Document) -> Document:
        """Note what was read."""
        self.file.write(pickle.dumps((part.name, part.columns, part.page_columns, part.messages), protocol=5))
        return part


@dataclass(kw_only=True)
class Kept:
    """What a stopped process had read.

    Args:
        parts: Parts that are there whole.
        reread: Pages that were read after the last part, and are safe to be read again: not the page it stopped at.
    """

    parts: list[Document] = field(default_factory=list)
    reread: range = range(0)

    @property
    def pages(self) -> int:
        """How many pages there are to keep."""
        return sum(len(part.page_columns["page"]) for part in self.parts) + len(self.reread)


def read_kept(path: Path) -> Kept:
    """What a `PageKeeper` wrote before its process ended; a piece cut in two is left out."""
    kept = Kept()
    following = begun = 0
    if path.exists():
        with path.open("rb") as file:
            while True:
                try:
                    piece = pickle.load(file)
                except (EOFError, pickle.UnpicklingError, ValueError, IndexError):
                    break
                if isinstance(piece, int):
                    begun = piece
                else:
                    name, columns, pages, messages = piece
                    kept.parts.append(Document(name, columns, pages, messages=messages))
                    following = int(pages["page"][-1]) + 1
    kept.reread = range(following, max(begun, following))
    return kept
