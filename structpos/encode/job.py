"""One document from file to file: read, encode, write; whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structpos
from structpos.encode.formats import SCHEMA, WRITERS, file_columns
from structpos.encode.ledger import Entry, digest
from structpos.encode.read import PageKeeper, parts_of, read_kept
from structpos.errors import PositionError, ReadError, require
from structpos.readers.document import Document

TABLE = "Words of a document with their places; no vectors."


@dataclass(frozen=True, kw_only=True)
class Task:
    """A document to encode.

    Args:
        source: The file, absolute.
        output: The name of its output.
        key: Begins its temporary names; never used again in the same output folder.
        stopped: Empty, or why its first reading was stopped: the pages read until then are to be saved.
        reason: The same in a sentence.
        attempt: 1 for the first saving, which reads single pages again; 2 for the second, which does not.
    """

    source: str
    output: str
    key: str
    stopped: str = ""
    reason: str = ""
    attempt: int = 0

    def kept(self, folder: Path) -> Path:
        """Where its pages are kept while it is read."""
        return folder / f"{self.key}.pages"

    def again(self, stopped: str, reason: str) -> Task | None:
        """The task that saves what this one had read when it was stopped; None where that has failed twice."""
        if self.attempt == 2:
            return None
        return replace(self, stopped=self.stopped or stopped, reason=self.reason or reason, attempt=self.attempt + 1)


@dataclass(frozen=True, kw_only=True)
class EncodeDocument:
    """The work of one worker: a `Task` becomes an output under a temporary name, and an `Entry` that says so.

    Args:
        state: The folder for what is not done, on the file system of the outputs.
        format: A name of ``WRITERS``.
        dtype: Of the vectors or angles.
        encoder: A folder with the encoder, as ``save_encoder`` writes it; None for the table alone.
        trust: Modules that may be imported for it.
        password: For PDFs that ask for one.
    """

    state: str
    format: str
    dtype: str = "float32"
    encoder: str | None = None
    trust: tuple[str, ...] = ()
    password: str | None = None

    def prepare(self) -> None:
        """Load the libraries, and torch and the encoder where vectors are wanted."""
        require("pymupdf", "pdf")
        if self.format == "parquet":
            require("pyarrow", "cli").set_cpu_count(1)
        if self.encoder is not None:
            import torch

            from structpos.encode.checkpoint import load_encoder

            torch.set_num_threads(1)
            encoder = load_encoder(self.encoder, trust=self.trust).eval()
            _ENCODER[self.encoder] = encoder.double() if self.dtype == "float64" else encoder

    def __call__(self, task: Task, /) -> Entry:
        """Encode one document; what is wrong with the file becomes part of the entry."""
        begun = time.monotonic()
        entry = Entry(source=task.source, output=task.output, status="failed")
        source = Path(task.source)
        try:
            facts = source.stat()
            entry = replace(entry, size=facts.st_size, modified=facts.st_mtime_ns)
            entry = replace(entry, checksum=digest(source) if source.is_file() else "")
            document = self._read(task, source)
            signal, about = self._encode(document)
            about["messages"] = document.messages
            about["source"] = {"name": source.name, "bytes": facts.st_size, "sha256": entry.checksum}
            about["partial"] = {"kind": task.stopped, "reason": task.reason} if task.stopped else None
            now = source.stat()
            if (now.st_size, now.st_mtime_ns) != (facts.st_size, facts.st_mtime_ns):
                return replace(
                    entry, kind="changed", reason="the file changed while it was read. The next run reads it again."
                )
            entry = self._write(task, entry, document, signal, about)
        except ReadError as error:
            entry = replace(entry, kind=error.kind, reason=error.reason)
        except PositionError as error:
            entry = replace(entry, kind="encoder", reason=str(error))
        except MemoryError:
            entry = replace(entry, kind="memory", reason="there was not enough memory. Use fewer workers.")
        except OSError as error:
            entry = replace(
                entry, kind="missing" if isinstance(error, FileNotFoundError) else "no-access", reason=_said(error)
            )
        return replace(entry, seconds=round(time.monotonic() - begun, 3))

    def _read(self, task: Task, source: Path) -> Document:
        place = task.kept(Path(self.state))
        if task.stopped:
            return Document.join(self._saved(task, source, place))
        with PageKeeper(place) as keeper:
            return Document.join(
                keeper.keep(part) for part in parts_of(source, password=self.password, on_page=keeper.begin)
            )

    def _saved(self, task: Task, source: Path, place: Path) -> Iterator[Document]:
        kept = read_kept(place)
        if not kept.parts and not (task.attempt == 1 and kept.reread):
            raise ReadError(source, task.stopped, f"{task.reason} No page was read until then.")
        yield from kept.parts
        if task.attempt == 1 and kept.reread:
            yield from parts_of(source, password=self.password, pages=kept.reread)

    def _encode(self, document: Document) -> tuple[Any, dict[str, Any]]:
        about: dict[str, Any] = {"schema": SCHEMA, "structpos": structpos.__version__, "what": TABLE, "signal": ""}
        signal = None
        if self.encoder is not None:
            from structpos.encode.vectors import WHAT, encode_document, signal_name

            encoder = _ENCODER[self.encoder]
            signal, name = encode_document(encoder, document, self.dtype), signal_name(encoder)
            about |= {"what": WHAT[name], "signal": name, "width": signal.shape[1], "dtype": self.dtype}
            about["encoder"] = encoder.settings()
        about["document"] = document.name
        about["pages"] = {name: values.tolist() for name, values in document.page_columns.items()}
        return signal, about

    def _write(self, task: Task, entry: Entry, document: Document, signal: Any, about: dict[str, Any]) -> Entry:
        temporary = Path(self.state) / f"{task.key}.{self.format}"
        try:
            WRITERS[self.format](temporary, file_columns(document, about["signal"]), signal, about)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            return replace(entry, kind="not-written", reason=f"the output could not be written ({_said(error)})")
        kind, reason = (task.stopped, task.reason) if task.stopped else _lost_pages(document)
        return replace(
            entry,
            status="partial" if kind else "written",
            kind=kind,
            reason=reason,
            output_size=temporary.stat().st_size,
            pages=len(document.page_columns["page"]),
            words=len(document),
            without_text=int(document.page_columns["needs_ocr"].sum()),
            temporary=f"{Path(self.state).name}/{temporary.name}",
        )


_ENCODER: dict[str, Any] = {}  # the encoder of this process, by the folder it came from


def _lost_pages(document: Document) -> tuple[str, str]:
    """Kind and reason where single pages could not be read; the others were."""
    errors = document.page_columns["error"]
    lost = [(page, error) for page, error in zip(document.page_columns["page"], errors, strict=True) if error]
    if not lost:
        return "", ""
    page, error = lost[0]
    return "pages", f"{len(lost)} of {len(errors)} pages could not be read (page {page}: {error})."


def _said(error: OSError) -> str:
    return f"{error.strerror or error}."
