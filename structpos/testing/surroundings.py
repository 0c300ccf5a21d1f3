"""Properties in the hands of others: sharded parameters, Lightning's precision plugins."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from structpos.positions import Positions
from structpos.testing.case import Case
from structpos.testing.graphs import InUse, features, in_use, refuse_silent
from structpos.testing.report import Failed, Skipped
from structpos.testing.seen import Seen, same


class Model(nn.Module):
    """A linear layer before the encoder in use, so that there is something to shard with every encoder."""

    def __init__(self, used: InUse) -> None:
        super().__init__()
        self.first, self.used = nn.Linear(used.width, used.width), used

    def forward(self, positions: Positions, content: Tensor) -> tuple[Tensor, ...]:
        """As ``InUse``, and the features themselves."""
        content = self.first(content)
        return (*self.used(positions, content), content)


def sharding(case: Case) -> None:
    """Wrapped by FSDP2 on a mesh of one process: forward, backward, and positions not cast by its mixed precision."""
    refuse_silent(case.encoder)
    if not dist.is_available() or not dist.is_gloo_available():
        raise Skipped("this torch has no gloo")
    started = dist.is_initialized()
    if started and dist.get_world_size() > 1:
        raise Skipped("torch.distributed runs already, with more than one process")
    if not started:
        store = dist.HashStore()  # type: ignore[attr-defined]  # no port, no file
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        _shard(case)
    finally:
        if not started:
            dist.destroy_process_group()


def _shard(case: Case) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh, row = init_device_mesh("cpu", (1,)), _far(case)
    for what, policy, allowed in (
        ("sharded by FSDP2", MixedPrecisionPolicy(), 1e-4),
        ("sharded by FSDP2 in bfloat16", MixedPrecisionPolicy(param_dtype=torch.bfloat16), 5e-2),
    ):
        torch.manual_seed(0)
        plain, x = Model(in_use(case)), None
        x = features(plain.used, row)
        wanted = plain(row, x)
        model = Model(in_use(case))
        model.load_state_dict(plain.state_dict())
        fully_shard(model.used.encoder, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        try:
            got = model(row, x)
            sum((tensor.float().square().sum() for tensor in got), torch.zeros(())).backward()
        except Exception as error:
            raise Failed(f"{what} it ends in {type(error).__name__}: {str(error).splitlines()[0]}") from error
        _equal(got, wanted, what, row, allowed)
        if model.used.encoder.settings() != case.encoder.settings():
            raise Failed(f"{what}, its settings are others: {model.used.encoder.settings()}.")
        for name, parameter in model.used.encoder.named_parameters():
            if parameter.grad is None:
                raise Failed(f"{what}, '{name}' gets no gradient.")


def lightning(case: Case) -> None:
    """Lightning's bf16-true, 16-true, bf16-mixed and 64-true cast neither positions nor angles."""
    refuse_silent(case.encoder)
    package = next((name for name in ("lightning", "pytorch_lightning") if importlib.util.find_spec(name)), None)
    if package is None:
        raise Skipped("Lightning is not installed")
    precision = importlib.import_module(
        f"{package}.pytorch.plugins.precision" if package == "lightning" else f"{package}.plugins.precision"
    )
    row, used = _far(case), in_use(case)
    x = features(used, row)
    with torch.no_grad():
        wanted = used(row, x)
    for what, plugin, kind in (
        ("bf16-true", precision.HalfPrecision("bf16-true"), torch.bfloat16),
        ("16-true", precision.HalfPrecision("16-true"), torch.float16),
        ("bf16-mixed", precision.MixedPrecision("bf16-mixed", "cpu"), torch.float32),
        ("64-true", precision.DoublePrecision(), torch.float64),
    ):
        model = plugin.convert_module(in_use(case))
        batch = plugin.convert_input({"positions": row, "x": x})
        _uncast(batch["positions"], row, what)
        with torch.no_grad(), plugin.forward_context():
            got = model(batch["positions"], batch["x"])
        for tensor in got:
            if what != "bf16-mixed" and tensor.dtype != kind:
                raise Failed(f"under {what} the result is {tensor.dtype}, expected {kind}.")
        _equal(got, wanted, f"under {what}", row, 5e-2 if kind != torch.float64 else 1e-4)


def _far(case: Case) -> Positions:
    """Positions beyond what half types tell apart, where the encoder goes that far."""
    row = case.make(min(5, case.length))
    far = row.with_axes(
        **{axis: tensor + 1000 for axis, tensor in row.coordinates.items()}, even=row.even, present=row.present
    )
    try:
        case.fresh()(far)
    except ValueError:
        return row
    return far


def _uncast(got: Positions, wanted: Positions, what: str) -> None:
    for axis in wanted.axes:
        if got[axis].dtype != wanted[axis].dtype or not torch.equal(got[axis], wanted[axis]):
            raise Failed(f"under {what} the axis '{axis}' became {got[axis]}, given {wanted[axis]}.")


def _equal(got: Any, wanted: Any, what: str, positions: Positions, allowed: float) -> None:
    for one, two in zip(got, wanted, strict=True):
        same(
            Seen(vector=one, scores=None, bias=None),
            Seen(vector=two, scores=None, bias=None),
            what,
            positions,
            allowed=allowed,
        )
