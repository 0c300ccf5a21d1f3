"""Which encoder a run uses, and what it gives for a document: a vector for each word, or its rotary angles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from structpos.encode.checkpoint import load_encoder
from structpos.encoders import build
from structpos.encoders.base import PositionEncoder, Signal
from structpos.encoders.compose import Concat
from structpos.encoders.layout import Layout
from structpos.encoders.sinusoidal import Sinusoidal
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.readers.document import Document
from structpos.signals import as_signals

ROWS = 2**16  # words encoded at once, which bounds the memory that angles take
WHAT = {
    "vector": "Positions of words, not their meanings: each row encodes where its word stands.",
    "angle": "Positions of words, not their meanings: each row holds the angles [rad, -pi to pi] by which a rotary "
    "encoder turns queries and keys at its word.",
}
NAMES = {"vector": "vector", "rotation": "angle"}
PROBE = {"order": [0], "page": [0], "line": [0], "column": [0], "x0": [0.0], "y0": [0.0], "x1": [0.1], "y1": [0.1]}


def choose_encoder(
    encoder: PositionEncoder | Mapping[str, Any] | None,
    *,
    checkpoint: str | Path | None = None,
    seed: int | None = None,
    trust: Sequence[str] = (),
) -> PositionEncoder:
    """The encoder of a run, from settings, from a checkpoint, or as it is.

    Args:
        encoder: An encoder, or its settings ``{"class_path": ..., "init_args": ...}``.
        checkpoint: Instead: where a trained one was saved.
        seed: Draws the parameters of a learned one that is given by settings.
        trust: Modules beside ``structpos`` that may be imported for it.

    Raises:
        PositionError: it gives nothing that can be written beside a word, or is learned and neither checkpoint nor
            seed say with which parameters.
    """
    if checkpoint is not None:
        if encoder is not None:
            raise PositionError("Give an encoder or a checkpoint, which says its own encoder, not both.")
        made = load_encoder(checkpoint, trust=trust)
    elif isinstance(encoder, PositionEncoder):
        made = encoder
    else:
        if seed is not None:
            torch.manual_seed(seed)
        made = build(encoder or {"class_path": "structpos.Layout", "init_args": {"width": 128}}, trust=trust)
        signal_name(made)
        if made.learned and seed is None:
            raise PositionError(
                f"{type(made).__name__} is learned: without training its vectors say nothing. Give --checkpoint with a "
                "trained one, or --seed to draw its parameters at random."
            )
    if seed is not None and (checkpoint is not None or isinstance(encoder, PositionEncoder) or not made.learned):
        raise PositionError(f"--seed draws learned parameters; {type(made).__name__} has none to draw. Leave it out.")
    signal_name(made)
    signal_of(made, Positions.layout(PROBE))
    if any(type(part).__module__ == "__main__" for part in made.modules()):
        raise PositionError(
            f"{type(made).__name__} is defined in the script itself, where worker processes cannot find it. "
            "Put it into a module of its own and import it."
        )
    return made.eval()


def modules_in(settings: Any) -> list[str]:
    """The modules that settings of an encoder name, of classes and of functions, beside structpos itself.

    Example:
        >>> modules_in({"class_path": "mine.Waves", "init_args": {"part": {"class_path": "structpos.Layout"}}})
        ['mine']
    """
    if isinstance(settings, Mapping):
        settings = list(settings.values())
    if isinstance(settings, (list, tuple)):
        return sorted({name for value in settings for name in modules_in(value)})
    if callable(settings):
        return [settings.__module__]
    if isinstance(settings, str) and "." in settings and all(part.isidentifier() for part in settings.split(".")):
        return [settings.rpartition(".")[0]] if not settings.startswith("structpos.") else []
    return []


def signal_name(encoder: PositionEncoder) -> str:
    """What an encoder gives for a single word: ``vector`` or ``angle``.

    Raises:
        PositionError: it gives a bias on pairs of words, several signals, or nothing.
    """
    name = type(encoder).__name__
    if encoder.signal in NAMES:
        return NAMES[encoder.signal]
    if encoder.signal == "bias":
        raise PositionError(
            f"{name} acts on the scores of pairs of words, so no single word has a vector to write. "
            "Use an encoder on the input such as layout, or a rotary one."
        )
    if encoder.signal == "none":
        raise PositionError(f"{name} gives nothing to write. For the table of words alone use --table-only.")
    raise PositionError(f"{name} gives several signals, and a file holds one. Encode its parts one by one.")


def signal_of(encoder: PositionEncoder, positions: Positions) -> NDArray[np.floating[Any]]:
    """The signal at each token of one document, ``words width`` or ``words pairs``.

    A learned encoder sees the whole document at once, since it may squeeze a long one onto its table; all others go
    piece by piece.
    """
    length = positions.shape[1]
    with torch.inference_mode():
        if encoder.learned or length <= ROWS:
            return _piece(encoder, positions).numpy()
        pieces = [_piece(encoder, positions[:, start : start + ROWS]) for start in range(0, length, ROWS)]
        return torch.cat(pieces).numpy()


def _piece(encoder: PositionEncoder, positions: Positions) -> Tensor:
    """The signal of one piece; a sinusoid side by side with others is computed once for each place on its axis."""
    if isinstance(encoder, Layout) and isinstance(encoder.code, Concat):
        encoder = encoder.code
    if isinstance(encoder, Concat):
        return torch.cat([_piece(part, positions) for part in encoder.encoders().values()], -1)
    if isinstance(encoder, Sinusoidal) and positions.has(encoder.axis) is None and positions.mask is None:
        place = positions.axis(encoder.axis)[0]
        if place.numel() and not place.is_floating_point():
            low, high = (int(end) for end in place.aminmax())
            if 2 * (high - low + 1) < len(place):
                table: Tensor = encoder(Positions({encoder.axis: torch.arange(low, high + 1)}))[0]
                return table.index_select(0, place - low)
    return _rows(encoder(positions))


def _rows(signal: Signal) -> Tensor:
    found = as_signals(signal)
    if found.vector is not None:
        return found.vector[0]  # (seq, width)
    if found.rotation is None:
        raise PositionError("The encoder gave neither a vector nor a rotation.")
    cos, sin = found.rotation.query_cos[0].double(), found.rotation.query_sin[0].double()
    return torch.atan2(sin, cos).transpose(0, 1).flatten(1)  # (seq, heads pairs)


def encode_document(encoder: PositionEncoder, document: Document, dtype: str) -> NDArray[np.floating[Any]]:
    """The signal for each row of the document's table; zeros for hidden words, which have no place.

    Args:
        encoder: The encoder.
        document: What a reader gave.
        dtype: ``float16``, ``float32`` or ``float64``.

    Shapes:
        return: words width, or words pairs.
    """
    rows = document.rows()
    width = signal_of(encoder, Positions.layout(PROBE)).shape[1] if len(rows) == 0 else 0
    found = signal_of(encoder, document.positions()) if len(rows) else np.zeros((0, width))
    if len(rows) == len(document):
        return found.astype(dtype, copy=False)
    signal = np.zeros((len(document), found.shape[1]), dtype)
    signal[rows] = found
    return signal
