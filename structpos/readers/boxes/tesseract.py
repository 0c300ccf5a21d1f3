"""Tesseract's TSV: a row for each page, block, paragraph, line and word, in pixels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from structpos.readers.boxes.raw import RawWords, Size, bad, whole

HEADER = ("level", "page_num", "block_num", "par_num", "line_num", "word_num", "left", "top", "width", "height", "conf")
_PAGE, _WORD = 1, 5


def from_tesseract(path: Path, text: str) -> RawWords:
    r"""Words of a TSV file as Tesseract writes it; sizes of pages come from the rows of level 1.

    Tesseract writes quotation marks as they are, so a row is split at tabs and nothing else. Of files that were put
    after one another, each row of level 1 begins a page.

    Raises:
        ReadError: a row has too few cells or a cell is no number; the message names the line.

    Example:
        >>> rows = [
        ...     "level page_num block_num par_num line_num word_num left top width height conf text",
        ...     "1 1 0 0 0 0 0 0 600 800 -1 ",
        ...     "5 1 1 1 1 1 60 80 30 10 96.5 Hello",
        ... ]
        >>> words = from_tesseract(Path("page.tsv"), "\n".join(rows).replace(" ", "\t"))
        >>> words.text, words.boxes.tolist(), words.sizes
        (['Hello'], [[60.0, 80.0, 90.0, 90.0]], {0: (600, 800)})
    """
    words: list[str] = []
    pages: list[int] = []
    boxes: list[tuple[float, float, float, float]] = []
    rows: list[int] = []
    sizes: dict[int, Size] = {}
    stated: dict[str, list[object]] = {"line": [], "word": [], "block": []}
    page_of: dict[int, int] = {}  # Tesseract's number, from 1, of the page that is being read
    lines: dict[tuple[int, int, int, int], int] = {}
    lines_on: Counter[int] = Counter()
    skipped = 0
    for row, line in enumerate(text.split("\n"), 1):
        cells = line.rstrip("\r").split("\t")
        if not line.strip() or cells[0] == "level":
            continue
        place = f"line {row}"
        if len(cells) < len(HEADER):
            names = ", ".join((*HEADER, "text"))
            raise bad(path, f"{place} has {len(cells)} cells; Tesseract writes {len(HEADER) + 1} ({names}).")
        level, numbered, block, paragraph, text_line, word, left, top, width, height = (
            whole(path, cell, name, place) for cell, name in zip(cells[:10], HEADER[:10], strict=True)
        )
        if level == _PAGE or numbered not in page_of:
            again = numbered - 1 in page_of.values()
            page_of[numbered] = max(page_of.values()) + 1 if again else numbered - 1
        page = page_of[numbered]
        if level == _PAGE:
            sizes[page] = (width, height)
        if level != _WORD:
            continue
        content = "\t".join(cells[len(HEADER) :]).strip()
        if not content:
            skipped += 1
            continue
        key = (page, block, paragraph, text_line)
        if key not in lines:
            lines[key] = lines_on[page]
            lines_on[page] += 1
        words.append(content)
        pages.append(page)
        boxes.append((left, top, left + width, top + height))
        rows.append(row)
        stated["line"].append(lines[key])
        stated["word"].append(word - 1)
        stated["block"].append(block - 1)
    return RawWords(
        path=path,
        text=words,
        page=np.asarray(pages, np.int64),
        boxes=np.asarray(boxes, np.float64).reshape(-1, 4),
        sizes=sizes,
        unit="pixel",
        stated=dict(stated),
        place=lambda index: f"line {rows[index]}",
        skipped=skipped,
    )
