"""Shared: a constant or placeholder of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.graph.value import Value
from graphrewrite.types import (
    Element,
    Stream,
    Tensor,
    Type,
    as_element,
    as_type,
    contradiction,
    element_dtype,
    element_of,
    one_object,
    owned,
)

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["Shared", "frozen"]


@dataclass(frozen=True)
class Shared:
    """A constant or placeholder of a module; made by `Module.constant` and `Module.placeholder`.

    Attributes
    ----------
    module : Module
        The module.
    name : str
        Its name in the module.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite import Module
    >>> module = Module("net")
    >>> w = module.constant("w", np.float32([1, 2]))
    >>> g, h = module.add_graph("g"), module.add_graph("h")
    >>> g.nodes[w.on(g).node]["value"] is h.nodes[w.on(h).node]["value"]
    True
    >>> module.placeholder("state", w.type).storage, module.storage["w"]
    ('mutable', 'constant')
    """

    module: Module
    name: str

    @property
    def value(self) -> np.ndarray | None:
        """The read-only array of a constant; None for a placeholder."""
        return self.module.constants.get(self.name)

    @property
    def storage(self) -> Literal["constant", "mutable"]:
        """Whether run time may write to it: a constant can be folded, a placeholder is mutable and never is."""
        return "constant" if self.name in self.module.constants else "mutable"

    @property
    def type(self) -> Type:
        """The type of the constant or placeholder."""
        return self.module.type_of(self.name)

    def on(self, graph: Graph) -> Value:
        """Return its value in a graph of the module; the node is added if the graph has none for it.

        Parameters
        ----------
        graph : Graph
            A graph of the module.

        Raises
        ------
        GraphError
            If the graph is not in the module.
        """
        if not any(graph is own for own in self.module.values()):
            raise GraphError(
                f"the graph {graph.name!r} is not in the module {self.module.name!r} of {self.name!r}; "
                f"add it: module[{graph.name!r}] = graph"
            )
        value, type_ = self.value, self.type
        kind = "input" if value is None else "constant"
        for node, data in graph.nodes(data=True):
            if data.get("shared") == self.name and data.get("type") == kind:
                return Value(graph, node)
        name = graph.fresh(self.name) if self.name in graph else self.name
        if value is None:
            handle = graph.input(name, type_)
        else:
            handle = graph.constant(value, name=name, type=type_, origin=(name,))
        graph.nodes[name]["shared"] = self.name
        return handle

    def __repr__(self) -> str:
        kind = "placeholder" if self.value is None else "constant"
        return f"<{kind} {self.name!r} of module {self.module.name!r}: {self.type}>"


def frozen(name: str, value: Any, type: Type | Element | None = None) -> tuple[np.ndarray, Type]:
    """Return an array that nobody can change, and its type; `name` is for messages."""
    if isinstance(type, Stream):
        raise TypeMismatchError(f"the type of the constant {name!r} is a Tensor, got {type}")
    element = None if type is None else type.element if isinstance(type, Tensor) else as_element(type)
    try:
        dtype = None if element is None or isinstance(value, np.ndarray) else element_dtype(element)
        array = owned(value if dtype is None else np.array(value, dtype))
    except (OverflowError, TypeError, ValueError) as error:
        expected = "numbers in lists of equal lengths" if type is None else f"numbers of {type}"
        raise TypeMismatchError(f"the constant {name!r} needs {expected}: {error}") from error
    kind = as_type(element_of(array.dtype) if type is None else type, array.shape)
    wrong = contradiction(kind, array)
    if wrong is not None:
        raise TypeMismatchError(f"the constant {name!r} {wrong}, and is declared {kind}")
    return array, one_object(kind)
