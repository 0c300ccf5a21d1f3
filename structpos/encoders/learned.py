"""Learned positions: a table of vectors, alone or together with the sinusoid."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import torch
from jaxtyping import Float, Float64, Shaped
from torch import Tensor, nn
from torch.nn import functional

from structpos.encoders.base import PositionEncoder, at_least, existing, one_of
from structpos.encoders.sinusoidal import Sinusoidal, waves
from structpos.errors import PositionError
from structpos.frequencies import Frequencies, angles
from structpos.positions import Positions


class Learned(PositionEncoder):
    """A table with one learned vector for each whole coordinate; between rows it is interpolated.

    Past its end it is resampled: a document whose largest coordinate is n > length - 1 is squeezed onto the table, so
    that every position keeps a vector of its own. What one document gets never depends on the others in the batch.

    Args:
        width: Width of the vector.
        length: Number of rows.
        axis: The axis it reads.
        extend: Whether longer documents are resampled (with one warning) or refused.
        offset: Row of coordinate 0; models with a padding row keep rows before it.
        std: Standard deviation of the rows at the start.

    Shapes:
        return: batch seq width; zeros for padding and for tokens without the axis.

    Raises:
        PositionError: coordinates below 0, or past the end with ``extend=False``. Both are looked for on the CPU; on a
            device, where looking means waiting, only ``extend=False`` looks, and a compiled graph never does.

    Source: Gehring et al. 2017; Devlin et al. 2019.

    Example:
        >>> table = Learned(width=8, length=16)
        >>> table(Positions({"order": [[0, 0.5, 15]]})).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        width: int,
        length: int,
        *,
        axis: str = "order",
        extend: bool = True,
        offset: int = 0,
        std: float = 0.02,
    ) -> None:
        super().__init__()
        at_least("Learned", "width", width)
        at_least("Learned", "length", length)
        at_least("Learned", "offset", offset, 0)
        if offset >= length:
            raise PositionError(f"Learned: offset {offset} leaves no row of {length} for any position.")
        self.width, self.length, self.axis = width, length, axis
        self.extend, self.offset, self.std = extend, offset, std
        self.warned = False
        self.table = nn.Parameter(torch.empty(length, width))
        self.reset_parameters()

    @property
    def usable(self) -> int:
        """The number of positions that have a row of their own."""
        return self.length - self.offset

    def reset_parameters(self) -> None:
        """Draw the rows afresh."""
        nn.init.normal_(self.table, std=self.std)

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors at ``queries``."""
        place = self.read(queries, self.axis).double()
        exist = existing(queries, self.axis)
        if exist is not None:
            place = place.masked_fill(~exist, 0.0)
        self._look(place)
        place = place * squeeze(place, queries.segments, self.usable - 1)
        place = place.clamp(0, self.usable - 1) + self.offset
        row = place.floor().clamp(max=max(self.length - 2, 0))
        share = (place - row).to(self.table.dtype)[..., None]
        lower = functional.embedding(row.long(), self.table)
        upper = functional.embedding((row.long() + 1).clamp(max=self.length - 1), self.table)
        vector = torch.where(share == 0, lower, torch.where(share == 1, upper, torch.lerp(lower, upper, share)))
        vector = vector if exist is None else vector.masked_fill(~exist[..., None], 0.0)
        return vector.to(self.dtype)

    def _look(self, place: Float64[Tensor, "batch seq"]) -> None:
        """Warn of or refuse coordinates outside the table, where looking costs no wait or was asked for."""
        looking = place.device.type == "cpu" or (place.is_cuda and not self.extend)
        if torch.compiler.is_compiling() or not looking or not place.numel():
            return
        low, high = (float(value) for value in place.aminmax())
        if low < 0:
            raise PositionError(f"The table starts at position 0; the axis '{self.axis}' goes down to {low:g}.")
        if high > self.usable - 1:
            size = f"a table of {self.length} rows ({self.usable} usable)"
            told = f"The axis '{self.axis}' reaches position {high:g}, past the end of {size}."
            if not self.extend:
                raise PositionError(f"{told} Use a longer table, or extend=True to resample it.")
            if not self.warned:
                self.warned = True
                warnings.warn(f"{told} Longer documents are squeezed onto it.", stacklevel=3)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Take a table of another length, resampled."""
        table = state_dict.get(f"{prefix}table")
        if table is not None and table.dim() == 2 and table.shape[1] == self.width and len(table) != self.length:
            warnings.warn(
                f"{prefix}table has {len(table)} rows, this encoder {self.length}: the rows are resampled.",
                stacklevel=2,
            )
            state_dict[f"{prefix}table"] = resampled(table, self.length, self.offset)
        super()._load_from_state_dict(state_dict, prefix, *args)


def squeeze(
    place: Float64[Tensor, "batch seq"], segments: Shaped[Tensor, "batch seq"] | None, last: int
) -> Float64[Tensor, "batch #seq"]:
    """For each token the factor, at most 1, that brings its document's largest coordinate down to ``last``."""
    if not place.shape[1]:
        return torch.ones_like(place)
    if segments is None:
        top = place.amax(1, keepdim=True)
    else:
        starts = functional.pad(segments.diff(dim=1) != 0, (1, 0)).long()
        document = starts.cumsum(1)
        top = torch.zeros_like(place).scatter_reduce(1, document, place, "amax").gather(1, document)
    return last / top.clamp(min=max(last, 1)) if last else torch.zeros_like(place)


def resampled(table: Float[Tensor, "rows width"], length: int, offset: int = 0) -> Float[Tensor, "length width"]:
    """A table stretched or squeezed to another length, linear between rows; the first ``offset`` rows are kept.

    Example:
        >>> resampled(torch.tensor([[0.0], [2.0]]), 3).T
        tensor([[0., 1., 2.]])
    """
    kept, rest = table[:offset], table[offset:]
    stretched = functional.interpolate(rest.T[None].float(), size=length - offset, mode="linear", align_corners=True)[
        0
    ].T.to(table.dtype)
    return torch.cat([kept, stretched])


class Hybrid(PositionEncoder):
    """A sinusoid and a learned table together, in one of the two published forms.

    Args:
        width: Width of the vector.
        length: Rows of the table.
        axis: The axis it reads.
        form: ``start``: the table starts as the sinusoid and is learned from there (at a tenth of the network's
            rate, see ``parameter_groups``). ``mix``: a fixed share of sinusoid plus the rest of a learned table.
        share: The sinusoid's share in the mix.
        base: Base of the sinusoid.

    Shapes:
        return: batch seq width; zeros for padding and for tokens without the axis.

    Raises:
        PositionError: an unknown form or a share outside 0 to 1.

    Example:
        >>> positions = Positions.sequence(3)
        >>> torch.equal(Hybrid(8, 16)(positions), Sinusoidal(8)(positions))
        True
    """

    def __init__(
        self,
        width: int,
        length: int,
        *,
        axis: str = "order",
        form: Literal["start", "mix"] = "start",
        share: float = 0.7,
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        one_of("Hybrid", "form", form, ("start", "mix"))
        if not 0 <= share <= 1:
            raise PositionError(f"Hybrid: share lies between 0 and 1, got {share}.")
        self.width, self.length, self.axis, self.form, self.share, self.base = width, length, axis, form, share, base
        self.sinusoid = Sinusoidal(width, axis, base=base)
        self.learned_part = Learned(width, length, axis=axis)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start afresh: from the sinusoid, or from small random rows."""
        if self.form == "mix":
            return self.learned_part.reset_parameters()
        with torch.no_grad():
            table = self.learned_part.table
            index = torch.arange(self.length, device=table.device)
            ladder = Frequencies(base=self.base).angular((self.width + 1) // 2, self.width, device=table.device)
            table.copy_(waves(angles(index, ladder), self.width, "interleaved"))

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors at ``queries``."""
        learned: Tensor = self.learned_part(queries)
        if self.form == "start":
            return learned
        mixed: Tensor = self.share * self.sinusoid(queries) + (1 - self.share) * learned
        return mixed
