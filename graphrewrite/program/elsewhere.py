"""A node that is computed by an implementation instead of its op's own function."""

from __future__ import annotations

from graphrewrite.errors import UnknownOpError
from graphrewrite.graph import RESERVED, Graph
from graphrewrite.implementation import Fit
from graphrewrite.op.op import Op
from graphrewrite.program.call import Call

__all__ = ["computed_by"]


def computed_by(fit: Fit, graph: Graph, node: str) -> Call:
    """Return what a node computes by an implementation.

    Parameters
    ----------
    fit : Fit
        Of which nothing needs to be converted any more.
    graph : Graph
        The graph.
    node : str
        A node of it; its op need not be known.

    Returns
    -------
    Call
    """
    stated = graph.nodes[node].get("result", ())
    results = stated if isinstance(stated, tuple) else (stated,)
    try:
        op: Op | None = graph.op(node)
    except UnknownOpError:
        op = None
    attributes = {key: value for key, value in graph.nodes[node].items() if key not in RESERVED}
    given = fit.implementation
    stand_in = Op(
        name=given.name,
        function=given.function,
        level="nn",
        infer_types=lambda *_, **__: results,
        operands=(),
        required=0,
        variadic=True,
        attributes={},
        results=len(results),
    )
    if op is None:
        return Call(node, stand_in, attributes, graph.operands(node), results)
    # An implementation that states a layout takes arrays in it; any other computes as the op's own function does.
    arrangement = Call.of(graph, node).arrangement if given.layout is None else None
    return Call(node, stand_in, graph.attributes(node), graph.operands(node), results, arrangement)
