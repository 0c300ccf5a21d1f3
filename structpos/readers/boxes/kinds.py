"""Which kind of file of words and boxes this is, from its content first and its ending second."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from structpos.errors import PositionError, ReadError, unknown
from structpos.readers.boxes.files import as_text, csv_columns, json_value, parquet_columns
from structpos.readers.boxes.hocr import from_hocr
from structpos.readers.boxes.raw import Hints, RawWords
from structpos.readers.boxes.records import from_json, from_pages
from structpos.readers.boxes.table import from_table
from structpos.readers.boxes.tesseract import HEADER, from_tesseract

KINDS = ("parquet", "csv", "tesseract", "hocr", "json")
ENDINGS = (".parquet", ".csv", ".tsv", ".hocr", ".html", ".json", ".jsonl")


def find_kind(path: Path, data: bytes) -> str:
    r"""The kind of a file, or an error that lists the kinds there are.

    Example:
        >>> find_kind(Path("words.txt"), b"text,x0,y0,x1,y1")
        'csv'
        >>> find_kind(Path("words.txt"), b"level\tpage_num\tblock_num")
        'tesseract'
    """
    known = f"Known kinds of words with boxes: {', '.join(KINDS)}."
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.lstrip()[:5] == b"%PDF-":
        raise ReadError(path, "unknown-kind", f"this is a PDF; read it with read_pdf. {known}")
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # UTF-16
    if not wide and b"\x00" in data[:4096]:
        raise ReadError(path, "unknown-kind", f"this is no table of words with boxes. {known}")
    start = data[:65536].decode("utf-16" if wide else "utf-8", "replace").lstrip("\ufeff \t\r\n")
    if start.startswith("\t".join(HEADER[:3])):
        return "tesseract"
    if start.startswith(("{", "[")):
        return "json"
    if start.startswith("<") and ("ocr_page" in start or "ocrx_word" in start or path.suffix.lower() == ".hocr"):
        return "hocr"
    if start.startswith("<"):
        raise ReadError(path, "unknown-kind", f"this is HTML or XML, but no hOCR: no ocr_page in it. {known}")
    if any(mark in start.split("\n", 1)[0] for mark in ",;\t|") or path.suffix.lower() in (".csv", ".tsv"):
        return "csv"
    raise ReadError(path, "unknown-kind", f"this is no table of words with boxes. {known}")


def read_raw(path: Path, data: bytes, kind: str | None, hints: Hints) -> RawWords:
    """What the file says, by the reader of its kind."""
    kind = find_kind(path, data) if kind is None else kind
    match kind:
        case "parquet":
            columns, about = parquet_columns(path, data)
            raw = from_pages(path, columns, hints) or from_table(path, columns, hints, place="row {}".format)
            return _with_description(raw, about)
        case "csv":
            columns, place = csv_columns(path, as_text(path, data))
            return from_table(path, columns, hints, place=place)
        case "tesseract":
            return from_tesseract(path, as_text(path, data))
        case "hocr":
            return from_hocr(path, as_text(path, data))
        case "json":
            return from_json(path, json_value(path, as_text(path, data)), hints)
        case _:
            raise PositionError(unknown("kind", kind, KINDS))


def _with_description(raw: RawWords, metadata: Mapping[str, str]) -> RawWords:
    """What a file that structpos wrote says of itself: its document, the table of pages, messages."""
    try:
        about = json.loads(metadata["structpos"]) if raw.complete else {}
        pages = about.get("pages")
        if pages is not None and {*raw.page.tolist()} <= {*pages["page"]}:
            raw.pages = {name: list(values) for name, values in pages.items()}
        raw.name = str(about.get("document") or raw.name)
        raw.notes = list(about.get("messages") or [])
    except (KeyError, TypeError, AttributeError, ValueError):
        pass  # somebody else's description: the words alone are there
    return raw
