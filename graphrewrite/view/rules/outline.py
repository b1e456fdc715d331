"""Boxes and arrows for the terms of a pattern: one box a node, whatever form it is written in."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphrewrite.formats.text import format_attribute
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
    Variable,
    Where,
    Without,
    walk,
)
from graphrewrite.rewriting.rule.outcome import NOTHING
from graphrewrite.view.colour import PAPER, VARIABLES, Look, look_of
from graphrewrite.view.plain import plain
from graphrewrite.view.rules.conditions import options_of
from graphrewrite.view.scene import Arrow, Box, Scene

__all__ = ["attribute_lines", "colours_of", "outline", "with_words", "wrapped"]

_WIDTH = 44
_SHOWN = 6
"""Members of a set that are shown."""


def colours_of(pattern: Pattern) -> dict[int, str]:
    """Return a fill colour for each variable of a pattern, by identity: the rule's parameters, then those of units."""
    units = [term.unit for term in pattern.terms if isinstance(term, Repeated | Every)]
    variables = [*pattern.variables, *(v for unit in units for v in unit.own)]
    return {id(v): VARIABLES[i % len(VARIABLES)] for i, v in enumerate(variables)}


def wrapped(text: str) -> tuple[str, ...]:
    """Return a text in lines that fit below a box's name."""
    return tuple(textwrap.wrap(plain(text, 400).replace(" …", "\N{NO-BREAK SPACE}…"), _WIDTH))


def with_words(scene: Scene, kind: str, reasons: Sequence[str]) -> Scene:
    """Return a scene with a box of texts, if there are any."""
    if not reasons:
        return scene
    lines = tuple(line for reason in reasons for line in wrapped(f"· {reason}"))
    return replace(scene, boxes=(*scene.boxes, Box("", kind, PAPER, notes=lines)))


def outline(
    title: str, pattern: Pattern, terms: Iterable[Any], word: str, *, marks: Mapping[int, str] | None = None
) -> Scene:
    """Return boxes for terms and their parts, and a box for each value of the pattern or replacement."""
    return _Outline(pattern, marks or {}).scene(title, list(terms), word)


class _Outline:
    def __init__(self, pattern: Pattern, marks: Mapping[int, str]) -> None:
        self.marks = marks
        self.colours = colours_of(pattern)
        units = [term.unit for term in pattern.terms if isinstance(term, Repeated | Every)]
        self.own = {id(v) for unit in units for v in unit.own}
        roots = pattern.roots
        # Parts that are reached only through a negation must not be in the graph.
        there = {id(part) for root in roots for part in walk(root, negated=False)}
        self.absent = {
            id(part) for term in (*roots, *pattern.forbidden) for part in walk(term) if id(part) not in there
        }
        self.forbidden = {id(node) for node in pattern.forbidden}
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.positions: dict[int, int] = {}

    def scene(self, title: str, terms: list[Any], word: str) -> Scene:
        replaced = [term for term in terms if id(term) not in self.forbidden]
        for index, term in enumerate(replaced):  # each with all below it, and then the box of the replaced value
            at = self._place(term) if not isinstance(term, Literal) and term is not NOTHING else None
            name = word if len(replaced) == 1 else f"{word} {index + 1}"
            notes = ("nothing",) if term is NOTHING else (_value(term),) if isinstance(term, Literal) else ()
            if isinstance(term, Every):
                notes = ("each",)
            self.boxes.append(Box(name, "", PAPER, notes=notes, round=True))
            if at is not None:
                results = self.boxes[at].results if isinstance(term, PatternNode) else 1
                first = term.index if isinstance(term, Result) else 0
                for result in range(first, first + results):
                    self.arrows.append(Arrow(at, len(self.boxes) - 1, result))
        for term in terms:
            if id(term) in self.forbidden:
                self._place(term)
        return Scene(title, tuple(self.boxes), tuple(self.arrows))

    def _place(self, term: Any) -> int:
        """Draw a term and its parts, unless they are drawn already; return its box."""
        match term:
            case Rest():
                return self._place_variable(term.variable, several=True)
            case Variable():
                return self._place_variable(term, several=False)
            case Result():
                return self._place(term.node)
            case Without(term_=(PatternNode() | Result()) as inner):
                return self._marked(self._place(inner), term)
        if id(term) not in self.positions:
            self.positions[id(term)] = self._marked(self._draw(term), term)
        return self.positions[id(term)]

    def _marked(self, at: int, term: Any) -> int:
        """Mark a box as its term is marked, unless it is an obstacle; return it."""
        if id(term) in self.marks and self.boxes[at].mark != "obstacle":
            self.boxes[at] = replace(self.boxes[at], mark=self.marks[id(term)])
        return at

    def _place_variable(self, variable: Variable, *, several: bool) -> int:
        if id(variable) not in self.positions:
            notes = ["any number"] if several else []
            notes += ["one for each"] if id(variable) in self.own else []
            notes += ["a constant"] if variable.constant else []
            notes += wrapped(variable.condition.reason) if variable.condition is not None else []
            look = Look(self.colours.get(id(variable), PAPER.fill), PAPER.border)
            mark = self.marks.get(id(variable)) or ("optional" if variable.optional else "")
            name = f"*{variable.name}" if several else variable.name
            self.boxes.append(Box(name, "", look, notes=tuple(notes), mark=mark, round=True))
            self.positions[id(variable)] = len(self.boxes) - 1
        return self.positions[id(variable)]

    def _draw(self, term: Any) -> int:
        match term:
            case PatternNode():
                return self._node(term, list(term.operands), term.name)
            case Repeated():
                word = {0: "none or more", 1: "one or more"}.get(term.least, f"{term.least} or more")
                return self._unit(term, f"{word}, each on top of the last")
            case Every():
                return self._unit(term, "every reader" + (f", at least {term.least}" if term.least > 1 else ""))
            case Either():
                options = _options(term)
                names = ["first", *["or"] * (len(options) - 1)]
                return self._join(Box("", "either", PAPER, round=True), names, options)
            case Without():
                return self._join(Box("", "not", PAPER, mark="forbidden", round=True), [""], [term.term_])
        return self._join(Box("", "any value", PAPER, round=True), [""], [term])  # a condition, or a literal

    def _node(self, node: PatternNode, operands: list[Any], name: str | None, *words: str) -> int:
        op = node.op
        attributes = [line for k, v in node.attributes.items() for line in attribute_lines(k, v)]
        box = Box(
            name or "",
            " | ".join(op.name for op in node.ops) or "any op",
            PAPER if op is None else look_of(op.name, op),
            results=node.results,
            notes=(*words, *attributes),
            tooltip=plain(node),
            mark="forbidden" if id(node) in self.absent else "",
        )
        return self._join(box, [_operand_name(op, i) for i in range(len(operands))], operands)

    def _unit(self, term: Repeated | Every, word: str) -> int:
        unit = term.unit
        below = term.base if isinstance(term, Repeated) else term.of
        if len(unit.nodes) == 1:
            operands = [below if t is unit.hole else t for t in unit.top.operands]
            return self._node(unit.top, operands, term.name, word)
        # A unit of several nodes is written as text; only the values that it reads from outside are drawn.
        inside = {id(node) for node in unit.nodes}
        outside: dict[int, Any] = {}
        for node in unit.nodes:
            for operand in node.operands:
                if id(operand) not in inside and operand is not unit.hole and not _is_tucked(operand):
                    outside[id(operand)] = operand
        outside.pop(id(below), None)
        read = [below, *outside.values()]
        box = Box(term.name or "", "unit", PAPER, notes=(word,), code=(plain(unit.top, 90),), tooltip=plain(term))
        return self._join(box, [getattr(t, "name", None) or "" for t in read], read)

    def _join(self, box: Box, names: Sequence[str], operands: Sequence[Any]) -> int:
        """Add a box that reads operands; literals and conditions are lines in it."""
        drawn: list[tuple[str, Any]] = []
        tucked: list[str] = []
        for name, operand in zip(names, operands, strict=True):
            if not _is_tucked(operand):
                drawn.append((name, operand))
                continue
            tucked += wrapped(f"{name}: {_words(operand)}" if name else _words(operand))
            box = replace(box, mark=self.marks.get(id(operand)) or box.mark)
        # Operands come first: arrows refer to boxes by their index.
        sources = [self._place(operand) for _, operand in drawn]
        several = len(drawn) > 1
        ports = tuple(name for name, _ in drawn) if several else ()
        self.boxes.append(replace(box, ports=ports, notes=(*tucked, *box.notes)))
        at = len(self.boxes) - 1
        for index, ((_, operand), source) in enumerate(zip(drawn, sources, strict=True)):
            inner = operand.term_ if isinstance(operand, Without) else operand
            result = inner.index if isinstance(inner, Result) else 0
            self.arrows.append(Arrow(source, at, result, port=index if several else None))
        return at


def _options(term: Any) -> list[Any]:
    """Return the options of a choice, nested choices flattened."""
    return [option for part in term.options for option in _options(part)] if isinstance(term, Either) else [term]


def _is_tucked(term: Any) -> bool:
    return isinstance(term, Literal | Where)


def _words(term: Any) -> str:
    """Return the text of an operand that is a line in its reader."""
    return _value(term) if isinstance(term, Literal) else str(term.reason)


def _operand_name(op: Op | None, index: int) -> str:
    if op is None or not op.operands:
        return ""
    return op.operands[min(index, len(op.operands) - 1)]


def _value(term: Literal) -> str:
    if term.value.dtype == object:
        return "computed"
    return _one_of(term.value.tolist()) if term.members else format_attribute(term.value)


def _one_of(options: Sequence[Any]) -> str:
    shown = [format_attribute(np.asarray(v) if isinstance(v, np.generic) else v) for v in options[:_SHOWN]]
    if len(options) > _SHOWN:
        shown.append("…")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def attribute_lines(name: str, value: Any) -> tuple[str, ...]:
    """Return the lines for an attribute of a pattern or a replacement.

    Examples
    --------
    >>> attribute_lines("groups", {1, 2})
    ('groups = 1 or 2',)
    """
    if isinstance(value, Where):
        return wrapped(f"{name}: {value.reason}")
    if isinstance(value, Variable):
        condition = f": {value.condition.reason}" if value.condition is not None else ""
        return wrapped(f"{name} = {value.name}{condition}")
    if isinstance(value, set | frozenset | range):
        return wrapped(f"{name} = {_one_of(options_of(value))}")
    text = format_attribute(value)
    # A sequence may contain a value that depends on the match.
    return (plain(f"{name} = {'computed' if 'computed' in text else text}", 120),)
