"""Encoders on disk: what builds them, and their parameters. Plain values and tensors only: loading runs no code.

A checkpoint is a folder with ``encoder.json`` (the settings) and, for a learned encoder, ``encoder.safetensors`` (its
state dict); a run folder of a training holds the same two. Two single files do as well: ``NAME.safetensors`` with the
settings as JSON under the key ``encoder`` of its metadata, and a torch file ``NAME.pt`` with the dictionary
``{"encoder": settings, "state_dict": {...}}``.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from structpos.encoders import build
from structpos.encoders.base import PositionEncoder
from structpos.errors import PositionError, require

SETTINGS = "encoder.json"
WEIGHTS = "encoder.safetensors"


def save_encoder(encoder: PositionEncoder, path: str | Path) -> Path:
    """Write an encoder, so that `load_encoder` gives it back.

    Args:
        encoder: The encoder.
        path: A folder, or a file ending in ``.safetensors`` or ``.pt``.

    Example:
        >>> import tempfile
        >>> from structpos import Layout
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     load_encoder(save_encoder(Layout(64), folder)).width
        64
    """
    path = Path(path)
    settings, state = (
        encoder.settings(),
        {name: value.contiguous().cpu() for name, value in encoder.state_dict().items()},
    )
    if path.suffix == ".pt":
        torch.save({"encoder": settings, "state_dict": state}, path)
    elif path.suffix == ".safetensors":
        require("safetensors.torch", "cli").save_file(state, path, metadata={"encoder": json.dumps(settings)})
    else:
        path.mkdir(parents=True, exist_ok=True)
        (path / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n")
        if state:
            require("safetensors.torch", "cli").save_file(state, path / WEIGHTS)
    return path


def load_encoder(path: str | Path, *, trust: Sequence[str] = ()) -> PositionEncoder:
    """Build an encoder that was saved, with its parameters.

    Args:
        path: A folder or file, as above.
        trust: Modules that may be imported for it, beside ``structpos`` and installed packages that offer encoders.

    Raises:
        PositionError: there is no such checkpoint, or its parameters do not fit its settings.
    """
    path = Path(path)
    settings, state = _read(path)
    encoder = build(settings, trust=trust)
    missing, left = encoder.load_state_dict(state, strict=False)
    if missing or left:
        said = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has {', '.join(left)} too many"] * bool(left)
        raise PositionError(
            f"{path}: the parameters do not fit {type(encoder).__name__}: the file {' and '.join(said)}."
        )
    return encoder


def _read(path: Path) -> tuple[Mapping[str, Any], Mapping[str, Tensor]]:
    if not path.exists():
        raise PositionError(
            f"{path}: there is no such checkpoint. Name a run folder or a file that save_encoder wrote."
        )
    try:
        if path.is_dir():
            settings = json.loads((path / SETTINGS).read_text())
            weights = path / WEIGHTS
            return settings, require("safetensors.torch", "cli").load_file(weights) if weights.exists() else {}
        if path.suffix == ".safetensors":
            with require("safetensors", "cli").safe_open(path, framework="pt") as file:
                state = {name: file.get_tensor(name) for name in file.keys()}
                return json.loads(file.metadata()["encoder"]), state
        content = torch.load(path, map_location="cpu", weights_only=True)
        return content["encoder"], content["state_dict"]
    except ImportError:
        raise
    except Exception as error:
        raise PositionError(
            f"{path}: this is no checkpoint of an encoder ({_first_line(error)}). A folder with {SETTINGS}, "
            "or a file that save_encoder wrote, is needed."
        ) from None


def _first_line(error: Exception) -> str:
    if isinstance(error, pickle.UnpicklingError):  # torch then advises to load what may run code
        return "it is no file of numbers and texts that torch wrote"
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
