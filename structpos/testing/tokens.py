"""Properties of tokens among others: padding, packing, absent axes, distinct places."""

from __future__ import annotations

import copy
from typing import Literal

import torch

from structpos.encoders.base import PositionEncoder
from structpos.encoders.emphasis import Emphasis
from structpos.encoders.region import Where
from structpos.positions import Positions
from structpos.signals import as_signals
from structpos.testing.case import MINUTE, START, Case
from structpos.testing.report import Failed, Skipped
from structpos.testing.seen import content, head_width, heads_of, look, same, spell

GARBAGE = 77
SIDES: tuple[Literal["right", "left"], ...] = ("right", "left")


def padding(case: Case) -> None:
    """Padding on either side changes nothing, whatever coordinates stand there."""
    encoder = case.fresh()
    for tokens in case.sizes():
        row = case.make(tokens)
        alone = look(encoder, row)
        for amount in (amount for amount in (1, 3) if tokens + amount <= case.length):
            for side in SIDES:
                real = slice(0, tokens) if side == "right" else slice(amount, None)
                longer = case.make(tokens + amount)
                padded = Positions.collate([row, longer], side=side)
                assert padded.mask is not None
                spoiled = Positions(
                    {axis: tensor.masked_fill(~padded.mask, GARBAGE) for axis, tensor in padded.coordinates.items()},
                    present=padded.present,
                    mask=padded.mask,
                    even=padded.even,
                )
                for positions in (padded, spoiled):
                    got = look(encoder, positions).part(0, real)
                    same(got, alone, f"with {amount} of padding on the {side}", positions[:1])
                vector = as_signals(encoder(padded)).vector
                if vector is not None and vector[~padded.mask].any():
                    raise Failed(f"the vector of padding is not 0; {spell(padded[:1])}")


def packing(case: Case) -> None:
    """Documents packed into one row get what each gets alone."""
    encoder = case.fresh()
    for tokens in case.sizes():
        documents = [case.make(tokens), case.later(max(tokens // 2, 1)), case.make(1)]
        packed = Positions.pack(documents)
        together, start = look(encoder, packed), 0
        for number, document in enumerate(documents):
            place = slice(start, start + document.shape[1])
            start = place.stop
            same(together.part(0, place), look(encoder, document), f"packed as document {number}", packed)


def absent(case: Case) -> None:
    """A token without a place gets zeros, no rotation, no bias; what stands there in its stead changes nothing."""
    encoder = case.fresh()
    if not encoder.axes:
        raise Skipped("it reads no axis")
    for tokens in case.sizes():
        row = case.make(tokens)
        alone = look(encoder, row)
        index = torch.cat([torch.arange(tokens), torch.tensor([-1])]).roll(1 if tokens > 1 else 0)[None]
        mixed = row.take(index)  # one token more, absent on every axis
        there = [place for place, number in enumerate(index[0].tolist()) if number >= 0]
        gone = index[0].tolist().index(-1)
        same(look(encoder, mixed).part(0, there), alone, "beside a token without a place", mixed)
        _neutral(encoder, mixed, gone)
        spoiled = Positions(
            {axis: torch.where(mixed.presence(axis), mixed[axis], GARBAGE) for axis in mixed.axes},
            present=mixed.present,
        )
        same(look(encoder, spoiled), look(encoder, mixed), "with a number where a token has no place", spoiled)
    _one_absent(case, encoder)


def _neutral(encoder: PositionEncoder, positions: Positions, token: int) -> None:
    signals = as_signals(encoder(positions))
    if signals.vector is not None and signals.vector[:, token].any():
        most = float(signals.vector[:, token].abs().max())
        raise Failed(f"the vector of a token without a place reaches {most:.3g}, expected 0; {spell(positions)}")
    if signals.rotation is not None:
        x = content(1, heads_of(signals), positions.shape[1], head_width(encoder, signals), 0)
        for turned in (signals.rotation.query(x), signals.rotation.key(x)):
            most = float((turned - x)[:, :, token].abs().max())
            if most:
                raise Failed(f"a token without a place is turned, by up to {most:.3g}; {spell(positions)}")
    bias = look(encoder, positions).bias
    if bias is not None:
        most = float(torch.maximum(bias[:, :, token].abs().max(), bias[..., token].abs().max()).detach())
        if most:
            raise Failed(f"a token without a place has a bias of {most:.3g}, expected 0; {spell(positions)}")


def _one_absent(case: Case, encoder: PositionEncoder) -> None:
    """Where one axis of several is missing, its coordinate is not read."""
    row = case.make(min(3, case.length))
    lacking = torch.zeros(row.shape, dtype=torch.bool)
    lacking[:, -1] = True
    for axis in encoder.axes:
        without = Positions(row.coordinates, present={**row.present, axis: row.presence(axis) & ~lacking})
        spoiled = without.with_axes(
            **{axis: row[axis].masked_fill(lacking, GARBAGE)}, present={axis: without.present[axis]}
        )
        what = f"with a number where a token lacks '{axis}'"
        same(look(encoder, spoiled), look(encoder, without), what, spoiled)


def distinct(case: Case) -> None:
    """Tokens that differ on one axis only are told apart; learned numbers are drawn at random for this."""
    encoder = copy.deepcopy(case.encoder).eval()
    if not encoder.axes:
        raise Skipped("it reads no axis")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator).to(parameter), alpha=0.1)
    for axis in _coded(encoder):
        positions = _along(case, encoder, axis)
        inside = _inside(encoder, positions)
        if int(inside.sum()) < 2:
            raise Skipped(f"fewer than two tokens lie in its regions along '{axis}'; give positions of your own")
        profiles = look(encoder, positions).profiles()
        places = torch.arange(positions.shape[1])[inside[0]]
        most = float(profiles.abs().max())
        for number, one in enumerate(places.tolist()):
            for other in places[number + 1 :].tolist():
                apart = float((profiles[one] - profiles[other]).abs().max().detach())
                if not apart > 1e-6 * most:
                    pair = positions[axis][0, [one, other]].tolist()
                    raise Failed(f"on the axis '{axis}', {pair[0]} and {pair[1]} give the same (apart by {apart:.3g}).")


def _coded(encoder: PositionEncoder) -> list[str]:
    """The axes it encodes: all but those that merely say where a region lies."""
    parts = [part for part in encoder.modules() if isinstance(part, PositionEncoder)]
    limits = {part.region.axis for part in parts if isinstance(part, (Where, Emphasis))}
    leaves = [part for part in parts if sum(isinstance(below, PositionEncoder) for below in part.modules()) == 1]
    coded = {axis for leaf in leaves for axis in leaf.axes}
    return [axis for axis in encoder.axes if axis in coded or axis not in limits]


def _along(case: Case, encoder: PositionEncoder, axis: str) -> Positions:
    """Tokens that differ on one axis only and agree on the others with one that lies in the encoder's regions."""
    row = case.make(case.length)
    values = row[axis][row.presence(axis)].unique()
    if len(values) < case.length and axis != "time" and not row[axis].is_floating_point():
        values = torch.arange(case.length)
    if axis == "time":
        values = values if len(values) > 1 else START + MINUTE * torch.arange(case.length)
    start = int(_inside(encoder, row).int().argmax())
    first = row[:, start : start + 1]
    columns = {name: first[name].expand(1, len(values)) for name in row.axes}
    return Positions({**columns, axis: values[None]})


def _inside(encoder: PositionEncoder, positions: Positions) -> torch.Tensor:
    inside = positions.real()
    for part in encoder.modules():
        if isinstance(part, Where):
            inside = inside & part.region.contains(positions)
    return inside
