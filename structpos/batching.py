"""Positions made of positions: joined, padded into a batch, packed into a row, taken token by token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from structpos.coordinates import as_flags, as_numbers
from structpos.errors import PositionError

if TYPE_CHECKING:
    from structpos.positions import Positions


def concat(cls: type[Positions], parts: Sequence[Positions]) -> Positions:
    """See ``Positions.concat``."""
    parts = _checked(cls, parts)
    if len(parts) == 1:
        return parts[0]
    batches = [part.shape[0] for part in parts]
    if any(batch != batches[0] for batch in batches):
        raise PositionError(f"Parts need the same batch, got {batches}.")
    if len({part.segments is None for part in parts}) > 1:
        raise PositionError("Some parts are packed and some are not; pack all of them or none.")
    segments = [part.segments for part in parts if part.segments is not None]
    return cls(
        {axis: torch.cat([_filled(part, axis, dtype) for part in parts], 1) for axis, dtype in _dtypes(parts).items()},
        present={axis: torch.cat([part.presence(axis) for part in parts], 1) for axis in _lacking(parts)},
        mask=torch.cat([part.real() for part in parts], 1) if any(part.mask is not None for part in parts) else None,
        segments=torch.cat(segments, 1) if segments else None,
        _checked=True,
    )


def collate(cls: type[Positions], items: Sequence[Positions], side: str) -> Positions:
    """See ``Positions.collate``."""
    if side not in ("right", "left"):
        raise PositionError(f"Padding goes to the 'right' or the 'left', got '{side}'.")
    items = _checked(cls, items)
    length = max(item.shape[1] for item in items)
    packed = any(item.segments is not None for item in items)
    rows = [_padded(item, length, side) for item in items]
    even = {axis: step for axis, step in items[0].even.items() if all(item.even.get(axis) == step for item in items)}
    return cls(
        {axis: torch.cat([_filled(row, axis, dtype) for row in rows]) for axis, dtype in _dtypes(rows).items()},
        present={axis: torch.cat([row.presence(axis) for row in rows]) for axis in _lacking(rows)},
        mask=torch.cat([row.real() for row in rows]) if any(row.mask is not None for row in rows) else None,
        segments=torch.cat([_documents(row) for row in rows]) if packed else None,
        even=even,
        _checked=True,
    )


def pack(cls: type[Positions], items: Sequence[Positions]) -> Positions:
    """See ``Positions.pack``."""
    items = _checked(cls, items)
    for number, item in enumerate(items):
        if item.shape[0] != 1 or item.mask is not None or item.segments is not None:
            raise PositionError(f"pack takes single documents without padding; item {number} is {item!r}.")
    row = concat(cls, items)
    ids = [torch.full(item.shape, number, device=item.device) for number, item in enumerate(items)]
    steps = [item.even for item in items]
    return cls(
        row.coordinates,
        present=row.present,
        segments=torch.cat(ids, 1),
        even={axis: step for axis, step in steps[0].items() if all(other.get(axis) == step for other in steps)},
        _checked=True,
    )


def take(positions: Positions, index: Any, mask: Any | None) -> Positions:
    """See ``Positions.take``."""
    if not isinstance(index, Tensor):
        if index and not isinstance(index[0], (list, tuple)):
            index = [index]
        index = [[-1 if number is None else number for number in row] for row in index]
    index = as_numbers("index", index, positions.device)
    batch, length = positions.shape
    if index.shape[0] != batch:
        raise PositionError(f"index has {index.shape[0]} rows, these positions {batch}.")
    if index.device.type == "cpu" and index.numel() and (index.max() >= length or index.min() < -1):
        raise PositionError(f"index runs from {int(index.min())} to {int(index.max())}; there are {length} tokens.")
    known, safe = index >= 0, index.clamp(min=0)
    flags = None if mask is None else as_flags("mask", torch.as_tensor(mask, device=positions.device))
    if flags is None and positions.mask is not None:
        flags = positions.mask.gather(1, safe) | ~known
    return type(positions)(
        {axis: torch.where(known, tensor.gather(1, safe), 0) for axis, tensor in positions.coordinates.items()},
        present={axis: positions.presence(axis).gather(1, safe) & known for axis in positions.axes},
        mask=flags,
        segments=None if positions.segments is None else positions.segments.gather(1, _nearest(safe, known)),
    )


def _checked(cls: type[Positions], items: Sequence[Positions]) -> list[Positions]:
    items = list(items)
    for number, item in enumerate(items):
        if not isinstance(item, cls):
            raise PositionError(f"Expected Positions, item {number} is {type(item).__name__}.")
    if not items:
        raise PositionError("Expected at least one Positions, got an empty list.")
    return items


def _padded(item: Positions, length: int, side: str) -> Positions:
    missing = length - item.shape[1]
    if not missing:
        return item
    ends = (0, missing) if side == "right" else (missing, 0)
    return type(item)(
        {axis: pad(tensor, ends) for axis, tensor in item.coordinates.items()},
        present={axis: pad(flags, ends) for axis, flags in item.present.items()},
        mask=pad(item.real(), ends),
        segments=None if item.segments is None else pad(item.segments, ends),
        _checked=True,
    )


def _filled(part: Positions, axis: str, dtype: torch.dtype) -> Tensor:
    tensor = part.coordinates.get(axis)
    return torch.zeros(part.shape, dtype=dtype, device=part.device) if tensor is None else tensor.to(dtype)


def _documents(part: Positions) -> Tensor:
    return torch.zeros(part.shape, dtype=torch.int64, device=part.device) if part.segments is None else part.segments


def _dtypes(parts: Sequence[Positions]) -> dict[str, torch.dtype]:
    """The union of axes; an axis is float64 where any part has it so."""
    dtypes: dict[str, torch.dtype] = {}
    for part in parts:
        for axis, tensor in part.coordinates.items():
            dtypes[axis] = torch.promote_types(dtypes.get(axis, torch.int64), tensor.dtype)
    return dtypes


def _lacking(parts: Sequence[Positions]) -> list[str]:
    """The axes that some token of some part lacks."""
    return [
        axis for axis in _dtypes(parts) if any(axis not in part.coordinates or axis in part.present for part in parts)
    ]


def _nearest(index: Tensor, known: Tensor) -> Tensor:
    """The index, and for a token of no place that of the one before it, or after it at the start: its document."""
    place = torch.arange(index.shape[1], device=index.device).expand_as(index)
    before = torch.where(known, place, -1).cummax(1).values
    first = known.long().argmax(1, keepdim=True) if index.shape[1] else before
    return index.gather(1, torch.where(before < 0, first, before))
