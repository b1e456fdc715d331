"""What it takes to bring values into another element type or layout, and the ops on them with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY, find_op
from graphrewrite.op.axes import canonical
from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, Type, check_layout, element_dtype, hold, one_object, permutation
from graphrewrite.value import Value

__all__ = ["FLOATS", "Casting", "Conversion", "Permuting", "is_open", "layout_of"]

FLOATS = ("bf16", "f16", "f32", "f64")
"""Element types that `op.cast` brings into each other, rounding once."""

_POINTWISE = frozenset({"cast", "clip", "identity", "leaky_relu", "relu", "sigmoid", "tanh", "transfer"})
_STANDING = frozenset({"constant", "input", "output"})


class Conversion(Protocol):
    """A kind of values that nodes are to compute on."""

    def is_about(self, kind: Type) -> bool:
        """Tell whether values of a type could be converted at all."""

    def takes(self, graph: Graph, node: str) -> bool:
        """Tell whether a node can be converted, whatever it reads."""

    def concerns(self, op: Op, types: Sequence[Type]) -> bool:
        """Tell whether a node that reads values of some types is converted."""

    def form(self, op: Op, types: Sequence[Type], slot: int) -> Any:
        """Return the form that an operand must be in; None if it stays as it is."""

    def form_of_constant(self, kind: Type) -> Any:
        """Return the form of a constant that is itself among the nodes; None if it stays for those who read it."""

    def attributes(self, op: Op, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that a converted node gets."""

    def constant(self, value: np.ndarray, kind: Type, form: Any) -> tuple[np.ndarray, Type]:
        """Return an array in another form, and its type."""

    def forward(self, value: Value, form: Any) -> Value:
        """Add the ops that bring a value into another form."""

    def backward(self, value: Value, kind: Type) -> Value:
        """Add the ops that bring a converted value back to what it was."""


def is_open(graph: Graph, node: str) -> bool:
    r"""Tell whether a node computes by an op that is open to conversion: no graph of its own, and not unknown.

    Parameters
    ----------
    graph : Graph
        Any graph.
    node : str
        A node of it.

    Returns
    -------
    bool

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
    """Floats of another element type.

    Parameters
    ----------
    element : str
        One of `FLOATS`.

    Raises
    ------
    TypeMismatchError
        If it is another one.

    Examples
    --------
    >>> Casting("f16").constant(np.float32([0.1]), Tensor("f32", (1,)), "f16")[0].dtype
    dtype('float16')
    """

    def __init__(self, element: str) -> None:
        if element not in FLOATS:
            raise TypeMismatchError(
                f"floats are cast to {', '.join(FLOATS)}, not to {element}; quantise the graph to compute in integers"
            )
        self.element = element

    def __str__(self) -> str:
        return f"the element type {self.element}"

    def takes(self, graph: Graph, node: str) -> bool:
        """Every op with a meaning of its own; whether it has one for that element type, its inference says."""
        return is_open(graph, node)

    def is_about(self, kind: Type) -> bool:
        """Tell whether a type is one of floats."""
        return kind.element in FLOATS

    def concerns(self, op: Op, types: Sequence[Type]) -> bool:
        """Where floats come in, or out by an attribute."""
        return any(t.element in FLOATS for t in types) or op.attributes.get("element") in FLOATS

    def form(self, op: Op, types: Sequence[Type], slot: int) -> Any:
        """Every float."""
        return self.form_of_constant(types[slot])

    def form_of_constant(self, kind: Type) -> Any:
        """Every float."""
        return self.element if kind.element in FLOATS and kind.element != self.element else None

    def attributes(self, op: Op, data: Mapping[str, Any]) -> dict[str, Any]:
        """The element type, where the op states one."""
        stated = data.get("element", op.attributes.get("element"))
        return {"element": self.element} if "element" in op.attributes and stated in FLOATS else {}

    def constant(self, value: np.ndarray, kind: Type, form: Any) -> tuple[np.ndarray, Type]:
        """The array, rounded once."""
        type_ = one_object(Tensor(form, kind.shape, getattr(kind, "layout", None)))
        with np.errstate(over="ignore"):  # what is too large is infinite, as at run time
            return hold(form, np.asarray(value).astype(element_dtype(form))), type_

    def forward(self, value: Value, form: Any) -> Value:
        """A cast."""
        cast: Value = LIBRARY["cast"](value, element=form)
        return cast

    def backward(self, value: Value, kind: Type) -> Value:
        """A cast."""
        return self.forward(value, kind.element)


class Permuting:
    """Tensors whose axes come in another order.

    Parameters
    ----------
    layout : str
        All tensors of that rank get it, where ops compute point by point or know channels and positions.

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
        """Tell whether a type is one of a tensor that could have this layout."""
        if not isinstance(kind, Tensor) or len(kind.shape) != len(self.layout):
            return False
        return sorted(layout_of(kind, self.layout)) == sorted(self.layout)

    def takes(self, graph: Graph, node: str) -> bool:
        """Ops to which the order of axes is nothing, and those that know axes by their letters."""
        return is_open(graph, node) and self.permutes(graph.op(node))

    @staticmethod
    def permutes(op: Op) -> bool:
        """Tell whether an op is one of these."""
        return op.axes is not None or op.infer_types is elementwise or op.name in _POINTWISE

    def is_about(self, kind: Type) -> bool:
        """Tell whether a type is one of tensors of that rank."""
        return isinstance(kind, Tensor) and len(kind.shape) == len(self.layout)

    def concerns(self, op: Op, types: Sequence[Type]) -> bool:
        """Where a tensor of that rank comes in, and none of a higher one."""
        if op.axes is not None:
            return self._fits(types[0])
        whole = [t for t in types if len(t.shape) >= len(self.layout)]
        return bool(whole) and all(map(self._fits, whole))

    def form(self, op: Op, types: Sequence[Type], slot: int) -> Any:
        """The rank, for the first operand of an op that knows axes, else for all operands but single numbers."""
        kind = types[slot]
        if (op.axes is not None and slot) or not kind.shape:
            return None
        return None if getattr(kind, "layout", None) == self.layout else len(self.layout)

    def form_of_constant(self, kind: Type) -> Any:
        """None: what its axes are, its readers know."""
        return None

    def attributes(self, op: Op, data: Mapping[str, Any]) -> dict[str, Any]:
        """None."""
        return {}

    def constant(self, value: np.ndarray, kind: Type, form: Any) -> tuple[np.ndarray, Type]:
        """The array with axes of size 1 in front of it, transposed."""
        whole = Tensor(kind.element, (1,) * (form - len(kind.shape)) + kind.shape)
        perm = permutation(layout_of(kind, self.layout), self.layout)
        shape = tuple(whole.shape[p] for p in perm)
        given = np.asarray(value)
        ahead = (1,) * (form - given.ndim)
        array = np.ascontiguousarray(given.reshape(ahead + given.shape).transpose(perm))
        return array, one_object(Tensor(kind.element, shape, self.layout))

    def forward(self, value: Value, form: Any) -> Value:
        """The axes named, where they are not; then a transpose."""
        kind = value.type
        if len(kind.shape) < form:
            value = LIBRARY["unsqueeze"](value, axes=tuple(range(form - len(kind.shape))))
        given = layout_of(kind, self.layout)
        if getattr(value.type, "layout", None) is None:
            value = LIBRARY["name_axes"](value, layout=given)
        moved: Value = LIBRARY["transpose"](value, perm=permutation(given, self.layout))
        return moved

    def backward(self, value: Value, kind: Type) -> Value:
        """A transpose; the axes have no names again where they had none."""
        moved: Value = LIBRARY["transpose"](value, perm=permutation(self.layout, layout_of(kind, self.layout)))
        if getattr(kind, "layout", None) is None:
            moved = LIBRARY["name_axes"](moved, layout=None)
        return moved


def layout_of(kind: Type, letters: str) -> str:
    """Return the layout of a type; where it is not known, that in which ops compute.

    Parameters
    ----------
    kind : Tensor or Stream
        A type.
    letters : str
        The axes of the ops.

    Returns
    -------
    str

    Examples
    --------
    >>> layout_of(Tensor("f32", ("N", 1, 2, 3)), "NHWC"), layout_of(Tensor("f32", ("N", 3), "CN"), "NC")
    ('NCHW', 'CN')
    """
    known = kind.layout if isinstance(kind, Tensor) and len(kind.shape) == len(letters) else None
    return known if known is not None else canonical("NC*", letters)
