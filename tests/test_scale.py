"""Amplitude: positions as large as the tokens they are added to, measured once and kept."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import structpos as sp
from structpos import AddPositions, Positions, Scale, Sinusoidal

SEQUENCE = Positions.sequence(64)


def tokens(std: float = 0.02, seed: int = 0) -> torch.Tensor:
    return std * torch.randn(1, 64, 32, generator=torch.Generator().manual_seed(seed))


def test_a_number_is_a_number() -> None:
    assert torch.equal(Scale(Sinusoidal(32), 0.5)(SEQUENCE), 0.5 * Sinusoidal(32)(SEQUENCE))


@pytest.mark.parametrize("learnable", [False, True])
def test_matching_gives_positions_the_spread_of_the_tokens(learnable: bool) -> None:
    scale = Scale(Sinusoidal(32), "match", learnable=learnable)
    scale.match(tokens(0.02), SEQUENCE)
    assert float(scale(SEQUENCE).detach().std()) == pytest.approx(float(tokens(0.02).std()), rel=1e-5)
    scale.match(0.1, SEQUENCE)
    assert float(scale(SEQUENCE).detach().std()) == pytest.approx(0.1, rel=1e-5)
    assert (scale.amplitude in set(scale.parameters())) == learnable


def test_it_is_measured_at_the_first_call_and_stays() -> None:
    scale = Scale(Sinusoidal(32), "match")
    add = AddPositions(scale)
    add(tokens(0.02), SEQUENCE)
    first = scale.amplitude.clone()
    add(tokens(5.0), SEQUENCE)
    assert torch.equal(scale.amplitude, first) and float(scale(SEQUENCE).std()) == pytest.approx(0.02, rel=0.05)


def test_a_loaded_number_is_not_measured_again() -> None:
    scale = Scale(Sinusoidal(32), "match")
    scale.match(0.02, SEQUENCE)
    model = AddPositions(Scale(Sinusoidal(32), "match"))
    model.load_state_dict(AddPositions(scale).state_dict())
    model(tokens(5.0), SEQUENCE)
    assert torch.equal(model.encoder(SEQUENCE), scale(SEQUENCE))


def test_an_unmeasured_one_stays_unmeasured_through_a_checkpoint() -> None:
    scale = Scale(Sinusoidal(32), "match")
    scale.load_state_dict(Scale(Sinusoidal(32), "match").state_dict())
    with pytest.raises(sp.PositionError, match=r"has not seen any\. Call scale\.match"):
        scale(SEQUENCE)


def test_an_unmeasured_checkpoint_makes_no_measured_one_silent() -> None:
    scale = Scale(Sinusoidal(32), "match")
    scale.match(0.02, SEQUENCE)
    scale.load_state_dict(Scale(Sinusoidal(32), "match").state_dict())
    with pytest.raises(sp.PositionError, match="has not seen any"):
        scale(SEQUENCE)


def test_padding_is_not_measured() -> None:
    mask = torch.arange(64)[None] < 40
    padded, noisy = Positions.sequence(mask=mask), tokens(0.02).masked_fill(~mask[..., None], 1e3)
    add = AddPositions(Scale(Sinusoidal(32), "match"))
    add(noisy, padded)
    assert float(add.encoder(padded)[mask].std()) == pytest.approx(float(tokens(0.02)[mask].std()), rel=1e-4)


def test_a_copy_and_a_reset_measure_for_themselves() -> None:
    scale = Scale(Sinusoidal(32), "match")
    scale.match(0.02, SEQUENCE)
    assert torch.equal(copy.deepcopy(scale)(SEQUENCE), scale(SEQUENCE))
    scale.reset_parameters()
    with pytest.raises(sp.PositionError, match="has not seen any"):
        scale(SEQUENCE)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Scale(sp.ALiBi(2), 0.1), "Scale takes encoders on the input"),
        (lambda: Scale(Sinusoidal(8), "mach"), "amount is a number or 'match', got 'mach'"),  # type: ignore[arg-type]
        (
            lambda: Scale(Sinusoidal(8), "match").match(torch.zeros(3, 8), SEQUENCE),
            "standard deviation of 0, positions",
        ),
        (lambda: Scale(sp.Learned(8, 64, std=0.0), "match").match(0.02, SEQUENCE), "positions of 0. State a number"),
        (
            lambda: AddPositions(Sinusoidal(8))(tokens(), SEQUENCE),
            r"\(1, 64, 8\) cannot be added to tokens of \(1, 64, 32\)",
        ),
        (lambda: AddPositions(Sinusoidal(8), norm=0), "norm needs a whole number"),
        (
            lambda: AddPositions(Sinusoidal(8))(torch.zeros(1, 64, 8, dtype=torch.int64), SEQUENCE),
            "embeddings of tokens, got torch.int64: embed token ids first",
        ),
    ],
)
def test_what_cannot_be_scaled_is_told(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


def test_a_norm_follows_the_sum() -> None:
    out = AddPositions(Sinusoidal(32), norm=32)(tokens(), SEQUENCE)
    torch.testing.assert_close(out, nn.functional.layer_norm(tokens() + Sinusoidal(32)(SEQUENCE), (32,)))


def test_dropout_acts_on_the_sum_and_never_on_positions_alone() -> None:
    add = AddPositions(Sinusoidal(32), dropout=0.5)
    torch.manual_seed(0)
    x = tokens() + 10.0
    out, whole = add.train()(x, SEQUENCE), x + Sinusoidal(32)(SEQUENCE)
    kept = out != 0
    assert 0.4 < float(kept.float().mean()) < 0.6
    torch.testing.assert_close(out[kept], 2 * whole[kept])
    assert torch.equal(add.eval()(x, SEQUENCE), whole)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_the_sum_has_the_dtype_of_the_tokens(kind: torch.dtype) -> None:
    assert AddPositions(Sinusoidal(32))(tokens().to(kind), SEQUENCE).dtype == kind


def test_only_a_vector_is_added() -> None:
    assert torch.equal(AddPositions(sp.Rotary(8))(tokens(), SEQUENCE), tokens())
