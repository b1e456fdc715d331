"""A whole pattern: its roots, nodes, variables, and forbidden nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphrewrite.op.given_ops import hides_library, hiding
from graphrewrite.rewriting.pattern.condition import Literal
from graphrewrite.rewriting.pattern.terms import (
    Either,
    Every,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Term,
    Traced,
    Variable,
    Without,
)

__all__ = ["Pattern", "Root", "height_of", "kinds_of", "parts_of", "top_of", "walk"]

Root = PatternNode | Result | Repeated | Every
_CONSTANT = frozenset({"constant"})


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """The pattern of a rule.

    Attributes
    ----------
    roots : tuple of PatternNode, Result, Repeated or Every
        The terms that are replaced.
    forbidden : tuple of PatternNode
        Nodes that must not be there outside of the match.
    terms : tuple of term
        Nodes and other forms, in the order of the rule's source.
    nodes : tuple of PatternNode
        The nodes of a match in that order, those of a repeated unit once; negated ones are left out.
    variables : tuple of Variable
        The rule's parameters.
    kinds : tuple of str
        The kind of binding of each: a ``"value"``, ``"values"`` or an ``"attribute"``.
    """

    roots: tuple[Root, ...]
    forbidden: tuple[PatternNode, ...]
    terms: tuple[Traced, ...]
    nodes: tuple[PatternNode, ...]
    variables: tuple[Variable, ...]
    kinds: tuple[str, ...]

    @classmethod
    def of(
        cls, yielded: Any, variables: tuple[Variable, ...], terms: list[Traced], complain: Callable[[str], Exception]
    ) -> Pattern:
        """Check the terms that a rule yielded and make a pattern of them."""
        # Roots are replaced; a yielded negation forbids nodes outside of the match.
        yields = yielded if isinstance(yielded, tuple) else (yielded,)
        roots: list[Root] = []
        forbidden: list[PatternNode] = []
        for term in yields:
            if isinstance(term, Without) and isinstance(term.term_, PatternNode):
                forbidden.append(term.term_)
            elif isinstance(term, Repeated) and term.least < 1:
                raise complain(f"yields {term!r}, of which nothing may be there to replace; write least=1")
            elif isinstance(term, PatternNode | Result | Repeated | Every):
                roots.append(term)
            else:
                hint = "yield the node that is to be replaced"
                if isinstance(term, Either):
                    hint = "write (op.a | op.b)(x) for one of several ops, or a rule for each"
                raise complain(f"yields {term!r}, which is no op; {hint}")
        if not roots:
            raise complain("yields nothing; yield the node that is to be replaced")
        if len(set(roots)) < len(roots):
            raise complain("yields one node twice; yield each once")
        for term in yields:
            for part in walk(term):
                if isinstance(part, Without) and any(isinstance(p, Without) for p in walk(part.term_) if p is not part):
                    raise complain(f"has a negation inside a negation, {part!r}; write what must be there instead")
        for term in terms:
            for op in term.ops if isinstance(term, PatternNode) else ():
                if hides_library(op):
                    raise complain(f"matches {term!r}, and {hiding(op)}")
        # Every term above the yield must be part of a yielded one, and every variable be used in one way.
        reached = {id(part): part for term in yields for part in walk(term)}
        _check_variables(variables, list(reached.values()), complain)
        for term in terms:
            if id(term) not in reached:
                raise complain(
                    f"makes {term!r} above the yield, which is no part of what it yields; yield it too or drop it"
                )
        for term in reached.values():
            if isinstance(term, Every) and id(term.of) not in _reached_without_groups(roots):
                raise complain(
                    f"has {term!r}, and nothing says where {term.of!r} is; name it in the form, as in "
                    "rule.every(x, lambda c: op.div(c, x))"
                )
        # The nodes of a match: the parts of the roots that are not negated.
        positive = {id(part) for root in roots for part in walk(root, negated=False)}
        nodes: list[PatternNode] = []
        for term in terms:
            if id(term) in positive:
                nodes.extend(term.unit.nodes if isinstance(term, Repeated | Every) else ())
                nodes.extend((term,) if isinstance(term, PatternNode) else ())
        for node in nodes:
            if node.kinds & {"input", "output"}:
                raise complain(f"matches {node!r}, but inputs and outputs are the graph's own; match what is between")
        kinds = tuple(_kind_of(v, list(reached.values())) for v in variables)
        return cls(tuple(roots), tuple(forbidden), tuple(terms), tuple(nodes), variables, kinds)

    @cached_property
    def unpacked(self) -> frozenset[int]:
        """The places of terms that are nodes with several results."""
        return frozenset(i for i, t in enumerate(self.terms) if isinstance(t, PatternNode) and t.results != 1)

    @cached_property
    def whole(self) -> frozenset[int]:
        """By identity, roots of which only a match knows how many results they have: all are replaced."""
        read = {id(part) for term in self.terms for part in parts_of(term)}
        return frozenset(id(r) for r in self.roots if isinstance(r, PatternNode) and r.is_open and id(r) not in read)

    @cached_property
    def needed(self) -> tuple[frozenset[str], ...]:
        """Sets of types: in a graph that has no node of one of them, there is no match."""
        found: dict[frozenset[str], None] = {}
        seen: set[int] = set()
        work: list[Any] = [*self.roots, *map(top_of, self.roots)]
        while work:
            term = work.pop()
            if id(term) in seen:
                continue
            seen.add(id(term))
            found.setdefault(kinds_of(term))
            # Below these, what is there is in every match; of alternatives, runs and groups it may not be.
            if isinstance(term, PatternNode | Result):
                work += parts_of(term)
            elif isinstance(term, Repeated | Every):
                work.append(term.base if isinstance(term, Repeated) else term.of)
        return tuple(filter(None, found))

    def most_readers(self, node: PatternNode) -> int:
        """Return how many nodes of a match may read one of its nodes: those that are not below it."""
        below = {id(node)} if self.may_be_cyclic else set(map(id, walk(node)))
        return sum(id(other) not in below for other in self.nodes)

    @cached_property
    def may_be_cyclic(self) -> bool:
        """Whether a node of a match may read one above it: cycles pass through state."""
        return any(not node.ops or any(op.stateful for op in node.ops) for node in self.nodes)

    @property
    def denied(self) -> dict[int, Without]:
        """By identity, nodes and variables that only a negation has, each with one that has it: they bind nothing."""
        matched = {id(part) for root in self.roots for part in _bound(walk(root, negated=False))}
        yielded = [Without(node.tracing, node) for node in self.forbidden]
        inner = [part for root in self.roots for part in walk(root) if isinstance(part, Without)]
        return {
            id(part): negation
            for negation in (*inner, *yielded)
            for part in _bound(walk(negation.term_))
            if id(part) not in matched
        }

    def __repr__(self) -> str:
        return f"<pattern: {self}>"

    def __str__(self) -> str:
        return ", ".join([*map(repr, self.roots), *(f"~{node!r}" for node in self.forbidden)])


def _bound(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield parts of a term, and the variables that stand for attributes."""
    for part in parts:
        yield part
        if isinstance(part, PatternNode):
            yield from (value for value in part.attributes.values() if isinstance(value, Variable))


def _kind_of(variable: Variable, terms: list[Any]) -> str:
    if any(isinstance(t, Rest) and t.variable is variable for t in terms):
        return "values"
    return "value" if any(t is variable for t in terms) else "attribute"


def _check_variables(variables: tuple[Variable, ...], terms: list[Any], complain: Callable[[str], Exception]) -> None:
    as_operand = {id(t) for t in terms if isinstance(t, Variable)}
    as_attribute = {id(v) for t in terms if isinstance(t, PatternNode) for v in t.attributes.values()}
    single = {id(op) for t in terms for op in parts_of(t) if isinstance(op, Variable)}
    rests = {id(t.variable) for t in terms if isinstance(t, Rest)}
    for variable in variables:
        if id(variable) in as_operand and id(variable) in as_attribute:
            raise complain(f"uses {variable.name!r} both as an operand and as an attribute; take two parameters")
        if id(variable) in rests and id(variable) in single:
            raise complain(f"uses {variable.name!r} both as one operand and as *{variable.name}; take two parameters")
        if id(variable) not in as_operand | as_attribute:
            raise complain(
                f"never uses its parameter {variable.name!r} above the yield; use it in the pattern or drop it"
            )
    for term in terms:
        # Operands are matched from the first on, so that only the last ones can be missing.
        operands = term.operands if isinstance(term, PatternNode) else ()
        for index, operand in enumerate(operands):
            if not (isinstance(operand, Variable) and operand.optional):
                continue
            if any(isinstance(t, Rest) for t in operands):
                raise complain(f"has the optional operand {operand.name!r} beside *operands, which may miss anyway")
            if index + 1 < len(operands):
                later = operands[index + 1 :]
                if not all(isinstance(t, Variable) and t.optional for t in later):
                    raise complain(
                        f"has the optional operand {operand.name!r} before one that is not; only the last may miss"
                    )


def _reached_without_groups(roots: list[Root]) -> set[int]:
    """Return the identities of the terms that are matched before the readers of a group are gathered."""
    reached: set[int] = set()
    work: list[Any] = list(roots)
    while work:
        term = work.pop()
        if id(term) not in reached:
            reached.add(id(term))
            work += (term.unit.top,) if isinstance(term, Every) else parts_of(term)
            work += (term.variable,) if isinstance(term, Rest) else ()
    return reached


def parts_of(term: Any) -> tuple[Term, ...]:
    """Return the direct parts of a term, without its attributes."""
    match term:
        case PatternNode():
            return term.operands
        case Result():
            return (term.node,)
        case Either():
            return term.options
        case Without():
            return (term.term_,)
        case Repeated():
            return (term.base, term.unit.top)
        case Every():
            return (term.of, term.unit.top)
    return ()


def walk(term: Any, *, negated: bool = True) -> Iterator[Any]:
    """Yield a term and all its parts, each once; negated ones only if ``negated``."""
    seen: set[int] = set()
    work = [term]
    while work:
        part = work.pop()
        if id(part) in seen or (isinstance(part, Without) and not negated):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Rest):
            work.append(part.variable)
        work.extend(reversed(parts_of(part)))  # so that operands come in order


def kinds_of(term: Any) -> frozenset[str]:
    """Return the types of the nodes that a term can match; empty for any."""
    match term:
        case PatternNode():
            return term.kinds
        case Result():
            return term.node.kinds
        case Literal() | Variable(constant=True, optional=False):
            return _CONSTANT
        case Either():
            kinds = [kinds_of(option) for option in term.options]
            return frozenset().union(*kinds) if all(kinds) else frozenset()
        case Repeated():
            kinds = [term.unit.top.kinds, *(() if term.least else (kinds_of(term.base),))]
            return frozenset().union(*kinds) if all(kinds) else frozenset()
    return frozenset()


def top_of(root: Root) -> PatternNode:
    """Return the node of a root that is read from outside."""
    if isinstance(root, Result):
        return root.node
    return root.unit.top if isinstance(root, Repeated | Every) else root


def height_of(term: Any) -> int:
    """Return how many nodes lie on the longest path from a term down to a variable, the term included."""
    if isinstance(term, Result):
        return height_of(term.node)
    if not isinstance(term, PatternNode):
        return 0
    return 1 + max(map(height_of, term.operands), default=0)
