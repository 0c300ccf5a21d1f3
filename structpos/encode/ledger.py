"""What is done: one line a document, written when its output is whole; a killed run loses and repeats nothing."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

# Failures that lie in circumstances, not in the file: the next run tries again, though the file is the same.
TRY_AGAIN = frozenset({"missing", "no-access", "password", "crashed", "unexpected", "not-written", "changed"})
LIMITS = frozenset({"time", "memory"})


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What became of one document.

    Args:
        source: The file, absolute.
        output: Its output below the output folder; empty where there is none.
        status: ``written``, ``partial`` (some of its pages) or ``failed``.
        kind: One word for what went wrong, empty for ``written``; ``pages`` where single pages could not be read.
        reason: The same in a sentence.
        size: Bytes of the file when it was read.
        modified: Its time of change [ns] when it was read.
        checksum: SHA-256 of its bytes, empty where it could not be read.
        settings: Fingerprint of everything that shapes the output.
        limits: The limits in force.
        output_size: Bytes of the output.
        pages: Pages read.
        words: Words written.
        without_text: Pages that need OCR.
        seconds: Time it took.
        temporary: Where the output waits to be moved into place.
    """

    source: str
    output: str = ""
    status: str = "written"
    kind: str = ""
    reason: str = ""
    size: int = -1
    modified: int = -1
    checksum: str = ""
    settings: str = ""
    limits: str = ""
    output_size: int = -1
    pages: int = 0
    words: int = 0
    without_text: int = 0
    seconds: float = 0.0
    temporary: str = ""


class Ledger:
    """The lines of all runs into one output folder, the last one of each document.

    Appending a line commits a document: only then its finished file is moved from its temporary name to its place. A
    run killed between the two has the move made good when the ledger is next opened; a line cut in two is dropped, and
    its document is encoded again.

    Args:
        path: The file of lines.
        output: The output folder.
    """

    def __init__(self, path: Path, *, output: Path) -> None:
        self.path = path
        self.output = output
        self.entries: dict[str, Entry] = {}

    def __enter__(self) -> Ledger:
        lines = 0
        for entry in _read(self.path):
            lines += 1
            self.entries[entry.source] = entry
        for entry in self.entries.values():
            self._move(entry)
        if lines != len(self.entries) or not _ends_whole(self.path):
            self._rewrite()
        self.file = self.path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, entry: Entry) -> None:
        """Commit a document: write its line, then move its output into place.

        Raises:
            OSError: the line cannot be written or the output cannot be moved.
        """
        self.file.write(json.dumps(asdict(entry)) + "\n")
        self.file.flush()
        self._move(entry)
        self.entries[entry.source] = entry

    def rename(self, moved: Mapping[str, str]) -> None:
        """Sources have moved: what is known of them now belongs to their new places.

        Args:
            moved: New places by old ones.
        """
        if not moved:
            return
        for before, after in moved.items():
            self.entries[after] = replace(self.entries.pop(before), source=after, temporary="")
        self.file.close()
        self._rewrite()
        self.file = self.path.open("a", encoding="utf-8")

    def _move(self, entry: Entry) -> None:
        if entry.temporary and (self.path.parent / entry.temporary).exists():
            (self.output / entry.output).parent.mkdir(parents=True, exist_ok=True)
            (self.path.parent / entry.temporary).replace(self.output / entry.output)

    def _rewrite(self) -> None:
        whole = self.path.with_suffix(".new")
        with whole.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(entry)) + "\n" for entry in self.entries.values())
        whole.replace(self.path)


def is_current(entry: Entry, *, output: Path, settings: str, limits: str, checksum: bool) -> bool:
    """Whether a document needs no work: the file, the settings and the output are those of its entry.

    Args:
        entry: What is known of it.
        output: The output folder.
        settings: Fingerprint of the settings of this run.
        limits: The limits of this run; a document once stopped by one is tried again under others.
        checksum: Compare the bytes of the file, not its time.
    """
    if entry.settings != settings or entry.kind in TRY_AGAIN:
        return False
    if entry.kind in LIMITS and entry.limits != limits:
        return False
    if entry.status != "failed" and _size(output / entry.output) != entry.output_size:
        return False
    return is_same_file(entry, Path(entry.source), checksum=checksum)


def is_same_file(entry: Entry, path: Path, *, checksum: bool) -> bool:
    """Whether a file is the one that the entry speaks of, by size and time, or by size and bytes."""
    try:
        facts = path.stat()
        if facts.st_size != entry.size:
            return False
        return digest(path) == entry.checksum if checksum else facts.st_mtime_ns == entry.modified
    except OSError:
        return False


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(settings: Any) -> str:
    """A short text that differs where settings differ.

    Example:
        >>> fingerprint({"width": 128}) == fingerprint({"width": 64})
        False
    """
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def _read(path: Path) -> Iterator[Entry]:
    if not path.exists():
        return
    known = {field.name for field in fields(Entry)}
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                values = json.loads(line)
                yield Entry(**{name: value for name, value in values.items() if name in known})
            except (ValueError, TypeError, AttributeError):
                continue  # a line cut in two by a kill


def _ends_whole(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
