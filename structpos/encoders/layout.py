"""Layout: the place of a word on a page, as a vector."""

from __future__ import annotations

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from structpos.encoders.base import PositionEncoder, at_least, one_of
from structpos.encoders.compose import Concat, GatedSum
from structpos.encoders.sinusoidal import Sinusoidal
from structpos.errors import PositionError
from structpos.positions import Positions


class Layout(PositionEncoder):
    """Sinusoids of reading order, line and column, side by side: half the width, a quarter, a quarter.

    "Third page, top, party A signs" and "third page, bottom, party B signs" become different places.

    Args:
        width: Width of the vector; a multiple of 8 (16, 32 or 64 with more axes).
        page: Whether the page is an axis of its own; it takes an eighth of the width from line and column.
        bottom: Whether the line is counted from the page's last line too (footers and signatures stand there); the two
            counts share the line's part.
        place: ``line_column``, or ``xy``: left and bottom edge in thousandths of the page instead of line and column.
        join: ``concat`` side by side as published, or ``gated``: every axis at full width, each through a learned gate.
        base: Base of all sinusoids.

    Shapes:
        return: batch seq width; the part of an axis is zero for words without it, all is zero for padding.

    Raises:
        PositionError: a width that cannot be shared; the message names the next that can.

    Source: the published form is order d/2, line d/4, column d/4; with the page, order d/2, page d/8, line and column
        3d/16 each.

    Example:
        >>> words = Positions.layout({"order": [0, 1], "page": [0, 0], "line": [0, 7], "column": [3, 12]})
        >>> Layout(width=16)(words).shape
        torch.Size([1, 2, 16])
        >>> Layout(width=32, page=True).widths
        {'order': 16, 'page': 4, 'line': 6, 'column': 6}
    """

    def __init__(
        self,
        width: int,
        *,
        page: bool = False,
        bottom: bool = False,
        place: Literal["line_column", "xy"] = "line_column",
        join: Literal["concat", "gated"] = "concat",
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        at_least("Layout", "width", width, 2)
        one_of("Layout", "place", place, ("line_column", "xy"))
        one_of("Layout", "join", join, ("concat", "gated"))
        self.width, self.page, self.bottom, self.place, self.join, self.base = width, page, bottom, place, join, base
        shares = _shares(page, bottom, place)
        if join == "gated":
            self.widths = dict.fromkeys(shares, width)
            self.code: Concat | GatedSum = GatedSum({axis: Sinusoidal(width, axis, base=base) for axis in shares})
            return
        step = next(step for step in (8, 16, 32, 64) if all(share * step // 32 % 2 == 0 for share in shares.values()))
        if width % step:
            raise PositionError(
                f"Layout shares its width among {', '.join(shares)} and needs a multiple of {step}, got {width}. "
                f"Use {width + step - width % step}, or join='gated'."
            )
        self.widths = {axis: width * share // 32 for axis, share in shares.items()}
        self.code = Concat({axis: Sinusoidal(part, axis, base=base) for axis, part in self.widths.items()})

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it reads."""
        return tuple(self.widths)

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors at ``queries``."""
        for axis in self.axes:
            self.read(queries, axis)
        vector: Tensor = self.code(queries)
        return vector


def _shares(page: bool, bottom: bool, place: str) -> dict[str, int]:
    """The share of each axis, in 32nds of the width."""
    line, column = ("line", "column") if place == "line_column" else ("y", "x")
    each = 6 if page else 8
    shares = {"order": 16, **({"page": 4} if page else {}), line: each // 2 if bottom else each}
    if bottom:
        shares["line_from_bottom"] = each // 2
    return {**shares, column: each}
