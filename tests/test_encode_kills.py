"""A run killed at any moment continues: every document is there once, and nothing that was finished is done again.

``python tests/test_encode_kills.py 20`` kills 20 times and tells what it found after each.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def make_inputs(folder: Path, documents: int) -> None:
    """Documents of many lengths, so that kills fall into every part of the work."""
    import pymupdf

    for number in range(documents):
        place = folder / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        with pymupdf.open() as document:
            for page in range(1 + 7 * number % 16):
                words = " ".join(f"word{index}" for index in range(number % 9 + 1))
                sheet = document.new_page()
                for line in range(15):
                    sheet.insert_text((50, 60 + 20 * line), f"{number} {page} {line} {words}")
            document.save(place / f"{number:03}.pdf", no_new_id=True)


def start(folder: Path, output: Path, *options: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    words = ["encode", str(folder), "--output", str(output), "--workers", "2", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "structpos.cli", *words], env=env, stderr=subprocess.DEVNULL, start_new_session=True
    )


def committed(output: Path) -> list[str]:
    """The documents that the ledger knows, one for each whole line."""
    path = output / ".structpos" / "ledger.jsonl"
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line)["source"])
        except (ValueError, KeyError):
            continue
    return found


def lines_of(output: Path) -> int:
    path = output / ".structpos" / "ledger.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def check_kills(
    folder: Path, options: tuple[str, ...], *, documents: int, kills: int, seed: int, tell: Callable[[str], None]
) -> None:
    """Kill runs at random moments, let the last one end, and compare with a run that was left alone."""
    inputs, output, alone = folder / "in", folder / "out", folder / "alone"
    make_inputs(inputs, documents)
    begun = time.monotonic()
    assert start(inputs, alone, *options).wait() == 0
    whole = time.monotonic() - begun
    before = {path: path.stat().st_mtime_ns for path in inputs.rglob("*")}
    chance, done = random.Random(seed), 0
    for kill in range(kills):
        run = start(inputs, output, *options)
        # In the midst of the work, or before it has begun; some of the work is left over for each further kill.
        quota = done + max(1, (documents - done) // (kills - kill + 1))
        end = time.monotonic() + (chance.uniform(0, whole) if chance.random() < 0.3 else 3 * whole)
        while time.monotonic() < end and run.poll() is None and lines_of(output) < quota:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        run.send_signal(signal.SIGKILL)  # the run only: its workers must end by themselves
        run.wait()
        lines = committed(output)
        assert len(lines) == len(set(lines)), f"done twice: {sorted(lines)}"
        assert len(lines) >= done, "what was finished is forgotten"
        done = len(lines)
        tell(f"kill {kill + 1}: {done} of {documents} documents finished")
    assert start(inputs, output, *options).wait() == 0
    lines = committed(output)
    assert sorted(lines) == sorted(str(path) for path in inputs.rglob("*.pdf")), "every document exactly once"
    expected = {path.relative_to(alone): path.read_bytes() for path in alone.rglob("*.parquet")}
    found = {path.relative_to(output): path.read_bytes() for path in output.rglob("*.parquet")}
    assert len(expected) == documents
    assert found == expected, "the outputs are those of a run that was left alone, byte for byte"
    assert not list((output / ".structpos").glob("tmp*")), "leftovers"
    assert {path: path.stat().st_mtime_ns for path in inputs.rglob("*")} == before, "inputs were written to"
    told = json.loads((output / "summary.json").read_text())
    assert told["complete"] and told["written"] == documents == len(told["documents"])
    assert (output / "errors.csv").read_text().count("\n") == 1
    tell(f"{kills} kills: {documents} documents, each once, byte for byte those of a run that was left alone")


@pytest.mark.slow
def test_every_document_is_there_once_after_kills_at_random_moments(tmp_path: Path):
    check_kills(
        tmp_path, ("--table-only",), documents=60, kills=4, seed=random.SystemRandom().randrange(10**6), tell=print
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
        check_kills(Path(place), ("--encoder.width", "16"), documents=200, kills=times, seed=time.time_ns(), tell=print)
