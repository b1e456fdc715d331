"""Calls of implementations in place of an op's own function."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

from graphrewrite.errors import EvaluationError, UnknownOpError
from graphrewrite.execution.implementation import Fit, Implementation, Wanted, fits
from graphrewrite.execution.program.call import Call, Values, carries_objects
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.types import Type, solved, with_sizes

__all__ = ["Implemented", "computed_by", "opened"]


@dataclass(frozen=True)
class Implemented(Call):
    """A call of an implementation, whose results are checked as it is user code.

    Attributes
    ----------
    implementation : Implementation
        The implementation.
    types : tuple of Type
        Types of the operands.
    """

    implementation: Implementation | None = None
    types: tuple[Type, ...] = ()
    is_read: bool = False  # what it returns is checked in any case

    def run(self, values: Values) -> None:
        """Compute the node, and check the shapes of the results."""
        super().run(values)
        results = values[self.node]
        arrays = [values[operand.node][operand.result] for operand in self.operands]
        pairs = [zip(kind.shape, a.shape, strict=False) for kind, a in zip(self.types, arrays, strict=True)]
        sizes = solved(chain.from_iterable(pairs))
        shapes = [with_sizes(kind, sizes).shape for kind in self.results]
        got_shapes = [array.shape for array in results]
        if len(got_shapes) != len(shapes) or any(
            len(a) != len(b) or any(isinstance(t, int) and s != t for s, t in zip(a, b, strict=True))
            for a, b in zip(got_shapes, shapes, strict=True)
        ):
            expected, got = (
                ", ".join(f"[{','.join(map(str, shape))}]" for shape in each) for each in (shapes, got_shapes)
            )
            raise EvaluationError(
                f"{self.implementation!r} must return arrays of shape {expected}, got {got or 'nothing'}",
                node=self.node,
            )


def computed_by(fit: Fit, graph: Graph, node: str) -> Call:
    """Return the call of a node by an implementation; its op need not be known."""
    stated = graph.nodes[node].get("result", ())
    results = stated if isinstance(stated, tuple) else (stated,)
    try:
        op: Op | None = graph.op(node)
    except UnknownOpError:
        op = None
    attributes = attributes_in(graph.nodes[node], op)
    implementation = fit.implementation
    stand_in = Op(
        name=implementation.name,
        function=implementation.function,
        level="nn",
        infer_types=lambda *_, **__: results,
        operands=(),
        required=0,
        variadic=True,
        attributes={},
        results=len(results),
        sized=frozenset() if op is None else op.sized,
        effects=op is not None and op.effects,
    )
    operands = graph.operands(node)
    types = tuple(graph.result_type(*operand) for operand in operands)
    objects = carries_objects(graph, operands, results)
    if op is None:
        return Implemented(
            node,
            stand_in,
            attributes,
            operands,
            results,
            has_objects=objects,
            implementation=implementation,
            types=types,
        )
    # An implementation that states a layout takes arrays in it; any other needs those of the op's own function.
    arrangement = Call.of(graph, node).arrangement if implementation.layout is None else None
    stated = graph.attributes(node)
    return Implemented(
        node,
        stand_in,
        stated,
        operands,
        results,
        arrangement,
        has_objects=objects,
        implementation=implementation,
        types=types,
    )


def opened(graph: Graph, implementations: Iterable[Implementation], wanted: Collection[str]) -> Graph:
    """Return a graph whose graph ops are flattened, except wanted nodes and those that an implementation fits."""
    candidates = tuple(implementations)
    return flatten(graph, lambda flat, node: node in wanted or bool(fits(candidates, Wanted.of(flat, node))))
