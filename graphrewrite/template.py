"""A replacement that needs no values of the match is read once and kept as data: no Python runs for each match."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from graphrewrite import op as ops
from graphrewrite.bytecode import steps_of
from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.match import find_at
from graphrewrite.op.op import Op, as_attribute
from graphrewrite.op.symbolic import CURRENT, Symbolic
from graphrewrite.pattern import Literal, Pattern, PatternNode, Variable
from graphrewrite.replacement import decline
from graphrewrite.types import Tensor

__all__ = ["Hole", "Template", "TemplateNode", "is_plain", "matches_itself", "read_template"]


class _NotFixed(Exception):
    """The replacement depends on something that only a match tells."""


class Hole(Symbolic):
    """What stands for a matched node or a bound value.

    Attributes
    ----------
    place : int
        Which node of the pattern, or -1 minus which variable.
    """

    __slots__ = ("node", "place", "reader")

    def __init__(self, reader: _Reader, place: int, node: PatternNode | None) -> None:
        self.reader, self.place, self.node = reader, place, node

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Make a node of the template."""
        return self.reader.apply(op, operands, attributes)

    @property
    def op(self) -> Op:
        """The op of a matched node, where the pattern leaves no choice."""
        if self.node is None or len(self.node.ops) != 1:
            raise _NotFixed
        return self.node.ops[0]

    def __getattr__(self, name: str) -> Any:
        raise _NotFixed

    def __bool__(self) -> bool:
        raise _NotFixed

    def __eq__(self, other: object) -> bool:
        raise _NotFixed

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        raise _NotFixed


@dataclass(frozen=True)
class _Attribute:
    """What stands for the value of an attribute that a variable binds."""

    place: int

    def __bool__(self) -> bool:
        raise _NotFixed

    def __eq__(self, other: object) -> bool:
        raise _NotFixed

    def __getattr__(self, name: str) -> Any:
        raise _NotFixed

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class TemplateNode(Symbolic):
    """A node that is added: its op, its operands, its attributes, and the matched node whose attributes it has besides.

    Operands are holes, other nodes of the template, and numbers or arrays.
    """

    reader: _Reader
    op: Op
    operands: tuple[Any, ...]
    attributes: dict[str, Any]
    captured: dict[str, int]
    like: int | None

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Make a node of the template."""
        return self.reader.apply(op, operands, attributes)

    def __getattr__(self, name: str) -> Any:
        raise _NotFixed

    def __bool__(self) -> bool:
        raise _NotFixed

    def __iter__(self) -> Any:
        raise _NotFixed


@dataclass(frozen=True, eq=False)
class Template:
    """A replacement as data.

    Attributes
    ----------
    nodes : tuple of TemplateNode
        What is added, in order.
    values : tuple of Hole or TemplateNode
        One a root.
    """

    nodes: tuple[TemplateNode, ...]
    values: tuple[Any, ...]


class _Reader:
    """One run of a rule's function on holes."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.pending = [Hole(self, i, term) for i, term in enumerate(pattern.made) if isinstance(term, PatternNode)]
        self.below = False

    def replay_pattern(self, run: Generator[Any, Any, Any]) -> None:
        """Run a rule's function up to its yield."""
        token = CURRENT.set(self)
        try:
            next(run)
        finally:
            CURRENT.reset(token)
        self.below = True

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Stand for a node of the pattern whose operands are all literals."""
        return self.pending.pop(0)

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        if not self.below:
            return self.pending.pop(0)
        if op.results != 1 or op.stateful:
            raise _NotFixed
        like = attributes.pop("like", None)
        given = tuple(x for x in operands if x is not None)
        captured = {k: v.place for k, v in attributes.items() if isinstance(v, _Attribute)}
        plain = {k: as_attribute(v) for k, v in attributes.items() if k not in captured}
        if any(isinstance(x, _Attribute) for x in given) or _holds_attribute(list(plain.values())):
            raise _NotFixed
        op.check(len(given), attributes, complete=like is None)
        if like is not None and not (isinstance(like, Hole) and like.node is not None):
            raise _NotFixed
        return TemplateNode(self, op, given, plain, captured, like.place if like is not None else None)


def _holds_attribute(value: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_attribute, value))
    return isinstance(value, _Attribute | Hole | TemplateNode)


@lru_cache(maxsize=1024)
def is_plain(pattern: Pattern) -> bool:
    """Tell whether a pattern is made of ops, variables and literals only, each op with one result.

    Parameters
    ----------
    pattern : Pattern
        Of a rule.

    Returns
    -------
    bool
    """
    return not pattern.forbidden and all(
        isinstance(term, PatternNode)
        and bool(term.ops)
        and term.results == 1
        and all(
            isinstance(t, PatternNode | Literal) or (isinstance(t, Variable) and not t.optional and t.condition is None)
            for t in term.operands
        )
        for term in (*pattern.roots, *pattern.made)
    )


def read_template(
    function: Callable[..., Any], pattern: Pattern, complain: Callable[[str], RuleError]
) -> Template | None:
    """Return a replacement as data, where it depends on nothing but what stands in the rule.

    Parameters
    ----------
    function : callable
        The rule's.
    pattern : Pattern
        What stands above its yield.
    complain : callable
        Makes an error that names the rule.

    Returns
    -------
    Template or None

    Raises
    ------
    RuleError
        If the replacement is wrong whatever the match.
    """
    if not is_plain(pattern) or not _is_closed(function.__code__, function):
        return None
    reader = _Reader(pattern)
    arguments = [
        _Attribute(i) if kind == "attribute" else Hole(reader, -1 - i, None) for i, kind in enumerate(pattern.kinds)
    ]
    run = function(*arguments)
    try:
        reader.replay_pattern(run)
        next(run)
    except StopIteration as stop:
        returned = stop.value
    except TypeMismatchError as error:
        raise complain(f"its replacement is wrong: {error}") from None
    except Exception:  # what a rule does with the values of a match is its own affair until there is one
        return None
    else:
        return None
    values = returned if isinstance(returned, tuple) else (returned,)
    if any(isinstance(v, _Attribute) or not isinstance(v, Hole | TemplateNode) for v in values):
        return None
    if len(values) != len(pattern.roots):
        raise complain(f"yields {len(pattern.roots)} nodes and returns {len(values)} values; return one for each")
    return Template(_needed(values), values)


def _needed(values: Sequence[Any]) -> tuple[TemplateNode, ...]:
    """Return the nodes that are added, in the order in which `graphrewrite.plan` adds those of any replacement."""
    found: dict[int, TemplateNode] = {}
    work = [(value, False) for value in reversed(values)]
    while work:
        value, is_ready = work.pop()
        if not isinstance(value, TemplateNode) or id(value) in found:
            continue
        if is_ready:
            found[id(value)] = value
        else:
            work.append((value, True))
            work.extend((operand, False) for operand in reversed(value.operands))
    return tuple(found.values())


def _is_closed(code: CodeType, function: Callable[..., Any]) -> bool:
    """Tell whether code names nothing from outside but ops and this library's own words.

    Whatever else it names could have another value, or do something else, from one match to the next.
    """
    if any(isinstance(c, CodeType) for c in code.co_consts):
        return False
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for step in steps_of(code):
        if step.opname in ("STORE_GLOBAL", "STORE_DEREF", "IMPORT_NAME", "DELETE_GLOBAL"):
            return False
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(step.argval)
        elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            try:
                value = cells[step.argval].cell_contents
            except (KeyError, ValueError):
                return False
        else:
            continue
        if not (
            value is ops
            or value is decline
            or isinstance(value, Op)
            or getattr(value, "is_rule_language", False) is True
        ):
            return False
    return True


def matches_itself(pattern: Pattern, template: Template) -> bool:
    """Tell whether a pattern is found in its own replacement, whatever its variables stand for.

    Parameters
    ----------
    pattern : Pattern
        Plain.
    template : Template
        Its replacement.

    Returns
    -------
    bool
    """
    graph = Graph("replacement")
    kind = Tensor("f32", ())
    placed: dict[int, str] = {}

    def node(value: Any) -> str:
        if id(value) in placed:
            return placed[id(value)]
        if isinstance(value, Hole):
            name = f"hole{value.place}"
            if name not in graph:
                constant = value.place < 0 and pattern.variables[-1 - value.place].constant
                # A constant of no entries: no literal admits it, for its value is not known.
                data = {"type": "constant", "value": np.zeros(0)} if constant else {"type": "input"}
                graph.add_node(name, **data, result=kind)
        elif isinstance(value, TemplateNode):
            name = placed[id(value)] = f"node{len(placed)}"
            graph.add_node(name, type=value.op.name, result=kind, **value.attributes)
            graph.adopt(value.op)
            for slot, operand in enumerate(value.operands):
                source = node(operand)
                slots = graph.edges[source, name]["slots"] if graph.has_edge(source, name) else ()
                graph.add_edge(source, name, slots=(*slots, (slot, 0)))
        else:
            name = f"constant{len(placed)}"
            graph.add_node(name, type="constant", value=np.asarray(value), result=kind)
        placed[id(value)] = name
        return name

    if any(n.captured or n.like is not None for n in template.nodes):
        return False  # attributes that only a match tells may differ from the pattern's
    for value in template.values:
        node(value)
    return any(True for name in list(graph) if name.startswith("node") for _ in find_at(pattern, graph, name))
