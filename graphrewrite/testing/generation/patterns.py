"""Random patterns: every form of the pattern language, beside and inside of each other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.op.op import Op
from graphrewrite.op.symbolic import CURRENT
from graphrewrite.rewriting.pattern import Pattern, PatternNode, Rest, Tracing, Variable, Where, forms
from graphrewrite.testing.generation.demand import Pick, Unfit

__all__ = ["random_pattern"]

_CONDITIONS = (
    Where(lambda value: not value.is_constant, "it is no constant"),
    Where(lambda value: len(value.shape) == 2, "it has two axes"),
    Where(lambda value: value.is_constant and bool((value.value >= 0).all()), "a constant that is not below zero"),
)
_LITERALS: tuple[Any, ...] = (0, 1, {0, 1}, {1, -1}, range(2))
_ANYTHING = Where(lambda value: value is not None, "it is something")


def random_pattern(pick: Pick, ops: Sequence[Op], turns: Iterable[object] = (0,)) -> Pattern:
    """Return a pattern.

    Parameters
    ----------
    pick : Pick
        Makes every choice; the first of all options make the pattern of one node of the first op.

    Examples
    --------
    >>> from graphrewrite import op
    >>> print(random_pattern(lambda options: options[0], [op.add]))
    add(a, b)
    """
    writer = _Writer(pick, ops)
    token = CURRENT.set(writer.tracing)
    try:
        yielded = writer.write(turns)
    finally:
        CURRENT.reset(token)
    writer.tracing.closed = True
    try:
        return Pattern.of(yielded, tuple(writer.variables), writer.tracing.terms, Unfit)
    except RuleError as error:
        raise Unfit(str(error)) from error


class _Writer:
    """Writes what stands above a yield."""

    def __init__(self, pick: Pick, ops: Sequence[Op]) -> None:
        self.pick, self.ops = pick, [op for op in ops if op.operands or op.variadic]
        self.tracing = Tracing()
        self.variables: list[Variable] = []
        self.tops: list[Any] = []
        """What nothing reads yet."""
        self.read: list[Any] = []
        """Nodes that something reads."""
        self.negating: set[int] = set()
        """Terms with a negation in them, of which there is none in another."""

    def chance(self, count: int) -> bool:
        """Return true once in that many times."""
        return self.pick(range(count)) == count - 1

    def write(self, turns: Iterable[object]) -> Any:
        if not self.ops:
            raise Unfit("a pattern needs an op that reads something")
        if self.chance(12):
            return (self.group(),)
        for _ in turns:
            self.keep(self.node(plain=not self.chance(3)))
        if len(self.tops) > 1 and not self.chance(3):
            self.join()
        yielded = self.tops[:2]
        if len(self.tops) > 2:
            raise Unfit("more roots than a pattern should have")
        if self.chance(6):
            yielded.append(~self.apply(self.pick(self.ops), self.pick(self.plain(yielded))))
        return tuple(yielded)

    # ------------------------------------------------------------------ variables

    def variable(self, **options: Any) -> Variable:
        """Return a new variable: the rule's parameter."""
        name = "abcdefghijklmnopqrstuvwxyz"[len(self.variables) % 26] + "_" * (len(self.variables) // 26)
        self.variables.append(Variable(self.tracing, name, **options))
        return self.variables[-1]

    def value(self) -> Variable:
        """Return a variable that binds a value: a new one, or one that is there."""
        there = [v for v in self.variables if not v.optional and v.name not in self.taken]
        if there and self.chance(3):
            return self.pick(there)
        kind = self.pick(("any", "any", "any", "any", "constant", "condition"))
        condition = self.pick(_CONDITIONS) if kind == "condition" else None
        return self.variable(constant=kind == "constant", condition=condition)

    @property
    def taken(self) -> set[str]:
        """Names of variables that stand for several values, or for an attribute."""
        found = set()
        for term in self.tracing.terms:
            if isinstance(term, PatternNode):
                found |= {t.variable.name for t in term.operands if isinstance(t, Rest)}
                found |= {v.name for v in term.attributes.values() if isinstance(v, Variable)}
        return found

    # ------------------------------------------------------------------ operands

    def operand(self) -> Any:
        """Return what a node reads."""
        if self.tops and not self.chance(3):
            return self.used(self.pick(self.tops))
        form = self.pick(("variable",) * 8 + ("literal", "condition", "either", "without", "again"))
        if form == "literal":
            return self.pick(_LITERALS)
        if form == "condition":
            return self.pick(_CONDITIONS)
        if form == "either":
            return self.either()
        if form == "without":
            inner = self.apply(self.pick(self.ops), self.value())
            made = ~inner
            self.negating.add(id(made))
            return made
        if form == "again" and self.read:
            return self.pick(self.read)
        return self.value()

    def either(self) -> Any:
        """Return one of several terms."""
        inner = self.apply(self.pick(self.ops), self.value())
        return inner | (self.pick((0, 1)) if self.chance(2) else self.value())

    def used(self, term: Any) -> Any:
        self.tops = [other for other in self.tops if other is not term]
        if not any(other is term for other in self.read):
            self.read.append(term)
        return term

    # ------------------------------------------------------------------ nodes

    def node(self, *, plain: bool) -> Any:
        """Return a node, or a run of them."""
        op = self.pick(self.ops)
        if plain:
            return self.apply(op)
        form = self.pick(("several", "any", "rest", "repeated", "attribute"))
        if form == "several":
            alike = [o for o in self.ops if o.required == op.required and o.results == op.results]
            chosen = tuple(dict.fromkeys((op, self.pick(alike))))
            return self.made(chosen, self.operands(max(1, op.required)), self.needed(op) if len(chosen) == 1 else {})
        if form == "any":
            operands = [Rest(self.variable())] if self.chance(2) else self.operands(self.pick((1, 2)))
            return self.made((), operands, {})
        if form == "rest" and op.variadic:
            operands = [Rest(self.variable())]
            operands.insert(self.pick((0, 1)), self.operand())
            return self.made((op,), operands, self.needed(op))
        if form == "repeated":
            return self.repeated()
        several = [other for other in self.ops if other.attributes]
        if form == "attribute" and several:
            op = self.pick(several)
            return self.apply(op, attributes={**self.needed(op), self.pick(list(op.attributes)): self.attribute()})
        return self.apply(op)

    def apply(self, op: Op, *first: Any, attributes: dict[str, Any] | None = None) -> Any:
        """Return a node of an op, with an optional operand perhaps that may be missing."""
        count = max(op.required, 1) + (self.pick((0, 1)) if op.variadic else 0)
        operands = [*first, *self.operands(count - len(first))][:count]
        if not op.variadic and len(op.operands) > count and self.pick((False, True)):
            operands += [self.variable(optional=True) for _ in range(len(op.operands) - count)]
        return self.made((op,), operands, self.needed(op) if attributes is None else attributes)

    def operands(self, count: int) -> list[Any]:
        return [self.operand() for _ in range(count)]

    def made(self, ops: tuple[Op, ...], operands: Sequence[Any], attributes: dict[str, Any]) -> Any:
        try:
            node = self.tracing.make_node(ops, tuple(operands), attributes)
        except RuleError as error:
            raise Unfit(str(error)) from error
        if any(id(term) in self.negating for term in operands):
            self.negating.add(id(node))
        return node

    def needed(self, op: Op) -> dict[str, Any]:
        """Return variables for the attributes that an op must have."""
        return {key: self.variable() for key, value in op.attributes.items() if value is inspect.Parameter.empty}

    def attribute(self) -> Any:
        """Return what an attribute may be: bound, the same wherever it stands, or under a condition."""
        there = [v for v in self.variables if v.name in self.bound]
        if there and self.chance(2):
            return self.pick(there)
        return self.variable() if self.pick((True, False)) else _ANYTHING

    @property
    def bound(self) -> set[str]:
        """Names of variables that stand for attributes."""
        nodes = [term for term in self.tracing.terms if isinstance(term, PatternNode)]
        return {v.name for node in nodes for v in node.attributes.values() if isinstance(v, Variable)}

    # ------------------------------------------------------------------ the whole

    def keep(self, term: Any) -> None:
        """Keep a node, or all that it gives, for what reads it."""
        if isinstance(term, PatternNode) and term.results > 1:
            results = [r for r in term if self.pick((True, False))]
            self.tops += results or [term]
        else:
            self.tops.append(term)

    def join(self) -> None:
        """Let one node read all."""
        pairs = [op for op in self.ops if op.required == 2 and not self.needs(op)]
        while len(self.tops) > 1 and pairs:
            one, other = self.tops[:2]
            joined = self.made((self.pick(pairs),), [self.used(one), self.used(other)], {})
            self.tops.append(joined)

    def needs(self, op: Op) -> bool:
        return any(value is inspect.Parameter.empty for value in op.attributes.values())

    def plain(self, terms: Sequence[Any]) -> list[Any]:
        """Return those of which something may be denied."""
        found = [term for term in terms if id(term) not in self.negating]
        if not found:
            raise Unfit("a negation in a negation")
        return found

    def unit(self, below: Any, other_than: frozenset[str] = frozenset()) -> Callable[..., Any] | Op:
        """Return a link, or a member: an op, or one with operands of its own."""
        fitting = [op for op in self.ops if not self.needs(op) and op.required <= 2 and op.results == 1]
        fitting = [op for op in fitting if op.name not in other_than]
        if not fitting:
            raise Unfit("no op for a unit")
        op = self.pick(fitting)
        if max(op.required, 1) == 1:
            return op

        # Parameters are the unit's variables, and annotations would narrow them.
        if below is None:
            return lambda value, other: op(value, other)  # noqa: PLW0108  # an op alone says how many operands, not which
        return lambda other: op(below, other)

    def repeated(self) -> Any:
        """Return a run of links."""
        base = self.operand()
        # A run is as long as it can be: what it stands on must be no link, or there is none of that pattern.
        kinds: frozenset[str] = frozenset()
        if isinstance(base, PatternNode) and base.kinds:
            kinds = base.kinds
        elif not isinstance(base, Variable):
            base = self.value()
        return forms.repeated(base, self.unit(None, kinds), least=self.pick((1, 2)))

    def group(self) -> Any:
        """Return all readers of a value."""
        value = self.apply(self.pick(self.ops)) if self.pick((False, True)) else self.value()
        return forms.every(value, self.unit(value), least=self.pick((2, 1)))
