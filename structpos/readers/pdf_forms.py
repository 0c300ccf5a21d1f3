"""Form fields: which words are their values, and values that the page does not draw."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NOT_SHOWN = 2 | 32  # annotation flags: hidden, no view
ROW = 14.0  # height taken for a line of a value that the file does not draw [pt]
LETTER = 0.5  # width of a letter in it, as a share of the height of the line


class Field(NamedTuple):
    """A form field that can be seen: its box on the displayed page [pt] and the text it holds."""

    box: tuple[float, float, float, float]
    value: str


def fields(page: Any, library: Any) -> list[Field]:
    """The fields of a page but for push buttons, which hold no value."""
    found = []
    buttons = (library.PDF_WIDGET_TYPE_CHECKBOX, library.PDF_WIDGET_TYPE_RADIOBUTTON)
    for widget in page.widgets():
        if widget.field_type == library.PDF_WIDGET_TYPE_BUTTON or _hidden(page, widget):
            continue
        rect = widget.rect * page.rotation_matrix  # undoes the turn that PyMuPDF has put on it
        rect.normalize()
        value = "" if widget.field_type in buttons else _spoken(widget.field_value)
        found.append(Field((rect.x0, rect.y0, rect.x1, rect.y1), value))
    return found


def holds(field: Field, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which words (displayed boxes in points) have their middle inside a field.

    Example:
        >>> holds(Field((0.0, 0.0, 50.0, 20.0), "Ann"), np.array([[2.0, 3.0, 20.0, 15.0], [60.0, 3.0, 80.0, 15.0]]))
        array([ True, False])
    """
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    x0, y0, x1, y1 = field.box
    return (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)


def spread(field: Field) -> tuple[list[str], list[tuple[float, float, float, float]]]:
    """Words of a value that the page does not draw, laid out inside its field from the top left.

    Example:
        >>> spread(Field((0.0, 0.0, 100.0, 10.0), "Ann Lee"))
        (['Ann', 'Lee'], [(0.0, 0.0, 15.0, 10.0), (20.0, 0.0, 35.0, 10.0)])
    """
    x0, y0, x1, y1 = field.box
    rows = [row.split() for row in field.value.splitlines() if row.strip()]
    height = min((y1 - y0) / max(len(rows), 1), ROW)
    words, boxes = [], []
    for number, row in enumerate(rows):
        letters = sum(map(len, row)) + len(row) - 1
        step = min(height * LETTER, (x1 - x0) / max(letters, 1))
        at, top = x0, y0 + number * height
        for word in row:
            words.append(word)
            boxes.append((at, top, at + len(word) * step, top + height))
            at += (len(word) + 1) * step
    return words, boxes


def _spoken(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "\n".join(map(str, value))
    return "" if value is None else str(value)


def _hidden(page: Any, widget: Any) -> bool:
    kind, value = page.parent.xref_get_key(widget.xref, "F")
    return kind == "int" and bool(int(value) & NOT_SHOWN)
