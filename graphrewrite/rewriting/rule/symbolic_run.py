"""A rule's function run on the terms of its pattern; it returns terms, too.

The replacement is plain Python. On symbols, ops make terms. Anything else that is asked of a matched node depends on
the match: a strict run, for compiled rules, ends there; a run for a picture goes on with an `Unknown`, which passes
through arithmetic and answers tests in a given way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphrewrite.op.attribute_check import AttributeCheck
from graphrewrite.op.named_operands import placed
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
    Tracing,
    Variable,
    Without,
    parts_of,
    walk,
)
from graphrewrite.rewriting.rule.outcome import NOTHING
from graphrewrite.rewriting.rule.rule_run import RuleRun, RunValue

__all__ = ["BoundAttribute", "NewNode", "NotDeterminedError", "Symbol", "SymbolicRun"]


class NotDeterminedError(Exception):
    """The run depends on a match."""


class NewNode(PatternNode):
    """A node that a replacement adds: with attributes of its own, and those of a node that it is ``like``."""

    def __init__(
        self, tracing: Tracing, ops: tuple[Op, ...], operands: tuple[Any, ...], own: dict[str, Any], like: Any
    ) -> None:
        attributes = like.attributes if isinstance(like, PatternNode) else {}
        if ops:
            attributes = {k: v for k, v in attributes.items() if any(k in op.attributes for op in ops)}
        super().__init__(tracing, ops, operands, {**attributes, **own})
        self.own, self.like = own, like


class Unknown:
    """A value that depends on the match: absorbs all operations, and answers tests as the run decides."""

    __hash__ = None  # type: ignore[assignment]  # compares as an unknown

    def __init__(self, run: SymbolicRun) -> None:
        self._run = run

    def __repr__(self) -> str:
        return "computed"

    def __bool__(self) -> bool:
        return self._run.answer()

    def __iter__(self) -> Iterator[Any]:
        self._run.is_guess = True
        yield self._run.unknown()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._run.unknown()

    def _absorb(self, *_: Any, **__: Any) -> Any:
        return self._run.unknown()

    __call__ = __getitem__ = __array_ufunc__ = __array_function__ = _absorb
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _absorb
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __mod__ = __floordiv__ = __neg__ = __and__ = __or__ = __invert__ = (
        _absorb
    )
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _absorb


class UnknownMapping(Unknown):
    """A mapping that depends on the match; ``**`` finds nothing in it."""

    def keys(self) -> tuple[str, ...]:
        """Return no keys."""
        return ()


class BoundAttribute(Unknown):
    """The value of an attribute that a variable binds: unknown, but a new node may have it as an attribute."""

    def __init__(self, run: SymbolicRun, variable: Variable) -> None:
        super().__init__(run)
        self._variable = variable


class MatchedOp(Unknown):
    """The op of a node that has one of several; applied, it makes a node that has one of them as well."""

    def __init__(self, run: SymbolicRun, ops: tuple[Op, ...]) -> None:
        super().__init__(run)
        self._ops = ops

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        if self._ops:  # of any op, no operand has a name
            operands = placed(self._ops, operands, attributes)
        return self._run.make(self._ops, operands, attributes)


class Symbol(RunValue):
    """A variable, a matched node, or a new one; it is missing where its alternative is not taken."""

    replay: SymbolicRun

    def __init__(self, replay: SymbolicRun, term: Any, *, is_there: bool | None = True) -> None:
        self.replay, self._term, self._is_there = replay, term, is_there

    def __repr__(self) -> str:
        return "computed"

    def __bool__(self) -> bool:
        return self.replay.answer(self._is_there)

    def _is(self, other: object) -> bool:
        # Two variables may be bound to one value.
        return self.replay.answer(None if isinstance(other, Symbol) and self is not other else self is other)

    def __iter__(self) -> Iterator[Any]:
        term = self._term
        if not isinstance(term, PatternNode) or term.results == 1:
            raise TypeError("one result cannot be unpacked")
        return iter([Symbol(self.replay, Result(term.tracing, term, i)) for i in range(term.results)])

    def __getitem__(self, index: Any) -> Any:
        is_several = isinstance(self._term, PatternNode) and self._term.results != 1
        return tuple(self)[index] if is_several else self.replay.unknown()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("make_node", "tracing", "variable"):  # of patterns; matches have none
            raise AttributeError(name)
        if name == "op" and isinstance(self._term, PatternNode):
            ops = self._term.ops
            return ops[0] if len(ops) == 1 else self.replay.unknown(MatchedOp, ops)
        return self.replay.unknown(UnknownMapping if name == "annotations" else Unknown)


class SeveralSymbol(Symbol):
    """A run of links, or a group of readers, represented by one of them."""

    def __len__(self) -> int:
        self.replay.is_guess = True
        return max(int(self._term.least), 1)

    def __getattr__(self, name: str) -> Any:
        if name in ("links", "nodes"):
            return (Symbol(self.replay, self._term),)
        own = next((v for v in self._term.unit.own if v.name == name), None)
        return super().__getattr__(name) if own is None else (self.replay.argument(own),)


class SymbolicRun(RuleRun):
    """One run of a rule's function on symbols.

    Parameters
    ----------
    answers : sequence of bool, optional
        Answers to the tests that depend on the match, in turn. Without them the run is strict: whatever depends on the
        match ends it with a `NotDeterminedError`.
    """

    def __init__(self, pattern: Pattern, *, answers: Sequence[bool] | None = None, has_optional: bool = True) -> None:
        self.pattern, self.has_optional = pattern, has_optional
        self.is_strict = answers is None
        self.answers = list(answers or ())
        self.is_guess = False
        self.attributes = {id(v) for n in pattern.nodes for v in n.attributes.values() if isinstance(v, Variable)}
        reached = [part for term in (*pattern.roots, *pattern.forbidden) for part in walk(term)]
        self.rests = {id(t.variable): t for t in reached if isinstance(t, Rest)}
        self.present = {id(t) for root in pattern.roots for t in walk(root, negated=False)}
        self.certain = {id(t) for root in pattern.roots for t in _certain(root)}
        self.pending = [self._symbol(term) for term in pattern.terms]
        self.tracing = Tracing()
        self.tracing.closed = True

    def returned(self, function: Callable[..., Any]) -> Any:
        """Return the result of a rule's function."""
        run = function(*map(self.argument, self.pattern.variables))
        self.replay_pattern(run)
        try:
            self.replay_rest(run)
        except StopIteration as stop:
            return stop.value
        raise NotDeterminedError  # it yields twice; another check says so

    # ------------------------------------------------------------------ values that depend on the match

    def answer(self, decided: bool | None = None) -> bool:
        """Answer a test: as it is decided, or by the next answer."""
        if self.is_strict:
            raise NotDeterminedError
        if decided is not None:
            return decided
        self.is_guess = True
        if not self.answers:
            raise NotDeterminedError
        return self.answers.pop(0)

    def unknown(self, kind: Callable[..., Unknown] = Unknown, *about: Any) -> Unknown:
        """Return a stand-in for a value that depends on the match."""
        if self.is_strict:
            raise NotDeterminedError
        return kind(self, *about)

    # ------------------------------------------------------------------ values of the function

    def argument(self, variable: Variable) -> Any:
        """Return the argument for a variable."""
        if id(variable) in self.attributes:
            return BoundAttribute(self, variable)
        if id(variable) in self.rests:
            return (Symbol(self, self.rests[id(variable)]),)
        return None if variable.optional and not self.has_optional else Symbol(self, variable)

    def next_made(self) -> Any:
        """Return the symbol of the next term of the pattern."""
        return self.pending.pop(0)

    def _symbol(self, term: Any) -> Symbol:
        if isinstance(term, Repeated | Every):
            return SeveralSymbol(self, term)
        is_there = True if id(term) in self.certain else None if id(term) in self.present else False
        return Symbol(self, term, is_there=True if isinstance(term, Without) else is_there)

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the value of ``op(*operands, **attributes)`` below the yield."""
        return self.make((op,), operands, attributes)

    def takes(self, op: Op, attributes: dict[str, Any]) -> bool:
        """Tell whether an op has a state, or an attribute that depends on the match."""
        is_open = _holds_symbol(list(attributes.values()))
        if is_open and self.is_strict:
            raise NotDeterminedError
        return is_open or op.has_state(attributes)

    def make(self, ops: tuple[Op, ...], operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the value of an application of one of some ops, above or below the yield."""
        if not self.below:
            return self.next_made()
        if self.is_strict and attributes.get("annotations") is not None:
            raise NotDeterminedError  # they are data of the match, or beside it
        written = {k: v for k, v in attributes.items() if k not in ("like", "annotations")}
        own = {ops[0].canonical_name(k): v for k, v in written.items()}
        is_like = attributes.get("like") is not None
        like = getattr(attributes["like"], "_term", None) if is_like else None
        # An op on unknowns alone is computed when the rule runs: its result is unknown, too.
        terms = tuple(self.term(x) for x in operands if x is not None)
        if self.is_strict:
            if any(x is None for x in operands[: len(terms)]):  # it depends on types what stands in for it
                raise NotDeterminedError
            self._check(ops[0], terms, own, is_like=is_like)
            if is_like and (not isinstance(like, PatternNode) or isinstance(like, NewNode)):
                raise NotDeterminedError
        node = NewNode(self.tracing, ops, terms, own, like)
        symbol = Symbol(self, node)
        return symbol if node.results == 1 else tuple(symbol)

    def _check(self, op: Op, operands: tuple[Any, ...], own: dict[str, Any], *, is_like: bool) -> None:
        """Raise for a mistake in any match; end the run where it depends on the match."""
        # The value that a variable binds may be a whole attribute, but no part of one.
        if (
            op.results_of is not None
            or op.stateful
            or _holds_symbol([v for v in own.values() if type(v) is not BoundAttribute])
        ):
            raise NotDeterminedError
        if not all(self._fits(value, op.check_of(key)) for key, value in own.items()):
            raise NotDeterminedError
        op.check(len(operands), own, complete=not is_like)

    def _fits(self, value: Any, check: AttributeCheck | None) -> bool:
        """Tell whether each value that a variable may bind is one that an attribute takes."""
        if check is None or type(value) is not BoundAttribute:
            return True
        nodes = [term for term in self.pattern.terms if isinstance(term, PatternNode)]
        sources = [
            op.check_of(k) for n in nodes for op in n.ops for k, v in n.attributes.items() if v is value._variable
        ]
        return bool(sources) and all(one is not None and one.kind.name == check.kind.name for one in sources)

    def term(self, value: Any) -> Any:
        """Return the term of a value."""
        if isinstance(value, Symbol):
            return value._term
        if value is NOTHING:
            return NOTHING
        if isinstance(value, Unknown):
            self.unknown()
            value = None
        return Literal(np.asarray(value))


def _certain(term: Any) -> Iterator[Any]:
    """Yield the parts that every match of a term has: those outside of alternatives and negations."""
    work = [term]
    while work:
        part = work.pop()
        yield part
        if not isinstance(part, Either | Without):
            work.extend(parts_of(part))


def _holds_symbol(value: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_symbol, value))
    return isinstance(value, Symbol | Unknown)
