"""Sizes of a nested graph: what they are for given operands, and a node's data with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.op import reshape
from graphrewrite.op.op import Op
from graphrewrite.types import (
    Dimension,
    Size,
    Tensor,
    Type,
    pairs_of,
    solved,
    substitute,
    symbols,
    with_sizes,
    with_sizes_in,
)

__all__ = ["attributes_with_sizes", "bind_sizes", "output_types", "with_data_sizes"]


def output_types(body: Graph, types: tuple[Type, ...]) -> tuple[Type, ...]:
    r"""Return the types of a graph's outputs for operand types, one for each input.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> g = Graph.parse("graph g\nx = input() : f32[N,4]\nr = relu(x)\ny = output(r)")
    >>> print(*output_types(g, (Tensor("f32", (8, 4)),)))
    f32[8,4]
    """
    sizes = bind_sizes(body, types)
    results = [body.result_type(*body.operands(output)[0]) for output in body.outputs]
    names = dict.fromkeys(name for kind in results for name in kind.unknowns if name not in sizes)
    sizes.update({name: Size.unknown(index) for index, name in enumerate(names)})
    return tuple(with_sizes(kind, sizes) for kind in results)


def bind_sizes(body: Graph, types: tuple[Type, ...]) -> dict[str, Dimension]:
    """Return the values of the symbolic sizes of a graph's inputs for operand types, one for each input.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> g = Graph("g")
    >>> _ = g.input("x", Tensor("f32", ("N", "2*M")))
    >>> bind_sizes(g, (Tensor("f32", (8, 4)),))
    {'N': 8, 'M': 2}
    """
    declared = tuple(map(body.result_type, body.inputs))
    sizes = solved(pairs_of(declared, types))
    for name, own, operand in zip(body.inputs, declared, types, strict=True):
        wanted = with_sizes(own, sizes)
        if operand != wanted:
            wrong = [size for size, actual in pairs_of([own], [operand]) if substitute(size, sizes) != actual]
            bound = dict.fromkeys(f"{n} is {sizes[n]}" for size in wrong for n in symbols(size) if n in sizes)
            where = f" where {' and '.join(bound)}" if bound else ""
            raise TypeMismatchError(
                f"its input {name!r} is {own}{where}, got {operand}; convert the operand, or change the graph"
            )
    return sizes


def with_data_sizes(data: Mapping[str, Any], op: Op | None, sizes: Mapping[str, Dimension]) -> dict[str, Any]:
    """Return the data of a node with other sizes in place of names, in its types and in attributes of its op.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> data = {"type": "reshape", "shape": ("N", 4), "result": Tensor("f32", ("N", 4))}
    >>> with_data_sizes(data, op.reshape, {"N": 3})["shape"]
    (3, 4)
    """
    changed = dict(data)
    if not sizes:
        return changed
    if (result := changed.get("result")) is not None:
        of = tuple(with_sizes(each, sizes) for each in (result if isinstance(result, tuple) else (result,)))
        changed["result"] = of if isinstance(result, tuple) else of[0]
    if op is not None:
        changed.update(attributes_with_sizes(op, data, changed.get("result"), sizes))
    return changed


def attributes_with_sizes(
    op: Op, attributes: Mapping[str, Any], result: Any, sizes: Mapping[str, Dimension]
) -> dict[str, Any]:
    """Return the attributes of an op that hold sizes, with others in place of names; the result has them already.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> attributes_with_sizes(op.reshape, {"shape": (0, "N", 4)}, Tensor("f32", (2, 0, 4)), {"N": 0})
    {'shape': (2, 0, 4), 'allow_zero': True}
    """
    changed = {key: with_sizes_in(attributes[key], sizes) for key in op.sized & attributes.keys()}
    if op is reshape and isinstance(result, Tensor):
        is_new = (new == 0 != old for new, old in zip(changed["shape"], attributes["shape"], strict=True))
        if any(is_new):  # a size of 0 is not the axis that is kept
            changed.update(shape=result.shape, allow_zero=True)
    return changed
