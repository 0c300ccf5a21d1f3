"""What a run has to do: which documents are new, changed or lost, which have moved, and which are gone."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from structpos.encode.inputs import InputError, Source, output_names
from structpos.encode.job import Task
from structpos.encode.ledger import Entry, Ledger, is_current, is_same_file


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be done, and what is not.

    Args:
        tasks: Documents to encode, in the order of the inputs.
        current: Paths of those that need nothing.
        removed: Inputs of earlier runs that are gone.
        moved: How many inputs were found under another path.
    """

    tasks: deque[Task]
    current: set[str]
    removed: list[Entry]
    moved: int


def make_plan(
    sources: list[Source],
    ledger: Ledger,
    *,
    suffix: str,
    settings: str,
    limits: str,
    checksum: bool,
    exact: bool,
) -> Plan:
    """Compare the inputs with what earlier runs have done; the ledger learns of inputs that have moved.

    Args:
        sources: The inputs.
        ledger: What is known of earlier runs.
        suffix: The ending of outputs.
        settings: Fingerprint of everything that shapes an output.
        limits: The limits of this run.
        checksum: Whether files are compared by their bytes.
        exact: Whether the output's file system tells ``a`` from ``A``.

    Raises:
        InputError: the output folder holds outputs of another format.
    """
    other = next((entry.output for entry in ledger.entries.values() if not entry.output.endswith(suffix)), None)
    if other is not None:
        raise InputError(
            f"{ledger.output} holds outputs of another format ({other}). Name another output folder for {suffix[1:]}."
        )
    here = {source.path for source in sources}
    moved = _moved(sources, here, ledger, suffix, checksum)
    ledger.rename(moved)
    apart = [entry for path, entry in ledger.entries.items() if path not in here]
    known = {path: entry.output for path, entry in ledger.entries.items() if path in here}
    names = output_names(sources, suffix=suffix, known=known, taken=[entry.output for entry in apart], exact=exact)
    token = secrets.token_hex(4)
    tasks, current = deque[Task](), set[str]()
    for number, source in enumerate(sources):
        entry = ledger.entries.get(source.path)
        if entry is not None and is_current(
            entry, output=ledger.output, settings=settings, limits=limits, checksum=checksum
        ):
            current.add(source.path)
        else:
            tasks.append(Task(source=source.path, output=names[source.path], key=f"{token}-{number}"))
    removed = [entry for entry in apart if not Path(entry.source).exists()]
    return Plan(tasks=tasks, current=current, removed=sorted(removed, key=lambda entry: entry.source), moved=len(moved))


def _moved(sources: list[Source], here: Collection[str], ledger: Ledger, suffix: str, checksum: bool) -> dict[str, str]:
    """New paths by old ones, which are gone: the same file by the same name below the input folder."""
    by_output = {entry.output: entry for path, entry in ledger.entries.items() if path not in here}
    moved = {}
    for source in sources:
        entry = by_output.get(source.name + suffix) if source.path not in ledger.entries else None
        if entry is not None and not Path(entry.source).exists():
            if is_same_file(entry, Path(source.path), checksum=checksum):
                moved[entry.source] = source.path
    return moved
