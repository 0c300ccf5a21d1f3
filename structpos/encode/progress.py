"""How far a run is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from structpos.encode.ledger import Entry
from structpos.errors import require

LINE_EVERY = 10.0  # seconds between two lines where there is no terminal
SHOWN = 10  # errors told one by one; all are in errors.csv


class Progress:
    """A bar on a terminal, plain lines elsewhere, nothing where nobody wants to know.

    Args:
        total: Documents to do.
        shown: Whether anything is told.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.done, self.failed = total, 0, 0
        self.shown = shown
        self.began = self.told = time.monotonic()
        self.bar: Any = None
        if shown and sys.stderr.isatty():
            self.bar = require("tqdm", "cli").tqdm(total=total, unit=" documents", dynamic_ncols=True)

    def step(self, entry: Entry) -> None:
        """One document is done."""
        self.done += 1
        if entry.status != "written":
            self.failed += 1
            if self.failed <= SHOWN:
                self._say(f"{entry.source}: {entry.kind}: {entry.reason}")
            elif self.failed == SHOWN + 1:
                self._say("More errors are in errors.csv.")
        if self.bar is not None:
            self.bar.update()
        self.tick()

    def tick(self) -> None:
        """Tell where things stand, where the last time is long ago."""
        now = time.monotonic()
        if self.bar is None and now - self.told >= LINE_EVERY:
            self.told = now
            rate = self.done / (now - self.began)
            left = f", about {(self.total - self.done) / rate:.0f} s left" if self.done else ""
            self._say(f"{self.done} of {self.total} documents, {self.failed} with errors, {rate:.1f} a second{left}")

    def close(self) -> None:
        """Nothing more will come."""
        if self.bar is not None:
            self.bar.close()

    def _say(self, line: str) -> None:
        if self.bar is not None:
            self.bar.write(line, file=sys.stderr)
        elif self.shown:
            print(line, file=sys.stderr, flush=True)
