"""The strategy of types: everything that a type can be, from what is asked for, and simple ones first."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Stream, Tensor
from graphrewrite.errors import TypeMismatchError
from graphrewrite.testing import types
from graphrewrite.types import USUAL_NAMES, Quantised

pytestmark = pytest.mark.slow

FEATURES = {
    "a stream": lambda t: isinstance(t, Stream),
    "a layout": lambda t: getattr(t, "layout", None) is not None,
    "a symbolic size": lambda t: "N" in t.shape,
    "no axes": lambda t: not t.shape,
    "an axis of size 0": lambda t: 0 in t.shape,
    "a scale for each channel": lambda t: getattr(t.element, "axis", None) is not None,
    "a negative fraction": lambda t: isinstance(t.element, FixedPoint) and t.element.fraction < 0,
    "a fraction wider than the number": lambda t: (
        isinstance(t.element, FixedPoint) and t.element.fraction > t.element.width
    ),
    **{f"elements {name}": lambda t, name=name: t.element == name for name in USUAL_NAMES},
}


@pytest.mark.parametrize("feature", FEATURES)
def test_types_have(feature):
    quick = settings(max_examples=2000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    assert find(types(), FEATURES[feature], settings=quick)


def test_no_kind_is_rare():
    seen: Counter[str] = Counter()

    @settings(max_examples=500)
    @given(types())
    def examine(kind):
        element = kind.element
        seen[type(kind).__name__] += 1
        seen[type(element).__name__] += 1
        seen["channels"] += getattr(element, "axis", None) is not None

    examine()
    assert min(seen[what] for what in ("Tensor", "Stream", "str", "FixedPoint", "Quantised")) > 40, seen
    assert seen["channels"] > 5, seen


@pytest.mark.parametrize(
    ("asked", "holds", "smallest"),
    [
        ({}, lambda t: True, "f32[]"),
        ({"classes": [Stream]}, lambda t: isinstance(t, Stream), "stream u1f0[1]"),
        ({"classes": [Tensor]}, lambda t: isinstance(t, Tensor), "f32[]"),
        ({"elements": [Quantised]}, lambda t: isinstance(t.element, Quantised), "i4<1.0:0>[]"),
        ({"elements": ["i8", FixedPoint]}, lambda t: t.element == "i8" or isinstance(t.element, FixedPoint), "i8[]"),
        ({"elements": ["i8"], "shapes": [("N", 2), (3,)]}, lambda t: t.shape in (("N", 2), (3,)), "i8[N,2]"),
        ({"elements": ["i8"], "shapes": st.just((4,))}, lambda t: t.shape == (4,), "i8[4]"),
    ],
)
def test_types_are_as_asked_and_shrink_to_the_first(asked, holds, smallest):
    @given(types(**asked))
    def examine(kind):
        assert holds(kind)

    examine()
    assert str(find(types(**asked), lambda kind: True, settings=settings(database=None))) == smallest


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"classes": []}, r"no type is left of classes \[\]"),
        ({"classes": [Stream], "elements": ["f32"]}, "streams hold fixed-point formats"),
        ({"elements": ["f31"]}, "f31"),
        ({"classes": [int]}, "of class Tensor or Stream, not <class 'int'>"),
    ],
)
def test_what_cannot_be_is_refused_at_once(asked, words):
    with pytest.raises(TypeMismatchError, match=words):
        types(**asked)
