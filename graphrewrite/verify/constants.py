"""Checks of constants: what they hold is what they are declared, and is what a module says that they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.types import Stream, Tensor, contradiction
from graphrewrite.verify.check import check
from graphrewrite.verify.reading import kind_of

__all__ = ["constants_hold", "shared_constants_are_kept"]


@check(types=["constant"])
def constants_hold(graph: Any, node: Any) -> Iterator[str]:
    """A constant holds an array of the shape, the dtype and the range that its type says."""
    data = graph._node[node]
    declared = data.get("result")
    if "value" not in data or declared is None:
        return  # said by other checks
    if not isinstance(declared, Tensor):
        if isinstance(declared, Stream | tuple):
            yield f"holds one array and is declared {declared!s}; a constant is a Tensor"
        return
    try:
        wrong = contradiction(declared, data["value"])
    except Exception:
        wrong = f"holds no array of numbers but {data['value']!r}"  # numpy makes none of it
    if wrong is not None:
        yield wrong


@check(module=True)
def shared_constants_are_kept(module: Any) -> Iterator[tuple[str, Any, str]]:
    """A constant that is shared holds the module's array: to change it for one graph, give that one its own."""
    for name, graph in module.items():
        for node, data in graph.nodes(data=True):
            shared = data.get("shared")
            if shared is None or kind_of(graph, node) != "constant":
                continue
            if shared not in module.constants:
                yield name, node, f"shares the constant {shared!r}, which the module does not have"
            elif data.get("value") is not module.constants[shared]:
                yield name, node, f"holds another array than the constant {shared!r} that it shares; drop its mark"
