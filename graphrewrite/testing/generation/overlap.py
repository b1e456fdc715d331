"""Critical pairs: two patterns that share nodes, as small as can be, so that one rewrite may spoil the other.

Two readings of patterns are unified at a node of each: what stands at the same place must be the same. A variable takes
what the other pattern has there, conditions are joined, and attributes must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from graphrewrite.rewriting.pattern import Literal, Pattern, Where, same
from graphrewrite.testing.generation.demand import Pick, Unfit, admits
from graphrewrite.testing.generation.instance import feasible_kinds, plan_reading
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Capture, Leaf, Node, Output, Unfolded, unfold

__all__ = ["overlap", "plan_overlap"]

_ATTEMPTS = 12
Port = Leaf | Output


def plan_overlap(first: Pattern, second: Pattern, pick: Pick) -> Plan:
    """Return a typed instance of two patterns that share nodes if they can; else one reads the other."""
    kinds = feasible_kinds(first)
    last = Unfit("no attempt")
    for _ in range(_ATTEMPTS):
        try:
            return plan_reading(overlap(unfold(first, pick), unfold(second, pick), pick), kinds=kinds, pick=pick)
        except Unfit as error:
            last = error
    raise last


def overlap(first: Unfolded, second: Unfolded, pick: Pick) -> Unfolded:
    """Return a reading of two patterns at once.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> first = lambda options: options[0]
    >>> once, again = (unfold(drop_double_negation.pattern, first) for _ in range(2))
    >>> [node.op.name for node in overlap(once, again, first).nodes]
    ['neg', 'neg', 'neg']
    """
    places = list(_places(first, second))
    if not places:
        raise Unfit("nothing that they can share")
    unifier = _Unifier(pick)
    unifier.equate(*pick(places))
    return unifier.joined(first, second)


def _places(first: Unfolded, second: Unfolded) -> Iterator[tuple[Port, Port]]:
    """Yield what of two patterns can be one, the likeliest to spoil a match first."""
    roots = {root.node for reading in (first, second) for root in reading.roots}
    alike = [
        (a, b) for a, b in product(first.nodes, second.nodes) if a.op is b.op and len(a.operands) == len(b.operands)
    ]
    # A node that both replace, or that one replaces and the other matches, is where the order counts.
    inner = [(a, b) for a, b in alike if (a in roots) != (b in roots)]
    outer = [(a, b) for a, b in alike if a in roots and b in roots]
    for a, b in (*inner, *outer, *inner, *outer, *(inner or outer or alike)):
        yield Output(a), Output(b)
    for over, below in ((second, first), (first, second)):
        leaves = {t: None for n in over.nodes for t in n.operands if isinstance(t, Leaf) and not _is_fixed(t)}
        yield from product(leaves, below.roots[:1])


def _is_fixed(leaf: Leaf) -> bool:
    return leaf.constant or leaf.literal is not None or leaf.fresh


class _Unifier:
    """What stands for what in a reading of two patterns."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.leaves: dict[Leaf, Port] = {}
        self.nodes: dict[Node, Node] = {}
        self.captures: dict[Capture, Any] = {}
        self.attributes: dict[Node, dict[str, Any]] = {}

    # ------------------------------------------------------------------ what is equal

    def port(self, port: Port) -> Port:
        """Return what a value is by now."""
        while isinstance(port, Leaf) and port in self.leaves:
            port = self.leaves[port]
        return Output(self.node(port.node), port.index) if isinstance(port, Output) else port

    def node(self, node: Node) -> Node:
        while node in self.nodes:
            node = self.nodes[node]
        return node

    def equate(self, one: Port, other: Port) -> None:
        """Let two values be one."""
        one, other = self.port(one), self.port(other)
        if one == other:
            return
        if isinstance(one, Leaf) and isinstance(other, Leaf):
            self.leaves[one] = self.leaves[other] = _both(one, other)
        elif isinstance(one, Leaf):
            self.bind(one, other)
        elif isinstance(other, Leaf):
            self.bind(other, one)
        elif one.index != other.index:
            raise Unfit("two results of a node are one")
        else:
            self.equate_nodes(one.node, other.node)

    def bind(self, leaf: Leaf, port: Port) -> None:
        if _is_fixed(leaf):
            raise Unfit("a constant is computed")
        self.leaves[leaf] = port

    def equate_nodes(self, one: Node, other: Node) -> None:
        if one.op is not other.op or len(one.operands) != len(other.operands):
            raise Unfit("two ops are one")
        self.nodes[other] = one
        mine, its = (self.attributes.get(node, node.attributes) for node in (one, other))
        joined = {**its, **mine}
        joined.update({key: self.value(mine[key], its[key]) for key in mine if key in its})
        self.attributes[one] = joined
        its_operands = list(other.operands)
        free = one.op.interchangeable(len(its_operands))
        if free > 1 and self.pick((False, True)):
            its_operands[:free] = reversed(its_operands[:free])
        for a, b in zip(one.operands, its_operands, strict=True):
            self.equate(a, b)

    def value(self, one: Any, other: Any) -> Any:
        """Return what an attribute is that must be two things at once."""
        one, other = self.captured(one), self.captured(other)
        if isinstance(one, Capture) and isinstance(other, Capture):
            if one is not other:
                self.captures[one] = self.captures[other] = Capture(_all(one.condition, other.condition))
            return self.captured(one)
        if isinstance(one, Capture) or isinstance(other, Capture):
            capture, found = (one, other) if isinstance(one, Capture) else (other, one)
            if isinstance(found, Where):
                self.captures[capture] = Capture(_all(capture.condition, found))
                return self.captured(capture)
            if capture.condition is not None and not admits(capture.condition, found):
                raise Unfit(f"{found!r} is not what is asked for: {capture.condition.reason}")
            self.captures[capture] = found
            return found
        if isinstance(one, Where) and isinstance(other, Where):
            return _all(one, other)
        if isinstance(one, Where) or isinstance(other, Where):
            condition, found = (one, other) if isinstance(one, Where) else (other, one)
            if not admits(condition, found):
                raise Unfit(f"{found!r} is not what is asked for: {condition.reason}")
            return found
        if not same(one, other):
            raise Unfit("two values of an attribute are one")
        return one

    def captured(self, value: Any) -> Any:
        while isinstance(value, Capture) and value in self.captures:
            value = self.captures[value]
        return value

    # ------------------------------------------------------------------ the reading

    def joined(self, first: Unfolded, second: Unfolded) -> Unfolded:
        """Return a reading in which all is one that should be."""
        made: dict[Node, Node | None] = {}
        found = Unfolded()

        def remade(port: Port) -> Port:
            port = self.port(port)
            if isinstance(port, Leaf):
                return port
            if port.node not in made:
                made[port.node] = None
                operands = tuple(map(remade, port.node.operands))
                told = self.attributes.get(port.node, port.node.attributes)
                new = Node(port.node.op, operands, {key: self.captured(value) for key, value in told.items()})
                made[port.node] = new
                found.nodes.append(new)
            node = made[port.node]
            if node is None:
                raise Unfit("a node would read itself")
            return Output(node, port.index)

        for root in (*first.roots, *second.roots):
            port = remade(root)
            if isinstance(port, Output) and port not in found.roots:
                found.roots.append(port)
        return found


def _both(one: Leaf, other: Leaf) -> Leaf:
    """Return a value that is all that two are."""
    return Leaf(
        one.constant or other.constant,
        _literal(one.literal, other.literal),
        _all(one.condition, other.condition),
        one.fresh or other.fresh,
    )


def _literal(one: Literal | None, other: Literal | None) -> Literal | None:
    if one is None or other is None:
        return one or other
    for each, against in ((one, other), (other, one)):
        if not each.members and against.admits(each.value):
            return each
    raise Unfit("two constants are one")


def _all(one: Where | None, other: Where | None) -> Where | None:
    if one is None or other is None:
        return one or other
    return Where(lambda value: one.predicate(value) and other.predicate(value), f"{one.reason}, and {other.reason}")
