"""Several encoders as one: added, side by side, or through gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from structpos.encoders.base import PositionEncoder, Signal
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Bias, Kind, Rotation, Signals, as_signals


class Composition(PositionEncoder):
    """Encoders by name."""

    def __init__(self, parts: Mapping[str, PositionEncoder]) -> None:
        super().__init__()
        name = type(self).__name__
        if not isinstance(parts, Mapping) or not parts:
            raise PositionError(f"{name} needs its parts by name, e.g. {name}(parts={{'layout': Layout(256)}}).")
        for key, part in parts.items():
            if not isinstance(part, PositionEncoder):
                raise PositionError(f"{name}: part '{key}' is no encoder but {type(part).__name__}.")
            if not isinstance(key, str) or not key or "." in key or hasattr(nn.ModuleDict, key) or key == "training":
                raise PositionError(f"{name}: {key!r} cannot name a part, since torch would not store it; use another.")
        self.parts = nn.ModuleDict(parts)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes its parts read."""
        return tuple(dict.fromkeys(axis for part in self.encoders().values() for axis in part.axes))

    def encoders(self) -> dict[str, PositionEncoder]:
        """The parts, as encoders."""
        return {name: part for name, part in self.parts.items() if isinstance(part, PositionEncoder)}


class Sum(Composition):
    """The signals of several encoders together: vectors are added, biases are added, a rotation stands beside them.

    Args:
        parts: Encoders by name, at most one of them rotary.

    Shapes:
        return: the one signal that all parts give, or Signals where kinds differ.

    Raises:
        PositionError: two rotations (one ``Rotary`` turns by several axes: ``axes=``), or vectors of different widths.

    Example:
        >>> from structpos import ALiBi, Sinusoidal
        >>> Sum(parts={"place": Sinusoidal(8), "distance": ALiBi(4)})(Positions.sequence(3))
        Signals(vector=(1, 3, 8), rotation=None, bias=LinearBias(batch 1, heads 4, 3 queries, 3 keys))
    """

    def __init__(self, parts: Mapping[str, PositionEncoder]) -> None:
        super().__init__(parts)
        rotary = [name for name, part in self.encoders().items() if part.signal == "rotation"]
        if len(rotary) > 1:
            raise PositionError(
                f"Sum cannot turn by two rotations ({', '.join(rotary)}): their angles would add on the same features. "
                "One rotation reads several axes: Rotary(head_width=..., axes=('line', 'column'))."
            )
        self.signal: Kind = common([part.signal for part in self.encoders().values()])

    def forward(self, queries: Positions, keys: Positions | None = None) -> Signal:
        """All signals."""
        return together([as_signals(part(queries, keys)) for part in self.parts.values()], self.signal)


class Concat(Composition):
    """The vectors of several encoders side by side.

    Args:
        parts: Encoders on the input by name; their widths add up.

    Raises:
        PositionError: a part that is not on the input.

    Example:
        >>> from structpos import Sinusoidal
        >>> Concat(parts={"row": Sinusoidal(4, "row"), "col": Sinusoidal(4, "col")})(Positions.grid(2, 2)).shape
        torch.Size([1, 4, 8])
    """

    def __init__(self, parts: Mapping[str, PositionEncoder]) -> None:
        super().__init__(parts)
        for name, part in self.encoders().items():
            on_the_input("Concat", name, part)
        self.width = sum(part.width for part in self.encoders().values())

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors, side by side."""
        return torch.cat([part(queries) for part in self.parts.values()], -1)


class GatedSum(Composition):
    """The vectors of several encoders added, each through a learned gate.

    Args:
        parts: Encoders on the input by name.
        start: Value of the gates at the start; 0 leaves a trained model exactly as it was.

    Raises:
        PositionError: a part that is not on the input, or vectors of different widths.

    Example:
        >>> from structpos import Sinusoidal
        >>> gated = GatedSum(parts={"line": Sinusoidal(4, "line")}, start=0.0)
        >>> gated(Positions({"line": [[3]]})).abs().max()
        tensor(0., grad_fn=<MaxBackward1>)
    """

    def __init__(self, parts: Mapping[str, PositionEncoder], *, start: float = 1.0) -> None:
        super().__init__(parts)
        for name, part in self.encoders().items():
            on_the_input("GatedSum", name, part)
        self.width = next(part.width for part in self.encoders().values())
        self.start = start
        self.signal: Kind = "vector"
        self.gates = nn.ParameterDict({name: nn.Parameter(torch.empty(1)) for name in parts})
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the gates to their start."""
        for gate in self.gates.values():
            nn.init.constant_(gate, self.start)

    def forward(self, queries: Positions, keys: Positions | None = None) -> Signal:
        """The vectors, each times its gate, added."""
        gated = [self.gates[name] * part(queries) for name, part in self.parts.items()]
        return together([Signals(vector=vector) for vector in gated], "vector")


def common(kinds: Sequence[Kind]) -> Kind:
    """The kind of several signals together."""
    different = {kind for kind in kinds if kind != "none"}
    return different.pop() if len(different) == 1 else ("signals" if different else "none")


def together(signals: Sequence[Signals], kind: Kind) -> Signal:
    """Several signals as one of ``kind``.

    Raises:
        PositionError: vectors of different widths, or two rotations.
    """
    vectors = [signal.vector for signal in signals if signal.vector is not None]
    rotations = [signal.rotation for signal in signals if signal.rotation is not None]
    biases = [signal.bias for signal in signals if signal.bias is not None]
    widths = {vector.shape[-1] for vector in vectors}
    if len(widths) > 1:
        raise PositionError(
            f"Vectors that are added need one width, got {sorted(widths)}. Concat puts them side by side."
        )
    if len(rotations) > 1:
        raise PositionError("Two rotations cannot be added. One rotation reads several axes: Rotary(..., axes=(...)).")
    vector: Tensor | None = _total(vectors)
    rotation: Rotation | None = rotations[0] if rotations else None
    bias: Bias | None = _total(biases)
    if kind == "vector" and vector is not None:
        return vector
    if kind == "rotation" and rotation is not None:
        return rotation
    if kind == "bias" and bias is not None:
        return bias
    return Signals(vector, rotation, bias)


def on_the_input(owner: str, name: str, part: PositionEncoder) -> None:
    """Refuse a part that gives no vector.

    Raises:
        PositionError: naming the part and what it gives.
    """
    if part.signal != "vector":
        raise PositionError(
            f"{owner} takes encoders on the input; part '{name}' ({type(part).__name__}) gives a {part.signal}. "
            "Put it beside: Sum(parts={...})."
        )


def _total(items: Sequence[Any]) -> Any:
    total = None
    for item in items:
        total = item if total is None else total + item
    return total
