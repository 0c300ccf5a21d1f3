"""The ledger and the lock: nothing done is forgotten, nothing half done is believed, one run at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from structpos.encode.ledger import Entry, Ledger, digest, is_current
from structpos.encode.lock import FolderLock, LockedError


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "out" / ".structpos" / "tmp").mkdir(parents=True)
    return tmp_path / "out"


def open_ledger(output: Path) -> Ledger:
    return Ledger(output / ".structpos" / "ledger.jsonl", output=output)


def finished(output: Path, name: str, text: str = "content") -> Entry:
    """An entry whose file waits under its temporary name."""
    (output / ".structpos" / "tmp" / name).write_text(text)
    return Entry(source=f"/in/{name}", output=f"sub/{name}", temporary=f"tmp/{name}", output_size=len(text))


def test_a_committed_document_is_in_place_and_known_to_the_next_run(output: Path):
    with open_ledger(output) as ledger:
        ledger.add(finished(output, "a"))
    assert (output / "sub" / "a").read_text() == "content"
    with open_ledger(output) as again:
        assert again.entries["/in/a"].output == "sub/a"


def test_a_run_killed_between_the_line_and_the_move_has_the_move_made_good(output: Path):
    entry = finished(output, "a")
    with open_ledger(output) as ledger:
        ledger.file.write(json.dumps(entry.__dict__) + "\n")
    with open_ledger(output):
        assert (output / "sub" / "a").read_text() == "content"


def test_a_line_cut_in_two_is_forgotten_and_the_next_line_is_whole(output: Path):
    with open_ledger(output) as ledger:
        ledger.add(finished(output, "a"))
        ledger.file.write('{"source": "/in/b", "outp')
    with open_ledger(output) as again:
        assert list(again.entries) == ["/in/a"]
        again.add(finished(output, "c"))
    with open_ledger(output) as last:
        assert list(last.entries) == ["/in/a", "/in/c"]


def test_a_name_that_is_no_unicode_survives(output: Path):
    name = os.fsdecode(b"/in/\xff.pdf")
    with open_ledger(output) as ledger:
        ledger.add(Entry(source=name, output="x"))
    with open_ledger(output) as again:
        assert list(again.entries) == [name]


@pytest.fixture
def done(tmp_path: Path) -> Iterator[Entry]:
    source, output = tmp_path / "a.pdf", tmp_path / "a.parquet"
    source.write_text("source")
    output.write_text("output")
    facts = source.stat()
    yield Entry(
        source=str(source),
        output="a.parquet",
        size=facts.st_size,
        modified=facts.st_mtime_ns,
        checksum=digest(source),
        settings="s",
        limits="l",
        output_size=6,
    )


def current(entry: Entry, folder: Path, *, settings: str = "s", limits: str = "l", checksum: bool = False) -> bool:
    return is_current(entry, output=folder, settings=settings, limits=limits, checksum=checksum)


def test_what_has_not_changed_needs_no_work(done: Entry, tmp_path: Path):
    assert current(done, tmp_path) and current(done, tmp_path, checksum=True)
    assert current(done, tmp_path, limits="other"), "a whole document does not depend on the limits"


def test_every_change_is_seen(done: Entry, tmp_path: Path):
    assert not current(done, tmp_path, settings="other")
    (tmp_path / "a.parquet").write_text("cut")
    assert not current(done, tmp_path), "an output of another size"
    (tmp_path / "a.parquet").unlink()
    assert not current(done, tmp_path), "a vanished output"


def test_a_new_time_is_a_change_unless_the_bytes_are_compared(done: Entry, tmp_path: Path):
    os.utime(done.source, ns=(0, 0))
    assert not current(done, tmp_path)
    assert current(done, tmp_path, checksum=True)


def test_other_bytes_of_the_same_size_and_time_are_seen_by_their_checksum(done: Entry, tmp_path: Path):
    Path(done.source).write_text("SOURCE")
    os.utime(done.source, ns=(done.modified, done.modified))
    assert current(done, tmp_path), "size and time cannot tell"
    assert not current(done, tmp_path, checksum=True)


def test_a_fault_of_the_file_is_remembered_and_one_of_circumstances_is_tried_again(done: Entry, tmp_path: Path):
    failed = replace(done, status="failed", output_size=-1)
    assert current(replace(failed, kind="damaged"), tmp_path)
    for kind in ("crashed", "unexpected", "password", "not-written", "no-access"):
        assert not current(replace(failed, kind=kind), tmp_path), kind
    for kind in ("time", "memory"):
        assert current(replace(failed, kind=kind), tmp_path), kind
        assert not current(replace(failed, kind=kind), tmp_path, limits="more"), kind


def test_a_second_run_is_refused_and_told_who_holds_the_folder(output: Path):
    path = output / ".structpos" / "lock"
    with FolderLock(path), pytest.raises(LockedError, match=f"process {os.getpid()} on"), FolderLock(path):
        pass
    with FolderLock(path):
        pass  # given back


def test_the_lock_of_a_killed_process_is_taken_over(output: Path):
    path = output / ".structpos" / "lock"
    script = f"""
import os, signal
from pathlib import Path
from structpos.encode.lock import FolderLock
with FolderLock(Path({str(path)!r})):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    root = str(Path(__file__).parents[1])
    subprocess.run([sys.executable, "-c", script], check=False, cwd=root)
    assert "pid" in path.read_text()
    with FolderLock(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_another_machine_holds_the_folder_as_long_as_it_gives_signs_of_life(output: Path):
    path = output / ".structpos" / "lock"
    path.write_text(json.dumps({"pid": 4711, "host": "elsewhere"}))
    with pytest.raises(LockedError, match="process 4711 on elsewhere"), FolderLock(path):
        pass
    hours_ago = path.stat().st_mtime - 7200
    os.utime(path, (hours_ago, hours_ago))
    with FolderLock(path):
        pass


def test_a_running_lock_gives_signs_of_life(output: Path):
    path = output / ".structpos" / "lock"
    with FolderLock(path) as lock:
        os.utime(path, (0, 0))
        lock.beat(1e9)
        assert path.stat().st_mtime > 0
