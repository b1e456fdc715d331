"""From the parameters of a function to the variables of a pattern."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

from graphrewrite.errors import RuleError
from graphrewrite.pattern.condition import Literal, Where
from graphrewrite.pattern.constant import Constant
from graphrewrite.pattern.terms import Tracing, Variable

__all__ = ["variables_of"]


def variables_of(function: Callable[..., Any], tracing: Tracing) -> tuple[Variable, ...]:
    """Return a variable for each parameter of a function; an annotation narrows it, the default None lets it miss.

    Parameters
    ----------
    function : callable
        A rule's, or that of a repeated unit.
    tracing : Tracing
        What they belong to.

    Returns
    -------
    tuple of Variable

    Raises
    ------
    RuleError
        If a parameter is no plain one, or its annotation says nothing that a pattern knows.
    """
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except Exception as error:
        raise RuleError(
            f"has an annotation that cannot be read: {type(error).__name__}: {error}; a variable may be annotated with "
            "rule.Constant, rule.where(...), or a set or range of values"
        ) from None
    return tuple(_variable(parameter, tracing) for parameter in parameters.values())


def _variable(parameter: inspect.Parameter, tracing: Tracing) -> Variable:
    name, annotation = parameter.name, parameter.annotation
    optional = parameter.default is None
    if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or not (optional or parameter.default is parameter.empty):
        raise RuleError(
            f"its parameter {name!r} is not plain; a variable has no star and no default but None, which lets an "
            f"operand be missing (for any number of operands write op.concat(*{name}))"
        )
    if get_origin(annotation) is Annotated:  # how a type checker wants what is no type
        _, annotation, *_ = get_args(annotation)
    # `Constant | None = None` is how a type checker wants an operand that may be missing.
    constant = annotation is Constant or annotation == Constant | None
    condition: Where | None = None
    if isinstance(annotation, Where):
        condition = annotation
    elif isinstance(annotation, set | frozenset | range):
        condition = _one_of(annotation)
    elif not constant and annotation is not parameter.empty:
        raise RuleError(
            f"does not understand the annotation {annotation!r}; a variable may be annotated with rule.Constant, "
            "rule.where(...), or a set or range of values"
        )
    return Variable(tracing, name, constant, optional, condition)


def _one_of(values: Any) -> Where:
    """Require one of some values: of an attribute, or of every entry of a constant."""
    literal = Literal.of(values)

    def admits(found: Any) -> bool:
        if hasattr(found, "is_constant"):
            return bool(found.is_constant) and literal.admits(found.value)
        return found in values

    return Where(admits, f"it is one of {literal!r}")
