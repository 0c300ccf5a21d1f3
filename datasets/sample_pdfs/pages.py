"""Samples of one or two pages: columns, a table, a letter, a turned page, a form."""

from __future__ import annotations

from typing import Any

from structpos.datasets.sample_pdfs.sheet import SANS, SANS_BOLD, SERIF, SERIF_BOLD, SERIF_ITALIC, Sheet, wrap
from structpos.errors import require

_LEFT_COLUMN = (
    "Before there were chains, the height of the water was read from a staff beside the ferry. The ferryman wrote it "
    "down twice a day, in the morning and after the last crossing, and sent the pages to the town when they were full.",
    "In dry summers the page says little: the same number stands in every row, and only the hand that wrote it "
    "changes. In a wet year the ink runs, and the readings come closer together, as if the river asked for them.",
    "Thirty-one books survive. They were copied last winter, page by page, with the margins.",
)
_RIGHT_COLUMN = (
    "What can be learned from them? First, that a reading without its place is worth nothing. The staff was moved "
    "three times, and the books say so only in a note at the foot of a page, easily lost by whoever copies rows alone.",
    "Second, that the columns matter. Morning stands on the left, evening on the right; a copyist who read straight "
    "across mixed both and found a river that rose and fell with every line.",
    "Third, that a footnote may change everything above it. We come back to this in the last part.",
)


def two_columns(document: Any) -> None:
    """A heading over two columns, stored row by row: read as stored, it goes straight across."""
    sheet = Sheet(document)
    sheet.text(297.5, 92, "What the Ferryman Wrote Down", font=SERIF_BOLD, size=20, align="middle")
    sheet.text(297.5, 114, "Notes on thirty-one books of water levels", font=SERIF_ITALIC, size=11.5, align="middle")
    sheet.rule(72, 132, 523, 132)
    columns = []
    for paragraphs in (_LEFT_COLUMN, _RIGHT_COLUMN):
        lines: list[str] = []
        for paragraph in paragraphs:
            lines += [*wrap(paragraph, 210, font=SERIF, size=10.5), ""]
        columns.append(lines)
    for row in range(max(map(len, columns))):
        for x, lines in zip((72, 313), columns, strict=True):
            if row < len(lines) and lines[row]:
                sheet.text(x, 160 + 14 * row, lines[row])
    sheet.text(297.5, 800, "7", size=9, align="middle")
    sheet.finish()


_READINGS = (
    ("Station", "Morning [cm]", "Evening [cm]", "Change", "Remark"),
    ("Upper lock", "214", "219", "+5", "rain since noon"),
    ("Ferry staff", "187", "193", "+6", "staff cleaned"),
    ("Old bridge", "176", "176", "0", "ice at the left bank"),
    ("Mill race", "92", "88", "-4", "gate opened at four"),
    ("Harbour", "240", "247", "+7", "tide and wind"),
)


def table(document: Any) -> None:
    """A ruled table with numbers set to the right, stored column by column."""
    sheet = Sheet(document)
    sheet.text(72, 92, "Water levels of one day", font=SANS_BOLD, size=17)
    sheet.paragraph(
        72, 118, 451, "Five stations, read at seven in the morning and at seven in the evening.", font=SANS, size=10
    )
    edges = (72, 162, 247, 332, 392, 523)
    rows = [146 + 24 * row for row in range(len(_READINGS) + 1)]
    sheet.band(edges[0], rows[0], edges[-1], rows[1])
    for y in rows:
        sheet.rule(edges[0], y, edges[-1], y, grey=0.45)
    for x in edges:
        sheet.rule(x, rows[0], x, rows[-1], grey=0.45)
    for column in range(5):
        for row, cells in enumerate(_READINGS):
            font = SANS_BOLD if row == 0 else SANS
            if row and 1 <= column <= 3:
                sheet.text(edges[column + 1] - 8, rows[row] + 16, cells[column], font=font, size=10, align="right")
            else:
                sheet.text(edges[column] + 8, rows[row] + 16, cells[column], font=font, size=10)
    sheet.text(72, rows[-1] + 24, "Levels are above the zero of the staff, not above the sea.", font=SANS, size=9)
    sheet.text(297.5, 806, "Page 1 of 1", font=SANS, size=8.5, align="middle")
    sheet.finish()


_LETTER = (
    "thank you for the three parcels of logbooks, which arrived dry and complete. We have begun to copy the first of "
    "them and would like to tell you how we go about it, so that you can stop us where we go wrong.",
    "Every page is photographed from above, with a ruler along its edge. Then each word is marked with the place where "
    "it stands, because the same number means one thing in the left column and another in the right. A word in the "
    "margin is kept as a word in the margin; we do not move it to the line where we believe it belongs.",
    "Two questions remain. In the book of the second winter the evening readings stop in February, yet the column goes "
    "on with smaller figures. Are these the levels of another staff? And who is the M. whose initial stands beside "
    "every fourth entry from then on?",
    "We also found a pressed flower between two pages of the last book. It has been photographed with its page and "
    "left where it was.",
    "The copies will be ready before the summer. Should you prefer to have single books back earlier, a word is "
    "enough, and we shall begin with those. Until then the originals stay in the dry room, away from light.",
    "Please give our regards to your colleagues at the lock. Their drawing of the old staff, with its three places and "
    "the years in which it was moved, hangs above the copying table and is asked for every day.",
)


def letter_with_header_and_footer(document: Any) -> None:
    """A letter over two pages whose head and foot repeat and belong to no sentence."""
    rest = list(_LETTER)
    for number in (1, 2):
        sheet = Sheet(document)
        sheet.text(85, 48, "River Archive", font=SANS_BOLD, size=9, grey=0.3)
        sheet.text(510, 48, "Letter of 4 March", font=SANS, size=9, align="right", grey=0.3)
        sheet.rule(85, 55, 510, 55, grey=0.6)
        y = 110.0
        if number == 1:
            for line in ("To the Lock Keepers' Society", "Old Bridge 3", "Upper Town"):
                sheet.text(85, y, line, size=11.5)
                y += 16
            sheet.text(85, y + 40, "The logbooks of the ferry", font=SERIF_BOLD, size=12.5)
            sheet.text(85, y + 74, "Dear Madam, dear Sir,", size=11.5)
            y += 98
        for _ in range(4 if number == 1 else 2):
            y = sheet.paragraph(85, y, 425, rest.pop(0), size=11.5, leading=17) + 9
        if number == 2:
            sheet.text(85, y + 10, "With kind regards", size=11.5)
            sheet.text(85, y + 60, "Ada Lindqvist", font=SERIF_ITALIC, size=14)
            sheet.text(85, y + 78, "River Archive, copying room", size=11.5)
        sheet.rule(85, 788, 510, 788, grey=0.6)
        sheet.text(85, 802, "River Archive, Quay 12", font=SANS, size=8, grey=0.3)
        sheet.text(510, 802, f"Page {number} of 2", font=SANS, size=8, align="right", grey=0.3)
        sheet.finish()


def rotated(document: Any) -> None:
    """A wide page, stored upright and shown turned by 90 degrees, with a note up its margin."""
    pymupdf = require("pymupdf", "pdf")
    sheet = Sheet(document)
    page = sheet.page
    page.set_rotation(90)

    def write(x: float, y: float, text: str, *, font: str = SANS, size: float = 11, turn: int = 0) -> None:
        # x and y as shown; the page stores the place before it is turned, and the letters lying on their side.
        place = pymupdf.Point(x, y) * page.derotation_matrix
        page.insert_text(place, text, fontname=font, fontsize=size, rotate=(90 + turn) % 360)

    write(84, 96, "Stations along the river, from the source to the sea", font=SANS_BOLD, size=17)
    rows = (
        ("Upper lock", "0 km", "read by the keeper, twice a day"),
        ("Ferry staff", "11 km", "moved in three different years"),
        ("Old bridge", "19 km", "ice in most winters"),
        ("Mill race", "23 km", "level set by the gate"),
        ("Harbour", "41 km", "tide and wind"),
    )
    for row, cells in enumerate(rows):
        for x, cell in zip((84, 230, 320), cells, strict=True):
            write(x, 146 + 26 * row, cell)
    write(42, 420, "Copied from the wall of the lock house", size=9, turn=90)
    write(402, 560, "12", size=9)


def form(document: Any) -> None:
    """A form with two text fields that are filled in and one box that is ticked."""
    pymupdf = require("pymupdf", "pdf")
    sheet = Sheet(document)
    sheet.text(72, 92, "Request for a copy", font=SANS_BOLD, size=17)
    sheet.paragraph(72, 118, 451, "Please fill in all fields. Copies are made once a week.", font=SANS, size=10)
    fields = (("Name", "Marta Okafor"), ("Book and page", "Winter 2, page 41"))
    for row, (label, value) in enumerate(fields):
        y = 150 + 36 * row
        sheet.text(72, y + 15, label, font=SANS, size=10.5)
        widget = pymupdf.Widget()
        widget.field_type = pymupdf.PDF_WIDGET_TYPE_TEXT
        widget.field_name = label.lower().replace(" ", "_")
        widget.field_value = value
        widget.rect = pymupdf.Rect(172, y, 412, y + 22)
        widget.text_font, widget.text_fontsize = "Helv", 10.5
        widget.border_color, widget.border_width = (0.4, 0.4, 0.4), 0.6
        sheet.page.add_widget(widget)
    box = pymupdf.Widget()
    box.field_type = pymupdf.PDF_WIDGET_TYPE_CHECKBOX
    box.field_name = "with_margins"
    box.rect = pymupdf.Rect(172, 224, 186, 238)
    box.field_value = True
    box.border_color, box.border_width = (0.4, 0.4, 0.4), 0.6
    sheet.page.add_widget(box)
    sheet.text(194, 235, "with the margins", font=SANS, size=10.5)
    sheet.text(72, 290, "Date and signature", font=SANS, size=10.5)
    sheet.rule(172, 292, 412, 292)
    sheet.text(297.5, 806, "Form 3, page 1 of 1", font=SANS, size=8.5, align="middle")
    sheet.finish()
