"""The sinusoid: sines and cosines of the position at a ladder of frequencies."""

from __future__ import annotations

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from structpos.encoders.base import Channels, PositionEncoder, at_least, existing, one_of
from structpos.frequencies import Frequencies, angles
from structpos.positions import Positions


class Sinusoidal(PositionEncoder):
    """Sines and cosines of the coordinate on one axis, at frequencies that fall geometrically.

    Defined at every real position, without a table and so without a longest length. Positions along the axis can be
    of any unit; where wavelengths in that unit are known, state them instead of a base.

    Args:
        width: Width of the vector; where it is odd, the sines get the extra channel.
        axis: The axis it reads.
        base: Pair i turns by ``base ** (-2 i / width)`` radians a unit.
        wavelengths: Shortest and longest wavelength in units of the axis, instead of ``base``.
        channels: ``interleaved`` sin, cos, sin, cos, ... as in the paper, or ``halved``: all sines, then all cosines.

    Shapes:
        return: batch seq width; zeros for padding and for tokens without the axis.

    Raises:
        PositionError: a width below 1, a base not above 1, wavelengths that do not rise, no such axis.

    Source: Vaswani et al. 2017, section 3.5. Low channels are the fastest: the published remark to the contrary is
        wrong.

    Example:
        >>> Sinusoidal(4)(Positions.sequence(2))
        tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
                 [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    def __init__(
        self,
        width: int,
        axis: str = "order",
        *,
        base: float = 10000.0,
        wavelengths: tuple[float, float] | None = None,
        channels: Channels = "interleaved",
    ) -> None:
        super().__init__()
        at_least("Sinusoidal", "width", width)
        one_of("Sinusoidal", "channels", channels, ("interleaved", "halved"))
        self.frequencies = Frequencies(base=base, wavelengths=wavelengths)
        self.width, self.axis, self.base, self.wavelengths, self.channels = width, axis, base, wavelengths, channels

    def forward(self, queries: Positions, keys: Positions | None = None) -> Float[Tensor, "batch seq width"]:
        """The vectors at ``queries``."""
        coordinate = self.read(queries, self.axis)
        ladder = self.frequencies.angular((self.width + 1) // 2, self.width, device=coordinate.device)
        vector = waves(angles(coordinate, ladder), self.width, self.channels, self.precision)
        exist = existing(queries, self.axis)
        vector = vector if exist is None else vector.masked_fill(~exist[..., None], 0.0)
        return vector.to(self.dtype)


def waves(
    angle: Float64[Tensor, "*place pairs"], width: int, channels: Channels, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "*place width"]:
    """Sines and cosines of angles, in the order of ``channels``, rounded once.

    Example:
        >>> waves(torch.zeros(2, dtype=torch.float64), 3, "halved")
        tensor([0., 0., 1.], dtype=torch.float64)
    """
    if channels == "interleaved":  # written where they belong: stacking would copy twice as much
        pairs = torch.empty((*angle.shape, 2), dtype=dtype, device=angle.device)
        pairs[..., 0] = angle.sin()
        pairs[..., 1] = angle.cos()
        return pairs.flatten(-2)[..., :width]
    return torch.cat([angle.sin(), angle[..., : width // 2].cos()], -1).to(dtype)
