"""A replacement that depends on no values of the match, as data: the rule's function does not run for each match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.rewriting.match import find_at
from graphrewrite.rewriting.pattern import Literal, Pattern, PatternNode, Rest, Result, Variable, Where
from graphrewrite.rewriting.rule.bytecode import is_closed
from graphrewrite.rewriting.rule.symbolic_run import BoundAttribute, NewNode, NotDeterminedError, Symbol, SymbolicRun
from graphrewrite.types import Tensor

__all__ = ["Hole", "Template", "TemplateNode", "TemplateResult", "is_conjunctive", "matches_itself", "read_template"]


@dataclass(frozen=True, eq=False)
class Hole:
    """A matched node or a bound value.

    Attributes
    ----------
    place : int
        Which node of the pattern, or -1 minus which variable.
    element : int, optional
        Which of the values that a variable binds together.
    """

    place: int
    element: int | None = None


@dataclass(frozen=True, eq=False)
class TemplateNode:
    """A node that is added.

    Attributes
    ----------
    op : Op
        Its op.
    operands : tuple of Hole, TemplateNode, TemplateResult or Literal
        Its operands.
    attributes : dict
        Attributes with values in the rule's source.
    captured : dict
        Names of attributes that variables bind, to the variables' positions.
    like : int, optional
        Position, in the pattern, of the matched node whose attributes it copies.
    """

    op: Op
    operands: tuple[Any, ...]
    attributes: dict[str, Any]
    captured: dict[str, int]
    like: int | None


@dataclass(frozen=True, eq=False)
class TemplateResult:
    """A result, not the first, of a node that is added."""

    node: TemplateNode
    index: int


@dataclass(frozen=True, eq=False)
class Template:
    """A replacement as data: the nodes that are added, operands first, and one hole or result of a node a root."""

    nodes: tuple[TemplateNode, ...]
    values: tuple[Any, ...]

    @cached_property
    def has_numbers(self) -> bool:
        """Whether it has literals, which become constants of types that depend on the match."""
        read = [*(operand for new in self.nodes for operand in new.operands), *self.values]
        return any(isinstance(value, Literal) for value in read)


@lru_cache(maxsize=1024)
def is_conjunctive(pattern: Pattern) -> bool:
    """Tell whether a pattern is made of ops, values and conditions only, each op with one result and no effect."""
    return not pattern.forbidden and all(
        isinstance(term, PatternNode)
        and bool(term.ops)
        and term.results == 1
        and not any(op.effects for op in term.ops)
        and all(isinstance(t, PatternNode | Literal | Where | Variable | Rest) for t in term.operands)
        for term in (*pattern.roots, *pattern.terms)
    )


def read_template(
    function: Callable[..., Any], pattern: Pattern, complain: Callable[[str], RuleError]
) -> Template | None:
    """Return a replacement as data; None where it depends on the match or on names outside of the rule."""
    is_loose = "values" in pattern.kinds or any(variable.optional for variable in pattern.variables)
    if is_loose or not is_conjunctive(pattern) or not is_closed(function):
        return None
    run = SymbolicRun(pattern)
    try:
        returned = run.returned(function)
        values = returned if isinstance(returned, tuple) else (returned,)
        if not all(isinstance(value, Symbol) for value in values):
            return None
        template = _template([run.term(value) for value in values], pattern)
    except TypeMismatchError as error:
        raise complain(f"its replacement is wrong: {error}") from None
    except Exception:  # code for the values of a match may fail in any way without one
        return None
    if len(values) != len(pattern.roots):
        raise complain(f"yields {len(pattern.roots)} nodes and returns {len(values)} values; return one for each")
    return template


def _template(terms: Sequence[Any], pattern: Pattern) -> Template:
    """Return terms as a template, its nodes in the order in which `graphrewrite.rewriting.engine.plan` adds them."""
    positions = {id(variable): -1 - i for i, variable in enumerate(pattern.variables)}
    positions |= {id(term): i for i, term in enumerate(pattern.terms)}
    read: dict[int, Any] = {}
    nodes: list[TemplateNode] = []

    def value_of(term: Any) -> Any:
        if isinstance(term, Result):
            return TemplateResult(read[id(term.node)], term.index) if term.index else read[id(term.node)]
        return read[id(term)]

    # Depth-first without recursion: a node comes up a second time when its operands are done.
    work = [(term, False) for term in reversed(terms)]
    while work:
        term, is_ready = work.pop()
        term = term.node if isinstance(term, Result) else term
        if id(term) in read:
            continue
        if not isinstance(term, NewNode):
            read[id(term)] = term if isinstance(term, Literal) else Hole(positions[id(term)])
        elif is_ready:
            captured = {
                k: -1 - positions[id(v._variable)] for k, v in term.own.items() if isinstance(v, BoundAttribute)
            }
            attributes = term.ops[0].as_attributes({k: v for k, v in term.own.items() if k not in captured})
            if not term.ops[0].is_settled(attributes):
                raise NotDeterminedError
            operands = tuple(map(value_of, term.operands))
            like = None if term.like is None else positions[id(term.like)]
            read[id(term)] = TemplateNode(term.ops[0], operands, attributes, captured, like)
            nodes.append(read[id(term)])
        else:
            work.append((term, True))
            work.extend((operand, False) for operand in reversed(term.operands))
    return Template(tuple(nodes), tuple(map(value_of, terms)))


def matches_itself(pattern: Pattern, template: Template) -> bool:
    """Tell whether a pattern matches its own replacement for all values of its variables."""
    graph = Graph("replacement")
    kind = Tensor("f32", ())
    names: dict[int, str] = {}

    def node(value: Any) -> str:
        value = value.node if isinstance(value, TemplateResult) else value
        if id(value) in names:
            return names[id(value)]
        if isinstance(value, Hole):
            name = f"hole{value.place}"
            if name not in graph:
                constant = value.place < 0 and pattern.variables[-1 - value.place].constant
                # The value is unknown: a constant of no entries, which no literal admits.
                data = {"type": "constant", "value": np.zeros(0)} if constant else {"type": "input"}
                graph.add_node(name, **data, result=kind)
        elif isinstance(value, TemplateNode):
            name = names[id(value)] = f"node{len(names)}"
            result = kind if value.op.results == 1 else (kind,) * value.op.results
            graph.add_node(name, type=value.op.name, result=result, **value.attributes)
            graph.adopt(value.op)
            for slot, operand in enumerate(value.operands):
                source = node(operand)
                slots = graph.edges[source, name]["slots"] if graph.has_edge(source, name) else ()
                read = operand.index if isinstance(operand, TemplateResult) else 0
                graph.add_edge(source, name, slots=(*slots, (slot, read)))
        else:
            name = f"constant{len(names)}"
            graph.add_node(name, type="constant", value=value.value, result=kind)
        names[id(value)] = name
        return name

    if any(n.captured or n.like is not None for n in template.nodes):
        return False  # attributes from the match may differ from the pattern's
    operands = [t for n in pattern.nodes for t in n.operands]
    if any(isinstance(t, Where) or (isinstance(t, Variable) and t.condition is not None) for t in operands):
        return False  # whether it holds again is not known
    for value in template.values:
        node(value)
    return any(True for name in list(graph) if name.startswith("node") for _ in find_at(pattern, graph, name))
