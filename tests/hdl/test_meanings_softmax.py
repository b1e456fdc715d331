"""The numpy meaning of `softmax` against its definition, and against the real softmax."""

from fractions import Fraction

import numpy as np
import pytest

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.components.softmax import exponentials, softmax, softmax_error
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import cases

U8 = FixedPoint(False, 8, 8)


def _definition(case: Case, x: list[int]) -> list[int]:
    table, element = np.asarray(case.site.attributes["table"]).tolist(), case.site.attributes["element"]
    powers = [table[min((max(x) - v) >> case.site.attributes["shift"], len(table) - 1)] for v in x]
    # Rounded half up: the floor of one half more.
    exact = [Fraction(p * 2**element.fraction, sum(powers)) + Fraction(1, 2) for p in powers]
    return [min(v.numerator // v.denominator, element.maximum) for v in exact]


def test_the_meaning_equals_its_definition() -> None:
    for case in cases("softmax"):
        (x,) = case.inputs
        got = case.component.op(x, **case.site.attributes)
        assert got.dtype == case.site.results[0].element.dtype
        flat, given = got.reshape(*got.shape[:2], -1), x.reshape(*x.shape[:2], -1)
        for n, p in np.ndindex(len(x), flat.shape[2]):
            wanted = _definition(case, [int(v) for v in given[n, :, p]])
            assert flat[n, :, p].tolist() == wanted, case


@pytest.mark.parametrize("bits", [4, 7, 12])
@pytest.mark.parametrize("width", [3, 10, 20])
@pytest.mark.parametrize("fraction", [-1, 3, 6, 12])
def test_the_error_keeps_its_bound(bits: int, width: int, fraction: int) -> None:
    rng = np.random.default_rng([20260721, bits, width])
    x = Stream(FixedPoint(True, 12, fraction), (7,))
    table, shift = exponentials(x.element, bits=bits, width=width)
    assert len(table) <= 2**bits
    spread = 2.0 ** rng.uniform(0, 11, (400, 1))
    given = np.clip(np.rint(rng.normal(size=(400, 7)) * spread), -2048, 2047).astype(np.int64)
    powers = np.exp((given - given.max(axis=1, keepdims=True)) * x.element.step)
    real = powers / powers.sum(axis=1, keepdims=True)
    for element in (FixedPoint(False, 9, 8), U8, FixedPoint(False, 20, 20)):
        got = softmax(given, table=table, shift=shift, element=element) * element.step
        bound = softmax_error(x, table=table, shift=shift, element=element)
        assert np.abs(got - real).max() <= bound
        assert bound < 0.75 or shift


def test_what_the_table_does_not_reach_is_nothing() -> None:
    for fraction in (-1, 2, 5, 8):
        table, _ = exponentials(FixedPoint(True, 16, fraction))
        assert table[0] == 65535
        assert table[-1] == 0
        assert (np.diff(table) <= 0).all()
        assert len(table) <= 1024


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"table": [0.5]}, "give 1 to 4096 integers"),
        ({"table": []}, "give 1 to 4096 integers"),
        ({"table": np.ones(4097, int)}, "give 1 to 4096 integers"),
        ({"table": [1, 2]}, "begin with the greatest"),
        ({"table": [0]}, "is not zero"),
        ({"shift": 9}, "shift=9 of s8f0: give 0 to 8"),
        ({"element": FixedPoint(True, 8, 7)}, "s8f7 is not a format for probabilities; give an unsigned one"),
        ({"element": FixedPoint(False, 8, 0)}, "give an unsigned one of 1 to 24 bits right of the point"),
    ],
)
def test_what_has_no_hardware_is_refused_with_the_remedy(attributes: dict[str, object], told: str) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        softmax.infer(Stream(FixedPoint(True, 8), (3,)), **{"table": [3, 1], "shift": 0, "element": U8, **attributes})


def test_a_table_has_limits() -> None:
    with pytest.raises(TypeMismatchError, match="give at most 12 and 24"):
        exponentials(FixedPoint(True, 8), bits=13)
