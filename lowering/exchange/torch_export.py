"""Write a graph as a module of PyTorch that can be trained."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.torch.module import Writer

__all__ = ["to_torch"]


def to_torch(graph: Graph, *, trainable: Collection[str] | None = None) -> Any:
    r"""Return a module of PyTorch, a `torch.fx.GraphModule`, that computes what a graph does.

    Parameters
    ----------
    graph : Graph
        Level ``nn``. Its sizes may be open, if those of inputs say what they are.
    trainable : collection of str, optional
        Names of constants that become parameters; by default all floats with axes, but for the statistics of batch
        norms and those with the annotation ``trainable=False``, as `from_torch` makes of buffers. The others become
        buffers. The module has copies of them.

    Returns
    -------
    torch.fx.GraphModule
        It takes the inputs in their order, and returns the output; of several a dictionary by name. Parameters are
        called as the constants are: ``layers.0.weight``.

    Raises
    ------
    UnsupportedOpsError
        If there are ops that have no form in PyTorch; names all of them.
    ModelError
        If PyTorch is missing, or attributes of a node have no form there.

    Examples
    --------
    >>> graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> to_torch(graph)(torch.tensor([[-1.0, 2.0]]))  # doctest: +SKIP
    tensor([[0., 2.]])
    """
    for name in trainable or ():
        if name not in graph or graph.nodes[name]["type"] != "constant":
            raise ModelError(f"trainable= names {name!r}, which is no constant{did_you_mean(name, graph)}")
    return Writer(graph, trainable).run()
