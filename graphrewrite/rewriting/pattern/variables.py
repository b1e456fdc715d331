"""The variables of a pattern, from the parameters of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from graphrewrite.errors import RuleError
from graphrewrite.op.operators import Operators
from graphrewrite.rewriting.pattern.condition import Literal, Where
from graphrewrite.rewriting.pattern.terms import Tracing, Variable

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Constant", "variables_of"]


class Constant(Operators):
    """Annotation of a rule's variable: it binds a constant, whose array is ``w.value`` below the yield.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite import rule
    >>> @rule
    ... def double_constant(x, c: Constant):
    ...     "A sum with a constant."
    ...     yield op.add(x, c)
    ...     return op.add(x, c)
    >>> print(double_constant.pattern)
    add(x, c: Constant)

    Those of which more is wanted:

    >>> from typing import Annotated
    >>> Scalar = Annotated[Constant, rule.where(lambda c: not c.shape, "it is a scalar")]
    >>> @rule
    ... def double_scalar(x, c: Scalar):
    ...     "A sum with a constant scalar."
    ...     yield op.add(x, c)
    ...     return op.add(x, c)
    >>> print(double_scalar.pattern)
    add(x, c: Constant, <it is a scalar>)
    """

    if TYPE_CHECKING:  # offered below the yield, where `graphrewrite.rewriting.rule.replacement.Bound` stands for it
        value: np.ndarray[Any, Any]
        shape: tuple[int, ...]
        type: Any

        def __getattr__(self, name: str) -> Any: ...


_CONSTANTS = (Constant, Constant | None)
"""The second is for an operand that may be missing: ``c: Constant | None = None``."""


def variables_of(function: Callable[..., Any], tracing: Tracing) -> tuple[Variable, ...]:
    """Return a variable for each parameter of a function; an annotation narrows it, the default None lets it miss."""
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
            f"its parameter {name!r} has a star or a default; the only default is None, for an operand that may miss "
            f"(for any number of operands write op.concat(*{name}))"
        )
    constant = False
    if get_origin(annotation) is Annotated:  # type checkers accept a value that is no type only there
        own, annotation, *_ = get_args(annotation)
        constant = own in _CONSTANTS
    constant |= annotation in _CONSTANTS
    condition: Where | None = None
    if isinstance(annotation, Where):
        condition = annotation
    elif isinstance(annotation, set | frozenset | range):
        condition = _one_of(annotation)
    elif annotation not in _CONSTANTS and annotation is not parameter.empty:
        raise RuleError(
            f"does not understand the annotation {annotation!r}; a variable may be annotated with rule.Constant, "
            "rule.where(...), or a set or range of values"
        )
    return Variable(tracing, name, constant, optional, condition)


def _one_of(values: Any) -> Where:
    """Require one of some values: of an attribute, or of every entry of a constant."""
    literal = Literal.of(values)

    def admits(value: Any) -> bool:
        if hasattr(value, "is_constant"):  # an operand, rather than an attribute
            return bool(value.is_constant) and literal.admits(value.value)
        return value in values

    return Where(admits, f"it is one of {literal!r}")
