"""Regions of memory, and ops that write a whole one: an op writes its result into a region that it is given.

A value of this level is a version of a region. What writes takes the version before as its first operand and gives the
next one, so that the order of writes is data flow (destination-passing style).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError, UnknownOpError, did_you_mean
from graphrewrite.op.body import Body
from graphrewrite.op.define import define_op
from graphrewrite.types import OBJECT, TEXT, Dimension, Element, Tensor, Type, as_element, element_dtype, element_kind

__all__ = ["alloc", "attributes_of_into", "check_same", "copy", "into"]


def _infer_alloc(*, element: Element, shape: tuple[Dimension, ...], layout: str | None = None) -> Tensor:
    kind = as_element(element)
    if kind in (OBJECT, TEXT):
        raise TypeMismatchError(f"an entry of {kind} has no fixed size, and so no place in a region")
    return Tensor(kind, tuple(shape), layout)


def _step_alloc(state: None, **attributes: Any) -> tuple[np.ndarray, None]:
    return alloc.function(**attributes), None


@define_op(level="memory", step=_step_alloc, infer=_infer_alloc)
def alloc(*, element: Element, shape: tuple[Dimension, ...], layout: str | None = None) -> np.ndarray:
    """A region of memory whose content means nothing until something is written.

    Evaluated, it is zeros. Two regions are never one, however alike they are: it has a state, and is never merged.

    Parameters
    ----------
    element
        Element type.
    shape
        Its shape.
    layout
        The order of its axes, as of a tensor.

    Examples
    --------
    >>> alloc(element="f32", shape=(2, 3)).shape
    (2, 3)
    """
    return np.zeros(tuple(map(int, shape)), element_dtype(as_element(element)))


def _results_of(attributes: Mapping[str, Any]) -> int:
    return int(attributes.get("outs", 1))


def attributes_of_into(
    *, attributes: Mapping[str, Any] | None = None, then: Any = None, otherwise: Any = None, body: Any = None
) -> dict[str, Any]:
    """Return the attributes of what is computed: those that are numbers, and those that are programs.

    Examples
    --------
    >>> attributes_of_into(attributes={"axis": 0})
    {'axis': 0}
    """
    held = {"then": then, "otherwise": otherwise, "body": body}
    return {**(attributes or {}), **{key: each for key, each in held.items() if each is not None}}


def _infer_into(
    *operands: Type,
    of: str,
    attributes: Mapping[str, Any] | None = None,
    outs: int = 1,
    then: Body | None = None,
    otherwise: Body | None = None,
    body: Body | None = None,
) -> tuple[Type, ...]:
    from graphrewrite.op.library import LIBRARY

    if not 1 <= outs <= len(operands):
        raise TypeMismatchError(f"writes {outs} regions, and {len(operands)} operands are given; regions come first")
    regions, op = operands[:outs], LIBRARY.get(of)
    if op is None:  # an op of the graph's own, of which only the graph knows
        return regions
    if op.level in ("structure", "memory"):
        raise TypeMismatchError(f"{of} computes nothing that is written into a region; its node stands by itself")
    given = attributes_of_into(attributes=attributes, then=then, otherwise=otherwise, body=body)
    results = op.result_types(operands[outs:], given)
    if results != regions:
        made, there = (", ".join(map(str, types)) for types in (results, regions))
        raise TypeMismatchError(f"{of} gives {made}, and the regions are {there}; allocate regions of its types")
    return regions


@define_op(level="memory", infer=_infer_into, results=_results_of)
def into(
    out: Any,
    *xs: Any,
    of: str,
    attributes: Mapping[str, Any] | None = None,
    outs: int = 1,
    then: Body | None = None,
    otherwise: Body | None = None,
    body: Body | None = None,
) -> Any:
    """An op, computed into a region: the new version of the region that it overwrites.

    Parameters
    ----------
    out
        The region; where the op has several results, as many regions come first. The op may read the old version: then
        the region is among the other operands, too (in place).
    *xs
        Operands of the op.
    of
        Name of the op.
    attributes
        Attributes of the op.
    outs
        Number of regions.
    then, otherwise
        Programs of a `cond`.
    body
        The program of a `loop` or `scan`. Where the loop keeps a value, the input and the output share a region.

    Examples
    --------
    >>> x = np.float32([-1, 2])
    >>> into(np.zeros(2, np.float32), x, of="relu").tolist()
    [0.0, 2.0]
    >>> into(x, x, x, of="sub").tolist()
    [0.0, 0.0]
    """
    from graphrewrite.op.library import LIBRARY

    op, operands = LIBRARY.get(of), (out, *xs)[outs:]
    if op is None:
        raise UnknownOpError(
            f"{of!r} is no op of the library{did_you_mean(of, LIBRARY)}; evaluate the graph, which knows its own ops"
        )
    given = attributes_of_into(attributes=attributes, then=then, otherwise=otherwise, body=body)
    results = op.compute(operands, {**op.attributes, **given})
    if len(results) != outs:
        raise EvaluationError(f"{of} gives {len(results)} results, and {outs} regions are written; write outs={outs}")
    return results[0] if outs == 1 else results


def check_same(out: Type, x: Type, what: str) -> None:
    """Raise unless two values have one element type.

    Examples
    --------
    >>> check_same(Tensor("f32", (2,)), Tensor("f32", (3,)), "copied")
    """
    if not isinstance(out, Tensor) or not isinstance(x, Tensor) or out.element != x.element:
        raise TypeMismatchError(f"{x} is {what} into a region of {out}; both have one element type")


def _infer_copy(out: Type, x: Type) -> Type:
    check_same(out, x, "copied")
    if out != x:
        raise TypeMismatchError(f"{x} is copied into a region of {out}; take a view of its shape first")
    return out


@define_op(level="memory", infer=_infer_copy)
def copy(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A value, copied into a region.

    Parameters
    ----------
    out
        The region, of the type of the value.
    x
        The value.

    Examples
    --------
    >>> copy(np.zeros(2), np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return x


def is_without_scales(kind: Type) -> bool:
    """Tell whether all entries of a value are read in one way, so that they may come in another shape.

    Examples
    --------
    >>> is_without_scales(Tensor("f32", (2,)))
    True
    """
    return element_kind(kind.element) != "quantised" or getattr(kind.element, "axis", None) is None
