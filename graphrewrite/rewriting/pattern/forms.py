"""The forms of the pattern language that are neither an op nor a Python operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.op.op import Op
from graphrewrite.op.symbolic import CURRENT
from graphrewrite.rewriting.pattern.condition import Where
from graphrewrite.rewriting.pattern.terms import PatternNode, Tracing, Unit, Variable
from graphrewrite.rewriting.pattern.variables import variables_of

__all__ = ["any_op", "every", "repeated", "where"]


def where(predicate: Callable[[Any], Any], reason: str | None = None) -> Where:
    """Require something of an attribute or a value.

    Parameters
    ----------
    predicate : callable
        Takes the attribute's value; or, as an operand or an annotation, the matched value with its ``type``, ``shape``
        and, of a constant, ``value``.
    reason : str
        The requirement in words, for explanations why a rule does not match; a predicate of
        `graphrewrite.rewriting.facts` brings its own.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def drop_small_pool(x):
    ...     "A pool of one pixel is its input."
    ...     yield op.max_pool(x, kernel=rule.where(lambda k: set(k) == {1}, "its kernel is one pixel"))
    ...     return x
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,1,4,4]
    ... p = max_pool(x, kernel=[2, 2])
    ... y = output(p)''')
    >>> print(drop_small_pool.explain(g, at="p"))
    drop_small_pool does not match at 'p': 'p' kernel is (2, 2), and the pattern needs: its kernel is one pixel.
    """
    found = getattr(predicate, "reason", None) if reason is None else reason
    if not isinstance(found, str):
        raise RuleError("rule.where needs the requirement in words: rule.where(predicate, 'its kernel is one pixel')")
    return Where(predicate, found)


def any_op(*operands: Any, **attributes: Any) -> Any:
    """Stand for a node of any op with those operands.

    Parameters
    ----------
    *operands : variable or pattern node
        At least one; ``*xs`` for any operands.
    **attributes
        Attributes that it must have, as in any pattern.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def identity_of_anything(xs):
    ...     "Whatever is passed through the identity is itself."
    ...     inner = rule.any_op(*xs)
    ...     yield op.identity(inner)
    ...     return inner.op(*xs, like=inner)
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... s = add(x, x)
    ... i = identity(s)
    ... y = output(i)''')
    >>> print(identity_of_anything(g))
    graph g
    x = input() : f32[N]
    add_1 = add(x, x) : f32[N]
    y = output(add_1)
    """
    return _current("any_op").apply_form("node", (), operands, attributes)


def repeated(base: Any, unit: Op | Callable[..., Any], *, least: int = 1) -> Any:
    """Stand for a whole run: a unit on top of a value, the same unit on top of that, and so on.

    A run is as long as it can be. A value inside it that has another reader ends it, unless the rule keeps such nodes.
    A run of no links, with ``least=0``, is its base; it is there where no link fits.

    Parameters
    ----------
    base : variable or pattern node
        The value that the lowest link reads.
    unit : Op or callable
        An op of one operand, or a function from the value below to the node on top; its further parameters are
        variables that bind anew in each link.
    least : int
        The fewest links, from 0; from 1 where the run itself is replaced.

    Returns
    -------
    pattern node
        Below the yield it has ``links`` (their top nodes, lowest first), a length, and the unit's own variables as
        tuples. A variable of the rule that occurs only in its unit is not there where the run has no links.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def one_relu(x):
    ...     "Several relus are one."
    ...     yield rule.repeated(x, op.relu, least=2)
    ...     return op.relu(x)
    >>> print(one_relu.pattern)
    repeated(x, relu(_), least=2)
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... a = relu(x)
    ... b = relu(a)
    ... c = relu(b)
    ... y = output(c)''')
    >>> print(one_relu(g))
    graph g
    x = input() : f32[N]
    relu_1 = relu(x) : f32[N]
    y = output(relu_1)
    """
    current = _current("repeated")
    if type(least) is not int or least < 0:
        raise RuleError(f"repeated of at least {least!r} links; give a whole number from 0")
    return current.apply_form("repeated", base, _unit_of(current, base, unit, link=True), least)


def every(value: Any, unit: Op | Callable[..., Any], *, least: int = 2) -> Any:
    """Stand for all readers of a value that have a form, as a group.

    Parameters
    ----------
    value : variable or pattern node
        The value that they read.
    unit : Op or callable
        An op of one operand, or a function that returns the form; its parameters are variables that bind anew for each
        reader.
    least : int
        The fewest readers that make a group.

    Returns
    -------
    pattern node
        Below the yield it has ``nodes``, a length, and the unit's own variables as tuples. Yielded, it is replaced by
        as many values.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def share_relu(x):
    ...     "All relus of a value are one."
    ...     relus = rule.every(x, op.relu)
    ...     yield relus
    ...     shared = op.relu(x)
    ...     return [shared for _ in relus.nodes]
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[3]
    ... a = relu(x)
    ... b = relu(x)
    ... c = relu(x)
    ... d = concat(a, b, c, axis=0)
    ... y = output(d)''')
    >>> print(share_relu(g))
    graph g
    x = input() : f32[3]
    relu_1 = relu(x) : f32[3]
    d = concat(relu_1, relu_1, relu_1, axis=0) : f32[9]
    y = output(d)
    """
    current = _current("every")
    return current.apply_form("every", value, _unit_of(current, value, unit, link=False), least)


def _current(form: str) -> Any:
    """Return the run above a yield: the tracing of a pattern, or its replay on a match."""
    current = CURRENT.get()
    if current is None:
        raise RuleError(f"{form} belongs to a pattern; write it above the yield of a rule")
    return current


def _unit_of(current: Any, value: Any, unit: Op | Callable[..., Any], *, link: bool) -> Unit | None:
    if not isinstance(current, Tracing):
        return None  # replayed: the match of the unit is known
    # The terms of the unit are its own, and no part of the pattern around it.
    outer, current.terms = current.terms, []
    try:
        hole = Variable(current, "_") if link else None
        if isinstance(unit, Op):
            own: tuple[Variable, ...] = ()
            top = unit(hole if link else value)
        else:
            own = variables_of(unit, current)[1 if link else 0 :]
            top = unit(*([hole] if link else []), *own)
        if not isinstance(top, PatternNode):
            raise RuleError(f"the unit of a pattern must be an op, and {top!r} is none")
        nodes = tuple(term for term in current.terms if isinstance(term, PatternNode))
        if len(nodes) < len(current.terms):
            raise RuleError("the unit of a repetition or a group is made of ops and variables only")
    finally:
        current.terms = outer
    return Unit(top, nodes, own, hole)
