"""Structured positions for PyTorch Transformers: layout, physical time, image grids and every standard scheme.

Every public name is imported on first use, so ``import structpos`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structpos.attention import attend as attend
    from structpos.datasets.sample_pdfs import write_samples as write_samples
    from structpos.encoders import ENCODERS as ENCODERS
    from structpos.encoders import build as build
    from structpos.encoders.alibi import ALiBi as ALiBi
    from structpos.encoders.base import NoPosition as NoPosition
    from structpos.encoders.base import PositionEncoder as PositionEncoder
    from structpos.encoders.compose import Concat as Concat
    from structpos.encoders.compose import GatedSum as GatedSum
    from structpos.encoders.compose import Sum as Sum
    from structpos.encoders.emphasis import Emphasis as Emphasis
    from structpos.encoders.layout import Layout as Layout
    from structpos.encoders.learned import Hybrid as Hybrid
    from structpos.encoders.learned import Learned as Learned
    from structpos.encoders.region import Region as Region
    from structpos.encoders.region import Where as Where
    from structpos.encoders.relative import T5Bias as T5Bias
    from structpos.encoders.rotary import Rotary as Rotary
    from structpos.encoders.rotary import Sections as Sections
    from structpos.encoders.scale import AddPositions as AddPositions
    from structpos.encoders.scale import Scale as Scale
    from structpos.encoders.sinusoidal import Sinusoidal as Sinusoidal
    from structpos.errors import MissingExtraError as MissingExtraError
    from structpos.errors import PositionError as PositionError
    from structpos.errors import ReadError as ReadError
    from structpos.frequencies import Frequencies as Frequencies
    from structpos.positions import Positions as Positions
    from structpos.readers.boxes import read_boxes as read_boxes
    from structpos.readers.document import Document as Document
    from structpos.readers.pdf import read_pdf as read_pdf
    from structpos.signals import Bias as Bias
    from structpos.signals import Rotation as Rotation
    from structpos.signals import Signals as Signals
    from structpos.training import parameter_groups as parameter_groups
    from structpos.transformer import Transformer as Transformer

__version__ = "0.1.0"

_HOME = {
    "attend": "attention",
    "write_samples": "datasets.sample_pdfs",
    "ENCODERS": "encoders",
    "build": "encoders",
    "ALiBi": "encoders.alibi",
    "NoPosition": "encoders.base",
    "PositionEncoder": "encoders.base",
    "Concat": "encoders.compose",
    "GatedSum": "encoders.compose",
    "Sum": "encoders.compose",
    "Emphasis": "encoders.emphasis",
    "Layout": "encoders.layout",
    "Hybrid": "encoders.learned",
    "Learned": "encoders.learned",
    "Region": "encoders.region",
    "Where": "encoders.region",
    "T5Bias": "encoders.relative",
    "Rotary": "encoders.rotary",
    "Sections": "encoders.rotary",
    "AddPositions": "encoders.scale",
    "Scale": "encoders.scale",
    "Sinusoidal": "encoders.sinusoidal",
    "MissingExtraError": "errors",
    "PositionError": "errors",
    "ReadError": "errors",
    "Frequencies": "frequencies",
    "Positions": "positions",
    "read_boxes": "readers.boxes",
    "Document": "readers.document",
    "read_pdf": "readers.pdf",
    "Bias": "signals",
    "Rotation": "signals",
    "Signals": "signals",
    "parameter_groups": "training",
    "Transformer": "transformer",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"structpos has no name '{name}'.")
    value = getattr(importlib.import_module(f"structpos.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
