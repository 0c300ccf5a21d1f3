"""Properties inside a model: decoding step by step, gradients."""

from __future__ import annotations

import torch

from structpos.attention import attend
from structpos.encoders.base import PositionEncoder
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Signals, as_signals
from structpos.testing.case import Case
from structpos.testing.report import Failed, Skipped
from structpos.testing.seen import Seen, head_width, heads_of, look, same, spell
from structpos.transformer import Transformer


def decoding(case: Case) -> None:
    """Step by step with stored keys gives what all tokens at once give: the signals, ``attend``, a small decoder."""
    encoder = case.fresh()
    for tokens in case.sizes():
        row = case.make(tokens)
        whole = look(encoder, row)
        for t in range(tokens):
            new, seen = row[:, t : t + 1], row[:, : t + 1]
            try:
                step = look(encoder, new, seen)
            except PositionError as error:
                raise Skipped(f"it refuses to decode: {error}") from None
            same(step, whole.part(0, [t], slice(0, t + 1)), f"decoding step {t}", seen)
        _attend(encoder, row)
    model = _decoder(encoder, as_signals(encoder(case.make(2))))
    if model is not None:
        _decode(model, case.make(case.length))


def _attend(encoder: PositionEncoder, row: Positions) -> None:
    signals, tokens = as_signals(encoder(row)), row.shape[1]
    if signals.rotation is None and signals.bias is None:
        return
    generator = torch.Generator().manual_seed(0)
    size = (1, heads_of(signals), tokens, head_width(encoder, signals))
    q, k, v = (torch.randn(size, generator=generator) for _ in range(3))
    whole = attend(q, k, v, signals, queries=row, causal=True)
    for t in range(tokens):
        new, seen = row[:, t : t + 1], row[:, : t + 1]
        part = (q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1])
        step = attend(*part, as_signals(encoder(new, seen)), queries=new, keys=seen, causal=True)
        off = float((step - whole[:, :, t : t + 1]).abs().max().detach())
        if not off < 1e-4:
            raise Failed(f"attend with stored keys differs at step {t} by {off:.3g} (allowed 1e-4); {spell(seen)}")


def _decoder(encoder: PositionEncoder, signals: Signals) -> Transformer | None:
    """A small decoder around the encoder; None where widths of its signals fit no common model."""
    heads, width = heads_of(signals), None
    if signals.vector is not None:
        width = int(signals.vector.shape[-1])
        if signals.rotation is None and signals.bias is None:
            heads = 1
    if signals.rotation is not None or width is None:
        per_head = heads * head_width(encoder, signals)
        if width not in (None, per_head):
            return None
        width = per_head
    if width % heads:
        return None
    torch_state = torch.get_rng_state()
    torch.manual_seed(0)
    model = Transformer(width, 2, heads, encoder=encoder, causal=True).eval()
    torch.set_rng_state(torch_state)
    return model


def _decode(model: Transformer, row: Positions) -> None:
    width = int(model.norm.normalized_shape[0])
    x = torch.randn(1, row.shape[1], width, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole, store = model(x, row), model.key_store()
        for t in range(row.shape[1]):
            step = model(x[:, t : t + 1], row[:, t : t + 1], store=store)
            seen = Seen(vector=step, scores=None, bias=None)
            wanted = Seen(vector=whole[:, t : t + 1], scores=None, bias=None)
            same(seen, wanted, f"a small decoder with stored keys, step {t}", row[:, : t + 1], allowed=1e-4)


def gradient(case: Case) -> None:
    """Every learned number gets a gradient, and a finite one, beside padding and tokens without a place too."""
    encoder = case.fresh().train()
    learned = {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}
    if not learned:
        raise Skipped("nothing in it is learned")
    row = case.make(case.length)
    mixed = row.take([[-1, *range(case.length)]])
    for positions in (row, Positions.collate([mixed, row])):
        encoder.zero_grad()
        total = torch.zeros(())
        for tensor in look(encoder, positions).items().values():
            total = total + (tensor * torch.linspace(0.5, 1.5, tensor.shape[-1])).square().sum()
        total.backward()
        for name, parameter in learned.items():
            if parameter.grad is None:
                raise Failed(f"'{name}' gets no gradient; {spell(positions)}")
            if not parameter.grad.isfinite().all():
                raise Failed(f"the gradient of '{name}' is not finite; {spell(positions)}")
