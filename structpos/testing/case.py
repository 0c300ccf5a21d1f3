"""The encoder at hand, and positions for the axes it reads."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from structpos.encoders.base import PositionEncoder
from structpos.positions import Positions

MakePositions = Callable[[int], Positions]
START = 1_700_000_000 * 10**9  # an instant of 2023 [ns]
MINUTE = 60 * 10**9


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the properties are looked at with.

    Args:
        encoder: The encoder; properties work on copies and leave it as it is.
        make: One row of positions with that many tokens.
        length: The longest row that is tried.
        inductor: Whether compiling goes all the way to machine code.
        trust: Modules from which settings may name things.
    """

    encoder: PositionEncoder
    make: MakePositions
    length: int
    inductor: bool
    trust: tuple[str, ...]

    def fresh(self) -> PositionEncoder:
        """A copy of the encoder, in evaluation mode."""
        return copy.deepcopy(self.encoder).eval()

    def sizes(self) -> Iterator[int]:
        """Lengths from small to large, so that the first failure is a small one."""
        yield from (size for size in (1, 2, 3, 5, 8, self.length) if size <= self.length)

    def later(self, tokens: int) -> Positions:
        """Another row: tokens that do not stand where those of ``make`` do."""
        start = min(3, self.length - tokens)
        positions: Positions = self.make(tokens + start)[:, start:]
        return positions


def make_for(axes: tuple[str, ...]) -> MakePositions:
    """A function that makes positions on the axes: small whole numbers, and instants at uneven steps on ``time``.

    Example:
        >>> make_for(("order", "line"))(4)
        Positions(batch 1, seq 4: order 0..3 even, line 0..1)
    """

    def make(tokens: int) -> Positions:
        index = torch.arange(tokens)
        columns = {}
        for number, axis in enumerate(axes or ("order",)):
            if axis == "order" or number == 0:
                columns[axis] = index
            elif number == 1:
                columns[axis] = index // 2
            else:
                columns[axis] = (3 * index + number) % (3 + number)
            if axis == "time":
                columns[axis] = START + 10 * MINUTE * (index + index // 3)
        even = {"order": 1.0} if "order" in columns else None
        return Positions(columns, even=even)

    return make
