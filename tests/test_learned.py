"""Learned tables: rows at whole coordinates, between them a line, past the end a squeeze, never zeros or a crash."""

from __future__ import annotations

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import structpos as sp
from structpos.encoders.learned import resampled


def at(*places: float) -> sp.Positions:
    return sp.Positions({"order": [list(places)]})


def ruler(length: int, **arguments: object) -> sp.Learned:
    """A table whose row n holds n."""
    encoder = sp.Learned(1, length, **arguments)  # type: ignore[arg-type]
    with torch.no_grad():
        encoder.table.copy_(torch.arange(length)[:, None])
    return encoder


def test_a_whole_coordinate_gets_its_row_bit_for_bit() -> None:
    encoder = sp.Learned(8, 16)
    assert torch.equal(encoder(sp.Positions.sequence(16))[0], encoder.table)
    assert torch.equal(encoder(at(3, 3, 15, 0))[0], encoder.table[[3, 3, 15, 0]])


def test_between_rows_it_is_a_line() -> None:
    assert ruler(16)(at(0.25, 14.5, 15)).flatten().tolist() == [0.25, 14.5, 15.0]


def test_past_its_end_it_is_squeezed_with_one_warning() -> None:
    encoder = ruler(5)
    with pytest.warns(UserWarning, match=r"'order' reaches position 8, past the end of a table of 5 rows \(5 usable\)"):
        got = encoder(sp.Positions.sequence(9))
    assert got.flatten().tolist() == [0.5 * place for place in range(9)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder(sp.Positions.sequence(9))


@pytest.mark.filterwarnings("ignore:The axis")
@pytest.mark.parametrize("length", [17, 64, 1000])
def test_past_its_end_every_position_keeps_a_vector_of_its_own(length: int) -> None:
    got = sp.Learned(8, 16)(sp.Positions.sequence(length))[0]
    assert len(got.unique(dim=0)) == length and bool(got.any(1).all())


@pytest.mark.filterwarnings("ignore:The axis")
def test_one_long_document_squeezes_no_other() -> None:
    encoder = ruler(5)
    short, long = sp.Positions.sequence(3), sp.Positions.sequence(9)
    batch = encoder(sp.Positions.collate([short, long]))
    assert batch[0, :3].flatten().tolist() == [0, 1, 2] and batch[1, 8] == 4
    packed = encoder(sp.Positions.pack([short, long, short])).flatten().tolist()
    assert packed == [0, 1, 2, *(0.5 * place for place in range(9)), 0, 1, 2]
    padded = sp.Positions({"order": [[0, 1, 999]]}, mask=[[True, True, False]])
    assert encoder(padded).flatten().tolist() == [0, 1, 0]
    absent = sp.Positions({"order": [[0, 1, 999]]}, present={"order": [[True, True, False]]})
    assert encoder(absent).flatten().tolist() == [0, 1, 0]


def test_s38_the_usable_length_counts_and_is_named() -> None:
    encoder = sp.Learned(4, 10, offset=2, extend=False)
    assert torch.equal(encoder(sp.Positions.sequence(8))[0], encoder.table[2:])
    with pytest.raises(
        sp.PositionError, match=r"reaches position 8, past the end of a table of 10 rows \(8 usable\).*extend=True"
    ):
        encoder(sp.Positions.sequence(9))
    with pytest.warns(UserWarning, match=r"position 8, past the end of a table of 10 rows \(8 usable\)"):
        sp.Learned(4, 10, offset=2)(sp.Positions.sequence(9))


def test_below_zero_there_is_no_row() -> None:
    with pytest.raises(sp.PositionError, match="starts at position 0; the axis 'order' goes down to -1"):
        sp.Learned(4, 10)(at(-1, 2))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"length": 0}, "length needs a whole number of at least 1, got 0"),
        ({"length": 2, "offset": 2}, "offset 2 leaves no row of 2"),
        ({"length": 2, "offset": -1}, "offset needs a whole number of at least 0, got -1"),
    ],
)
def test_tables_that_cannot_be_are_refused(arguments: dict[str, int], text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        sp.Learned(4, **arguments)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:The axis")
def test_a_table_of_one_row_serves_all() -> None:
    encoder = ruler(1)
    assert encoder(sp.Positions.sequence(4)).flatten().tolist() == [0.0] * 4


@given(st.lists(st.floats(0, 40), min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:The axis")
def test_order_is_kept_and_ends_are_met(places: list[float], offset: int) -> None:
    encoder = ruler(9, offset=offset).double()
    got = encoder(at(*places)).flatten()
    highest, last = max(places), encoder.usable - 1
    factor = last / highest if highest > last else 1.0
    torch.testing.assert_close(got, torch.tensor(places, dtype=torch.float64) * factor + offset, atol=1e-12, rtol=0)


@pytest.mark.filterwarnings("ignore:The axis")
def test_gradients_reach_the_rows_that_were_read_and_no_other() -> None:
    encoder = sp.Learned(2, 6)
    encoder(at(1, 2.5)).sum().backward()
    assert encoder.table.grad is not None
    assert encoder.table.grad[:, 0].tolist() == [0, 1, 0.5, 0.5, 0, 0]
    encoder.zero_grad()
    encoder(sp.Positions.sequence(60)).square().sum().backward()
    assert bool(encoder.table.grad.isfinite().all()) and bool(encoder.table.grad.any(1).all())


def test_l11_a_table_of_another_length_is_resampled_on_load_and_on_resume() -> None:
    small, large = ruler(16), sp.Learned(1, 31)
    saved = small.state_dict()
    with pytest.warns(UserWarning, match="table has 16 rows, this encoder 31"):
        large.load_state_dict(saved)
    assert large.table.flatten().tolist() == [place / 2 for place in range(31)]
    again = sp.Learned(1, 31)
    again.load_state_dict(large.state_dict())
    assert torch.equal(again.table, large.table)
    model = torch.nn.ModuleDict({"positions": sp.Learned(1, 31)})
    with pytest.warns(UserWarning, match=r"positions\.table has 16 rows"):
        model.load_state_dict({"positions.table": saved["table"]})


def test_a_table_of_another_width_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="size mismatch"):
        sp.Learned(3, 4).load_state_dict(sp.Learned(2, 4).state_dict())


def test_rows_before_the_first_position_are_kept_when_resampled() -> None:
    assert resampled(torch.tensor([[9.0], [0.0], [4.0]]), 6, 1).flatten().tolist() == [9, 0, 1, 2, 3, 4]


def test_hybrid_starts_as_the_sinusoid() -> None:
    positions = sp.Positions.sequence(16)
    hybrid = sp.Hybrid(8, 16)
    assert torch.equal(hybrid(positions), sp.Sinusoidal(8)(positions))
    hybrid(positions).sum().backward()
    assert hybrid.learned_part.table.grad is not None


def test_hybrid_mixes_in_the_published_shares() -> None:
    positions, hybrid = sp.Positions.sequence(16), sp.Hybrid(8, 16, form="mix")
    wanted = 0.7 * sp.Sinusoidal(8)(positions) + 0.3 * hybrid.learned_part(positions)
    torch.testing.assert_close(hybrid(positions), wanted)
    with pytest.raises(sp.PositionError, match=r"share lies between 0 and 1, got 1\.5"):
        sp.Hybrid(8, 16, form="mix", share=1.5)
    with pytest.raises(sp.PositionError, match="form is one of 'start', 'mix'; got 'end'"):
        sp.Hybrid(8, 16, form="end")  # type: ignore[arg-type]
