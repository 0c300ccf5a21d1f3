"""Encoders: modules that turn positions into signals, by name."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from structpos.encoders.alibi import ALiBi
from structpos.encoders.base import NoPosition, PositionEncoder
from structpos.encoders.compose import Concat, GatedSum, Sum
from structpos.encoders.emphasis import Emphasis
from structpos.encoders.layout import Layout
from structpos.encoders.learned import Hybrid, Learned
from structpos.encoders.region import Where
from structpos.encoders.relative import T5Bias
from structpos.encoders.rotary import Rotary
from structpos.encoders.scale import Scale
from structpos.encoders.sinusoidal import Sinusoidal
from structpos.errors import PositionError, unknown

ENCODERS: dict[str, type[PositionEncoder]] = {
    "none": NoPosition,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "hybrid": Hybrid,
    "rotary": Rotary,
    "alibi": ALiBi,
    "t5": T5Bias,
    "layout": Layout,
    "emphasis": Emphasis,
    "sum": Sum,
    "concat": Concat,
    "gated_sum": GatedSum,
    "scale": Scale,
    "where": Where,
}


def installed() -> dict[str, EntryPoint]:
    """Encoders of other packages, announced in the entry-point group ``structpos.encoders``.

    Raises:
        PositionError: a package announces a name that is taken.
    """
    points = {}
    for point in entry_points(group="structpos.encoders"):
        if point.name in ENCODERS or point.name in points:
            raise PositionError(f"The encoder name '{point.name}' ({point.value}) is taken already; rename it.")
        points[point.name] = point
    return points


def find(name: str) -> type[PositionEncoder]:
    """The encoder of a short name.

    Raises:
        PositionError: nobody has that name; the message lists the known ones.

    Example:
        >>> find("alibi").__name__
        'ALiBi'
    """
    if name in ENCODERS:
        return ENCODERS[name]
    points = installed()
    if name not in points:
        raise PositionError(unknown("encoder", name, [*ENCODERS, *points]))
    kind: type[PositionEncoder] = points[name].load()
    return kind


def build(settings: Mapping[str, Any], *, trust: Sequence[str] = ()) -> PositionEncoder:
    """The encoder that ``settings`` describe, the inverse of ``encoder.settings()``.

    Importing a module runs it. From settings that came with a file only structpos and installed entry points are
    therefore imported; ``trust`` names further modules.

    Args:
        settings: ``{"class_path": ..., "init_args": {...}}``; the path may be a short name of ``ENCODERS``.
        trust: Modules, with all below them, from which classes and functions may be imported.

    Raises:
        PositionError: no class there, a class that is no encoder, arguments it does not take, or a module not trusted.

    Example:
        >>> build({"class_path": "rotary", "init_args": {"head_width": 64}}).settings()["class_path"]
        'structpos.Rotary'
    """
    if not isinstance(settings, Mapping) or not isinstance(settings.get("class_path"), str):
        raise PositionError(
            f"Settings of an encoder are {{'class_path': ..., 'init_args': {{...}}}}, got {settings!r}."
        )
    path = settings["class_path"]
    kind = _imported(path, trust) if "." in path else find(path)
    if not (isinstance(kind, type) and issubclass(kind, PositionEncoder)):
        raise PositionError(f"'{path}' is no PositionEncoder.")
    given = settings.get("init_args") or {}
    if not isinstance(given, Mapping):
        raise PositionError(f"init_args of {path} are arguments by name, got {given!r}.")
    known = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    for name in given:
        if name not in known:
            raise PositionError(unknown(f"setting of {path}", name, known))
    hints = typing.get_type_hints(kind.__init__)
    arguments = {name: _value(value, hints.get(name), trust) for name, value in given.items()}
    try:
        return kind(**arguments)
    except TypeError as error:
        raise PositionError(f"{path} cannot be built from {arguments}: {error}.") from None


def _value(value: Any, hint: Any, trust: Sequence[str]) -> Any:
    """A plain value as the constructor wants it."""
    if isinstance(value, Mapping):
        if "class_path" in value:
            return build(value, trust=trust)
        for kind in (hint, *typing.get_args(hint)):
            if isinstance(kind, type) and is_dataclass(kind):
                fields = typing.get_type_hints(kind)
                for name in value:
                    if name not in fields:
                        raise PositionError(unknown(f"setting of {kind.__name__}", name, fields))
                return kind(**{name: _value(item, fields.get(name), trust) for name, item in value.items()})
        return {name: _value(item, None, trust) for name, item in value.items()}
    if isinstance(value, list):
        return tuple(_value(item, None, trust) for item in value)
    if isinstance(value, str) and "Callable" in str(hint):
        return _imported(value, trust)
    return value


def _imported(path: str, trust: Sequence[str]) -> Any:
    module, _, name = path.rpartition(".")
    announced = {point.value.replace(":", ".") for point in installed().values()}
    trusted = any(module == root or module.startswith(f"{root}.") for root in ("structpos", *trust))
    if not trusted and path not in announced:
        raise PositionError(
            f"'{path}' would run code of {module}. If you trust it, say so: trust=('{module}',) or --trust {module}."
        )
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise PositionError(f"There is no '{path}' to import.") from None
