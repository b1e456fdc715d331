"""Export a graph as an ONNX model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from graphrewrite import Graph
from graphrewrite.errors import MissingDependencyError
from graphrewrite.given import as_graph
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.exporting import Exporter, by_our_op, opset_needed
from graphrewrite.lowering.exchange.tables import TABLE

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx"]

_OPSET = 22
"""The latest that all tools of today read."""


def to_onnx(
    graph: Graph, path: str | Path | None = None, *, opset: int | None = None, entries: Iterable[Entry] = ()
) -> onnx.ModelProto:
    r"""Return a graph as an ONNX model, and write it to a file where one is given.

    Importing it again with ``from_onnx(model, batch=None)`` gives an equal graph, but for what ONNX cannot say:
    layouts, marks and control edges.

    Parameters
    ----------
    graph : Graph
        A graph of the level ``nn``. What ONNX has no op for (``linear``, ``fma``, ``softmin``) is written as a function
        of the domain ``graphrewrite``, made of ops that it has; generic nodes are written as they came.
    path : str or Path, optional
        A file to write.
    opset : int, optional
        Version of ONNX's ops, 18 or later; where not given 22, or what the newest op or element type in it needs.
    entries : iterable of Entry
        What ops of your own are in ONNX; they come before the library's.

    Returns
    -------
    onnx.ModelProto
        One that onnx's checker accepts.

    Raises
    ------
    UnsupportedOpsError
        If nodes have no counterpart in ONNX; names all of them.
    ModelError
        If the opset is not known here, or onnx's checker refuses the model.

    Examples
    --------
    >>> from graphrewrite.lowering import from_onnx
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = leaky_relu(x, alpha=0.5)\ny = output(r)")
    >>> model = to_onnx(g)
    >>> [(node.op_type, node.name) for node in model.graph.node]
    [('LeakyRelu', 'r')]
    >>> from_onnx(model) == g
    True
    """
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError(
            "writing ONNX files needs the package onnx: pip install 'graphrewrite[onnx]'"
        ) from None
    latest = onnx.defs.onnx_opset_version()
    if opset is not None and not 18 <= opset <= latest:
        raise ModelError(f"opset {opset} cannot be written; give 18 to {latest}")
    every = by_our_op([*entries, *(entry for same in TABLE.values() for entry in same)])
    given = as_graph(graph, "that can be exported")
    model = Exporter(given, every, opset or max(_OPSET, opset_needed(given, every))).run()
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ModelError(f"onnx refuses the model: {str(error).splitlines()[0][:200]}") from None
    if path is not None:
        onnx.save(model, str(path))
    return model
