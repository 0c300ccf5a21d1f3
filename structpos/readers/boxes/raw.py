"""What a file of words and boxes says, before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from structpos.errors import ReadError

Unit = Literal["fraction", "thousandth", "pixel", "point"]
Size = tuple[float, float]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What the caller knows better than the file; see `read_boxes`."""

    unit: Unit | None = None
    page_size: Size | Mapping[int, Size] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    first_page: int | None = None
    keep_order: bool | None = None


@dataclass(kw_only=True)
class RawWords:
    """Words and boxes as a file has them: its own units, its own page numbers, its own order.

    Attributes:
        path: The file.
        text: The words.
        page: Page of each word, from 0.
        boxes: ``(n, 4)`` x0, y0, x1, y1 from the top left, in ``unit``.
        sizes: Width and height of each page in ``unit``, as far as the file knows them; pages without words too.
        unit: The unit where the format fixes it, None where it must be found.
        dpi: Pixels per inch, where the file says so.
        stated: Columns of the table of words that the file fills itself: ``order``, ``line``, ``word``, ``block``, ...
        complete: The file is a table of words as structpos writes it, to be taken as it is.
        place: The name of a word's place in the file for messages, such as "line 7".
        skipped: Number of rows without text, left out.
        name: Name of the document; that of the file where it states none.
        pages: The table of pages, where structpos wrote the file.
        notes: Sentences for the report.
    """

    path: Path
    text: list[str]
    page: NDArray[np.int64]
    boxes: Numbers
    sizes: dict[int, Size] = field(default_factory=dict)
    unit: Unit | None = None
    dpi: float | None = None
    stated: dict[str, Sequence[object]] = field(default_factory=dict)
    complete: bool = False
    place: Callable[[int], str] = "word {}".format
    skipped: int = 0
    name: str = ""
    pages: dict[str, list[object]] | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = self.name or self.path.name


def bad(path: Path, reason: str) -> ReadError:
    """The error for a file of words and boxes that makes no sense."""
    return ReadError(path, "bad-table", reason)


def number(path: Path, value: object, name: str, place: str) -> float:
    """One finite number, or an error that names the value and where it stands.

    Example:
        >>> number(Path("words.csv"), "12,5", "x0", "line 3")
        12.5
        >>> number(Path("words.csv"), "wide", "x0", "line 3")
        Traceback (most recent call last):
            ...
        structpos.errors.ReadError: words.csv: x0 in line 3 is 'wide'; a finite number is needed.
    """
    try:
        if isinstance(value, bool) or value is None:
            raise ValueError
        found = float(value.strip().replace(",", ".") if isinstance(value, str) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not np.isfinite(found):
        shown = "empty" if value is None or value == "" else repr(value)
        raise bad(path, f"{name} in {place} is {shown}; a finite number is needed.")
    return found


def whole(path: Path, value: object, name: str, place: str) -> int:
    """One whole number, or an error that names the value and where it stands."""
    found = number(path, value, name, place)
    if found != int(found):
        raise bad(path, f"{name} in {place} is {value!r}; a whole number is needed.")
    return int(found)


def pages_from_zero(pages: Sequence[int], first_page: int | None) -> NDArray[np.int64]:
    """Page numbers counted from 0: a file that has a page 0 counts so already, any other counts from 1.

    Example:
        >>> pages_from_zero([1, 2, 2], None)
        array([0, 1, 1])
        >>> pages_from_zero([0, 1], None)
        array([0, 1])
    """
    found = np.asarray(pages, np.int64)
    if first_page is None:
        first_page = 0 if len(found) and found.min() == 0 else 1
    return found - first_page
