"""How fast reading and encoding are, and how much memory they take: ``python -m structpos.bench.reading FOLDER``.

Speed is told as a ratio to PyMuPDF's own ``get_text("words")`` on the same files, in CPU time of one process, the ways
taken in turns file by file; what is told is the median over rounds. Workers and memory are measured on the pool itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from structpos.encode.formats import write_parquet
from structpos.encode.job import EncodeDocument, Task
from structpos.encode.memory import resident
from structpos.encode.pool import Pool
from structpos.errors import require
from structpos.readers.pdf import read_pdf

WIDTH = 128
COUNTS = (10, 100, 1000)


def main(given: Sequence[str] | None = None) -> int:
    """Measure what was asked for and print a table of it."""
    parser = argparse.ArgumentParser(prog="python -m structpos.bench.reading", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of PDFs")
    parser.add_argument("--files", type=int, default=60, help="how many of them, evenly chosen (60)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the speed table (5)")
    parser.add_argument("--only", choices=("speed", "workers", "memory"), help="one part alone")
    parser.add_argument("--documents", type=int, default=COUNTS[-1], help="most documents of the memory table (1000)")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    options = parser.parse_args(given)
    found = sorted(options.folder.rglob("*.pdf"))
    files = found[:: max(1, len(found) // options.files)][: options.files]
    if not files:
        parser.error(f"there is no PDF in {options.folder}.")
    numbers: dict[str, Any] = {"files": len(files), "folder": options.folder.name}
    if options.only in (None, "speed"):
        numbers["speed"] = speed(files, options.rounds)
        _print("times of get_text('words'), CPU", numbers["speed"])
    if options.only in (None, "workers"):
        numbers["workers"] = workers(files)
        _print("documents a second, start not counted", numbers["workers"])
    if options.only in (None, "memory"):
        numbers["memory"] = memory(files, [count for count in COUNTS if count <= options.documents])
        _print("MB held after so many documents", numbers["memory"])
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n")
    return 0


def speed(files: Sequence[Path], rounds: int) -> dict[str, float]:
    """CPU time of each way through a file, over that of ``get_text("words")``."""
    import torch

    from structpos.encode.vectors import encode_document
    from structpos.encoders.layout import Layout

    torch.set_num_threads(1)
    encoder = Layout(WIDTH).eval()
    library = require("pymupdf", "pdf")

    def words(path: Path) -> Any:
        with library.open(path) as document:
            return [page.get_text("words") for page in document]

    def reading(path: Path) -> Any:
        return read_pdf(path)

    def positions(path: Path) -> Any:
        return read_pdf(path).positions()

    def vectors(path: Path) -> Any:
        return encode_document(encoder, read_pdf(path), "float32")

    def writing(path: Path) -> Any:
        document = read_pdf(path)
        signal = encode_document(encoder, document, "float32")
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            write_parquet(Path(file.name), document.columns, signal, {"signal": "vector"})

    ways: dict[str, Callable[[Path], Any]] = {
        "words": words,
        "reading": reading,
        "reading, positions": positions,
        "reading, positions, vectors": vectors,
        "reading, positions, vectors, writing": writing,
    }
    for way in ways.values():  # what is loaded or compiled at the first call is no part of it
        way(files[0])
    totals: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        spent = dict.fromkeys(ways, 0.0)
        for path in files:
            for name, way in ways.items():
                begun = time.process_time()
                way(path)
                spent[name] += time.process_time() - begun
        for name, seconds in spent.items():
            totals[name].append(seconds / spent["words"])
    return {name: round(statistics.median(ratios), 3) for name, ratios in totals.items()}


def workers(files: Sequence[Path], rounds: int = 3) -> dict[str, float]:
    """Documents a second with one worker and with two, in turns, from when all are ready."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    with (
        tempfile.TemporaryDirectory() as place,
        Pool(_work(place), workers=1) as one,
        Pool(_work(place), workers=2) as two,
    ):
        one.start()
        two.start()
        for number in range(rounds):
            for count, pool in ((1, one), (2, two)):
                begun = time.perf_counter()
                _run(pool, _tasks(files, f"{count}-{number}"), place)
                rates[count].append(len(files) / (time.perf_counter() - begun))
    single, double = (statistics.median(rates[count]) for count in (1, 2))
    return {"one worker": round(single, 2), "two workers": round(double, 2), "ratio": round(double / single, 3)}


def memory(files: Sequence[Path], counts: Sequence[int]) -> dict[str, float]:
    """Memory of a worker and of the parent after so many documents; the files are read again and again."""
    held: dict[str, float] = {}
    done = 0
    with tempfile.TemporaryDirectory() as place, Pool(_work(place), workers=1) as pool:
        pool.start()
        first = pool.workers[0].pid
        for count in counts:
            chosen = [files[number % len(files)] for number in range(done, count)]
            _run(pool, _tasks(chosen, f"{count}"), place)
            done = count
            held[f"worker after {count}"] = round(resident(pool.workers[0].pid) / 2**20, 1)
            held[f"parent after {count}"] = round(resident(os.getpid()) / 2**20, 1)
        held["worker replaced"] = float(pool.workers[0].pid != first)
    return held


def _work(place: str) -> EncodeDocument:
    from structpos.encode.checkpoint import save_encoder
    from structpos.encoders.layout import Layout

    save_encoder(Layout(WIDTH), Path(place, "encoder"))
    return EncodeDocument(state=place, format="parquet", encoder=str(Path(place, "encoder")))


def _tasks(files: Sequence[Path], key: str) -> deque[Any]:
    return deque(
        Task(source=str(path.absolute()), output=path.name, key=f"{key}-{number}") for number, path in enumerate(files)
    )


def _run(pool: Pool, tasks: deque[Any], place: str) -> None:
    for outcome in pool.results(tasks):
        if outcome is not None:
            if outcome.stopped or outcome.value.status != "written":
                raise SystemExit(f"{outcome.task.source}: {outcome.reason or outcome.value.reason}")
            Path(place, f"{outcome.task.key}.parquet").unlink()


def _print(title: str, rows: dict[str, float]) -> None:
    print(f"\n{title}")
    for name, value in rows.items():
        print(f"  {name:38}{value:10g}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
