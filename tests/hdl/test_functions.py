"""Tables of real functions: the bound that they state is the truth, and they are components' attributes."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite import Graph, evaluate
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.functions import tabulate
from graphrewrite.types import FixedPoint, Stream

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "tanh": math.tanh,
    "hard-swish": lambda v: v * min(max(v + 3, 0), 6) / 6,
    "gelu": lambda v: v * (1 + math.erf(v / math.sqrt(2))) / 2,
    "softplus": lambda v: math.log1p(math.exp(v)),
    "leaky relu": lambda v: v if v > 0 else 0.01 * v,
    "elu": lambda v: v if v > 0 else math.expm1(v),
    "exp": math.exp,
    "step": lambda v: 3.0 if v > 0.3 else -9.0,
    "reciprocal": lambda v: 1 / v if v else math.inf,
}
FORMATS = [
    (FixedPoint(True, 8, 4), FixedPoint(True, 8, 4)),
    (FixedPoint(True, 12, 8), FixedPoint(False, 31, 28)),
    (FixedPoint(True, 13, 9), FixedPoint(True, 10, 6)),
    (FixedPoint(True, 14, 11), FixedPoint(False, 24, 20)),
    (FixedPoint(False, 13, 12), FixedPoint(True, 1, 0)),
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bound_is_the_greatest_distance_from_the_function(name: str) -> None:
    function = FUNCTIONS[name]
    for element_in, element_out in FORMATS:
        table = tabulate(np.vectorize(function, otypes=[float]), element_in, element_out)
        assert (table.segments == 0) == (element_in.width <= 12)
        numbers = range(element_in.minimum, element_in.maximum + 1)
        got = table.apply(np.array([numbers]))[0].tolist()
        worst = 0.0
        for mantissa, result in zip(numbers, got, strict=True):
            wanted = function(mantissa * element_in.step) / element_out.step
            worst = max(worst, abs(result - min(max(wanted, element_out.minimum), element_out.maximum)))
        assert worst == pytest.approx(table.bound, abs=1e-6)
        assert table.segments or table.bound <= 0.5


def test_a_number_of_one_bit_has_a_table_of_two() -> None:
    for element, wanted in ((FixedPoint(False, 1), [0, 4]), (FixedPoint(True, 1), [-4, 0])):
        table = tabulate(lambda v: 4 * v, element, FixedPoint(True, 8))
        assert table.apply(np.array([[element.minimum, element.maximum]])).tolist() == [wanted]
        assert len(table.attributes["table"]) == 2


def test_the_attributes_are_those_of_a_component() -> None:
    for element_in, element_out in FORMATS:
        table = tabulate(np.tanh, element_in, element_out)
        graph = Graph()
        graph.output("y", table.apply(graph.input("x", Stream(element_in, (2, 30), 1))))
        x = np.random.default_rng(5).integers(element_in.minimum, element_in.maximum, (3, 2, 30), endpoint=True)
        assert np.array_equal(evaluate(graph, {"x": x.astype(element_in.dtype)})["y"], table.apply(x))


def test_as_few_lines_as_stay_within_the_wanted_bound() -> None:
    s16, s12 = FixedPoint(True, 16, 12), FixedPoint(True, 12, 10)
    found = [tabulate(np.tanh, s16, s12, within=within) for within in (8, 2, 1, 0.75)]
    assert [table.segments for table in found] == [64, 128, 256, 256]
    assert all(table.bound <= within for table, within in zip(found, (8, 2, 1, 0.75), strict=True))
    assert tabulate(np.tanh, s16, s12, within=1, segments=128).bound > 1


@pytest.mark.parametrize("segments", [2, 128])
def test_as_many_lines_as_there_may_be(segments: int) -> None:
    s8 = FixedPoint(True, 8)
    assert tabulate(np.tanh, s8, s8, segments=segments).segments == segments


@pytest.mark.parametrize("segments", [2, 4])
@pytest.mark.parametrize(
    "function",
    [np.sqrt, np.square, lambda v: np.sqrt(1 - v), lambda v: np.square(1 - v)],
    ids=["root", "square", "1 - v, root", "1 - v, square"],
)
def test_lines_end_in_the_format(function: Callable[[np.ndarray], np.ndarray], segments: int) -> None:
    """Also where moving a chord to the middle of its curve moves an end out."""
    element_in, element_out = FixedPoint(False, 13, 13), FixedPoint(False, 10, 10)
    table = tabulate(function, element_in, element_out, segments=segments)
    results = table.apply(np.arange(1 << 13)[None])
    assert element_out.minimum <= results.min() < results.max() <= element_out.maximum


def test_a_bound_that_no_table_reaches_is_stated() -> None:
    table = tabulate(np.exp, FixedPoint(True, 16, 12), FixedPoint(True, 16, 12))
    assert table.segments == 4096
    assert table.bound > 1


@pytest.mark.parametrize(
    ("function", "element_in", "element_out", "segments", "told"),
    [
        (np.tanh, FixedPoint(True, 25), FixedPoint(True, 8), None, "requantise to 24 bits"),
        (np.tanh, FixedPoint(True, 16), FixedPoint(True, 25), None, "give a result of 24 bits"),
        (
            np.log,
            FixedPoint(True, 8),
            FixedPoint(True, 8),
            None,
            r"has no value at -128.0; give one that takes every s8f0",
        ),
        (np.sum, FixedPoint(True, 8), FixedPoint(True, 8), None, r"gives an array of shape \(\) at 256 numbers"),
        (np.tanh, FixedPoint(True, 8), FixedPoint(True, 8), 3, "segments=3; give a power of two from 2 to 128"),
        (np.tanh, FixedPoint(True, 24), FixedPoint(True, 24), 4, "give a power of two from 8 to 65536"),
    ],
)
def test_what_cannot_be_tabulated_is_told(
    function: Callable[..., np.ndarray],
    element_in: FixedPoint,
    element_out: FixedPoint,
    segments: int | None,
    told: str,
) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        tabulate(function, element_in, element_out, segments=segments)
