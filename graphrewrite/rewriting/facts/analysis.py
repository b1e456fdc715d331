"""An analysis: what is known of an unknown value, and a function for each op from facts to facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np

from graphrewrite.errors import AnalysisError
from graphrewrite.graph import Graph, Operand
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import OF_THE_OP
from graphrewrite.rewriting.facts.predicate import Predicate
from graphrewrite.types import Type, read_only

__all__ = ["Analysis", "AppliedOp", "OpFunction"]

F = TypeVar("F")

OpFunction = Callable[["AppliedOp"], Any]
"""From a node with the facts of its operands to the fact of its result, or a tuple of those of its results."""


class AppliedOp:
    """A node as the functions of an analysis see it: an op, the facts of its operands, types and attributes.

    Attributes
    ----------
    facts : tuple
        What is known of each operand.
    results : tuple of Type
        The types of the results.
    """

    __slots__ = ("_graph", "_name", "facts", "op", "results", "sources")

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: Op,
        facts: tuple[Any, ...],
        sources: tuple[Operand, ...],
        results: tuple[Type, ...],
    ) -> None:
        self._graph, self._name = graph, name
        self.op, self.facts, self.sources, self.results = op, facts, sources, results

    @property
    def type(self) -> Type:
        """The type of the first result."""
        return self.results[0]

    @property
    def element(self) -> Any:
        """The element type of the first result; None where it is no tensor."""
        return getattr(self.results[0], "element", None)

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the operands."""
        return tuple(self._graph.result_type(*source) for source in self.sources)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the op, defaults filled in."""
        return self._graph.attributes(self._name)

    @property
    def value(self) -> np.ndarray:
        """The array of a constant, read-only."""
        return read_only(np.asarray(self._graph._node[self._name]["value"]))

    def reads_one_value(self) -> bool:
        """Tell whether all operands are one value, as those of ``x * x``."""
        return len(set(self.sources)) == 1

    def __repr__(self) -> str:
        return f"<{self.op.name} at {self._name!r}>"


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Generic[F]):
    """What can be known of values, whatever the inputs are; computed from operands to readers, when somebody asks.

    Parameters
    ----------
    name : str
        The name, for messages.
    unknown : callable
        From the type of a value to what is known of it if nothing else is.
    kind : type or tuple of type
        The class of facts; anything else that a function returns is an error.
    functions : mapping of Op to callable
        From a node, an `AppliedOp`, to the fact of its result, or a tuple of those of its results. It may look at
        nothing else, and what it says must hold for every value that the facts of the operands allow.
    otherwise : callable, optional
        The function of all other ops. Where there is none, their results are unknown.
    refine : callable, optional
        From two facts of one value to what follows from both: what a function says, and what the type does.

    Examples
    --------
    How many relus a value has gone through at least:

    >>> from graphrewrite import Graph, op
    >>> from graphrewrite.rewriting.facts import facts_of
    >>> depth = Analysis(
    ...     "depth", unknown=lambda type: 0, kind=int, functions={op.relu: lambda node: node.facts[0] + 1}
    ... )
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... r = relu(x)
    ... s = relu(r)
    ... a = neg(s)
    ... y = output(a)''')
    >>> facts_of(g, depth)["s"], facts_of(g, depth)["a"]
    (2, 0)
    >>> deeper = depth.extended({op.neg: lambda node: node.facts[0]})
    >>> facts_of(g, deeper)["a"]
    2
    """

    name: str
    unknown: Callable[[Type], F]
    kind: type | tuple[type, ...] = object
    functions: Mapping[Op, OpFunction] = field(default_factory=dict)
    otherwise: OpFunction | None = None
    refine: Callable[[F, F], F] | None = None

    def __post_init__(self) -> None:
        given: Mapping[Any, Any] = self.functions
        for op, function in given.items():
            if not isinstance(op, Op) or not callable(function):
                raise AnalysisError(
                    f"{self.name}: its functions are a mapping of ops to callables, got {op!r}: {function!r}; "
                    "write {op.relu: function}"
                )
        object.__setattr__(self, "functions", MappingProxyType(dict(self.functions)))

    def extended(self, functions: Mapping[Op, OpFunction]) -> Analysis[F]:
        r"""Return the analysis with functions for more ops.

        Parameters
        ----------
        functions : mapping of Op to callable
            As for the analysis itself.

        Raises
        ------
        AnalysisError
            If an op has a function already.

        Examples
        --------
        >>> from graphrewrite import Graph, define_op
        >>> from graphrewrite.rewriting.facts import Fact, facts_of, numbers
        >>> @define_op
        ... def percentage(x):
        ...     "A share in percent, from 0 to 100."
        ...     return np.clip(x, 0, 1) * 100
        >>> mine = numbers.extended({percentage: lambda node: Fact(0.0, 100.0)})
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\np = percentage(x)\ny = output(p)", ops=[percentage])
        >>> facts_of(g, mine)["p"].high
        100.0
        """
        for op in functions:
            if op in self.functions:
                raise AnalysisError(f"{self.name}: the op {op.name!r} has a function already, and has one only")
        return replace(self, functions={**self.functions, **functions})

    def predicate(
        self,
        holds: Callable[[F], Any],
        reason: str,
        lacking: Callable[[F], str] | None = None,
        *,
        unless: Callable[[Any], bool] | None = None,
    ) -> Predicate:
        """Return a condition on values that asks what is known of them, for `rule.where`, and to call below the yield.

        Parameters
        ----------
        holds : callable
            From a fact to whether the condition certainly holds.
        reason : str
            The condition in words: "it is never negative".
        lacking : callable, optional
            From a fact to what is missing, for explanations: "may be negative: its range is [-1, 3]".
        unless : callable, optional
            From a matched value to whether the condition is seen not to hold, at less cost than that of a fact, such as
            `visibly_unlimited`.

        Examples
        --------
        >>> from graphrewrite import Graph, op, rule
        >>> from graphrewrite.rewriting.facts import numbers
        >>> small = numbers.predicate(lambda fact: fact.high <= 1, "it is at most 1")
        >>> @rule
        ... def drop_minimum(x: rule.where(small)):
        ...     "The lesser of 2 and what is at most 1."
        ...     yield op.minimum(x, 2)
        ...     return x
        >>> g = Graph.parse('''graph g
        ... x = input() : i32[4]
        ... c = clip(x, high=1)
        ... two = constant(value=2) : i32[]
        ... m = minimum(c, two)
        ... y = output(m)''')
        >>> [match.roots for match in drop_minimum.find(g)]
        [('m',)]
        """
        return Predicate(self, holds, reason, lacking, unless)

    def function_of(self, op: Op, data: Mapping[Any, Any]) -> OpFunction | None:
        """Return the function of a node with some data; None where nothing follows from its operands."""
        if not OF_THE_OP.isdisjoint(data):  # something else than the op computes it
            return None
        return self.functions.get(op, self.otherwise)

    def checked(self, found: Any, node: AppliedOp, name: str) -> tuple[F, ...]:
        """Return the facts of all results; raise if they are none."""
        refine = self.refine
        is_plain = found.__class__ is self.kind and len(node.results) == 1  # as almost always
        if is_plain:
            return (found if refine is None else refine(found, self.unknown(node.results[0])),)
        facts = found if isinstance(found, tuple) and not isinstance(found, self.kind) else (found,)
        if self.kind is tuple and len(node.results) == 1:
            facts = (found,)
        wrong = [fact for fact in facts if not isinstance(fact, self.kind)]
        if wrong or len(facts) != len(node.results):
            kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
            wanted = " or ".join(kind.__name__ for kind in kinds)
            count = len(node.results)
            what = f"one {wanted}" if count == 1 else f"a tuple of {count} {wanted}"
            raise AnalysisError(
                f"the function of {node.op.name!r} in the analysis {self.name!r} returns {found!r:.80}; return {what}",
                node=name,
            )
        if refine is None:
            return facts
        return tuple([refine(fact, self.unknown(kind)) for fact, kind in zip(facts, node.results, strict=True)])

    def __repr__(self) -> str:
        return f"<analysis {self.name}: {len(self.functions)} ops>"
