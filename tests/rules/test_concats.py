"""Concatenations of concatenations, and of values that the same step makes."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import op
from graphrewrite.rules import RULES, SHARED_STEPS
from graphrewrite.rules.concats import concat_before_layer
from tests.support.rewritten import left

PART = "f32[N,2]"
FORMS = {
    "flat": (lambda x, y, z: op.concat(x, op.concat(y, z, axis=1), x, axis=-1), [PART] * 3, ["concat"]),
    "other axes": (
        lambda x, y, z: op.concat(op.concat(x, y, axis=0), op.concat(z, z, axis=0), axis=1),
        ["f32[1,2]"] * 3,
        ["concat"] * 3,
    ),
    "nothing": (lambda x, y: op.concat(x, y, x, axis=1), [PART, "f32[N,0]"], ["concat"]),
    "only one that is something": (lambda x, y: op.concat(x, y, axis=1), [PART, "f32[N,0]"], []),
    "steps": (lambda x, y, z: op.concat(*map(op.tanh, (x, y, z)), axis=1), [PART] * 3, ["concat", "tanh"]),
    "different steps": (
        lambda x, y: op.concat(op.tanh(x), op.relu(y), axis=1),
        [PART] * 2,
        ["tanh", "relu", "concat"],
    ),
    "different limits": (
        lambda x, y: op.concat(op.clip(x, low=0.5), op.clip(y, low=1.0), axis=1),
        [PART] * 2,
        ["clip", "clip", "concat"],
    ),
    "slices": (
        lambda x: op.mul(
            op.tanh(op.slice(x, starts=(0,), ends=(2,), axes=(1,))),
            op.tanh(op.slice(x, starts=(2,), ends=(4,), axes=(1,))),
        ),
        ["f32[N,4]"],
        ["tanh", "slice", "slice", "mul"],
    ),
    "a part of a value": (
        lambda x: op.mul(
            op.tanh(op.slice(x, starts=(0,), ends=(2,), axes=(1,))),
            op.tanh(op.slice(x, starts=(2,), ends=(4,), axes=(1,))),
        ),
        ["f32[N,9]"],
        ["slice", "tanh", "slice", "tanh", "mul"],
    ),
    "reshapes": (
        lambda x, y, z: op.concat(*(op.reshape(v, shape=(6, -1, 2)) for v in (x, y, z)), axis=1),
        ["f32[2,3,2,2]", "f32[2,3,4,2]", "f32[2,3,6,2]"],
        ["concat", "reshape"],
    ),
    "stacked": (
        lambda x, y: op.concat(*(op.unsqueeze(v, axes=(0,)) for v in (x, y)), axis=0),
        [PART] * 2,
        ["concat", "reshape"],
    ),
    "reshapes of other rows": (
        lambda x, y: op.concat(*(op.reshape(v, shape=(4, 3)) for v in (x, y)), axis=1),
        ["f32[6,2]"] * 2,
        ["reshape", "reshape", "concat"],
    ),
    "stored": (
        lambda x, y, z: op.concat(*(op.quantize_linear(v, np.float32(0.5), np.int8(3)) for v in (x, y, z)), axis=1),
        [PART] * 3,
        ["concat", "quantize_linear"],
    ),
    "one addend": (
        lambda x, y: op.concat(*[op.add(op.slice(x, starts=(i,), ends=(i + 1,)), y) for i in range(4)], axis=0),
        ["f32[4,3,2]", "f32[3,2]"],
        ["add"],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_left(name):
    body, types, wanted = FORMS[name]
    assert sorted(left(body, types, (*RULES, *SHARED_STEPS))) == sorted(wanted)


LAYERS = {
    "matmul": (op.matmul, "f32[4,5]"),
    "linear": (lambda x, w: op.linear(x, w, np.ones(5, np.float32)), "f32[5,4]"),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_one_layer_is_left_of_several_parts_of_the_samples(kind):
    layer, weights = LAYERS[kind]

    def apart(x, w):
        parts = [op.reshape(op.slice(x, starts=(i,), ends=(i + 1,)), shape=(2, 4)) for i in range(3)]
        return op.concat(*(layer(part, w) for part in parts), axis=0)

    rules = (*RULES, *SHARED_STEPS, concat_before_layer)
    assert left(apart, ["f32[3,2,4]", weights], rules, tame=True) == ["reshape", kind]
