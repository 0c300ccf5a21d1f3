"""One worker process: how it is started, what it does, and how it ends with its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Protocol

from structpos.encode.memory import die_with_parent


class Work(Protocol):
    """What a worker does. It travels to the worker once, so it must survive pickling."""

    def prepare(self) -> None:
        """Load what every task needs; called once in each worker."""

    def __call__(self, task: Any, /) -> Any:
        """Do one task."""


class Worker:
    """The parent's side of one process: its pipe, and the task it has.

    Args:
        work: What it does; it travels to the process once.
    """

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(work, theirs), daemon=True)
        with _interrupts_held(), _script_hidden():
            self.process.start()
        theirs.close()
        self.pid = self.process.pid or 0
        self.ready = False
        self.busy = False
        self.rest = 0  # bytes held when ready
        self.task: Any = None
        self.since = 0.0

    def give(self, task: Any) -> None:
        """Send it a task.

        Raises:
            OSError: the process is gone.
        """
        self.connection.send(task)
        self.task, self.busy, self.since = task, True, time.monotonic()

    def stop(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(work: Work, connection: Connection[Any, Any]) -> None:
    """A worker's life: prepare, then one task after another until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the workers
    die_with_parent()
    for library in ("OMP", "MKL", "OPENBLAS"):  # one core a worker: the documents are the parallel part
        os.environ[f"{library}_NUM_THREADS"] = "1"
    try:
        work.prepare()
    except Exception as error:
        connection.send(("unable", str(error) or type(error).__name__))
        return
    connection.send(("ready", None))
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            answer = ("done", work(task))
        except Exception:
            answer = ("raised", traceback.format_exc())
        connection.send(answer)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C from a process that is starting; it reaches this one a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _script_hidden() -> Iterator[None]:
    """Start a process that does not import the caller's script.

    It needs nothing of it, and a script without ``if __name__ == "__main__"`` would run a second time there.
    """
    script = sys.modules["__main__"].__dict__
    kept: dict[str, Any] = {name: script[name] for name in ("__spec__", "__file__") if name in script}
    script["__spec__"] = None
    script.pop("__file__", None)
    try:
        yield
    finally:
        script.update(kept)
