"""260 difficult files: each gives what it must, within 20 seconds and 2 GB, and never ends the process."""

from __future__ import annotations

import csv
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pymupdf")

DATA = Path(os.environ.get("STRUCTPOS_TEST_DATA", "")) / "pdf_stress"
if not os.environ.get("STRUCTPOS_TEST_DATA") or not DATA.is_dir():
    pytest.skip("STRUCTPOS_TEST_DATA does not name a folder with pdf_stress", allow_module_level=True)

with (DATA / "manifest.csv").open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))

SECONDS = 20.0
WORKER = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from structpos.errors import ReadError
from structpos.readers.pdf import read_pdf
for line in sys.stdin:
    path, password = json.loads(line)
    try:
        document = read_pdf(path, password=password)
        pages = document.page_columns
        found = {
            "words": len(document),
            "pages": len(pages["page"]),
            "needs_ocr": pages["needs_ocr"].tolist(),
            "errors": pages["error"].tolist(),
            "boxes": [float(document.columns[side].min()) for side in ("x0", "y0")]
            + [float(document.columns[side].max()) for side in ("x1", "y1")] if len(document) else [],
        }
    except ReadError as error:
        found = {"kind": error.kind, "said": str(error)}
    print(json.dumps(found), flush=True)
"""


class Worker:
    """A process that reads one file after another; a new one is started when it ends or hangs."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def read(self, path: Path, password: str | None) -> dict[str, Any]:
        """What one file gives, or how the process ended over it."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parent.parent,
                env={key: value for key, value in os.environ.items() if key != "STRUCTPOS_PDF_PASSWORD"},
            )
        process = self.process
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(json.dumps([str(path), password]) + "\n")
        process.stdin.flush()
        answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=lambda: answers.put(process.stdout.readline()), daemon=True).start()  # type: ignore
        try:
            answer = answers.get(timeout=SECONDS)
        except queue.Empty:
            answer = ""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        process.kill()
        self.process = None
        return {"ended": process.communicate()[1][-2000:] or "the process hung"}

    def close(self) -> str:
        """End the process; what it said on stderr."""
        return self.process.communicate()[1] if self.process else ""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    assert started.close() == "", "MuPDF's messages reached the terminal"


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[Path(row["file"]).stem[:60] for row in ROWS])
def test_every_file_gives_what_can_be_had(row: dict[str, str], worker: Worker) -> None:
    found = worker.read(DATA / row["file"], None)
    assert "ended" not in found, found
    if row["expect"] == "password":
        assert found.get("kind") == "password", found
        found = worker.read(DATA / row["file"], row["password"])
        assert found.get("words"), found
    elif row["expect"] == "error":
        assert found.get("kind") in {"empty", "not-a-pdf", "damaged", "no-pages"}, found
        assert Path(row["file"]).name in found["said"]
        return
    elif row["expect"] == "no-text":
        assert found.get("words") == 0 and all(found["needs_ocr"]), found
    else:
        assert found.get("words"), found
    if row["pages"]:
        assert found["pages"] == int(row["pages"])
    assert all(0.0 <= side <= 1.0 for side in found["boxes"])


@pytest.mark.slow
def test_pages_after_a_bad_page_are_read(worker: Worker) -> None:
    found = worker.read(DATA / "files" / "pdfjs__Pages-tree-refs.pdf", None)
    assert found["words"] and sum(bool(error) for error in found["errors"]) == 1


def test_the_list_of_files_is_whole() -> None:
    assert len(ROWS) == 260 and all((DATA / row["file"]).is_file() for row in ROWS)
