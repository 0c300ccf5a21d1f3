"""What a run did, in ``errors.csv`` and ``summary.json`` of its output folder."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from structpos.encode.ledger import Entry

SHARE = 20  # writing the reports may take one part in so many of the time


@dataclass(kw_only=True)
class Summary:
    """What a run did.

    Args:
        output: The output folder.
        settings: What shaped the outputs.
        inputs: Documents asked for.
        entries: What became of each, in the order of the inputs; those not reached are missing.
        current: Documents that needed no work.
        removed: Inputs of earlier runs that are gone; their outputs were kept.
        moved: Inputs that were found under another path, with their outputs.
        stopped: Why the run ended early; empty where it did not.
        seconds: Time it took.
    """

    output: Path
    settings: dict[str, Any] = field(default_factory=dict)
    inputs: int = 0
    entries: list[Entry] = field(default_factory=list)
    current: int = 0
    removed: list[Entry] = field(default_factory=list)
    moved: int = 0
    stopped: str = ""
    seconds: float = 0.0

    @property
    def errors(self) -> list[Entry]:
        """Documents that failed or were read in part."""
        return [entry for entry in self.entries if entry.status != "written"]

    @property
    def exit_code(self) -> int:
        """0 where all is done, 3 where documents have errors or the run ended early."""
        return 3 if self.errors or self.stopped else 0

    def counts(self) -> dict[str, int]:
        """How many documents became what."""
        of = [entry.status for entry in self.entries]
        return {
            "inputs": self.inputs,
            "written": of.count("written"),
            "partial": of.count("partial"),
            "failed": of.count("failed"),
            "without_text": sum(entry.status == "written" and entry.words == 0 for entry in self.entries),
            "unchanged": self.current,
            "not_reached": self.inputs - len(self.entries),
            "removed": len(self.removed),
            "moved": self.moved,
        }

    def __str__(self) -> str:
        counts = self.counts()
        said = [f"{counts['inputs']} document{'s' * (counts['inputs'] != 1)}: {counts['written']} with an output"]
        words = {"partial": "partial", "failed": "failed", "without_text": "without text", "not_reached": "not reached"}
        said += [f"{counts[name]} {word}" for name, word in words.items() if counts[name]]
        if self.current:
            said.append(f"{self.current} of them unchanged since the last run")
        text = f"{', '.join(said)}; {self.seconds:.1f} s; {self.output}"
        if self.errors:
            text += f"\nWhat went wrong is in {self.output / 'errors.csv'}"
        if self.removed:
            names = ", ".join(entry.source for entry in self.removed[:3])
            more = " ..." * (len(self.removed) > 3)
            text += f"\n{len(self.removed)} inputs are gone, their outputs were kept: {names}{more}"
        return text + f"\n{self.stopped}" * bool(self.stopped)

    def write(self) -> None:
        """Write ``errors.csv`` and ``summary.json``, each whole."""
        with whole(self.output / "errors.csv") as file:
            rows = csv.writer(file)
            rows.writerow(["input", "status", "kind", "reason", "pages", "output"])
            for entry in self.errors:
                output = entry.output if (self.output / entry.output).is_file() else ""
                kept = " The output of its earlier content was kept." * bool(entry.status == "failed" and output)
                rows.writerow([entry.source, entry.status, entry.kind, entry.reason + kept, entry.pages, output])
        documents = [
            {
                "input": entry.source,
                "output": entry.output if entry.status != "failed" else None,
                "status": entry.status,
                "kind": entry.kind,
                "pages": entry.pages,
                "pages_without_text": entry.without_text,
                "words": entry.words,
                "seconds": entry.seconds,
            }
            for entry in self.entries
        ]
        about = {
            "complete": not self.stopped and len(self.entries) == self.inputs,
            "stopped": self.stopped,
            **self.counts(),
            "pages": sum(entry.pages for entry in self.entries),
            "words": sum(entry.words for entry in self.entries),
            "seconds": round(self.seconds, 3),
            "settings": self.settings,
            "removed_inputs": [{"input": entry.source, "output": entry.output} for entry in self.removed],
            "documents": documents,
        }
        with whole(self.output / "summary.json") as file:
            json.dump(about, file, indent=1)
            file.write("\n")


class whole:
    """Open a file for writing that takes its name when all of it is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary = path.parent / ".structpos" / f"{path.name}.new"

    def __enter__(self) -> TextIO:
        self.file = self.temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        return self.file

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.file.close()
        if error is None:
            self.temporary.replace(self.path)


class Pace:
    """Keeps the reports current without spending the time of the run on them."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.next = time.monotonic() + 1.0

    def __call__(self, entries: Callable[[], list[Entry]], seconds: float) -> None:
        """Write the reports, where enough time has passed since the last time."""
        begun = time.monotonic()
        if begun < self.next:
            return
        self.summary.entries, self.summary.seconds = entries(), seconds
        self.summary.write()
        self.next = time.monotonic() + max(1.0, SHARE * (time.monotonic() - begun))
