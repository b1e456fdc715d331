"""Borders of borders, and repetitions."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import op
from graphrewrite.rules import BROADCASTING, RULES
from tests.support.rewritten import left

IMAGE = "f32[N,2]"
FORMS = {
    "borders": (lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0)), pads=(0, 2, 0, 1)), [IMAGE], ["pad"]),
    "edges": (
        lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0), mode="edge"), pads=(0, 2, 0, 1), mode="edge"),
        [IMAGE],
        ["pad"],
    ),
    "of two numbers": (
        lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0)), pads=(0, 1, 0, 0), fill=1.0),
        [IMAGE],
        ["pad"] * 2,
    ),
    "mirrored": (
        lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0), mode="reflect"), pads=(0, 1, 0, 0), mode="reflect"),
        [IMAGE],
        ["pad"] * 2,
    ),
    "cropped again": (lambda x: op.pad(op.pad(x, pads=(0, 3, 0, 0)), pads=(0, -1, 0, 0)), [IMAGE], ["pad"]),
    "cropped to what it was": (lambda x: op.pad(op.pad(x, pads=(0, 3, 0, 0)), pads=(0, -3, 0, 0)), [IMAGE], []),
    "cropped before": (lambda x: op.pad(op.pad(x, pads=(0, -1, 0, 0)), pads=(0, 1, 0, 0)), [IMAGE], ["slice", "pad"]),
    "expanded twice": (
        lambda x: op.expand(op.expand(x, shape=(3, 1, 2)), shape=(2, 3, 5, 2)),
        ["f32[1,2]"],
        ["expand"],
    ),
    "tiled twice": (lambda x: op.tile(op.tile(x, repeats=(1, 2)), repeats=(3, 2)), ["f32[2,2]"], ["tile"]),
    "tiled ones": (lambda x: op.tile(x, repeats=(3, 1)), ["f32[1,2]"], ["expand"]),
    "expanded before limits": (
        lambda x: op.minimum(op.relu(op.sub(1.0, op.expand(x, shape=(3, 2)))), 2.0),
        ["f32[1,2]"],
        ["sub", "relu", "minimum", "expand"],
    ),
    "expanded before a sum": (lambda x, y: op.add(op.expand(x, shape=(3, 2)), y), ["f32[1,2]", "f32[3,2]"], ["add"]),
    "tiled before a sum": (lambda x, y: op.add(y, op.tile(x, repeats=(3, 1))), ["f32[1,2]", "f32[3,2]"], ["add"]),
    "expanded to another shape": (
        lambda x, y: op.add(op.expand(x, shape=(3, 2)), y),
        ["f32[1,2]", "f32[1,2]"],
        ["expand", "add"],
    ),
    "expanded in a difference": (
        lambda x, y: op.sub(y, op.expand(x, shape=("N", 2))),
        ["f32[2]", "f32[N,2]"],
        ["sub"],
    ),
    "sliced": (
        lambda x: op.slice(op.expand(x, shape=(3, 5, 2)), starts=(1, 4), ends=(3, 0), axes=(0, 1), steps=(1, -2)),
        ["f32[1,2]"],
        ["expand"],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_left(name):
    body, types, wanted = FORMS[name]
    assert left(body, types, (*RULES, *BROADCASTING)) == wanted


def test_constants_are_not_spread_over_a_batch():
    body = lambda x: op.maximum(x, op.expand(np.float32(2), shape=("N", 2)))  # noqa: E731
    assert left(body, ["f32[N,2]"], (*RULES, *BROADCASTING)) == ["maximum"]
