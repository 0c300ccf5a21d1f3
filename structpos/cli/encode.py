"""``structpos encode``: files to vectors on disk."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structpos.cli import UsageError
from structpos.cli.parse import Option, parse

ABOUT = """\
Write a table of words for each document, and a vector for each word: its position on the page, not its meaning.

A folder is read with all folders below; files that have no reader are named errors. One output a document keeps the
folders of the input. Only what is new or changed is encoded again, and a run that was killed continues where it was.
errors.csv and summary.json in the output folder tell what became of each document. Exit codes: 0 all done, 1 could not
run, 2 wrong usage, 3 finished with errors in some documents, 130 interrupted."""
EXAMPLE = "structpos sample samples && structpos encode samples --output vectors"


def seconds(text: str) -> float | None:
    """A time limit; 0 is none."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value < 0:
        raise ValueError(f"a number of seconds is needed, got '{text}'.")
    return value or None


def memory(text: str) -> int | None:
    """A memory limit; 0 is none."""
    from structpos.encode.memory import amount

    return None if text.strip() == "0" else amount(text)


OPTIONS = (
    Option(
        name="inputs",
        many=True,
        shown="FILE|FOLDER|GLOB",
        help='PDFs or words with boxes, folders, "patterns/**/*.pdf"',
    ),
    Option(name="--output", kind=Path, shown="DIR", help="the folder to write into; inputs are never written to"),
    Option(name="--checkpoint", kind=Path, shown="RUN", help="a trained encoder: a run folder, or a saved encoder"),
    Option(name="--seed", kind=int, help="draw the parameters of a learned encoder at random"),
    Option(name="--table-only", flag=True, help="write the table of words without vectors"),
    Option(
        name="--format", choices=("parquet", "safetensors", "npz"), default="parquet", help="kind of file (parquet)"
    ),
    Option(name="--dtype", choices=("float32", "float16", "float64"), help="kind of number of the vectors (float32)"),
    Option(name="--workers", kind=int, shown="N", help="processes at work (one a processor, at most 8)"),
    Option(
        name="--password", help="for PDFs that ask for one; or set STRUCTPOS_PDF_PASSWORD, which nobody else can see"
    ),
    Option(name="--checksum", flag=True, help="tell changed inputs by their bytes, not by size and time"),
    Option(name="--max-failures", kind=int, shown="N", help="end early when N documents have gone wrong"),
    Option(
        name="--time-limit", kind=seconds, default=300.0, shown="SECONDS", help="for one document (300; 0 for none)"
    ),
    Option(name="--memory-limit", kind=memory, default=2**31, shown="2GB", help="for one worker (2GB; 0 for none)"),
    Option(name="--trust", shown="MODULE,...", help="modules from which a checkpoint's encoder may come"),
    Option(
        name="--show", kind=Path, shown="PAGE.png", help="draw order, lines and columns over a page of the first input"
    ),
    Option(name="--page", kind=int, shown="N", help="the page to show, counted from 0 (0)"),
    Option(name="--debug", flag=True, help="show the traceback of an error of the program"),
)


def run(given: Sequence[str]) -> int:
    """Encode what was asked for."""
    values = parse("encode", OPTIONS, given, about=ABOUT, example=EXAMPLE, encoder=True)
    shown, page = values.pop("show"), values.pop("page")
    values.pop("debug")
    if page is not None and shown is None:
        raise UsageError("--page goes with --show PAGE.png.")
    if shown is not None:
        _show(values, shown, page or 0)
        if values["output"] is None:
            return 0
    return _encode(values)


def _encode(values: dict[str, Any]) -> int:
    from structpos.encode import encode

    if values["output"] is None:
        raise UsageError("--output DIR must be given: the folder to write into.")
    if values["table_only"]:
        for name in ("encoder", "checkpoint", "seed", "dtype"):
            if values[name] is not None:
                raise UsageError(f"--{name} has no use with --table-only, which writes no vectors.")
    values["dtype"] = values["dtype"] or "float32"
    trust = [name for name in (values["trust"] or "").split(",") if name]
    if values["encoder"] is not None:
        from structpos.encode.vectors import modules_in

        trust += modules_in(values["encoder"])  # what was typed here is the user's own
    values["trust"] = trust
    summary = encode(values.pop("inputs"), progress=True, **values)
    print(summary, file=sys.stderr)
    return summary.exit_code


def _show(values: dict[str, Any], picture: Path, page: int) -> None:
    from structpos.encode.inputs import find_sources
    from structpos.encode.show import show_page

    found = find_sources(values["inputs"], output=values["output"])
    if not found:
        raise UsageError("--show needs an input to draw.")
    limits = {name: values[name] for name in ("password", "time_limit", "memory_limit")}
    show_page(Path(found[0].path), picture, page=page, **limits)
    print(f"Page {page} of {found[0].path} is drawn in {picture}.", file=sys.stderr)
