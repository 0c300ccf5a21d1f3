"""What is installed: structpos with its three rooms, and never a top-level package that hides somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("pipelines", "datasets", "configs")

pytestmark = pytest.mark.slow


def run(*command: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(folder), str(source), cwd=folder)
    (made,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--no-compile")
    run(*pip, "--target", str(target), str(wheel), cwd=target)
    return target


def content(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if not name.endswith("/")}


def test_the_wheel_holds_structpos_alone_with_its_three_rooms(wheel: Path) -> None:
    files = content(wheel)
    tops = {name.split("/")[0] for name in files}
    assert "structpos" in tops
    assert all(top == "structpos" or top.endswith(".dist-info") for top in tops), tops
    for room in ROOMS:
        assert any(name.startswith(f"structpos/{room}/") for name in files), f"{room} is missing"
        assert f"structpos/{room}/__init__.py" not in files
    assert "structpos/py.typed" in files
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in files)
    assert not [name for name in files if name.endswith(".pyc") or name.startswith("structpos/tests")]


def test_the_wheel_holds_every_module_of_the_checkout(wheel: Path) -> None:
    own = {f"structpos/{path.relative_to(ROOT / 'structpos')}" for path in (ROOT / "structpos").rglob("*.py")}
    own |= {f"structpos/{path.relative_to(ROOT)}" for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert own <= set(content(wheel))


def test_the_installed_command_is_named(wheel: Path) -> None:
    (points,) = (data for name, data in content(wheel).items() if name.endswith("entry_points.txt"))
    assert b"structpos = structpos.cli:main" in points


def test_the_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path)
    with tarfile.open(archive) as file:
        file.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    (tmp_path / "again").mkdir()
    again = content(build("wheel", source, tmp_path / "again"))
    first = content(wheel)
    assert sorted(again) == sorted(first)
    assert [name for name in first if first[name] != again[name]] == []


def test_both_datasets_import_beside_each_other(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    code = """
import datasets, structpos, structpos.datasets.sample_pdfs as ours
from importlib.resources import files
assert hasattr(datasets, "load_dataset"), datasets.__file__
assert (files("structpos") / "configs").is_dir()
import structpos.pipelines
print(structpos.__file__); print(ours.__file__)
"""
    output = run(sys.executable, "-W", "ignore", "-c", code, cwd=tmp_path, env={"PYTHONPATH": str(installed)})
    for line in output.split():
        assert Path(line).is_relative_to(installed)


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_becomes_a_package_of_its_own(installed: Path, tmp_path: Path, room: str) -> None:
    code = f"from importlib.util import find_spec as f; s = f({room!r}); print(s and s.origin)"
    output = run(sys.executable, "-c", code, cwd=tmp_path, env={"PYTHONPATH": str(installed)})
    assert not (installed / room).exists()
    assert "structpos" not in output


def test_hugging_face_datasets_is_found_from_the_checkout() -> None:
    # A plain folder never wins over an installed package; with an __init__.py in it, it would.
    pytest.importorskip("datasets")
    code = "import datasets; assert hasattr(datasets, 'load_dataset'), datasets"
    run(sys.executable, "-W", "ignore", "-c", code, cwd=ROOT)


def test_an_editable_installation_has_the_rooms_too(tmp_path: Path) -> None:
    code = f"import hatchling.build as b; print(b.build_editable({str(tmp_path)!r}))"
    run(sys.executable, "-c", code, cwd=ROOT)
    (made,) = tmp_path.glob("*.whl")
    paths = [line for name, data in content(made).items() if name.endswith(".pth") for line in data.decode().split()]
    assert paths == [str(ROOT)]
    code = """
import structpos, structpos.datasets.sample_pdfs, structpos.pipelines
from importlib.resources import files
assert (files("structpos") / "configs").is_dir()
print(structpos.__file__)
"""
    output = run(sys.executable, "-c", code, cwd=tmp_path, env={"PYTHONPATH": paths[0]})
    assert Path(output.strip()) == ROOT / "structpos" / "__init__.py"
