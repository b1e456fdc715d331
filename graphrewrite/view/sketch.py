"""A rule as a picture: its pattern, and its replacement as far as that can be known without a graph.

The replacement is ordinary Python. It is run on stand-ins: ops make boxes, whatever else is asked of a matched node is
an unknown that passes through arithmetic. Where that does not work the picture shows the lines of the source instead.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphrewrite.op.define import Op
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.pattern import Literal, PatternNode, Variable
from graphrewrite.replacement import Declined
from graphrewrite.rule import Rule
from graphrewrite.text import format_attribute
from graphrewrite.view.colour import VARIABLES, Look, look_of
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import Arrow, Box, Scene

__all__ = ["sketch_of"]

_PAPER = Look("#ffffff", "#5f6b76")


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
        self._run.guessed = True
        if not self._run.decisions:
            raise _Asked
        return self._run.decisions.pop(0)

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


class _Drawn(Symbolic):
    """A value of the sketch: a variable, a matched node, or a new one."""

    def __init__(self, run: _Run, term: Any) -> None:
        self._run, self._term = run, term

    def __repr__(self) -> str:
        return "computed"

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        return self._run.apply(op, operands, attributes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unknown(self._run)


class _Run:
    """One run of a rule's function on stand-ins."""

    def __init__(self, rule: Rule, decisions: list[bool]) -> None:
        self.rule, self.decisions = rule, decisions
        self.pending = list(rule.pattern.nodes)
        self.below = self.guessed = False

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        if not self.below:
            return _Drawn(self, self.pending.pop(0))
        like = attributes.pop("like", None)
        known = like._term.attributes if like is not None and isinstance(like._term, PatternNode) else {}
        shown = {**{k: v for k, v in known.items() if k in op.attributes}, **attributes}
        # An op on unknowns alone is computed when the rule runs: its result is as unknown as they are.
        terms = tuple(self.term(x) for x in operands if x is not None)
        return _Drawn(self, PatternNode([], op, terms, shown))

    def term(self, value: Any) -> Any:
        if isinstance(value, _Drawn):
            return value._term
        return Literal(np.asarray(None if isinstance(value, _Unknown) else value))

    def returned(self) -> tuple[Any, ...] | None:
        """The terms that the rule returns; nothing if it declines."""
        variables = [
            _Drawn(self, v) if not _is_attribute(self.rule, v) else _Unknown(self) for v in self.rule.pattern.variables
        ]
        run = self.rule.function(*variables)
        next(run)
        self.below = True
        try:
            next(run)
        except StopIteration as stop:
            if isinstance(stop.value, Declined):
                return None
            values = stop.value if isinstance(stop.value, tuple) else (stop.value,)
            if len(values) == len(self.rule.pattern.roots) and None not in [v if v is None else 0 for v in values]:
                return tuple(self.term(v) for v in values)
        return None


def _is_attribute(rule: Rule, variable: Variable) -> bool:
    return any(variable is value for node in rule.pattern.nodes for value in node.attributes.values())


def _replacement(rule: Rule) -> tuple[tuple[Any, ...], bool] | None:
    """The terms that a rule returns when few of its tests hold, and whether anything was guessed."""
    for tests in range(6):
        for number in range(2**tests):
            decisions = [bool(number >> i & 1) for i in range(tests)]
            try:
                run = _Run(rule, decisions)
                returned = run.returned()
            except _Asked:
                continue
            except Exception:  # what a rule does with real values only is not for a sketch
                return None
            if returned is not None and not decisions:
                return returned, run.guessed
    return None


def sketch_of(rule: Rule) -> tuple[Scene, ...]:
    """Return the pattern of a rule and its replacement, to be drawn side by side.

    Parameters
    ----------
    rule : Rule
        Any rule.

    Returns
    -------
    tuple of Scene
        Two; variables have the same colour in both. The second holds lines of the source where the replacement computes
        with what only a match can tell.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def fuse_mul_add(x, c, d):
    ...     "x·c + d is one fused multiply-add."
    ...     yield op.add(op.mul(x, c), d)
    ...     return op.fma(x, c, d)
    >>> before, after = sketch_of(fuse_mul_add)
    >>> [box.kind or box.name for box in before.boxes]
    ['x', 'c', 'mul', 'd', 'add', 'replaced']
    >>> [box.kind or box.name for box in after.boxes]
    ['x', 'c', 'd', 'fma', 'replacement']
    """
    before = _scene(rule, f"{rule.name}: pattern", rule.pattern.roots, "replaced")
    found = _replacement(rule)
    if found is None:
        return before, Scene("⇒ replacement", (Box("", "", _PAPER, code=_source(rule)),), ())
    return before, _scene(rule, "⇒ replacement" + (" (sketch)" if found[1] else ""), found[0], "replacement")


def _source(rule: Rule) -> tuple[str, ...]:
    try:
        lines = inspect.getsource(rule.function).splitlines()
    except (OSError, TypeError):
        return ("computed from the match",)
    at = next((i for i, line in enumerate(lines) if line.strip().startswith("yield")), len(lines) - 1)
    shown = [plain(line, 120) for line in textwrap.dedent("\n".join(lines[at + 1 :])).splitlines() if line.strip()]
    return tuple(shown[:12] + (["…"] if len(shown) > 12 else []))


def _scene(rule: Rule, title: str, roots: tuple[Any, ...], word: str) -> Scene:
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    positions: dict[int, int] = {}
    colours = {v.name: VARIABLES[i % len(VARIABLES)] for i, v in enumerate(rule.pattern.variables)}

    def place(term: Any) -> int:
        if id(term) in positions:
            return positions[id(term)]
        operands = term.operands if isinstance(term, PatternNode) else ()
        sources = [place(t) if isinstance(t, Variable | PatternNode) else None for t in operands]
        boxes.append(_box(term, colours))
        at = positions[id(term)] = len(boxes) - 1
        drawn = [source for source in sources if source is not None]
        arrows.extend(Arrow(source, at, port=i if len(drawn) > 1 else None) for i, source in enumerate(drawn))
        return at

    for index, root in enumerate(roots):
        at = place(root) if isinstance(root, Variable | PatternNode) else None
        name = word if len(roots) == 1 else f"{word} {index + 1}"
        boxes.append(Box(name, "", _PAPER, notes=() if at is not None else (_literal(root),), round=True))
        if at is not None:
            arrows.append(Arrow(at, len(boxes) - 1))
    return Scene(title, tuple(boxes), tuple(arrows))


def _box(term: Variable | PatternNode, colours: dict[str, str]) -> Box:
    if isinstance(term, Variable):
        notes = ("a constant",) if term.constant else ()
        return Box(term.name, "", Look(colours[term.name], "#5f6b76"), notes=notes, round=True)
    names = [term.op.operands[min(i, len(term.op.operands) - 1)] for i in range(len(term.operands))]
    drawn = tuple(n for n, t in zip(names, term.operands, strict=True) if isinstance(t, Variable | PatternNode))
    tucked = [f"{n}: {_literal(t)}" for n, t in zip(names, term.operands, strict=True) if isinstance(t, Literal)]
    attributes = [f"{k} = {_attribute(v)}" for k, v in term.attributes.items()]
    return Box(
        term.name or "",
        term.op.name,
        look_of(term.op.name, term.op),
        ports=drawn if len(drawn) > 1 else (),
        notes=tuple(plain(note, 120) for note in (*tucked, *attributes)),
        tooltip=plain(term),
    )


def _literal(term: Literal) -> str:
    return "computed" if term.value.dtype == object else format_attribute(term.value)


def _attribute(value: Any) -> str:
    if isinstance(value, Variable):
        return value.name
    text = format_attribute(value)
    return "computed" if "computed" in text else text  # a sequence may hold unknowns as well
