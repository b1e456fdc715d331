"""The exception tree: every error says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

__all__ = [
    "AnalysisError",
    "ArgumentError",
    "AttributeValueError",
    "DataError",
    "EvaluationError",
    "FieldError",
    "GraphError",
    "GraphRewriteError",
    "ImplementationError",
    "MissingDependencyError",
    "ParseError",
    "PlacementError",
    "RewriteError",
    "RuleError",
    "ScheduleError",
    "SerialError",
    "TemporarySpaceError",
    "TypeMismatchError",
    "UnknownGraphError",
    "UnknownOpError",
    "VerificationError",
    "did_you_mean",
    "no_attribute",
    "not_there",
]


class GraphRewriteError(Exception):
    """Root of all errors of this library.

    Parameters
    ----------
    message : str
        What is wrong, where, and what to do, in one or two sentences.
    node : str, optional
        The name of the node it is about.

    Examples
    --------
    >>> str(GraphRewriteError("has no operand", node="relu_1"))
    "node 'relu_1': has no operand"
    """

    def __init__(self, message: str, *, node: str | None = None) -> None:
        self.node = node
        super().__init__(message if node is None else f"node {node!r}: {message}")


class GraphError(GraphRewriteError):
    """A graph is malformed: slots collide, an edge dangles, a name is missing or taken."""


class UnknownOpError(GraphError):
    """A node's type names no op that the graph knows."""


class UnknownGraphError(GraphError, KeyError):
    """A module or library has no graph of a name."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # a KeyError would put its message into quotes


class ImplementationError(GraphError):
    """What a node names as its implementation is missing, or does not fit the node."""


class TypeMismatchError(GraphRewriteError):
    """Operand types, shapes or attributes do not fit the op."""


class ArgumentError(TypeMismatchError, TypeError):
    """A call of an op gives an operand twice."""


class EvaluationError(GraphRewriteError):
    """A graph cannot be evaluated on the given values."""


class RuleError(GraphRewriteError):
    """An invalid rule; raised when it is defined, with its file and line."""


class RewriteError(GraphRewriteError):
    """A rewrite was refused or did not end; the graph is unchanged."""


class AnalysisError(GraphRewriteError):
    """An analysis has two functions for an op, or one that fails or returns what is no fact."""


class VerificationError(GraphRewriteError):
    """Faults that the verifier found in a graph; `faults` lists them as data."""

    def __init__(self, message: str, *, node: str | None = None, faults: Iterable[Any] = ()) -> None:
        self.faults = tuple(faults)
        super().__init__(message, node=node)


class PlacementError(GraphRewriteError):
    """Spans of memory contradict each other, or do not fit; names them by index."""


class ScheduleError(GraphRewriteError):
    """Steps contradict each other, or do not name each other; names them."""


class ParseError(GraphRewriteError):
    """Text or data that is not a graph; names line and column."""


class DataError(GraphRewriteError):
    """A value does not have the type of its field; the message starts with the path of the field."""

    def __init__(self, message: str, *, path: str = "", node: str | None = None) -> None:
        self.path = path
        super().__init__(f"{path}: {message}" if path else message, node=node)


class AttributeValueError(DataError, TypeMismatchError):
    """An attribute of a node does not have the type that its op declares; the message starts with op and attribute."""


class FieldError(DataError, AttributeError):
    """A field does not exist, or has no value."""


class SerialError(GraphRewriteError):
    """Stored data is not a graph, or a graph cannot be stored; the message starts with a JSON path."""

    def __init__(self, message: str, *, path: str = "", node: str | None = None) -> None:
        self.path = path
        super().__init__(f"{path}: {message}" if path else message, node=node)


class MissingDependencyError(GraphRewriteError):
    """An optional package or program is not installed; says how to get it."""

    @classmethod
    def of_extra(cls, what: str, extra: str) -> MissingDependencyError:
        """Return the error of something that needs packages of an extra.

        Examples
        --------
        >>> MissingDependencyError.of_extra("pictures", "view")
        MissingDependencyError("pictures need the extra 'view': pip install 'graphrewrite[view]'")
        """
        return cls(f"{what} need the extra {extra!r}: pip install 'graphrewrite[{extra}]'")


class TemporarySpaceError(GraphRewriteError):
    """The disk for temporary files is full; says which, and how to use another one."""


_LONG = 100


def not_there(node: Any, nodes: Iterable[Any]) -> GraphError:
    """Return the error for an unknown node, with a suggestion.

    Examples
    --------
    >>> print(not_there("relu_2", ["relu_1"]))
    node 'relu_2': is not in the graph; did you mean 'relu_1'?
    """
    return GraphError(f"is not in the graph{did_you_mean(str(node), map(str, nodes))}", node=node)


def no_attribute(
    module: str, name: str, known: Iterable[str], elsewhere: Mapping[str, str] = MappingProxyType({})
) -> AttributeError:
    """Return the error for a name that a module does not have, with the nearest one that it has, or that is elsewhere.

    Examples
    --------
    >>> no_attribute("graphrewrite.lowering", "quantize", ["quantise"])
    AttributeError("module 'graphrewrite.lowering' has no attribute 'quantize'; did you mean 'quantise'?")
    """
    # Many a tool asks modules for names of its own that begin like this: none is near to anything.
    near = "" if name.startswith("_") else did_you_mean(name, [*known, *elsewhere])
    for word, place in elsewhere.items():
        near = near.replace(f" {word!r}?", f" {place}?")
    return AttributeError(f"module {module!r} has no attribute {name!r}{near}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion to append to an error, empty if no known word is near.

    Examples
    --------
    >>> did_you_mean("rellu", ["relu", "conv"])
    "; did you mean 'relu'?"
    >>> did_you_mean("quark", ["relu", "conv"])
    ''
    """
    if len(word) > _LONG:  # long names are rarely typed by hand, and comparing them is slow
        return ""
    return _suggestion(word, tuple(sorted(known)))


@lru_cache(maxsize=256)  # where several readings of a value are tried, each says the same of it again and again
def _suggestion(word: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
