"""Properties of single calls: what comes out, in which dtype, and that nothing else decides it."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from structpos.encoders.base import PositionEncoder
from structpos.errors import PositionError
from structpos.positions import Positions
from structpos.signals import Bias, Rotation, Signals, as_signals
from structpos.testing.case import Case
from structpos.testing.report import Failed, Skipped
from structpos.testing.seen import Seen, head_width, heads_of, look, same, spell

FAR = 1000  # beyond what half types tell apart


def shape(case: Case) -> None:
    """The signal is what the class says: kind, shape, dtype; it is finite and no Parameter; without tokens too."""
    encoder = case.fresh()
    kinds: dict[str, Any] = {
        "vector": torch.Tensor,
        "rotation": Rotation,
        "bias": Bias,
        "signals": Signals,
        "none": Signals,
    }
    for tokens in (*case.sizes(), 0):
        row = case.make(max(tokens, 1))[:, :tokens]
        positions = Positions.collate([row, row])
        signal: Any = encoder(positions)
        if not isinstance(signal, kinds[encoder.signal]):
            raise Failed(
                f"the class says signal = '{encoder.signal}', forward gave {type(signal).__name__}; {spell(positions)}"
            )
        signals = as_signals(signal)
        _vector_shape(encoder, signals, positions)
        if signals.rotation is not None:
            pairs = signals.rotation.query_cos
            if pairs.shape[0] not in (1, 2) or pairs.shape[2] != tokens or pairs.dtype != encoder.precision:
                raise Failed(
                    f"the rotation's cosines have shape {tuple(pairs.shape)} and dtype {pairs.dtype}, expected (batch "
                    f"or 1, heads or 1, {tokens}, pairs) and {encoder.precision}; {spell(positions)}"
                )
        if signals.bias is not None:
            _bias_shape(encoder, signals, positions)
        parameters = {id(parameter) for parameter in encoder.parameters()}
        if any(id(leaf) in parameters for leaf in tree_leaves(signal)):
            raise Failed("the signal holds a Parameter; a sharded encoder lets it go after forward: give a copy.")
        for name, tensor in look(encoder, positions).items().items():
            if not tensor.isfinite().all():
                raise Failed(f"the {name} is not finite; {spell(positions)}")


def _vector_shape(encoder: PositionEncoder, signals: Signals, positions: Positions) -> None:
    vector = signals.vector
    if vector is None:
        return
    width = getattr(encoder, "width", vector.shape[-1])
    if tuple(vector.shape) != (*positions.shape, width) or vector.dtype != encoder.dtype:
        raise Failed(
            f"the vector has shape {tuple(vector.shape)} and dtype {vector.dtype}, expected "
            f"{(*positions.shape, width)} and {encoder.dtype}; {spell(positions)}"
        )


def _bias_shape(encoder: PositionEncoder, signals: Signals, positions: Positions) -> None:
    bias, (batch, tokens) = signals.bias, positions.shape
    assert bias is not None
    heads = heads_of(signals)
    features = torch.zeros(batch, heads, tokens, head_width(encoder, signals))
    given = (features, features) if bias.reads_content else (None, None)
    whole = bias.dense(*given)
    if tuple(bias.shape[2:]) != (tokens, tokens) or tuple(whole.shape[2:]) != (tokens, tokens):
        raise Failed(f"the bias has shape {bias.shape}, its dense form {tuple(whole.shape)}; {spell(positions)}")
    if whole.dtype != encoder.precision:
        raise Failed(f"the bias is {whole.dtype}, expected {encoder.precision}: half types round neighbours together.")
    cut = slice(tokens // 3, tokens // 3 + tokens // 2)
    tile = bias.tile(cut, slice(None), None if given[0] is None else given[0][:, :, cut], given[1])
    if not torch.allclose(tile, whole[:, :, cut], atol=1e-5):
        raise Failed(f"rows {cut.start} to {cut.stop} of the bias differ from those of its dense form.")


def errors(case: Case) -> None:
    """Features in place of positions, and positions without the axis, are refused by a PositionError that helps."""
    encoder = case.fresh()
    if not encoder.axes:
        raise Skipped("it reads no axis")
    for what, given, word in (
        ("features in place of positions", torch.zeros(1, 2, 8), "Positions"),
        ("positions without its axes", Positions({"unheard_of": [[0, 1]]}), "unheard_of"),
    ):
        try:
            encoder(given)
        except PositionError as error:
            if word not in str(error):
                raise Failed(f"{what} are refused without naming '{word}': {error}") from None
        except Exception as error:
            raise Failed(f"{what} end in {type(error).__name__}: {error}; expected a PositionError.") from None
        else:
            raise Failed(f"{what} are taken without a word; read them with self.read(positions, axis).")


def rows(case: Case) -> None:
    """What a row of the batch gets does not depend on the other rows."""
    encoder = case.fresh()
    for tokens in case.sizes():
        one, two = case.make(tokens), case.later(tokens)
        both = look(encoder, Positions.collate([one, two]))
        same(both.part(0, slice(None)), look(encoder, one), "row 0 beside another row", one)
        same(both.part(1, slice(None)), look(encoder, two), "row 1 beside another row", two)


def history(case: Case) -> None:
    """No call changes the next, in training mode, evaluation mode or under autocast; nothing is kept by length."""
    encoder = case.fresh()
    small, large = case.make(min(5, case.length)), case.make(case.length)
    first, kept = look(encoder, small), _held(encoder)
    for _ in range(2):
        look(encoder, large)
        look(encoder.train(), case.make(1))
        with torch.autocast("cpu", torch.bfloat16):
            look(encoder, large)
    look(encoder.to(torch.bfloat16).float().eval(), large)
    if not any(tensor.is_floating_point() for tensor in encoder.state_dict().values()):
        same(look(encoder, small), first, "the same call again, after others", small, allowed=0.0)
    encoder = case.fresh()
    look(encoder, small)
    look(encoder, large)
    same(look(encoder, small), first, "the same call again, after a longer one", small, allowed=0.0)
    same(look(encoder.train(), small), first, "the call in training mode", small, allowed=0.0)
    if _held(encoder) != kept:
        raise Failed(
            f"it keeps {_held(encoder)} bytes after a longer call, {kept} before: something is kept by length."
        )


def _held(module: torch.nn.Module) -> int:
    """Bytes of all tensors in the module, as parameters, buffers or plain attributes."""
    held = 0
    for part in module.modules():
        own = [*part._parameters.values(), *part._buffers.values(), *vars(part).values()]
        held += sum(leaf.nbytes for leaf in tree_leaves(own) if isinstance(leaf, torch.Tensor))
    return held


def dtype(case: Case) -> None:
    """A half-precision module reads the same positions: casting it, or autocast, rounds what comes out and no angle."""
    near, reference = case.make(min(5, case.length)), case.fresh()
    far = near.with_axes(
        **{axis: tensor + FAR for axis, tensor in near.coordinates.items()}, even=near.even, present=near.present
    )
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        cast = case.fresh().to(kind)
        reference.load_state_dict({name: tensor.float() for name, tensor in cast.state_dict().items()})
        positions = far
        try:
            wanted = look(reference, far)
        except PositionError:  # a scheme may end before
            positions, wanted = near, look(reference, near)
        shape_of = as_signals(cast(positions)).vector
        if shape_of is not None and shape_of.dtype != kind:
            raise Failed(f"the vector of a {kind} module is {shape_of.dtype}.")
        loose = 2e-2 if kind != torch.float64 else 1e-5
        tight = loose if cast.learned else 1e-5
        got = look(cast, positions)
        what = f"as a {kind} module"
        same(Seen(vector=got.vector, scores=None, bias=None), _only(wanted, "vector"), what, positions, allowed=loose)
        same(Seen(vector=None, scores=got.scores, bias=got.bias), _only(wanted, ""), what, positions, allowed=tight)
    with torch.autocast("cpu", torch.bfloat16):
        wanted, got = _without_autocast(case, near), look(case.fresh(), near)
    same(got, wanted, "under autocast", near, allowed=2e-2 if case.encoder.learned else 1e-5)


def _without_autocast(case: Case, positions: Positions) -> Seen:
    with torch.autocast("cpu", enabled=False):
        return look(case.fresh(), positions)


def _only(seen: Seen, name: str) -> Seen:
    if name == "vector":
        return Seen(vector=seen.vector, scores=None, bias=None)
    return Seen(vector=None, scores=seen.scores, bias=seen.bias)


def facts(case: Case) -> None:
    """What positions state of themselves (even axes) may save work and changes no number."""
    encoder = case.fresh()
    for tokens in case.sizes():
        row = case.make(tokens)
        cuts = {"whole": row, "every second token": row[:, ::2], "the later half": row[:, tokens // 2 :]}
        for what, positions in cuts.items():
            told = look(encoder, positions)
            plain = Positions(positions.coordinates, present=positions.present)
            same(told, look(encoder, plain), f"with facts told ({what})", positions)


def values(case: Case) -> None:
    """Forward looks at no value: it runs on the meta device, where there are none, and gives the same shapes."""
    encoder, positions = case.fresh(), case.make(min(5, case.length))
    wanted = look(encoder, positions)
    try:
        got = look(case.fresh().to("meta"), positions.to("meta"))
    except (NotImplementedError, RuntimeError) as error:
        raise Failed(f"it waits for the device or looks at values, on meta: {str(error).splitlines()[0]}") from None
    for name, tensor in wanted.items().items():
        if got.items()[name].shape != tensor.shape:
            raise Failed(f"on meta the {name} has shape {tuple(got.items()[name].shape)}, else {tuple(tensor.shape)}.")
