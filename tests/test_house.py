"""The house rules: who may import whom, what stays unloaded, how long a file is, and that every example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import structpos

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "structpos"
ROOMS = ("pipelines", "datasets", "configs")

# Room and floor of everything in structpos/. A file imports from its own room and from lower floors.
FLOORS = {
    "errors": ("core", 0), "positions": ("core", 0), "frequencies": ("core", 0), "signals": ("core", 0),
    "batching": ("core", 0), "coordinates": ("core", 0), "pytrees": ("core", 0),
    "encoders": ("encoders", 1),
    "attention": ("attention", 1),
    "transformer": ("models", 2), "training": ("models", 2), "testing": ("models", 2),
    "readers": ("readers", 2),
    "encode": ("encode", 3), "bench": ("encode", 3),
    "datasets": ("datasets", 3),
    "pipelines": ("pipelines", 4),
    "cli": ("cli", 5),
}  # fmt: skip
HEAVY = (
    "torch",
    "lightning",
    "pymupdf",
    "pandas",
    "timm",
    "transformers",
    "jsonargparse",
    "pyarrow",
    "matplotlib",
    "scipy",
)


def files() -> Iterator[Path]:
    """Every Python file of the package, through the links."""
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        yield from (Path(folder, name) for name in names if name.endswith(".py"))


def module_of(path: Path) -> str:
    return ".".join(("structpos", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = sorted(module_of(path) for path in files())


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """What a file imports of structpos, anywhere in it, with the line."""
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "structpos")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            if base.split(".")[0] == "structpos":
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


# Rooms and floors.


def test_every_file_has_a_floor() -> None:
    tops = {module.split(".")[1] for module in MODULES if module != "structpos"}
    assert tops <= set(FLOORS), f"no floor for {sorted(tops - set(FLOORS))}: add it to the table with its room"


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_downwards_only(module: str) -> None:
    if module == "structpos":
        return  # re-exports lazily and is on no floor
    path = PACKAGE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    room, floor = FLOORS[module.split(".")[1]]
    wrong = []
    for line, name in imports(path):
        parts = name.split(".")
        if len(parts) == 1 or parts[1] == "__version__":
            continue
        if parts[1] not in FLOORS:
            wrong.append(f"line {line}: {name} goes through structpos/__init__.py; import it from where it lives")
        elif FLOORS[parts[1]][0] != room and FLOORS[parts[1]][1] >= floor:
            wrong.append(f"line {line}: {name} is on floor {FLOORS[parts[1]][1]}, this file on floor {floor}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_links_are_folders_and_no_package_of_their_own(room: str) -> None:
    # A checkout without links leaves text files here, and a wheel built from that silently lacks the three.
    assert (PACKAGE / room).is_dir(), f"structpos/{room} is no folder: this checkout or archive has lost its links"
    assert not (PACKAGE / room / "__init__.py").exists(), "it would hide an installed package of that name"
    assert any((PACKAGE / room).iterdir())


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files()}
    assert {module: length for module, length in lengths.items() if length > 400} == {}


# What stays unloaded.


def loaded_by(code: str) -> set[str]:
    """Which of the heavy packages are loaded after some code has run in a fresh process."""
    ask = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_structpos_loads_nothing_heavy() -> None:
    assert loaded_by("import structpos") == set()


def test_naming_anything_loads_torch_and_nothing_else() -> None:
    assert loaded_by("import structpos\nfor name in structpos.__all__:\n    getattr(structpos, name)") == {"torch"}


def test_naming_readers_loads_nothing_heavy() -> None:
    names = ("read_pdf", "read_boxes", "Document", "ReadError")
    assert loaded_by(f"import structpos\nfor name in {names}:\n    getattr(structpos, name)") == set()


def test_reading_words_loads_no_torch_before_positions_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("text,x0,y0,x1,y1\nHello,0.1,0.1,0.2,0.2\n")
    read = f"import structpos\nd = structpos.read_boxes({str(tmp_path / 'words.csv')!r})\nd.words"
    assert loaded_by(read) <= {"pandas", "pyarrow"}
    assert "torch" in loaded_by(f"{read}\nd.positions()")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], ["no-such-command"]])
def test_listing_the_commands_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_by(f"from structpos.cli import main\nmain({arguments!r})") == set()


# Public names and examples.


@pytest.mark.parametrize("name", structpos.__all__)
def test_every_public_name_is_there_and_described(name: str) -> None:
    value = getattr(structpos, name)
    if not callable(value):
        return
    summary = (value.__doc__ or "").strip().splitlines()
    assert summary and summary[0].endswith("."), f"{name} needs one sentence that says what it is for"


INHERITED = {"forward", "extra_repr", "reset_parameters", "handle_starttag", "handle_endtag", "handle_data"}


def public_definitions(path: Path) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a file without an underscore, and such methods of these classes."""
    for top in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(top, ast.FunctionDef | ast.ClassDef) and not top.name.startswith("_"):
            yield top
            for member in top.body if isinstance(top, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield member


@pytest.mark.parametrize("path", sorted(files()), ids=module_of)
def test_every_public_definition_has_a_summary(path: Path) -> None:
    lacking = [
        f"line {node.lineno}: {node.name}"
        for node in public_definitions(path)
        if node.name not in INHERITED
        and not (ast.get_docstring(node) or "").split("\n\n")[0].rstrip().endswith((".", ":"))
    ]
    assert not lacking, f"no sentence says what this is for: {', '.join(lacking)}"


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str) -> None:
    loaded = importlib.import_module(module)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(loaded, module):
        report: list[str] = []
        runner.run(test, out=report.append)
        assert runner.failures == 0, "".join(report)


def test_all_modules_are_found_by_the_import_system() -> None:
    # A module that only the walk of files sees would be missing after installation.
    found = {name for _, name, _ in pkgutil.walk_packages(structpos.__path__, "structpos.")}
    nested = {name for name in MODULES if not any(name.startswith(f"structpos.{room}") for room in ROOMS)}
    assert nested - {"structpos"} <= found
