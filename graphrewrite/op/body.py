"""Body: a graph that is an attribute of a node, which computes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from graphrewrite.types import Type

__all__ = ["Body"]


class Body:
    """What an op needs of a graph that is one of its attributes; `graphrewrite.Graph` is one.

    A body reads nothing from around it: what it needs is an operand of the node, in the order of the body's inputs.
    """

    __slots__ = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        raise NotImplementedError

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        raise NotImplementedError

    @property
    def has_state(self) -> bool:
        """Whether any op in it, or in a graph nested in it, has a state or an effect."""
        raise NotImplementedError

    @property
    def has_effects(self) -> bool:
        """Whether any op in it, or in a graph nested in it, has an effect."""
        raise NotImplementedError

    @property
    def input_types(self) -> tuple[Type, ...]:
        """Declared types of the inputs, in order."""
        raise NotImplementedError

    def output_types(self, *types: Type) -> tuple[Type, ...]:
        """Return the types of the outputs for types of the inputs."""
        raise NotImplementedError

    def evaluate(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the outputs for values of the inputs."""
        raise NotImplementedError

    def as_body(self) -> Self:
        """Return a copy that cannot be changed, or the graph itself if it is one."""
        raise NotImplementedError
