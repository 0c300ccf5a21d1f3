"""Layout: the published form and its relatives, and what tells two signatures on two pages apart."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import structpos as sp
from structpos import Layout, Positions, Sinusoidal

WORDS = Positions.layout(
    {
        "order": [0, 1, 2, 3],
        "page": [0, 0, 1, 1],
        "line": [0, 7, 0, 3],
        "column": [3, 12, 40, 3],
        "x0": [0.1, 0.5, 0.8, 0.1],
        "y1": [0.1, 0.9, 0.1, 0.5],
    }
)


def test_the_published_shares() -> None:
    encoder = Layout(32)
    assert encoder.widths == {"order": 16, "line": 8, "column": 8} and encoder.axes == ("order", "line", "column")
    got = encoder(WORDS)
    for axis, place in (("order", slice(0, 16)), ("line", slice(16, 24)), ("column", slice(24, 32))):
        width = place.stop - place.start
        assert torch.equal(got[..., place], Sinusoidal(width, axis)(WORDS))


def test_shares_with_page_and_bottom() -> None:
    assert Layout(32, page=True).widths == {"order": 16, "page": 4, "line": 6, "column": 6}
    assert Layout(16, bottom=True).widths == {"order": 8, "line": 2, "line_from_bottom": 2, "column": 4}
    assert sum(Layout(64, page=True, bottom=True).widths.values()) == 64
    assert Layout(16, place="xy").widths == {"order": 8, "y": 4, "x": 4}


def test_axes_at_full_width_through_gates() -> None:
    encoder = Layout(6, join="gated", page=True)
    wanted = sum(Sinusoidal(6, axis)(WORDS) for axis in ("order", "page", "line", "column"))
    torch.testing.assert_close(encoder(WORDS), wanted)
    assert encoder.learned and not Layout(8).learned


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"width": 12}, r"among order, line, column and needs a multiple of 8, got 12\. Use 16, or join='gated'"),
        ({"width": 24, "page": True}, "multiple of 32, got 24"),
        ({"width": 16, "page": True, "bottom": True}, r"multiple of 64, got 16\. Use 64"),
        ({"width": 8, "place": "box"}, "place is one of 'line_column', 'xy'; got 'box'"),
        ({"width": 8, "join": "sum"}, "join is one of 'concat', 'gated'; got 'sum'"),
        ({"width": 1}, "width needs a whole number of at least 2, got 1"),
    ],
)
def test_widths_that_cannot_be_shared_are_refused_with_the_next_that_can(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        Layout(**arguments)


def test_the_width_that_an_error_names_works() -> None:
    for width in (2, 12, 30, 65):
        try:
            Layout(width, page=True, bottom=True)
        except sp.PositionError as error:
            assert Layout(int(str(error).split("Use ")[1].split(",")[0]), page=True, bottom=True)


def test_top_and_bottom_of_a_page_are_different_places() -> None:
    """ "Third page, top" and "third page, bottom", and the same line of two pages."""
    code = Layout(64, page=True, bottom=True)(WORDS.with_axes(order=[[0, 0, 0, 0]]))[0]
    apart = torch.cdist(code, code).fill_diagonal_(torch.inf)
    assert float(apart.min()) > 0.5


def test_a_word_without_a_line_has_its_other_axes() -> None:
    table = {"order": [0, 1], "page": [0, 0], "line": [3, None], "column": [4, 9]}
    got = Layout(16)(Positions.layout(table))
    assert not got[0, 1, 8:12].any() and got[0, 1, :8].any() and got[0, 1, 12:].any()


def test_an_axis_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(
        sp.PositionError, match=r"Layout reads the axis 'line'; these positions have order\. Add it with"
    ):
        Layout(8)(Positions.sequence(3))


def test_the_base_is_that_of_all_axes() -> None:
    assert torch.equal(Layout(8, base=100.0)(WORDS)[..., 4:6], Sinusoidal(2, "line", base=100.0)(WORDS))
    narrow, wide = Layout(32, base=100.0)(WORDS), Layout(32)(WORDS)
    assert not torch.allclose(narrow[..., 16:24], wide[..., 16:24])
