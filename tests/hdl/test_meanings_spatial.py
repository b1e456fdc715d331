"""The numpy meaning of what moves and joins positions against its definition, one number at a time."""

from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.components.accumulate import accumulate
from graphrewrite.hdl.components.constant import constant
from graphrewrite.hdl.components.delay import delay
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.pad import pad
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.total import total
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import cases

At = Callable[..., int]


def _numbers(case: Case, number: Callable[[At, tuple[int, ...]], int]) -> np.ndarray:
    """A frame whose numbers are a function of the operand's (Python integers, by index) and of their own index."""
    frames = case.inputs[0]
    result = np.empty((len(frames), *case.site.results[0].shape), object)
    for n, *index in np.ndindex(result.shape):
        result[n, *index] = number(lambda *at, frame=frames[n]: int(frame[at]), tuple(index))
    return result


def _groups(case: Case, join: Callable[[list[int]], int]) -> np.ndarray:
    groups, channels = case.site.attributes["groups"], case.site.results[0].channels // case.site.attributes["blocks"]

    def number(x: At, at: tuple[int, ...]) -> int:
        block, c = divmod(at[0], channels)
        return join([x((block * groups + g) * channels + c, *at[1:]) for g in range(groups)])

    return _numbers(case, number)


def _accumulate(case: Case) -> np.ndarray:
    join: Callable[[list[int]], int] = sum if case.site.attributes["kind"] == "sum" else max
    places = list(np.ndindex(case.site.operands[0].shape[1:]))
    return _numbers(case, lambda x, at: join([x(at[0], *place) for place in places]))


def _pad(case: Case) -> np.ndarray:
    sizes, pads = case.site.operands[0].shape[1:], case.site.attributes["pads"]

    def number(x: At, at: tuple[int, ...]) -> int:
        place = [i - before for i, before in zip(at[1:], pads, strict=False)]
        inside = all(0 <= i < size for i, size in zip(place, sizes, strict=True))
        return x(at[0], *place) if inside else case.site.attributes["fill"]

    return _numbers(case, number)


def _repeat(case: Case) -> np.ndarray:
    factors = case.site.attributes["factors"]
    return _numbers(case, lambda x, at: x(at[0], *(i // f for i, f in zip(at[1:], factors, strict=True))))


def _delay(case: Case) -> np.ndarray:
    places = list(np.ndindex(case.site.operands[0].shape[1:]))
    back, initial = case.site.attributes["positions"], case.site.attributes["initial"]

    def number(x: At, at: tuple[int, ...]) -> int:
        place = places.index(at[1:]) - back
        return x(at[0], *places[place]) if place >= 0 else initial

    return _numbers(case, number)


def _reshape(case: Case) -> np.ndarray:
    frames = [[int(v) for v in frame.ravel()] for frame in case.inputs[0]]
    return np.array(frames, object).reshape(-1, *case.site.results[0].shape)


DEFINITIONS: dict[str, Callable[[Case], np.ndarray]] = {
    "maximum": lambda case: _groups(case, max),
    "total": lambda case: _groups(case, sum),
    "accumulate": _accumulate,
    "pad": _pad,
    "repeat": _repeat,
    "delay": _delay,
    "reshape": _reshape,
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_meaning_equals_its_definition(name: str) -> None:
    for case in cases(name, count=30):
        got = case.component.op(*case.inputs, **case.site.attributes)
        assert got.dtype == case.site.results[0].element.dtype, case
        assert np.array_equal(got.astype(object), DEFINITIONS[name](case)), case


def test_a_constant_is_its_value() -> None:
    for case in cases("constant"):
        got, wanted = case.component.op(**case.site.attributes), case.site.attributes["value"]
        assert got.dtype == case.site.results[0].element.dtype
        assert np.array_equal(got[0].astype(object), np.asarray(wanted).astype(object))


@pytest.mark.parametrize("name", [*DEFINITIONS, "fifo", "register"])
def test_lanes_change_no_value_and_stay(name: str) -> None:
    folded = 0
    for case in cases(name, count=60):
        (x,), (z,) = case.site.operands, case.site.results
        folded += x.folds > 1
        if name in ("maximum", "total"):
            assert z.lanes == min(x.lanes, z.channels // case.site.attributes["blocks"])
        elif name != "reshape":
            assert z.lanes == x.lanes
        assert case.component.schedule(case.site).beats_out == (z.beats,)
    assert folded > 10


X = Stream(FixedPoint(True, 8), (12, 4, 5), 4)
U12 = FixedPoint(False, 12)
REFUSED: list[tuple[Op, Stream, dict[str, object], str]] = [
    (maximum, X, {"groups": 5}, "groups=5 in 1 blocks do not divide the 12 channels"),
    (maximum, X, {"groups": 2}, "the 4 lanes .* neither divide 6 channels .* refold to a divisor of 6"),
    (maximum, X, {"groups": 2, "blocks": 2}, "a beat of .* 4 lanes is not one of 2 blocks; refold to 6 lanes"),
    (maximum, X, {"groups": 3, "stages": 2}, "stages=2: there are 1 levels to split; give 1 to 1"),
    (maximum, X.with_lanes(12), {"groups": 3, "stages": 3}, "stages=3: there are 2 levels to split; give 1 to 2"),
    (total, X, {"groups": 3, "element": U12}, "sums of -384 to 381 exceed u12f0; give s10f0 or wider"),
    (accumulate, X, {"kind": "mean"}, "kind 'mean' is not known.*give sum or maximum"),
    (accumulate, X, {"kind": "sum"}, "give element="),
    (accumulate, X, {"kind": "sum", "element": U12}, "sums of -2560 to 2540 exceed u12f0; give s13f0 or wider"),
    (accumulate, X, {"kind": "maximum", "element": U12}, "leave out element"),
    (pad, X, {"pads": (1, 1)}, r"give \[C,H,W\] and \(top,left,bottom,right\)"),
    (pad, X, {"pads": (1, 1, 0, -1)}, "must not be negative"),
    (pad, X, {"pads": (1, 1, 0, 0), "fill": 128}, "fill 128 is no s8f0; give -128 to 127"),
    (repeat, X, {"factors": (2,)}, r"give \[C,H,W\] and \(vertical,horizontal\)"),
    (repeat, X, {"factors": (2, 0)}, "must be positive"),
    (delay, X, {"positions": 20}, "positions=20: .* has 20, .*give 1 to 19"),
    (delay, Stream(FixedPoint(True, 8), (2, 1)), {"positions": 1}, "single position, .*drop the delay"),
    (delay, X, {"positions": 1, "initial": 200}, "initial 200 is no s8f0"),
    (reshape, X, {"shape": (7, 3)}, "does not hold the 240 numbers"),
    (reshape, X, {"shape": (24, 10), "lanes": 5}, "5 lanes do not divide the 24 channels"),
]


@pytest.mark.parametrize(("op", "x", "attributes", "told"), REFUSED, ids=lambda value: getattr(value, "name", ""))
def test_what_has_no_hardware_is_refused_with_the_remedy(
    op: Op, x: Stream, attributes: dict[str, object], told: str
) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        op.infer(x, **attributes)


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"value": [0.5], "element": U12}, "give whole numbers"),
        ({"value": 3, "element": U12}, "give whole numbers of shape"),
        ({"value": [-1, 2], "element": U12}, "numbers of -1 to 2 exceed u12f0; give s3f0 or wider"),
    ],
)
def test_a_wrong_constant_is_refused(attributes: dict[str, object], told: str) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        constant.infer(**attributes)
