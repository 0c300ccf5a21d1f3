"""Work that goes wrong on purpose. Worker processes import this file, so it loads nothing heavy."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structpos.encode.job import EncodeDocument


@dataclass(frozen=True)
class Play:
    """Does what the task says."""

    unable: str = ""

    def prepare(self) -> None:
        if self.unable == "dies":
            os._exit(7)
        if self.unable:
            raise ImportError(self.unable)

    def __call__(self, task: Any) -> Any:
        match task:
            case "raise":
                raise KeyError("a bug")
            case "hang":
                time.sleep(600)
            case "segfault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "eat":
                held = bytearray(400 * 2**20)
                held[:: 2**12] = b"x" * len(held[:: 2**12])
                time.sleep(600)
            case "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
        return os.getpid() if task == "pid" else task


class Troubled(EncodeDocument):
    """Reads as ever, but page 3 of every document of more than three pages does what the document's name says."""

    def prepare(self) -> None:
        import structpos.readers.pdf as reader

        super().prepare()
        harvest = reader.harvest

        def troubled(document: Any, number: int, *more: Any, **options: Any) -> Any:
            if number == 3:
                act(Path(document.name).stem)
            return harvest(document, number, *more, **options)

        reader.harvest = troubled


def act(name: str) -> None:
    match name:
        case "hangs":
            time.sleep(600)
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "eats":
            held = bytearray(2**30)
            held[:: 2**12] = b"x" * len(held[:: 2**12])
            time.sleep(600)


class Restless(EncodeDocument):
    """Appends to the document while it is read."""

    def _read(self, task: Any, source: Path) -> Any:
        document = super()._read(task, source)
        with source.open("ab") as file:
            file.write(b"\n")
        return document
