"""Vector-Jacobian products: an op for each op, whose meaning is the difference quotient."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, Type, symbols

__all__ = ["DIFFERENTIABLE", "Vjp", "vjp_of"]

DIFFERENTIABLE = frozenset({"f32", "f64"})
"""Element types with gradients: narrower floats have too few digits to add up gradients."""
_STEP = 2.0**-17
"""Of a central difference in double precision, near to the cube root of its rounding."""
_KINK = 1e-3
"""By how much the slopes on both sides may differ, as a share of the step and the values."""
_STEEP = 1e4
"""The slope from which on it is a jump."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Vjp(Op):
    """The vector-Jacobian product of an op, `Op.vjp`: ``op.mul.vjp(g, x, y, wrt=0)``.

    Its operands are the gradient ``g`` with respect to a result of the op, and the op's own operands. Its attributes
    are those of the op; of one with several operands ``wrt``, the one with respect to which it is taken; and of one
    with several results ``of_result``, the one that ``g`` belongs to. It computes the sum of ``g`` times the central
    difference quotients of the op in double precision, which is slow: rules write it as other ops. Of an op that rounds
    and says so (`Op.held`), what rounding adds is held as it is. Where the op has no slope, such as at a kink, it
    raises an `EvaluationError`.

    Attributes
    ----------
    of : Op
        The op.
    """

    of: Op

    def settled(self, attributes: dict[str, Any], types: Sequence[Type]) -> dict[str, Any]:
        """Return attributes in their final form, as the op settles them for its own operands."""
        if len(types) < 2:
            return attributes
        own = {key: value for key, value in attributes.items() if key not in _OWN}
        return {**self.of.settled(own, types[1:]), **{key: attributes[key] for key in _OWN if key in attributes}}

    def stands_for(self, other: Op) -> bool:
        """Tell whether another op is the product of the same op."""
        return isinstance(other, Vjp) and (self.of is other.of or self.of.stands_for(other.of))

    def __reduce__(self) -> Any:
        return getattr, (self.of, "vjp")


_OWN = ("wrt", "of_result")


def vjp_of(op: Op) -> Vjp:
    """Return the vector-Jacobian product of an op; `Op.vjp` keeps it.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import op
    >>> op.mul.vjp(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0]), wrt=0).round(6).tolist()
    [5.0, 12.0]
    """
    taken = {*op.operands, *op.attributes}
    if clash := taken.intersection(_OWN):
        raise TypeMismatchError(f"{op.name} has no gradient: it has a parameter {min(clash)!r} of its own; rename it")
    gradient = "g" if "g" not in taken else "gradient"
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [
        *([inspect.Parameter("wrt", keyword, annotation=int)] if len(op.operands) > 1 or op.variadic else []),
        *([inspect.Parameter("of_result", keyword, annotation=int, default=0)] if op.results != 1 else []),
    ]
    return Vjp(
        of=op,
        name="vjp_" + op.name.replace(".", "_"),
        function=_with_signature(_quotient(op), op, gradient, own),
        level=op.level,
        infer_types=_inference(op),
        operands=(gradient, *op.operands),
        required=op.required + 1,
        variadic=op.variadic,
        attributes={**op.attributes, **{p.name: p.default for p in own}},
        stateful=op.stateful,
        forms=op.forms,
        sized=op.sized,
        doc=f"Gradient of `{op.name}` along an operand, of several the one at ``wrt``, from that of a result.",
    )


def _inference(op: Op) -> Callable[..., Tensor]:
    def infer(g: Type, *types: Type, wrt: int = 0, of_result: int = 0, **attributes: Any) -> Tensor:
        if not 0 <= wrt < len(types):
            raise TypeMismatchError(f"wrt is the position of an operand, 0 to {len(types) - 1}, got {wrt}")
        for kind in (g, *types):
            if not isinstance(kind, Tensor) or kind.layout is not None:
                raise TypeMismatchError(f"gradients are of tensors without axis names, got {kind}")
        results = op.infer(*types, **attributes)
        if not 0 <= of_result < len(results):
            raise TypeMismatchError(f"of_result is one of {len(results)}, got {of_result}")
        along = types[wrt]
        for kind in (results[of_result], along):
            if kind.element not in DIFFERENTIABLE:
                raise TypeMismatchError(f"gradients are of f32 and f64, got {kind}; cast it first")
        if not _is_of(g, results[of_result]):
            raise TypeMismatchError(f"the gradient of a result {results[of_result]} is of that type, got {g}")
        assert isinstance(along, Tensor)
        return along

    return infer


def _is_of(g: Type, result: Type) -> bool:
    """Tell whether a gradient has the type of a result, whose sizes may be such as only run time tells."""
    if not isinstance(g, Tensor) or not isinstance(result, Tensor) or not result.unknowns:
        return g == result
    pairs = list(zip(g.shape, result.shape, strict=False))
    fits = all(own == size or not {*symbols(size)}.isdisjoint(result.unknowns) for own, size in pairs)
    return fits and g.element == result.element and len(g.shape) == len(result.shape)


def _quotient(op: Op) -> Callable[..., np.ndarray]:
    def quotient(g: Any, *operands: Any, wrt: int = 0, of_result: int = 0, **attributes: Any) -> np.ndarray:
        arrays = [np.asarray(each) for each in operands]
        wide = [each.astype(np.float64) if each.dtype.kind == "f" else each for each in arrays]
        in_double = {k: "f64" if k == "element" and v == "f32" else v for k, v in attributes.items()}
        x, weights = wide[wrt], np.asarray(g, np.float64)
        function, own = (op.function, in_double) if op.held is None else (op.held(*wide, **in_double), {})

        def value(changed: np.ndarray) -> np.ndarray:
            found = function(*wide[:wrt], changed, *wide[wrt + 1 :], **own)
            return np.asarray(found[of_result] if isinstance(found, tuple) else found)

        slopes = np.zeros(x.shape)
        with np.errstate(all="ignore"):
            here = value(x)
            if weights.shape != here.shape:  # of sizes that only run time tells
                raise EvaluationError(
                    f"the result of {op.name} has the shape {list(here.shape)}, and its gradient "
                    f"{list(weights.shape)}; give one of that shape"
                )
            for place in np.ndindex(*x.shape):
                step = _STEP * max(1.0, abs(float(x[place])))
                above, below = x.copy(), x.copy()
                above[place] += step
                below[place] -= step
                high, low = value(above), value(below)
                _check_smooth(op, place, high, here, low, step)
                slopes[place] = (weights * (high - low)).sum() / (above[place] - below[place])
        return slopes.astype(arrays[wrt].dtype)

    return quotient


def _check_smooth(
    op: Op, place: tuple[int, ...], high: np.ndarray, here: np.ndarray, low: np.ndarray, step: float
) -> None:
    """Raise where the slopes on both sides of an entry differ: there is no quotient to compare with."""
    scale = step * (1 + np.abs(here))
    bend, rise = np.abs(high - 2 * here + low), np.abs(high - low)
    if not (np.isfinite(here) & (bend <= _KINK * scale) & (rise <= _STEEP * scale)).all():  # of NaN nothing is true
        raise EvaluationError(f"{op.name} has a kink or a pole at the entry {list(place)}: it has no gradient there")


def _with_signature(
    function: Callable[..., Any], op: Op, gradient: str, own: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """Return the function with the parameters and annotations of an op's, by which attributes are checked."""
    positional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = list(inspect.signature(op.function).parameters.values())
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions have it where it is set
        [
            inspect.Parameter(gradient, positional, annotation=np.ndarray),
            *(p for p in parameters if p.kind != keyword),
            *(p for p in parameters if p.kind == keyword),
            *own,
        ]
    )
    annotations: Mapping[str, Any] = getattr(op.function, "__annotations__", {})
    function.__annotations__ = {**annotations, gradient: np.ndarray, **{p.name: p.annotation for p in own}}
    function.__wrapped__ = op.function  # type: ignore[attr-defined]  # names in annotations are those of its module
    function.__module__ = op.function.__module__
    function.__qualname__ = f"{op.function.__qualname__}.vjp"
    return function
