"""Reading order on real pages: against PyMuPDF on difficult files, and rule by rule on contracts."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structpos.bench import order as bench
from structpos.bench.order_readers import Page, Reader, readers
from structpos.readers.order import cut, judge, reading, strands

pymupdf = pytest.importorskip("pymupdf")

DATA = Path(os.environ.get("STRUCTPOS_TEST_DATA", "nowhere"))
CONTRACTS = DATA / "contracts" / "cuad"
needs_data = pytest.mark.skipif(
    not (DATA / "pdf_stress").is_dir() or not CONTRACTS.is_dir(),
    reason="STRUCTPOS_TEST_DATA does not name a folder with pdf_stress and contracts",
)


def quick_readers() -> list[Reader]:
    """All but the layout model, which takes seconds a page."""
    return [reader for reader in readers(seconds=1.0)[0] if reader.name != "PyMuPDF layout"]


@needs_data
def test_every_difficult_page_is_read_in_order_and_no_kind_of_trouble_better_elsewhere() -> None:
    found = bench.order_facts(DATA / "pdf_stress", quick_readers(), lambda text: None)
    assert Counter(found["structpos"].values()) == {"right": 33}
    with (DATA / "pdf_stress" / "manifest.csv").open(encoding="utf-8", newline="") as file:
        tags = {row["file"]: row["trouble"].split() for row in csv.DictReader(file)}
    result = {"readers": list(found), "tags": bench.by_tag(found, tags), "contracts": {}}
    assert bench.behind(result) == []


def score(limit: set[str] | None = None) -> Counter[str]:
    """Our scores on some contracts."""
    total: Counter[str] = Counter()
    for line in (CONTRACTS / "labels.jsonl").read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        if limit is None or label["document"] in limit:
            stored, page = stored_pages(label["document"])
            if len(page) != label["word_count"]:
                continue  # another version of PyMuPDF cuts other words
            read = ours().pages(CONTRACTS / "pdf" / label["document"], range(len(stored)))
            order = {number: bench.places(stored[number], read[number]) for number in read}
            total += bench.score_contract(order, page, label)
    return total


@cache
def stored_pages(document: str) -> tuple[list[Page], Any]:
    with pymupdf.open(CONTRACTS / "pdf" / document) as file:
        stored = [bench.stored_words(page) for page in file]
    return stored, np.repeat(np.arange(len(stored)), [len(page.text) for page in stored])


@cache
def ours() -> Reader:
    return quick_readers()[0]


@needs_data
@pytest.mark.slow
def test_clauses_stay_in_one_piece_and_signatures_under_their_heading() -> None:
    count = score()
    assert count["spans"] > 6_000, "this PyMuPDF cuts other words than the labels count"
    assert count["spans right"] / count["spans"] >= 0.996
    for layout, least in (("side_by_side", 0.967), ("stacked", 1.0), ("other", 1.0)):
        assert count[f"{layout} right"] / count[layout] >= least, layout


# Contracts on which each rule decides something.
DECIDING = {
    "c001", "c009", "c038", "c043", "c114", "c153", "c183", "c184", "c197",
    "c219", "c234", "c237", "c241", "c293", "c296", "c298", "c313", "c325",
}  # fmt: skip


@cache
def with_all_rules() -> Counter[str]:
    return score({f"{name}.pdf" for name in DECIDING})


LEFT_OUT = {
    "headings that nearly touch": (cut, "headings", lambda river, *rest: (river.first, {})),
    "second signatories": (cut, "last_row", lambda river, *rest: river.last),
    "drawn tables": (cut, "table_in", lambda *rest: None),
    "blanks side by side": (strands, "_ruled_apart", lambda text: np.zeros(0, np.int64)),
    **{
        rule: (judge, "RULES", tuple(other for other in judge.RULES if other.__name__ != rule))
        for rule in ("repeated_labels", "labels", "numbers", "terms", "blocks")
    },
}


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("what", LEFT_OUT)
def test_without_this_rule_contracts_are_read_worse(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    best = with_all_rules()
    monkeypatch.setattr(*LEFT_OUT[what])
    worse = score({f"{name}.pdf" for name in DECIDING})
    measures = ("spans right", *(f"{layout} right" for layout in bench.LAYOUTS))
    assert sum(worse[measure] for measure in measures) < sum(best[measure] for measure in measures)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [
        (judge, "RULES", tuple(rule for rule in judge.RULES if rule is not judge.long_lines)),
        (cut, "bands", lambda *rest: []),
        (reading, "copies", lambda boxes, *rest: (np.ones(len(boxes), bool), np.arange(len(boxes)))),
        (judge, "drawn_apart", lambda sides: None),
    ],
    ids=["long_lines", "bands", "copies", "drawn_apart"],
)
def test_without_this_rule_difficult_pages_are_read_worse(what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*what)
    found = bench.order_facts(DATA / "pdf_stress", [ours()], lambda text: None)
    assert Counter(found["structpos"].values())["right"] < 33


def test_the_command_prints_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder like that of the data, with one file of two columns drawn row by row."""
    files = tmp_path / "pdf_stress" / "files"
    contracts = tmp_path / "contracts" / "cuad"
    files.mkdir(parents=True)
    contracts.mkdir(parents=True)
    document = pymupdf.open()
    page = document.new_page(width=612, height=792)
    for i in range(4):
        page.insert_text((72, 100 + 14 * i), f"left{i} one", fontsize=10)
        page.insert_text((330, 100 + 14 * i), f"right{i} two", fontsize=10)
    document.save(files / "two.pdf")
    fact = {"file": "files/two.pdf", "page": 0, "fact": "reading_order", "value": ["left3 one", "right0 two"]}
    (tmp_path / "pdf_stress" / "facts.jsonl").write_text(json.dumps(fact) + "\n", encoding="utf-8")
    (tmp_path / "pdf_stress" / "manifest.csv").write_text("file,trouble\nfiles/two.pdf,columns\n", encoding="utf-8")
    (contracts / "labels.jsonl").write_text("", encoding="utf-8")
    monkeypatch.setattr(bench, "readers", lambda seconds: (quick_readers(), ["the layout model: left out"]))
    assert bench.main(["--data", str(tmp_path), "--json", str(tmp_path / "result.json")]) == 0
    said = capsys.readouterr().out
    assert "columns (of 1)" in said and "The layout model: left out" in said and "at least as good" in said
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert result["facts"]["structpos"] == {"files/two.pdf": "right"}
    assert result["facts"]["PyMuPDF sort=False"] == {"files/two.pdf": "wrong"}


def test_words_are_found_again_in_the_boxes_of_another_reader() -> None:
    stored = Page(["a", "b", "c"], np.array([[0.0, 0, 0.1, 0.1], [0.2, 0, 0.3, 0.1], [0.5, 0.5, 0.6, 0.6]]))
    read = Page(["b", "a"], np.array([[0.19, 0, 0.31, 0.1], [0.0, 0, 0.11, 0.1]]))
    assert bench.places(stored, read).tolist() == [1, 0, -1]


def test_a_missing_folder_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        bench.main(["--data", "no-such-folder"])
    assert stop.value.code == 2
    assert "must name the folder" in capsys.readouterr().err
