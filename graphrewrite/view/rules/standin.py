"""Stand-ins: what a rule's function is run on to see what it would put in the place of its pattern.

The replacement is ordinary Python. On stand-ins ops make terms, and whatever else is asked of a matched node is an
unknown that passes through arithmetic and answers tests as foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.op.op import Op
from graphrewrite.op.symbolic import CURRENT, Symbolic
from graphrewrite.pattern import (
    Either,
    Every,
    Literal,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Tracing,
    Variable,
    Without,
    parts_of,
    walk,
)
from graphrewrite.replacement import NOTHING, Declined
from graphrewrite.rule import Rule

__all__ = ["Replacement", "replacement_of"]

_TESTS = 6
"""Of so many tests all outcomes are tried."""


@dataclass(frozen=True)
class Replacement:
    """What a rule returns.

    Attributes
    ----------
    terms : tuple of term
        One for each value that is replaced, or `graphrewrite.replacement.NOTHING`.
    guessed : bool
        Whether another match could give something else.
    """

    terms: tuple[Any, ...]
    guessed: bool


def replacement_of(rule: Rule) -> Replacement | None:
    """Run what stands below a rule's yield on stand-ins.

    Parameters
    ----------
    rule : Rule
        Any rule.

    Returns
    -------
    Replacement or None
        What is returned when few tests hold, and optional operands are there if that does; None where the function
        needs what only a match tells.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> replacement_of(drop_double_negation)
    Replacement(terms=(x,), guessed=False)
    """
    optional = any(v.optional for v in rule.pattern.variables)
    for missing in (False, True) if optional else (False,):
        for tests in range(_TESTS):
            for number in range(2**tests):
                decisions = [bool(number >> i & 1) for i in range(tests)]
                try:
                    run = _Run(rule, decisions, missing=missing)
                    terms = run.returned()
                except _Asked:
                    continue
                except Exception:  # what a rule does with real values only is not for a sketch
                    return None
                if terms is not None and not decisions:
                    return Replacement(terms, run.guessed or optional)
    return None


class _Asked(Exception):
    """A run took more decisions than are foreseen."""


class _Unknown:
    """Something that only a match would tell: absorbs what is done to it, and answers tests as foreseen."""

    __hash__ = None  # type: ignore[assignment]  # compares as an unknown

    def __init__(self, run: _Run) -> None:
        self._run = run

    def __repr__(self) -> str:
        return "computed"

    def __bool__(self) -> bool:
        return self._run.decide()

    def __iter__(self) -> Iterator[Any]:
        self._run.guessed = True
        yield _Unknown(self._run)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unknown(self._run)

    def _absorb(self, *_: Any, **__: Any) -> Any:
        return _Unknown(self._run)

    __call__ = __getitem__ = __array_ufunc__ = __array_function__ = _absorb
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _absorb
    __matmul__ = __rmatmul__ = __pow__ = __mod__ = __floordiv__ = __neg__ = __and__ = __or__ = __invert__ = _absorb
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _absorb


class _MatchedOp(_Unknown):
    """The op of a node that has one of several; applied, it makes a node that has one of them as well."""

    def __init__(self, run: _Run, ops: tuple[Op, ...]) -> None:
        super().__init__(run)
        self._ops = ops

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        return self._run.make(self._ops, operands, attributes)


class _Drawn(Symbolic):
    """A value of the sketch: a variable, a matched node, or a new one."""

    def __init__(self, run: _Run, term: Any, *, there: bool | None = True) -> None:
        self._run, self._term, self._there = run, term, there

    def __repr__(self) -> str:
        return "computed"

    def __bool__(self) -> bool:
        return self._run.decide() if self._there is None else self._there

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        return self._run.make((op,), operands, attributes)

    def __or__(self, other: Any) -> Any:
        return self._run.next_made()

    __ror__ = __or__

    def __invert__(self) -> Any:
        return self._run.next_made()

    def __iter__(self) -> Iterator[Any]:
        term = self._term
        if not isinstance(term, PatternNode) or term.results == 1:
            raise TypeError("one result cannot be unpacked")
        return iter([_Drawn(self._run, Result(term.tracing, term, i)) for i in range(term.results)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("make_node", "tracing", "variable"):  # as a pattern has, and no match
            raise AttributeError(name)
        if name == "op" and isinstance(self._term, PatternNode):
            return self._term.ops[0] if len(self._term.ops) == 1 else _MatchedOp(self._run, self._term.ops)
        return _Unknown(self._run)


class _Several(_Drawn):
    """A run of links, or a group of readers: one stands for all."""

    def __len__(self) -> int:
        self._run.guessed = True
        return max(int(self._term.least), 1)

    def __getattr__(self, name: str) -> Any:
        if name in ("links", "nodes"):
            return (_Drawn(self._run, self._term),)
        own = next((v for v in self._term.unit.own if v.name == name), None)
        return super().__getattr__(name) if own is None else (self._run.value(own),)


class _Run:
    """One run of a rule's function on stand-ins."""

    def __init__(self, rule: Rule, decisions: list[bool], *, missing: bool) -> None:
        self.rule, self.decisions, self.missing = rule, decisions, missing
        self.below = self.guessed = False
        pattern = rule.pattern
        self.attributes = {id(v) for n in pattern.nodes for v in n.attributes.values() if isinstance(v, Variable)}
        reached = [part for term in (*pattern.roots, *pattern.forbidden) for part in walk(term)]
        self.rests = {id(t.variable): t for t in reached if isinstance(t, Rest)}
        self.present = {id(t) for root in pattern.roots for t in walk(root, negated=False)}
        self.certain = {id(t) for root in pattern.roots for t in _certain(root)}
        self.pending = [self._stand_in(term) for term in pattern.made]
        self.tracing = Tracing()
        self.tracing.closed = True

    def decide(self) -> bool:
        """Answer a test."""
        self.guessed = True
        if not self.decisions:
            raise _Asked
        return self.decisions.pop(0)

    def next_made(self) -> Any:
        """Return what stands for the next term that the source makes above the yield."""
        return self.pending.pop(0)

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Stand for a node whose operands are literals, or missing."""
        return self.next_made()

    def apply_form(self, *_: Any) -> Any:
        """Stand for a form of the pattern."""
        return self.next_made()

    def make(self, ops: tuple[Op, ...], operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Stand for an application of an op, above or below the yield."""
        if not self.below:
            return self.next_made()
        like = getattr(attributes.pop("like", None), "_term", None)
        known = like.attributes if isinstance(like, PatternNode) else {}
        if ops:
            known = {k: v for k, v in known.items() if any(k in op.attributes for op in ops)}
        # An op on unknowns alone is computed when the rule runs: its result is as unknown as they are.
        terms = tuple(self.term(x) for x in operands if x is not None)
        node = _Drawn(self, PatternNode(self.tracing, ops, terms, {**known, **attributes}))
        return node if node._term.results == 1 else tuple(node)

    def term(self, value: Any) -> Any:
        """Return what stands for a value in a picture."""
        if isinstance(value, _Drawn):
            return value._term
        if value is NOTHING:
            return NOTHING
        return Literal(np.asarray(None if isinstance(value, _Unknown) else value))

    def value(self, variable: Variable) -> Any:
        """Return what a variable is bound to."""
        if id(variable) in self.attributes:
            return _Unknown(self)
        if id(variable) in self.rests:
            return (_Drawn(self, self.rests[id(variable)]),)
        return None if variable.optional and self.missing else _Drawn(self, variable)

    def _stand_in(self, term: Any) -> Any:
        if isinstance(term, Repeated | Every):
            return _Several(self, term)
        there = True if id(term) in self.certain else None if id(term) in self.present else False
        return _Drawn(self, term, there=True if isinstance(term, Without) else there)

    def returned(self) -> tuple[Any, ...] | None:
        """The terms that the rule returns; nothing if it declines."""
        run = self.rule.function(*(self.value(v) for v in self.rule.pattern.variables))
        token = CURRENT.set(self)
        try:
            next(run)
        finally:
            CURRENT.reset(token)
        self.below = True
        try:
            next(run)
        except StopIteration as stop:
            values = _flat(stop.value)
            wanted = sum(root.results if isinstance(root, PatternNode) else 1 for root in self.rule.pattern.roots)
            if isinstance(stop.value, Declined) or any(v is None for v in values):
                return None
            if len(values) == wanted or stop.value is NOTHING:
                return tuple(self.term(v) for v in values)
        return None


def _certain(term: Any) -> Iterator[Any]:
    """Yield what every match of a term has: what is no part of an alternative, nor forbidden."""
    work = [term]
    while work:
        found = work.pop()
        yield found
        if not isinstance(found, Either | Without):
            work.extend(parts_of(found))


def _flat(returned: Any) -> list[Any]:
    """All values of a replacement in a row; a list is what replaces a group."""
    if isinstance(returned, tuple | list):
        return [value for part in returned for value in _flat(part)]
    return [returned]
