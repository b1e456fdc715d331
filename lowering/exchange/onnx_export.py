"""Export a graph as an ONNX model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from graphrewrite import Graph, rewrite
from graphrewrite.errors import MissingDependencyError
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.hierarchy.implementations import Library, implemented
from graphrewrite.lowering.composite import LOWER_COMPOSITE, lowered_ops
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.onnx.exporter import Exporter, by_our_op
from graphrewrite.lowering.exchange.onnx.model_file import without_weights
from graphrewrite.lowering.exchange.onnx.model_output import fill, write
from graphrewrite.lowering.exchange.onnx.opsets import lacking_types, opset_needed
from graphrewrite.lowering.exchange.onnx.tables import TABLE

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx"]

_OPSET = 22
"""The latest opset that current tools all read."""


def to_onnx(
    graph: Graph,
    path: str | Path | None = None,
    *,
    opset: int | None = None,
    external_data: bool | None = None,
    entries: Iterable[Entry] = (),
    implementations: Library | None = None,
) -> onnx.ModelProto:
    r"""Return a graph as an ONNX model, and write it to a file where one is given.

    Importing it again with ``from_onnx(model, batch=None)`` gives an equal graph, except for what ONNX cannot
    express: layouts, control edges, and nodes that are graphs. Annotations of nodes are metadata in the model. Effects
    keep their order, which is that of the nodes in the model.

    Parameters
    ----------
    graph : Graph
        A graph of the level ``nn``. Of a node that is a graph, or names one as its implementation, the nodes of that
        are written; where the graph is of no module and none are passed, such a name stays an annotation. Ops that
        ONNX lacks are written as functions of the domain ``graphrewrite`` (``linear``, ``fma``, ``softmin``) or by
        other ops (``channel_shuffle``); generic nodes are written as they were imported.
    path : str or Path, optional
        A file to write. What was there before is replaced in one step.
    opset : int, optional
        Version of ONNX's ops, 18 or later; by default 22, or what the newest op or element type needs. Composite ops
        that are newer, such as attention before 23, are written by others.
    external_data : bool, optional
        Whether large constants go to a file beside that of the model, such as ``net.onnx.0e5751c026e543b2.data``; by
        default where the model would be larger than 2 GB, which no ONNX file can be.
    entries : iterable of Entry
        Entries for ops of your own; they take precedence over the library's.
    implementations : mapping of str to Graph or Op, optional
        Where names that nodes have in their annotation ``implementation`` are looked up first, then in the module of
        the graph.

    Returns
    -------
    onnx.ModelProto
        One that onnx's checker accepts. With external data it says where they are, as the file does.

    Raises
    ------
    ImplementationError
        If an implementation that a node names is missing, or does not fit.
    UnsupportedOpsError
        If nodes have no counterpart in ONNX; names all of them.
    ModelError
        If the opset is not known here, or onnx's checker refuses the model.
    SerialError
        If the file cannot be written.

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
        raise MissingDependencyError.of_extra("ONNX files", "onnx") from None
    latest = onnx.defs.onnx_opset_version()
    if opset is not None and not 18 <= opset <= latest:
        raise ModelError(f"opset {opset} cannot be written; give 18 to {latest}")
    every = by_our_op([*entries, *(entry for same in TABLE.values() for entry in same)])
    source = as_graph(graph, "that can be exported")
    given = {} if implementations is None and source.library is not None else implementations
    source = implemented(source, given)
    source = flatten(source, lambda flat, node: flat.nodes[node]["type"] in every)
    source = _without_lacking(source, every, opset or latest)
    exporter = Exporter(source, every, opset or max(_OPSET, opset_needed(source, every)))
    model = exporter.run()
    try:
        onnx.checker.check_model(without_weights(model)[0])
    except onnx.checker.ValidationError as error:
        raise ModelError(f"onnx refuses the model: {str(error).splitlines()[0][:200]}") from None
    if path is None:
        fill(model, exporter.large)
    else:
        write(model, exporter.large, Path(path), external_data=external_data)
    return model


def _without_lacking(graph: Graph, table: Mapping[str, tuple[Entry, ...]], opset: int) -> Graph:
    """Return a graph with composite ops that a version of ONNX cannot say by others that it can."""
    lacking = lacking_types(graph, table, opset)
    members = [member for member in LOWER_COMPOSITE if lowered_ops(member) & lacking]
    return rewrite(graph, members) if members else graph
