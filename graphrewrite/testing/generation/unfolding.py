"""One plain reading of a pattern: an op for each node, an option for each choice, a number for each repetition.

What is left is a picture of the graph to be made: nodes with one op and operands by position, and leaves that come from
outside of the match.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import (
    Either,
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Term,
    Variable,
    Where,
    Without,
)
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.tables import CONTINUOUS, DEFAULT_OPS

__all__ = ["Capture", "Leaf", "Node", "Output", "Unfolded", "unfold"]

_MORE = 3
"""The most values of a variadic operand, and the most links of a chain where the pattern is content with fewer."""
_MANY = 5
"""Now and then there are so many, for code that tells apart no more than a few."""


@dataclass(eq=False)
class Leaf:
    """A value that a match reads: a constant or not, of some values, under conditions.

    Attributes
    ----------
    constant : bool
        Whether it is a constant.
    literal : Literal, optional
        What it is a constant of.
    condition : Where, optional
        What it must fulfil.
    fresh : bool
        Whether it must be none of the values that are there already.
    """

    constant: bool = False
    literal: Literal | None = None
    condition: Where | None = None
    fresh: bool = False


@dataclass(eq=False)
class Capture:
    """What binds an attribute: equal wherever it stands."""

    condition: Where | None = None


@dataclass(eq=False)
class Node:
    """A node to be made; the values of attributes are plain, a `Capture`, or a `Where`."""

    op: Op
    operands: tuple[Leaf | Output, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Output:
    """One result of a node."""

    node: Node
    index: int = 0


@dataclass
class Unfolded:
    """A reading of a pattern.

    Attributes
    ----------
    roots : list of Output
        What is replaced, in the order of the pattern's roots, a group's members in a row.
    nodes : list of Node
        All nodes, operands first.
    """

    roots: list[Output] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


def unfold(pattern: Pattern, pick: Pick) -> Unfolded:
    """Return one reading of a pattern.

    Raises
    ------
    Unfit
        If these choices contradict each other, or a form cannot be made, with its name.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_repeated_relu(x):
    ...     "Several relus are one."
    ...     yield rule.repeated(x, op.relu, least=2)
    ...     return op.relu(x)
    >>> [node.op.name for node in unfold(drop_repeated_relu.pattern, lambda options: options[0]).nodes]
    ['relu', 'relu']
    """
    reading = _Reading(pick)
    for root in pattern.roots:
        reading.unfolded.roots.extend(reading.root(root))
    return reading.unfolded


class _Scope:
    """What terms stand for; inside of a unit some of them stand for something else each time."""

    def __init__(self, own: Sequence[Any] = (), outer: _Scope | None = None) -> None:
        self.outer, self.own = outer, {id(term) for term in own}
        self.found: dict[int, Any] = {}

    def of(self, term: Any) -> dict[int, Any]:
        return self.found if self.outer is None or id(term) in self.own else self.outer.of(term)


class _Reading:
    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.unfolded = Unfolded()
        self.top = _Scope()
        self.chosen: dict[tuple[Op, ...], Op] = {}

    # ------------------------------------------------------------------ terms

    def root(self, root: Any) -> list[Output]:
        if isinstance(root, Every):
            return self.every(root)
        port = self.port(root, self.top)
        assert isinstance(port, Output)  # the run that is a root has a link
        if isinstance(root, PatternNode):
            return [Output(port.node, index) for index in range(root.results)]
        return [port]

    def port(self, term: Term, scope: _Scope) -> Leaf | Output:
        known = scope.of(term)
        if id(term) not in known:
            known[id(term)] = self.make(term, scope)
        found: Leaf | Output = known[id(term)]
        return found

    def make(self, term: Term, scope: _Scope) -> Leaf | Output:
        match term:
            case Variable():
                return Leaf(constant=term.constant, condition=term.condition)
            case PatternNode():
                return Output(self.node(term, scope))
            case Result():
                inner = self.port(term.node, scope)
                assert isinstance(inner, Output)
                return Output(inner.node, term.index)
            case Either():
                return self.port(self.pick(term.options), scope)
            case Literal():
                return Leaf(constant=True, literal=term)
            case Where():
                return Leaf(condition=term)
            case Without():
                return Leaf(fresh=True)  # an input or a constant of its own is hardly ever what must not be there
            case Repeated():
                return self.repeated(term, scope)
        raise Unfit(f"{type(term).__name__.lower()}: {term!r} is no operand")

    def repeated(self, term: Repeated, scope: _Scope) -> Leaf | Output:
        port = self.port(term.base, scope)
        for _ in range(self.pick((*range(term.least, max(term.least + 1, _MORE) + 1), term.least + _MANY))):
            inner = _Scope((*term.unit.nodes, *term.unit.own, term.unit.hole), scope)
            inner.found[id(term.unit.hole)] = port
            port = self.port(term.unit.top, inner)
        return port

    def every(self, term: Every) -> list[Output]:
        self.port(term.of, self.top)
        least = max(term.least, 1)
        members = []
        for _ in range(self.pick(range(least, least + 2))):
            port = self.port(term.unit.top, _Scope((*term.unit.nodes, *term.unit.own), self.top))
            assert isinstance(port, Output)
            members.append(port)
        return members

    # ------------------------------------------------------------------ nodes

    def node(self, term: PatternNode, scope: _Scope) -> Node:
        present = list(self.present(term, scope))
        op = self.op(term, len([t for t in present if not isinstance(t, Rest)]), scope)
        need = max(op.required, int(op.variadic)) - sum(
            len(scope.of(t.variable).get(id(t.variable), ())) if isinstance(t, Rest) else 1 for t in present
        )
        operands: list[Leaf | Output] = []
        still_open = {id(t.variable) for t in present if isinstance(t, Rest)}
        for operand in present:
            if not isinstance(operand, Rest):
                operands.append(self.port(operand, scope))
                continue
            variable = operand.variable
            still_open.discard(id(variable))
            known = scope.of(variable)
            if id(variable) not in known:
                room = _MORE if op.variadic else len(op.operands) - (op.required - need)
                least = 0 if still_open else max(0, need)
                if least > room:
                    raise Unfit(f"*{variable.name}: {op.name} takes fewer operands")
                counts = range(least, min(room, max(least + 1, _MORE)) + 1)
                count = self.pick((*counts, *counts, _MANY) if op.variadic and least < _MANY else counts)
                known[id(variable)] = [Leaf(variable.constant, condition=variable.condition) for _ in range(count)]
                need -= count
            operands.extend(known[id(variable)])
        if len(operands) < max(op.required, int(op.variadic)) or (len(operands) > len(op.operands) and not op.variadic):
            raise Unfit(f"{op.name} does not take {len(operands)} operands")
        if op.commutative and len(operands) == 2 and self.pick((False, True)):
            operands.reverse()  # a rule matches both orders
        wanted = self.of_one_rank(op, term.attributes)
        node = Node(op, tuple(operands), {k: self.attribute(v, scope) for k, v in wanted.items()})
        self.unfolded.nodes.append(node)
        return node

    def present(self, term: PatternNode, scope: _Scope) -> Iterator[Term]:
        """Yield the operands, but for optional ones that are to be missing: the last, and none that the op needs."""
        undecided = [t for t in term.operands if isinstance(t, Variable) and t.optional and id(t) not in scope.of(t)]
        if undecided:
            least = min((op.required for op in term.ops), default=0) - (len(term.operands) - len(undecided))
            count = self.pick(range(len(undecided), min(max(least, 0), len(undecided)) - 1, -1))
            for number, variable in enumerate(undecided):  # at once: operands of operands may be the same
                scope.of(variable)[id(variable)] = self.make(variable, scope) if number < count else None
        missing = False
        for operand in term.operands:
            if isinstance(operand, Variable) and scope.of(operand).get(id(operand), operand) is None:
                missing = True
                continue
            if missing:
                raise Unfit("an optional operand is missing, and one behind it is not")
            yield operand

    def op(self, term: PatternNode, least: int, scope: _Scope) -> Op:
        """Choose an op that takes so many operands, and more only where the pattern lets it."""
        open_end = any(isinstance(t, Rest) for t in term.operands)
        candidates = term.ops or [LIBRARY[name] for name in (*CONTINUOUS, *DEFAULT_OPS)]
        fitting = [
            op
            for op in candidates
            if (least <= len(op.operands) or op.variadic)
            and (open_end or op.required <= least)
            and (term.ops or all(name in op.attributes for name in term.attributes))
        ]
        if not term.ops:  # of any op, no table tells how to give it attributes that it must have
            fitting = [op for op in fitting if op.results == 1 and not _asks_for_more(op, term)] or fitting
            # A rule about any op goes wrong where ops have more to them: attributes.
            fitting += 3 * [op for op in fitting if op.attributes]
        if not fitting:
            raise Unfit(f"{term.called}: none takes {least} operands")
        # Where the same ops stand several times, a rule is often about one of them that is there again.
        chosen = self.chosen.get(term.ops)
        if chosen not in fitting or not self.pick((True, False)):
            chosen = self.pick(fitting)
        self.chosen[term.ops] = chosen
        return chosen

    def of_one_rank(self, op: Op, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return attributes in which numbers that stand for all positions do so for one number of positions."""
        written = {k: v for k, v in wanted.items() if k in op.forms and isinstance(v, frozenset)}
        if not written:
            return wanted
        count = self.pick((2, 1, 3))
        chosen = {k: {v for v in every if len(v) == op.forms[k].each * count} for k, every in written.items()}
        return {**wanted, **{k: fitting or written[k] for k, fitting in chosen.items()}}

    def attribute(self, value: Any, scope: _Scope) -> Any:
        if isinstance(value, Variable):
            known = scope.of(value)
            if id(value) not in known:
                known[id(value)] = Capture(value.condition)
            return known[id(value)]
        if isinstance(value, set | frozenset | range):
            return self.pick(sorted(value, key=repr) if not isinstance(value, range) else value)
        return value


def _asks_for_more(op: Op, term: PatternNode) -> bool:
    return any(v is inspect.Parameter.empty and k not in term.attributes for k, v in op.attributes.items())
