"""Cases for reduction: a graph with inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.effects import order_effects
from graphrewrite.graph.type_inference import infer
from graphrewrite.testing.strategies.inputs import batch_for

__all__ = ["LEAVES", "Case", "Step", "Ways", "retyped", "tidied", "value_of"]

LEAVES = ("input", "constant")


@dataclass(frozen=True, eq=False)
class Case:
    """A graph with inputs, on which something does not hold.

    Attributes
    ----------
    graph : Graph or networkx.DiGraph
        The graph.
    inputs : dict of str to ndarray
        A batch; empty where the graph computes nothing.
    """

    graph: Any
    inputs: dict[str, np.ndarray] = field(default_factory=dict)

    def having(self, graph: Graph, **more: np.ndarray) -> Case:
        """Return another graph with the inputs that it still has, and more."""
        inputs = {**self.inputs, **more}
        return Case(graph, {name: inputs[name] for name in graph.inputs})

    def copy(self) -> Case:
        """Return a case whose graph and inputs may be changed in place."""
        return Case(self.graph.copy(), dict(self.inputs))

    def array(self, leaf: str) -> np.ndarray | None:
        """Return the array of an input or a constant; None if there is no such node."""
        return self.inputs[leaf] if leaf in self.inputs else self.graph._node.get(leaf, {}).get("value")

    def put(self, leaf: str, array: np.ndarray) -> None:
        """Set the array of an input or a constant, in place."""
        if leaf in self.inputs:
            self.inputs[leaf] = array
        else:
            self.graph._node[leaf]["value"] = array

    def retyped(self, graph: Graph, **more: np.ndarray) -> Case | None:
        """Return another graph, as `having` does, with its types inferred again in place; None if they do not fit."""
        return None if retyped(graph) is None else self.having(graph, **more)


Ways = Iterator[Callable[[Case], "Case | None"]]
"""Functions that make a case smaller, each tried on the current case; None if one has nothing left to do."""
Step = Callable[[Case], Ways]
"""Function from a case to ways of making it smaller."""


def tidied(new: Graph, old: Graph) -> Graph:
    r"""Remove nodes, in place, that are dead but were not in another graph, and number the ports again.

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
    order_effects(new, old.effects)
    for ports in (new.inputs, new.outputs):
        for index, name in enumerate(ports):
            new._node[name]["index"] = index
    return new


def retyped(graph: Graph) -> Graph | None:
    """Infer the types of a graph again, in place; return it, or None if they do not fit."""
    try:
        infer(graph)
    except GraphRewriteError:
        return None
    return graph


def value_of(case: Case, operand: Operand) -> np.ndarray:
    """Return a value inside a graph for the inputs of a case; any values of its type if it cannot be evaluated."""
    kind = case.graph.result_type(*operand)
    probe = case.graph.copy()
    probe.remove_nodes_from(probe.outputs)
    probe.output(probe.fresh("probe"), probe.value(*operand))
    try:
        with np.errstate(all="ignore"):
            (value,) = evaluate_nodes(probe, case.inputs, probe.outputs).values()
    except GraphRewriteError:
        alone = Graph("probe")
        alone.input("x", kind)
        return batch_for(alone, 0, moderate=True)["x"]
    return value
