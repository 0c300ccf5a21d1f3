"""Reading order, measured: ``python -m structpos.bench.order --data DIR``.

Two questions about every reader. On difficult pages (``pdf_stress``): do stated phrases come in the order in which a
person reads them? On contracts (``contracts/cuad``): do the words of a labelled clause follow one another, and is the
nearest party heading before a signature the one it stands under?
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structpos.bench.order_readers import LAYOUT_MODEL, LayoutModel, Page, Reader, readers, stored_words
from structpos.errors import require

Ints = NDArray[np.int64]
LAYOUTS = ("side_by_side", "stacked", "other")
TITLE = """# Reading order, measured

33 difficult pages with facts seen by eye (does the text come in the order in which a person reads it?), and 343
contracts of CUAD: are the words of a labelled clause consecutive, and is the nearest party heading before a signature
mark the one it stands under? The labels of clauses were made from PyMuPDF's stored order, which therefore has almost
all of them. The thresholds of our method were set on these same files. The layout model is slow: of contracts it read
the pages with signatures and the clauses of some. Made by `python -m structpos.bench.order --markdown FILE`."""


def plain(text: str) -> str:
    r"""Text as facts are compared: NFKC, without blanks.

    Example:
        >>> plain("o\ufb03ce hours")
        'officehours'
    """
    return "".join(unicodedata.normalize("NFKC", text).split())


def judge_phrases(words: Sequence[str], phrases: Sequence[str]) -> str:
    """Whether phrases come in their order: ``right``, ``wrong``, or ``broken`` where one is torn apart.

    Example:
        >>> judge_phrases(["left", "one", "right", "two"], ["left one", "right two"])
        'right'
        >>> judge_phrases(["left", "right", "one", "two"], ["left one", "right two"])
        'broken'
    """
    text = plain("".join(words))
    wanted = [plain(phrase) for phrase in phrases]
    if not all(phrase in text for phrase in wanted):
        return "broken"
    at = 0
    for phrase in wanted:
        found = text.find(phrase, at)
        if found < 0:
            return "wrong"
        at = found + len(phrase)
    return "right"


def order_facts(data: Path, all_readers: Sequence[Reader], say: Callable[[str], None]) -> dict[str, dict[str, str]]:
    """For each reader, what each file with a fact about reading order comes to: the worst of its facts."""
    facts: dict[str, list[dict[str, Any]]] = {}
    for line in (data / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        if fact["fact"] == "reading_order":
            facts.setdefault(fact["file"], []).append(fact)
    found: dict[str, dict[str, str]] = {}
    for reader in all_readers:
        say(f"facts: {reader.name}")
        found[reader.name] = {
            file: max((_fact(reader, data / file, fact) for fact in mine), key=("right", "wrong", "broken").index)
            for file, mine in facts.items()
        }
    return found


def _fact(reader: Reader, path: Path, fact: Mapping[str, Any]) -> str:
    if reader.text is not None:
        return judge_phrases(reader.text(path, fact["page"]), fact["value"])
    page = reader.pages(path, [fact["page"]]).get(fact["page"])
    return judge_phrases(page.text if page else [], fact["value"])


def places(stored: Page, read: Page) -> Ints:
    """Place of each stored word of a page in the order of a reader; -1 where the reader does not have it.

    A stored word is found in the box its middle lies in, the smallest of them. Words that the reader joins keep their
    stored order; of words it splits, the part in the middle counts.
    """
    if not len(read.boxes) or not len(stored.boxes):
        return np.full(len(stored.boxes), -1, np.int64)
    x, y = (stored.boxes[:, :2] + stored.boxes[:, 2:]).T / 2
    x0, y0, x1, y1 = read.boxes.T
    inside = (x0 <= x[:, None]) & (x[:, None] <= x1) & (y0 <= y[:, None]) & (y[:, None] <= y1)
    area = np.where(inside, (x1 - x0) * (y1 - y0), np.inf)
    best = area.argmin(axis=1)
    lost = ~inside.any(axis=1)
    rank = np.empty(len(x), np.int64)
    rank[np.lexsort((np.arange(len(x)), np.where(lost, len(x0), best)))] = np.arange(len(x))
    return np.where(lost, -1, rank)


def score_contract(order: Mapping[int, Ints], page: Ints, label: Mapping[str, Any]) -> Counter[str]:
    """Count clauses in one piece and marks whose nearest heading is their party's.

    Args:
        order: For the pages that were read, the place of each stored word on its page.
        page: Page of each stored word of the contract.
        label: One line of the labels.

    Returns:
        ``spans``, ``spans right`` and the same for each mark layout, of what lies on pages that were read.
    """
    place = np.full(len(page), -2, np.int64)
    for number, mine in order.items():
        place[page == number] = mine
    count: Counter[str] = Counter()
    for span in label["spans"]:
        pieces = [place[a:b][page[a:b] == number] for a, b in span["words"] for number in np.unique(page[a:b])]
        if all((piece > -2).all() for piece in pieces):
            count["spans"] += 1
            count["spans right"] += all((piece >= 0).all() and (np.diff(piece) == 1).all() for piece in pieces)
    whole = page * (len(page) + 1) + place
    heads = sorted({(int(whole[a]), mark["party"]) for mark in label["signatures"] for a, _ in mark["head"]})
    for mark in label["signatures"]:
        at = mark["mark"][0]
        if place[at] == -2:
            continue
        before = [party for head, party in heads if head < whole[at]]
        count[mark["layout"]] += 1
        count[f"{mark['layout']} right"] += bool(before) and before[-1] == mark["party"]
    return count


def contracts(
    data: Path, all_readers: Sequence[Reader], say: Callable[[str], None], *, limit: int | None, every: int
) -> tuple[dict[str, Counter[str]], int]:
    """Scores of each reader over the contracts, and how many contracts have other words than their labels.

    Args:
        data: Folder with ``labels.jsonl`` and ``pdf``.
        all_readers: The readers.
        say: Told what is going on.
        limit: Number of contracts; None for all.
        every: The layout model, slow as it is, reads all pages with signatures, but those with clauses only of every
            ``every``-th contract.
    """
    pymupdf = require("pymupdf", "pdf")
    pymupdf.TOOLS.mupdf_display_errors(False)
    total: dict[str, Counter[str]] = {reader.name: Counter() for reader in all_readers}
    other = 0
    lines = (data / "labels.jsonl").read_text(encoding="utf-8").splitlines()[:limit]
    for index, line in enumerate(lines):
        label = json.loads(line)
        path = data / "pdf" / label["document"]
        with pymupdf.open(path) as document:
            stored = [stored_words(page) for page in document]
        words = [word for page in stored for word in page.text]
        if hashlib.sha256("\n".join(words).encode()).hexdigest() != label["words_sha256"]:
            other += 1
            continue
        page = np.repeat(np.arange(len(stored)), [len(p.text) for p in stored])
        signed = {int(page[a]) for mark in label["signatures"] for a, _ in [mark["mark"], *mark["head"]]}
        clauses = {int(n) for span in label["spans"] for a, b in span["words"] for n in np.unique(page[a:b])}
        for reader in all_readers:
            slow = reader.name == LAYOUT_MODEL and index % every
            wanted = sorted(signed if slow else signed | clauses)
            read = reader.pages(path, wanted)
            order = {number: places(stored[number], read[number]) for number in wanted if number in read}
            total[reader.name] += score_contract(order, page, label)
        if (index + 1) % 50 == 0:
            say(f"contracts: {index + 1} of {len(lines)}")
    return total, other


def by_tag(found: Mapping[str, Mapping[str, str]], tags: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """Right files of each reader for each kind of trouble; under ``files`` how many there are."""
    table: dict[str, dict[str, int]] = {}
    for file in next(iter(found.values())):
        for tag in tags.get(file, ()):
            row = table.setdefault(tag, {"files": 0, **dict.fromkeys(found, 0)})
            row["files"] += 1
            for name, results in found.items():
                row[name] += results[file] == "right"
    return dict(sorted(table.items()))


def behind(result: Mapping[str, Any]) -> list[str]:
    """Where a reader does better than ours, a sentence each."""
    ours, *others = result["readers"]
    said = [
        f"{tag}: {name} {row[name]}, ours {row[ours]} of {row['files']}"
        for tag, row in result["tags"].items()
        for name in others
        if row[name] > row[ours]
    ]
    for name in others:
        theirs, mine = result["contracts"].get(name, {}), result["contracts"].get(ours, {})
        for what in LAYOUTS:
            if theirs.get(what) and theirs[f"{what} right"] / theirs[what] > mine[f"{what} right"] / mine[what]:
                said.append(f"{what}: {name} {theirs[f'{what} right']} of {theirs[what]}, ours {mine[f'{what} right']}")
    return said


def table(result: Mapping[str, Any]) -> str:
    """The result as one table in Markdown."""
    names = result["readers"]
    rows = [["", *names], ["---"] * (len(names) + 1)]
    for verdict in ("right", "wrong", "broken"):
        counts = [sum(v == verdict for v in result["facts"][name].values()) for name in names]
        rows.append([f"files {verdict}", *map(str, counts)])
    for what, title in (("spans", "clauses in one piece"), *((layout, f"heading of {layout}") for layout in LAYOUTS)):
        cells = []
        for name in names:
            count = result["contracts"].get(name, {})
            share = 100 * count.get(f"{what} right", 0) / max(count.get(what, 0), 1)
            cells.append(f"{count.get(f'{what} right', 0)}/{count.get(what, 0)} ({share:.1f} %)")
        rows.append([title, *cells])
    for tag, row in result["tags"].items():
        rows.append([f"{tag} (of {row['files']})", *(str(row[name]) for name in names)])
    width = [max(len(row[i]) for row in rows) for i in range(len(names) + 1)]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, width, strict=True)) + " |" for row in rows)


def told(result: Mapping[str, Any]) -> str:
    """The table with what is to be known of it."""
    worse = behind(result)
    verdict = "Ours is at least as good everywhere." if not worse else "Better than ours: " + "; ".join(worse) + "."
    return "\n\n".join([table(result), *(f"{note[0].upper()}{note[1:]}." for note in result["notes"]), verdict])


def measure(
    data: Path, say: Callable[[str], None], *, limit: int | None = None, seconds: float = 20.0, every: int = 12
) -> dict[str, Any]:
    """All results as one object that JSON can hold."""
    all_readers, missing = readers(seconds=seconds)
    facts = order_facts(data / "pdf_stress", all_readers, say)
    with (data / "pdf_stress" / "manifest.csv").open(encoding="utf-8", newline="") as file:
        tags = {row["file"]: row["trouble"].split() for row in csv.DictReader(file)}
    scores, other = contracts(data / "contracts" / "cuad", all_readers, say, limit=limit, every=every)
    for reader in all_readers:
        if isinstance(reader.pages, LayoutModel):
            reader.pages.close()
    if other:
        missing.append(f"{other} contracts: left out, this PyMuPDF cuts other words than their labels count")
    return {
        "readers": [reader.name for reader in all_readers],
        "facts": facts,
        "tags": by_tag(facts, tags),
        "contracts": {name: dict(count) for name, count in scores.items()},
        "notes": missing,
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m structpos.bench.order", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("STRUCTPOS_TEST_DATA"), help="folder of the data")
    parser.add_argument("--limit", type=int, help="number of contracts; all by default")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--markdown", type=Path, help="also write the page of documentation to this file")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of the layout model for one page")
    parser.add_argument("--every", type=int, default=12, help="the layout model reads clauses of every n-th contract")
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.data is None or not Path(options.data).is_dir():
        parser.error("--data or STRUCTPOS_TEST_DATA must name the folder with pdf_stress and contracts")
    result = measure(
        Path(options.data),
        lambda text: print(text, file=sys.stderr),
        limit=options.limit,
        seconds=options.seconds,
        every=options.every,
    )
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(f"{TITLE}\n\n{told(result)}\n", encoding="utf-8")
    print(told(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
