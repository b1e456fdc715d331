"""The results of a search: embeddings, and the obstacle where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite.errors import RuleError
from graphrewrite.formats.text.array_printer import abbreviated
from graphrewrite.graph import Graph, Operand
from graphrewrite.op.op import Op
from graphrewrite.rewriting.facts.analysis import Analysis
from graphrewrite.rewriting.facts.numbers import numbers
from graphrewrite.rewriting.facts.observation import fact_at
from graphrewrite.types import Tensor, Type, read_only

__all__ = ["Embedding", "Incomparable", "MatchedValue", "Obstacle", "UnitMatches"]

_NOTHING: Mapping[Any, Any] = {}


@dataclass(frozen=True, slots=True)
class Embedding:
    """An embedding of a pattern.

    Attributes
    ----------
    images : tuple
        For each of ``pattern.terms`` a node's name, an `Operand`, `UnitMatches`, or None where it is not there.
    values : tuple
        The binding of each of ``pattern.variables``: an `Operand`, a tuple of them, an attribute's value, or None.
    """

    images: tuple[Any, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class UnitMatches:
    """The links of a run, lowest first, or the members of a group, by name.

    Attributes
    ----------
    nodes : tuple of tuple of str
        The nodes of each, in the order of the unit's.
    values : tuple of tuple
        The bindings of the unit's own variables in each.
    tops : tuple of str
        The node of each that is read from outside.
    """

    nodes: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...]
    tops: tuple[str, ...]


class Obstacle:
    """The reason that stopped a search furthest into the pattern, and the partial match there.

    Parameters
    ----------
    patience : int
        The number of times that the search goes on where there is no match, to find a more exact reason.

    Attributes
    ----------
    progress : int
        The depth of the search: the number of matched nodes.
    node, reason : str
        The node at which it stopped, and why.
    term : term or None
        The term of the pattern that the node did not match.
    images, bound : dict
        Terms (of a pattern graph: nodes) and variables of the pattern, each with its match.
    used : tuple of str
        The matched nodes.
    """

    def __init__(self, patience: int = 0) -> None:
        self.patience = patience
        self.progress = -1
        self.node: Any = None
        self.term: Any = None
        self.images: dict[Any, Any] = {}
        self.bound: dict[Any, Any] = {}
        self.used: tuple[str, ...] = ()
        self._message = "nothing in the graph has the type of the pattern's root"
        self._wanted: tuple[str, ...] = ()
        self._value: np.ndarray | None = None

    @property
    def reason(self) -> str:
        """Why it stopped there; written on access, for of most searches nothing is reported."""
        is_value = "" if self._value is None else f": it is {abbreviated(self._value, typed=False)}"
        return f"{self._message}{' or '.join(self._wanted)}{is_value}"

    def note(
        self,
        progress: int,
        node: Any,
        reason: str,
        *,
        term: Any = None,
        wanted: str = "",
        value: np.ndarray | None = None,
        images: Mapping[Any, Any] = _NOTHING,
        bound: Mapping[Any, Any] = _NOTHING,
        used: Iterable[str] = (),
    ) -> None:
        """Keep a reason if the search came further than before, or an alternative at the same node."""
        # The dictionaries are copied, for the search goes on and undoes them.
        if progress > self.progress:
            self.progress, self.node, self._message, self.term = progress, node, reason, term
            self._wanted, self._value = (wanted,) if wanted else (), value
            self.images, self.bound, self.used = dict(images), dict(bound), tuple(used)
        # As far in, at the same node: "needs add or mul" instead of the first alternative alone.
        elif progress == self.progress and node == self.node and wanted and self._wanted and wanted not in self._wanted:
            self._wanted += (wanted,)


class Incomparable:
    """Mixin of values of a graph, of which a rule knows no numbers: a comparison with one would always be false."""

    __slots__ = ()

    def _is(self, other: object) -> bool:
        """Tell whether something is this very value."""
        return self is other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | float | complex | np.ndarray | np.generic):
            return self._order(other)
        return self._is(other)

    __hash__ = object.__hash__

    def _order(self, other: Any) -> bool:
        raise RuleError(
            "a value of the graph is compared, and its numbers are not known; those of a constant are in its .value, "
            "as in (c.value == 0).all(), and a result of comparisons is made by ops, such as op.less"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _order


class MatchedValue(Incomparable):
    """A value of the graph as conditions and replacements see it."""

    __slots__ = ("_node", "_result", "graph")

    def __init__(self, graph: Graph, node: str, result: int = 0) -> None:
        self.graph, self._node, self._result = graph, node, result

    def _is(self, other: object) -> bool:
        return isinstance(other, MatchedValue) and self.operand == other.operand and self.graph is other.graph

    def __hash__(self) -> int:
        return hash((self._node, self._result))

    @property
    def node(self) -> str:
        """The name of the node that gives the value."""
        return self._node

    @property
    def result(self) -> int:
        """The index of the value among the node's results."""
        return self._result

    @property
    def operand(self) -> Operand:
        """The node, and which of its results."""
        return Operand(self._node, self._result)

    @property
    def data(self) -> Mapping[str, Any]:
        """The node's dictionary, read-only."""
        return MappingProxyType(self.graph._node[self._node])

    @property
    def type(self) -> Type:
        """The type of the value."""
        kind: Any = self.graph._node[self._node].get("result")
        return kind if kind.__class__ is Tensor else self.graph.result_type(self._node, self._result)

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The shape of the value."""
        return self.type.shape

    @property
    def value(self) -> np.ndarray:
        """The array of a constant, read-only."""
        data = self.graph._node[self._node]
        if data.get("type") != "constant":
            raise RuleError(
                "has no value to read, for it is no constant; annotate the variable with Constant", node=self._node
            )
        return read_only(data["value"])

    @property
    def is_constant(self) -> bool:
        """Whether the value is a constant."""
        return bool(self.graph._node[self._node].get("type") == "constant")

    @property
    def op_name(self) -> str:
        """The name of the op that gives the value."""
        return str(self.graph._node[self._node].get("type"))

    @property
    def op(self) -> Op:
        """The op that gives the value."""
        return self.graph.op(self._node)

    @property
    def annotations(self) -> dict[Any, Any]:
        """The annotations of the node: data beside the attributes of its op."""
        return self.graph.annotations(self._node)

    def fact(self, analysis: Analysis[Any] = numbers) -> Any:
        """Return what is known of the value whatever the inputs are: of its numbers, or what another analysis knows."""
        return fact_at(self.graph, analysis, *self.operand)

    @property
    def readers(self) -> int:
        """The number of nodes that read it."""
        return len(self.graph._succ[self._node])

    def __repr__(self) -> str:
        return f"<matched {self._node}>"
