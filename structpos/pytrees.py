"""How torch takes positions and signals apart and puts them together: compile, export, saving an exported program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch.utils._pytree import MappingKey, register_pytree_node

Static = Any  # nested tuples of text, numbers, booleans and None: what can be compared, hashed and written as JSON
Context = tuple[tuple[str, ...], Static]


@runtime_checkable
class Node(Protocol):
    """Something made of tensors, by name, and of static facts."""

    def leaves(self) -> dict[str, Any]:
        """Tensors or further nodes by name; None for what is not there."""
        ...

    def static(self) -> Static:
        """What no tensor holds."""
        ...

    @classmethod
    def rebuild(cls, leaves: dict[str, Any], static: Static) -> Any:
        """The inverse; must take whatever stands in for the tensors."""
        ...


def register(kind: type[Node]) -> None:
    """Let torch see the tensors inside ``kind``."""

    def flatten(node: Node) -> tuple[list[Any], Context]:
        leaves = {name: leaf for name, leaf in node.leaves().items() if leaf is not None}
        return list(leaves.values()), (tuple(leaves), node.static())

    def flatten_with_keys(node: Node) -> tuple[list[tuple[Any, Any]], Context]:
        # Keys, not attributes: torch.export replaces paths as texts, and "line" is how "line_from_bottom" begins.
        values, context = flatten(node)
        return [(MappingKey(name), value) for name, value in zip(context[0], values, strict=True)], context

    def unflatten(values: Iterable[Any], context: Context) -> Node:
        names, static = context
        node: Node = kind.rebuild(dict(zip(names, values, strict=True)), static)
        return node

    register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__qualname__}",
        to_dumpable_context=lambda context: context,
        from_dumpable_context=_tuples,
        flatten_with_keys_fn=flatten_with_keys,
    )
    torch.serialization.add_safe_globals([kind])


def _tuples(value: Any) -> Any:
    """JSON turned the tuples into lists."""
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
    return tuple(_tuples(item) for item in value) if is_sequence else value
