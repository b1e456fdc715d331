"""Concatenations of concatenations, and of values that the same step makes."""

from __future__ import annotations

import pytest

from graphrewrite import op
from graphrewrite.rules import RULES, SHARED_STEPS
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
