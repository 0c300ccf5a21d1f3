"""One page that is drawn on: text at a place, paragraphs that wrap, rules. All measures in points from the top left."""

from __future__ import annotations

from typing import Any

from structpos.errors import require

SERIF, SERIF_BOLD, SERIF_ITALIC = "tiro", "tibo", "tiit"
SANS, SANS_BOLD = "helv", "hebo"

A4 = (595.0, 842.0)


def wrap(text: str, width: float, *, font: str, size: float) -> list[str]:
    """Break a text into lines that fit a width [points]; a longer word gets a line of its own.

    Example:
        >>> wrap("one two three", 40.0, font="helv", size=10)
        ['one two', 'three']
    """
    pymupdf = require("pymupdf", "pdf")
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and pymupdf.get_text_length(longer, fontname=font, fontsize=size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


class Sheet:
    """A new page at the end of a PDF; what is drawn appears with `finish`.

    Only the fonts that every viewer has are used, so that nothing is embedded and a file stays small.

    Args:
        document: The PDF, as PyMuPDF opened it.
        size: Width and height [points].

    Example:
        >>> document = require("pymupdf", "pdf").open()
        >>> sheet = Sheet(document)
        >>> sheet.text(72, 100, "Hello")
        >>> sheet.finish()
        >>> document[0].get_text().strip()
        'Hello'
    """

    def __init__(self, document: Any, size: tuple[float, float] = A4) -> None:
        self._pymupdf = require("pymupdf", "pdf")
        self.width, self.height = size
        self.page = document.new_page(width=self.width, height=self.height)
        self._shape = self.page.new_shape()

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        font: str = SERIF,
        size: float = 10.5,
        align: str = "left",
        grey: float = 0,
    ) -> None:
        """Write one line with its baseline at ``y``; ``x`` is its left end, its middle or its right end."""
        length = self._pymupdf.get_text_length(text, fontname=font, fontsize=size)
        start = x - {"left": 0.0, "middle": 0.5, "right": 1.0}[align] * length
        self._shape.insert_text((start, y), text, fontname=font, fontsize=size, color=(grey,) * 3)

    def paragraph(
        self, x: float, y: float, width: float, text: str, *, font: str = SERIF, size: float = 10.5, leading: float = 14
    ) -> float:
        """Write a text that wraps at ``width``; returns the baseline of the line after it."""
        for line in wrap(text, width, font=font, size=size):
            self.text(x, y, line, font=font, size=size)
            y += leading
        return y

    def rule(self, x0: float, y0: float, x1: float, y1: float, *, weight: float = 0.6, grey: float = 0) -> None:
        """Draw a straight line."""
        self._shape.draw_line((x0, y0), (x1, y1))
        self._shape.finish(width=weight, color=(grey,) * 3)

    def band(self, x0: float, y0: float, x1: float, y1: float, *, grey: float = 0.92) -> None:
        """Fill a rectangle; draw it before the text that stands on it."""
        self._shape.draw_rect((x0, y0, x1, y1))
        self._shape.finish(width=0, color=None, fill=(grey,) * 3)

    def finish(self) -> None:
        """Put what was drawn onto the page."""
        self._shape.commit()
