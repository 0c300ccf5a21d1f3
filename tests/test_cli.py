"""The command line: what it says, its exit codes, and that no traceback is ever shown."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

import structpos
from structpos.cli import COMMANDS, main
from structpos.encode import read_encoded

ROOT = Path(__file__).parents[1]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def structpos_(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "structpos.cli", *map(str, words)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "samples"
    assert main(["sample", str(folder)]) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Exit code and words of a command run here."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    return code, capsys.readouterr().err


def test_alone_it_lists_the_commands_and_loads_nothing_heavy():
    """Below 0.3 s of CPU: what would take longer is never imported."""
    script = (
        "import sys; from structpos.cli import main; code = main([]); "
        "heavy = {'torch', 'numpy', 'jsonargparse', 'pymupdf', 'pandas', 'pyarrow', 'lightning'} & set(sys.modules); "
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"structpos {structpos.__version__}\n"


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]):
    code, words = said(capsys, "encod")
    assert code == 2 and "Did you mean 'encode'?" in words


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_ends_with_a_line_that_runs(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([command, "--help"]) == 0
    line = capsys.readouterr().out.rstrip().splitlines()[-1]
    shim = tmp_path / "bin" / "structpos"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m structpos.cli "$@"\n')
    shim.chmod(0o755)
    path = os.pathsep.join([str(shim.parent), os.environ["PATH"]])
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, env={**environment(), "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if command == "encode":
        _, signal, about = read_encoded(tmp_path / "vectors" / "table.pdf.parquet")
        assert signal is not None and signal.shape[1] == 128 and about["encoder"]["class_path"] == "structpos.Layout"


def test_the_first_line_of_encodes_help_says_what_the_vectors_are(capsys: pytest.CaptureFixture[str]):
    main(["encode", "--help"])
    first = capsys.readouterr().out.splitlines()[0]
    assert "position" in first and "not its meaning" in first


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--wrkers 2", "Did you mean '--workers'?"),
        ("--workers two", "--workers: a number is needed, got 'two'"),
        ("--workers 0", "above 0"),
        ("--workers", "--workers needs a value"),
        ("--format parqet", "Did you mean 'parquet'?"),
        ("--memory-limit lots", "2GB"),
        ("--time-limit -3", "seconds"),
        ("--time-limit soon", "a number of seconds is needed, got 'soon'"),
        ("--table-only=yes", "--table-only takes no value"),
        ("--output=", "--output: a path is needed, got an empty text"),
        ("--encoder layuot", "Did you mean 'layout'?"),
        ("--encoder layout --encoder.widht 64", "Did you mean 'width'?"),
        ("--encoder layout --encoder.width broad", "width: expected int, got 'broad'"),
        ("--encoder rotary", "head_width must be given"),
        ("--encoder alibi --encoder.heads 4", "pairs of words"),
        ("--encoder learned --encoder.width 8 --encoder.length 9", "--seed"),
        ("--encoder json.JSONDecoder", "PositionEncoder"),
        ("--encoder no_such_module.Encoder", "no_such_module"),
        ("--encoder sum --encoder.parts.a layuot", "Did you mean 'layout'?"),
        ("--encoder layout --checkpoint run", "not both"),
        ("--table-only --dtype float16", "--dtype has no use"),
        ("--table-only --encoder layout", "--encoder has no use"),
        ("--seed 1", "--seed"),
        ("--page 3", "--show"),
        ("--checkpoint nowhere", "nowhere: there is no such checkpoint"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_a_sentence(
    words: str, expected: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code, answer = said(capsys, "encode", samples, "--output", tmp_path / "out", *words.split())
    assert code == 2 and expected in answer and "--help" in answer
    assert "Traceback" not in answer and not (tmp_path / "out").exists()


def test_what_could_not_run_is_exit_code_1_and_a_sentence(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty").mkdir()
    code, answer = said(capsys, "encode", tmp_path / "empty", "--table-only", "--output", tmp_path / "out")
    assert code == 1 and "nothing to read" in answer
    code, answer = said(capsys, "encode", samples, "--table-only", "--output", samples)
    assert code == 1 and "never written to" in answer
    (tmp_path / "file").write_text("in the way")
    code, answer = said(capsys, "encode", samples, "--table-only", "--output", tmp_path / "file" / "out")
    assert code == 1 and "Traceback" not in answer
    code, answer = said(capsys, "sample", tmp_path / "file" / "samples")
    assert code == 1 and "Traceback" not in answer


def test_an_error_of_the_program_goes_to_a_file_and_is_shown_on_request(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(structpos.encode, "encode", broken)
    (tmp_path / ".structpos").mkdir()
    words = ["encode", samples, "--output", tmp_path]
    code, answer = said(capsys, *words)
    assert code == 1 and "ZeroDivisionError: a bug" in answer and "Traceback" not in answer
    assert "ZeroDivisionError" in (tmp_path / ".structpos" / "log.txt").read_text()
    with pytest.raises(ZeroDivisionError):
        main([*map(str, words), "--debug"])


def test_errors_in_documents_are_exit_code_3_on_standard_error(samples: Path, tmp_path: Path):
    (tmp_path / "empty.pdf").write_bytes(b"")
    done = structpos_("encode", samples, tmp_path / "empty.pdf", "--table-only", "--output", tmp_path / "out")
    assert done.returncode == 3 and done.stdout == ""
    assert "empty.pdf: empty:" in done.stderr and "errors.csv" in done.stderr and "6 with an output" in done.stderr


def test_tables_need_no_torch(samples: Path, tmp_path: Path):
    blocked = "import sys; sys.modules['torch'] = None; from structpos.cli import main; sys.exit(main(sys.argv[1:]))"
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None\n")  # for the workers
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])
    words = ["encode", samples / "table.pdf", "--table-only", "--output", tmp_path / "out"]
    done = subprocess.run(
        [sys.executable, "-c", blocked, *map(str, words)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_encoder_of_ones_own_beside_the_files_is_found(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Typed on the command line it is one's own; named by a checkpoint it needs --trust. Options may stand anywhere."""
    (tmp_path / "mine.py").write_text(
        "from structpos import Sinusoidal\n\n\nclass Shifted(Sinusoidal):\n"
        "    def forward(self, queries, keys=None):\n        return super().forward(queries) + 1\n"
    )
    done = structpos_(
        "encode",
        "--encoder",
        "mine.Shifted",
        "--output",
        "out",
        samples / "table.pdf",
        "--encoder.width",
        8,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    _, signal, about = read_encoded(tmp_path / "out" / "table.pdf.parquet")
    assert about["encoder"]["class_path"] == "mine.Shifted" and signal is not None and signal.min() >= 0
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "encoder.json").write_text('{"class_path": "mine.Shifted", "init_args": {"width": 8}}')
    words = ["encode", samples / "table.pdf", "--checkpoint", tmp_path / "run", "--output", tmp_path / "second"]
    code, answer = said(capsys, *words)
    assert code == 2 and "--trust mine" in answer


def test_a_sum_of_named_parts_is_typed_part_by_part(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Options may also be written with an equals sign, and with dashes for underscores."""
    taken: dict[str, Any] = {}

    def take(inputs: object, **options: object) -> NoReturn:
        taken.update(options)
        raise SystemExit(0)

    monkeypatch.setattr(structpos.encode, "encode", take)
    parts = "--encoder sum --encoder.parts.layout=layout --encoder.parts.layout.width=16 "
    parts += "--encoder.parts.rope rotary --encoder.parts.rope.head-width 8 --encoder.parts.rope.axes [line,column]"
    code, answer = said(capsys, "encode", samples, f"--output={tmp_path}", "--time-limit=0", *parts.split())
    assert code == 0, answer
    found = taken["encoder"]["init_args"]["parts"]
    assert found["layout"]["init_args"]["width"] == 16
    assert found["rope"]["class_path"] == "structpos.Rotary"
    assert found["rope"]["init_args"]["head_width"] == 8 and list(found["rope"]["init_args"]["axes"]) == [
        "line",
        "column",
    ]
    assert taken["output"] == tmp_path and taken["time_limit"] is None


def test_a_page_is_shown_as_a_picture(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code, answer = said(capsys, "encode", samples / "two_columns.pdf", "--show", tmp_path / "page.png")
    assert code == 0, answer
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    code, answer = said(capsys, "encode", samples / "two_columns.pdf", "--show", tmp_path / "p.png", "--page", 99)
    assert code == 1 and "99" in answer


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_cleanly_and_what_is_finished_stays(
    samples: Path, tmp_path: Path, number: signal.Signals, code: int
):
    (tmp_path / "in").mkdir()
    for index in range(400):
        (tmp_path / "in" / f"{index:03}.pdf").symlink_to(samples / "table.pdf")
    words = ["encode", tmp_path / "in", "--table-only", "--workers", 1, "--output", tmp_path / "out"]
    with subprocess.Popen(
        [sys.executable, "-m", "structpos.cli", *map(str, words)], env=environment(), stderr=subprocess.PIPE, text=True
    ) as run:
        while len(list((tmp_path / "out").glob("*.parquet"))) < 2 and run.poll() is None:
            time.sleep(0.02)
        run.send_signal(number)
        assert run.stderr is not None
        answer = run.stderr.read()
    assert run.returncode == code and "Traceback" not in answer
    finished = sorted((tmp_path / "out").glob("*.parquet"))
    assert 2 <= len(finished) < 400
    assert all(len(read_encoded(path).columns["text"]) for path in finished)
    assert not list((tmp_path / "out" / ".structpos").glob("tmp/*"))


def test_short_names_stand_inside_json_too() -> None:
    from structpos.cli.parse import _encoder

    sinusoid = '{"class_path": "sinusoidal", "init_args": {"width": 8, "axis": "line"}}'
    settings = _encoder(["--encoder", "concat", "--encoder.parts", f'{{"a": {sinusoid}}}'])
    assert settings["init_args"]["parts"]["a"]["class_path"] == "structpos.Sinusoidal"
