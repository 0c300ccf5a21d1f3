"""JSON with words and boxes: annotated forms as FUNSD publishes them, lists of both, or one object a word."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structpos.readers.boxes.files import columns_of
from structpos.readers.boxes.raw import Hints, RawWords, Size, bad, number, whole
from structpos.readers.boxes.table import corners, from_table

_LISTS = (("words", "bboxes"), ("words", "boxes"), ("tokens", "bboxes"), ("tokens", "boxes"), ("text", "bboxes"))
_SIZES = (("width", "height"), ("page_width", "page_height"), ("image_width", "image_height"))
_PAGES = ("page", "page_num", "page_number", "page_index")


def from_json(path: Path, value: Any, hints: Hints) -> RawWords:
    """Words of a JSON file in any of the three forms.

    Raises:
        ReadError: none of them, or an entry that cannot be read; the message names it.

    Example:
        >>> form = {"form": [{"id": 0, "box": [9, 9, 50, 20], "text": "A B", "label": "question", "linking": [],
        ...                   "words": [{"text": "A", "box": [9, 9, 20, 20]}, {"text": "B", "box": [25, 9, 50, 20]}]}]}
        >>> from_json(Path("form.json"), form, Hints()).text
        ['A', 'B']
        >>> from_json(Path("page.json"), {"words": ["A"], "bboxes": [[9, 9, 20, 20]]}, Hints()).boxes
        array([[ 9.,  9., 20., 20.]])
    """
    if isinstance(value, dict) and isinstance(value.get("form"), list):
        return _form(path, value["form"])
    if isinstance(value, dict) and isinstance(value.get("pages"), list):
        value = value["pages"]
    records = value if isinstance(value, list) else [value]
    if records and all(isinstance(record, dict) for record in records):
        names = next((pair for pair in _LISTS if all(_has_lists(record, pair) for record in records)), None)
        if names is not None:
            return _pages(path, records, names, hints)
        if len(records) == 1 and all(isinstance(cells, list) for cells in records[0].values()):
            return from_table(path, records[0], hints, place="word {}".format)
        return from_table(path, columns_of(records), hints, place="word {}".format)
    raise bad(path, "this JSON holds no words: 'form', 'words' with 'bboxes', or one object a word is needed.")


def from_pages(path: Path, table: Mapping[str, Sequence[Any]], hints: Hints) -> RawWords | None:
    """Words of a table with one row a page, its words and boxes in lists; None where the table is no such thing."""
    names = next((pair for pair in _LISTS if all(name in table for name in pair)), None)
    if names is None or not all(isinstance(cell, list) for name in names for cell in table[name]):
        return None
    if not any(name in table for name in _PAGES) and len(table[names[0]]) > 1:
        rows = len(table[names[0]])
        raise bad(path, f"{rows} rows of words and no column 'page'. Add one, or give each document a file of its own.")
    records = [{name: table[name][row] for name in table} for row in range(len(table[names[0]]))]
    return _pages(path, records, names, hints)


def _has_lists(record: Mapping[str, Any], names: tuple[str, str]) -> bool:
    return all(isinstance(record.get(name), list) for name in names)


def _form(path: Path, entries: Sequence[Any]) -> RawWords:
    """FUNSD: one page of a scan, its words grouped into the entries of a form, in pixels of the picture beside it."""
    words: list[str] = []
    boxes: list[tuple[float, ...]] = []
    blocks: list[int] = []
    places: list[str] = []
    skipped = 0
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("words"), list):
            raise bad(path, f"entry {index} of 'form' has no list 'words'.")
        for place, word in ((f"word {row} of entry {index}", word) for row, word in enumerate(entry["words"])):
            if not isinstance(word, dict) or "box" not in word:
                raise bad(path, f"{place} of 'form' has no 'box'.")
            box = corners(path, word["box"], "box", place)
            if not str(word.get("text") or "").strip():
                skipped += 1  # the published files hold such words
                continue
            words.append(str(word["text"]).strip())
            boxes.append(box)
            blocks.append(index)
            places.append(place)
    size, notes = _picture_size(path)
    return RawWords(
        path=path,
        text=words,
        page=np.zeros(len(words), np.int64),
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        sizes={} if size is None else {0: size},
        unit=None if size is None else "pixel",
        stated={"block": blocks},
        place=lambda index: places[index],
        skipped=skipped,
        notes=notes,
    )


def _picture_size(path: Path) -> tuple[Size | None, list[str]]:
    """Size of the PNG beside an annotation, in the same folder or in ``images`` next to it, as FUNSD lays them out."""
    for picture in (path.with_suffix(".png"), path.parent.parent / "images" / f"{path.stem}.png"):
        try:
            with picture.open("rb") as file:
                head = file.read(24)
        except OSError:
            continue
        if head[:8] == b"\x89PNG\r\n\x1a\n" and head[12:16] == b"IHDR":
            width, height = struct.unpack(">II", head[16:24])
            return (float(width), float(height)), [f"Size of the page from {picture.name}: {width} x {height} pixels."]
    return None, []


def _pages(path: Path, records: Sequence[Mapping[str, Any]], names: tuple[str, str], hints: Hints) -> RawWords:
    """One record a page, its words in one list and their boxes in another."""
    numbered = [next((record[name] for name in _PAGES if record.get(name) is not None), None) for record in records]
    if None in numbered:
        numbers = list(range(len(records)))
    else:
        numbers = [whole(path, page, "page", f"page {index}") for index, page in enumerate(numbered)]
        first = hints.first_page if hints.first_page is not None else min(min(numbers), 1)
        numbers = [page - first for page in numbers]
    words: list[str] = []
    pages: list[int] = []
    boxes: list[tuple[float, ...]] = []
    places: list[str] = []
    sizes: dict[int, Size] = {}
    skipped = 0
    for index, (page, record) in enumerate(zip(numbers, records, strict=True)):
        texts, cells = record[names[0]], record[names[1]]
        if len(texts) != len(cells):
            raise bad(path, f"page {index} has {len(texts)} {names[0]} and {len(cells)} {names[1]}.")
        for wide, high in _SIZES:
            if record.get(wide) is not None and record.get(high) is not None:
                place = f"page {index}"
                sizes[page] = number(path, record[wide], wide, place), number(path, record[high], high, place)
        for place, text, cell in (
            (f"word {row} of page {index}", text, cell)
            for row, (text, cell) in enumerate(zip(texts, cells, strict=True))
        ):
            box = corners(path, cell, names[1], place)
            if text is None or not str(text).strip():
                skipped += 1
                continue
            words.append(str(text).strip())
            pages.append(page)
            boxes.append(box)
            places.append(place)
    return RawWords(
        path=path,
        text=words,
        page=np.array(pages, np.int64),
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        sizes=sizes,
        place=lambda index: places[index],
        skipped=skipped,
    )
