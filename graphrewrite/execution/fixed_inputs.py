"""A graph some of whose inputs are constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.execution.program.arguments import checked
from graphrewrite.graph import Graph
from graphrewrite.graph.type_inference import infer
from graphrewrite.hierarchy.graph_sizes import replace_sizes
from graphrewrite.types import EdgeType, Stream, Tensor
from graphrewrite.types.ownership import owned
from graphrewrite.types.size_binding import pairs_of, solved

__all__ = ["graph_with_inputs"]


def graph_with_inputs(graph: Graph, values: Mapping[str, Any]) -> Graph:
    r"""Return a graph in which inputs are constants of the same name, so that folding can go on from them.

    Parameters
    ----------
    graph : Graph
        Any graph whose inputs are tensors; untouched.
    values : mapping of str to array-like
        Arrays for some of the inputs, as `graphrewrite.evaluate` takes them. Symbolic sizes of their types become what
        they are in the arrays, everywhere in the graph.

    Raises
    ------
    EvaluationError
        If there is no input of a name, it is no tensor, or an array does not fit its type.
    TypeMismatchError
        If arrays contradict each other in a size, or an op cannot have the sizes.

    Examples
    --------
    >>> text = "graph g\nx = input() : f32[N,2]\nk = input() : f32[K,2]\na = concat(x, k, axis=0)\ny = output(a)"
    >>> g = Graph.parse(text)
    >>> print(graph_with_inputs(g, {"k": [[1, 2]]}))
    graph g
    x = input() : f32[N,2]
    k = constant(value=[[1.0, 2.0]]) : f32[1,2]
    a = concat(x, k, axis=0) : f32[N + 1,2]
    y = output(a)
    """
    types = dict(zip(graph.inputs, graph.input_types, strict=True))
    for name in values:
        kind = types.get(name)
        if isinstance(kind, Stream | EdgeType):
            raise EvaluationError(f"the input {name!r} is {kind}, and only a tensor can be a constant")
    arrays = checked(values, types, ())
    pairs = [
        pair
        for name, array in arrays.items()
        for pair in pairs_of((types[name],), (Tensor(types[name].element, array.shape),))
    ]
    sizes = solved(pairs)
    new = graph.copy()
    replace_sizes(new, sizes)
    for name, array in arrays.items():
        kind = new.result_type(name)
        if kind.shape != array.shape:
            raise TypeMismatchError(f"the input {name!r} is {types[name]}, with {sizes} {kind}; got {array.shape}")
        data = new.nodes[name]
        del data["index"]
        data.update(type="constant", value=owned(array))
    for index, name in enumerate(new.inputs):
        new.nodes[name]["index"] = index
    infer(new)
    return new
