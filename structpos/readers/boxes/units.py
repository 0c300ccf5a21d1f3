"""Boxes of any unit as fractions of their page: the unit found or asked for, corners put right, edges kept inside."""

from __future__ import annotations

import numpy as np

from structpos.errors import PositionError
from structpos.readers.boxes.raw import Hints, Numbers, RawWords, Size, Unit, bad
from structpos.readers.tidy import TidyBoxes, tidy_boxes

_UNITS = ("fraction", "thousandth", "pixel", "point")
_STRAY = 0.05  # a box that reaches further than this beyond its page does not belong to a page of that size


def to_fractions(raw: RawWords, hints: Hints) -> tuple[TidyBoxes, dict[int, Size], Unit]:
    """Boxes of a file as fractions of their pages.

    Returns:
        The boxes, in 0..1, with what had to be mended; the size of each page in the file's unit, where it is known; the
        unit.

    Raises:
        ReadError: the unit or the page's size cannot be known, or contradicts the boxes.
    """
    sizes = _sizes(raw, hints)
    unit = _unit(raw, hints, sizes)
    full = {"fraction": 1.0, "thousandth": 1000.0}.get(unit)
    if full is not None:
        page = np.full((len(raw.boxes), 2), full)
    else:
        for index, number in enumerate(raw.page.tolist()):
            if number not in sizes:
                example = f"page_size={{{number}: (width, height)}}"
                raise bad(raw.path, f"the size of page {number} ({raw.place(index)}) is not known; pass {example}.")
        page = np.array([sizes[number] for number in raw.page.tolist()]).reshape(-1, 2)
    _refuse_strays(raw, page, unit)
    tidied = tidy_boxes(raw.boxes, page[:, 0], page[:, 1])
    return tidied._replace(boxes=tidied.boxes / np.tile(page, 2)), sizes, unit


def _sizes(raw: RawWords, hints: Hints) -> dict[int, Size]:
    """Page sizes by page from 0; what the caller says comes first."""
    given = hints.page_size
    if given is None:
        sizes = dict(raw.sizes)
    elif isinstance(given, tuple | list):
        sizes = dict.fromkeys({*raw.page.tolist(), *raw.sizes}, (given[0], given[1]))
    else:
        sizes = raw.sizes | {page: (size[0], size[1]) for page, size in given.items()}
    for page, size in sizes.items():
        if not all(np.isfinite(side) and side > 0 for side in size):
            raise bad(raw.path, f"page {page} is {size[0]:g} x {size[1]:g}; a width and a height above 0 are needed.")
    return sizes


def _unit(raw: RawWords, hints: Hints, sizes: dict[int, Size]) -> Unit:
    """The unit of the boxes: what was said, what the format fixes, what only one reading allows; else an error."""
    if hints.unit is not None:
        if hints.unit not in _UNITS:
            raise PositionError(f"Unknown unit '{hints.unit}'. Known: {', '.join(_UNITS)}.")
        return hints.unit
    if raw.unit is not None:
        return raw.unit
    if not len(raw.boxes):
        return "fraction"
    low, high = float(raw.boxes.min()), float(raw.boxes.max())
    # A whole page of words inside one pixel or one thousandth does not happen; only fractions look like this.
    if high <= 1 + _STRAY and low >= -_STRAY and (raw.boxes % 1 != 0).any():
        return "fraction"
    if sizes:
        return "pixel"
    span = f"its boxes run from {low:g} to {high:g} and the file names no page size"
    if high <= 1000 * (1 + _STRAY):
        raise bad(
            raw.path,
            f"{span}: they may be thousandths of the page, pixels or points. Pass unit='thousandth', or "
            "page_size=(width, height) in the unit of the boxes.",
        )
    raise bad(raw.path, f"{span}. Pass page_size=(width, height) in the unit of the boxes.")


def _refuse_strays(raw: RawWords, page: Numbers, unit: Unit) -> None:
    """Clamp a few rogue boxes, but never a file in another unit: its words would all end up at the page's edge."""
    if not len(raw.boxes):
        return
    beyond = np.maximum(raw.boxes / np.tile(page, 2) - 1, -raw.boxes / np.tile(page, 2))
    stray = np.any(beyond > _STRAY, axis=1)
    if np.mean(stray) > 0.1:
        index = int(np.argmax(stray))
        box = ", ".join(f"{value:g}" for value in raw.boxes[index])
        page_text = f"a page of {page[index, 0]:g} x {page[index, 1]:g} ({unit})"
        raise bad(
            raw.path,
            f"{np.sum(stray)} of {len(raw.boxes)} boxes reach beyond their page, the first in {raw.place(index)}: "
            f"({box}) on {page_text}. Check unit= and page_size=.",
        )
    # The other way round: numbers of 0..1 read as pixels or thousandths would put all words into one corner.
    if len(raw.boxes) > 1 and unit != "fraction" and np.abs(raw.boxes).max() <= 1:
        raise bad(raw.path, f"all boxes lie within 0..1, which does not fit unit='{unit}'. Pass unit='fraction'.")
