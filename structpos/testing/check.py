"""check_encoder: everything that an encoder promises, tried."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence

import torch

from structpos.encoders.base import PositionEncoder
from structpos.errors import PositionError, unknown
from structpos.testing import calls, graphs, models, storage, surroundings, tokens
from structpos.testing.case import Case, MakePositions, make_for
from structpos.testing.report import EncoderFault, Failed, Outcome, Report, Skipped

PROPERTIES: dict[str, Callable[[Case], None]] = {
    "shape": calls.shape,
    "errors": calls.errors,
    "rows": calls.rows,
    "history": calls.history,
    "dtype": calls.dtype,
    "facts": calls.facts,
    "values": calls.values,
    "padding": tokens.padding,
    "packing": tokens.packing,
    "absent": tokens.absent,
    "distinct": tokens.distinct,
    "decoding": models.decoding,
    "gradient": models.gradient,
    "settings": storage.settings,
    "meta": storage.meta,
    "compile": graphs.compiling,
    "export": graphs.exporting,
    "sharding": surroundings.sharding,
    "lightning": surroundings.lightning,
}


def check_encoder(
    encoder: PositionEncoder,
    *,
    positions: MakePositions | None = None,
    length: int = 16,
    only: Sequence[str] | None = None,
    skip: Iterable[str] = (),
    inductor: bool = False,
    trust: Sequence[str] = (),
) -> Report:
    """Try everything that an encoder promises; made for the tests of your own encoders.

    ======== =============================================================================================
    shape    the signal, its shape and dtype are what the class says; finite; without tokens too
    errors   features in place of positions, or positions without the axis, are refused with help
    rows     a row of the batch does not depend on the others
    history  no call changes the next; nothing is kept by length
    dtype    ``.to(bfloat16)``, ``.half()``, ``.double()`` and autocast round results, never positions
    facts    what positions state of themselves (even axes) changes no number
    values   forward looks at no value, so it never waits for a device
    padding  padding on either side changes nothing
    packing  documents packed in one row get what each gets alone
    absent   a token without the axis: vector 0, rotation 0, bias 0
    distinct coordinates that differ are told apart, on every axis
    decoding step by step with stored keys = all at once
    gradient every learned number gets a finite gradient
    settings ``settings()`` and the state dict give the same encoder again, bit for bit
    meta     built on the meta device, loading the state dict is all it needs
    compile  ``torch.compile(fullgraph=True)`` over 7 lengths, at most 2 graphs
    export   ``torch.export`` with a dynamic length, saved, loaded and run
    sharding under FSDP2, forward and backward, also with its mixed precision
    lightning under bf16-true, 16-true, bf16-mixed, 64-true, where Lightning is installed
    ======== =============================================================================================

    Args:
        encoder: The encoder; it stays as it is.
        positions: A function that makes one row of positions (batch 1) with a given number of tokens, up to
            ``length``. By default small whole numbers on the axes that the encoder reads, and instants on ``time``.
        length: The longest row that is tried, at least 9. Learned tables should have as many rows.
        only: Properties to look at, instead of all.
        skip: Properties to leave out, for encoders that break one on purpose.
        inductor: Whether compiling goes all the way to machine code, which takes some 20 seconds.
        trust: Modules from which ``settings()`` name classes or functions; those imported already are trusted.

    Returns:
        Report: what passed, and what was skipped and why.

    Raises:
        EncoderFault: an AssertionError, where any property fails: which, with numbers and the smallest input.
        PositionError: an unknown property is named, or what came is no encoder.

    Example:
        >>> from structpos import ALiBi
        >>> print(check_encoder(ALiBi(heads=4), only=["shape", "padding", "absent"]))
        ALiBi(heads=4, axis='order', form='symmetric'): 3 passed, 0 skipped, 0 failed
    """
    if not isinstance(encoder, PositionEncoder):
        raise PositionError(f"check_encoder takes a PositionEncoder, got {type(encoder).__name__}.")
    left = set(skip)
    for name in (*(only or ()), *left):
        if name not in PROPERTIES:
            raise PositionError(unknown("property", name, PROPERTIES))
    if length < 9:
        raise PositionError(f"check_encoder needs a length of at least 9, got {length}.")
    modules = tuple(sorted({type(part).__module__ for part in encoder.modules()}))
    case = Case(
        encoder=encoder,
        make=make_for(encoder.axes) if positions is None else positions,
        length=length,
        inductor=inductor,
        trust=(*trust, *modules),
    )
    names = [name for name in PROPERTIES if (only is None or name in only) and name not in left]
    outcomes = tuple(_outcome(name, case) for name in names)
    report = Report(encoder=" ".join(f"{encoder}".split()), outcomes=outcomes)
    if report.failed:
        raise EncoderFault(report)
    return report


def _outcome(name: str, case: Case) -> Outcome:
    """One property, its random numbers and its warnings kept apart from the caller's."""
    begin = time.process_time()
    with warnings.catch_warnings(), torch.random.fork_rng(devices=()):
        warnings.simplefilter("ignore")
        try:
            PROPERTIES[name](case)
        except Failed as failed:
            return Outcome(name=name, state="failed", why=str(failed), seconds=time.process_time() - begin)
        except Skipped as skipped:
            return Outcome(name=name, state="skipped", why=str(skipped), seconds=time.process_time() - begin)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            return Outcome(name=name, state="failed", why=why, seconds=time.process_time() - begin)
    return Outcome(name=name, state="passed", seconds=time.process_time() - begin)
