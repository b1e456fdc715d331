"""Compiled body: a graph that is an attribute of a node, compiled once for all its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from graphrewrite.execution.implementation import Implementation
from graphrewrite.graph import Graph
from graphrewrite.op.body import Body
from graphrewrite.types import Type

__all__ = ["CompiledBody"]


class CompiledBody(Body):
    r"""A body that is compiled when it first runs, such as the branch that a condition chooses.

    Examples
    --------
    >>> body = CompiledBody(Graph.parse("graph b\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    >>> [body.evaluate({"x": [x, 1]})["y"].tolist() for x in (-1, 2)]
    [[0.0, 1.0], [2.0, 1.0]]
    """

    def __init__(self, graph: Graph, implementations: Sequence[Implementation] = ()) -> None:
        self.graph, self.implementations = graph, implementations

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return self.graph.inputs

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        return self.graph.outputs

    @property
    def input_types(self) -> tuple[Type, ...]:
        """Declared types of the inputs, in order."""
        return self.graph.input_types

    @property
    def has_state(self) -> bool:
        """Whether any op in it, or in a graph nested in it, has a state or an effect."""
        return self.graph.has_state

    @property
    def has_effects(self) -> bool:
        """Whether any op in it, or in a graph nested in it, has an effect."""
        return self.graph.has_effects

    def output_types(self, *types: Type) -> tuple[Type, ...]:
        """Return the types of the outputs for types of the inputs."""
        return self.graph.output_types(*types)

    def evaluate(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the outputs for values of the inputs."""
        computed: dict[str, Any] = self.program(inputs)
        return computed

    @cached_property
    def program(self) -> Any:
        """The program; a small one, as a body often runs on little data, and many times."""
        from graphrewrite.execution.program.program import compile_graph  # programs are made of calls

        # Without implementations, the marks of nested graphs are checked with those of the graph around them.
        return compile_graph(self.graph, instructions=False, implementations=self.implementations or None)

    def as_body(self) -> Self:
        """Return itself: a program does not change."""
        return self
