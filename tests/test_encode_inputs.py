"""Which files are read and what their outputs are called: all of them, once, and no two by the same name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structpos.encode.inputs import InputError, Source, find_sources, output_names


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def names_of(sources: list[Source]) -> list[str]:
    return [source.name for source in sources]


def test_a_folder_gives_its_files_with_their_folders_and_no_hidden_ones(tmp_path: Path):
    make(tmp_path / "in", "b.pdf", "a/c.pdf", ".hidden.pdf", ".cache/x.pdf", "a/Thumbs.db")
    assert names_of(find_sources([tmp_path / "in"], output=tmp_path / "out")) == ["a/c.pdf", "b.pdf"]


def test_outputs_inside_the_input_folder_are_no_inputs(tmp_path: Path):
    make(tmp_path, "a.pdf", "out/a.pdf.parquet", "out/errors.csv", "out/.structpos/ledger.jsonl")
    assert names_of(find_sources([tmp_path], output=tmp_path / "out")) == ["a.pdf"]
    pattern = str(tmp_path / "**" / "*")
    assert names_of(find_sources([pattern], output=tmp_path / "out")) == ["a.pdf"]


@pytest.mark.parametrize("given", ["in", "in/deep", "in/*.pdf"])
@pytest.mark.parametrize("output", ["in", "."])
def test_an_input_folder_is_never_written_to(tmp_path: Path, given: str, output: str):
    make(tmp_path, "in/a.pdf", "in/deep/b.pdf")
    with pytest.raises(InputError, match="never written to"):
        find_sources([tmp_path / given], output=tmp_path / output)


def test_several_folders_keep_their_names(tmp_path: Path):
    make(tmp_path, "x/contract.pdf", "y/contract.pdf")
    sources = find_sources([tmp_path / "x", tmp_path / "y", tmp_path / "x" / "contract.pdf"], output=tmp_path / "o")
    assert names_of(sources) == ["x/contract.pdf", "y/contract.pdf"], "and a file given twice is read once"


def test_a_pattern_keeps_the_folders_behind_its_fixed_part(tmp_path: Path):
    make(tmp_path, "in/a/1.pdf", "in/b/1.pdf", "in/b/note.txt")
    assert names_of(find_sources([f"{tmp_path}/in/**/*.pdf"], output=tmp_path / "o")) == ["a/1.pdf", "b/1.pdf"]


def test_a_file_with_the_signs_of_a_pattern_in_its_name_is_that_file(tmp_path: Path):
    make(tmp_path, "report [final].pdf", "report f.pdf")
    assert names_of(find_sources([tmp_path / "report [final].pdf"], output=tmp_path / "o")) == ["report [final].pdf"]


def test_what_is_not_there_is_given_as_it_is_so_that_it_becomes_an_error(tmp_path: Path):
    assert names_of(find_sources([tmp_path / "no.pdf"], output=tmp_path / "o")) == ["no.pdf"]
    assert len(find_sources([tmp_path / "*.pdf"], output=tmp_path / "o")) == 1


def test_linked_folders_are_followed_once(tmp_path: Path):
    make(tmp_path, "in/a.pdf", "elsewhere/b.pdf")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "elsewhere")
    assert names_of(find_sources([tmp_path / "in"], output=tmp_path / "o")) == ["a.pdf", "link/b.pdf"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_looked_into_is_no_silence(tmp_path: Path):
    make(tmp_path, "in/closed/a.pdf")
    (tmp_path / "in" / "closed").chmod(0)
    try:
        assert names_of(find_sources([tmp_path / "in"], output=tmp_path / "o")) == ["closed"]
    finally:
        (tmp_path / "in" / "closed").chmod(0o755)


def named(*pairs: tuple[str, str]) -> list[Source]:
    return [Source(path=path, name=name) for path, name in pairs]


def test_files_that_differ_in_their_ending_only_get_outputs_of_their_own():
    sources = named(("/in/a.PDF", "a.PDF"), ("/in/a.csv", "a.csv"), ("/in/a.pdf", "a.pdf"))
    names = output_names(sources, suffix=".parquet", known={}, taken=())
    assert list(names.values()) == ["a.PDF.parquet", "a.csv.parquet", "a.pdf.parquet"]
    where_case_is_no_difference = output_names(sources, suffix=".parquet", known={}, taken=(), exact=False)
    assert len({name.lower() for name in where_case_is_no_difference.values()}) == 3


def test_a_name_once_given_stays_and_is_given_to_no_other():
    sources = named(("/new/a.pdf", "a.pdf"), ("/old/a.pdf", "a.pdf"))
    names = output_names(sources, suffix=".parquet", known={"/old/a.pdf": "a.pdf.parquet"}, taken=["new/a.pdf.parquet"])
    assert names["/old/a.pdf"] == "a.pdf.parquet"
    assert names["/new/a.pdf"] == "a.pdf~2.parquet"


PARTS = st.sampled_from(["a", "A", "b", "a.pdf", "a.pdf.parquet", "ä", "ä"])


@given(st.sets(st.lists(PARTS, min_size=1, max_size=4).map(tuple), max_size=12), st.booleans(), st.integers(0, 3))
def test_no_two_outputs_ever_share_a_name(paths: set[tuple[str, ...]], exact: bool, cut: int):
    sources = [Source(path="/" + "/".join(path), name="/".join(path[-(cut + 1) :])) for path in sorted(paths)]
    names = list(output_names(sources, suffix=".parquet", known={}, taken=["a.parquet"], exact=exact).values())
    assert len(set(names)) == len(sources) and "a.parquet" not in names
