"""Words with boxes from other tools: the same table as a PDF gives, units never guessed, faults named and counted."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structpos.errors import PositionError, ReadError
from structpos.readers.boxes import read_boxes
from structpos.readers.document import WORD_COLUMNS, Document
from structpos.readers.tidy import thousandths

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

# Two columns of two lines, stored row by row, on a page of 612 x 792.
WORDS = [
    ("L0a", 72, 100, 92, 112), ("L0b", 96, 100, 116, 112), ("R0a", 330, 100, 350, 112), ("R0b", 354, 100, 374, 112),
    ("L1a", 72, 114, 92, 126), ("L1b", 96, 114, 116, 126), ("R1a", 330, 114, 350, 126), ("R1b", 354, 114, 374, 126),
    ("L2a", 72, 128, 92, 140), ("L2b", 96, 128, 116, 140), ("R2a", 330, 128, 350, 140), ("R2b", 354, 128, 374, 140),
]  # fmt: skip
READ = ["L0a", "L0b", "L1a", "L1b", "L2a", "L2b", "R0a", "R0b", "R1a", "R1b", "R2a", "R2b"]
STORED = [word[0] for word in WORDS]

TESSERACT = """\
level|page_num|block_num|par_num|line_num|word_num|left|top|width|height|conf|text
1|1|0|0|0|0|0|0|1240|1754|-1|
2|1|1|0|0|0|118|160|600|80|-1|
3|1|1|1|0|0|118|160|600|80|-1|
4|1|1|1|1|0|118|160|220|32|-1|
5|1|1|1|1|1|118|160|100|32|96.063210|"Supply
5|1|1|1|1|2|230|160|108|32|95.5|Agreement
4|1|1|1|2|0|118|208|600|32|-1|
5|1|1|1|2|1|118|208|90|32|91|between
2|1|2|0|0|0|1000|1700|40|20|-1|
3|1|2|1|0|0|1000|1700|40|20|-1|
4|1|2|1|1|0|1000|1700|40|20|-1|
5|1|2|1|1|1|1000|1700|40|20|95.000000|{blank}
1|2|0|0|0|0|0|0|1240|1754|-1|
2|2|1|0|0|0|118|160|200|32|-1|
3|2|1|1|0|0|118|160|200|32|-1|
4|2|1|1|1|0|118|160|200|32|-1|
5|2|1|1|1|1|118|160|200|32|88.1|Signed
""".replace("|", "\t").replace("{blank}", " ")

HOCR = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">
 <head>
  <title></title>
  <meta http-equiv="Content-Type" content="text/html;charset=utf-8"/>
  <meta name='ocr-system' content='tesseract 5.3.0' />
  <meta name='ocr-capabilities' content='ocr_page ocr_carea ocr_par ocr_line ocrx_word ocrp_wconf'/>
 </head>
 <body>
  <div class='ocr_page' id='page_1' title='image "a; bbox 1 2 3 4"; bbox 0 0 1240 1754; ppageno 0; scan_res 150 150'>
   <div class='ocr_carea' id='block_1_1' title="bbox 118 160 718 240">
    <p class='ocr_par' id='par_1_1' lang='eng' title="bbox 118 160 718 240">
     <span class='ocr_header' id='line_1_1' title="bbox 118 160 338 192; baseline 0 -7; x_size 32; x_descenders 7">
      <span class='ocrx_word' id='word_1_1' title='bbox 118 160 218 192; x_wconf 96'><strong>R&amp;D</strong></span>
      <span class='ocrx_word' id='word_1_2' title='bbox 230 160 338 192; x_wconf 95'>Agreement</span>
     </span>
     <span class='ocr_line' id='line_1_2' title="bbox 118 208 718 240; baseline 0 -7">
      <span class='ocrx_word' id='word_1_3' title='bbox 118 208 208 240; x_wconf 91'><em>between</em></span>
     </span>
    </p>
   </div>
   <div class='ocr_carea' id='block_1_2' title="bbox 40 700 70 1000">
    <p class='ocr_par' id='par_1_2' lang='eng' title="bbox 40 700 70 1000">
     <span class='ocr_line' id='line_1_3' title="bbox 40 700 70 1000; textangle 90; x_size 30">
      <span class='ocrx_word' id='word_1_4' title='bbox 40 700 70 1000; x_wconf 80'>SIDEWAYS</span>
     </span>
    </p>
   </div>
   <div class='ocr_photo' id='block_1_3' title="bbox 0 0 1240 100"></div>
  </div>
  <div class='ocr_page' id='page_2' title='image ""; bbox 0 0 1240 1754; ppageno 1; scan_res 150 150'>
  </div>
 </body>
</html>
"""

FORM = {
    "form": [
        {
            "box": [84, 109, 136, 119],
            "text": "COMPOUND",
            "label": "question",
            "words": [{"box": [84, 109, 136, 119], "text": "COMPOUND"}],
            "linking": [[0, 37]],
            "id": 0,
        },
        {
            "box": [209, 169, 290, 182],
            "text": "533 North",
            "label": "answer",
            "words": [{"box": [209, 169, 236, 182], "text": "533"}, {"box": [240, 169, 290, 182], "text": "North"}],
            "linking": [[0, 1]],
            "id": 1,
        },
        {
            "box": [0, 0, 1, 1],
            "text": "",
            "label": "other",
            "words": [{"box": [0, 0, 1, 1], "text": ""}],
            "linking": [],
            "id": 2,
        },
    ]
}


def write_csv(path: Path, rows: list[Any], header: str = "text,x0,y0,x1,y1", mark: str = ",") -> Path:
    path.write_text("\n".join([header.replace(",", mark), *(mark.join(map(str, row)) for row in rows)]) + "\n")
    return path


def png(path: Path, width: int, height: int) -> Path:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.parent.mkdir(parents=True, exist_ok=True)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IEND", b""))
    return path


def texts(document: Document) -> list[str]:
    return list(document.columns["text"])


def box_of(document: Document, word: str) -> list[float]:
    row = texts(document).index(word)
    return [float(document.columns[side][row]) for side in ("x0", "y0", "x1", "y1")]


# The same table, from every kind.


def test_csv_becomes_the_table_of_a_pdf_in_reading_order(tmp_path: Path) -> None:
    document = read_boxes(write_csv(tmp_path / "words.csv", WORDS), page_size=(612, 792))
    assert texts(document) == READ
    assert list(document.words.columns) == ["document", *WORD_COLUMNS]
    assert document.columns["order"].tolist() == list(range(12))
    assert document.columns["text_column"].tolist() == [0] * 6 + [1] * 6
    assert document.columns["line"].tolist() == [0, 0, 1, 1, 2, 2] * 2
    assert box_of(document, "R0a") == pytest.approx([330 / 612, 100 / 792, 350 / 612, 112 / 792])
    assert document.name == "words.csv"


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = [WORDS[index] for index in np.random.default_rng(0).permutation(len(WORDS))]
    assert texts(read_boxes(write_csv(tmp_path / "words.csv", rows), page_size=(612, 792))) == READ


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_csv_with_another_delimiter_and_decimal_comma(tmp_path: Path, mark: str) -> None:
    rows = [(word, *(f"{value / 1000:.3f}".replace(".", ",") for value in box)) for word, *box in WORDS]
    document = read_boxes(write_csv(tmp_path / "words.csv", rows, mark=mark))
    assert box_of(document, "L0a") == pytest.approx([0.072, 0.1, 0.092, 0.112])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_csv_as_a_spreadsheet_saves_it(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "words.csv"
    path.write_text('text,x0,y0,x1,y1\r\n"Größe, 5",0.1,0.1,0.2,0.2\r\n', encoding=encoding, newline="")
    assert texts(read_boxes(path)) == ["Größe, 5"]


HEADERS = {
    "word,page,xmin,ymin,xmax,ymax": ("Hello", 1, 100, 200, 300, 220),
    "Text,Page_Num,Left,Top,Width,Height": ("Hello", 1, 100, 200, 200, 20),
    "token,page_number,x,y,w,h": ("Hello", 1, 100, 200, 200, 20),
    "text,x1,y1,x2,y2": ("Hello", 100, 200, 300, 220),
    "text,x0,top,x1,bottom": ("Hello", 100, 200, 300, 220),
    "text,bbox": ("Hello", '"[100, 200, 300, 220]"'),
    "text,polygon": ("Hello", "100 200 300 200 300 220 100 220"),
}


@pytest.mark.parametrize("header", HEADERS)
def test_column_names_of_other_tools(tmp_path: Path, header: str) -> None:
    document = read_boxes(write_csv(tmp_path / "words.csv", [HEADERS[header]], header), unit="thousandth")
    assert box_of(document, "Hello") == pytest.approx([0.1, 0.2, 0.3, 0.22])
    assert document.columns["page"].tolist() == [0]


def test_columns_under_names_of_their_own(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "w.csv", [("Hello", 0.1, 0.2, 0.3, 0.22)], "wort,links,oben,rechts,unten")
    with pytest.raises(ReadError, match=r"wort, links.*columns=\{'text'"):
        read_boxes(path)
    names = {"text": "wort", "x0": "links", "y0": "oben", "x1": "rechts", "y1": "unten"}
    assert box_of(read_boxes(path, columns=names), "Hello") == pytest.approx([0.1, 0.2, 0.3, 0.22])
    with pytest.raises(ReadError, match="no column 'mot' for text"):
        read_boxes(path, columns={"text": "mot"})
    with pytest.raises(ReadError, match=r"Unknown column 'txt'.*Known: "):
        read_boxes(path, columns={"txt": "wort"})


def test_parquet_with_one_row_a_word(tmp_path: Path) -> None:
    word, x0, y0, x1, y1 = zip(*WORDS, strict=True)
    table = {
        "text": word,
        "left": x0,
        "top": y0,
        "right": x1,
        "bottom": y1,
        "page_width": [612] * 12,
        "page_height": [792] * 12,
    }
    pq.write_table(pa.table({name: list(values) for name, values in table.items()}), tmp_path / "words.parquet")
    document = read_boxes(tmp_path / "words.parquet")
    assert texts(document) == READ
    assert box_of(document, "R0a") == pytest.approx([330 / 612, 100 / 792, 350 / 612, 112 / 792])


def test_parquet_with_one_row_a_page(tmp_path: Path) -> None:
    words, boxes = [["b", "a"], ["c"]], [[[500, 100, 600, 120], [100, 100, 200, 120]], [[9, 9, 90, 20]]]
    pq.write_table(pa.table({"page": [1, 2], "words": words, "bboxes": boxes}), tmp_path / "pages.parquet")
    document = read_boxes(tmp_path / "pages.parquet", unit="thousandth")
    assert texts(document) == ["a", "b", "c"]
    assert document.columns["page"].tolist() == [0, 0, 1]
    pq.write_table(pa.table({"id": ["x", "y"], "words": words, "bboxes": boxes}), tmp_path / "documents.parquet")
    with pytest.raises(ReadError, match="2 rows of words and no column 'page'"):
        read_boxes(tmp_path / "documents.parquet", unit="thousandth")


def test_tesseract_tsv(tmp_path: Path) -> None:
    path = tmp_path / "scan.tsv"
    path.write_text(TESSERACT)
    document = read_boxes(path)
    # Tesseract leaves quotation marks as they are; a CSV reader would swallow the rest of the file after this one.
    assert texts(document) == ['"Supply', "Agreement", "between", "Signed"]
    assert document.columns["page"].tolist() == [0, 0, 0, 1]
    assert document.columns["line"].tolist() == [0, 0, 1, 0]
    assert box_of(document, "Agreement") == pytest.approx([230 / 1240, 160 / 1754, 338 / 1240, 192 / 1754])
    assert document.report["messages"] == ["rows had no text: 1"]


def test_tesseract_files_put_after_one_another_are_pages(tmp_path: Path) -> None:
    path = tmp_path / "both.tsv"
    path.write_text(TESSERACT + TESSERACT)
    assert read_boxes(path).columns["page"].tolist() == [0, 0, 0, 1, 2, 2, 2, 3]


def test_tesseract_without_rows_of_pages_asks_for_their_size(tmp_path: Path) -> None:
    path = tmp_path / "filtered.tsv"
    path.write_text("\n".join(line for line in TESSERACT.splitlines() if line[0] in "l5"))
    with pytest.raises(ReadError, match=r"size of page 0 \(line 2\) is not known; pass page_size="):
        read_boxes(path)
    document = read_boxes(path, page_size=(1240, 1754))
    assert box_of(document, "Agreement") == pytest.approx([230 / 1240, 160 / 1754, 338 / 1240, 192 / 1754])


def test_hocr(tmp_path: Path) -> None:
    path = tmp_path / "scan.hocr"
    path.write_text(HOCR)
    document = read_boxes(path)
    assert sorted(texts(document)) == ["Agreement", "R&D", "SIDEWAYS", "between"]
    # The name of the picture holds a second, wrong box.
    assert box_of(document, "R&D") == pytest.approx([118 / 1240, 160 / 1754, 218 / 1240, 192 / 1754])
    turned = texts(document).index("SIDEWAYS")
    assert document.columns["angle"][turned] == 270  # reads upwards
    assert document.columns["angle"].sum() == 270
    pages = document.page_columns
    assert pages["page"].tolist() == [0, 1]
    assert pages["words"].tolist() == [4, 0]
    assert pages["width"].tolist() == pytest.approx([1240 * 72 / 150] * 2)


def test_hocr_with_a_box_for_each_character_and_other_readings(tmp_path: Path) -> None:
    path = tmp_path / "scan.html"
    path.write_text(
        "<html><body><div class='ocr_page' title='bbox 10 20 1010 1020'>"
        "<span class='ocr_line' title='bbox 20 30 80 50'>"
        "<span class='ocrx_word' title='bbox 20 30 80 50; x_wconf 90'>"
        "<span class='ocrx_cinfo' title='x_bboxes 20 30 50 50; x_conf 99'>O</span>"
        "<span class='ocrx_cinfo' title='x_bboxes 50 30 80 50; x_conf 98'>k</span>"
        "<span class='ocr_symbol'><span class='ocrx_cinfo' title='x_confs 50'>0</span></span>"
        "</span></span></div></body></html>"
    )
    document = read_boxes(path)
    assert texts(document) == ["Ok"]
    assert box_of(document, "Ok") == pytest.approx([0.01, 0.01, 0.07, 0.03])  # the page's box starts at (10, 20)


def test_funsd_form_finds_the_picture_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "annotations" / "0001.json"
    path.parent.mkdir()
    path.write_text(json.dumps(FORM))
    with pytest.raises(ReadError, match=r"84 to 290.*unit='thousandth'.*page_size="):
        read_boxes(path)
    png(tmp_path / "images" / "0001.png", 762, 1000)
    document = read_boxes(path)
    assert texts(document) == ["COMPOUND", "533", "North"]
    assert box_of(document, "533") == pytest.approx([209 / 762, 0.169, 236 / 762, 0.182])
    assert "rows had no text: 1" in document.messages
    assert any("0001.png: 762 x 1000" in message for message in document.messages)


def test_funsd_form_keeps_its_entries_as_blocks_on_request(tmp_path: Path) -> None:
    (tmp_path / "0001.json").write_text(json.dumps({"form": FORM["form"][::-1]}))
    document = read_boxes(tmp_path / "0001.json", page_size=(762, 1000), keep_order=True)
    assert texts(document) == ["533", "North", "COMPOUND"]
    assert document.columns["block"].tolist() == [1, 1, 2]


def test_json_lists_of_words_and_boxes(tmp_path: Path) -> None:
    path = tmp_path / "page.json"
    words = {"words": STORED, "bboxes": [[x0, y0, x1, y1] for _, x0, y0, x1, y1 in WORDS]}
    path.write_text(json.dumps(words | {"width": 612, "height": 792}))
    assert texts(read_boxes(path)) == READ
    path.write_text(json.dumps(words | {"bboxes": words["bboxes"][:-1]}))
    with pytest.raises(ReadError, match="12 words and 11 bboxes"):
        read_boxes(path, unit="thousandth")


@pytest.mark.parametrize("form", ["list", "lines", "pages", "columns"])
def test_json_in_other_forms(tmp_path: Path, form: str) -> None:
    path = tmp_path / "words.json"
    records = [{"text": word, "page": 1, "box": box} for word, *box in WORDS]
    pages = [{"words": STORED, "boxes": [record["box"] for record in records], "page": 1}]
    columns = {"text": STORED, "x0": [w[1] for w in WORDS], "y0": [w[2] for w in WORDS]}
    columns |= {"x1": [w[3] for w in WORDS], "y1": [w[4] for w in WORDS]}
    written = {
        "list": json.dumps(records),
        "lines": "\n".join(map(json.dumps, records)),
        "pages": json.dumps({"pages": pages}),
        "columns": json.dumps(columns),
    }
    path.write_text(written[form])
    assert texts(read_boxes(path, page_size=(612, 792))) == READ


def test_positions_follow_from_the_table(tmp_path: Path) -> None:
    document = read_boxes(write_csv(tmp_path / "words.csv", WORDS), page_size=(612, 792))
    positions = document.positions()
    assert positions["line"][0].tolist() == [0, 0, 1, 1, 2, 2] * 2
    assert positions["column"][0].tolist() == [
        int(50 * word[1] / 612) for name in READ for word in WORDS if word[0] == name
    ]


# Units: found where only one can be meant, otherwise asked for.


def test_fractions_are_recognised(tmp_path: Path) -> None:
    rows = [(word, x0 / 612, y0 / 792, x1 / 612, y1 / 792) for word, x0, y0, x1, y1 in WORDS]
    assert texts(read_boxes(write_csv(tmp_path / "words.csv", rows))) == READ


@pytest.mark.parametrize("most", [990, 2400])
def test_a_unit_that_is_open_is_asked_for(tmp_path: Path, most: int) -> None:
    path = write_csv(tmp_path / "words.csv", [("far", 10, 10, most, 20)])
    with pytest.raises(ReadError, match=r"page_size=\(width, height\)") as caught:
        read_boxes(path)
    assert caught.value.kind == "bad-table"
    assert ("unit='thousandth'" in str(caught.value)) is (most < 1000)
    assert f"10 to {most}" in str(caught.value)


def test_a_wrong_unit_is_refused_with_the_first_row(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "words.csv", [("near", 10, 10, 20, 20), ("far", 1500, 10, 2400, 20)])
    with pytest.raises(ReadError, match=r"1 of 2 boxes reach beyond.*line 3: \(1500, 10, 2400, 20\).*1000 x 1000"):
        read_boxes(path, unit="thousandth")
    with pytest.raises(ReadError, match=r"2400, 20\) on a page of 612 x 792"):
        read_boxes(path, page_size=(612, 792))
    fractions = write_csv(tmp_path / "fractions.csv", [("a", 0.1, 0.1, 0.2, 0.2), ("b", 0.5, 0.1, 0.6, 0.2)])
    with pytest.raises(ReadError, match=r"within 0\.\.1.*unit='fraction'"):
        read_boxes(fractions, unit="thousandth")
    with pytest.raises(PositionError, match=r"Unknown unit 'percent'\. Known: fraction, thousandth, pixel, point"):
        read_boxes(fractions, unit="percent")  # type: ignore[arg-type]


def test_every_page_has_its_own_size(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "w.csv", [("a", 1, 50, 50, 60, 60), ("b", 2, 50, 50, 60, 60)], "text,page,x0,y0,x1,y1")
    document = read_boxes(path, page_size={0: (100, 200), 1: (200, 100)})
    assert box_of(document, "a") == pytest.approx([0.5, 0.25, 0.6, 0.3])
    assert box_of(document, "b") == pytest.approx([0.25, 0.5, 0.3, 0.6])
    with pytest.raises(ReadError, match=r"size of page 1 \(line 3\) is not known"):
        read_boxes(path, page_size={0: (100, 200)})
    with pytest.raises(ReadError, match="page 0 is 0 x 200"):
        read_boxes(path, page_size=(0, 200))


def test_pages_count_from_zero_or_from_one(tmp_path: Path) -> None:
    header = "text,page,x0,y0,x1,y1"
    for first in (0, 1):
        rows = [("a", first, 0.1, 0.1, 0.2, 0.2), ("b", first + 2, 0.1, 0.1, 0.2, 0.2)]
        path = write_csv(tmp_path / "words.csv", rows, header)
        assert read_boxes(path).columns["page"].tolist() == [0, 2]
    path = write_csv(tmp_path / "words.csv", [("a", 3, 0.1, 0.1, 0.2, 0.2)], header)
    assert read_boxes(path, first_page=0).columns["page"].tolist() == [3]
    assert read_boxes(path, first_page=3).columns["page"].tolist() == [0]
    with pytest.raises(ReadError, match="page in line 2 is 3"):
        read_boxes(path, first_page=4)


# Faults of boxes.


def test_p20_boxes_beyond_the_range_are_clamped_and_counted(tmp_path: Path) -> None:
    rows = [("a", 900, 10, 1001, 20), ("b", 900, 30, 1024, 40), ("c", -1, 50, 30, 60), ("d", 0, 70, 1000, 80)]
    document = read_boxes(write_csv(tmp_path / "words.csv", rows), unit="thousandth")
    boxes = np.array([box_of(document, word) for word in "abcd"])
    assert boxes.min() == 0 and boxes.max() == 1
    whole, again = thousandths(boxes)
    assert whole.tolist() == [[900, 10, 1000, 20], [900, 30, 1000, 40], [0, 50, 30, 60], [0, 70, 1000, 80]]
    assert again == 0
    assert document.report["clipped"] == 3


def test_p20_scaler_clamps_and_counts() -> None:
    whole, clamped = thousandths(np.array([[0.5, 0.1, 1.001, 0.2], [0.5, 0.1, 1.024, 0.2], [-0.001, 0.1, 0.2, 0.2]]))
    assert whole.tolist() == [[500, 100, 1000, 200], [500, 100, 1000, 200], [0, 100, 200, 200]]
    assert clamped == 3


def test_p21_swapped_corners_are_put_right_and_counted(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "words.csv", [("a", 10, 50, 20, 40), ("b", 30, 40, 50, 50)])
    document = read_boxes(path, page_size=(100, 100))
    assert box_of(document, "a") == pytest.approx([0.1, 0.4, 0.2, 0.5])
    assert document.report["messages"] == ["boxes had their corners in the wrong order: 1"]


def test_words_outside_the_page_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = [*WORDS, ("out", 613, 100, 640, 112)]
    document = read_boxes(write_csv(tmp_path / "words.csv", rows), page_size=(612, 792))
    assert texts(document) == READ
    assert document.report["dropped"] == 1


# Bad rows.


@pytest.mark.parametrize(
    ("cell", "said"),
    [("wide", "x1 in line 3 is 'wide'"), ("", "x1 in line 3 is empty"), ("nan", "x1 in line 3 is 'nan'")],
)
def test_a_cell_that_is_no_number_is_named(tmp_path: Path, cell: str, said: str) -> None:
    path = write_csv(tmp_path / "words.csv", [("a", 1, 2, 3, 4), ("b", 1, 2, cell, 4)])
    with pytest.raises(ReadError, match=said):
        read_boxes(path, unit="thousandth")


BAD = {
    "short.csv": ("text,x0,y0,x1,y1\na,1,2,3\n", "line 2 has 4 cells, the header 5"),
    "twice.csv": ("text,text,x0,y0,x1,y1\na,b,1,2,3,4\n", "column 'text' is there twice"),
    "nobox.csv": ("text,page\na,1\n", "none is a box"),
    "page.csv": ("text,page,x0,y0,x1,y1\na,1.5,1,2,3,4\n", "page in line 2 is '1.5'; a whole number"),
    "width.csv": ("text,left,top,width,height\na,1,2,-3,4\n", "line 2 has a width or height below 0"),
    "two.csv": ("document,text,x0,y0,x1,y1\na,x,1,2,3,4\nb,y,1,2,3,4\n", r"words of 2 documents \(a, b\)"),
    "box.csv": ("text,bbox\na,1 2 3\n", "bbox in line 2 is '1 2 3'; four numbers"),
    "rows.tsv": ("level\tpage_num\tblock_num\n5\t1\t1\n", "line 2 has 3 cells; Tesseract writes 12"),
    "level.tsv": ("level page_num block_num\n5 1 1 1 1 1 ten 2 3 4 90 a".replace(" ", "\t"), "left in line 2 is 'ten'"),
    "box.hocr": ("<p class='ocr_page' title='bbox 0 0 9 9'>\n<i class='ocrx_word' title=''>a", "line 2 has no box"),
    "page.html": ("<html><span class='ocrx_word' title='bbox 1 2 3 4'>a</span></html>", "stands outside any ocr_page"),
    "cut.json": ('{"words": ["a"', "line 1 is no JSON"),
    "deep.json": ("[" * 100_000, "nested too deeply"),
    "none.json": ("[1, 2]", "this JSON holds no words"),
    "form.json": ('{"form": [{"text": "a"}]}', "entry 0 of 'form' has no list 'words'"),
    "word.json": ('{"form": [{"words": [{"text": "a"}]}]}', "word 0 of entry 0 of 'form' has no 'box'"),
    "null.json": ('{"words": ["a"], "bboxes": [null]}', "bboxes in word 0 of page 0 is None"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_table_that_makes_no_sense_is_one_sentence(tmp_path: Path, name: str) -> None:
    content, said = BAD[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(ReadError, match=said) as caught:
        read_boxes(tmp_path / name, unit="thousandth")
    assert caught.value.kind == "bad-table"
    assert caught.value.__cause__ is None


def test_bytes_that_are_no_utf_8_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_bytes("text,x0,y0,x1,y1\nGröße,0.1,0.1,0.2,0.2\n".encode("latin-1"))
    with pytest.raises(ReadError, match=r"line 2 holds the byte 0xF6.*UTF-8"):
        read_boxes(tmp_path / "words.csv")


KINDS = {
    "folder": (None, "unknown-kind"),
    "missing.csv": (None, "missing"),
    "empty.csv": (b"\n", "empty"),
    "contract.pdf": (b"%PDF-1.7\n", "unknown-kind"),
    "picture.png": (b"\x89PNG\r\n\x1a\n\x00\x00", "unknown-kind"),
    "page.html": (b"<html><body>Hello</body></html>", "unknown-kind"),
    "note.txt": (b"Hello", "unknown-kind"),
    "cut.parquet": (b"PAR1 and then nothing", "damaged"),
}


@pytest.mark.parametrize("name", KINDS)
def test_other_files_are_refused_by_kind(tmp_path: Path, name: str) -> None:
    content, kind = KINDS[name]
    (tmp_path / "folder").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError) as caught:
        read_boxes(tmp_path / name)
    assert caught.value.kind == kind
    if kind == "unknown-kind" and content:
        assert "parquet, csv, tesseract, hocr, json" in str(caught.value)


def test_the_content_decides_and_the_caller_overrides(tmp_path: Path) -> None:
    path = tmp_path / "scan.txt"
    path.write_text(TESSERACT)
    assert len(read_boxes(path)) == 4
    rows = [line for line in TESSERACT.replace('"', "").splitlines() if line[0] in "l5"]
    path.write_text("\n".join(rows))
    assert len(read_boxes(path, kind="csv", page_size=(1240, 1754))) == 4
    with pytest.raises(PositionError, match=r"Unknown kind 'hcr'\. Did you mean 'hocr'"):
        read_boxes(path, kind="hcr")


# Order and lines that the file states.


def test_the_order_of_the_file_is_kept_on_request(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "words.csv", WORDS)
    assert texts(read_boxes(path, page_size=(612, 792), keep_order=True)) == STORED
    rows = [(*word, 11 - index, 7) for index, word in enumerate(WORDS)]
    path = write_csv(tmp_path / "ordered.csv", rows, "text,x0,y0,x1,y1,order,line")
    assert texts(read_boxes(path, page_size=(612, 792))) == READ
    document = read_boxes(path, page_size=(612, 792), keep_order=True)
    assert texts(document) == STORED[::-1]
    assert set(document.columns["line"]) == {7}
    assert document.columns["order"].tolist() == list(range(12))


def test_keeping_the_order_keeps_every_word(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "words.csv", [*WORDS, WORDS[0]])
    document = read_boxes(path, page_size=(612, 792))
    assert texts(document) == READ and document.report["copies"] == 1
    assert texts(read_boxes(path, page_size=(612, 792), keep_order=True)) == [*STORED, "L0a"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_table_of_our_own_comes_back_as_it_was(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "first.csv"
    rows = [(*WORDS[0][:1], 1, *WORDS[0][1:]), *((word, 2, *box) for word, *box in WORDS)]
    first = read_boxes(
        write_csv(path, [*rows, ("7", 2, 300, 770, 306, 780)], "text,page,x0,y0,x1,y1"), page_size=(612, 792)
    )
    first.columns["hidden"][3] = True
    first.columns["angle"][3] = 90.0
    first.columns["order"] = first.columns["order"] + 5
    assert first.columns["furniture"].any()
    table = first.words
    if kind == "csv":
        table.to_csv(tmp_path / "again.csv", index=False)
    else:
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4 * len(table), np.float32)), 4)
        pq.write_table(arrow.append_column("vector", vectors), tmp_path / "again.parquet")
    again = read_boxes(tmp_path / f"again.{kind}")
    assert again.name == "first.csv"
    pd.testing.assert_frame_equal(again.words, table, check_categorical=False)


def test_a_file_of_structpos_encode_comes_back_with_its_pages(tmp_path: Path) -> None:
    pytest.importorskip("pymupdf")
    from structpos.datasets.sample_pdfs import write_samples
    from structpos.encode.formats import write_parquet
    from structpos.readers.pdf import read_pdf

    write_samples(tmp_path)
    for name in ("side_by_side_signatures.pdf", "rotated.pdf"):
        first = read_pdf(tmp_path / name)
        pages = {key: values.tolist() for key, values in first.page_columns.items()}
        about = {"signal": "vector", "document": first.name, "pages": pages, "messages": ["said"]}
        write_parquet(tmp_path / "again.parquet", first.columns, np.zeros((len(first), 8), np.float32), about)
        again = read_boxes(tmp_path / "again.parquet")
        assert again.name == name and again.messages == ["said"]
        pd.testing.assert_frame_equal(again.words, first.words, check_categorical=False)
        pd.testing.assert_frame_equal(again.pages, first.pages)
        assert repr(again.positions()) == repr(first.positions())


@pytest.mark.parametrize(("name", "content"), [("scan.tsv", TESSERACT), ("scan.hocr", HOCR)])
def test_lines_and_blocks_of_the_recogniser_are_kept_on_request(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    document = read_boxes(tmp_path / name, keep_order=True)
    first = document.columns["page"] == 0
    assert document.columns["line"][first].tolist()[:3] == [0, 0, 1]
    assert document.columns["word"][first].tolist()[:3] == [0, 1, 0]
    assert document.columns["block"][first].tolist() == [0, 0, 0, 1][: first.sum()]


def test_a_rotary_encoder_s_angles_do_not_pass_for_the_turn_of_a_word(tmp_path: Path) -> None:
    # Such a file has lists of angles under the name that the table gives to a number.
    table = read_boxes(write_csv(tmp_path / "words.csv", WORDS), page_size=(612, 792)).words.drop(columns="angle")
    angles = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(4 * len(table), np.float32)), 4)
    arrow = pa.Table.from_pandas(table, preserve_index=False).append_column("angle", angles)
    pq.write_table(arrow, tmp_path / "angles.parquet")
    document = read_boxes(tmp_path / "angles.parquet")
    assert texts(document) == READ and not document.columns["angle"].any()
