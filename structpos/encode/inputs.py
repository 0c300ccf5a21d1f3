"""Which files to read: files, folders and patterns become a list of documents with the names of their outputs."""

from __future__ import annotations

import glob
import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from structpos.encode.errors import RunError

STATE = ".structpos"  # the folder inside an output folder that holds what a run needs to continue
LITTER = frozenset({"Thumbs.db", "desktop.ini"})


class InputError(RunError):
    """Nothing can be encoded this way; the message says what to give instead."""


@dataclass(frozen=True, kw_only=True, order=True)
class Source:
    """A file to encode.

    Args:
        path: Where it lies, absolute.
        name: Its path below the folder it was found in, with forward slashes.
    """

    path: str
    name: str


def find_sources(inputs: Iterable[str | Path], *, output: Path | None) -> list[Source]:
    """The files that the inputs stand for, each once, sorted by path.

    A folder gives every file in and below it but hidden ones (whose name begins with a dot) and what lies in the output
    folder. A pattern (``*``, ``?``, ``[ab]``, ``**`` for any depth) gives the files it matches. A name of nothing is
    given as it is: reading it reports that it is missing.

    Names keep the folders below the deepest folder that all inputs share.

    Args:
        inputs: Files, folders and patterns.
        output: The output folder, where there is one.

    Raises:
        InputError: the output folder is an input folder, or holds one: inputs are never written to.
    """
    output = None if output is None else absolute(output)
    roots: list[Path] = []
    paths: list[Path] = []
    for given in inputs:
        path = absolute(given)
        if path.is_dir():
            _refuse_inside(path, output)
            roots.append(path)
            paths += _below(path, output)
        elif path.exists() or not glob.has_magic(str(given)):
            roots.append(path.parent)
            paths.append(path)
        else:
            root = _fixed_part(path)
            _refuse_inside(root, output)
            matches = [Path(match) for match in glob.glob(str(path), recursive=True)]  # noqa: PTH207
            found = [match for match in matches if match.is_file() and output not in match.parents]
            roots.append(root if found else path.parent)
            paths += found or [path]
    if not roots:
        return []
    common = _common(roots)
    return sorted({Source(path=str(path), name=_below_common(path, common)) for path in paths})


def output_names(
    sources: Iterable[Source], *, suffix: str, known: Mapping[str, str], taken: Collection[str], exact: bool = True
) -> dict[str, str]:
    """A name in the output folder for each source, no two the same.

    A source keeps the name it once got. A new one is called as it is, with ``suffix`` added (``a.pdf`` and ``a.csv``
    stay apart); where that name belongs to another file, its folders are put before it until it is free.

    Args:
        sources: The sources; each path once.
        suffix: Added to the name, such as ``.parquet``.
        known: Output names by path, of this and earlier runs.
        taken: Output names that belong to other files.
        exact: Whether the output's file system tells ``a`` from ``A``.

    Returns:
        Output names by path.

    Example:
        >>> sources = [Source(path="/a/x.pdf", name="x.pdf"), Source(path="/b/x.pdf", name="x.pdf")]
        >>> output_names(sources, suffix=".parquet", known={}, taken=())
        {'/a/x.pdf': 'x.pdf.parquet', '/b/x.pdf': 'b/x.pdf.parquet'}
    """

    def key(name: str) -> str:
        return name if exact else unicodedata.normalize("NFC", name).casefold()

    names = {}
    used = {key(name) for name in (*taken, *known.values())}
    for source in sources:
        name = known.get(source.path)
        if name is None or not name.endswith(suffix):
            name = next(name for name in _candidates(source, suffix) if key(name) not in used)
        used.add(key(name))
        names[source.path] = name
    return names


def absolute(path: str | Path) -> Path:
    """A path from the root, without ``..``; links stay links, so that a file keeps the name it was given."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _candidates(source: Source, suffix: str) -> Iterator[str]:
    yield source.name + suffix
    above = Path(source.path).parts[1 : -len(Path(source.name).parts)]
    name = source.name
    for folder in reversed(above):
        name = f"{folder}/{name}"
        yield name + suffix
    number = 2
    while True:
        yield f"{source.name}~{number}{suffix}"
        number += 1


def _below(folder: Path, output: Path | None) -> Iterator[Path]:
    """Every file of a folder and the folders below, links followed once."""
    seen: set[str] = set()
    closed: list[Path] = []  # folders that may not be looked into: given as they are, so that reading reports them
    for here, folders, files in os.walk(
        folder, followlinks=True, onerror=lambda error: closed.append(Path(error.filename))
    ):
        real = os.path.realpath(here)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(here, name) != output)
        yield from (Path(here, name) for name in files if not name.startswith(".") and name not in LITTER)
    yield from closed


def _refuse_inside(folder: Path, output: Path | None) -> None:
    if output is not None and (folder == output or output in folder.parents):
        raise InputError(
            f"The output folder {output} holds the input folder {folder}; inputs are never written to. "
            "Name an output folder beside it, or below it."
        )


def _fixed_part(pattern: Path) -> Path:
    """The folders of a pattern before its first wildcard."""
    parts = []
    for part in pattern.parts:
        if glob.has_magic(part):
            break
        parts.append(part)
    return Path(*parts)


def _common(roots: Iterable[Path]) -> Path | None:
    try:
        return Path(os.path.commonpath([str(root) for root in roots]))
    except ValueError:  # different drives
        return None


def _below_common(path: Path, common: Path | None) -> str:
    if common is None:
        return "/".join((path.drive.strip(":\\/"), *path.parts[1:]))
    return path.relative_to(common).as_posix()
