"""The reader as a whole: forms, furniture, parts, threads, memory, bad pages, independence from storage."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structpos.errors import MissingExtraError, ReadError
from structpos.readers.characters import mend_lam_alef, normalise
from structpos.readers.document import Document
from structpos.readers.furniture import furniture
from structpos.readers.pdf import read_parts, read_pdf

pymupdf = pytest.importorskip("pymupdf")

ROOT = Path(__file__).parent.parent


def save(document: Any, path: Path) -> Path:
    document.save(path)
    document.close()
    return path


def pages_of_text(path: Path, pages: int, lines: int = 50) -> Path:
    """A document of plain pages; every word says where it stands."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(pages))),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for number in range(pages):
        text = b"".join(b"(page%d line%d some words of text) Tj T*\n" % (number, line) for line in range(lines))
        content = b"BT /F 10 Tf 14 TL 72 780 Td\n%sET" % text
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>"
            % (5 + 2 * number),
            b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        ]
    data, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count, start = len(objects) + 1, len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
    data += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (count, start)
    path.write_bytes(data)
    return path


def form(path: Path, *, drawn: bool, rotation: int = 0) -> Path:
    document = pymupdf.open()
    page = document.new_page(width=612, height=792)
    page.insert_text((72, 100), "Name:")
    for name, kind, value, rect in (
        ("name", pymupdf.PDF_WIDGET_TYPE_TEXT, "Ann Lee", (150, 88, 300, 104)),
        ("town", pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "Ghent", (150, 128, 300, 144)),
        ("agreed", pymupdf.PDF_WIDGET_TYPE_CHECKBOX, True, (150, 168, 164, 182)),
    ):
        widget = pymupdf.Widget()
        widget.field_name, widget.field_type, widget.field_value = name, kind, value
        widget.rect = pymupdf.Rect(rect)
        if name == "town":
            widget.choice_values = ["Ghent", "Oslo"]
        page.add_widget(widget)
    if not drawn:
        for widget in page.widgets():
            document.xref_set_key(widget.xref, "AP", "null")
    page.set_rotation(rotation)
    return save(document, path)


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize("drawn", [True, False])
def test_values_of_form_fields_are_words_at_their_place(tmp_path: Path, drawn: bool, rotation: int) -> None:
    document = read_pdf(form(tmp_path / "form.pdf", drawn=drawn, rotation=rotation))
    words = document.words
    values = words[words.form & words.text.isin(["Ann", "Lee", "Ghent"])]
    assert sorted(values.text) == ["Ann", "Ghent", "Lee"]
    assert not words.form[words.text == "Name:"].item()
    ann = words[words.text == "Ann"].iloc[0]
    x, y = (ann.x0 + ann.x1) / 2 * (792 if rotation else 612), (ann.y0 + ann.y1) / 2 * (612 if rotation else 792)
    if rotation:
        assert 792 - 104 <= x <= 792 - 88 and 150 <= y <= 300
    else:
        assert 150 <= x <= 300 and 88 <= y <= 104
        assert ann.line == words.line[words.text == "Name:"].item()


def test_fields_that_are_not_shown_hold_no_words(tmp_path: Path) -> None:
    with pymupdf.open(form(tmp_path / "form.pdf", drawn=False)) as document:
        for widget in document[0].widgets():
            document.xref_set_key(widget.xref, "F", "2")
        document.save(tmp_path / "hidden.pdf")
    assert list(read_pdf(tmp_path / "hidden.pdf").words.text) == ["Name:"]


def test_an_xfa_form_is_flagged(tmp_path: Path) -> None:
    with pymupdf.open(form(tmp_path / "form.pdf", drawn=True)) as document:
        xfa = document.get_new_xref()
        document.update_object(xfa, "<<>>")
        document.update_stream(xfa, b"<xdp:xdp/>")
        kind, value = document.xref_get_key(document.pdf_catalog(), "AcroForm")
        if kind == "xref":
            document.xref_set_key(int(value.split()[0]), "XFA", f"{xfa} 0 R")
        else:
            document.xref_set_key(document.pdf_catalog(), "AcroForm/XFA", f"{xfa} 0 R")
        document.save(tmp_path / "xfa.pdf")
    assert read_pdf(tmp_path / "xfa.pdf").pages.xfa.all()
    assert not read_pdf(tmp_path / "form.pdf").pages.xfa.any()


def rows(lines: list[tuple[int, float, str]]) -> Any:
    """Arguments of ``furniture`` for lines of one word each: page, top, text."""
    page = np.array([number for number, _, _ in lines])
    tops = np.array([top for _, top, _ in lines])
    boxes = np.stack([np.full(len(lines), 0.1), tops, np.full(len(lines), 0.4), tops + 0.015], axis=1)
    line = np.array([sum(n == number and y < top for n, y, _ in lines) for number, top, _ in lines])
    return page, line, boxes, [text for _, _, text in lines], int(page.max()) + 1


def marked(lines: list[tuple[int, float, str]]) -> set[str]:
    found = furniture(*rows(lines))
    return {text for (_, _, text), hit in zip(lines, found, strict=True) if hit}


def test_running_heads_and_page_numbers_are_furniture() -> None:
    lines = [
        (n, y, t)
        for n in range(4)
        for y, t in ((0.03, "ACME Supply"), (0.3, f"body{n}"), (0.9, "last" * n), (0.95, f"Page {n + 1} of 4"))
    ]
    assert marked(lines) == {"ACME Supply", "Page 1 of 4", "Page 2 of 4", "Page 3 of 4", "Page 4 of 4"}


def test_page_numbers_far_from_the_edge_are_furniture_where_they_count() -> None:
    """Printed articles have wide margins: the number stands outermost, a fifth of the page from its edge."""
    lines = [(n, y, t) for n in range(3) for y, t in ((0.3, f"body{n}"), (0.7, f"more{n}"), (0.82, str(n + 1)))]
    assert marked(lines) == {"1", "2", "3"}
    totals = [(n, y, t) for n in range(3) for y, t in ((0.7, f"more{n}"), (0.82, "4"), (0.9, "end" + "!" * n))]
    assert marked(totals) == set()


@pytest.mark.parametrize(
    "lines",
    [
        [(n, 0.05, f"Schedule {n * n}") for n in range(4)],  # headings of their own, not one head
        [(n, 0.05 + 0.03 * n, "Exhibit") for n in range(3)],  # never at one height
        [(n, y, t) for n in range(4) for y, t in ((0.05, "By: /s/ Ann"), (0.065, "Trustee"))],  # signature blocks
        [(n, y, f"{t}{n * y}") for n in range(4) for y, t in ((0.1, "a"), (0.116, "b"), (0.132, "c"))],  # body
        [(n, 0.5, "same") for n in range(4)],  # in the middle of the page
        [(0, 0.08, "12"), (0, 0.095, "text right below")],  # the first line of a page
    ],
    ids=["numbered headings", "moving", "signatures", "body", "middle", "first line"],
)
def test_other_lines_are_no_furniture(lines: list[tuple[int, float, str]]) -> None:
    assert marked(lines) == set()


def test_lam_alef_is_put_in_order_only_where_the_alef_has_no_width() -> None:
    words = [(0, 0, 0, 0, "اإلنتاج", 0, 0, 0), (0, 0, 0, 0, "إلى", 0, 0, 1)]
    letters = [(letter, 0.0 if number == 1 else 4.0) for number, letter in enumerate("اإلنتاجإلى")]
    assert mend_lam_alef(words, {(0, 0): letters}) == ["الإنتاج", "إلى"]


def test_arabic_presentation_forms_become_letters() -> None:
    assert normalise("\ufefb") == "\u0644\u0627"


def test_a_drawing_order_changes_nothing(tmp_path: Path) -> None:
    """The order of words in the file says nothing: shuffled streams give the same table."""
    drawn = [
        (72 + 250 * column + 46 * word, 90 + 13 * line, f"c{column}l{line}w{word}")
        for column in range(2)
        for line in range(20)
        for word in range(4)
    ] + [(72, 60, "Heading"), (120, 60, "of"), (140, 60, "the"), (165, 60, "page")]
    tables = []
    for seed in range(4):
        random.Random(seed).shuffle(drawn)
        document = pymupdf.open()
        page = document.new_page()
        for x, y, text in drawn:
            page.insert_text((x, y), text, fontsize=10)
        tables.append(read_pdf(save(document, tmp_path / "shuffled.pdf")).words)
    assert all(table.equals(tables[0]) for table in tables[1:])
    assert list(tables[0].text[:8]) == ["Heading", "of", "the", "page", "c0l0w0", "c0l0w1", "c0l0w2", "c0l0w3"]


def test_parts_join_to_the_whole(tmp_path: Path) -> None:
    path = pages_of_text(tmp_path / "long.pdf", 7, lines=5)
    seen: list[int] = []
    parts = list(read_parts(path, pages_per_part=3, on_page=seen.append))
    assert [part.pages.page.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    assert seen == list(range(7))
    whole = read_pdf(path)
    assert Document.join(parts).words.equals(whole.words) and Document.join(parts).pages.equals(whole.pages)
    assert whole.words.order.tolist() == list(range(len(whole)))


def test_a_part_ends_with_the_page_that_took_too_long(tmp_path: Path) -> None:
    path = pages_of_text(tmp_path / "long.pdf", 3, lines=5)
    assert [len(part.pages) for part in read_parts(path, seconds_per_part=0.0)] == [1, 1, 1]


def test_some_pages_can_be_read(tmp_path: Path) -> None:
    path = pages_of_text(tmp_path / "long.pdf", 5, lines=2)
    some = read_pdf(path, pages=[3, 1])
    assert some.pages.page.tolist() == [1, 3] and some.words.text[0] == "page1"
    assert len(read_pdf(path, pages=[])) == 0
    with pytest.raises(ReadError, match="page 5 was asked for; there are pages 0 to 4"):
        read_pdf(path, pages=[0, 5])


def test_a_bad_page_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pages_of_text(tmp_path / "long.pdf", 4, lines=2)
    load = pymupdf.Document.load_page

    def fail(self: Any, number: int) -> Any:
        if number < 2:
            raise RuntimeError("code=7: broken page\nmore words")
        return load(self, number)

    monkeypatch.setattr(pymupdf.Document, "load_page", fail)
    document = Document.join(read_parts(path, pages_per_part=1))
    assert document.pages.error.tolist() == ["code=7: broken page"] * 2 + [""] * 2
    assert set(document.words.page) == {2, 3} and document.report["errors"] == {
        0: "code=7: broken page",
        1: "code=7: broken page",
    }
    with pytest.raises(ReadError, match="no page can be read") as caught:
        read_pdf(path, pages=[0, 1])
    assert caught.value.kind == "damaged"


def test_p26_threads_take_turns(tmp_path: Path) -> None:
    paths = [pages_of_text(tmp_path / f"{number}.pdf", 3 + number, lines=20) for number in range(8)]
    serial = [read_pdf(path).words for path in paths]
    found: dict[int, Any] = {}

    def work(first: int) -> None:
        for number in range(first, 8, 4):
            found[number] = read_pdf(paths[number]).words

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[number].equals(table) for number, table in enumerate(serial))


MEMORY = """
import gc, sys
from structpos.readers.pdf import read_pdf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
def rounds(paths):
    for path in paths:
        read_pdf(path)
    gc.collect()
    return resident()
paths = sys.argv[2:]
rounds(paths[:1])
print(*[rounds(paths * int(sys.argv[1])) for _ in range(2)])
"""


def resident_after_rounds(repeats: int, *paths: Path) -> list[float]:
    """Resident memory [MiB] of a fresh process after each of two rounds of reading, the process warm."""
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, str(repeats), *map(str, paths)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return [float(number) for number in run.stdout.split()]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_p24_memory_is_flat_over_many_documents(tmp_path: Path) -> None:
    first, second = resident_after_rounds(15, pages_of_text(tmp_path / "twenty.pdf", 20))
    assert second - first <= 1.0


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_p25_pages_are_released_one_by_one(tmp_path: Path) -> None:
    few = resident_after_rounds(1, pages_of_text(tmp_path / "short.pdf", 10))[1]
    many = resident_after_rounds(1, pages_of_text(tmp_path / "long.pdf", 150))[1]
    words = 140 * 50 * 6
    assert many - few <= words * 1000 / 2**20, "more than 1000 bytes a word of the table stay"


def test_collection_is_on_again_after_reading_and_after_an_error(tmp_path: Path) -> None:
    read_pdf(pages_of_text(tmp_path / "one.pdf", 1))
    assert gc.isenabled()

    def stop(number: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_pdf(tmp_path / "one.pdf", on_page=stop)
    assert gc.isenabled()
    assert len(read_pdf(tmp_path / "one.pdf"))


def test_the_table_has_the_documented_columns(tmp_path: Path) -> None:
    document = read_pdf(pages_of_text(tmp_path / "one.pdf", 1, lines=2), raw_text=True)
    assert list(document.words.columns) == [
        "document", "page", "order", "line", "word", "column", "text_column", "block", "x0", "y0", "x1", "y1",
        "text", "raw_text", "form", "hidden", "furniture", "direction", "angle",
    ]  # fmt: skip
    assert document.words.document.unique().tolist() == ["one.pdf"]
    assert (document.words.column == (document.words.x0 * 50).astype(int)).all()
    assert document.report["characters"] == {0: int(document.words.text.str.len().sum())}
    assert repr(document) == "Document('one.pdf': 1 page, 12 words)"


def test_pages_without_text_are_named_in_the_report(tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(3):
        page = document.new_page()
        if number == 1:
            page.insert_text((72, 100), "text")
    read = read_pdf(save(document, tmp_path / "gaps.pdf"))
    assert read.report["pages_without_text"] == [0, 2] and read.pages.needs_ocr.tolist() == [True, False, True]


def test_a_missing_library_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymupdf", None)
    with pytest.raises(MissingExtraError, match=r'pip install "structpos\[pdf\]"'):
        read_pdf(tmp_path / "any.pdf")


def test_reading_loads_neither_torch_nor_pandas(tmp_path: Path) -> None:
    path = pages_of_text(tmp_path / "one.pdf", 1)
    code = (
        "import sys; from structpos.readers.pdf import read_pdf; read_pdf(sys.argv[1]).report;"
        "print([name for name in ('torch', 'pandas') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "[]"


def test_nothing_is_printed_and_messages_are_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = pages_of_text(tmp_path / "one.pdf", 1)
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"startxref")])
    document = read_pdf(path)
    assert len(document) and any("repair" in message for message in document.report["messages"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not os.environ.get("STRUCTPOS_TEST_DATA"), reason="STRUCTPOS_TEST_DATA is not set")
def test_boxes_and_texts_are_those_of_the_library_underneath() -> None:
    """On an ordinary contract every word, and nothing else, comes with the box that MuPDF gives it."""
    path = Path(os.environ["STRUCTPOS_TEST_DATA"]) / "contracts" / "cuad" / "pdf" / "c007.pdf"
    words = read_pdf(path).words
    with pymupdf.open(path) as document:
        for number, page in enumerate(document):
            wanted = sorted((word[4], *np.round(word[:4], 2)) for word in page.get_text("words"))
            mine = words[words.page == number]
            scaled = mine[["x0", "y0", "x1", "y1"]].to_numpy() * np.tile([page.rect.width, page.rect.height], 2)
            assert sorted(zip(mine.text, *np.round(scaled, 2).T, strict=True)) == wanted
