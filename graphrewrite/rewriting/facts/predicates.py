"""Conditions on values that ask what is known of their numbers."""

from __future__ import annotations

from typing import Any

from graphrewrite.op import LIBRARY, find_op
from graphrewrite.rewriting.facts.numbers import numbers
from graphrewrite.rewriting.facts.observation import observer_of
from graphrewrite.rewriting.facts.queries import Query
from graphrewrite.types import Tensor

__all__ = [
    "finite",
    "never_minus_zero",
    "never_nan",
    "never_zero",
    "nonnegative",
    "nonpositive",
    "visibly_minus_zero",
    "visibly_nan",
    "visibly_unlimited",
    "whole",
]

nonpositive = numbers.predicate(
    lambda fact: fact.high <= 0, "it is never positive", lambda fact: f"may be positive: its range is {fact.range}"
)
"""No entry is above zero; one may be NaN or -0."""

never_zero = numbers.predicate(
    lambda fact: not fact.may_be_zero, "it is never zero", lambda fact: f"may be zero: its range is {fact.range}"
)
"""No entry is 0 or -0."""

finite = numbers.predicate(
    lambda fact: fact.is_finite,
    "it is finite",
    lambda fact: "may be NaN" if fact.nan else f"may be infinite: its range is {fact.range}",
)
"""No entry is NaN or infinite."""

never_nan = numbers.predicate(lambda fact: not fact.nan, "it is never NaN", lambda _: "may be NaN")
"""No entry is NaN."""

whole = numbers.predicate(lambda fact: fact.whole, "it is whole", lambda _: "may have a fraction")
"""All finite entries are whole numbers."""

_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
_UNLIMITED = {
    LIBRARY[name]
    for name in (
        *("add", "ceil", "concat", "div", "floor", "leaky_relu", "neg", "reshape", "round", "sub", "sum"),
        "transpose",
    )
}
"""Ops whose results have no limits where any operand has none, as far as `numbers` knows."""
_WITH_NAN = _UNLIMITED | {
    LIBRARY[name]
    for name in (
        *("abs", "clip", "cos", "exp", "hard_sigmoid", "maximum", "minimum", "mul", "reciprocal", "relu"),
        *("sigmoid", "sign", "sin", "softmax", "softplus", "sqrt", "tanh"),
    )
}
"""Ops that may give NaN where any operand may be NaN, as far as it knows."""
_WITH_MINUS_ZERO = _UNLIMITED - {LIBRARY[name] for name in ("add", "div", "sub", "sum")}
"""Ops that may give -0 where any operand has no limits and may be -0, as far as it knows."""
_UNKNOWN = {name for name, op in LIBRARY.items() if op.stateful or numbers.function_of(op, {}) is None}
"""Ops of the library of whose results it knows nothing."""
_MUL, _DIV = LIBRARY["mul"], LIBRARY["div"]
"""So has a product with a constant that is not 0 everywhere, but not a quotient of one value."""
_MOST = 8
"""So many nodes are looked at; beyond that the fact is asked for."""


def _sees(value: Any, ops: set[Any]) -> bool:
    """Tell whether ops lead down from a float to one of which `numbers` knows nothing, by a look at few nodes."""
    graph, observer = value.graph, observer_of(value.graph)
    nodes, pred, own = graph._node, graph._pred, graph.ops
    work = [value.node]
    for _ in range(_MOST):
        if not work:
            return False
        node = work.pop()
        if observer is not None:
            observer.look_at(node)
        data = nodes[node]
        kind = data.get("result")
        if kind.__class__ is not Tensor or kind.element not in _FLOATS:
            continue
        name = data["type"]
        if name in _UNKNOWN and name not in own:
            return True
        op = find_op(name, own)
        if op is None or op.stateful or numbers.function_of(op, data) is None:
            return True
        if op in ops or op is _MUL:
            sources = [source for source, edge in pred[node].items() if edge.get("slots")]
            others = [source for source in sources if nodes[source].get("type") != "constant"]
            if op is _DIV and len(sources) == 1:  # x / x is 1
                continue
            if op in ops or (len(sources) > len(others) and not _is_zero(graph, set(sources) - set(others))):
                work += others
    return False


def _is_zero(graph: Any, constants: set[str]) -> bool:
    """Tell whether a constant may be 0 everywhere, by a look at its first entry."""
    return any(not (value := graph._node[name]["value"]).size or value.item(0) == 0 for name in constants)


@Query
def visibly_unlimited(value: Any) -> bool:
    r"""Tell whether a float may be any number for all that is known, by a look at few nodes, which costs no fact.

    Where it is false, the fact may still say so.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[4]\na = neg(x)\nr = relu(a)\ny = output(r)")
    >>> visibly_unlimited(g.value("a")), visibly_unlimited(g.value("r"))
    (True, False)
    """
    return _sees(value, _UNLIMITED)


@Query
def visibly_nan(value: Any) -> bool:
    r"""Tell whether a float may be NaN for all that is known, by a look at few nodes, which costs no fact.

    Where it is false, the fact may still say so.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[4]\na = relu(x)\nn = is_nan(x)\ny = output(a)\nz = output(n)")
    >>> visibly_nan(g.value("a")), visibly_nan(g.value("n"))
    (True, False)
    """
    return _sees(value, _WITH_NAN)


@Query
def visibly_minus_zero(value: Any) -> bool:
    r"""Tell whether a float may be -0 for all that is known, by a look at few nodes, which costs no fact.

    Where it is false, the fact may still say so.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[4]\na = neg(x)\nb = add(x, a)\ny = output(b)")
    >>> visibly_minus_zero(g.value("a")), visibly_minus_zero(g.value("b"))
    (True, False)
    """
    return _sees(value, _WITH_MINUS_ZERO)


nonnegative = numbers.predicate(
    lambda fact: fact.low >= 0,
    "it is never negative",
    lambda fact: f"may be negative: its range is {fact.range}",
    unless=visibly_unlimited,
)
"""No entry is below zero; one may be NaN or -0."""

never_minus_zero = numbers.predicate(
    lambda fact: not fact.minus_zero, "it is never -0", lambda _: "may be -0", unless=visibly_minus_zero
)
"""No entry is -0."""
