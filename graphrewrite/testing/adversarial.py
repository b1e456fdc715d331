"""Inputs on which two graphs differ most, looked for along the gradient of their difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution import Program, compile_graph
from graphrewrite.graph import Graph, Operand
from graphrewrite.op.differentiation import DIFFERENTIABLE
from graphrewrite.op.library import LIBRARY
from graphrewrite.testing.comparison import RANGE, moderated
from graphrewrite.testing.failure.values import is_batched
from graphrewrite.testing.rows import row_of
from graphrewrite.types import Tensor, element_dtype

__all__ = ["NoGradientError", "worst_inputs"]

_STEPS = tuple(2.0 * 0.6**i for i in range(30))
"""How far every number goes at once, from what crosses the range of inputs to what settles on a narrow peak."""


class NoGradientError(Exception):
    """The difference of two graphs has no gradient, so that there is no direction to look in."""


def worst_inputs(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    r"""Return inputs between -8 and 8, each row the worst on the way uphill from a given one, and the worst row.

    All numbers of the inputs take steps of one size in the direction of the sign of their gradient (Madry et al. 2018),
    once towards a difference above zero, and once below; the steps become smaller. The gradient is that of the graphs
    in double precision: the rounding of `f32` would drown it.

    Raises
    ------
    NoGradientError
        If there is none.

    Examples
    --------
    >>> text = "graph g\nx = input() : f64[N]\ns = {} : f64[N]\ny = output(s)"
    >>> before, after = (Graph.parse(text.format(made)) for made in ("tanh(x)", "clip(x, low=-1, high=1)"))
    >>> worst_inputs(before, after, {"x": np.array([0.1, -3.0])})[0]["x"].round(1).tolist()
    [1.0, -1.0]
    """
    from graphrewrite.learning import differentiate  # with all that can be lowered, which takes a while to load

    try:
        try:
            graph = differentiate(_difference(before, after, wide=True), "total")
        except GraphRewriteError:  # of an op that takes one precision only
            graph = differentiate(_difference(before, after, wide=False), "total")
        program = compile_graph(graph)
        start = moderated(inputs)
        best = _Best(start, by_row=all(is_batched(before, Operand(name)) for name in (*before.inputs, *before.outputs)))
        with np.errstate(all="ignore"):
            for direction in (1, -1):
                _climb(graph, program, start, direction, best)
    except GraphRewriteError as error:
        raise NoGradientError(str(error)) from None
    alone = row_of(before, best.inputs, int(best.error.argmax())) if best.by_row else best.inputs
    return best.inputs, alone


def _climb(graph: Graph, program: Program, start: Mapping[str, np.ndarray], direction: int, best: _Best) -> None:
    """Take steps, from wide to narrow, and note all that is passed."""
    wide = {name: element_dtype(graph.result_type(name).element) for name in graph.inputs}
    found = {name: np.asarray(array, wide[name]) for name, array in start.items()}
    for step in (*_STEPS, 0.0):
        values = program(found)
        best.note(found, [np.abs(values[name]) for name in graph.outputs if name.startswith("apart_")])
        slopes = {name: np.nan_to_num(values[f"d_{name}"]) for name in found if f"d_{name}" in values}
        moved = {name: found[name] + direction * step * np.sign(slope) for name, slope in slopes.items()}
        found = {**found, **{name: np.clip(array, -RANGE, RANGE) for name, array in moved.items()}}


def _difference(before: Graph, after: Graph, *, wide: bool) -> Graph:
    """Return a graph of the differences of outputs that are floats, and of their sum; of doubles throughout if wide."""

    def kind_of(kind: Any) -> Any:
        return replace(kind, element="f64") if wide and isinstance(kind, Tensor) and kind.element == "f32" else kind

    graph, ends = Graph("difference", ops={**before.ops, **after.ops}.values()), []
    given = {name: graph.input(name, kind_of(before.result_type(name))) for name in before.inputs}
    for each in (before, after):
        values = {(name, 0): value for name, value in given.items()}
        for node in each.in_order():
            if node in each.inputs or node in each.outputs:
                continue
            if each.nodes[node]["type"] == "constant":
                kind = kind_of(each.result_type(node))
                made: Any = graph.constant(
                    np.asarray(each.nodes[node]["value"], element_dtype(kind.element)), type=kind
                )
            else:
                operands = [values[source.node, source.result] for source in each.operands(node)]
                attributes = each.attributes(node)
                if wide and attributes.get("element") == "f32":
                    attributes["element"] = "f64"
                made = graph.add(each.op(node), operands, attributes)
            for result, value in enumerate(made if isinstance(made, tuple) else (made,)):
                values[node, result] = value
        ends.append([values[source.node, source.result] for source in (each.operands(n)[0] for n in each.outputs)])
    pairs = [
        (a, b) for a, b in zip(*ends, strict=True) if isinstance(a.type, Tensor) and a.type.element in DIFFERENTIABLE
    ]
    if not pairs:
        raise NoGradientError("no output is of f32 or f64")
    total: Any = None
    for number, (a, b) in enumerate(pairs):
        apart = LIBRARY["sub"](a, b)
        graph.output(f"apart_{number}", apart)
        own = LIBRARY["cast"](LIBRARY["reduce_sum"](apart, keep_dims=False), element="f64")
        total = own if total is None else LIBRARY["add"](total, own)
    graph.output("total", total)
    return graph


class _Best:
    """The inputs with the greatest difference so far: row by row, where rows are computed each by itself."""

    def __init__(self, inputs: dict[str, np.ndarray], *, by_row: bool) -> None:
        self.inputs, self.by_row = inputs, by_row
        self.error = np.full(len(next(iter(inputs.values()))) if by_row else 1, -1.0)

    def note(self, inputs: Mapping[str, np.ndarray], apart: list[np.ndarray]) -> None:
        """Keep those inputs that differ by more."""
        rows = len(self.error)
        error = np.max([np.nan_to_num(each, posinf=0).reshape(rows, -1).max(1, initial=0) for each in apart], axis=0)
        better = error > self.error
        self.error = np.where(better, error, self.error)
        for name, array in inputs.items():
            if self.by_row:
                array = np.where(better.reshape(-1, *[1] * (array.ndim - 1)), array, self.inputs[name])
            if self.by_row or better.all():
                self.inputs = {**self.inputs, name: np.asarray(array, self.inputs[name].dtype)}
