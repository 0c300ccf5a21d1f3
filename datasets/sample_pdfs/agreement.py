"""A short contract of three pages, signed by two parties side by side."""

from __future__ import annotations

from typing import Any

from structpos.datasets.sample_pdfs.sheet import SANS, SERIF, SERIF_BOLD, SERIF_ITALIC, Sheet

_CLAUSES = (
    (
        "1. Subject",
        "1.1 The Archive owns the logbooks of the ferry and has copied them as pictures with the place of each word.",
        "1.2 The Institute wishes to study the readings and to publish the results under its own name.",
    ),
    (
        "2. Licence",
        "2.1 The Archive grants the Institute a right to use the copies for research. The right is not exclusive and "
        "may not be passed on without the written consent of the Archive.",
        "2.2 The Institute names the Archive as the source wherever a page or a part of it is shown.",
        "2.3 Pictures of whole pages may be shown in print up to a width of ten centimetres, and on a screen without "
        "a limit.",
    ),
    (
        "3. Delivery",
        "3.1 The copies are delivered on one disk within thirty days after both parties have signed.",
        "3.2 A book that cannot be read is named by the Institute within sixty days; the Archive then copies it again "
        "at its own cost.",
        "3.3 With each book comes a list of its pages, of the places where leaves are missing, and of the days on "
        "which the staff was moved.",
    ),
    (
        "4. Payment",
        "4.1 The Institute pays 4,800 euros. Half of it is due at signature and half upon delivery.",
        "4.2 Payment that is late for more than fourteen days bears interest of four per cent a year.",
        "4.3 Costs of transport are borne by the party that asks for it.",
    ),
    (
        "5. Term and termination",
        "5.1 This agreement begins on the day of the later signature and ends after five years.",
        "5.2 Each party may end it with ninety days' notice in writing. What has been published by then may stay "
        "published.",
        "5.3 When it ends, the Institute gives back the disk and keeps no further copy of the pictures. Notes and "
        "tables made from them are its own.",
    ),
    (
        "6. Liability",
        "6.1 The Archive does not warrant that the readings are right; it warrants that the copies show what the pages "
        "show.",
        "6.2 Each party is liable for damage it causes with intent or gross negligence, and otherwise up to the amount "
        "named in 4.1.",
    ),
    (
        "7. Governing law",
        "7.1 The law of the place where the Archive has its seat applies. The courts of that place decide.",
        "7.2 Changes to this agreement are made in writing and signed by both parties.",
    ),
)

_SIGNATURES = (
    ("River Archive", "By: A. Lindqvist", "Name: Ada Lindqvist", "Title: Head of Copies", "Date: 4 March"),
    ("Institute for Water Levels", "By: J. Moreau", "Name: Jules Moreau", "Title: Director", "Date: 9 March"),
)


def _sheet(document: Any, number: int) -> Sheet:
    sheet = Sheet(document)
    sheet.text(85, 48, "Copy Licence Agreement", font=SANS, size=8.5, grey=0.3)
    sheet.text(510, 48, "Confidential", font=SANS, size=8.5, align="right", grey=0.3)
    sheet.text(297.5, 804, f"Page {number} of 3", font=SANS, size=8.5, align="middle", grey=0.3)
    return sheet


def side_by_side_signatures(document: Any) -> None:
    """Seven clauses, then both signatures next to each other, stored row by row across the two parties."""
    sheet = _sheet(document, 1)
    sheet.text(297.5, 104, "COPY LICENCE AGREEMENT", font=SERIF_BOLD, size=16, align="middle")
    y = sheet.paragraph(
        85,
        138,
        425,
        'This agreement is made between River Archive, Quay 12 ("the Archive"), and the Institute for Water Levels, '
        'Hill Road 5 ("the Institute").',
        size=11,
        leading=16,
    )
    number = 1
    for title, *clauses in _CLAUSES:
        if y > 560:
            sheet.finish()
            number += 1
            sheet, y = _sheet(document, number), 82.0
        sheet.text(85, y + 18, title, font=SERIF_BOLD, size=11.5)
        y += 38
        for clause in clauses:
            label, text = clause.split(" ", 1)
            sheet.text(85, y, label, font=SERIF, size=11)
            y = sheet.paragraph(113, y, 397, text, size=11, leading=16) + 4
    sheet.finish()
    sheet = _sheet(document, 3)
    y = sheet.paragraph(
        85,
        100,
        425,
        "Both parties have read this agreement and sign it in two copies, one for each of them.",
        size=11,
        leading=16,
    )
    for row, lines in enumerate(zip(*_SIGNATURES, strict=True)):
        for x, line in zip((85, 313), lines, strict=True):
            if row == 0:
                sheet.text(x, y + 30, line, font=SERIF_BOLD, size=11.5)
            elif row == 1:
                label, name = line.split(" ", 1)
                sheet.text(x, y + 76, label, size=11)
                sheet.text(x + 26, y + 75, name, font=SERIF_ITALIC, size=14)
                sheet.rule(x + 20, y + 79, x + 190, y + 79)
            else:
                sheet.text(x, y + 62 + 18 * row, line, size=11)
    sheet.finish()
