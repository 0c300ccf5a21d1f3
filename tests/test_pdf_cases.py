"""Faults that readers of PDFs were reported for, each with the smallest page that shows it and the right answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structpos.readers.pdf import read_pdf
from structpos.readers.tidy import thousandths, tidy_boxes

sys.path.insert(0, str(Path(__file__).parent))
from pdf_drawing import SIDES, Make, box, make, size, texts, write_objects

pymupdf = pytest.importorskip("pymupdf")

__all__ = ["make"]


@pytest.mark.parametrize(
    ("rotation", "shown", "expected", "scaled"),
    [
        (90, (792, 612), (688.4, 72.0, 704.9, 120.0), (869, 117, 890, 196)),
        (180, (612, 792), (492.0, 688.4, 540.0, 704.9), None),
        (270, (792, 612), (87.1, 492.0, 103.6, 540.0), None),
    ],
)
def test_p1_boxes_of_a_turned_page_are_those_of_the_page_as_shown(
    make: Make,
    rotation: int,
    shown: tuple[float, float],
    expected: tuple[float, ...],
    scaled: tuple[int, ...] | None,
) -> None:
    document = read_pdf(make(lambda page: page.insert_text((72, 100), "CLAUSE", fontsize=12), rotation=rotation))
    assert size(document) == shown
    assert box(document, "CLAUSE") == pytest.approx(expected, abs=0.06)
    if scaled:
        assert thousandths(document.words[SIDES].to_numpy())[0][0] == pytest.approx(scaled, abs=1)


def test_p2_boxes_of_a_turned_page_stay_within_a_thousand(make: Make) -> None:
    document = read_pdf(make(lambda page: page.insert_text((72, 780), "TERM"), rotation=90))
    whole, clamped = thousandths(document.words[SIDES].to_numpy())
    assert whole[0] == pytest.approx((11, 117, 30, 167), abs=2)
    assert clamped == 0 and whole.min() >= 0 and whole.max() <= 1000


def draw_cropped(page: Any) -> None:
    page.insert_text((172, 200), "TERM")
    page.insert_text((10, 20), "OUT")


CROP = (100, 100, 512, 692)


def test_p3_the_visible_page_is_the_cropped_one_and_words_outside_are_counted(make: Make) -> None:
    document = read_pdf(make(draw_cropped, crop=CROP))
    assert size(document) == (412, 592)
    assert texts(document) == ["TERM"]
    assert box(document, "TERM") == pytest.approx((72.0, 88.2, 103.2, 103.3), abs=0.06)
    assert document.pages.dropped[0] == 1


def test_p4_cropped_and_turned_pages_read_the_same_twice(make: Make) -> None:
    path = make(draw_cropped, crop=CROP, rotation=90)
    first = read_pdf(path)
    with pymupdf.open(path) as between:
        between[0].find_tables()
    second = read_pdf(path)
    assert size(first) == (592, 412)
    assert box(first, "TERM") == pytest.approx((488.7, 72.0, 503.8, 103.2), abs=0.06)
    assert first.words.equals(second.words)


def test_p5_a_media_box_that_does_not_begin_at_zero(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page(width=612, height=792)
    page.insert_text((172, 200), "TERM")
    document.xref_set_key(page.xref, "MediaBox", "[100 50 612 792]")
    document.save(tmp_path / "moved.pdf")
    read = read_pdf(tmp_path / "moved.pdf")
    assert size(read) == (512, 742)
    assert box(read, "TERM")[:2] == pytest.approx((72.0, 188.2), abs=0.06)


def test_f1_user_units_scale_the_page_and_leave_fractions_alone(tmp_path: Path, make: Make) -> None:
    plain = make(lambda page: page.insert_text((72, 100), "CLAUSE"))
    with pymupdf.open(plain) as document:
        document.xref_set_key(document[0].xref, "UserUnit", "2")
        document.save(tmp_path / "unit.pdf")
        document.xref_set_key(document[0].xref, "Rotate", "90")
        document.save(tmp_path / "turned.pdf")
        document.xref_set_key(document[0].xref, "UserUnit", "1")
        document.save(tmp_path / "turned_plain.pdf")
    one, two = read_pdf(plain), read_pdf(tmp_path / "unit.pdf")
    assert size(two) == (1224, 1584) and two.pages.user_unit[0] == 2.0
    assert two.words[SIDES].to_numpy() == pytest.approx(one.words[SIDES].to_numpy(), abs=1e-4)
    turned, turned_plain = read_pdf(tmp_path / "turned.pdf"), read_pdf(tmp_path / "turned_plain.pdf")
    assert turned.words[SIDES].to_numpy() == pytest.approx(turned_plain.words[SIDES].to_numpy(), abs=1e-4)


def test_p6_two_columns_are_not_read_across(make: Make) -> None:
    def draw(page: Any) -> None:
        for row in range(4):
            page.insert_text((72, 100 + 14 * row), f"L{row}a L{row}b", fontsize=10)
            page.insert_text((330, 100 + 14 * row), f"R{row}a R{row}b", fontsize=10)

    document = read_pdf(make(draw))
    left = [f"L{row}{half}" for row in range(4) for half in "ab"]
    assert texts(document) == left + [word.replace("L", "R") for word in left]
    assert list(document.words.text_column) == [0] * 8 + [1] * 8
    assert list(document.words.line) == [0, 0, 1, 1, 2, 2, 3, 3] * 2


def test_p7_the_order_of_the_stream_does_not_matter(make: Make) -> None:
    def draw(page: Any) -> None:
        for side, x in (("R", 330), ("L", 72)):
            for row in range(3):
                page.insert_text((x, 100 + 14 * row), f"{side}{row}", fontsize=10)
        page.insert_text((72, 60), "TITLE", fontsize=10)

    assert texts(read_pdf(make(draw))) == ["TITLE", "L0", "L1", "L2", "R0", "R1", "R2"]


def test_p8_heading_over_two_columns_and_a_page_number_below(make: Make) -> None:
    heading = "A heading that runs over the full width of the page and is long enough to cross both of its columns"

    def draw(page: Any) -> None:
        page.insert_text((72, 60), heading, fontsize=10)
        for row in range(3):
            page.insert_text((72, 100 + 14 * row), f"left{row}", fontsize=10)
            page.insert_text((330, 100 + 14 * row), f"right{row}", fontsize=10)
        page.insert_text((300, 770), "3", fontsize=10)

    document = read_pdf(make(draw))
    body = [f"{side}{row}" for side in ("left", "right") for row in range(3)]
    assert texts(document) == [*heading.split(), *body, "3"]
    words = document.words
    assert words[words.text.isin(heading.split())].text_column.isna().all()
    assert list(words.furniture) == [False] * (len(words) - 1) + [True]


def test_p9_three_columns_are_read_from_the_left(make: Make) -> None:
    def draw(page: Any) -> None:
        for side, x in (("middle", 230), ("right", 410), ("left", 50)):
            for row in range(3):
                page.insert_text((x, 100 + 14 * row), f"{side}{row}", fontsize=10)

    document = read_pdf(make(draw))
    assert texts(document) == [f"{side}{row}" for side in ("left", "middle", "right") for row in range(3)]
    assert list(document.words.text_column) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_p10_a_clause_number_stays_with_its_line(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((100, 100), "First line")
        page.insert_text((100, 114), "second line")
        page.insert_text((72, 100), "(1)")

    document = read_pdf(make(draw))
    assert texts(document) == ["(1)", "First", "line", "second", "line"]
    assert document.words.text_column.nunique() == 1
    assert list(document.words.line) == [0, 0, 0, 1, 1]


def test_p11_words_of_slightly_different_height_make_one_line(make: Make) -> None:
    def draw(page: Any) -> None:
        for number, shift in ((3, 0.4), (0, 0.0), (2, 0.1), (1, 0.1)):
            page.insert_text((72 + 60 * number, 564.5 + shift), f"word{number + 1}")

    document = read_pdf(make(draw))
    assert texts(document) == ["word1", "word2", "word3", "word4"]
    assert set(document.words.line) == {0}


def test_p12_a_raised_ending_does_not_break_its_line(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((72, 100), "finish 7", fontsize=11)
        page.insert_text((72 + pymupdf.get_text_length("finish 7", fontsize=11), 96), "th", fontsize=6)
        page.insert_text((150, 100), "in the season", fontsize=11)

    document = read_pdf(make(draw))
    assert "".join(texts(document)) == "finish7thintheseason"
    assert set(document.words.line) == {0}


@pytest.mark.parametrize("shift", [(0.3, 0.0), (0.001, 0.04)])
def test_p13_a_word_drawn_twice_comes_once_with_the_union_of_its_boxes(make: Make, shift: tuple[float, float]) -> None:
    def draw(page: Any) -> None:
        page.insert_text((72, 100), "Statement")
        page.insert_text((72 + shift[0], 100 + shift[1]), "Statement")
        page.insert_text((300, 100), "very very very")

    document = read_pdf(make(draw))
    assert texts(document) == ["Statement", "very", "very", "very"]
    single = pymupdf.get_text_length("Statement", fontsize=11)
    x0, _, x1, _ = box(document, "Statement")
    assert (x0, x1) == pytest.approx((72, 72 + single + shift[0]), abs=0.02)
    assert document.pages.copies[0] == 1 and document.report["copies"] == 1


def test_p17_sideways_text_has_its_own_block_and_order(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((300, 400), "SIDEWAYS NOTE", rotate=90)
        page.insert_text((72, 100), "body")

    document = read_pdf(make(draw, size=(595, 842)))
    words = document.words.set_index("text")
    assert texts(document) == ["body", "SIDEWAYS", "NOTE"]
    assert box(document, "SIDEWAYS") == pytest.approx((288.2, 341.9, 303.3, 400.0), abs=0.06)
    assert box(document, "NOTE") == pytest.approx((288.2, 308.3, 303.3, 338.9), abs=0.06)
    assert words.angle.to_dict() == {"body": 0.0, "SIDEWAYS": 270.0, "NOTE": 270.0}
    assert words.block["SIDEWAYS"] == words.block["NOTE"] != words.block["body"]


def test_p18_boxes_of_slanted_text_hold_all_four_corners(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((300, 400), "slanted", morph=(pymupdf.Point(300, 400), pymupdf.Matrix(45)))

    document = read_pdf(make(draw))
    x0, y0, x1, y1 = box(document, "slanted")
    width, height = pymupdf.get_text_length("slanted", fontsize=11), 11 * 1.374  # of Helvetica's boxes
    assert x1 - x0 == pytest.approx((width + height) / np.sqrt(2), abs=0.1)
    assert y1 - y0 == pytest.approx((width + height) / np.sqrt(2), abs=0.1)
    assert document.words.angle[0] in (45.0, 315.0)


def test_p19_words_outside_the_page_are_dropped_and_cut_ones_stay_inside(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((72, 100), "in")
        page.insert_text((700, 100), "out")
        page.insert_text((-40, 100), "neg")
        page.insert_text((-10, 200), "partly")

    document = read_pdf(make(draw))
    assert texts(document) == ["in", "partly"]
    assert document.pages.dropped[0] == 2 and document.pages.clipped[0] == 1
    assert box(document, "partly")[0] == 0.0
    assert document.words[SIDES].to_numpy().min() >= 0.0 and document.words[SIDES].to_numpy().max() <= 1.0


def test_p20_scaled_boxes_are_clamped_and_counted() -> None:
    whole, clamped = thousandths(np.array([[0.5, 0.5, 1.001, 1.024], [-0.001, 0.1, 0.2, 0.3], [0.1, 0.1, 0.2, 0.2]]))
    assert whole.tolist() == [[500, 500, 1000, 1000], [0, 100, 200, 300], [100, 100, 200, 200]]
    assert clamped == 2


def test_p21_swapped_corners_are_put_in_order_and_counted() -> None:
    tidied = tidy_boxes(np.array([[10.0, 50.0, 20.0, 40.0], [10.0, 40.0, 20.0, 50.0]]), 100.0, 100.0)
    assert tidied.boxes.tolist() == [[10.0, 40.0, 20.0, 50.0]] * 2
    assert tidied.swapped.tolist() == [True, False]


def test_boxes_that_are_no_numbers_are_outside() -> None:
    tidied = tidy_boxes(np.array([[np.nan, 0.0, 1.0, 1.0], [0.0, 0.0, np.inf, 1.0], [0.0, 0.0, 1.0, 1.0]]), 10.0, 10.0)
    assert tidied.inside.tolist() == [False, False, True]


def mapped_font(tmp_path: Path, cmap: str, codes: bytes) -> Path:
    """A page in Helvetica whose characters say what ``cmap`` says."""
    stream = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
        "1 begincodespacerange <00> <ff> endcodespacerange " + cmap + " endcmap end end"
    )
    content = b"BT /F1 12 Tf 72 700 Td (" + codes + b") Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 4 0 R>>>>/Contents 6 0 R>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 5 0 R>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream".encode(),
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    return write_objects(tmp_path / "mapped.pdf", objects)


def test_p23_ligatures_are_spelt_out_inside_one_word(tmp_path: Path) -> None:
    cmap = "2 beginbfchar <01> <FB01> <02> <FB03> endbfchar 1 beginbfrange <20> <7e> <0020> endbfrange"
    document = read_pdf(mapped_font(tmp_path, cmap, rb"\001ve di\002cult"), raw_text=True)
    assert texts(document) == ["five", "difficult"]
    assert list(document.words.raw_text) == ["\ufb01ve", "di\ufb03cult"]


def test_p23_a_map_to_nul_gives_unknown_characters_that_are_counted(tmp_path: Path) -> None:
    cmap = "1 beginbfchar <01> <0000> endbfchar 1 beginbfrange <20> <7e> <0020> endbfrange"
    document = read_pdf(mapped_font(tmp_path, cmap, rb"di\001icult"))
    joined = "".join(texts(document))
    assert "\x00" not in joined
    assert document.pages.replacement[0] == joined.count("\ufffd") == 1
    assert "say nothing" in document.pages.suspicious_text[0]


def test_p23_soft_hyphens_that_are_drawn_are_hyphens(tmp_path: Path) -> None:
    cmap = "1 beginbfchar <2d> <00AD> endbfchar 2 beginbfrange <20> <2c> <0020> <2e> <7e> <002e> endbfrange"
    document = read_pdf(mapped_font(tmp_path, cmap, b"agree-"), raw_text=True)
    assert texts(document) == ["agree-"] and list(document.words.raw_text) == ["agree\u00ad"]


def test_p27_every_bad_file_is_one_named_error(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from structpos.errors import ReadError

    monkeypatch.delenv("STRUCTPOS_PDF_PASSWORD", raising=False)
    good = make(lambda page: page.insert_text((72, 100), "good"))
    bad = {
        "empty": b"",
        "not-a-pdf": b"just text, whatever the name says\n" * 20,
        "damaged": good.read_bytes()[:300],
    }
    for kind, content in bad.items():
        (tmp_path / f"{kind}.pdf").write_bytes(content)
    with pymupdf.open(good) as document:
        document.save(
            tmp_path / "password.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="owner"
        )
    for kind in (*bad, "password", "missing"):
        with pytest.raises(ReadError, match=f"{kind}.pdf: ") as caught:
            read_pdf(tmp_path / f"{kind}.pdf")
        assert caught.value.kind == kind and caught.value.__cause__ is None
    with pytest.raises(ReadError, match="does not open"):
        read_pdf(tmp_path / "password.pdf", password="wrong")
    for word in ("open", "owner"):
        assert texts(read_pdf(tmp_path / "password.pdf", password=word)) == ["good"]
    monkeypatch.setenv("STRUCTPOS_PDF_PASSWORD", "open")
    assert texts(read_pdf(tmp_path / "password.pdf")) == ["good"]
    assert texts(read_pdf(good)) == ["good"]


def test_an_empty_user_password_counts_as_open(tmp_path: Path, make: Make) -> None:
    with pymupdf.open(make(lambda page: page.insert_text((72, 100), "open"))) as document:
        document.save(tmp_path / "owner.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="", owner_pw="owner")
    assert texts(read_pdf(tmp_path / "owner.pdf")) == ["open"]
