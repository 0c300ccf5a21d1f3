"""What the documents show is run: Python blocks, `structpos` commands, links and names of encoders."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted({*ROOT.glob("CONTRIBUTING.md"), *ROOT.glob("docs/**/*.md")})]
LINKED = [*DOCUMENTS, *(ROOT / room / "README.md" for room in ("pipelines", "configs")), *ROOT.glob("CHANGELOG.md")]

# Blocks in these languages show something and are not run.
SHOWN = {"text", "yaml", "toml", "json", "csv", "bibtex", "diff"}
SHELL = {"bash", "sh", "shell", "console"}
# Commands that a block may hold beside `structpos`, and that no test repeats: they install, or run these tests.
NOT_RUN = (
    "git clone", "cd ", "python -m venv", "python3 -m venv", ". ", "source ", "pip install", "python -m pip install",
    "pytest", "python -m pytest", "ruff ", "mypy ", ".ci/run", "python -m build", "export ",
    "python -m structpos.bench",
)  # fmt: skip


class Block(NamedTuple):
    """A fenced block of a document."""

    line: int
    section: str
    language: str
    text: str


def blocks(path: Path) -> Iterator[Block]:
    """The fenced blocks of a document, each with the heading (of the first or second level) it stands under."""
    section, language, start, held, fence = "", "", 0, [], ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)\s*(\w*)", line)
        if not fence and mark:
            fence, language, start, held = mark[1], mark[2].lower(), number, []
        elif fence and line.strip() == fence:
            yield Block(start, section, language, "\n".join(held) + "\n")
            fence = ""
        elif fence:
            held.append(line)
        elif re.match(r"##? ", line):
            section = line.lstrip("# ")
    assert not fence, f"{path.name}:{start} opens a block that nothing closes"


def commands(text: str) -> Iterator[str]:
    """The commands of a shell block, one by one: prompts, comments and output left out, continued lines joined."""
    lines = text.replace("\\\n", " ").splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    for line in lines:
        if prompted and not line.startswith("$ "):
            continue
        for command in re.split(r"\s+&&\s+", line.removeprefix("$ ").strip()):
            if command and not command.startswith("#"):
                yield command


def is_run(command: str) -> bool:
    return command.split()[0] == "structpos"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, where the command `structpos` is the code under test."""
    programs = tmp_path / ".bin"
    programs.mkdir()
    shim = programs / "structpos"
    # Workers import the script again, so it runs nothing of its own unless it is the one that was started.
    start = "if __name__ == '__main__':\n    raise SystemExit(main())"
    shim.write_text(f"#!{sys.executable}\nfrom structpos.cli import main\n{start}\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run_document(path: Path, folder: Path) -> None:
    """Run the blocks of a document in their order; names live as long as a section, files as long as the document.

    A block whose first line is a comment with the name of a file (`# my_encoder.py`) is saved under that name, too.
    """
    section, module = None, types.ModuleType("example")
    for block in blocks(path):
        place = f"{path.name}:{block.line}"
        named = re.fullmatch(r"# ([\w-]+\.(?:py|yaml|toml|csv))", block.text.split("\n", 1)[0].strip())
        if named:
            (folder / named[1]).write_text(block.text)
        if block.section != section:
            section, module = block.section, types.ModuleType("example")
        if block.language in ("python", "py"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(sys.modules, "example", module)  # what a block defines can be imported, as from a script
                run_python(block, place, vars(module))
        elif block.language in SHELL:
            for command in filter(is_run, commands(block.text)):
                done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=600)
                assert done.returncode == 0, f"{place}: {command}\n{done.stdout}\n{done.stderr}"


def run_python(block: Block, place: str, names: dict[str, Any]) -> None:
    """Run a block as a script, or as a session where it shows prompts."""
    if ">>> " in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, names, place, place, block.line)
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=report.append, clear_globs=False)
        assert runner.failures == 0, "".join(report)
        names.update(test.globs)
        return
    code = compile("\n" * block.line + block.text, place, "exec")
    try:
        exec(code, names)
    except Exception as error:
        error.add_note(f"in the block at {place}")
        raise


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_of_documents_run(path: Path, work: Path) -> None:
    run_document(path, work)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_not_run_is_known(path: Path) -> None:
    for block in blocks(path):
        place = f"{path.name}:{block.line}"
        assert block.language in {"python", "py"} | SHELL | SHOWN, (
            f"{place}: is a block in '{block.language}' to be run?"
        )
        for command in commands(block.text) if block.language in SHELL else ():
            assert is_run(command) or command.startswith(NOT_RUN), f"{place}: nothing runs '{command}'"


def test_the_readme_has_blocks_of_both_kinds() -> None:
    found = list(blocks(ROOT / "README.md"))
    assert any(block.language == "python" for block in found)
    assert any(is_run(command) for block in found if block.language in SHELL for command in commands(block.text))
    assert any("pytest" in command for block in found if block.language in SHELL for command in commands(block.text))


def slug(heading: str) -> str:
    """The anchor of a heading as the usual hosts make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def prose(path: Path) -> str:
    return re.sub(r"(?ms)^\s*(```+|~~~+).*?^\s*\1\s*$", "", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = prose(path)
    broken = []
    for target in re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", text) + re.findall(
        r"(?m)^\[[^\]]+\]:\s+(\S+)", text
    ):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists():
            broken.append(target)
        elif anchor and there.suffix == ".md":
            headings = {slug(line.lstrip("# ")) for line in prose(there).splitlines() if re.match(r"#+ ", line)}
            broken += [] if anchor in headings else [target]
    assert not broken, f"{path.name} links to {', '.join(broken)}"


def test_the_readme_lists_the_encoders_there_are() -> None:
    """The table with the columns "name" and "class" has every encoder, under both, and no other."""
    from structpos.encoders import ENCODERS

    listed: dict[str, str] = {}
    inside = False
    for line in prose(ROOT / "README.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else []
        if inside and len(cells) > 1:
            listed.update(zip(re.findall(r"`(\w+)`", cells[0]), re.findall(r"`(\w+)`", cells[1]), strict=True))
        inside = cells[:2] == ["name", "class"] or (inside and bool(cells))
    assert listed == {name: encoder.__name__ for name, encoder in ENCODERS.items()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```python\nassert 1 == 2\n```\n", "AssertionError"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```bash\nstructpos no-such-command\n```\n", "no-such-command"),
        ("## A\n```python\na = 1\n```\n## B\n```python\nprint(a)\n```\n", "NameError"),
    ],
)
def test_a_block_that_fails_is_noticed(work: Path, text: str, said: str) -> None:
    (work / "broken.md").write_text(text)
    with pytest.raises(Exception) as caught:
        run_document(work / "broken.md", work)
    assert said in f"{caught.type.__name__} {caught.value}"


def test_blocks_share_a_section_and_files(work: Path) -> None:
    text = """
# Title
```python
# my_part.py
def five():
    return 5
```
```python
from my_part import five
a = five()
```
```python
>>> a
5
```
```console
$ structpos --version > version.txt
this is output, and no command
```
```python
from pathlib import Path
assert Path("version.txt").read_text().startswith("structpos ")
```
"""
    (work / "good.md").write_text(text)
    run_document(work / "good.md", work)
    assert {block.section for block in blocks(work / "good.md")} == {"Title"}
