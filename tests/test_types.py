"""The shapes and types that signatures state are those that pass: the suite, with every call of structpos checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PLACES = (
    "test_golden.py",
    "test_signals.py",
    "test_layout.py",
    "test_scale.py",
    "test_emphasis.py",
    "test_attention.py::test_blocks_meet_without_a_seam",
    "test_transformer.py::test_s34_left_padded_batches_decode_too",
)
# Tests that give a wrong type on purpose see the checker's error in place of ours.
ON_PURPOSE = "not told and not refused and not no_signal and not trainer and not peer"
CHECKED = f"""
import sys, types
import beartype, jaxtyping
tower = types.ModuleType("structpos_tower")  # an int passes for a float, as type checkers have it
tower.check = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))
sys.modules["structpos_tower"] = tower
jaxtyping.install_import_hook("structpos", "structpos_tower.check")
import pytest
places = [f"{{sys.argv[1]}}/{{name}}" for name in {PLACES!r}]
options = ["-q", "-x", "--tb=short", "-p", "no:cacheprovider", "-o", "filterwarnings=", "-m", "not slow"]
sys.exit(pytest.main([*options, "-k", {ON_PURPOSE!r}, *places]))
"""


def test_signatures_state_what_passes() -> None:
    pytest.importorskip("beartype")
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", CHECKED, str(HERE)], capture_output=True, text=True, env=environment, cwd=HERE.parent
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_a_wrong_shape_is_seen_by_the_check() -> None:
    """The check above can fail: the same hook refuses a table of heads with two dimensions."""
    pytest.importorskip("beartype")
    program = CHECKED.split("import pytest")[0] + (
        "import torch\n"
        "from structpos.encoders.alibi import LinearBias\n"
        "try:\n"
        "    LinearBias(torch.zeros(2, 2), False)\n"
        "except jaxtyping.TypeCheckError as error:\n"
        "    print('seen' if 'slopes' in str(error) else error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "seen", done.stdout + done.stderr
