"""Positions: where each token is, as coordinates on named axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor
from torch.utils.data._utils.collate import default_collate_fn_map

from structpos import batching
from structpos.coordinates import (
    as_flags,
    as_instants,
    as_numbers,
    check_positions,
    layout_axes,
    numbers_in_runs,
    unbroken,
    whole,
)
from structpos.errors import PositionError
from structpos.pytrees import Static, register

Index = int | slice


class Positions:
    """Where each token is: a coordinate on every named axis that the token has.

    Coordinates are int64 or float64; they move between devices and are never cast to a model's dtype. A token may lack
    an axis (a caption has no row, [CLS] has nothing); encoders then leave it alone. Positions also carry which tokens
    are padding, which document of a packed row a token belongs to, and facts that hold whatever the values: nothing
    downstream looks into the tensors to choose its way.

    Args:
        coordinates: For each axis an integer or float tensor, array or list, `batch seq` or `seq`.
        present: For each axis some token lacks: True where the token has it, `batch seq`.
        mask: True for a token, False for padding, `batch seq`; None where nothing is padded.
        segments: The document a token belongs to in a packed row, `batch seq`; None for one document a row.
        even: Axes on which consecutive tokens of a document lie one fixed step apart, with that step.

    Raises:
        PositionError: shapes differ, or coordinates come in a half type, which cannot tell positions apart.

    Example:
        >>> Positions({"line": [[0, 0, 1]], "column": [[2, 9, 2]]})
        Positions(batch 1, seq 3: line 0..1, column 2..9)
        >>> Positions.sequence(4)["order"]
        tensor([[0, 1, 2, 3]])
    """

    coordinates: dict[str, Shaped[Tensor, "batch seq"]]
    present: dict[str, Bool[Tensor, "batch seq"]]
    mask: Bool[Tensor, "batch seq"] | None
    segments: Int64[Tensor, "batch seq"] | None
    even: dict[str, float]

    def __init__(
        self,
        coordinates: Mapping[str, Any],
        *,
        present: Mapping[str, Any] | None = None,
        mask: Any | None = None,
        segments: Any | None = None,
        even: Mapping[str, float] | None = None,
        _checked: bool = False,
    ) -> None:
        self.coordinates, self.present, self.even = dict(coordinates), dict(present or {}), dict(even or {})
        self.mask, self.segments = mask, segments
        if not _checked:
            check_positions(self)

    # Ways to make them.

    @classmethod
    def sequence(
        cls,
        length: int | None = None,
        *,
        batch: int = 1,
        start: int = 0,
        mask: Any | None = None,
        segments: Any | None = None,
        device: torch.device | str | None = None,
    ) -> Positions:
        """Tokens numbered 0, 1, 2, ... on the axis ``order``.

        Args:
            length: Number of tokens a row, or
            mask: True for a token, False for padding, `batch seq`; only tokens are counted, so padding on either side
                changes nothing, or
            segments: The document of each token in a packed row, `batch seq`; each document counts from ``start``.
            batch: Number of rows, with ``length``.
            start: Number of the first token.
            device: Where the tensors live; the place of ``mask`` or ``segments`` by default.

        Example:
            >>> Positions.sequence(mask=[[False, True, True]])["order"][0, 1:]
            tensor([0, 1])
            >>> Positions.sequence(segments=[[0, 0, 0, 1, 1]])["order"]
            tensor([[0, 1, 2, 0, 1]])
        """
        if length is not None and (mask is not None or segments is not None):
            raise PositionError("Positions.sequence takes a length, or a mask or segments, which have their own.")
        if segments is not None:
            ids = as_numbers("segments", segments, device)
            flags = None if mask is None else as_flags("mask", mask).to(ids.device)
            order = numbers_in_runs(ids, torch.ones_like(ids, dtype=torch.bool) if flags is None else flags) + start
            even = {"order": 1} if flags is None or unbroken(flags) else None
            return cls({"order": order}, mask=flags, segments=ids, even=even)
        if mask is not None:
            flags = as_flags("mask", mask).to(device)
            order = flags.long().cumsum(1) - 1 + start
            return cls({"order": order}, mask=flags, even={"order": 1} if unbroken(flags) else None)
        if length is None:
            raise PositionError("Positions.sequence needs a length, a mask or segments, e.g. Positions.sequence(128).")
        whole("Positions.sequence: length", length)
        order = torch.arange(start, start + length, device=device).expand(batch, length)
        return cls({"order": order}, even={"order": 1}, _checked=True)

    @classmethod
    def layout(cls, table: Mapping[str, Any]) -> Positions:
        """Words on pages, from a table of words as ``read_pdf`` gives it: one row of a batch, one token a word.

        Axes, for the columns there are: ``order`` (reading order), ``page``, ``line`` (visual line of the page, from
        the top), ``line_from_bottom`` (0 is the page's last line; needs page and line), ``column`` (x-band of the left
        edge, 0-50), ``x`` and ``y`` (left and bottom edge in thousandths of the page). An empty cell means that the
        word has no place on that axis.

        Args:
            table: Columns by name (a pandas DataFrame, a dictionary of arrays or lists, an Arrow table's columns).

        Raises:
            PositionError: none of these columns is there, or a column holds no numbers.

        Example:
            >>> table = {"order": [0, 1, 2], "page": [0, 0, 0], "line": [0, 0, 1], "x0": [0.1, 0.5, 0.1]}
            >>> Positions.layout(table)
            Positions(batch 1, seq 3: order 0..2 even, page 0, line 0..1, line_from_bottom 0..1, x 100..500)
        """
        coordinates, present, even = layout_axes(table)
        return cls(coordinates, present=present, even=even)

    @classmethod
    def timestamps(cls, instants: Any) -> Positions:
        """Instants on the axis ``time``, as int64 nanoseconds since 1970-01-01 UTC.

        Args:
            instants: ISO 8601 texts with a zone or offset, a numpy datetime64 array (UTC), or integers in nanoseconds;
                `seq` or `batch seq`.

        Raises:
            PositionError: a text that is no instant or names no zone, or numbers that are not whole.

        Example:
            >>> Positions.timestamps(["2024-01-01T00:00Z", "2024-01-01T01:10+01:00"])["time"].diff()
            tensor([[600000000000]])
        """
        values, step = as_instants(instants)
        return cls({"time": values}, even=None if step is None else {"time": step})

    @classmethod
    def grid(cls, height: int, width: int, *, batch: int = 1, device: torch.device | str | None = None) -> Positions:
        """Patches of an image, row after row, on the axes ``row`` and ``col``.

        Example:
            >>> Positions.grid(2, 3)["col"]
            tensor([[0, 1, 2, 0, 1, 2]])
        """
        whole("Positions.grid", height, width)
        if height < 1 or width < 1:
            raise PositionError(f"A grid needs at least one row and one column, got {height} x {width}.")
        row = torch.arange(height, device=device)[:, None].expand(height, width).reshape(1, -1).expand(batch, -1)
        col = torch.arange(width, device=device)[None].expand(height, width).reshape(1, -1).expand(batch, -1)
        return cls({"row": row, "col": col}, _checked=True)

    @classmethod
    def concat(cls, parts: Sequence[Positions]) -> Positions:
        """Join several positions along the sequence; a part without an axis is absent on it.

        Example:
            >>> Positions.concat([Positions.sequence(2), Positions.grid(1, 3)])
            Positions(batch 1, seq 5: order 0..1 on 2 of 5, row 0 on 3 of 5, col 0..2 on 3 of 5)
        """
        return batching.concat(cls, parts)

    @classmethod
    def collate(cls, items: Sequence[Positions], *, side: Literal["right", "left"] = "right") -> Positions:
        """Stack rows of different lengths, padded at ``side``; torch's ``default_collate`` does it at the right.

        Example:
            >>> Positions.collate([Positions.sequence(2), Positions.sequence(4)])
            Positions(batch 2, seq 4: order 0..3 even; 2 padded)
        """
        return batching.collate(cls, items, side)

    @classmethod
    def pack(cls, items: Sequence[Positions]) -> Positions:
        """Put several documents into one row; attention never crosses from one to another.

        Args:
            items: Positions of batch 1 without padding.

        Example:
            >>> Positions.pack([Positions.sequence(3), Positions.sequence(2)])
            Positions(batch 1, seq 5: order 0..2 even; 2 documents)
        """
        return batching.pack(cls, items)

    # What they are.

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes, in the order in which they were given."""
        return tuple(self.coordinates)

    @property
    def shape(self) -> tuple[int, int]:
        """Batch and sequence length."""
        tensor = next(iter(self.coordinates.values()))
        return tensor.shape[0], tensor.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return next(iter(self.coordinates.values())).device

    def axis(self, name: str, reader: str = "This") -> Shaped[Tensor, "batch seq"]:
        """The coordinates on one axis; ``reader`` names who asks, for the error.

        Raises:
            PositionError: there is no such axis; the message names those there are.
        """
        if name not in self.coordinates:
            raise PositionError(
                f"{reader} reads the axis '{name}'; these positions have {', '.join(self.axes)}. "
                f"Add it with positions.with_axes({name}=...), or read another axis."
            )
        return self.coordinates[name]

    def real(self) -> Bool[Tensor, "batch seq"]:
        """True for a token, False for padding, also where nothing is padded."""
        return torch.ones(self.shape, dtype=torch.bool, device=self.device) if self.mask is None else self.mask

    def has(self, name: str) -> Bool[Tensor, "batch seq"] | None:
        """True for tokens that have a place on the axis; None where all have, as a fact that needs no look."""
        return self.present.get(name)

    # Ways to change them: each gives new positions.

    def __getitem__(self, index: str | Index | tuple[Index, Index]) -> Any:
        """``positions["line"]`` gives an axis, ``positions[rows, tokens]`` a part, cut by numbers and slices."""
        if isinstance(index, str):
            return self.axis(index)
        rows, tokens = index if isinstance(index, tuple) else (index, slice(None))
        rows, tokens = _slice(rows, self.shape[0], "rows"), _slice(tokens, self.shape[1], "tokens")
        step = 1 if tokens.step is None else tokens.step
        part = self._map(lambda tensor: tensor[rows, tokens])
        part.even = {axis: gap * step for axis, gap in self.even.items()}
        return part

    def with_axes(
        self, *, present: Mapping[str, Any] | None = None, even: Mapping[str, float] | None = None, **coordinates: Any
    ) -> Positions:
        """Add axes, or replace them.

        Example:
            >>> Positions.sequence(3).with_axes(line=[[0, 0, 1]]).axes
            ('order', 'line')
        """
        kept_present = {axis: flags for axis, flags in self.present.items() if axis not in coordinates}
        kept_even = {axis: step for axis, step in self.even.items() if axis not in coordinates}
        return type(self)(
            {**self.coordinates, **coordinates},
            present={**kept_present, **(present or {})},
            mask=self.mask,
            segments=self.segments,
            even={**kept_even, **(even or {})},
        )

    def restrict(self, where: Bool[Tensor, "batch seq"], axes: Iterable[str] | None = None) -> Positions:
        """The same positions with the tokens outside ``where`` absent, on the named axes or on all."""
        chosen = self.axes if axes is None else tuple(axes)
        present = {**self.present, **{axis: self.presence(axis) & where for axis in chosen if axis in self.coordinates}}
        even = {axis: step for axis, step in self.even.items() if axis not in chosen}
        return type(self)(
            self.coordinates, present=present, mask=self.mask, segments=self.segments, even=even, _checked=True
        )

    def take(self, index: Any, *, mask: Any | None = None) -> Positions:
        """Positions of new tokens made from these: sub-words take the place of their word.

        Args:
            index: For each new token the number of the old one, `batch seq`; None or -1 for a token of no place such as
                [CLS] or [SEP], which is then absent on every axis. Lists as a tokenizer's ``word_ids`` are welcome.
            mask: True for a new token, False for padding (a tokenizer's ``attention_mask``).

        Example:
            >>> words = Positions({"line": [[0, 4]]})
            >>> words.take([[None, 0, 0, 1, None]]).present["line"]
            tensor([[False,  True,  True,  True, False]])
        """
        return batching.take(self, index, mask)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Positions:
        """Move to a device; never cast.

        Raises:
            PositionError: a dtype is given, or float64 coordinates go to a device without float64.
        """
        if isinstance(device, torch.dtype):
            raise PositionError(f"Positions are moved, never cast, and got {device}: they stay int64 or float64.")
        target = torch.device(device)
        floats = [axis for axis, tensor in self.coordinates.items() if tensor.is_floating_point()]
        if target.type == "mps" and floats:
            raise PositionError(
                f"The axis '{floats[0]}' is float64, which {target.type} lacks. Encode on the CPU and move the signal."
            )
        return self._map(lambda tensor: tensor.to(target, non_blocking=non_blocking))

    def pin_memory(self, device: torch.device | str | None = None) -> Positions:
        """The same positions in pinned memory; a DataLoader with ``pin_memory=True`` calls this."""
        return self._map(lambda tensor: tensor.pin_memory())

    def leaves(self) -> dict[str, Any]:
        """The tensors by name, for torch's pytrees."""
        present = {f"present {axis}": flags for axis, flags in self.present.items()}
        return {**self.coordinates, **present, "mask": self.mask, "segments": self.segments}

    def static(self) -> Static:
        """What no tensor holds, for torch's pytrees."""
        return tuple(sorted(self.even.items()))

    @classmethod
    def rebuild(cls, leaves: dict[str, Any], static: Static) -> Positions:
        """The inverse of ``leaves`` and ``static``."""
        mask, segments = leaves.pop("mask", None), leaves.pop("segments", None)
        present = {name.removeprefix("present "): leaves.pop(name) for name in [*leaves] if name.startswith("present ")}
        return cls(leaves, present=present, mask=mask, segments=segments, even=dict(static), _checked=True)

    def __repr__(self) -> str:
        batch, length = self.shape
        axes = ", ".join(self._axis_text(axis) for axis in self.axes)
        more = ""
        if self.mask is not None:
            more += "; padded" if self.mask.is_meta else f"; {int((~self.mask).sum())} padded"
        if self.segments is not None:
            more += "; packed" if self.segments.is_meta else f"; {len(self.segments[self.real()].unique())} documents"
        return f"Positions(batch {batch}, seq {length}: {axes}{more})"

    # Parts of the above.

    def _axis_text(self, axis: str) -> str:
        tensor, text = self.coordinates[axis], axis
        if not tensor.is_meta:
            values = tensor[self.real() & self.presence(axis)]
            if values.numel():
                low, high = (
                    f"{value:g}" if values.is_floating_point() else str(int(value)) for value in values.aminmax()
                )
                text += f" {low}" if low == high else f" {low}..{high}"
            if axis in self.present:
                text += f" on {values.numel()} of {int(self.real().sum())}"
        return f"{text} even" if axis in self.even else text

    def _map(self, change: Any) -> Positions:
        return type(self)(
            {axis: change(tensor) for axis, tensor in self.coordinates.items()},
            present={axis: change(tensor) for axis, tensor in self.present.items()},
            mask=None if self.mask is None else change(self.mask),
            segments=None if self.segments is None else change(self.segments),
            even=self.even,
            _checked=True,
        )

    def presence(self, axis: str) -> Tensor:
        """True where the token has the axis, as a tensor in every case."""
        if axis not in self.coordinates:
            return torch.zeros(self.shape, dtype=torch.bool, device=self.device)
        flags = self.present.get(axis)
        return torch.ones(self.shape, dtype=torch.bool, device=self.device) if flags is None else flags


def _slice(index: Index, size: int, what: str) -> slice:
    if isinstance(index, slice):
        if index.step is not None and index.step < 1:
            raise PositionError(f"Positions are cut forwards, got a step of {index.step}; to reorder, use take.")
        return index
    if isinstance(index, int):
        if not -size <= index < size:
            raise PositionError(f"There is no number {index} among {size} {what}.")
        return slice(index, None) if index == -1 else slice(index, index + 1)
    raise PositionError(f"Positions are cut by numbers and slices, got {type(index).__name__}; to gather, use take.")


register(Positions)
default_collate_fn_map[Positions] = lambda batch, *, collate_fn_map=None: Positions.collate(batch)
