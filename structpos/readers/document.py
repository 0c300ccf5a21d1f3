"""What a reader returns: one tidy table of words, one of pages, a report, and positions for an encoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structpos.errors import require
from structpos.readers.furniture import furniture

if TYPE_CHECKING:
    import pandas as pd

    from structpos.positions import Positions

BANDS = 50  # x-bands of the published column axis, 0-50

WORD_COLUMNS: dict[str, type | str] = {
    "page": np.int64,
    "order": np.int64,
    "line": np.int64,
    "word": np.int64,
    "column": np.int64,
    "text_column": np.int64,
    "block": np.int64,
    "x0": np.float64,
    "y0": np.float64,
    "x1": np.float64,
    "y1": np.float64,
    "text": object,
    "form": np.bool_,
    "hidden": np.bool_,
    "furniture": np.bool_,
    "direction": "U3",
    "angle": np.float64,
}

PAGE_COLUMNS: dict[str, type | str] = {
    "page": np.int64,
    "width": np.float64,
    "height": np.float64,
    "rotation": np.int64,
    "user_unit": np.float64,
    "words": np.int64,
    "characters": np.int64,
    "dropped": np.int64,
    "copies": np.int64,
    "clipped": np.int64,
    "replacement": np.int64,
    "needs_ocr": np.bool_,
    "scanned": np.bool_,
    "suspicious_text": object,
    "xfa": np.bool_,
    "error": object,
}


class Document:
    """Words of a document in reading order, with their places.

    Args:
        name: Name of the document, the column ``document`` of its tables.
        columns: Arrays by name, one entry a word, in reading order: the columns of ``words`` but ``document``;
            ``text_column`` is -1 where a line spans several columns. A column that is not given is filled:
            ``order`` counts, ``column`` follows from ``x0``, everything else is 0, False or empty.
        pages: Arrays by name, one entry a page: the columns of ``pages`` but ``document``.
        messages: What the library underneath complained about.

    Shapes:
        words: one row a word. Boxes are fractions of the page as displayed, origin top left. ``page`` and ``line``
            count from 0; ``line`` is the visual line of the page, ``column`` the x-band (0-50) of the left edge,
            ``text_column`` the column of running text, empty where a line spans several; ``angle`` in degrees clockwise
            as displayed.
        pages: one row a page. Sizes in points as displayed; ``dropped`` words lay outside the page, ``copies`` only
            repeated others at the same place, ``clipped`` ones reached over its edge, ``replacement`` counts unknown
            characters.

    Example:
        >>> boxes = {"x0": [0.1, 0.3], "y0": [0.1, 0.1], "x1": [0.2, 0.4], "y1": [0.12, 0.12]}
        >>> document = Document("note", {"page": [0, 0], "text": ["Hello", "world"], **boxes}, {"page": [0]})
        >>> document
        Document('note': 1 page, 2 words)
        >>> document.columns["column"]
        array([ 5, 15])
    """

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Any],
        pages: Mapping[str, Any],
        *,
        messages: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.columns = _complete(columns, WORD_COLUMNS, len(columns["text"]))
        if "order" not in columns:
            self.columns["order"] = np.arange(len(self), dtype=np.int64)
        if "column" not in columns:
            self.columns["column"] = np.minimum((self.columns["x0"] * BANDS).astype(np.int64), BANDS)
        if "text_column" not in columns:
            self.columns["text_column"] = np.full(len(self), -1, np.int64)
        if "direction" not in columns:
            self.columns["direction"] = np.full(len(self), "ltr")
        self.page_columns = _complete(pages, PAGE_COLUMNS, len(pages["page"]))
        self.messages = list(messages)

    @classmethod
    def join(cls, parts: Iterable[Document]) -> Document:
        """One document from its parts, pages in ascending order; the order is counted on, furniture looked for anew."""
        parts = list(parts)
        first = parts[0]
        columns = {key: np.concatenate([part.columns[key] for part in parts]) for key in first.columns}
        pages = {key: np.concatenate([part.page_columns[key] for part in parts]) for key in first.page_columns}
        columns["order"] = np.arange(len(columns["page"]), dtype=np.int64)
        messages = list(dict.fromkeys(message for part in parts for message in part.messages))
        joined = cls(first.name, columns, pages, messages=messages)
        return joined.marked() if len(parts) > 1 else joined

    def marked(self) -> Document:
        """Mark page numbers and running heads and feet, in place."""
        columns = self.columns
        seen = np.flatnonzero(~columns["hidden"])
        boxes = np.stack([columns[side][seen] for side in ("x0", "y0", "x1", "y1")], axis=1)
        found = furniture(
            columns["page"][seen], columns["line"][seen], boxes, columns["text"][seen], len(self.page_columns["page"])
        )
        columns["furniture"] = np.zeros(len(self), np.bool_)
        columns["furniture"][seen] = found
        return self

    def __len__(self) -> int:
        return len(self.columns["text"])

    def __repr__(self) -> str:
        pages = len(self.page_columns["page"])
        said = [f"{pages} page{'s' * (pages != 1)}", f"{len(self)} word{'s' * (len(self) != 1)}"]
        for what, count in (
            ("hidden", self.columns["hidden"].sum()),
            ("in form fields", self.columns["form"].sum()),
            ("pages without text", self.page_columns["needs_ocr"].sum()),
            ("pages with errors", (self.page_columns["error"] != "").sum()),
        ):
            if count:
                said.append(f"{count} {what}")
        return f"Document({self.name!r}: {', '.join(said)})"

    @cached_property
    def words(self) -> pd.DataFrame:
        """The table of words, in reading order."""
        return self._frame(self.columns)

    @cached_property
    def pages(self) -> pd.DataFrame:
        """The table of pages."""
        return self._frame(self.page_columns)

    def _frame(self, columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
        pandas = require("pandas", "pdf")
        table: pd.DataFrame = pandas.DataFrame(dict(columns))
        table.insert(0, "document", self.name)
        if "text_column" in table:
            table["text_column"] = table["text_column"].astype("Int64").mask(columns["text_column"] < 0)
        if "direction" in table:
            table["direction"] = table["direction"].astype("category")
        return table

    @cached_property
    def report(self) -> dict[str, Any]:
        """What was found and what was left out, in numbers and lists that JSON can hold."""
        words, pages = self.columns, self.page_columns
        numbers = pages["page"]
        hidden = {
            int(page): " ".join(words["text"][words["hidden"] & (words["page"] == page)])
            for page in np.unique(words["page"][words["hidden"]])
        }
        return {
            "document": self.name,
            "pages": len(numbers),
            "words": len(self),
            "characters": dict(zip(numbers.tolist(), pages["characters"].tolist(), strict=True)),
            "pages_without_text": numbers[pages["needs_ocr"]].tolist(),
            "scanned_pages": numbers[pages["scanned"]].tolist(),
            "hidden_words": int(words["hidden"].sum()),
            "hidden_text": hidden,
            "form_words": int(words["form"].sum()),
            "furniture_words": int(words["furniture"].sum()),
            "dropped": int(pages["dropped"].sum()),
            "copies": int(pages["copies"].sum()),
            "clipped": int(pages["clipped"].sum()),
            "replacement": int(pages["replacement"].sum()),
            "suspicious_pages": _said(numbers, pages["suspicious_text"]),
            "xfa": bool(pages["xfa"].any()),
            "errors": _said(numbers, pages["error"]),
            "messages": self.messages,
        }

    def rows(self, *, hidden: bool = False, furniture: bool = True, form: bool = True) -> NDArray[np.int64]:
        """Rows of the table that get positions: hidden words only on request, everything else unless refused."""
        keep = np.ones(len(self), np.bool_)
        for wanted, flag in ((hidden, "hidden"), (furniture, "furniture"), (form, "form")):
            if not wanted:
                keep &= ~self.columns[flag]
        return np.flatnonzero(keep)

    def positions(self, *, hidden: bool = False, furniture: bool = True, form: bool = True) -> Positions:
        """Layout positions of the words, in reading order: axes order, page, line, column, x, y.

        Args:
            hidden: Whether text that the page does not show counts.
            furniture: Whether page numbers and running heads count.
            form: Whether values of form fields count.

        Returns:
            Positions: batch 1; token ``i`` is row ``rows(...)[i]`` of the table. The order is counted over these words.

        Example:
            >>> boxes = {"x0": [0.1, 0.3], "y0": [0.1, 0.1], "x1": [0.2, 0.4], "y1": [0.12, 0.12]}
            >>> document = Document("note", {"page": [0, 0], "text": ["Hello", "world"], **boxes}, {"page": [0]})
            >>> document.positions()["column"]
            tensor([[ 5, 15]])
        """
        from structpos.positions import Positions

        rows = self.rows(hidden=hidden, furniture=furniture, form=form)
        table: dict[str, NDArray[Any]] = {
            key: self.columns[key][rows] for key in ("page", "line", "column", "x0", "y0", "x1", "y1")
        }
        table["order"] = np.arange(len(rows), dtype=np.int64)
        return Positions.layout(table)


def _complete(given: Mapping[str, Any], kinds: Mapping[str, type | str], length: int) -> dict[str, NDArray[Any]]:
    """The given columns as arrays, in their usual order, missing ones filled with 0, False or the empty text."""
    columns: dict[str, NDArray[Any]] = {}
    for name, kind in kinds.items():
        if name in given:
            columns[name] = np.asarray(given[name], dtype=None if kind == "U3" else kind)
        else:
            columns[name] = np.full(length, "", object) if kind is object else np.zeros(length, kind)
        if name == "text" and "raw_text" in given:
            columns["raw_text"] = np.asarray(given["raw_text"], dtype=object)
    return columns


def _said(numbers: NDArray[np.int64], texts: NDArray[Any]) -> dict[int, str]:
    return {int(number): text for number, text in zip(numbers, texts, strict=True) if text}
