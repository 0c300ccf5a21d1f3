"""Text that the page does not show: invisible, white on white, behind a scan; and text that only looks hidden."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from structpos.readers.pdf import read_pdf

sys.path.insert(0, str(Path(__file__).parent))
from pdf_drawing import Make, make, texts, write_objects

pymupdf = pytest.importorskip("pymupdf")

__all__ = ["make"]


def test_p14_invisible_text_is_kept_flagged_and_left_out_of_positions(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((72, 100), "Total 100")
        page.insert_text((72, 120), "hidden order", render_mode=3)

    document = read_pdf(make(draw))
    words = document.words
    assert list(words.text[words.hidden]) == ["hidden", "order"]
    assert list(words.text[~words.hidden]) == ["Total", "100"]
    assert document.report["hidden_words"] == 2 and document.report["hidden_text"] == {0: "hidden order"}
    assert document.positions()["order"].shape == (1, 2)
    assert document.positions(hidden=True)["order"].shape == (1, 4)


def test_p15_white_on_white_is_not_painted_and_white_on_dark_is(make: Make) -> None:
    def draw(page: Any) -> None:
        page.draw_rect((290, 85, 400, 110), color=None, fill=(0.1, 0.1, 0.3))
        page.insert_text((72, 100), "gone", color=(1, 1, 1))
        page.insert_text((300, 100), "shown", color=(1, 1, 1))
        page.insert_text((72, 150), "black")

    words = read_pdf(make(draw)).words.set_index("text")
    assert words.hidden.to_dict() == {"gone": True, "shown": False, "black": False}


def test_white_text_on_a_tilted_dark_box_is_seen_whatever_white_crosses_it(make: Make) -> None:
    def draw(page: Any) -> None:
        corners = [(100, 300), (400, 150), (430, 210), (130, 360)]
        page.draw_polyline(corners, color=None, fill=(0.0, 0.5, 0.5), closePath=True)
        page.draw_line((150, 330), (400, 205), color=(1, 1, 1))
        page.draw_polyline([(140, 320), (390, 195), (391, 197), (141, 322)], color=None, fill=(1, 1, 1), closePath=True)
        page.insert_text((200, 290), "tilted", color=(1, 1, 1), morph=(pymupdf.Point(200, 290), pymupdf.Matrix(26)))

    assert list(read_pdf(make(draw)).words.hidden) == [False]


def test_white_text_on_a_white_box_over_a_dark_one_is_not_painted(make: Make) -> None:
    def draw(page: Any) -> None:
        page.draw_rect((50, 50, 400, 200), color=None, fill=(0.1, 0.1, 0.3))
        page.draw_rect((60, 80, 200, 120), color=None, fill=(1, 1, 1))
        page.insert_text((72, 100), "gone", color=(1, 1, 1))

    assert list(read_pdf(make(draw)).words.hidden) == [True]


def test_glyphs_that_are_little_drawings_are_seen(tmp_path: Path) -> None:
    square = b"1000 0 d0 0 0 750 750 re f"
    content = b"BT /F1 12 Tf 72 700 Td (aaa) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 4 0 R>>>>/Contents 6 0 R>>",
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 750 750]/FontMatrix[.001 0 0 .001 0 0]/CharProcs<</a 5 0 R>>"
        b"/Encoding<</Type/Encoding/Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1000]/Resources<<>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(square), square),
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    words = read_pdf(write_objects(tmp_path / "drawn.pdf", objects)).words
    assert list(words.text) == ["aaa"] and not words.hidden.any()


def test_white_text_with_a_black_outline_is_seen(make: Make) -> None:
    def draw(page: Any) -> None:
        page.insert_text((72, 100), "outline", fill=(1, 1, 1), color=(0, 0, 0), render_mode=2, border_width=0.05)

    assert not read_pdf(make(draw)).words.hidden.any()


def test_text_that_also_serves_as_a_clip_comes_once_and_seen(make: Make) -> None:
    document = read_pdf(make(lambda page: page.insert_text((72, 100), "clip", render_mode=4)))
    assert texts(document) == ["clip"] and not document.words.hidden.any()


def picture(page: Any, rect: tuple[float, float, float, float]) -> None:
    page.insert_image(rect, pixmap=pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 8, 8), False))


def test_p16_the_invisible_layer_of_a_scan_is_its_text(make: Make) -> None:
    def scan(page: Any) -> None:
        picture(page, (0, 0, 612, 792))
        for row in range(10):
            page.insert_text((72, 100 + 20 * row), "abcd efgh ijkl mnop qrst", render_mode=3)

    document = read_pdf(make(scan))
    assert len(document) == 50 and not document.words.hidden.any()
    assert document.pages.scanned[0] and not document.pages.needs_ocr[0]


def test_p16_a_page_with_visible_text_does_not_mix_in_the_layer(make: Make) -> None:
    def stamped(page: Any) -> None:
        picture(page, (0, 0, 612, 792))
        page.insert_text((72, 100), "layer text", render_mode=3)
        page.insert_text((72, 110), "RECEIVED")

    document = read_pdf(make(stamped))
    words = document.words
    assert not document.pages.scanned[0]
    assert list(words.text[~words.hidden]) == ["RECEIVED"]
    assert words.order.is_monotonic_increasing and words.line[words.text == "RECEIVED"].item() == 0
