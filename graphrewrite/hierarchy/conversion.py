"""Conversions of values, and of the ops that read them, to another element type or layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.graph.value import Value
from graphrewrite.op import LIBRARY, find_op
from graphrewrite.op.axes import canonical
from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, Type, check_layout, element_dtype, hold, one_object, permutation

__all__ = ["FLOATS", "Casting", "Conversion", "Permuting", "is_open", "layout_of"]

FLOATS = ("bf16", "f16", "f32", "f64")
"""Element types that `op.cast` converts into each other, rounding once."""

_POINTWISE = frozenset({"cast", "clip", "identity", "leaky_relu", "relu", "sigmoid", "tanh", "transfer"})
_STANDING = frozenset({"constant", "input", "output"})


class Conversion(Protocol):
    """A representation of values that nodes are converted to."""

    def is_about(self, kind: Type) -> bool:
        """Tell whether values of a type can be converted at all."""

    def takes(self, graph: Graph, node: str) -> bool:
        """Tell whether the op of a node can be converted."""

    def concerns(self, op: Op, types: Sequence[Type]) -> bool:
        """Tell whether a node that reads values of some types is converted."""

    def form(self, op: Op, types: Sequence[Type], slot: int) -> Any:
        """Return the form that an operand must have; None if it is not converted."""

    def form_of_constant(self, kind: Type) -> Any:
        """Return the form of a constant that is a converted node itself; None if only its readers convert it."""

    def attributes(self, op: Op, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that change in a converted node."""

    def constant(self, value: np.ndarray, kind: Type, form: Any) -> tuple[np.ndarray, Type]:
        """Return a converted array and its type."""

    def forward(self, value: Value, form: Any) -> Value:
        """Add the ops that convert a value."""

    def backward(self, value: Value, kind: Type) -> Value:
        """Add the ops that convert a value back to its original type."""


def is_open(graph: Graph, node: str) -> bool:
    r"""Tell whether the op of a node can be converted: it is known, and is neither a graph nor generic.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ns = ?Swirl(r) : f32[N]\ny = output(s)")
    >>> is_open(g, "r"), is_open(g, "s")
    (True, False)
    """
    kind = graph.nodes[node].get("type")
    op = find_op(kind, graph.ops)
    return op is not None and kind not in _STANDING and op.level != "generic" and not hasattr(op, "library")


class Casting:
    """Conversion of floats to another element type.

    Examples
    --------
    >>> Casting("f16").constant(np.float32([0.1]), Tensor("f32", (1,)), "f16")[0].dtype
    dtype('float16')
    """

    def __init__(self, element: str) -> None:
        if element not in FLOATS:
            raise TypeMismatchError(
                f"floats can be cast to {', '.join(FLOATS)}, got {element}; quantise the graph to compute in integers"
            )
        self.element = element

    def __str__(self) -> str:
        return f"the element type {self.element}"

    def takes(self, graph: Graph, node: str) -> bool:
        """Accept every known op; type inference rejects element types that it does not support."""
        return is_open(graph, node)

    def is_about(self, kind: Type) -> bool:
        """Tell whether a type is one of floats."""
        return kind.element in FLOATS

    def concerns(self, op: Op, types: Sequence[Type]) -> bool:
        """Tell whether an operand is a float, or an attribute asks for a float result."""
        return any(t.element in FLOATS for t in types) or op.attributes.get("element") in FLOATS

    def form(self, op: Op, types: Sequence[Type], slot: int) -> Any:
        """Return the element type for a float operand."""
        return self.form_of_constant(types[slot])

    def form_of_constant(self, kind: Type) -> Any:
        """Return the element type for a float constant."""
        return self.element if kind.element in FLOATS and kind.element != self.element else None

    def attributes(self, op: Op, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the element type, if the op has that attribute."""
        stated = data.get("element", op.attributes.get("element"))
        return {"element": self.element} if "element" in op.attributes and stated in FLOATS else {}

    def constant(self, value: np.ndarray, kind: Type, form: Any) -> tuple[np.ndarray, Type]:
        """Return the array, rounded once."""
        type_ = one_object(Tensor(form, kind.shape, getattr(kind, "layout", None)))
        with np.errstate(over="ignore"):  # overflow gives infinity, as at run time
            return hold(form, np.asarray(value).astype(element_dtype(form))), type_

    def forward(self, value: Value, form: Any) -> Value:
        """Add a cast."""
        cast: Value = LIBRARY["cast"](value, element=form)
        return cast

    def backward(self, value: Value, kind: Type) -> Value:
        """Add a cast back."""
        return self.forward(value, kind.element)


class Permuting:
    """Conversion of tensors to another order of axes.

    All tensors with the layout's rank are converted, where ops are pointwise or know channels and positions.

    Examples
    --------
    >>> Permuting("NHWC").constant(np.zeros((8, 1, 1)), Tensor("f64", (8, 1, 1)), 4)[0].shape
    (1, 1, 1, 8)
    """

    def __init__(self, layout: str) -> None:
        check_layout(layout, len(str(layout)))
        canonical("NC*", layout)
        self.layout = layout

    def __str__(self) -> str:
        return f"the layout {self.layout}"

    def _fits(self, kind: Type) -> bool:
        """Tell whether a type is a tensor that could have this layout."""
        if not isinstance(kind, Tensor) or len(kind.shape) != len(self.layout):
            return False
        return sorted(layout_of(kind, self.layout)) == sorted(self.layout)

    def takes(self, graph: Graph, node: str) -> bool:
        """Accept ops that do not depend on the order of axes, and those that know axes by their letters."""
        return is_open(graph, node) and self.permutes(graph.op(node))

    @staticmethod
    def permutes(op: Op) -> bool:
        """Tell whether an op can be applied to permuted axes."""
        return op.axes is not None or op.infer_types is elementwise or op.name in _POINTWISE

    def is_about(self, kind: Type) -> bool:
        """Tell whether a type is a tensor of the layout's rank."""
        return isinstance(kind, Tensor) and len(kind.shape) == len(self.layout)

    def concerns(self, op: Op, types: Sequence[Type]) -> bool:
        """Tell whether operands have the layout's rank, and none a higher one."""
        if op.axes is not None:
            return self._fits(types[0])
        # Operands of fewer axes broadcast; one of more axes would not be permuted along.
        whole = [t for t in types if len(t.shape) >= len(self.layout)]
        return bool(whole) and all(map(self._fits, whole))

    def form(self, op: Op, types: Sequence[Type], slot: int) -> Any:
        """Return the rank, for the first operand of an op that knows axes, else for all operands except scalars."""
        kind = types[slot]
        if (op.axes is not None and slot) or not kind.shape:
            return None
        return None if getattr(kind, "layout", None) == self.layout else len(self.layout)

    def form_of_constant(self, kind: Type) -> Any:
        """Return None: only the readers of a constant know its axes."""
        return None

    def attributes(self, op: Op, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return no attributes."""
        return {}

    def constant(self, value: np.ndarray, kind: Type, form: Any) -> tuple[np.ndarray, Type]:
        """Return the array with leading axes of size 1, transposed."""
        # Broadcasting aligns trailing axes: a constant of fewer axes gets leading ones before axes are permuted.
        whole = Tensor(kind.element, (1,) * (form - len(kind.shape)) + kind.shape)
        perm = permutation(layout_of(kind, self.layout), self.layout)
        shape = tuple(whole.shape[p] for p in perm)
        old = np.asarray(value)
        leading = (1,) * (form - old.ndim)
        array = np.ascontiguousarray(old.reshape(leading + old.shape).transpose(perm))
        return array, one_object(Tensor(kind.element, shape, self.layout))

    def forward(self, value: Value, form: Any) -> Value:
        """Name the axes, if they have no names; then transpose."""
        kind = value.type
        if len(kind.shape) < form:
            value = LIBRARY["unsqueeze"](value, axes=tuple(range(form - len(kind.shape))))
        layout = layout_of(kind, self.layout)
        if getattr(value.type, "layout", None) is None:
            value = LIBRARY["name_axes"](value, layout=layout)
        transposed: Value = LIBRARY["transpose"](value, perm=permutation(layout, self.layout))
        return transposed

    def backward(self, value: Value, kind: Type) -> Value:
        """Transpose; the axes lose their names if they had none."""
        transposed: Value = LIBRARY["transpose"](value, perm=permutation(self.layout, layout_of(kind, self.layout)))
        if getattr(kind, "layout", None) is None:
            transposed = LIBRARY["name_axes"](transposed, layout=None)
        return transposed


def layout_of(kind: Type, letters: str) -> str:
    """Return the layout of a type; if it states none, that in which ops compute, in the given letters.

    Examples
    --------
    >>> layout_of(Tensor("f32", ("N", 1, 2, 3)), "NHWC"), layout_of(Tensor("f32", ("N", 3), "CN"), "NC")
    ('NCHW', 'CN')
    """
    layout = kind.layout if isinstance(kind, Tensor) and len(kind.shape) == len(letters) else None
    return layout if layout is not None else canonical("NC*", letters)
