"""What every encoder is: a module that turns positions into a signal."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor, nn

from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Bias, Kind, Rotation, Signals

Signal = Tensor | Rotation | Bias | Signals


class PositionEncoder(nn.Module):
    """Turns positions into a signal: a vector for the input, a rotation of queries and keys, or a bias on the scores.

    A subclass keeps every argument of its constructor as an attribute of the same name, says in ``signal`` where it
    acts and in ``axes`` what it reads, and writes ``forward(queries, keys=None)``. Tokens that lack the axis, and
    padding, must come out neutral: a vector of zeros, a rotation by 0, a bias of 0.
    ``structpos.testing.check_encoder`` tests all that.
    """

    signal: Kind = "vector"
    width: int  # of the vector, for encoders on the input
    dtype_probe: Tensor

    def __init__(self) -> None:
        super().__init__()
        # Empty, never saved, cast with the model: it tells which dtype the model runs in.
        self.register_buffer("dtype_probe", torch.empty(0), persistent=False)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it reads: by default ``axis``, where it has one."""
        axis = getattr(self, "axis", None)
        return () if axis is None else (str(axis),)

    @property
    def learned(self) -> bool:
        """Whether anything in it is learned."""
        return any(True for _ in self.parameters())

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its vectors: that of the model it is part of."""
        return self.dtype_probe.dtype

    @property
    def precision(self) -> torch.dtype:
        """The dtype of rotations and biases: float32 also in a half-precision model, float64 in a double one."""
        return torch.promote_types(self.dtype, torch.float32)

    def forward(self, queries: Positions, keys: Positions | None = None) -> Any:
        """The signal at ``queries``, and towards ``keys`` where it concerns pairs (by default the queries)."""
        raise NotImplementedError(f"{type(self).__name__} needs a forward.")

    def read(self, positions: Positions, axis: str) -> Shaped[Tensor, "batch seq"]:
        """The coordinates on an axis.

        Raises:
            PositionError: what came is no Positions, or has no such axis.
        """
        if not isinstance(positions, Positions):
            got = f"a tensor of shape {tuple(positions.shape)}" if isinstance(positions, Tensor) else repr(positions)
            raise PositionError(
                f"{type(self).__name__} takes Positions, which say where each token is, got {got}. "
                "For tokens numbered 0, 1, 2, ...: Positions.sequence(length, batch=...)."
            )
        return positions.axis(axis, type(self).__name__)

    def settings(self) -> dict[str, Any]:
        """What builds the same encoder again: ``{"class_path": ..., "init_args": ...}``, of plain values throughout.

        Example:
            >>> from structpos import Rotary
            >>> Rotary(64, base=500000.0).settings()["init_args"]["base"]
            500000
        """
        names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
        return {"class_path": class_path(type(self)), "init_args": {name: self._setting(name) for name in names}}

    def _setting(self, name: str) -> Any:
        if not hasattr(self, name):
            raise PositionError(
                f"{type(self).__name__} keeps no attribute '{name}', so its settings cannot be written. "
                f"Set self.{name} = {name} in its constructor."
            )
        value = plain(getattr(self, name))
        # Some servers read nothing but an integer there.
        return int(value) if name == "base" and isinstance(value, float) and value.is_integer() else value

    def extra_repr(self) -> str:
        """The settings, on one line; nothing where they cannot be written, since printing never fails."""
        try:
            arguments = self.settings()["init_args"]
        except PositionError:
            return ""
        return ", ".join(f"{name}={value!r}" for name, value in arguments.items() if not isinstance(value, dict))

    def reset_parameters(self) -> None:
        """Start learned parameters afresh, as after building on the meta device; nothing where nothing is learned."""


class NoPosition(PositionEncoder):
    """No position at all: the control in every comparison.

    Example:
        >>> NoPosition()(Positions.sequence(3))
        Signals(vector=None, rotation=None, bias=None)
    """

    signal: Kind = "none"

    def forward(self, queries: Positions, keys: Positions | None = None) -> Signals:
        """Nothing."""
        return Signals()


def existing(positions: Positions, axis: str) -> Bool[Tensor, "batch seq"] | None:
    """True for tokens, not padding, that have the axis; None where all have."""
    present = positions.has(axis)
    if positions.mask is None or present is None:
        return positions.mask if present is None else present
    return positions.mask & present


def one_of(owner: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a setting that is not among the allowed ones.

    Raises:
        PositionError: naming setting, value and choices.
    """
    if value not in allowed:
        raise PositionError(f"{owner}: {name} is one of {', '.join(map(repr, allowed))}; got {value!r}.")


def at_least(owner: str, name: str, value: int, least: int = 1) -> None:
    """Refuse a count that is no whole number or too small.

    Raises:
        PositionError: naming setting, value and what is needed.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PositionError(f"{owner}: {name} needs a whole number of at least {least}, got {value!r}.")


def class_path(kind: type) -> str:
    """The public path of a class: ``structpos.Name`` for our own; of one that FSDP2 wrapped, that of the class beneath.

    Example:
        >>> class_path(NoPosition)
        'structpos.NoPosition'
    """
    import structpos

    kind = next(base for base in kind.__mro__ if not base.__module__.startswith("torch."))
    public = kind.__module__.startswith("structpos.") and kind.__name__ in structpos.__all__
    return f"structpos.{kind.__name__}" if public else f"{kind.__module__}.{kind.__qualname__}"


def plain(value: Any) -> Any:
    """A setting as plain values: numbers, text, lists and dictionaries."""
    if isinstance(value, PositionEncoder):
        return value.settings()
    if isinstance(value, (Mapping, nn.ModuleDict)):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if callable(value):
        name = getattr(value, "__qualname__", "")
        if not name or "<" in name:
            raise PositionError(f"{value!r} has no name to be written down by; use a function of a module.")
        return f"{value.__module__}.{name}"
    return value


Channels = Literal["interleaved", "halved"]
