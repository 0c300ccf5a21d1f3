"""A table with one row a word: which column is which, under the many names that tools give them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structpos.errors import unknown
from structpos.readers.boxes.raw import Hints, RawWords, Size, bad, number, pages_from_zero, whole

_TEXT = ("text", "word", "token", "words", "tokens", "content", "value")
_PAGE = ("page", "page_num", "page_number", "page_no", "pageno", "page_index", "page_idx")
_BOX = ("bbox", "box", "bboxes", "boxes", "bounding_box", "polygon", "quad")
_CORNERS = (
    ("x0", "y0", "x1", "y1"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x_min", "y_min", "x_max", "y_max"),
    ("left", "top", "right", "bottom"),
    ("x0", "top", "x1", "bottom"),
    ("x1", "y1", "x2", "y2"),
)
_SIDES = (("left", "top", "width", "height"), ("x", "y", "width", "height"), ("x", "y", "w", "h"))
_PAGE_SIZE = (("page_width", "page_height"), ("image_width", "image_height"), ("img_width", "img_height"))
_COUNTED = ("order", "line", "word", "column", "text_column", "block")
_FLAGS = ("form", "hidden", "furniture")
_OWN = ("page", "order", "line", "word", "column", "text_column", "block", "x0", "y0", "x1", "y1", "text", *_FLAGS)
_NAMES = ("text", "page", "box", "x0", "y0", "x1", "y1", "width", "height", "page_width", "page_height", *_COUNTED)


def from_table(
    path: Path, table: Mapping[str, Sequence[Any]], hints: Hints, *, place: Callable[[int], str]
) -> RawWords:
    """Words and boxes from the columns of a table.

    Args:
        path: The file, for messages.
        table: Columns by name, one row a word.
        hints: Names of columns that the file calls otherwise.
        place: The name of a row in the file, such as "line 7".

    Raises:
        ReadError: no text or no box among the columns, or a cell that cannot be read.

    Example:
        >>> table = {"text": ["Hello"], "page": [1], "left": [10], "top": [20], "width": [30], "height": [8]}
        >>> from_table(Path("words.csv"), table, Hints(), place="row {}".format).boxes
        array([[10., 20., 40., 28.]])
    """
    named = _named(path, table, hints)
    complete = all(name in named for name in _OWN)
    documents = [name for name in dict.fromkeys(named.get("document", ())) if name is not None]
    if len(documents) > 1:
        shown = ", ".join(map(str, documents[:3])) + (", ..." if len(documents) > 3 else "")
        raise bad(path, f"words of {len(documents)} documents ({shown}) in one table. Give each a file of its own.")
    text_name = next((name for name in _TEXT if name in named), None)
    if text_name is None:
        raise bad(path, f"{_have(table)}; none is the text of a word. Pass columns={{'text': NAME}}.")
    texts = named[text_name]
    rows = [row for row, text in enumerate(texts) if text is not None and text == text and str(text).strip()]
    raw = RawWords(
        path=path,
        text=[str(texts[row]).strip() for row in rows],
        page=np.zeros(len(rows), np.int64),
        boxes=_boxes(path, table, named, rows, place),
        unit="fraction" if complete else None,
        complete=complete,
        place=lambda index: place(rows[index]),
        skipped=len(texts) - len(rows),
        name=str(documents[0]) if documents else "",
    )
    page_name = next((name for name in _PAGE if name in named), None)
    if page_name is not None:
        pages = [whole(path, named[page_name][row], page_name, place(row)) for row in rows]
        first = 0 if complete else hints.first_page
        raw.page = pages_from_zero(pages, first)
        if len(raw.page) and raw.page.min() < 0:
            index = int(raw.page.argmin())
            raise bad(path, f"{page_name} in {raw.place(index)} is {pages[index]}; pages count from 0 or from 1.")
    raw.sizes = _sizes(path, named, rows, raw, place)
    if complete or hints.keep_order:
        raw.stated = _counted(path, named, rows, place, text_name)
    if complete:
        for name in _FLAGS:
            raw.stated[name] = [_flag(path, named[name][row], name, place(row)) for row in rows]
        turned = "text_angle" if "text_angle" in named else "angle"  # `angle` may hold what a rotary encoder gave
        if turned in named:
            raw.stated["angle"] = [number(path, named[turned][row], turned, place(row)) for row in rows]
        if "direction" in named:
            raw.stated["direction"] = [str(named["direction"][row]) for row in rows]
    return raw


def _named(path: Path, table: Mapping[str, Sequence[Any]], hints: Hints) -> dict[str, Sequence[Any]]:
    """Columns under lower-case names, those that the caller named under our own."""
    named = {str(name).strip().lower(): values for name, values in table.items()}
    for ours, theirs in hints.columns.items():
        if ours not in _NAMES:
            raise bad(path, unknown("column", ours, _NAMES))
        if theirs not in table:
            raise bad(path, f"there is no column '{theirs}' for {ours}; {_have(table)}.")
        named[ours] = table[theirs]
    return named


def _have(table: Mapping[str, object]) -> str:
    return f"its columns are {', '.join(map(str, list(table)[:20])) or 'none'}"


def _boxes(
    path: Path,
    table: Mapping[str, object],
    named: Mapping[str, Sequence[Any]],
    rows: Sequence[int],
    place: Callable[[int], str],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    for names in _CORNERS:
        if all(name in named for name in names):
            cells = [[number(path, named[name][row], name, place(row)) for name in names] for row in rows]
            return np.array(cells, np.float64).reshape(-1, 4)
    for name in _BOX:
        if name in named:
            boxes = [corners(path, named[name][row], name, place(row)) for row in rows]
            return np.array(boxes, np.float64).reshape(-1, 4)
    for names in _SIDES:
        if all(name in named for name in names):
            cells = [[number(path, named[name][row], name, place(row)) for name in names] for row in rows]
            found = np.array(cells, np.float64).reshape(-1, 4)
            if len(found) and found[:, 2:].min() < 0:
                row = int(found[:, 2:].min(1).argmin())
                raise bad(path, f"{place(rows[row])} has a width or height below 0: {found[row].tolist()}.")
            found[:, 2:] += found[:, :2]
            return found
    raise bad(
        path,
        f"{_have(table)}; none is a box (x0, y0, x1, y1, or left, top, width, height, or bbox). Pass "
        "columns={'x0': NAME, 'y0': NAME, 'x1': NAME, 'y1': NAME}.",
    )


def corners(path: Path, value: Any, name: str, place: str) -> tuple[float, float, float, float]:
    """A box in one cell: four numbers, or the corners of a polygon, as a list or as text.

    Example:
        >>> corners(Path("words.csv"), "[1, 2, 3, 4]", "bbox", "line 2")
        (1.0, 2.0, 3.0, 4.0)
        >>> corners(Path("words.json"), [[0, 1], [7, 0], [8, 2], [1, 3]], "polygon", "word 0")
        (0.0, 0.0, 8.0, 3.0)
    """
    parts: list[Any]
    if isinstance(value, str):
        parts = [part for part in re.split(r"[\s,;]+", value.strip(" ()[]{}\t")) if part]
        parts = [part.strip("()[]") for part in parts]
    else:
        parts = [] if value is None else list(value)
        if parts and all(isinstance(part, list | tuple | np.ndarray) for part in parts):
            parts = [side for corner in parts for side in corner]
    if len(parts) != 4 and (len(parts) < 6 or len(parts) % 2):
        raise bad(path, f"{name} in {place} is {value!r}; four numbers x0, y0, x1, y1 are needed.")
    numbers = [number(path, part, name, place) for part in parts]
    if len(numbers) == 4:
        return numbers[0], numbers[1], numbers[2], numbers[3]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


def _sizes(
    path: Path,
    named: Mapping[str, Sequence[Any]],
    rows: Sequence[int],
    raw: RawWords,
    place: Callable[[int], str],
) -> dict[int, Size]:
    """Page sizes from columns that repeat them in each row."""
    sizes: dict[int, Size] = {}
    for wide, high in _PAGE_SIZE:
        if wide not in named or high not in named:
            continue
        for index, row in enumerate(rows):
            size = number(path, named[wide][row], wide, place(row)), number(path, named[high][row], high, place(row))
            page = int(raw.page[index])
            if sizes.setdefault(page, size) != size:
                raise bad(path, f"page {page} is {sizes[page]} and, in {place(row)}, {size}; a page has one size.")
    return sizes


def _counted(
    path: Path,
    named: Mapping[str, Sequence[Any]],
    rows: Sequence[int],
    place: Callable[[int], str],
    text_name: str,
) -> dict[str, Sequence[object]]:
    """Order, lines and blocks as the file numbers them; an empty text column stands for a line across columns."""
    stated: dict[str, Sequence[object]] = {}
    for name in _COUNTED:
        if name in named and name != text_name:
            cells = [named[name][row] for row in rows]
            if name == "text_column":
                cells = [-1 if cell is None or cell != cell or cell == "" else cell for cell in cells]
            stated[name] = [whole(path, cell, name, place(row)) for cell, row in zip(cells, rows, strict=True)]
    return stated


def _flag(path: Path, value: object, name: str, place: str) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False, "": False, "none": False, "1.0": True, "0.0": False}
    found = known.get(str(value).strip().lower())
    if found is None:
        raise bad(path, f"{name} in {place} is {value!r}; true or false is needed.")
    return found
