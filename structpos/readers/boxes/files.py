"""The bytes of a file as text, rows or columns; what is no such thing is refused by name."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from structpos.errors import ReadError, require
from structpos.readers.boxes.raw import bad

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_bytes(path: Path) -> bytes:
    """The content of a file that is there and not empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ReadError(path, "missing", "there is no such file.") from None
    except IsADirectoryError:
        raise ReadError(path, "unknown-kind", "this is a folder; a file is needed.") from None
    except OSError as error:
        raise ReadError(path, "unreadable", f"the file cannot be opened ({error.strerror}).") from None
    if not data.strip():
        raise ReadError(path, "empty", "the file is empty.")
    return data


def as_text(path: Path, data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with its mark."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        reason = f"line {line} holds the byte 0x{data[error.start]:02X}, which is not UTF-8. Save the file as UTF-8."
        raise bad(path, reason) from None


def csv_columns(path: Path, text: str) -> tuple[dict[str, list[Any]], Callable[[int], str]]:
    r"""The columns of a CSV with a header, its delimiter found from the header; and the line of each row.

    Example:
        >>> columns, place = csv_columns(Path("words.csv"), "text;x0\nHello;1,5\n")
        >>> columns, place(0)
        ({'text': ['Hello'], 'x0': ['1,5']}, 'line 2')
    """
    header = next(line for line in text.splitlines() if line.strip())
    delimiter = max("\t;,|", key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines: list[int] = []
    names: list[str] = []
    cells: list[list[str]] = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if not names:
                names = [cell.strip() for cell in row]
                continue
            if len(row) != len(names):
                raise bad(path, f"line {rows.line_num} has {len(row)} cells, the header {len(names)}.")
            cells.append(row)
            lines.append(rows.line_num)
    except csv.Error as error:
        raise bad(path, f"line {rows.line_num} is no CSV ({error}).") from None
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise bad(path, f"the column '{twice}' is there twice.")
    columns: dict[str, list[Any]] = {name: [row[index] for row in cells] for index, name in enumerate(names)}
    return columns, lambda row: f"line {lines[row]}"


def parquet_columns(path: Path, data: bytes) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """The columns of a Parquet file, without vectors, and its metadata."""
    parquet = require("pyarrow.parquet", "cli")
    arrow = require("pyarrow", "cli")
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        kept = [field.name for field in file.schema_arrow if not arrow.types.is_fixed_size_list(field.type)]
        table = file.read(columns=kept)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise ReadError(path, "damaged", f"this Parquet file cannot be read ({str(error).splitlines()[0]}).") from None
    metadata = {key.decode(): value.decode("utf-8", "replace") for key, value in (table.schema.metadata or {}).items()}
    return {name: table[name].to_pylist() for name in kept}, metadata


def json_value(path: Path, text: str) -> Any:
    """The value of a JSON file; of a file with one value a line, the list of them."""
    try:
        return json.loads(text)
    except RecursionError:
        raise bad(path, "this JSON is nested too deeply for a table of words.") from None
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if error.msg != "Extra data" or len(lines) < 2:
            raise bad(path, f"line {error.lineno} is no JSON ({error.msg}).") from None
    values = []
    for index, line in enumerate(lines, 1):
        try:
            values.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise bad(path, f"value {index} is no JSON ({error.msg}).") from None
    return values


def columns_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Records turned into columns; what a record lacks is None.

    Example:
        >>> columns_of([{"text": "a", "x0": 1}, {"text": "b"}])
        {'text': ['a', 'b'], 'x0': [1, None]}
    """
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}
