"""Optimizer groups: learned positions learn at a rate of their own, without decay."""

from __future__ import annotations

from typing import Any

from torch import nn

from structpos.encoders.base import PositionEncoder
from structpos.errors import PositionError


def parameter_groups(
    model: nn.Module,
    *,
    lr: float,
    weight_decay: float = 0.01,
    position_rate: float = 0.1,
    position_decay: float = 0.0,
    freeze: bool = False,
) -> list[dict[str, Any]]:
    """Two groups of parameters for an optimizer: the network, and its learned positions.

    Args:
        model: A model that holds position encoders.
        lr: Learning rate of the network.
        weight_decay: Weight decay of the network.
        position_rate: Rate of learned positions in units of ``lr``. A tenth suits tables on the input; bias tables that
            start near zero hardly move below twenty times the rate.
        position_decay: Weight decay of learned positions.
        freeze: Whether positions keep what they have; they then belong to no group and need no gradient.

    Raises:
        PositionError: a rate below 0, or a model without parameters.

    Example:
        >>> import structpos as sp
        >>> groups = parameter_groups(sp.Transformer(32, 1, 4, encoder=sp.Learned(32, 64)), lr=1e-3)
        >>> [(group["name"], group["lr"], len(group["params"])) for group in groups]
        [('network', 0.001, 16), ('positions', 0.0001, 1)]
    """
    if lr < 0 or position_rate < 0:
        raise PositionError(f"Learning rates are 0 or more, got lr={lr} and position_rate={position_rate}.")
    encoders = [module for module in model.modules() if isinstance(module, PositionEncoder)]
    positions = {id(parameter): parameter for encoder in encoders for parameter in encoder.parameters()}
    network = [parameter for parameter in model.parameters() if id(parameter) not in positions]
    if not network and not positions:
        raise PositionError(f"{type(model).__name__} has no parameters to train.")
    if freeze:
        for parameter in positions.values():
            parameter.requires_grad_(False)
    groups = [{"name": "network", "params": network, "lr": lr, "weight_decay": weight_decay}]
    if positions and not freeze:
        learned = list(positions.values())
        rate = lr * position_rate
        groups.append({"name": "positions", "params": learned, "lr": rate, "weight_decay": position_decay})
    return [group for group in groups if group["params"]]
