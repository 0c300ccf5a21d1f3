"""The command line: ``structpos COMMAND [--option value]``. Listing the commands imports nothing heavy.

Exit codes: 0 all done, 1 could not run, 2 wrong usage, 3 finished with errors in some documents, 130 interrupted
(Ctrl-C), 143 ended by the system (SIGTERM). Data goes to standard output, words to standard error.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import structpos
from structpos.errors import unknown

COMMANDS = {
    "encode": "write a table of words and their position vectors for each PDF of a folder",
    "sample": "write a few small PDFs to try things with",
}


class UsageError(ValueError):
    """What was typed cannot be meant; the message says what can."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: What was typed after ``structpos``; by default that of this process.

    Returns:
        The exit code.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [word for word in given if word != "--debug"]
    if not given or given[0] in ("-h", "--help", "help"):
        print(listing())
        return 0
    if given[0] in ("-V", "--version"):
        print(f"structpos {structpos.__version__}")
        return 0
    if given[0] not in COMMANDS:
        return _tell("structpos", unknown("command", given[0], COMMANDS), 2)
    _end_on_sigterm()
    try:
        code: int = importlib.import_module(f"structpos.cli.{given[0]}").run(given[1:])
        sys.stdout.flush()
        return code
    except BaseException as error:
        if debug and isinstance(error, Exception):
            raise
        return _answer(f"structpos {given[0]}", error, given)


def listing() -> str:
    """The commands, each with what it does."""
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "structpos: structured positions for Transformers",
            "",
            "Commands:",
            *lines,
            "",
            "Options of a command: structpos COMMAND --help. Version: structpos --version.",
            "Try: structpos sample samples && structpos encode samples --output vectors",
        ]
    )


def _answer(command: str, error: BaseException, given: list[str]) -> int:
    """A sentence and an exit code for what ended a command; never a traceback."""
    from structpos.encode.errors import RunError
    from structpos.errors import MissingExtraError, PositionError, ReadError

    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt):
        return _tell(command, "interrupted. What was finished is kept.", 130)
    if isinstance(error, BrokenPipeError):  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(error, (UsageError, PositionError)):
        return _tell(command, f"{error}\nOptions: {command} --help", 2)
    if isinstance(error, (MissingExtraError, ReadError, RunError)):
        return _tell(command, str(error), 1)
    if isinstance(error, OSError) and error.strerror:
        return _tell(command, f"{error.filename or ''}: {error.strerror}.".lstrip(": "), 1)
    log = _log_place(given)
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(traceback.format_exception(error))
    what = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return _tell(command, f"an error of the program ({what}). Details are in {log}; with --debug they are shown.", 1)


def _tell(command: str, sentence: str, code: int) -> int:
    print(f"{command}: {sentence}", file=sys.stderr)
    return code


def _log_place(given: list[str]) -> Path:
    """A file for a traceback: in the output folder where the command has one, else among the temporary files."""
    for word, value in zip(given, [*given[1:], ""], strict=True):
        folder = Path(word.removeprefix("--output=") if word.startswith("--output=") else value, ".structpos")
        if word.startswith("--output") and folder.is_dir():
            return folder / "log.txt"
    return Path(tempfile.gettempdir(), f"structpos-{os.getpid()}.log")


def _end_on_sigterm() -> None:
    """End in order when the system asks for it, so that worker processes end too."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread
        pass
