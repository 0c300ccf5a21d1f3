"""Worker processes watched from outside: a task that hangs, eats memory or kills its process costs that task only.

``concurrent.futures`` gives up everything when one of its processes dies, and cannot stop a running task. Here the
parent holds one pipe to each worker, gives it one task at a time, looks at the clock and at the worker's memory, and
starts another worker in place of one that is gone.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from structpos.encode.errors import RunError
from structpos.encode.memory import resident, shown
from structpos.encode.worker import Work, Worker

TICK = 0.05  # seconds between two looks at the workers
GROWTH = 2**29  # bytes a worker may keep from earlier tasks before another takes its place
STARTS = 3  # workers in a row that may die before they are ready


class PoolError(RunError):
    """The workers cannot do any work at all; the message says why."""


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
        self.workers: list[Worker] = []
        self.lost = 0  # workers in a row that died before they were ready

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()
        self.workers.clear()

    def start(self) -> None:
        """Start all workers and wait until they are ready; without it each starts when there is work for it."""
        while len(self.workers) < self.size or not all(worker.ready for worker in self.workers):
            self._listen(self.size)

    def results(self, tasks: deque[Any]) -> Iterator[Outcome | None]:
        """Do the tasks, and yield how each ended, as they end.

        Args:
            tasks: Taken from the left; more may be added while the results are read.

        Yields:
            An outcome, or None after a while in which nothing ended (time for the caller to show a sign of life).
        """
        while tasks or any(worker.busy for worker in self.workers):
            wanted = min(self.size, len(tasks) + sum(worker.busy for worker in self.workers))
            self._give(tasks)
            heard = self._listen(wanted)
            self._give(tasks)  # before the caller deals with the outcomes, so that nobody waits for that
            yield from heard
            for worker in list(self.workers):
                outcome = self._look(worker)
                if outcome is not None:
                    yield outcome
            if not heard:
                yield None

    def _listen(self, wanted: int) -> list[Outcome]:
        """Have as many workers as wanted, wait a moment for what they say, and return what has ended."""
        while len(self.workers) < wanted:
            self.workers.append(Worker(self.work))
        speaking = wait([worker.connection for worker in self.workers], timeout=TICK)
        heard = [self._hear(worker) for worker in list(self.workers) if worker.connection in speaking]
        return [outcome for outcome in heard if outcome is not None]

    def _give(self, tasks: deque[Any]) -> None:
        for worker in list(self.workers):
            if tasks and worker.ready and not worker.busy:
                try:
                    worker.give(tasks[0])
                except OSError:  # it died while it had nothing to do: no task's fault
                    self._drop(worker)
                else:
                    tasks.popleft()

    def _hear(self, worker: Worker) -> Outcome | None:
        try:
            word, value = worker.connection.recv()
        except (EOFError, OSError):
            return self._gone(worker)
        if word == "ready":
            self.lost = 0
            worker.ready, worker.rest = True, resident(worker.pid)
            if self.memory is not None and worker.rest >= self.memory:
                raise PoolError(
                    f"A worker holds {shown(worker.rest)} before it reads anything. "
                    f"Give more than that with --memory-limit, which is {shown(self.memory)}."
                )
            return None
        if word == "unable":
            raise PoolError(value)
        task, worker.busy = worker.task, False
        if self._has_grown(worker):
            self._drop(worker)
        if word == "raised":
            return Outcome(task=task, stopped="unexpected", reason=_last_line(value), trace=value)
        return Outcome(task=task, value=value)

    def _gone(self, worker: Worker) -> Outcome | None:
        self._drop(worker)
        if worker.busy:
            return Outcome(task=worker.task, stopped="crashed", reason=_why(worker.process.exitcode))
        if not worker.ready:
            self.lost += 1
            if self.lost >= STARTS:
                raise PoolError(f"Workers cannot start: {_why(worker.process.exitcode)}")
        return None

    def _look(self, worker: Worker) -> Outcome | None:
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

    def _has_grown(self, worker: Worker) -> bool:
        room = GROWTH if self.memory is None else min(GROWTH, (self.memory - worker.rest) // 4)
        return resident(worker.pid) - worker.rest > max(room, 0)

    def _drop(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.stop()


def _why(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process ended with exit code {code}."
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    memory = " (the system does so when memory runs out)" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{memory}."


def _last_line(trace: str) -> str:
    return f"an error of the program, not of the file: {trace.strip().splitlines()[-1]}"
