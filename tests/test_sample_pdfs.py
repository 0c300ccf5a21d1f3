"""The sample files: what `structpos sample` writes is small, the same each time, and stored as its troubles demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from structpos.datasets.sample_pdfs import SAMPLES, write_samples
from structpos.errors import ReadError

pymupdf = pytest.importorskip("pymupdf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


def test_every_sample_is_written_small_and_opens(folder: Path) -> None:
    pages = {}
    for name in SAMPLES:
        assert (folder / name).stat().st_size < 10_000
        with pymupdf.open(folder / name) as document:
            assert not document.is_repaired
            pages[name] = len(document)
    assert pages["side_by_side_signatures.pdf"] == 3
    assert pages["letter_with_header_and_footer.pdf"] == 2


def test_writing_again_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for path in write_samples(tmp_path / "deep" / "er"):
        assert path.read_bytes() == (folder / path.name).read_bytes()
        assert b"CreationDate" not in path.read_bytes()


def test_two_columns_are_stored_row_by_row(folder: Path) -> None:
    # The sample is worth something only while its stored order is wrong: the right column's first line comes early.
    with pymupdf.open(folder / "two_columns.pdf") as document:
        text = " ".join(word[4] for word in document[0].get_text("words"))
    assert text.index("What can be learned") < text.index("Thirty-one books survive")


def test_signatures_are_stored_across_the_parties(folder: Path) -> None:
    with pymupdf.open(folder / "side_by_side_signatures.pdf") as document:
        words = [word[4] for word in document[2].get_text("words")]
        assert "Page 3 of 3" in document[2].get_text()
    assert words.index("Jules") < words.index("Title:")


def test_rotated_page_is_shown_wide(folder: Path) -> None:
    with pymupdf.open(folder / "rotated.pdf") as document:
        assert document[0].rotation == 90
        assert document[0].rect.width > document[0].rect.height


def test_form_fields_hold_their_values(folder: Path) -> None:
    with pymupdf.open(folder / "form.pdf") as document:
        values = {widget.field_name: widget.field_value for widget in document[0].widgets()}
    assert values == {"name": "Marta Okafor", "book_and_page": "Winter 2, page 41", "with_margins": "Yes"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, no folder")
    with pytest.raises(ReadError, match=r"taken.*cannot be written"):
        write_samples(tmp_path / "taken" / "samples")
