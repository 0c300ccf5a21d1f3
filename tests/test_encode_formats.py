"""The files written: every format gives back what was written, and says what it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structpos.encode.formats import KEY, WRITERS, read_encoded
from structpos.errors import ReadError

COLUMNS = {
    "page": np.array([0, 0, 1]),
    "text_column": np.array([0, -1, 1]),
    "x0": np.array([0.1, 0.2, 0.3]),
    "text": np.array(["Straße", "", "漢字 \x00"], dtype=object),
    "hidden": np.array([False, True, False]),
    "direction": np.array(["ltr", "rtl", "ttb"]),
}
ABOUT: dict[str, Any] = {"signal": "vector", "what": "Positions, not meanings."}


def write(folder: Path, format: str, dtype: str = "float32", words: int = 3) -> Path:
    columns = {name: values[:words] for name, values in COLUMNS.items()}
    signal = np.arange(words * 4, dtype=dtype).reshape(words, 4)
    WRITERS[format](folder / f"x.{format}", columns, signal, ABOUT)
    return folder / f"x.{format}"


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("words", [3, 0])
def test_what_was_written_comes_back(tmp_path: Path, format: str, dtype: str, words: int):
    columns, signal, about = read_encoded(write(tmp_path, format, dtype, words))
    for name, values in COLUMNS.items():
        assert columns[name].tolist() == values[:words].tolist(), name
    assert signal is not None and signal.dtype == dtype
    assert signal.shape == (words, 4) and signal.ravel().tolist() == list(range(words * 4))
    assert about == ABOUT


@pytest.mark.parametrize("format", WRITERS)
def test_a_table_alone_has_no_vectors(tmp_path: Path, format: str):
    path = tmp_path / f"x.{format}"
    WRITERS[format](path, COLUMNS, None, {"signal": ""})
    columns, signal, _ = read_encoded(path)
    assert signal is None and set(columns) == set(COLUMNS)


def test_the_parquet_is_plain_for_others(tmp_path: Path):
    """Any tool reads it: lists of one fixed size, an empty cell where there is none, JSON in its metadata."""
    import pyarrow as arrow
    from pyarrow import parquet

    table = parquet.read_table(write(tmp_path, "parquet", "float16"))
    assert table.schema.field("vector").type == arrow.list_(arrow.float16(), 4)
    assert table["text_column"].to_pylist() == [0, None, 1]
    assert table["text"].to_pylist() == COLUMNS["text"].tolist()
    assert json.loads(table.schema.metadata[KEY.encode()]) == ABOUT


def test_the_other_formats_hold_numbers_only(tmp_path: Path):
    """An .npz with objects in it would run code when it is loaded."""
    with np.load(write(tmp_path, "npz"), allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("iufbU")


def test_the_same_document_gives_the_same_bytes(tmp_path: Path):
    for format in WRITERS:
        first = write(tmp_path, format).read_bytes()
        assert write(tmp_path, format).read_bytes() == first, format


@pytest.mark.parametrize("name", ["x.parquet", "x.npz", "x.safetensors", "x.txt"])
def test_a_file_of_somebody_else_is_refused_by_name(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b"something else, and quite a lot of it")
    with pytest.raises(ReadError, match=name):
        read_encoded(tmp_path / name)


def test_a_rotary_file_keeps_the_turn_of_its_words(tmp_path: Path):
    """Angles of the encoder and the angle by which a word is turned have a column each, and both come back."""
    from structpos.datasets.sample_pdfs import write_samples
    from structpos.encode import encode
    from structpos.encoders import Rotary
    from structpos.readers.boxes import read_boxes
    from structpos.readers.pdf import read_pdf

    source = next(path for path in write_samples(tmp_path / "in") if path.stem == "rotated")
    encode([source], output=tmp_path / "out", encoder=Rotary(8, ("line", "column")), workers=1)
    written = tmp_path / "out" / "rotated.pdf.parquet"
    encoded = read_encoded(written)
    angles = read_pdf(source).words["angle"].tolist()
    assert encoded.signal is not None and encoded.signal.shape == (len(angles), 4)
    assert encoded.columns["text_angle"].tolist() == angles and len(set(angles)) > 1
    assert read_boxes(written).words["angle"].tolist() == angles
    assert set(encoded.columns["document"]) == {"rotated.pdf"}
