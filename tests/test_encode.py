"""``encode``: from a folder of documents to one file each, night after night."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structpos.encode.run
from structpos import Layout, Learned, PositionError, Rotary, read_pdf
from structpos.datasets.sample_pdfs import write_samples
from structpos.encode import Summary, encode, read_encoded
from structpos.encode.checkpoint import load_encoder, save_encoder
from structpos.encode.inputs import InputError
from structpos.encode.job import EncodeDocument
from structpos.encode.lock import FolderLock, LockedError
from structpos.encode.pool import Outcome
from structpos.encode.worker import Work

sys.path.insert(0, str(Path(__file__).parent))  # for this process and for the workers
from encode_troubles import Restless, Troubled

SMALL: dict[str, Any] = {"class_path": "layout", "init_args": {"width": 16}}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


@pytest.fixture
def folder(samples: Path, tmp_path: Path) -> Path:
    """An input folder with two documents in two folders, by the same name."""
    for name in ("one", "two"):
        (tmp_path / "in" / name).mkdir(parents=True)
    shutil.copy2(samples / "two_columns.pdf", tmp_path / "in" / "one" / "contract.pdf")
    shutil.copy2(samples / "form.pdf", tmp_path / "in" / "two" / "contract.pdf")
    return tmp_path / "in"


class Here:
    """A pool without processes: starting them takes seconds, and what is written does not depend on it."""

    def __init__(self, work: Work, **_: Any) -> None:
        self.work = work

    def __enter__(self) -> Here:
        self.work.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, tasks: deque[Any]) -> Iterator[Outcome]:
        while tasks:
            task = tasks.popleft()
            yield Outcome(task=task, value=self.work(task))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structpos.encode.run, "Pool", Here)


def tables(inputs: Any, output: Path, *, workers: int = 1, **options: Any) -> Summary:
    """A run without vectors, which starts faster."""
    return encode(inputs, output=output, table_only=True, workers=workers, **options)


def errors(output: Path) -> list[dict[str, str]]:
    with (output / "errors.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summary(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "summary.json").read_text())
    return found


# What is written.


@pytest.mark.usefixtures("here")
def test_each_word_has_the_vector_of_its_position(samples: Path, tmp_path: Path):
    done = encode(samples / "*.pdf", output=tmp_path, encoder=SMALL)
    assert done.exit_code == 0 and len(done.entries) == 6
    for path in samples.glob("*.pdf"):
        columns, signal, about = read_encoded(tmp_path / f"{path.name}.parquet")
        document = read_pdf(path)
        assert columns["text"].tolist() == document.columns["text"].tolist()
        assert signal is not None and signal.dtype == np.float32
        wanted = Layout(16)(document.positions())[0].numpy()
        np.testing.assert_allclose(signal[document.rows()], wanted, atol=1e-6)
        assert not signal[document.columns["hidden"]].any(), "a hidden word has no place"
        assert about["what"].startswith("Positions of words, not their meanings")
        assert about["encoder"] == Layout(16).settings() and about["schema"] == 1
        assert about["source"]["sha256"] and about["partial"] is None
        assert about["pages"]["page"] == document.page_columns["page"].tolist()


@pytest.mark.usefixtures("here")
def test_a_rotary_encoder_gives_angles_that_turn_as_it_does(samples: Path, tmp_path: Path):
    rope = Rotary(head_width=16, axes=("line", "column"))
    encode(samples / "table.pdf", output=tmp_path, encoder=rope, workers=1, dtype="float64")
    _, angle, about = read_encoded(tmp_path / "table.pdf.parquet")
    assert about["signal"] == "angle" and angle is not None and angle.dtype == np.float64
    document = read_pdf(samples / "table.pdf")
    wanted = rope.angles(document.positions())[0].numpy()
    np.testing.assert_allclose(np.exp(1j * angle[document.rows()]), np.exp(1j * wanted), atol=1e-6)
    assert abs(angle).max() <= np.pi


@pytest.mark.parametrize("format", ["safetensors", "npz"])
@pytest.mark.usefixtures("here")
def test_other_formats_hold_the_same(samples: Path, tmp_path: Path, format: str):
    for kind in ("parquet", format):
        encode(samples / "form.pdf", output=tmp_path / kind, encoder=SMALL, workers=1, format=kind)
    first = read_encoded(tmp_path / "parquet" / "form.pdf.parquet")
    second = read_encoded(tmp_path / format / f"form.pdf.{format}")
    assert first.about == second.about
    np.testing.assert_array_equal(first.signal, second.signal)
    for name, values in first.columns.items():
        assert values.tolist() == second.columns[name].tolist(), name


@pytest.mark.usefixtures("here")
def test_a_table_written_here_can_be_encoded_again(samples: Path, tmp_path: Path):
    tables(samples / "table.pdf", tmp_path / "first")
    encode(tmp_path / "first" / "table.pdf.parquet", output=tmp_path / "second", encoder=SMALL, workers=1)
    before = read_encoded(tmp_path / "first" / "table.pdf.parquet")
    after = read_encoded(tmp_path / "second" / "table.pdf.parquet.parquet")
    assert before.columns["text"].tolist() == after.columns["text"].tolist()


# Encoders that have nothing to write, or do not say with which parameters.


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"class_path": "alibi", "init_args": {"heads": 4}}, "pairs of words"),
        ({"class_path": "t5", "init_args": {"heads": 4}}, "pairs of words"),
        ({"class_path": "none"}, "--table-only"),
        ({"class_path": "learned", "init_args": {"width": 8, "length": 512}}, "--checkpoint"),
        ({"class_path": "sinusoidal", "init_args": {"width": 8, "axis": "time"}}, "time"),
        ({"class_path": "os.system"}, "--trust os"),
    ],
)
def test_an_encoder_that_cannot_be_written_is_refused_before_anything_is_read(
    samples: Path, tmp_path: Path, settings: Mapping[str, Any], said: str
):
    with pytest.raises(PositionError, match=said):
        encode(samples, output=tmp_path / "out", encoder=settings)
    assert not (tmp_path / "out").exists()


def test_an_option_without_effect_is_refused(samples: Path, tmp_path: Path):
    with pytest.raises(PositionError, match="seed"):
        encode(samples, output=tmp_path / "out", encoder=SMALL, seed=1)
    with pytest.raises(PositionError, match="table_only"):
        encode(samples, output=tmp_path / "out", encoder=SMALL, table_only=True)
    for wrong in ({"format": "parqet"}, {"dtype": "bfloat16"}, {"workers": 0}, {"time_limit": 0}, {"max_failures": -1}):
        with pytest.raises(PositionError):
            encode(samples, output=tmp_path / "out", **wrong)


@pytest.mark.usefixtures("here")
def test_a_seed_gives_the_same_vectors_in_every_run(samples: Path, tmp_path: Path):
    learned = {"class_path": "learned", "init_args": {"width": 8, "length": 512}}
    for run, seed in (("a", 1), ("b", 1), ("c", 2)):
        encode(samples / "*.pdf", output=tmp_path / run, encoder=learned, seed=seed)
    for path in samples.glob("*.pdf"):
        a, b, c = (read_encoded(tmp_path / run / f"{path.name}.parquet").signal for run in "abc")
        np.testing.assert_array_equal(a, b)
        assert a is not None and c is not None and abs(a - c).max() > 1e-3


@pytest.mark.parametrize("name", ["run", "encoder.pt", "encoder.safetensors"])
@pytest.mark.usefixtures("here")
def test_a_trained_encoder_comes_back_from_its_checkpoint(samples: Path, tmp_path: Path, name: str):
    trained = Learned(width=8, length=512)
    save_encoder(trained, tmp_path / name)
    assert load_encoder(tmp_path / name).settings() == trained.settings()
    encode(samples / "table.pdf", output=tmp_path / "out", checkpoint=tmp_path / name, workers=1)
    document = read_pdf(samples / "table.pdf")
    signal = read_encoded(tmp_path / "out" / "table.pdf.parquet").signal
    assert signal is not None
    wanted = trained(document.positions())[0].detach().numpy()
    np.testing.assert_allclose(signal[document.rows()], wanted, atol=1e-6)


def test_a_checkpoint_runs_no_code(tmp_path: Path):
    """Neither a pickled object nor a class of a module that nobody trusts."""
    import torch

    torch.save({"encoder": Layout(8), "state_dict": {}}, tmp_path / "pickled.pt")
    with pytest.raises(PositionError, match=r"pickled\.pt"):
        load_encoder(tmp_path / "pickled.pt")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "encoder.json").write_text('{"class_path": "antigravity.Encoder", "init_args": {}}')
    with pytest.raises(PositionError, match="--trust antigravity"):
        load_encoder(tmp_path / "run")


@pytest.mark.parametrize(
    "content", [None, "{}", "not json", '{"class_path": "learned", "init_args": {"width": 8, "length": 4}}']
)
def test_a_checkpoint_that_is_none_is_refused_by_name(tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "encoder.json").write_text(content)
    with pytest.raises(PositionError):
        load_encoder(tmp_path / "run")


# Night after night.


@pytest.mark.usefixtures("here")
def test_names_keep_their_folders_and_inputs_stay_as_they_are(folder: Path, tmp_path: Path):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*.pdf")}
    tables(folder, folder / "out")
    assert {path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*.parquet")} == {
        "one/contract.pdf.parquet",
        "two/contract.pdf.parquet",
    }
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*.pdf")} == before
    again = tables(folder, folder / "out")
    assert again.inputs == 2 and again.current == 2, "its own outputs are no inputs"


@pytest.mark.usefixtures("here")
def test_only_what_is_new_changed_or_lost_is_encoded_again(folder: Path, samples: Path, tmp_path: Path):
    output = tmp_path / "out"
    assert tables(folder, output).current == 0
    assert tables(folder, output).current == 2
    shutil.copy(samples / "table.pdf", folder / "new.pdf")
    assert tables(folder, output).current == 2
    shutil.copy(samples / "rotated.pdf", folder / "new.pdf")
    assert tables(folder, output).current == 2
    assert read_encoded(output / "new.pdf.parquet").about["source"]["bytes"] == (folder / "new.pdf").stat().st_size
    (output / "one" / "contract.pdf.parquet").unlink()
    done = tables(folder, output)
    assert done.current == 2 and done.counts()["written"] == 3
    os.utime(folder / "new.pdf")
    assert tables(folder, output, checksum=True).current == 3, "touched only"
    assert tables(folder, output).current == 2
    assert encode(folder, output=output, encoder=SMALL, workers=1).current == 0, "other settings"
    assert encode(folder, output=output, encoder=SMALL, workers=1).current == 3


@pytest.mark.usefixtures("here")
def test_a_removed_input_is_told_and_its_output_is_kept(folder: Path, tmp_path: Path):
    output = tmp_path / "out"
    tables(folder, output)
    (folder / "one" / "contract.pdf").unlink()
    done = tables(folder, output)
    assert [entry.source for entry in done.removed] == [str(folder / "one" / "contract.pdf")]
    assert (output / "one" / "contract.pdf.parquet").exists() and "gone" in str(done)
    assert summary(output)["removed_inputs"][0]["output"] == "one/contract.pdf.parquet"


@pytest.mark.usefixtures("here")
def test_a_moved_input_folder_is_not_encoded_again(folder: Path, tmp_path: Path):
    tables(folder, tmp_path / "out")
    folder.rename(tmp_path / "elsewhere")
    done = tables(tmp_path / "elsewhere", tmp_path / "out")
    assert done.moved == 2 and done.current == 2 and not done.removed


@pytest.mark.usefixtures("here")
def test_two_folders_into_one_output_never_overwrite_each_other(folder: Path, samples: Path, tmp_path: Path):
    output = tmp_path / "out"
    for name in ("one", "two"):
        tables(folder / name, output)
    contents = {path.name: read_encoded(path).about["source"]["bytes"] for path in output.rglob("*.parquet")}
    assert len(list(output.rglob("*.parquet"))) == 2 and len(contents) in (1, 2)
    for name in ("one", "two"):
        assert tables(folder / name, output).current == 1


@pytest.mark.usefixtures("here")
def test_a_folder_of_another_format_is_refused(folder: Path, tmp_path: Path):
    tables(folder, tmp_path / "out")
    with pytest.raises(InputError, match="another format"):
        tables(folder, tmp_path / "out", format="npz")


@pytest.mark.usefixtures("here")
def test_a_second_run_at_the_same_time_is_refused(folder: Path, tmp_path: Path):
    output = tmp_path / "out"
    tables(folder, output)
    with FolderLock(output / ".structpos" / "lock"), pytest.raises(LockedError, match="another run"):
        tables(folder, output)


def test_nothing_to_read_is_said_with_the_kinds_there_are(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"nothing to read.*PDF \(\.pdf\)"):
        tables(tmp_path / "empty", tmp_path / "out")


# Documents that go wrong.


def test_p27_one_bad_file_does_not_end_the_run(samples: Path, tmp_path: Path):
    import pymupdf

    folder = tmp_path / "in"
    folder.mkdir()
    whole = (samples / "table.pdf").read_bytes()
    (folder / "1_empty.pdf").write_bytes(b"")
    (folder / "2_text.pdf").write_text("Dear Sir or Madam,")
    (folder / "3_cut.pdf").write_bytes(whole[:300])
    with pymupdf.open(samples / "table.pdf") as document:
        document.save(
            folder / "4_locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="sesame"
        )
    (folder / "5_good.pdf").write_bytes(whole)
    (folder / "6_note.docx").write_text("no reader")
    (folder / "7_table.csv").write_text("a,b\n1,2\n")
    done = tables([folder, folder / "8_missing.pdf"], tmp_path / "out", workers=2)
    assert done.exit_code == 3
    sources = [entry.source for entry in done.entries]
    assert sources == sorted(sources), "l16: the order of the inputs, whichever worker was first"
    assert [row["input"] for row in summary(tmp_path / "out")["documents"]] == sources
    found = {Path(row["input"]).name: row["kind"] for row in errors(tmp_path / "out")}
    assert list(found) == sorted(found), "errors stand in the order of the inputs"
    assert found == {
        "1_empty.pdf": "empty",
        "2_text.pdf": "not-a-pdf",
        "3_cut.pdf": "damaged",
        "4_locked.pdf": "password",
        "6_note.docx": "unknown-kind",
        "7_table.csv": "bad-table",
        "8_missing.pdf": "missing",
    }
    reason = next(row["reason"] for row in errors(tmp_path / "out") if "note" in row["input"])
    assert ".docx" in reason and "PDF (.pdf)" in reason and ".hocr" in reason
    assert [entry.status for entry in done.entries].count("written") == 1
    told = summary(tmp_path / "out")
    assert told["complete"] and told["failed"] == 7 and len(told["documents"]) == 8
    again = tables([folder, folder / "8_missing.pdf"], tmp_path / "out", password="open")
    assert again.current == 6, "faults of the files are remembered; the password and the missing file are tried again"
    assert again.exit_code == 3 and len(errors(tmp_path / "out")) == 6


@pytest.mark.usefixtures("here")
def test_too_many_failures_end_the_run_early(samples: Path, tmp_path: Path):
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.pdf").write_bytes(b"")
    done = tables(tmp_path / "in", tmp_path / "out", max_failures=2)
    assert done.exit_code == 3 and "max-failures" in done.stopped and len(done.entries) == 2
    assert summary(tmp_path / "out")["not_reached"] == 4 and not summary(tmp_path / "out")["complete"]


def long_pdf(path: Path, pages: int = 6) -> None:
    import pymupdf

    with pymupdf.open() as document:
        for number in range(pages):
            document.new_page().insert_text((72, 72), f"This is page number {number} of the agreement")
        document.save(path)


def test_pages_read_before_a_document_was_stopped_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever stops it: the clock, memory, or the death of its process. The other documents are whole."""
    monkeypatch.setattr(structpos.encode.run, "EncodeDocument", Troubled)
    kinds = {"crashes": "crashed", "eats": "memory", "hangs": "time"}
    (tmp_path / "in").mkdir()
    for name in (*kinds, "well"):
        long_pdf(tmp_path / "in" / f"{name}.pdf", pages=3 if name == "well" else 6)
    limits: dict[str, Any] = {"time_limit": 4.0, "memory_limit": 600 * 2**20}
    done = tables(tmp_path / "in", tmp_path / "out", **limits)
    found = [(Path(entry.source).stem, entry.status, entry.kind) for entry in done.entries]
    assert found == [*((name, "partial", kind) for name, kind in kinds.items()), ("well", "written", "")]
    for name, kind in kinds.items():
        columns, _, about = read_encoded(tmp_path / "out" / f"{name}.pdf.parquet")
        assert sorted(set(columns["page"].tolist())) == [0, 1, 2], name
        assert about["partial"]["kind"] == kind and about["pages"]["page"] == [0, 1, 2]
    assert done.exit_code == 3
    assert [row["output"] for row in errors(tmp_path / "out")] == [f"{name}.pdf.parquet" for name in kinds]
    assert not list((tmp_path / "out" / ".structpos").glob("tmp/*"))
    monkeypatch.setattr(structpos.encode.run, "EncodeDocument", EncodeDocument)
    again = tables(tmp_path / "in", tmp_path / "out", **limits)
    assert again.current == 3 and again.entries[0].status == "written", "limits are remembered, a crash is tried again"
    assert tables(tmp_path / "in", tmp_path / "out").exit_code == 0, "and other limits are a reason to try again"


@pytest.mark.usefixtures("here")
def test_a_lost_page_is_no_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The other pages are there, and the document is named as partial."""
    import structpos.readers.pdf as reader

    harvest = reader.harvest

    def lossy(document: Any, number: int, *more: Any, **options: Any) -> Any:
        if number == 1:
            raise RuntimeError("cannot load page")
        return harvest(document, number, *more, **options)

    monkeypatch.setattr(reader, "harvest", lossy)
    long_pdf(tmp_path / "a.pdf", pages=3)
    done = tables(tmp_path / "a.pdf", tmp_path / "out")
    assert done.exit_code == 3 and done.entries[0].status == "partial"
    assert errors(tmp_path / "out")[0]["reason"] == "1 of 3 pages could not be read (page 1: cannot load page)."
    columns, _, _ = read_encoded(tmp_path / "out" / "a.pdf.parquet")
    assert sorted(set(columns["page"].tolist())) == [0, 2]
    assert tables(tmp_path / "a.pdf", tmp_path / "out").current == 1


@pytest.mark.usefixtures("here")
def test_the_output_of_a_document_that_no_longer_can_be_read_is_kept_and_told(folder: Path, tmp_path: Path):
    tables(folder, tmp_path / "out")
    (folder / "one" / "contract.pdf").write_bytes(b"")
    assert tables(folder, tmp_path / "out").exit_code == 3
    row = errors(tmp_path / "out")[0]
    assert row["output"] == "one/contract.pdf.parquet" and "earlier content was kept" in row["reason"]


@pytest.mark.usefixtures("here")
def test_an_error_of_the_program_is_one_documents_error_and_its_traceback_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def results(self: Here, tasks: deque[Any]) -> Iterator[Outcome]:
        while tasks:
            yield Outcome(task=tasks.popleft(), stopped="unexpected", reason="KeyError: 'x'", trace="Traceback: line 1")

    monkeypatch.setattr(Here, "results", results)
    assert tables(folder, tmp_path / "out").exit_code == 3
    assert [row["kind"] for row in errors(tmp_path / "out")] == ["unexpected"] * 2
    assert "Traceback: line 1" in (tmp_path / "out" / ".structpos" / "log.txt").read_text()
    assert "log.txt" in errors(tmp_path / "out")[0]["reason"]


@pytest.mark.usefixtures("here")
def test_a_file_that_changes_while_it_is_read_is_no_document_yet(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(structpos.encode.run, "EncodeDocument", Restless)
    assert {entry.kind for entry in tables(folder, tmp_path / "out").entries} == {"changed"}
    monkeypatch.setattr(structpos.encode.run, "EncodeDocument", EncodeDocument)
    assert tables(folder, tmp_path / "out").exit_code == 0
