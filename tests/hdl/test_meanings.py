"""The numpy meaning of each component against its definition, one number at a time."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.components.requantise import requantise
from tests.hdl.configurations import cases


def _flat(case: Case) -> list[np.ndarray]:
    return [np.asarray(x, object).reshape(len(x), x.shape[1], -1) for x in case.inputs]


def _per_position(case: Case, lanes: Callable[..., list[int]]) -> np.ndarray:
    """Apply a function of the lanes of one beat (Python integers) to every beat."""
    given = _flat(case)
    frames, _, positions = given[0].shape
    beats = [[lanes(*([int(v) for v in x[n, :, p]] for x in given)) for p in range(positions)] for n in range(frames)]
    return np.array(beats, object).transpose(0, 2, 1).reshape(frames, *case.site.results[0].shape)


def _window(case: Case) -> np.ndarray:
    (x,), at = case.inputs, case.site.attributes
    count = x.ndim - 2
    kernel, pads = at["kernel"], at["pads"] or (0,) * (2 * count)
    strides, dilations = at["strides"] or (1,) * count, at["dilations"] or (1,) * count
    taps = list(itertools.product(*map(range, kernel)))
    size = x.shape[1] // at["groups"]
    result = np.empty((len(x), *case.site.results[0].shape), object)
    for n, channel, *place in np.ndindex(result.shape):
        block, c = divmod(channel, size)
        group, tap = divmod(block, len(taps))
        seen = [p * s + t * d - b for p, s, t, d, b in zip(place, strides, taps[tap], dilations, pads, strict=False)]
        inside = all(0 <= i < length for i, length in zip(seen, x.shape[2:], strict=True))
        result[n, channel, *place] = int(x[n, group * size + c, *seen]) if inside else at["fill"]
    assert len(taps) * x.shape[1] == result.shape[1]
    return result


def _bounded(value: int, case: Case) -> int:
    element, at = case.site.results[0].element, case.site.attributes
    low = element.minimum if at["low"] is None else max(at["low"], element.minimum)
    high = element.maximum if at["high"] is None else min(at["high"], element.maximum)
    return low if value < low else min(value, high)


def _matvec(case: Case) -> np.ndarray:
    at = case.site.attributes
    rows, bias = np.asarray(at["weights"]).tolist(), np.asarray(at["bias"]).tolist()
    columns, each = len(rows[0]), len(rows) // at["groups"]

    def product(x: list[int]) -> list[int]:
        starts = [o // each * columns for o in range(len(rows))]
        return [
            sum(w * x[start + i] for i, w in enumerate(row)) + b
            for row, b, start in zip(rows, bias, starts, strict=True)
        ]

    if at["over"] == "position":
        return _per_position(case, product)
    frames = [[int(v) for v in frame.reshape(len(frame), -1).T.ravel()] for frame in case.inputs[0]]
    return np.array([product(frame) for frame in frames], object)


def _adder_graph(case: Case) -> np.ndarray:
    at = case.site.attributes
    adders, outputs = np.asarray(at["adders"]).tolist(), np.asarray(at["outputs"]).tolist()
    rounding = {key: at[key] for key in ("low", "high", "offset", "rounding")}

    def sums(x: list[int]) -> list[int]:
        numbers = list(x)
        for first, second, one, other, negative in adders:
            numbers.append((numbers[first] << one) + (numbers[second] << other) * (-1) ** negative)
        return [(numbers[n] << shift) * sign + b for (n, shift, sign), b in zip(outputs, at["bias"], strict=True)]

    exact = _per_position(case, sums)
    if at["shift"] is None:
        return exact
    # How sums are rounded and limited is that of another component, which has a definition of its own.
    return np.asarray(requantise(exact.astype(np.int64), shift=at["shift"], element=at["element"], **rounding))


def _add(case: Case) -> np.ndarray:
    a, b = case.site.attributes["shifts"]
    return _per_position(case, lambda x, y: [v * 2**a + w * 2**b for v, w in zip(x, y, strict=True)])


DEFINITIONS: dict[str, Callable[[Case], np.ndarray]] = {
    "window": _window,
    "matvec": _matvec,
    "adder_graph": _adder_graph,
    "add": _add,
    "clip": lambda case: _per_position(case, lambda x: [_bounded(v, case) for v in x]),
    "argmax": lambda case: _per_position(case, lambda x: [x.index(max(x))]),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_meaning_equals_its_definition(name: str) -> None:
    for case in cases(name):
        got = case.component.op(*case.inputs, **case.site.attributes)
        assert got.dtype == case.site.results[0].element.dtype, case
        assert np.array_equal(got.astype(object), DEFINITIONS[name](case)), case


@pytest.mark.parametrize("name", ["fork", "fifo", "register"])
def test_a_copy_is_a_copy(name: str) -> None:
    for case in cases(name):
        copies = case.component.op(*case.inputs, **case.site.attributes)
        for copy in copies if name == "fork" else (copies,):
            assert np.array_equal(copy, case.inputs[0])
