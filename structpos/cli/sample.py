"""``structpos sample``: PDFs to try things with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from structpos.cli.parse import Option, parse

ABOUT = "Write a few small PDFs to try things with: two columns, a table, side-by-side signatures, a form, and so on."
EXAMPLE = "structpos sample samples"
OPTIONS = (Option(name="folder", kind=Path, shown="DIR", help="where they go; made where it is missing"),)


def run(given: Sequence[str]) -> int:
    """Write the samples."""
    values = parse("sample", OPTIONS, given, about=ABOUT, example=EXAMPLE)
    from structpos.datasets.sample_pdfs import write_samples

    paths = write_samples(values["folder"])
    print(f"{len(paths)} PDFs are in {values['folder']}.", file=sys.stderr)
    return 0
