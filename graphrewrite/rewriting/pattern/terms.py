"""The terms of a pattern, as data: variables, nodes, literals, and the forms that combine them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.op.op import Op
from graphrewrite.op.operators import Operators
from graphrewrite.rewriting.pattern.condition import Application, Literal, Where

__all__ = [
    "Either",
    "Every",
    "PatternNode",
    "Repeated",
    "Rest",
    "Result",
    "Term",
    "Traced",
    "Tracing",
    "Unit",
    "Variable",
    "Without",
]

_UNDECIDED = "a condition above the yield cannot be decided; test below the yield and return decline(reason)"


class Tracing:
    """One run of a rule above its yield: the terms so far, in order, and whether it is over."""

    def __init__(self) -> None:
        self.terms: list[Traced] = []
        self.closed = False

    def keep(self, term: Any) -> Any:
        """Append a term, in the order of the rule's source; return it."""
        self.terms.append(term)
        return term

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> PatternNode:
        """Make a pattern node."""
        return self.make_node((op,), operands, attributes)

    def apply_form(self, form: str, *arguments: Any) -> Any:
        """Make a node of several ops, or of any op where none is given; or a run or group."""
        if form == "node":
            return self.make_node(*arguments)
        kind = {"repeated": Repeated, "every": Every}[form]
        value, unit, least = arguments
        return self.keep(kind(self, self.term(value), unit, least))

    def make_node(self, ops: tuple[Op, ...], operands: tuple[Any, ...], attributes: dict[str, Any]) -> PatternNode:
        """Make a pattern node; numbers, arrays, sets and ranges become `Literal` terms."""
        terms = tuple(self.term(x) for x in (ops[0].without_omitted(operands) if ops else operands) if x is not None)
        loose = sum(isinstance(t, Rest) for t in terms)
        if loose > 1 and any(op.commutative for op in ops):
            raise RuleError(f"two variadic operands of a commutative {ops[0].name} are one; write one *variable")
        for op in ops:
            # *xs may match as many operands as the op still needs.
            attributes = _as_pattern(op, attributes)
            op.check(max(len(terms) - loose, op.required) if loose else len(terms), attributes, complete=False)
        node: PatternNode = self.keep(PatternNode(self, ops, terms, attributes))
        return node

    def term(self, value: Any) -> Term:
        """Return a value as a term of the pattern."""
        return value if isinstance(value, Term) else Literal.of(value)


def _as_pattern(op: Op, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of a pattern in the form in which nodes have them: values, and those in sets of values."""
    wanted: dict[str, Any] = {}
    for name, value in attributes.items():
        key = op.canonical_name(name)
        if (part := next(_traced_in(value), None)) is not None:
            raise RuleError(
                f"has {part!r} inside of {name}=; bind the attribute as a whole, {name}={name}, "
                "and take it apart below the yield"
            )
        if isinstance(value, Where | Variable | range):
            wanted[key] = value
        elif isinstance(value, set | frozenset):
            wanted[key] = {one for each in value for one in op.as_attributes({name: each}).values()}
        else:
            wanted |= op.as_attributes({name: value})
            if not op.is_settled({key: wanted[key]}) and key in op.attributes:
                form, written = op.forms[key], wanted[key]
                wanted[key] = _as_written(key, written) if form.depends_on_sizes(written) else form.possible(written)
    return wanted


def _traced_in(value: Any) -> Iterator[Traced]:
    """Yield the variables and terms inside of a value."""
    for each in value if isinstance(value, tuple | list | set | frozenset) else ():
        if isinstance(each, Traced):
            yield each
        else:
            yield from _traced_in(each)


def _as_written(name: str, value: Any) -> Where:
    """Return the condition that an attribute is what a value stands for, given the operands of a matched node."""

    def holds(found: Any) -> bool:
        if not isinstance(found, Application):  # a value alone, where a node is still to be made for it
            return True
        op, types, attributes = found
        try:
            return bool(op.settled({**attributes, name: value}, types)[name] == attributes[name])
        except TypeMismatchError:  # an open size, on which borders depend
            return False

    return Where(holds, f"it is {value!r} for the sizes of the operands", of_node=True)


class Traced(Operators):
    """Base of variables and the other terms: ops applied to them make pattern nodes."""

    __slots__ = ()
    tracing: Tracing

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> PatternNode:
        """Make a pattern node."""
        return self.tracing.apply_op(op, operands, attributes)

    def __or__(self, other: Any) -> Any:
        return self.tracing.keep(Either(self.tracing, (self.tracing.term(self), self.tracing.term(other))))

    def __ror__(self, other: Any) -> Any:
        return self.tracing.keep(Either(self.tracing, (self.tracing.term(other), self.tracing.term(self))))

    def __invert__(self) -> Any:
        return self.tracing.keep(Without(self.tracing, self.tracing.term(self)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by copy, numpy, inspect, …
            raise AttributeError(name)
        raise RuleError(
            f"{name!r} of a matched node is known only below the yield; above it, bind an attribute with a "
            f"parameter: op.conv(x, w, {name}={name})"
        )

    def __bool__(self) -> bool:
        raise RuleError(_UNDECIDED)

    # While the rule runs above its yield, a comparison would be a test of something unknown; afterwards terms are keys.
    def __eq__(self, other: object) -> bool:
        if not self.tracing.closed and self is not other:
            raise RuleError(_UNDECIDED)
        return self is other

    __hash__ = object.__hash__

    def _undecided(self, other: object) -> bool:
        raise RuleError(_UNDECIDED)

    __lt__ = __le__ = __gt__ = __ge__ = _undecided

    def __iter__(self) -> Iterator[Any]:
        raise RuleError("a pattern node has one result, which cannot be unpacked")

    def __getitem__(self, index: Any) -> Any:
        raise RuleError(
            "a subscript depends on the shape, which is known only below the yield; above it, write op.slice"
        )


@dataclass(eq=False, repr=False)
class Variable(Traced):
    """A parameter of a rule: binds a value where it is an operand, an attribute where it is one.

    Attributes
    ----------
    constant : bool
        Whether it binds constants only.
    optional : bool
        Whether the operand may be missing: its default is None.
    condition : Where, optional
        A condition on its value.
    """

    tracing: Tracing
    name: str
    constant: bool = False
    optional: bool = False
    condition: Where | None = None

    def __iter__(self) -> Iterator[Rest]:
        """Let ``*xs`` stand for any number of operands."""
        return iter((Rest(self),))

    def __repr__(self) -> str:
        wanted = ["Constant"] * self.constant + [repr(self.condition)] * (self.condition is not None)
        narrowed = f": {', '.join(wanted)}" if wanted else ""
        return f"{self.name}{narrowed}{' = None' if self.optional else ''}"


@dataclass(eq=False, repr=False)
class PatternNode(Traced):
    """A node: one of some ops (any op where there are none), operand terms, attributes that must fit or are bound.

    The value of an attribute is a plain value, a set or range of values, a `Where`, or a `Variable` that binds it.
    """

    tracing: Tracing
    ops: tuple[Op, ...]
    operands: tuple[Term, ...]
    attributes: dict[str, Any]
    name: str | None = None

    @property
    def op(self) -> Op | None:
        """The op, or the first of the alternatives; None for any op."""
        return self.ops[0] if self.ops else None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The types that a node of a graph may have; empty for any."""
        return frozenset(op.name for op in self.ops)

    @cached_property
    def loose(self) -> tuple[int, ...]:
        """Positions of the operands ``*xs``."""
        return tuple(i for i, term in enumerate(self.operands) if isinstance(term, Rest))

    @cached_property
    def optional(self) -> int:
        """The number of operands that may be missing."""
        return sum(isinstance(term, Variable) and term.optional for term in self.operands)

    @cached_property
    def is_open(self) -> bool:
        """Whether the number of results depends on attributes that only a match knows."""
        try:
            _ = [op.number_of_results(self.attributes) for op in self.ops]
        except TypeMismatchError:
            return True
        return False

    @property
    def results(self) -> int:
        """The number of results of the node."""
        return 1 if self.is_open or not self.ops else self.ops[0].number_of_results(self.attributes)

    @property
    def called(self) -> str:
        """Its name in messages."""
        return " or ".join(op.name for op in self.ops) or "any op"

    def __iter__(self) -> Iterator[Any]:
        if self.is_open:
            raise RuleError(
                f"how many results {self.called} has depends on attributes that only a match knows: write their values "
                "above the yield, or do not unpack it: a root stands for all of them, an operand for the only one"
            )
        if self.results == 1:
            raise RuleError(
                f"{self.called} has one result, which cannot be unpacked; define_op(results=2) makes an op of two"
            )
        return iter([Result(self.tracing, self, i) for i in range(self.results)])

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index] if self.results != 1 else super().__getitem__(index)

    def __repr__(self) -> str:
        shown = [repr(x) for x in self.operands] + [f"{k}={v!r}" for k, v in self.attributes.items()]
        head = " | ".join(op.name for op in self.ops) or "any_op"
        return f"{f'({head})' if len(self.ops) > 1 else head}({', '.join(shown)})"


@dataclass(eq=False, repr=False)
class Result(Traced):
    """One result of a node that has several."""

    tracing: Tracing
    node: PatternNode
    index: int

    def __repr__(self) -> str:
        return f"{self.node!r}[{self.index}]"


@dataclass(eq=False, repr=False)
class Either(Traced):
    """One of several terms, tried in order: ``op.relu(x) | op.clip(x)``."""

    tracing: Tracing
    options: tuple[Term, ...]

    def __repr__(self) -> str:
        # `a | b | c` is `(a | b) | c`, and reads as it was written.
        first, *rest = self.options
        shown = repr(first)[1:-1] if isinstance(first, Either) else repr(first)
        return f"({' | '.join([shown, *map(repr, rest)])})"


@dataclass(eq=False, repr=False)
class Without(Traced):
    """A negation: as an operand, a value that does not match the term; yielded, no such node outside of the match."""

    tracing: Tracing
    term_: Term

    def __repr__(self) -> str:
        return f"~{self.term_!r}"


@dataclass(eq=False)
class Unit:
    """A piece of pattern that is matched several times: a link of a chain, or one of a value's readers.

    Attributes
    ----------
    top : PatternNode
        Its node that is read from outside.
    nodes : tuple of PatternNode
        All of its nodes.
    own : tuple of Variable
        Variables that bind anew each time.
    hole : Variable, optional
        Of a link: the value below it.
    """

    top: PatternNode
    nodes: tuple[PatternNode, ...]
    own: tuple[Variable, ...]
    hole: Variable | None = None

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables in it that are the rule's, and so the same each time."""
        # In the order of their first use, each once.
        inner = {id(v) for v in (*self.own, self.hole)}
        variables: dict[int, Variable] = {}
        for node in self.nodes:
            for term in (*node.operands, *node.attributes.values()):
                variable = term.variable if isinstance(term, Rest) else term
                if isinstance(variable, Variable) and id(variable) not in inner:
                    variables[id(variable)] = variable
        return tuple(variables.values())


@dataclass(eq=False, repr=False)
class Repeated(Traced):
    """A whole run of a unit above a term, each link reading the one below: as long as it is."""

    tracing: Tracing
    base: Term
    unit: Unit
    least: int
    name: str | None = None

    def __repr__(self) -> str:
        return f"repeated({self.base!r}, {self.unit.top!r}{f', least={self.least}' if self.least != 1 else ''})"


@dataclass(eq=False, repr=False)
class Every(Traced):
    """All readers of a value that have a form, as a group."""

    tracing: Tracing
    of: Term
    unit: Unit
    least: int
    name: str | None = None

    def __repr__(self) -> str:
        return f"every({self.of!r}, {self.unit.top!r}{f', least={self.least}' if self.least != 2 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class Rest(Operators):
    """Any number of operands in a row, bound together: ``op.concat(*xs)``."""

    variable: Variable

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> PatternNode:
        """Make a pattern node."""
        return self.variable.apply_op(op, operands, attributes)

    def __repr__(self) -> str:
        return f"*{self.variable!r}"


Term = Variable | PatternNode | Result | Either | Without | Repeated | Every | Literal | Where | Rest
