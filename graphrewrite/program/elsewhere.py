"""A node that is computed by an implementation instead of its op's own function."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from graphrewrite.errors import EvaluationError, UnknownOpError
from graphrewrite.graph import Graph
from graphrewrite.implementation import Fit, Implementation, Wanted, fits
from graphrewrite.marks import attributes_in
from graphrewrite.nested.expansion import flatten
from graphrewrite.op.op import Op
from graphrewrite.program.call import Call, Values
from graphrewrite.types import Type

__all__ = ["Implemented", "computed_by", "opened"]


@dataclass(frozen=True)
class Implemented(Call):
    """What an implementation computes; what it gives is looked at, for it is not the library's.

    Attributes
    ----------
    implementation : Implementation
        Where the function comes from.
    types : tuple of Type
        Of the operands.
    """

    implementation: Implementation | None = None
    types: tuple[Type, ...] = ()

    def run(self, values: Values) -> None:
        """Compute the node, and see that the results have the shapes of its types.

        Parameters
        ----------
        values : dict
            Holds the operands; takes the results.

        Raises
        ------
        EvaluationError
            If the function fails, or gives other shapes or too few results.
        """
        super().run(values)
        found = values[self.node]
        sizes = {
            size: there
            for kind, operand in zip(self.types, self.operands, strict=True)
            for size, there in zip(kind.shape, values[operand.node][operand.result].shape, strict=False)
            if isinstance(size, str)
        }
        shapes = [tuple(sizes.get(str(size), size) for size in kind.shape) for kind in self.results]
        given = [array.shape for array in found]
        if len(given) != len(shapes) or any(
            len(a) != len(b) or any(isinstance(t, int) and s != t for s, t in zip(a, b, strict=True))
            for a, b in zip(given, shapes, strict=True)
        ):
            wanted, got = (", ".join(f"[{','.join(map(str, shape))}]" for shape in each) for each in (shapes, given))
            raise EvaluationError(
                f"{self.implementation!r} must give arrays of shape {wanted}, and gives {got}", node=self.node
            )


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
    attributes = attributes_in(graph.nodes[node], () if op is None else op.attributes)
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
    operands = graph.operands(node)
    types = tuple(graph.result_type(*operand) for operand in operands)
    if op is None:
        return Implemented(node, stand_in, attributes, operands, results, None, given, types)
    # An implementation that states a layout takes arrays in it; any other computes as the op's own function does.
    arrangement = Call.of(graph, node).arrangement if given.layout is None else None
    return Implemented(node, stand_in, graph.attributes(node), operands, results, arrangement, given, types)


def opened(graph: Graph, implementations: Iterable[Implementation], wanted: Collection[str]) -> Graph:
    """Return a graph with the nodes of other graphs in place of nodes that are these graphs, so that they are computed.

    Parameters
    ----------
    graph : Graph
        Any graph; untouched.
    implementations : iterable of Implementation
        A node for which one fits stays what it is.
    wanted : collection of str
        Nodes that stay as well.

    Returns
    -------
    Graph
    """
    given = tuple(implementations)
    return flatten(graph, lambda flat, node: node in wanted or bool(fits(given, Wanted.of(flat, node))))
