"""Signals: what an encoder makes of positions, by where it acts: on the input, on queries and keys, on the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from structpos.errors import PositionError
from structpos.pytrees import Static, register

Pairing = Literal["interleaved", "half"]
Kind = Literal["none", "vector", "rotation", "bias", "signals"]
EVERYTHING = slice(None)


class Rotation:
    """Turns queries and keys by angles that come from their positions.

    Args:
        query_cos, query_sin: Cosine and sine for each query, `batch heads|1 queries pairs`.
        key_cos, key_sin: The same for keys; None where keys are the queries.
        pairing: ``interleaved`` turns (x0, x1), (x2, x3), ...; ``half`` turns (x0, xh), (x1, xh+1), ..., h pairs apart.
        scale: Factor on the softmax scale.
        head_width: Width of the heads it is made for, where the features past its pairs are to pass unchanged; None
            for any.

    Source: RoFormer, Su et al. 2021, equation 34.
    """

    def __init__(
        self,
        query_cos: Float[Tensor, "#batch #heads queries pairs"],
        query_sin: Float[Tensor, "#batch #heads queries pairs"],
        key_cos: Float[Tensor, "#batch #heads keys pairs"] | None = None,
        key_sin: Float[Tensor, "#batch #heads keys pairs"] | None = None,
        *,
        pairing: Pairing = "interleaved",
        scale: float = 1.0,
        head_width: int | None = None,
    ) -> None:
        self.query_cos, self.query_sin, self.key_cos, self.key_sin = query_cos, query_sin, key_cos, key_sin
        self.pairing: Pairing = pairing
        self.scale, self.head_width = scale, head_width

    def query(
        self, q: Float[Tensor, "batch heads queries head_width"]
    ) -> Float[Tensor, "batch heads queries head_width"]:
        """Queries, turned; computed in float32 or better, returned in the dtype of ``q``."""
        return self._turn(q, self.query_cos, self.query_sin)

    def key(self, k: Float[Tensor, "batch heads keys head_width"]) -> Float[Tensor, "batch heads keys head_width"]:
        """Keys, turned."""
        if self.key_cos is None or self.key_sin is None:
            return self._turn(k, self.query_cos, self.query_sin)
        return self._turn(k, self.key_cos, self.key_sin)

    def _turn(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if x.dim() == 4 and self.head_width not in (None, x.shape[-1]) and x.shape[-1] >= 2 * cos.shape[-1]:
            raise PositionError(
                f"This rotation is for heads of width {self.head_width}, got {tuple(x.shape)} (batch, heads, seq, "
                f"head_width). To turn part of a head: Rotary(head_width={x.shape[-1]}, rotate=...)."
            )
        return turn(x, cos, sin, self.pairing)

    def leaves(self) -> dict[str, Any]:
        """The tensors by name, for torch's pytrees."""
        return {name: getattr(self, name) for name in ("query_cos", "query_sin", "key_cos", "key_sin")}

    def static(self) -> Static:
        """What no tensor holds, for torch's pytrees."""
        return self.pairing, self.scale, self.head_width

    @classmethod
    def rebuild(cls, leaves: dict[str, Any], static: Static) -> Rotation:
        """The inverse of ``leaves`` and ``static``."""
        return cls(**leaves, pairing=static[0], scale=static[1], head_width=static[2])

    def __repr__(self) -> str:
        keys = self.query_cos if self.key_cos is None else self.key_cos
        width = 2 * self.query_cos.shape[-1]
        return f"Rotation({self.query_cos.shape[-2]} queries, {keys.shape[-2]} keys, {width} features, {self.pairing})"


def turn(
    x: Float[Tensor, "batch heads seq head_width"],
    cos: Float[Tensor, "#batch #heads seq pairs"],
    sin: Float[Tensor, "#batch #heads seq pairs"],
    pairing: Pairing,
) -> Float[Tensor, "batch heads seq head_width"]:
    """Turn pairs of features: (a, b) becomes (a cos - b sin, a sin + b cos); features past the pairs pass unchanged.

    Raises:
        PositionError: there are more pairs than features, or batches, heads or lengths differ.
    """
    width = 2 * cos.shape[-1]
    if x.dim() != 4 or x.shape[-1] < width or x.shape[-2] != cos.shape[-2]:
        raise PositionError(
            f"This rotation turns {width} features of {cos.shape[-2]} tokens; it needs (batch, heads, seq, head_width) "
            f"and got {tuple(x.shape)}."
        )
    if cos.shape[0] not in (1, x.shape[0]) or cos.shape[1] not in (1, x.shape[1]):
        raise PositionError(
            f"This rotation is for a batch of {cos.shape[0]} and {cos.shape[1]} heads (1 serves all), "
            f"got {tuple(x.shape)} (batch, heads, seq, head_width)."
        )
    work = torch.promote_types(x.dtype, cos.dtype)
    head, rest = (x, None) if x.shape[-1] == width else (x[..., :width], x[..., width:])
    head, cos, sin = head.to(work), cos.to(work), sin.to(work)
    if pairing == "half":
        a, b = head.chunk(2, -1)
        turned = torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    elif torch.compiler.is_compiling():  # a compiler fuses the real form; complex numbers it would not
        a, b = head.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    else:  # one complex product is five times as fast as the same in real pieces
        head = head.contiguous()
        head = head.clone() if head.storage_offset() % 2 else head  # complex numbers begin at an even place
        pairs = torch.view_as_complex(head.unflatten(-1, (-1, 2)))
        turned = torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    turned = turned.to(x.dtype)
    return turned if rest is None else torch.cat([turned, rest], -1)


class Bias:
    """A number for every pair of query and key, added to the scores; computed tile by tile when it is asked for.

    To make one of your own, name its tensors and its plain facts, and write ``shape`` and ``tile``. It holds
    activations, never a Parameter, so that a sharded encoder can let its table go after ``forward``.
    """

    tensors: ClassVar[tuple[str, ...]] = ()
    facts: ClassVar[tuple[str, ...]] = ()
    causal_only: bool = False  # True where it is right only for keys that do not come after the query
    reads_content: bool = False  # True where a tile needs queries and keys
    scale: float = 1.0  # factor on the softmax scale

    def __init_subclass__(cls) -> None:
        """Let torch see the tensors inside every kind of bias."""
        super().__init_subclass__()
        register(cls)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batch (or 1), heads (or 1), queries, keys."""
        raise NotImplementedError(f"{type(self).__name__} needs a shape.")

    def tile(
        self,
        rows: slice,
        columns: slice,
        q: Float[Tensor, "batch heads rows head_width"] | None = None,
        k: Float[Tensor, "batch heads columns head_width"] | None = None,
    ) -> Float[Tensor, "#batch #heads rows columns"]:
        """The bias of some queries and some keys, in float32 or better."""
        raise NotImplementedError(f"{type(self).__name__} needs a tile.")

    def dense(
        self,
        q: Float[Tensor, "batch heads queries head_width"] | None = None,
        k: Float[Tensor, "batch heads keys head_width"] | None = None,
    ) -> Float[Tensor, "#batch #heads queries keys"]:
        """The whole bias."""
        return self.tile(EVERYTHING, EVERYTHING, q, k)

    def diagonals(self) -> Float[Tensor, "#batch #heads diagonals"] | None:
        """One number a diagonal, from key - query = 1 - queries to keys - 1; None where that does not say it all."""
        return None

    def __add__(self, other: Bias) -> Bias:
        if not isinstance(other, Bias):
            return NotImplemented
        return BiasSum([*_parts(self), *_parts(other)])

    def leaves(self) -> dict[str, Any]:
        """The tensors by name, for torch's pytrees."""
        return {name: getattr(self, name) for name in self.tensors}

    def static(self) -> Static:
        """What no tensor holds, for torch's pytrees."""
        return tuple(getattr(self, name) for name in self.facts)

    @classmethod
    def rebuild(cls, leaves: dict[str, Any], static: Static) -> Bias:
        """The inverse of ``leaves`` and ``static``."""
        bias = cls.__new__(cls)
        for name in cls.tensors:
            setattr(bias, name, leaves.get(name))
        for name, value in zip(cls.facts, static, strict=True):
            setattr(bias, name, value)
        return bias

    def __repr__(self) -> str:
        batch, heads, queries, keys = self.shape
        return f"{type(self).__name__}(batch {batch}, heads {heads}, {queries} queries, {keys} keys)"


class BiasSum(Bias):
    """Several biases added."""

    def __init__(self, parts: Sequence[Bias]) -> None:
        self.parts = tuple(parts)
        self.causal_only = any(part.causal_only for part in self.parts)
        self.reads_content = any(part.reads_content for part in self.parts)
        self.scale = 1.0
        for part in self.parts:
            self.scale *= part.scale

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batch (or 1), heads (or 1), queries, keys."""
        shapes = [part.shape for part in self.parts]
        for axis, name in enumerate(("batch", "heads", "queries", "keys")):
            # Compared one by one: a set would fix a length that a compiler keeps open.
            sizes = [shape[axis] for shape in shapes if axis > 1 or shape[axis] != 1]
            if any(size != sizes[0] for size in sizes):
                raise PositionError(f"Biases that are added need the same {name}, got {sorted(set(sizes))}.")
        batch, heads = (max(shape[axis] for shape in shapes) for axis in (0, 1))
        return batch, heads, shapes[0][2], shapes[0][3]

    def tile(self, rows: slice, columns: slice, q: Tensor | None = None, k: Tensor | None = None) -> Tensor:
        """The sum of the parts' tiles."""
        total = self.parts[0].tile(rows, columns, q, k)
        for part in self.parts[1:]:
            total = total + part.tile(rows, columns, q, k)
        return total

    def diagonals(self) -> Tensor | None:
        """The sum of the parts' diagonals, where all have them."""
        lines = [part.diagonals() for part in self.parts]
        known = [line for line in lines if line is not None]
        return None if len(known) < len(lines) else torch.stack(torch.broadcast_tensors(*known)).sum(0)

    def leaves(self) -> dict[str, Any]:
        """The parts, for torch's pytrees."""
        return {str(number): part for number, part in enumerate(self.parts)}

    @classmethod
    def rebuild(cls, leaves: dict[str, Any], static: Static) -> BiasSum:
        """The inverse of ``leaves``; whatever stands in for the parts has no facts of its own."""
        total = cls.__new__(cls)
        total.parts = tuple(leaves.values())
        if all(isinstance(part, Bias) for part in total.parts):
            cls.__init__(total, total.parts)
        return total


class DistanceBias(Bias):
    """A bias that depends on the difference of two coordinates alone; a subclass says how, in ``of``.

    Args:
        queries, keys: Coordinates, `batch|1 queries` and `batch|1 keys`, int64 or float64.
        query_present, key_present: True where a token has the axis; the bias is 0 elsewhere. None where all have it.
        step: The coordinates of consecutive tokens differ by this, for all of them; None where that is not known.
    """

    tensors: ClassVar[tuple[str, ...]] = ("queries", "keys", "query_present", "key_present")
    facts: ClassVar[tuple[str, ...]] = ("step",)

    def __init__(
        self,
        queries: Shaped[Tensor, "#batch queries"],
        keys: Shaped[Tensor, "#batch keys"],
        query_present: Bool[Tensor, "#batch queries"] | None,
        key_present: Bool[Tensor, "#batch keys"] | None,
        step: float | None,
    ) -> None:
        self.queries, self.keys = queries, keys
        self.query_present, self.key_present, self.step = query_present, key_present, step

    @property
    def heads(self) -> int:
        """Number of heads (or 1)."""
        raise NotImplementedError(f"{type(self).__name__} needs its number of heads.")

    def of(self, difference: Shaped[Tensor, "#batch *place"]) -> Float[Tensor, "#batch heads *place"]:
        """The bias at differences key - query."""
        raise NotImplementedError(f"{type(self).__name__} needs the bias at a difference.")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batch (or 1), heads (or 1), queries, keys."""
        batch = max(self.queries.shape[0], self.keys.shape[0])
        return batch, self.heads, self.queries.shape[1], self.keys.shape[1]

    def tile(self, rows: slice, columns: slice, q: Tensor | None = None, k: Tensor | None = None) -> Tensor:
        """The bias of some queries and keys; 0 where one of them lacks the axis."""
        queries, keys = self.queries[:, rows, None], self.keys[:, None, columns]
        tile = self.of(keys - queries)  # (batch, heads, rows, columns)
        if self.query_present is not None:
            tile = tile.masked_fill(~self.query_present[:, None, rows, None], 0.0)
        if self.key_present is not None:
            tile = tile.masked_fill(~self.key_present[:, None, None, columns], 0.0)
        return tile

    def diagonals(self) -> Tensor | None:
        """One number a diagonal, where coordinates are even and no token lacks the axis."""
        if self.step is None or self.query_present is not None or self.key_present is not None:
            return None
        queries, keys = self.queries.shape[1], self.keys.shape[1]
        offset = self.keys[:, :1] - self.queries[:, :1]
        index = torch.arange(1 - queries, keys, device=offset.device)
        step = int(self.step) if float(self.step).is_integer() else self.step
        return self.of(offset + step * index)


class Signals:
    """Several signals of one encoder: a vector, a rotation, a bias, each of them or None."""

    def __init__(
        self,
        vector: Float[Tensor, "batch seq width"] | None = None,
        rotation: Rotation | None = None,
        bias: Bias | None = None,
    ) -> None:
        self.vector, self.rotation, self.bias = vector, rotation, bias

    def leaves(self) -> dict[str, Any]:
        """The signals by name, for torch's pytrees."""
        return {"vector": self.vector, "rotation": self.rotation, "bias": self.bias}

    def static(self) -> Static:
        """Nothing, for torch's pytrees."""
        return ()

    @classmethod
    def rebuild(cls, leaves: dict[str, Any], static: Static) -> Signals:
        """The inverse of ``leaves``."""
        return cls(**leaves)

    def __repr__(self) -> str:
        vector = None if self.vector is None else tuple(self.vector.shape)
        return f"Signals(vector={vector}, rotation={self.rotation}, bias={self.bias})"


def as_signals(signal: Tensor | Rotation | Bias | Signals) -> Signals:
    """Any signal as ``Signals``.

    Example:
        >>> as_signals(torch.zeros(1, 3, 8))
        Signals(vector=(1, 3, 8), rotation=None, bias=None)
    """
    if isinstance(signal, Signals):
        return signal
    if isinstance(signal, Rotation):
        return Signals(rotation=signal)
    if isinstance(signal, Bias):
        return Signals(bias=signal)
    if isinstance(signal, Tensor):
        return Signals(vector=signal)
    raise PositionError(f"A signal is a vector, a Rotation, a Bias or Signals; got {type(signal).__name__}.")


def _parts(bias: Bias) -> tuple[Bias, ...]:
    return bias.parts if isinstance(bias, BiasSum) else (bias,)


register(Rotation)
register(Signals)
