"""A page as its rivers are judged: its words, its drawings, and what was found on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from structpos.readers.order.frame import Floats
from structpos.readers.order.lattice import Table, tables
from structpos.readers.order.rivers import Cell

Note = tuple[tuple[float, float, float, float], str, str]


@dataclass
class Page:
    """What the rivers of one page are judged by.

    Attributes:
        tall: Height of a usual word [pt].
        text: The words that cells count.
        x0: Left edges of these words [pt].
        x1: Right edges of these words [pt].
        rules: Gives the line segments drawn on the page; None where there are none.
        rtl: Whether the right side is read first.
        notes: Every river that was judged, for pictures.
    """

    tall: float
    text: Sequence[str]
    x0: Sequence[float]
    x1: Sequence[float]
    rules: Callable[[], Floats] | None = None
    rtl: bool = False
    notes: list[Note] = field(default_factory=list)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables drawn on the page; its drawings are fetched for them."""
        return tables(self.rules(), self.tall) if self.rules else []

    def words(self, cell: Cell) -> Sequence[str]:
        """The words of a cell."""
        return self.text[cell.first : cell.last]

    def written(self, cells: Sequence[Cell]) -> str:
        """The words of some cells in one piece."""
        return "".join(word for cell in cells for word in self.words(cell))

    def token(self, cell: Cell) -> str:
        """The first word of a cell."""
        return self.text[cell.first]
