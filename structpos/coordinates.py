"""Coordinates from what people have: tensors, arrays, lists, table columns, instants; checked once, at the door."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from structpos.errors import PositionError

if TYPE_CHECKING:
    from structpos.positions import Positions

Column = np.ndarray[Any, np.dtype[Any]]  # int64, or float64 with NaN for an empty cell
_FIRST, _LAST = np.datetime64("1678-01-01", "s"), np.datetime64("2261-12-31", "s")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_coordinate(name: str, value: Any) -> Tensor:
    """Int64 or float64 coordinates, `batch seq`, from numbers of any exact kind."""
    tensor = as_tensor(f"The axis '{name}'", value)
    if tensor.dtype in (torch.float16, torch.bfloat16):
        raise PositionError(
            f"The axis '{name}' came as {tensor.dtype}, which makes neighbours equal (257 is 256 in bfloat16). "
            "Keep coordinates int64 or float64."
        )
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise PositionError(f"The axis '{name}' needs integer or float coordinates, got {tensor.dtype}.")
    return as_rows(name, tensor.double() if tensor.is_floating_point() else tensor.long())


def as_flags(name: str, value: Any) -> Tensor:
    """True and False, `batch seq`, from booleans or 0 and 1."""
    tensor = as_tensor(name, value)
    if tensor.is_floating_point():
        raise PositionError(f"{name} needs True/False or 1/0, got {tensor.dtype}; a mask added to scores is no mask.")
    return as_rows(name, tensor.bool())


def as_tensor(what: str, value: Any) -> Tensor:
    """Numbers as a tensor.

    Raises:
        PositionError: rows of different lengths, or what is no number of int64 or float64.
    """
    if isinstance(value, Tensor):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        raise PositionError(
            f"{what} came as rows of different lengths. Make a Positions of each row and Positions.collate them."
        ) from None
    if array.dtype.kind not in "biufc" or (array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any()):
        raise PositionError(f"{what} needs numbers of int64 or float64, got {array.dtype}, e.g. {array.ravel()[:1]}.")
    return torch.as_tensor(array)


def as_numbers(name: str, value: Any, device: torch.device | str | None = None) -> Tensor:
    """Whole numbers, `batch seq`: ids of documents, or numbers of tokens."""
    tensor = as_tensor(name, value).to(device)
    if tensor.is_floating_point() and tensor.numel():
        raise PositionError(f"{name} needs whole numbers, got {tensor.dtype}.")
    return as_rows(name, tensor).long()


def whole(what: str, *values: Any) -> None:
    """Refuse counts that are none; a compiler's open length is one.

    Raises:
        PositionError: naming what came.
    """
    for value in values:
        if isinstance(value, (bool, Tensor)) or not hasattr(value, "__index__") or value < 0:
            raise PositionError(f"{what} needs a whole number of at least 0, got {value!r}.")


def as_rows(name: str, tensor: Tensor) -> Tensor:
    """`batch seq`; a single row becomes a batch of one."""
    if tensor.dim() == 1:
        tensor = tensor[None]
    if tensor.dim() != 2:
        raise PositionError(
            f"'{name}' needs the shape (batch, seq), got {tuple(tensor.shape)}. Positions say where tokens are; "
            "features of width d belong to the model's input."
        )
    return tensor


def _column(name: str, values: Any) -> Column:
    """A table's column as int64, or as float64 with NaN for an empty cell."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.dtype == object:
        array = np.array([np.nan if _empty(value) else value for value in array])
    if array.dtype.kind not in "iufb":
        raise PositionError(f"The column '{name}' needs numbers, got {array.dtype}, e.g. {array[:1].tolist()}.")
    return array.astype(np.int64 if array.dtype.kind in "ib" else np.float64, copy=False)


def _empty(value: object) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"


def _nanoseconds(text: object) -> int:
    try:
        instant = datetime.fromisoformat(str(text))
    except ValueError:
        raise PositionError(f"'{text}' is no ISO 8601 instant, e.g. 2024-01-01T00:10Z.") from None
    if instant.tzinfo is None:
        raise PositionError(f"'{text}' names no zone, so it is no instant. Write 2024-01-01T00:10Z or ...+01:00.")
    nanoseconds = (instant - _EPOCH) // timedelta(microseconds=1) * 1000
    if not -(2**63) < nanoseconds < 2**63 - 1000:
        raise PositionError(_outside(text))
    beyond = re.search(r"[.,]\d{6}(\d{1,3})", str(text))  # digits that datetime drops
    return nanoseconds + (int(beyond[1].ljust(3, "0")) if beyond else 0)


def _outside(instant: object) -> str:
    return f"'{instant}' lies outside 1678 to 2261, which int64 nanoseconds reach. Put elapsed time on an axis instead."


def check_positions(positions: Positions) -> None:
    """Bring tensors into their one form, in place, and refuse what contradicts itself."""
    if not positions.coordinates:
        raise PositionError("Positions need at least one axis, got none, e.g. Positions({'order': [[0, 1, 2]]}).")
    positions.coordinates = {name: as_coordinate(name, value) for name, value in positions.coordinates.items()}
    first, shape = next((name, tensor.shape) for name, tensor in positions.coordinates.items())
    positions.present = {name: as_flags(f"present['{name}']", value) for name, value in positions.present.items()}
    if positions.mask is not None:
        positions.mask = as_flags("mask", positions.mask)
    if positions.segments is not None:
        positions.segments = as_numbers("segments", positions.segments)
    others = {**positions.coordinates, **positions.present, "mask": positions.mask, "segments": positions.segments}
    for name, tensor in others.items():
        if tensor is not None and tensor.shape != shape:
            raise PositionError(
                f"Axes need one shape (batch, seq): '{first}' has {tuple(shape)}, '{name}' {tuple(tensor.shape)}."
            )
    for name in (*positions.present, *positions.even):
        if name not in positions.coordinates:
            raise PositionError(
                f"'{name}' is no axis of these positions; they have {', '.join(positions.coordinates)}."
            )
    if positions.segments is not None:
        documents_stand_together(positions.segments, positions.mask)
    for name, tensor in positions.coordinates.items():
        flags = [flag for flag in (positions.present.get(name), positions.mask) if flag is not None]
        positions.coordinates[name] = finite(name, tensor, flags)
    for name, step in positions.even.items():
        _keeps_step(positions, name, step)


def _keeps_step(positions: Positions, name: str, step: float) -> None:
    """Refuse an axis that is called even and is not, where looking costs no wait: biases would believe it."""
    values = positions.coordinates[name]
    if values.device.type != "cpu" or torch.compiler.is_compiling():
        return
    steps = values.diff(dim=1)
    if bool((steps == step).all()):
        return
    neighbours = positions.real()[:, 1:] & positions.real()[:, :-1]
    if positions.segments is not None:
        neighbours = neighbours & (positions.segments.diff(dim=1) == 0)
    steps = steps[neighbours]
    if bool((steps != step).any()):
        raise PositionError(
            f"The axis '{name}' is called even with step {step:g}, but two neighbours lie "
            f"{steps[steps != step][0].item():g} apart. Leave it out of even=."
        )


def as_instants(instants: Any) -> tuple[Tensor, float | None]:
    """Instants as int64 nanoseconds, `batch seq`, and their step where it is one and the same throughout."""
    if isinstance(instants, Tensor):
        values = instants
    else:
        array = np.asarray(instants)
        if array.dtype.kind in "UO":
            array = np.array([_nanoseconds(text) for text in array.ravel()], dtype=np.int64).reshape(array.shape)
        elif array.dtype.kind == "M":
            if np.isnat(array).any():
                raise PositionError(
                    f"Instant {int(np.isnat(array).argmax())} is missing (NaT). Drop it or fill it first."
                )
            if ((array < _FIRST) | (array > _LAST)).any():
                raise PositionError(_outside(array[(array < _FIRST) | (array > _LAST)][0]))
            array = array.astype("datetime64[ns]").astype(np.int64)
        values = torch.from_numpy(array.copy())
    if values.is_floating_point():
        raise PositionError(
            f"Instants are whole nanoseconds, texts or datetime64; got {values.dtype}, which rounds them. "
            "Elapsed times go on an axis as they are: Positions({'time': hours})."
        )
    values = as_rows("time", values).long()
    steps = values.diff(dim=1)
    return values, float(steps[0, 0]) if steps.numel() and bool((steps == steps[0, 0]).all()) else None


def layout_axes(table: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, float]]:
    """Coordinates, presence and evenness of a table of words; the axes are told at ``Positions.layout``."""
    if not hasattr(table, "keys"):
        raise PositionError(f"A layout table holds columns by name, got {type(table).__name__}.")
    names = set(table.keys())
    columns: dict[str, Column] = {
        name: _column(name, table[name]) for name in ("order", "page", "line", "column") if name in names
    }
    if len({len(values) for values in columns.values()}) > 1:
        told = ", ".join(f"'{name}' {len(values)}" for name, values in columns.items())
        raise PositionError(f"Columns of a layout table need one length, got {told}.")
    if "page" in columns and "line" in columns:
        columns["line_from_bottom"] = _from_bottom(columns["page"], columns["line"])
    for axis, edge in (("x", "x0"), ("y", "y1")):
        if edge in names:
            columns[axis] = 1000.0 * _column(edge, table[edge])
    if not columns:
        raise PositionError(
            "A layout table needs columns such as order, page, line, column, x0, y1; "
            f"got {', '.join(map(str, table.keys())) or 'none'}."
        )
    coordinates: dict[str, Tensor] = {}
    present: dict[str, Tensor] = {}
    for name, values in columns.items():
        if values.dtype.kind == "f":
            missing = np.isnan(values)
            if missing.any():
                values = np.where(missing, 0.0, values)
                present[name] = torch.from_numpy(~missing)[None]
            whole = values.astype(np.int64) if name not in "xy" else values
            values = whole if (whole == values).all() else values
        coordinates[name] = torch.from_numpy(np.ascontiguousarray(values))[None]
    order = columns.get("order")
    even = order is not None and bool((np.diff(order) == 1).all())  # an empty cell is NaN, and NaN is no step
    return coordinates, present, {"order": 1.0} if even else {}


def _from_bottom(page: Column, line: Column) -> Column:
    """Lines counted upwards from the last line of each page; as whole as pages and lines are."""
    known = ~(np.isnan(page) | np.isnan(line))
    pages, lines = page[known], line[known]
    if not len(pages):
        return np.full(len(line), np.nan)
    turned = np.diff(pages)
    in_order = (turned >= 0).all()
    which = np.cumsum(np.append(0, turned > 0)) if in_order else np.unique(pages, return_inverse=True)[1]
    last = np.full(int(which.max()) + 1, lines.min(), lines.dtype)
    np.maximum.at(last, which, lines)
    if known.all():
        return last[which] - lines
    from_bottom = np.full(len(line), np.nan)
    from_bottom[known] = last[which] - lines
    return from_bottom


def numbers_in_runs(ids: Tensor, flags: Tensor) -> Tensor:
    """0, 1, 2, ... for the tokens within each run of equal ids, `batch seq`; what is no token is not counted."""
    if flags.shape != ids.shape:
        raise PositionError(f"mask has {tuple(flags.shape)}, segments {tuple(ids.shape)}; they need one shape.")
    count = flags.long().cumsum(1)
    fresh = torch.ones_like(flags)
    fresh[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return count - 1 - torch.where(fresh, count - flags.long(), 0).cummax(1).values


def unbroken(flags: Tensor) -> bool:
    """Whether the tokens of every row stand together, where that can be seen without waiting for a device."""
    if flags.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    starts = flags[:, :1].sum(1) + (flags[:, 1:] & ~flags[:, :-1]).sum(1)
    return bool((starts <= 1).all())


def finite(name: str, coordinate: Tensor, flags: list[Tensor]) -> Tensor:
    """The coordinate with 0 where a token has no place, refused where one has but it is no number.

    Raises:
        PositionError: NaN or infinity at a token that has the axis; looked for on the CPU only.
    """
    if not coordinate.is_floating_point() or coordinate.device.type != "cpu" or torch.compiler.is_compiling():
        return coordinate
    bad = ~coordinate.isfinite()
    if not bool(bad.any()):
        return coordinate
    needed = torch.ones_like(bad)
    for flag in flags:
        needed = needed & flag
    if bool((bad & needed).any()):
        row, token = (bad & needed).nonzero()[0].tolist()
        raise PositionError(
            f"The axis '{name}' is {coordinate[row, token].item()} at token {token} of row {row}. "
            f"Say where a token has no place: present={{'{name}': ...}}."
        )
    return coordinate.masked_fill(bad, 0.0)


def documents_stand_together(segments: Tensor, flags: Tensor | None) -> None:
    """Refuse documents whose tokens are mixed with others'.

    Raises:
        PositionError: naming the document; looked for on the CPU only.
    """
    if segments.device.type != "cpu" or torch.compiler.is_compiling():
        return
    for number, row in enumerate(segments):
        runs = row if flags is None else row[flags[number]]
        ids, counts = runs.unique_consecutive().unique(return_counts=True)
        if bool((counts > 1).any()):
            raise PositionError(
                f"In row {number} document {int(ids[counts > 1][0])} stands in several pieces. "
                "The tokens of a document stand together; give later pieces a number of their own."
            )
