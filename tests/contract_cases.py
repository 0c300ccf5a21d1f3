"""One table of encoders: every scheme and every composition, in the forms that differ."""

from __future__ import annotations

from collections.abc import Callable

import torch

import structpos as sp

Make = Callable[[], sp.PositionEncoder]


def first_half(positions: sp.Positions) -> torch.Tensor:
    """A region by a function: even lines."""
    return positions["line"] % 2 == 0


def measured() -> sp.Scale:
    """A Scale that has measured its tokens."""
    scale = sp.Scale(sp.Sinusoidal(8), "match", learnable=True)
    scale.match(0.02, sp.Positions.sequence(32))
    return scale


ENCODERS: dict[str, Make] = {
    "none": sp.NoPosition,
    "sinusoidal": lambda: sp.Sinusoidal(8),
    "sinusoidal-odd-halved": lambda: sp.Sinusoidal(7, "column", channels="halved", base=500),
    "sinusoidal-wavelengths": lambda: sp.Sinusoidal(8, wavelengths=(2.5, 100.0)),
    "learned": lambda: sp.Learned(8, 16),
    "learned-offset": lambda: sp.Learned(8, 20, axis="line", offset=2, extend=False),
    "hybrid-start": lambda: sp.Hybrid(8, 16),
    "hybrid-mix": lambda: sp.Hybrid(8, 16, form="mix"),
    "rotary": lambda: sp.Rotary(8),
    "rotary-half-partial": lambda: sp.Rotary(12, pairing="half", rotate=8),
    "rotary-axial": lambda: sp.Rotary(8, ("row", "col"), pairing="half"),
    "rotary-sections": lambda: sp.Rotary(
        16, ("time", "row", "col"), sections=sp.Sections(pairs=(4, 2, 2), ladder="continue"), pairing="half"
    ),
    "rotary-interleaved-sections": lambda: sp.Rotary(
        16, ("line", "column"), sections=sp.Sections(interleaved=True, pairs=(5, 3))
    ),
    "alibi": lambda: sp.ALiBi(4),
    "alibi-causal-odd": lambda: sp.ALiBi(3, form="causal"),
    "alibi-time": lambda: sp.ALiBi(2, "time"),
    "t5": lambda: sp.T5Bias(2),
    "t5-causal-scaled": lambda: sp.T5Bias(3, "line", buckets=8, distance=20, bidirectional=False, scale=2.0),
    "layout": lambda: sp.Layout(16),
    "layout-all": lambda: sp.Layout(64, page=True, bottom=True),
    "layout-xy-gated": lambda: sp.Layout(8, place="xy", join="gated"),
    "emphasis": lambda: sp.Emphasis(sp.Sinusoidal(8), sp.Region(start=1, stop=4)),
    "emphasis-soft-learned": lambda: sp.Emphasis(
        sp.Learned(8, 16), sp.Region(axis="line", stop=2, edge=2.0), learnable=True
    ),
    "sum-vectors": lambda: sp.Sum(parts={"order": sp.Sinusoidal(8), "line": sp.Sinusoidal(8, "line")}),
    "sum-biases": lambda: sp.Sum(parts={"order": sp.ALiBi(2), "line": sp.T5Bias(2, "line")}),
    "sum-all": lambda: sp.Sum(parts={"layout": sp.Layout(16), "rope": sp.Rotary(8), "distance": sp.ALiBi(2)}),
    "concat": lambda: sp.Concat(parts={"order": sp.Sinusoidal(4), "line": sp.Learned(4, 16, axis="line")}),
    "gated": lambda: sp.GatedSum(parts={"order": sp.Sinusoidal(8), "line": sp.Sinusoidal(8, "line")}),
    "gated-from-zero": lambda: sp.GatedSum(parts={"order": sp.Sinusoidal(8)}, start=0.0),
    "scale": lambda: sp.Scale(sp.Sinusoidal(8), 0.1),
    "scale-matched": measured,
    "where-vector": lambda: sp.Where(sp.Sinusoidal(8), sp.Region(start=1)),
    "where-rotation": lambda: sp.Where(sp.Rotary(8), sp.Region(axis="line", stop=3)),
    "where-bias": lambda: sp.Where(sp.T5Bias(2), sp.Region(axis="line", start=1)),
    "where-function": lambda: sp.Where(sp.ALiBi(2, "line"), sp.Region(where=first_half)),
}
