"""Types of edges: tensors with an element type, a shape and perhaps a layout, and streams of them.

Examples
--------
>>> print(Tensor("bf16", ("N", 26, 26, 8), "NHWC"), parse_type("i8<0.5:3>[N,4]").element.scale)
bf16[N,26,26,8] NHWC 0.5
"""

from __future__ import annotations

from graphrewrite.types.edge import Type, as_type, one_object
from graphrewrite.types.element import (
    Element,
    ElementName,
    as_element,
    check_element,
    element_dtype,
    element_kind,
    element_of,
    stores,
)
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.layout import check_layout, permutation
from graphrewrite.types.named import HELD_WIDER, NAMES, OBJECT, SHORT_INTEGERS, TEXT, USUAL_NAMES, integer_limits
from graphrewrite.types.own import EdgeType, boxed, unboxed
from graphrewrite.types.own_members import ElementType, OwnType
from graphrewrite.types.ownership import arrays_in, handed_over, is_unchangeable, owned, read_only
from graphrewrite.types.quantised import STORAGES, Quantised
from graphrewrite.types.size import (
    Size,
    as_size,
    evaluate_size,
    is_at_most,
    product,
    size_max,
    size_min,
    substitute,
    symbols,
)
from graphrewrite.types.size_binding import is_local, pairs_of, sizes_in, solved, with_sizes, with_sizes_in
from graphrewrite.types.small_floats import SMALL_FLOATS, SmallFloat, nearest_small, small_float
from graphrewrite.types.storage import contradiction, fitted, hold, narrowed, out_of_range
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Dimension, Tensor
from graphrewrite.types.text import parse_element, parse_type, parse_types

__all__ = [
    "HELD_WIDER",
    "NAMES",
    "OBJECT",
    "SHORT_INTEGERS",
    "SMALL_FLOATS",
    "STORAGES",
    "TEXT",
    "USUAL_NAMES",
    "Dimension",
    "EdgeType",
    "Element",
    "ElementName",
    "ElementType",
    "FixedPoint",
    "OwnType",
    "Quantised",
    "Size",
    "SmallFloat",
    "Stream",
    "Tensor",
    "Type",
    "arrays_in",
    "as_element",
    "as_size",
    "as_type",
    "boxed",
    "check_element",
    "check_layout",
    "contradiction",
    "element_dtype",
    "element_kind",
    "element_of",
    "evaluate_size",
    "fitted",
    "handed_over",
    "hold",
    "integer_limits",
    "is_at_most",
    "is_local",
    "is_unchangeable",
    "narrowed",
    "nearest_small",
    "one_object",
    "out_of_range",
    "owned",
    "pairs_of",
    "parse_element",
    "parse_type",
    "parse_types",
    "permutation",
    "product",
    "read_only",
    "size_max",
    "size_min",
    "sizes_in",
    "small_float",
    "solved",
    "stores",
    "substitute",
    "symbols",
    "unboxed",
    "with_sizes",
    "with_sizes_in",
]


def __dir__() -> list[str]:
    return sorted(__all__)
