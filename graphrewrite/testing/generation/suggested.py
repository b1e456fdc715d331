"""Operands of ops that have so many, or such particular ones, that a search would hardly find them.

Only numbers of axes and element types are written down: sizes, and whether all of it fits, the op says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.kinds import FAMILIES, Kind, starts
from graphrewrite.types import Dimension, Element, Tensor, Type

__all__ = ["Operands", "adapted", "may_be_first", "of_bodies", "shapes_of", "starts_of", "suggested", "values_of"]

Operands = tuple[tuple[int, ...], tuple[Element | None, ...]]
"""Numbers of axes of the operands after the first, and their element types; None for that of the first one."""
_ALIKE = -1
"""As many axes as the first operand."""
_PRODUCT: Operands = ((0, 0, _ALIKE, 0, 0, 0, 0), ("f32", None, None, "f32", None, "f32", None))
_SUGGESTED: Mapping[str, Sequence[Operands]] = {
    "dequantize_linear": [
        ((0, 0), ("f32", None)),
        ((1, 1), ("f32", None)),
        ((_ALIKE, _ALIKE), ("f32", None)),
    ],
    "quantize_linear": [
        ((0, 0), (None, "i8")),
        ((1, 1), (None, "u8")),
        ((_ALIKE, _ALIKE), (None, "u8")),
        ((0, 0), (None, "f8e4m3fn")),
        ((1, 1), (None, "i4")),
    ],
    "tensor_scatter": [((_ALIKE, 1), (None, "i64"))],
    "non_max_suppression": [((3,), (None,))],
    "qlinear_matmul": [_PRODUCT],
    "qlinear_conv": [
        ((*_PRODUCT[0], 1), (*_PRODUCT[1], "i32")),
        ((0, 0, _ALIKE, 1, 1, 0, 0, 1), (*_PRODUCT[1], "i32")),
    ],
    "attention": [((4, 4, 4), (None,) * 3), ((4, 4, 2), (None, None, "bool"))],
    "linear_attention": [((3, 3, 4, 3, 3), (None,) * 5)],
    "rotary_embedding": [((3, 3), (None, None))],
    "roi_align": [((2, 1), (None, "i64"))],
    "cond": [((1, 1), ("f32", "f32"))],
    "loop": [((0, 1), ("bool", "f32"))],
    "rnn": [((3, 3, 2, 3, 1), (None, None, None, None, "i32"))],
    "gru": [((3, 3, 2, 3, 1), (None, None, None, None, "i32"))],
    "lstm": [((3, 3, 2, 3, 3, 2, 1), (None, None, None, None, None, None, "i32"))],
}
"""By op."""
_FIRST: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "attention": ("float", (4,)),
    "cond": ("bool", (0,)),
    "linear_attention": ("float", (3,)),
    "loop": ("integer", (0,)),
    "rotary_embedding": ("float", (4,)),
    "where": ("bool", (2, 4, 1, 3, 5, 0)),
}
"""The family and the numbers of axes of the first operand, of ops that are slow to refuse others."""
_VALUES: Mapping[tuple[str, str], Sequence[str]] = {
    ("dequantize_linear", "element"): ("f32", "f16"),
    ("einsum", "equation"): (
        *("ij->ji", "ij,jk->ik", "ij,ij->i", "i,i->", "ij->i", "i,j->ij", "...i->...", "...ij,...jk->...ik"),
        *("bij,bjk,bkl->bil", "ij,j,i->ij", "i,i,i->i", "bij,bkj->bik"),
        *("ij,kj->ik", "ij,jk->ki", "ji,jk->ik", "bij,bjk->bik", "ijk->kj", "ijk->ik"),
    ),
    ("quantize_linear", "element"): ("u8", "i8", "i16", "f8e4m3fn", "f8e5m2"),
    ("qlinear_conv", "element"): ("i8", "u8"),
    ("qlinear_matmul", "element"): ("i8", "u8"),
    ("quant", "rounding_mode"): ("FLOOR", "CEIL", "ROUND_TO_ZERO"),
    ("trunc", "rounding_mode"): ("ROUND", "CEIL", "ROUND_TO_ZERO"),
}
"""Values of attributes that neither an op's documentation nor its own code says."""
_BEFORE: Mapping[str, Sequence[Type]] = {
    "cond": [Tensor("bool", ())],
    "loop": [Tensor("i64", ()), Tensor("bool", ())],
}
"""Operands before those that graphs in attributes read."""
_SECOND_MATRIX = {"matmul_integer": 1, "qlinear_matmul": 3}
_STORED = frozenset({"dequantize_linear", "qlinear_matmul", "qlinear_conv"})
"""Ops of integers that are narrow."""


_SHAPES: Mapping[str, Sequence[tuple[Dimension, ...]]] = {
    "affine_grid": [("N", 2, 3), ("N", 3, 4)],
    "det": [(2, 2), ("N", 2, 2), ("N", 1, 3, 3)],
    "dft": [(4, 1), ("N", 4, 1), ("N", 5, 2), ("N", 4, 3, 2), ("N", 3, 4, 1)],
    "fold": [("N", 4, 6), ("N", 2, 3)],
    "non_max_suppression": [("N", 3, 4), (2, 2, 4)],
    "rotary_embedding": [("N", 2, 3, 4), (2, 1, 2, 5)],
    "stft": [("N", 4, 1), ("N", 5, 2)],
}
"""First operands of ops that ask for sizes which other ones seldom have."""


def suggested(op: Op, count: int, rank: int) -> list[Operands]:
    """Return operands that an op may take beside the first one; the search may leave off when it has asked for these.

    Parameters
    ----------
    rank : int
        Number of axes of the first one.

    Examples
    --------
    >>> from graphrewrite import op
    >>> suggested(op.dequantize_linear, 2, 4)
    [((0,), ('f32',)), ((1,), ('f32',)), ((4,), ('f32',))]
    """
    if LIBRARY.get(op.name) is not op:
        return []
    return [
        (tuple(rank if r == _ALIKE else r for r in ranks[: count - 1]), elements[: count - 1])
        for ranks, elements in _SUGGESTED.get(op.name, ())
        if len(ranks) >= count - 1
    ]


def may_be_first(op: Op, kind: Kind) -> bool:
    """Tell whether it is worth asking if an op takes a first operand of a kind.

    Examples
    --------
    >>> from graphrewrite import op
    >>> may_be_first(op.where, Kind("bool", 2)), may_be_first(op.where, Kind("float", 2))
    (True, False)
    """
    if op.name not in _FIRST or LIBRARY.get(op.name) is not op:
        return True
    family, ranks = _FIRST[op.name]
    return kind.family == family and kind.rank in ranks


def values_of(op: Op, name: str) -> Sequence[str]:
    """Return values to try for an attribute, beside those that its op says.

    Examples
    --------
    >>> from graphrewrite import op
    >>> values_of(op.dequantize_linear, "element"), values_of(op.relu, "element")
    (('f32', 'f16'), ())
    """
    return _VALUES.get((op.name, name), ())


def adapted(op: Op, types: Sequence[Type], loose: Collection[int]) -> tuple[Type, ...]:
    """Return operand types of which the second of two matrices has as many rows as the first one has columns.

    Parameters
    ----------
    op : Op
        Any op; others than products whose inference asks that of another op's are left as they are.

    Examples
    --------
    >>> from graphrewrite import op
    >>> print(*adapted(op.matmul_integer, [Tensor("i8", ("N", 4)), Tensor("i8", (2, 3))], [1]))
    i8[N,4] i8[4,3]
    """
    second = _SECOND_MATRIX.get(op.name)
    if second is None or second not in loose or len(types) <= second or LIBRARY.get(op.name) is not op:
        return tuple(types)
    rows, shape = types[0].shape[-1:], types[second].shape
    if len(shape) < 2 or not rows:
        return tuple(types)
    changed = Tensor(types[second].element, (*shape[:-2], *rows, shape[-1]))
    return (*types[:second], changed, *types[second + 1 :])


def shapes_of(op: Op, rank: int) -> list[tuple[Dimension, ...]]:
    """Return shapes of so many axes for the first operand of an op that asks for particular ones.

    Examples
    --------
    >>> from graphrewrite import op
    >>> shapes_of(op.det, 2), shapes_of(op.relu, 2)
    ([(2, 2)], [])
    """
    return [shape for shape in _SHAPES.get(op.name, ()) if len(shape) == rank]


def of_bodies(op: Op, count: int, given: Mapping[str, Any]) -> tuple[Type, ...] | None:
    r"""Return operands for the graphs that are attributes of an op; None where it has none.

    Parameters
    ----------
    count : int
        The number of operands.
    given : mapping of str to object
        Attributes that are settled.

    Examples
    --------
    >>> from graphrewrite import Graph, op
    >>> double = Graph.parse("x = input() : f32[2]\ny = add(x, x)\nz = output(y)")
    >>> print(*of_bodies(op.scan, 1, {"body": double}))
    f32[N,2]
    """
    body = given.get("then" if op.name == "cond" else "body")
    if body is None or LIBRARY.get(op.name) is not op:
        return None
    kinds = list(body.input_types)
    found = {**op.attributes, **given}
    if op.name == "scan":
        along = range(found["carried"], found["carried"] + found["sequences"])
        for at, axis in zip(along, found["axes"] or [0] * len(along), strict=False):
            sizes = list(kinds[at].shape)
            sizes.insert(axis % (len(sizes) + 1), "N")
            kinds[at] = Tensor(kinds[at].element, tuple(sizes))
    else:
        kinds = [*_BEFORE[op.name], *kinds[op.name == "loop" :]]
    return tuple(kinds) if len(kinds) == count else None


def starts_of(op: Op, kind: Kind) -> tuple[Type, ...]:
    """Return types of a kind to try as an op's first operand: some of its own, `starts`, or narrow stored integers.

    Examples
    --------
    >>> from graphrewrite import op
    >>> print(*starts_of(op.dequantize_linear, Kind("integer", 1)))
    i8[N] i8[2] i8[1]
    """
    shapes = shapes_of(op, kind.rank)
    if shapes and kind.family != "stream":
        return tuple(Tensor(FAMILIES[kind.family][0], shape) for shape in shapes) + starts(kind)
    if op.name not in _STORED or kind.family != "integer":
        return starts(kind)
    return tuple(dict.fromkeys(Tensor("i8", t.shape) for t in starts(kind)))
