"""What goes wrong, by name: every error says what was given, what was expected and what to do next."""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class PositionError(ValueError):
    """Positions, encoders or attention were given something they cannot take."""


class ReadError(ValueError):
    """A file could not be read; the message names it.

    Args:
        path: The file.
        kind: One word for tables of errors: ``missing``, ``empty``, ``not-a-pdf``, ``damaged``, ``password``,
            ``no-pages``, ``unknown-kind``, ``bad-table``, ``time``, ``memory``, ``crashed``, ...
        reason: What was found, what was expected, and what to do, in one or two sentences.
    """

    def __init__(self, path: str | Path, kind: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = str(path)
        self.kind = kind
        self.reason = reason

    def __reduce__(self) -> tuple[type[ReadError], tuple[str, str, str]]:
        """Survive the way between processes."""
        return type(self), (self.path, self.kind, self.reason)


class MissingExtraError(ImportError):
    """An optional part of structpos is not installed; the message names the extra that brings it."""


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, or say in one sentence which extra brings it.

    Example:
        >>> require("json", "pdf").__name__
        'json'
        >>> require("no_such_module", "pdf")
        Traceback (most recent call last):
            ...
        structpos.errors.MissingExtraError: This needs no_such_module. Install it with: pip install "structpos[pdf]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(f'This needs {module}. Install it with: pip install "structpos[{extra}]"') from None


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The sentence for a name that is not among the known ones.

    Example:
        >>> unknown("encoder", "rotery", ["alibi", "rotary"])
        "Unknown encoder 'rotery'. Did you mean 'rotary'? Known: alibi, rotary."
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"Unknown {what} '{name}'.{hint} Known: {', '.join(names)}."
