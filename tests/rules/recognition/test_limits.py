"""Limits, rectifiers and slopes as exporters write them."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import op
from graphrewrite.rules import BROADCASTING, RECOGNITION, RULES
from tests.support.rewritten import left

SLOPES = np.array([0.5, 0.25, 1.0], np.float32)
FORMS = {
    "relu": (lambda x: op.maximum(x, 0.0), "relu"),
    "relu, other order": (lambda x: op.maximum(np.zeros((1, 3), np.float32), x), "relu"),
    "clip": (lambda x: op.minimum(op.maximum(x, -1.0), 2.0), "clip"),
    "clip, other order": (lambda x: op.maximum(-1.0, op.minimum(2.0, x)), "clip"),
    "clip of a batch": (lambda x: op.minimum(op.maximum(x, -1.0), op.expand(np.float32(2), shape=("N", 3))), "clip"),
    "relu6": (lambda x: op.minimum(op.relu(x), 6.0), "clip"),
    "relu6 of extremes": (lambda x: op.minimum(op.maximum(x, 0.0), 6.0), "clip"),
    "clip of a clip": (lambda x: op.maximum(op.clip(x, low=-3.0, high=6.0), -1.0), "clip"),
    "chosen": (lambda x: op.where(op.greater(x, 0.0), x, 0.0), "relu"),
    "chosen, turned": (lambda x: op.where(op.less(0.0, x), x, 0.0), "relu"),
    "chosen by the other sign": (lambda x: op.where(op.less_or_equal(x, 0.0), 0.0, x), "relu"),
    "slope": (lambda x: op.maximum(x, op.mul(x, 0.1)), "leaky_relu"),
    "slope, other order": (lambda x: op.maximum(op.mul(0.1, x), x), "leaky_relu"),
    "slopes": (lambda x: op.maximum(x, op.mul(x, SLOPES)), "prelu"),
    "steep": (lambda x: op.minimum(x, op.mul(x, 3.0)), "leaky_relu"),
    "slope of a batch": (lambda x: op.maximum(x, op.mul(x, op.expand(np.float32(0.5), shape=("N", 3)))), "leaky_relu"),
    "chosen slope": (lambda x: op.where(op.greater_or_equal(x, 0.0), x, op.mul(x, -0.5)), "leaky_relu"),
    "chosen slopes": (lambda x: op.where(op.less(x, 0.0), op.mul(SLOPES, x), x), "prelu"),
}
OTHERS = {
    "crossing limits": (lambda x: op.maximum(op.minimum(x, -1.0), SLOPES), ["minimum", "maximum"]),
    "steep, greatest": (lambda x: op.maximum(x, op.mul(x, 3.0)), ["mul", "maximum"]),
    "flat, least": (lambda x: op.minimum(x, op.mul(x, 0.5)), ["mul", "minimum"]),
    "slopes on both sides of 1": (lambda x: op.maximum(x, op.mul(x, SLOPES * 2)), ["mul", "maximum"]),
    "larger": (lambda x: op.maximum(x, np.zeros((2, 1, 1), np.float32)), ["maximum"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_it_is_recognised(name):
    body, wanted = FORMS[name]
    assert left(body, ["f32[N,3]"], (*RULES, *BROADCASTING, *RECOGNITION), tame=True) == [wanted]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_something_else_stays(name):
    body, wanted = OTHERS[name]
    assert left(body, ["f32[N,3]"], (*RULES, *BROADCASTING, *RECOGNITION), tame=True) == wanted
