"""One run at a time in a folder."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

from structpos.encode.errors import RunError

BEAT = 10.0  # seconds between two signs of life
STALE = 60.0  # a run on another machine that gave no sign of life for so long is over


class LockedError(RunError):
    """Another run works in this folder; the message names it."""


class FolderLock:
    """Holds a folder for this process, by a file with the process's number and machine.

    The operating system's lock on that file goes away with the process, however it ends, so a lock left behind by a
    killed run is simply taken. Where the folder is shared and such locks do not reach the other machine, the file's
    time tells: a running process renews it every few seconds.

    Args:
        path: The lock file; its folder exists.

    Raises:
        LockedError: another run holds it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, FolderLock(Path(folder) / "lock"):
        ...     FolderLock(Path(folder) / "lock").__enter__()
        Traceback (most recent call last):
            ...
        structpos.encode.lock.LockedError: ...
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = -1
        self.beaten = 0.0

    def __enter__(self) -> FolderLock:
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            owner = _owner(self.path)
            if not _lock(self.file):
                raise LockedError(self._sentence(owner))
            self._refuse_other_machine(owner)
            self._write({"pid": os.getpid(), "host": socket.gethostname()})
        except BaseException:
            os.close(self.file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._write({})
        os.close(self.file)

    def beat(self, now: float) -> None:
        """Give a sign of life, at most every few seconds.

        Args:
            now: A clock's reading [s].
        """
        if now - self.beaten >= BEAT:
            self.beaten = now
            os.utime(self.path)

    def _refuse_other_machine(self, owner: dict[str, str | int]) -> None:
        """The same clock, that of the folder's file system, tells when the last sign was given and what time it is."""
        if not owner or owner.get("host") == socket.gethostname():
            return
        last = self.path.stat().st_mtime
        os.utime(self.path)
        now = self.path.stat().st_mtime
        if now - last < STALE:
            os.utime(self.path, (last, last))
            raise LockedError(self._sentence(owner, f", last seen {now - last:.0f} s ago"))

    def _sentence(self, owner: dict[str, str | int], seen: str = "") -> str:
        who = f"process {owner['pid']} on {owner['host']}{seen}" if owner else "another process"
        return (
            f"{self.path.parent.parent}: another run writes here ({who}). Wait for it, or name another output folder."
        )

    def _write(self, content: dict[str, str | int]) -> None:
        os.ftruncate(self.file, 0)
        os.lseek(self.file, 0, os.SEEK_SET)
        os.write(self.file, json.dumps(content).encode())


def _owner(path: Path) -> dict[str, str | int]:
    try:
        content = json.loads(path.read_text())
        return {"pid": int(content["pid"]), "host": str(content["host"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _lock(file: int) -> bool:
    """Take the operating system's lock on an open file; True where it has none to give."""
    if sys.platform == "win32":
        import msvcrt

        try:  # far behind the content, which others must be able to read
            os.lseek(file, 2**30, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the file's content and time still tell
        return True
    return True
