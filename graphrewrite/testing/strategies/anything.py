"""Strategies of whatever a digraph can hold: names, attributes and their values, sensible or not.

They are what those parts of a library meet that read and write any graph: much of it looks like what something else is
written as.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite.testing.strategies.type_strategy import types
from graphrewrite.types import FixedPoint, Quantised

__all__ = ["EDGE_DATA", "GRAPH_DATA", "NAMES", "NODE_DATA"]

_TEXTS = (
    st.sampled_from(["a", "b", "x", "relu_1", "graph", "module", "True", "nan", "f32", "s8f4", "1", "!", "", "a b"])
    | st.text(max_size=6)
    | st.sampled_from(["'", '"', "\\", "\n", "\u2028", "\ud800", "ü", "$list", "#", "@'a'"])
)
_NUMBERS = (
    st.integers(-3, 3)
    | st.integers()
    | st.integers(5000, 5009).map(lambda exponent: 7**exponent)
    | st.floats()
    | st.sampled_from([-0.0, -math.nan, 5e-324])
)
NAMES = _TEXTS | st.integers(0, 3) | st.tuples(st.integers(0, 2), _TEXTS)
"""Names of nodes: texts, numbers, pairs of both."""
_TYPES = types()
_ELEMENTS: Any = st.sampled_from(
    ["f32", "bf16", "i4", FixedPoint(True, 8, -2), Quantised("i8", 0.1, 3), Quantised("u8", (0.1, 2.0), (0, 5), 1)]
)
_DTYPES = st.sampled_from(
    ["f4", "f2", "f8", ">f4", "i1", "i8", "u8", "u2", "?", "c8", "U3", "S2", "M8[s]", "m8[ns]", "f4"]
).map(np.dtype)
_ARRAYS = hnp.arrays(_DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)) | st.sampled_from(
    [
        np.arange(50, dtype=np.int16),
        np.full(3, 0x7FC00001, np.uint32).view(np.float32),
        np.array([-np.nan, 0.1], np.float32),
        np.zeros((2, 1), "V3"),
    ]
)
_SCALARS: Any = st.sampled_from(
    [np.float32(0.1), np.int8(3), np.bool_(True), np.float16(np.inf), np.datetime64(3, "s")]
)
_PRIMITIVES: Any = st.none() | st.booleans() | _NUMBERS | _TEXTS | st.binary(max_size=3) | st.complex_numbers()
_VALUES: Any = st.recursive(
    _PRIMITIVES | _TYPES | _ELEMENTS | _ARRAYS | _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=2)
        | st.dictionaries(_TEXTS | st.integers(0, 3), inner, max_size=3)
    ),
    max_leaves=6,
)
_KINDS = st.sampled_from(["relu", "add", "reshape", "input", "output", "constant", "Foo", "a.b::C", "split"])
_MARKS = st.dictionaries(st.sampled_from(["backend", "implementation", "operator", "shared"]), _TEXTS, max_size=1)
_SLOTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=2).map(tuple)
_RESERVED = frozenset(
    {"type", "result", "origin", "index", "backend", "implementation", "operator", "shared", "use_kernel"}
)


@st.composite
def _node_data(draw: st.DrawFn) -> dict[Any, Any]:
    data: dict[Any, Any] = {}
    if draw(st.booleans()):
        data["type"] = draw(_KINDS)
    if draw(st.booleans()):
        data["result"] = draw(_TYPES | st.lists(_TYPES, max_size=3).map(tuple) | st.none())
    if data.get("type") in ("input", "output"):
        data["index"] = draw(st.integers(0, 2))
    if data.get("type") == "constant":
        data["value"] = draw(_ARRAYS)
    keys = _TEXTS.filter(lambda key: key not in _RESERVED) | st.integers(0, 1)
    data.update(draw(st.dictionaries(keys, _VALUES, max_size=2)))
    data.update(draw(_MARKS))
    return data


@st.composite
def _graph_data(draw: st.DrawFn) -> dict[Any, Any]:
    data = {key: value for key, value in draw(_OWN).items() if key != "name"}
    return {**data, "name": draw(_TEXTS)} if draw(st.booleans()) else data


_OWN: st.SearchStrategy[dict[Any, Any]] = st.dictionaries(_TEXTS | st.integers(0, 1), _VALUES, max_size=2)
NODE_DATA: st.SearchStrategy[dict[Any, Any]] = _node_data()
"""Attributes of a node: often, but not always, what a node of a dataflow has."""
EDGE_DATA: st.SearchStrategy[dict[Any, Any]] = st.one_of(
    st.just({}),
    st.just({"slots": ((0, 0),)}),
    st.just({"slots": (), "kind": "control"}),
    st.fixed_dictionaries({"slots": _SLOTS}, optional={"kind": _TEXTS, "weight": _VALUES}),
    st.dictionaries(st.sampled_from(["weight", "a b"]), _VALUES),
).map(dict)
"""Attributes of an edge: often, but not always, operand positions."""
GRAPH_DATA: st.SearchStrategy[dict[Any, Any]] = _graph_data()
"""Attributes of a whole graph, with a name or without."""
