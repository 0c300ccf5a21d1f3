"""The pool: what one task does to its process costs that task only, and a limit holds whatever the task does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from structpos.encode.memory import amount, resident, shown
from structpos.encode.pool import Outcome, Pool, PoolError

sys.path.insert(0, str(Path(__file__).parent))  # for this process and for the workers
from encode_troubles import Play


def play(tasks: list[Any], **options: Any) -> dict[Any, Outcome]:
    with Pool(Play(), workers=options.pop("workers", 1), **options) as pool:
        return {outcome.task: outcome for outcome in pool.results(deque(tasks)) if outcome is not None}


def test_every_task_is_answered_once():
    done = play(list(range(20)), workers=2)
    assert {task: outcome.value for task, outcome in done.items()} == {task: task for task in range(20)}


@pytest.mark.parametrize(
    ("task", "said"), [("segfault", "SIGSEGV"), ("killed", "memory runs out"), ("exit", "exit code 3")]
)
def test_a_process_that_dies_costs_its_own_task_only(task: str, said: str):
    done = play([1, task, 2])
    assert done[task].stopped == "crashed" and said in done[task].reason
    assert done[1].value == 1 and done[2].value == 2


def test_an_error_of_the_program_is_told_with_its_traceback_and_its_process_lives_on():
    done = play(["raise", "pid"])
    assert done["raise"].stopped == "unexpected" and "KeyError" in done["raise"].reason
    assert 'raise KeyError("a bug")' in done["raise"].trace
    assert done["pid"].value


def test_a_task_that_hangs_is_stopped_in_time_and_the_rest_is_done():
    begun = time.monotonic()
    done = play([1, "hang", 2], seconds=1.0)
    assert done["hang"].stopped == "time" and "1 s" in done["hang"].reason
    assert done[2].value == 2
    assert time.monotonic() - begun < 60


@pytest.mark.skipif(not resident(os.getpid()), reason="this system does not tell how much memory a process holds")
def test_a_task_that_eats_memory_is_stopped_and_the_rest_is_done():
    done = play([1, "eat", 2], memory=amount("250MB"))
    assert done["eat"].stopped == "memory" and "250 MB" in done["eat"].reason
    assert done[2].value == 2


def test_ctrl_c_is_not_for_the_workers():
    assert play(["interrupt"])["interrupt"].value == "interrupt"


def test_work_that_cannot_be_prepared_is_refused_in_its_own_words():
    with pytest.raises(PoolError, match="no such library"), Pool(Play(unable="no such library"), workers=1) as pool:
        list(pool.results(deque([1])))


def test_workers_that_cannot_start_are_not_started_for_ever():
    with pytest.raises(PoolError, match="cannot start"), Pool(Play(unable="dies"), workers=1) as pool:
        list(pool.results(deque([1])))


def test_a_worker_killed_while_it_waits_costs_no_task():
    tasks = deque(["pid"])
    seen = []
    with Pool(Play(), workers=1) as pool:
        for outcome in pool.results(tasks):
            if outcome is not None:
                seen.append(outcome)
                if len(seen) == 1:
                    os.kill(outcome.value, signal.SIGKILL)
                    pool.workers[0].process.join()
                    tasks.append(2)
    assert [outcome.stopped for outcome in seen] == ["", ""] and seen[1].value == 2


def test_tasks_may_be_added_while_results_are_read():
    tasks: deque[Any] = deque([1])
    with Pool(Play(), workers=1) as pool:
        values = []
        for outcome in pool.results(tasks):
            if outcome is not None:
                values.append(outcome.value)
                if outcome.value < 3:
                    tasks.append(outcome.value + 1)
    assert values == [1, 2, 3]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a worker ends when it next asks for work")
def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path):
    script = tmp_path / "run.py"
    script.write_text(
        "import sys\nfrom collections import deque\nfrom structpos.encode.pool import Pool\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom encode_troubles import Play\n"
        "if __name__ == '__main__':\n"
        "    with Pool(Play(), workers=1) as pool:\n"
        "        for outcome in pool.results(deque(['pid', 'hang'])):\n"
        "            if outcome is not None:\n"
        "                print(outcome.value, flush=True)\n"
    )
    root = str(Path(__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=env) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _alive(child)
        parent.kill()
        parent.wait()
    end = time.monotonic() + 20
    while _alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", "1 TB of it", "nan"])
def test_an_amount_of_memory_that_cannot_be_meant_is_refused_with_an_example(text: str):
    with pytest.raises(ValueError, match="2GB"):
        amount(text)


def test_amounts_are_shown_as_they_are_written():
    assert amount(shown(3 * 2**30)) == 3 * 2**30
