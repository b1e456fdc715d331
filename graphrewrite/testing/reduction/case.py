"""What is made smaller: a graph, and inputs for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.type_inference import infer
from graphrewrite.testing.strategies.inputs import batch_for

__all__ = ["Case", "Step", "retyped", "tidied", "value_of"]


@dataclass(frozen=True, eq=False)
class Case:
    """A graph with inputs, on which something does not hold.

    Attributes
    ----------
    graph : Graph or networkx.DiGraph
        The graph.
    inputs : mapping of str to ndarray
        A batch; empty where the graph computes nothing.
    """

    graph: Any
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)

    def having(self, graph: Graph, **more: np.ndarray) -> Case:
        """Return another graph with the inputs that it still has, and more."""
        found = {**self.inputs, **more}
        return Case(graph, {name: found[name] for name in graph.inputs})


Step = Callable[[Case], Iterator[Callable[[Case], Case | None]]]
"""From a case to ways of making it smaller.

Each way is tried in turn, on the case as it is by then; it gives None where there is nothing for it to do any more.
"""


def tidied(new: Graph, old: Graph) -> Graph:
    r"""Remove, in place, what no output needs any more that an output of another graph needed, and count ports anew.

    Parameters
    ----------
    old : Graph
        What it was before something was taken from it: what was dead there may be what matters.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(x)\ny = output(a)\nz = output(b)")
    >>> new = g.copy()
    >>> new.remove_node("y")
    >>> print(tidied(new, g))
    graph g
    x = input() : f32[N]
    b = relu(x) : f32[N]
    z = output(b)
    """
    new.remove_nodes_from(list(new.dead_nodes() - old.dead_nodes()))
    for ports in (new.inputs, new.outputs):
        for index, name in enumerate(ports):
            new._node[name]["index"] = index
    return new


def retyped(graph: Graph) -> Graph | None:
    """Infer the types of a graph anew, in place; return it, or None where they do not fit any more."""
    try:
        infer(graph)
    except GraphRewriteError:
        return None
    return graph


def value_of(case: Case, operand: Operand) -> np.ndarray:
    """Return what a value inside a graph is for the inputs of a case; zeros and others where that cannot be said."""
    kind = case.graph.result_type(*operand)
    probe = case.graph.copy()
    probe.remove_nodes_from(probe.outputs)
    probe.output(probe.fresh("probe"), probe.value(*operand))
    try:
        with np.errstate(all="ignore"):
            (found,) = evaluate(probe, case.inputs).values()
    except GraphRewriteError:
        alone = Graph("probe")
        alone.input("x", kind)
        return batch_for(alone, 0, moderate=True)["x"]
    return found
