"""T5's biases: buckets exact at every edge, clipped beyond, one table's rows wherever the query stands."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import structpos as sp
from structpos import Positions, T5Bias
from structpos.encoders.relative import bucket


def exact(difference: int, buckets: int, distance: int, bidirectional: bool) -> int:
    """The bucket in whole numbers: no logarithm, no rounding."""
    start = 0
    if bidirectional:
        buckets //= 2
        start = buckets if difference > 0 else 0
        size = abs(difference)
    else:
        size = max(-difference, 0)
    near = buckets // 2
    if size < near:
        return start + size
    far, size = buckets - near, min(size, distance)
    k = 0
    while k + 1 < far and size**far * near ** (k + 1) >= near**far * distance ** (k + 1):
        k += 1
    return start + near + k


def test_s35_both_directions() -> None:
    differences = torch.tensor([-200, -128, -16, -9, -8, -1, 0, 1, 7, 8, 9, 16, 127, 128, 200])
    assert bucket(differences).tolist() == [15, 15, 10, 8, 8, 1, 0, 17, 23, 24, 24, 26, 31, 31, 31]


def test_s35_one_direction() -> None:
    differences = torch.tensor([-200, -128, -17, -16, -15, -1, 0, 1])
    assert bucket(differences, bidirectional=False).tolist() == [31, 31, 16, 16, 15, 1, 0, 0]


def test_s35_parts_of_a_unit_are_cut() -> None:
    differences = torch.tensor([-1.9, -0.9, 0.9, 1.0, 7.999, 8.0])
    assert bucket(differences).tolist() == [1, 0, 0, 17, 23, 24]


def test_a_difference_that_should_be_whole_is_whole() -> None:
    difference = torch.tensor([9.37 - 2.37, 2.37 - 9.37], dtype=torch.float64)
    assert float(difference[0]) < 7 and bucket(difference).tolist() == [23, 7]


SETTINGS = [(32, 128), (64, 256), (48, 81), (20, 160), (8, 64), (8, 72), (8, 9), (8, 16), (16, 2048), (128, 2048)]


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), SETTINGS)
def test_buckets_are_those_of_whole_numbers_where_logarithms_fail(
    buckets: int, distance: int, bidirectional: bool
) -> None:
    if distance <= buckets // (4 if bidirectional else 2):
        return
    reach = min(distance + 3, 300)
    edges = [*range(-reach, reach + 1), -distance - 1, -distance, distance - 1, distance, distance + 1]
    got = bucket(torch.tensor(edges), buckets, distance, bidirectional=bidirectional).tolist()
    assert got == [exact(difference, buckets, distance, bidirectional) for difference in edges]


@given(st.integers(2, 32).map(lambda half: 4 * half), st.integers(2, 40), st.booleans())
@settings(max_examples=60, deadline=None)
def test_buckets_are_those_of_whole_numbers_for_any_setting(buckets: int, times: int, bidirectional: bool) -> None:
    near = buckets // (4 if bidirectional else 2)
    distance = near * times // 2 + 1
    if distance <= near:
        return
    edges = [*range(-2 * near - 20, 2 * near + 20), -distance, distance]
    got = bucket(torch.tensor(edges), buckets, distance, bidirectional=bidirectional).tolist()
    assert got == [exact(difference, buckets, distance, bidirectional) for difference in edges]


def edges(near: int, far: int, distance: int) -> list[int]:
    """The smallest distance of every bucket from ``near`` on, in whole numbers."""
    found = []
    for k in range(far):
        guess = int(near * (distance / near) ** (k / far))
        found.append(
            next(n for n in range(max(guess - 2, 1), guess + 4) if n**far * near**k >= near**far * distance**k)
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", [True, False])
def test_no_setting_of_a_wide_sweep_has_a_wrong_edge(bidirectional: bool) -> None:
    """8 to 128 buckets, distances to 2048: orders of operation in floating point miss 3 to 95 of these settings."""
    distances = [*range(8, 130), *range(130, 257, 3), *range(264, 2049, 24)]
    for buckets in range(8, 129, 4):
        near = buckets // (4 if bidirectional else 2)
        far = buckets // (2 if bidirectional else 1) - near
        for distance in (distance for distance in distances if distance > near):
            first = torch.tensor(edges(near, far, distance))
            around = torch.cat([first - 1, first, first + 1])
            wanted = near - 1 + torch.searchsorted(first, around, right=True)
            wanted = torch.where(around < near, around, wanted)
            got = bucket(-around, buckets, distance, bidirectional=bidirectional)
            assert torch.equal(got, wanted), (buckets, distance)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_grow_with_the_distance_and_leave_none_out(bidirectional: bool) -> None:
    before = bucket(-torch.arange(400), bidirectional=bidirectional)
    assert bool((before.diff() >= 0).all()) and bool((before.diff() <= 1).all())
    assert int(before.max()) == (15 if bidirectional else 31)
    after = bucket(torch.arange(1, 400), bidirectional=bidirectional)
    assert torch.equal(after, before[1:] + 16) if bidirectional else not after.any()


@pytest.mark.parametrize("bidirectional", [True, False])
def test_s34_a_step_has_the_row_of_the_whole(bidirectional: bool) -> None:
    encoder, positions = T5Bias(4, bidirectional=bidirectional), Positions.sequence(6)
    whole = encoder(positions).dense()
    step = encoder(positions[:, 5], positions).dense()
    assert torch.equal(step[:, :, 0], whole[:, :, 5])


def test_s37_beyond_the_limit_distances_are_clipped() -> None:
    encoder = T5Bias(2, buckets=8, distance=10)
    bias = encoder(Positions.sequence(11)).dense()
    assert torch.equal(bias[0, :, 10, 0], encoder.table[3]) and torch.equal(bias[0, :, 0, 10], encoder.table[7])
    far = encoder(Positions({"order": [[0, 10**12]]})).dense()
    assert torch.equal(far[0, :, 1, 0], encoder.table[3])


@pytest.mark.parametrize("shift", [1e3, 1e6, 0.5, 0.37, 450_000.1])
def test_moving_every_position_changes_nothing(shift: float) -> None:
    encoder, places = T5Bias(2), torch.tensor([[0.0, 1, 2, 9, 300]], dtype=torch.float64)
    assert torch.equal(
        encoder(Positions({"order": places})).dense(), encoder(Positions({"order": places + shift})).dense()
    )


def test_the_factor_on_scores_undoes_the_division_that_t5_does_not_do() -> None:
    q, k, v = (torch.randn(1, 2, 5, 16, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    encoder, positions = T5Bias(2, scale=4.0), Positions.sequence(5)
    wanted = (q @ k.mT + encoder(positions).dense()).softmax(-1) @ v
    torch.testing.assert_close(sp.attend(q, k, v, encoder(positions)), wanted, atol=1e-5, rtol=0)


def test_the_gradient_of_the_table_counts_pairs() -> None:
    encoder = T5Bias(1, buckets=4, distance=3)
    encoder(Positions.sequence(3)).dense().sum().backward()
    assert encoder.table.grad is not None and encoder.table.grad.flatten().tolist() == [3, 3, 0, 3]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"buckets": 2}, "buckets needs a whole number of at least 4, got 2"),
        ({"buckets": 33}, "buckets 33 .even in two directions. need a distance above 8, got 128"),
        ({"distance": 8}, "need a distance above 8, got 8"),
        ({"bidirectional": False, "distance": 16}, "need a distance above 16, got 16"),
        ({"heads": 0}, "heads needs a whole number"),
    ],
)
def test_tables_that_cannot_be_are_refused(arguments: dict[str, int], text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        T5Bias(**{"heads": 2, **arguments})


@pytest.mark.parametrize("bidirectional", [True, False])
def test_peer_t5_in_transformers(bidirectional: bool) -> None:
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    differences = torch.arange(-300, 301)
    for buckets, distance in ((32, 128), (64, 256)):
        wanted = t5.T5Attention._relative_position_bucket(differences, bidirectional, buckets, distance)
        assert torch.equal(bucket(differences, buckets, distance, bidirectional=bidirectional), wanted)
