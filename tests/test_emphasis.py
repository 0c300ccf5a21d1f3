"""Emphasis and regions: more weight where it matters, exactly there, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import structpos as sp
from structpos import Emphasis, Positions, Region, Sinusoidal

SEQUENCE = Positions.sequence(25)


def test_the_published_form() -> None:
    """Tokens 1 to 20 times 1.5, where the dates of a news text stand."""
    got, plain = Emphasis(Sinusoidal(8), Region(start=1, stop=21))(SEQUENCE), Sinusoidal(8)(SEQUENCE)
    factor = torch.ones(25).index_fill(0, torch.arange(1, 21), 1.5)
    torch.testing.assert_close(got, plain * factor[None, :, None])
    assert torch.equal(got[:, [0, 21, 22, 23, 24]], plain[:, [0, 21, 22, 23, 24]])


def test_a_soft_edge_fades_by_half_a_cosine() -> None:
    weight = Region(start=10, stop=12, edge=4).weight(SEQUENCE)[0]
    assert weight[[5, 6, 8, 10, 11, 12, 14, 16]].tolist() == pytest.approx([0, 0, 0.5, 1, 1, 1, 0.5, 0], abs=1e-6)
    assert bool(((weight >= 0) & (weight <= 1)).all())


def test_open_ends_and_all() -> None:
    assert Region(start=23).weight(SEQUENCE).sum() == 2
    assert Region(stop=3).weight(SEQUENCE).sum() == 3
    assert Region().weight(SEQUENCE).sum() == 25
    assert Region(start=2, stop=5).contains(SEQUENCE)[0].nonzero().flatten().tolist() == [2, 3, 4]


def test_padding_and_absent_tokens_are_outside() -> None:
    padded = Positions.sequence(mask=[[0, 1, 1]])
    assert Region(start=0).weight(padded).tolist() == [[0, 1, 1]]
    lacking = Positions({"line": [[0, 0]]}, present={"line": [[False, True]]})
    assert Region(axis="line").weight(lacking).tolist() == [[0, 1]]
    assert not Emphasis(Sinusoidal(4, "line"), Region(axis="line"))(lacking)[0, 0].any()


def odd(positions: Positions) -> torch.Tensor:
    return (positions["order"] % 2).bool()


def test_a_function_or_a_mask_of_ones_own() -> None:
    assert Region(where=odd).weight(Positions.sequence(4)).tolist() == [[0, 1, 0, 1]]
    mask = torch.tensor([[False, True, True, False]])
    marked = Positions.sequence(4).with_axes(headline=torch.zeros(1, 4), present={"headline": mask})
    assert torch.equal(Region(axis="headline").contains(marked), mask)
    padded = Positions.sequence(mask=[[1, 1, 0]])
    assert Region(where=lambda positions: torch.ones(positions.shape)).weight(padded).tolist() == [[1, 1, 0]]


def test_a_learned_gain_starts_there_and_learns_from_inside_only() -> None:
    encoder = Emphasis(Sinusoidal(8), Region(start=1, stop=3), gain=1.5, learnable=True)
    assert torch.equal(encoder(SEQUENCE), Emphasis(Sinusoidal(8), Region(start=1, stop=3))(SEQUENCE))
    encoder(SEQUENCE).sum().backward()
    wanted = Sinusoidal(8)(SEQUENCE)[0, 1:3].sum()
    assert encoder.amount.grad is not None and encoder.amount.shape == (1,)
    torch.testing.assert_close(encoder.amount.grad[0], wanted)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Region(start=3, stop=3), "start needs to be below stop, got 3 and 3"),
        (lambda: Region(edge=-1), "edge needs to be 0 or more, got -1"),
        (
            lambda: Region(where=lambda _: torch.ones(3)).weight(SEQUENCE),
            r"where gave \(3,\) for positions of \(1, 25\)",
        ),
        (lambda: Region(axis="line").weight(SEQUENCE), "Region reads the axis 'line'"),
        (lambda: Emphasis(sp.Rotary(8), Region()), r"Emphasis takes encoders on the input; part 'part' \(Rotary\)"),
    ],
)
def test_regions_that_cannot_be_are_refused(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()
