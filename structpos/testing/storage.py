"""Properties of building and storing: settings, state dict, the meta device."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
from typing import Any

import torch

from structpos.encoders import build
from structpos.encoders.base import PositionEncoder
from structpos.errors import PositionError
from structpos.testing.case import Case
from structpos.testing.report import Failed
from structpos.testing.seen import look, same


def settings(case: Case) -> None:
    """``settings()`` is plain data that builds the same encoder again, and a state dict makes it equal bit for bit."""
    encoder, row = case.fresh(), case.make(case.length)
    again = rebuilt(case)
    if again.settings() != encoder.settings():
        raise Failed(f"built from its settings it has other ones: {again.settings()}, before {encoder.settings()}.")
    file = io.BytesIO()
    torch.save(encoder.state_dict(), file)
    file.seek(0)
    again.load_state_dict(torch.load(file, weights_only=True))
    wanted = look(encoder, row)
    same(look(again.eval(), row), wanted, "built from settings, with the state dict loaded", row, allowed=0.0)
    for what, other in (("a deep copy", copy.deepcopy(encoder)), ("pickled", pickle.loads(pickle.dumps(encoder)))):
        same(look(other, row), wanted, what, row, allowed=0.0)
    same(look(encoder, row), wanted, "after it was copied", row, allowed=0.0)


def meta(case: Case) -> None:
    """Built on the meta device and given memory, loading its state dict is all it needs; so is a reset."""
    encoder, row = case.fresh(), case.make(case.length)
    with torch.device("meta"):
        empty = rebuilt(case)
    full = _garbage(empty)
    full.load_state_dict(encoder.state_dict())
    same(look(full, row), look(encoder, row), "from the meta device, with the state dict loaded", row, allowed=0.0)
    full = _garbage(full)
    for part in full.modules():
        if isinstance(part, PositionEncoder):
            part.reset_parameters()
    left = [name for name, tensor in full.state_dict().items() if not tensor.isfinite().all()]
    if left:
        raise Failed(f"reset_parameters leaves {', '.join(left)} as the memory was.")


def rebuilt(case: Case) -> PositionEncoder:
    """The encoder built again from its settings, which went through JSON."""
    try:
        written = json.loads(json.dumps(case.encoder.settings()))
    except (TypeError, ValueError) as error:
        raise Failed(f"its settings are no plain data: {error}") from None
    try:
        return build(written, trust=(*case.trust, *_loaded(written))).eval()
    except PositionError as error:
        raise Failed(f"its settings build nothing: {error}") from None


def _loaded(value: Any) -> list[str]:
    """Modules named in settings that are imported already, so that naming them runs nothing."""
    if isinstance(value, dict):
        return [module for item in value.values() for module in _loaded(item)]
    if isinstance(value, list):
        return [module for item in value for module in _loaded(item)]
    module = value.rpartition(".")[0] if isinstance(value, str) else ""
    return [module] if module in sys.modules else []


def _garbage(module: PositionEncoder) -> PositionEncoder:
    """Memory on the CPU, as wrong as it can be."""
    full: PositionEncoder = module.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in (*full.parameters(), *full.buffers()):
            if tensor.is_floating_point():
                tensor.fill_(torch.nan)
    return full
