"""Worker processes watched from outside: a task that hangs, eats memory or kills its process costs that task only.

``concurrent.futures`` gives up everything when one of its processes dies, and cannot stop a running task. Here the
parent holds one pipe to each worker, gives it one task at a time, looks at the clock and at the worker's memory, and
starts another worker in place of one that is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from structpos.encode.errors import RunError
from structpos.encode.memory import die_with_parent, resident, shown

TICK = 0.05  # seconds between two looks at the workers
GROWTH = 2**29  # bytes a worker may keep from earlier tasks before another takes its place
STARTS = 3  # workers in a row that may die before they are ready


class PoolError(RunError):
    """The workers cannot do any work at all; the message says why."""


class Work(Protocol):
    """What a worker does. It travels to the worker once, so it must survive pickling."""

    def prepare(self) -> None:
        """Load what every task needs; called once in each worker."""

    def __call__(self, task: Any, /) -> Any:
        """Do one task."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one task ended.

    Args:
        task: The task.
        value: What the work returned, where it ended by itself.
        stopped: Empty, or why it did not: ``time``, ``memory``, ``crashed`` or ``unexpected``.
        reason: The same in a sentence.
        trace: The traceback of an unexpected error.
    """

    task: Any
    value: Any = None
    stopped: str = ""
    reason: str = ""
    trace: str = ""


class Pool:
    """Spawned workers that do one kind of work.

    Args:
        work: What they do.
        workers: How many there are, at most.
        seconds: Time a task may take; None for no limit.
        memory: Bytes a worker may hold; None for no limit.

    Raises:
        PoolError: the work cannot be prepared, or workers die before they are ready.
    """

    def __init__(self, work: Work, *, workers: int, seconds: float | None = None, memory: int | None = None) -> None:
        self.work = work
        self.size = workers
        self.seconds = seconds
        self.memory = memory
        self.workers: list[_Worker] = []
        self.lost = 0  # workers in a row that died before they were ready

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()
        self.workers.clear()

    def results(self, tasks: deque[Any]) -> Iterator[Outcome | None]:
        """Do the tasks, and yield how each ended, as they end.

        Args:
            tasks: Taken from the left; more may be added while the results are read.

        Yields:
            An outcome, or None after a while in which nothing ended (time for the caller to show a sign of life).
        """
        while tasks or any(worker.busy for worker in self.workers):
            wanted = min(self.size, len(tasks) + sum(worker.busy for worker in self.workers))
            while len(self.workers) < wanted:
                self.workers.append(_Worker(self.work))
            for worker in list(self.workers):
                if tasks and worker.ready and not worker.busy:
                    self._give(worker, tasks)
            by_connection = {worker.connection: worker for worker in self.workers}
            heard = wait(list(by_connection), timeout=TICK)
            for connection in heard:
                outcome = self._hear(by_connection[connection])  # type: ignore[index]
                if outcome is not None:
                    yield outcome
            for worker in list(self.workers):
                outcome = self._look(worker)
                if outcome is not None:
                    yield outcome
            if not heard:
                yield None

    def _give(self, worker: _Worker, tasks: deque[Any]) -> None:
        try:
            worker.give(tasks[0])
        except OSError:  # it died while it had nothing to do: no task's fault
            self._drop(worker)
        else:
            tasks.popleft()

    def _hear(self, worker: _Worker) -> Outcome | None:
        try:
            word, value = worker.connection.recv()
        except (EOFError, OSError):
            return self._gone(worker)
        if word == "ready":
            self.lost = 0
            worker.ready, worker.rest = True, resident(worker.pid)
            return None
        if word == "unable":
            raise PoolError(value)
        task, worker.busy = worker.task, False
        if self._has_grown(worker):
            self._drop(worker)
        if word == "raised":
            return Outcome(task=task, stopped="unexpected", reason=_last_line(value), trace=value)
        return Outcome(task=task, value=value)

    def _gone(self, worker: _Worker) -> Outcome | None:
        self._drop(worker)
        if worker.busy:
            return Outcome(task=worker.task, stopped="crashed", reason=_why(worker.process.exitcode))
        if not worker.ready:
            self.lost += 1
            if self.lost >= STARTS:
                raise PoolError(
                    f"Workers cannot start: {_why(worker.process.exitcode)} "
                    "A script that calls encode must do so under: if __name__ == '__main__':"
                )
        return None

    def _look(self, worker: _Worker) -> Outcome | None:
        """Stop a worker that is over a limit, unless its answer is waiting to be read."""
        if not worker.busy or worker.connection.poll():
            return None
        if self.seconds is not None and time.monotonic() - worker.since > self.seconds:
            stopped, reason = "time", f"stopped after {self.seconds:g} s. Give more with --time-limit."
        elif self.memory is not None and resident(worker.pid) > self.memory:
            stopped, reason = "memory", f"stopped at {shown(self.memory)}. Give more with --memory-limit."
        else:
            return None
        self._drop(worker)
        return Outcome(task=worker.task, stopped=stopped, reason=reason)

    def _has_grown(self, worker: _Worker) -> bool:
        room = GROWTH if self.memory is None else min(GROWTH, (self.memory - worker.rest) // 4)
        return resident(worker.pid) - worker.rest > max(room, 0)

    def _drop(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        worker.stop()


class _Worker:
    """The parent's side of one process."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        with _interrupts_held():
            self.process.start()
        theirs.close()
        self.pid = self.process.pid or 0
        self.ready = False
        self.busy = False
        self.rest = 0  # bytes held when ready
        self.task: Any = None
        self.since = 0.0

    def give(self, task: Any) -> None:
        self.connection.send(task)
        self.task, self.busy, self.since = task, True, time.monotonic()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(work: Work, connection: Connection[Any, Any]) -> None:
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


def _why(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process ended with exit code {code}."
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    memory = " (the system does so when memory runs out)" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{memory}."


def _last_line(trace: str) -> str:
    return f"an error of the program, not of the file: {trace.strip().splitlines()[-1]}"
