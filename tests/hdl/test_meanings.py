"""The numpy meaning of each component against its definition, one number at a time."""

from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite.hdl.checking.case import Case
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
    (kh, kw), (sh, sw), (top, left, _, _) = at["kernel"], at["strides"], at["pads"]
    channels, height, width = x.shape[1:]
    result = np.empty((len(x), *case.site.results[0].shape), object)
    for n, lane, row, col in np.ndindex(result.shape):
        place, c = divmod(lane, channels)
        i, j = row * sh + place // kw - top, col * sw + place % kw - left
        result[n, lane, row, col] = int(x[n, c, i, j]) if 0 <= i < height and 0 <= j < width else at["fill"]
    assert kh * kw * channels == result.shape[1]
    return result


def _bounded(value: int, case: Case) -> int:
    element, at = case.site.results[0].element, case.site.attributes
    low = element.minimum if at["low"] is None else max(at["low"], element.minimum)
    high = element.maximum if at["high"] is None else min(at["high"], element.maximum)
    return low if value < low else min(value, high)


def _matvec(case: Case) -> np.ndarray:
    rows, bias = np.asarray(case.site.attributes["weights"]).tolist(), np.asarray(case.site.attributes["bias"]).tolist()
    return _per_position(
        case, lambda x: [sum(w * v for w, v in zip(r, x, strict=True)) + b for r, b in zip(rows, bias, strict=True)]
    )


def _add(case: Case) -> np.ndarray:
    a, b = case.site.attributes["shifts"]
    return _per_position(case, lambda x, y: [v * 2**a + w * 2**b for v, w in zip(x, y, strict=True)])


DEFINITIONS: dict[str, Callable[[Case], np.ndarray]] = {
    "window": _window,
    "matvec": _matvec,
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
