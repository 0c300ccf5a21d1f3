"""A whole run: many inputs into one output folder, continued where the last run ended."""

from __future__ import annotations

import os
import shutil
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structpos.encode.formats import SCHEMA, WRITERS
from structpos.encode.inputs import STATE, InputError, Source, absolute, find_sources
from structpos.encode.job import EncodeDocument, Task
from structpos.encode.ledger import Entry, Ledger, digest, fingerprint
from structpos.encode.lock import FolderLock
from structpos.encode.plan import make_plan
from structpos.encode.pool import Outcome, Pool
from structpos.encode.progress import Progress
from structpos.encode.read import KINDS
from structpos.encode.summary import Pace, Summary
from structpos.encode.worker import Work
from structpos.errors import PositionError, unknown

if TYPE_CHECKING:
    from structpos.encoders.base import PositionEncoder

DTYPES = ("float32", "float16", "float64")
MOST_WORKERS = 8  # by default: each holds some 600 MB, most of it torch
TIME_LIMIT = 300.0  # [s]
MEMORY_LIMIT = 2 * 2**30  # [bytes]


def encode(
    inputs: str | Path | Iterable[str | Path],
    *,
    output: str | Path,
    encoder: PositionEncoder | Mapping[str, Any] | None = None,
    checkpoint: str | Path | None = None,
    seed: int | None = None,
    table_only: bool = False,
    format: str = "parquet",
    dtype: str = "float32",
    workers: int | None = None,
    password: str | None = None,
    checksum: bool = False,
    max_failures: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    memory_limit: int | None = MEMORY_LIMIT,
    trust: Sequence[str] = (),
    progress: bool = False,
) -> Summary:
    """Write a file for each document: its table of words, and beside each word the vector of its position.

    The vectors say where a word stands, not what it means. Only what is new, changed or gone from the output folder is
    encoded; a run that was killed continues where it was. Worker processes are started anew (spawn); they import
    structpos and nothing of the script that calls this.

    Args:
        inputs: Files, folders and patterns such as ``"in/**/*.pdf"``.
        output: The folder to write into; it also gets ``errors.csv`` and ``summary.json``.
        encoder: An encoder on the input (``vector``) or a rotary one (``angle``), or its settings; by default
            ``Layout(width=128)``.
        checkpoint: Instead, a trained one: a folder or file that ``save_encoder`` wrote.
        seed: Draws the parameters of a learned encoder at random.
        table_only: Write the table of words alone; torch is then never loaded.
        format: ``parquet``, ``safetensors`` or ``npz``.
        dtype: ``float32``, ``float16`` or ``float64``.
        workers: Processes; by default one a processor, at most 8.
        password: For PDFs that ask for one.
        checksum: Tell changed inputs by their bytes, not by size and time.
        max_failures: End early when so many documents have gone wrong.
        time_limit: Time a document may take [s]; None for no limit. The pages read until then are kept, marked partial.
        memory_limit: Memory a worker may hold [bytes]; likewise.
        trust: Modules beside structpos and installed packages from which an encoder's class may come.
        progress: Tell on standard error how far it is.

    Returns:
        Summary: what became of each document, in the order of the inputs, sorted by path.

    Raises:
        InputError: there is nothing to read, or the output folder holds an input folder.
        PositionError: a setting that cannot be met, or an encoder whose signal cannot be written beside a word.
        LockedError: another run writes into the same folder.
        PoolError: the workers cannot work at all.
    """
    _check(format, dtype, workers, max_failures, time_limit, memory_limit)
    begun = time.monotonic()
    output = absolute(output)
    inputs = [inputs] if isinstance(inputs, (str, Path)) else list(inputs)
    sources = find_sources(inputs, output=output)
    if not sources:
        raise InputError(
            f"There is nothing to read in {', '.join(map(str, inputs)) or 'no input'}. Kinds there are: {KINDS}."
        )
    chosen = None
    if table_only:
        if encoder is not None or checkpoint is not None or seed is not None:
            raise PositionError("table_only writes no vectors: leave out encoder, checkpoint and seed.")
    else:
        from structpos.encode.vectors import choose_encoder, modules_in

        chosen = choose_encoder(encoder, checkpoint=checkpoint, seed=seed, trust=trust)
    state = output / STATE
    state.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        lock = held.enter_context(FolderLock(state / "lock"))
        ledger = held.enter_context(Ledger(state / "ledger.jsonl", output=output))
        place = _empty(state / "tmp")
        held.callback(shutil.rmtree, place, ignore_errors=True)
        settings: dict[str, Any] = {"schema": SCHEMA, "format": format, "encoder": None}
        work = EncodeDocument(state=str(place), format=format, dtype=dtype, trust=tuple(trust), password=password)
        if chosen is not None:
            work = replace(work, encoder=str(place / "encoder"), trust=(*trust, *modules_in(chosen.settings())))
            settings |= {"dtype": dtype, "encoder": chosen.settings(), "weights": _save(chosen, place / "encoder")}
        print_of, limits = fingerprint(settings), f"{time_limit} s, {memory_limit} bytes"
        run = _Run(ledger, Summary(output=output, settings=settings, inputs=len(sources)), sources, print_of, limits)
        tasks = run.plan(suffix=f".{format}", checksum=checksum, exact=not (state / "LOCK").exists())
        count = min(workers or _processors(), max(len(tasks), 1))
        pool = held.enter_context(Pool(work, workers=count, seconds=time_limit, memory=memory_limit))
        try:
            run.work(tasks, pool, place, lock, Progress(len(tasks), shown=progress), max_failures)
        except KeyboardInterrupt:
            run.summary.stopped = "Interrupted; what is done is kept, and the next run continues from here."
            raise
        finally:
            run.summary.entries, run.summary.seconds = run.entries(), time.monotonic() - begun
            run.summary.write()
    return run.summary


class _Run:
    """The state of one run."""

    def __init__(self, ledger: Ledger, summary: Summary, sources: list[Source], settings: str, limits: str) -> None:
        self.ledger, self.summary, self.sources = ledger, summary, sources
        self.settings, self.limits = settings, limits
        self.reached: set[str] = set()
        self.begun = time.monotonic()

    def plan(self, *, suffix: str, checksum: bool, exact: bool) -> deque[Task]:
        """The documents to do; those that need nothing are noted as reached."""
        plan = make_plan(
            self.sources,
            self.ledger,
            suffix=suffix,
            settings=self.settings,
            limits=self.limits,
            checksum=checksum,
            exact=exact,
        )
        self.reached = plan.current
        self.summary.current, self.summary.removed, self.summary.moved = len(plan.current), plan.removed, plan.moved
        return plan.tasks

    def work(
        self, tasks: deque[Task], pool: Pool, place: Path, lock: FolderLock, progress: Progress, most: int | None
    ) -> None:
        """Do the tasks and commit each as it ends."""
        failures, pace = 0, Pace(self.summary)
        try:
            for outcome in pool.results(tasks):
                lock.beat(time.monotonic())
                if outcome is None:
                    progress.tick()
                elif (entry := self._judge(outcome, tasks, place)) is not None:
                    entry = self._commit(entry)
                    progress.step(entry)
                    failures += entry.status != "written"
                    if most is not None and failures >= most:
                        self.summary.stopped = (
                            f"Stopped early: {failures} documents with errors (--max-failures {most})."
                        )
                        return
                pace(self.entries, time.monotonic() - self.begun)
        finally:
            progress.close()

    def _judge(self, outcome: Outcome, tasks: deque[Task], place: Path) -> Entry | None:
        """The entry of a document that has ended; one that was stopped first gets its pages saved."""
        task: Task = outcome.task
        if not outcome.stopped:
            entry: Entry = outcome.value
        elif outcome.stopped != "unexpected" and (again := task.again(outcome.stopped, outcome.reason)) is not None:
            tasks.appendleft(again)
            return None
        else:
            kind, reason = task.stopped or outcome.stopped, task.reason or outcome.reason
            entry = Entry(source=task.source, output=task.output, status="failed", kind=kind, reason=reason)
            entry = _with_facts(entry)
            if outcome.trace:
                log = _log(self.summary.output, task.source, outcome.trace)
                entry = replace(entry, reason=f"{reason} Details are in {log}.")
        if task.stopped or outcome.stopped:
            task.kept(place).unlink(missing_ok=True)
        return replace(entry, settings=self.settings, limits=self.limits)

    def _commit(self, entry: Entry) -> Entry:
        self.reached.add(entry.source)
        try:
            self.ledger.add(entry)
        except OSError as error:
            reason = f"the output could not be put in its place ({error.strerror or error})."
            entry = replace(entry, status="failed", kind="not-written", reason=reason, temporary="", output_size=-1)
            self.ledger.add(entry)
        return entry

    def entries(self) -> list[Entry]:
        """What became of the documents reached so far, in the order of the inputs."""
        return [self.ledger.entries[source.path] for source in self.sources if source.path in self.reached]


def _check(
    format: str,
    dtype: str,
    workers: int | None,
    max_failures: int | None,
    time_limit: float | None,
    memory_limit: int | None,
) -> None:
    if format not in WRITERS:
        raise PositionError(unknown("format", format, WRITERS))
    if dtype not in DTYPES:
        raise PositionError(unknown("dtype", dtype, DTYPES))
    limits = {"workers": workers, "max_failures": max_failures, "time_limit": time_limit, "memory_limit": memory_limit}
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise PositionError(f"{name} needs a number above 0, got {value}.")


def _with_facts(entry: Entry) -> Entry:
    """Size, time and checksum of a file whose process could not say them."""
    try:
        facts = Path(entry.source).stat()
        checksum = digest(Path(entry.source))
    except OSError:
        return entry
    return replace(entry, size=facts.st_size, modified=facts.st_mtime_ns, checksum=checksum)


def _empty(folder: Path) -> Path:
    """A new folder in place of what a killed run left there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _save(encoder: PositionEncoder, folder: Path) -> str:
    """Write the encoder for the workers; returns the checksum of its parameters."""
    from structpos.encode.checkpoint import WEIGHTS, save_encoder

    save_encoder(encoder, folder)
    weights = folder / WEIGHTS
    return digest(weights) if weights.exists() else ""


def _processors() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST_WORKERS)


def _log(output: Path, source: str, trace: str) -> Path:
    log = output / STATE / "log.txt"
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {source}\n{trace}\n")
    return log


_: type[Work] = EncodeDocument  # the pool's contract, checked by mypy
