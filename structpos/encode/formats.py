"""The files that hold a document: its table of words, the vectors or angles beside it, and what they are.

All three formats hold the same: columns by name, at most one array of rows (``vector`` or ``angle``), and a
description, which is JSON under the key ``structpos``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structpos.errors import ReadError, require
from structpos.readers.document import Document

SCHEMA = 1  # raised when a release writes or reads documents differently: everything is then encoded anew
KEY = "structpos"
OWN_TURN = "text_angle"  # the table's column `angle`, by which a word is turned, beside a signal of the same name
ABSENT = {"text_column": -1}  # the value that stands for an empty cell

Columns = Mapping[str, NDArray[Any]]


class Encoded(NamedTuple):
    """A document read back.

    Args:
        columns: The table of words, one array a column.
        signal: ``words width`` vectors or ``words pairs`` angles [rad]; None for a table only.
        about: What the file says of itself.
    """

    columns: dict[str, NDArray[Any]]
    signal: NDArray[np.floating[Any]] | None
    about: dict[str, Any]


def write_parquet(path: Path, columns: Columns, signal: NDArray[Any] | None, about: Mapping[str, Any]) -> None:
    """Write a document as Parquet; the signal is a column of lists of one fixed size."""
    arrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    arrays: dict[str, Any] = {}
    for name, values in columns.items():
        absent = values == ABSENT[name] if name in ABSENT else None
        arrays[name] = arrow.array(values, mask=absent)
        if values.dtype.kind == "U":
            arrays[name] = arrays[name].dictionary_encode()
    if signal is not None:
        flat = arrow.array(np.ascontiguousarray(signal).reshape(-1))
        arrays[about["signal"]] = arrow.FixedSizeListArray.from_arrays(flat, signal.shape[1])
    table = arrow.table(arrays).replace_schema_metadata({KEY: json.dumps(about)})
    worded = [name for name, values in columns.items() if values.dtype.kind in "OU"]
    # Bytes of one significance side by side: half the size of plain floats, in three quarters of the time.
    split = [f"{about['signal']}.list.element"] if signal is not None and signal.itemsize >= 4 else False
    parquet.write_table(
        table, path, compression="zstd", compression_level=1, use_dictionary=worded, use_byte_stream_split=split
    )


def write_safetensors(path: Path, columns: Columns, signal: NDArray[Any] | None, about: Mapping[str, Any]) -> None:
    """Write a document as named tensors; a column of texts is two of them (see `flat`)."""
    save = require("safetensors.numpy", "cli").save_file
    save(flat(columns, signal, about), path, metadata={KEY: json.dumps(about)})


def write_npz(path: Path, columns: Columns, signal: NDArray[Any] | None, about: Mapping[str, Any]) -> None:
    """Write a document as NumPy arrays; a column of texts is two of them (see `flat`)."""
    with path.open("wb") as file:  # given a path, NumPy would add a suffix
        save: Any = np.savez  # its keyword allow_pickle is younger than the NumPy that will do
        save(file, **flat(columns, signal, about), **{KEY: np.array(json.dumps(about))})


WRITERS: dict[str, Callable[[Path, Columns, NDArray[Any] | None, Mapping[str, Any]], None]] = {
    "parquet": write_parquet,
    "safetensors": write_safetensors,
    "npz": write_npz,
}


def file_columns(document: Document, signal: str) -> dict[str, NDArray[Any]]:
    """The columns of a file: the table's, the document's name before them, none of them named as the signal.

    Example:
        >>> from structpos.readers.document import Document
        >>> boxes = dict.fromkeys(("x0", "y0", "x1", "y1"), [0.5])
        >>> note = Document("note", {"page": [0], "text": ["Hello"], **boxes}, {"page": [0]})
        >>> list(file_columns(note, "angle"))[-1]
        'text_angle'
    """
    named = {OWN_TURN if name == signal else name: values for name, values in document.columns.items()}
    return {"document": np.full(len(document), document.name), **named}


def flat(columns: Columns, signal: NDArray[Any] | None, about: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Arrays of numbers only: texts become ``NAME.utf8`` (all bytes) and ``NAME.ends`` (where each text ends).

    Example:
        >>> flat({"text": np.array(["ab", "c"], dtype=object)}, None, {})["text.ends"]
        array([2, 3])
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        if values.dtype.kind in "OU":
            texts = [text.encode("utf-8", "surrogatepass") for text in values.tolist()]
            arrays[f"{name}.utf8"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
            arrays[f"{name}.ends"] = np.cumsum([len(text) for text in texts], dtype=np.int64)
        else:
            arrays[name] = np.ascontiguousarray(values)
    if signal is not None:
        arrays[about["signal"]] = np.ascontiguousarray(signal)
    return arrays


def read_encoded(path: str | Path) -> Encoded:
    """Read back a file that ``structpos encode`` wrote, in any of its formats.

    An empty cell of ``text_column`` comes back as -1.

    Raises:
        ReadError: kind ``not-encoded``: the file is none of them.
    """
    path = Path(path)
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path)
        if path.suffix == ".safetensors":
            safe = require("safetensors", "cli").safe_open(path, framework="numpy")
            with safe as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}
                return _unflat(arrays, json.loads(file.metadata()[KEY]))
        if path.suffix == ".npz":
            with np.load(path) as file:
                arrays = dict(file)
            return _unflat(arrays, json.loads(str(arrays.pop(KEY))))
    except ImportError:
        raise
    except Exception as error:  # each library has its own
        raise ReadError(path, "not-encoded", f"this is no file of structpos encode ({error}).") from None
    raise ReadError(path, "not-encoded", f"a file of structpos encode ends in one of .{', .'.join(WRITERS)}.")


def _read_parquet(path: Path) -> Encoded:
    table = require("pyarrow.parquet", "cli").read_table(path)
    about = json.loads(table.schema.metadata[KEY.encode()])
    columns: dict[str, NDArray[Any]] = {}
    signal = None
    for name in table.column_names:
        values = table[name].combine_chunks()
        if name == about["signal"]:
            signal = values.flatten().to_numpy().reshape(len(table), values.type.list_size)
        else:
            columns[name] = (values.fill_null(ABSENT[name]) if name in ABSENT else values).to_numpy(
                zero_copy_only=False
            )
    return Encoded(columns, signal, about)


def _unflat(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> Encoded:
    signal = arrays.pop(about["signal"], None)
    columns: dict[str, NDArray[Any]] = {}
    for name, values in arrays.items():
        stem, _, part = name.rpartition(".")
        if part == "ends":
            whole, starts = arrays[f"{stem}.utf8"].tobytes(), [0, *values.tolist()]
            texts = [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(starts)]
            columns[stem] = np.array(texts, dtype=object)
        elif part != "utf8":
            columns[name] = values
    return Encoded(columns, signal, about)
