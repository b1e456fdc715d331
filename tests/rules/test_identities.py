"""Ops that do nothing; and limits, at the numbers where two signs of zero can be told apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import RULES
from graphrewrite.rules.limits import merge_clips
from tests.support.rewritten import left

LIMITS = [None, -1.0, -0.0, 0.0, 1.0]
NUMBERS = [-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_merged_limits_keep_the_sign_of_zero(element):
    x = np.array(NUMBERS, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[element])
    merged = 0
    for a, b, c, d in product(LIMITS, repeat=4):
        graph = Graph("limits")
        graph.output("y", op.clip(op.clip(graph.input("x", Tensor(element, ("N",))), low=a, high=b), low=c, high=d))
        after = rewrite(graph, merge_clips)
        merged += len(after) < len(graph)
        before, found = evaluate(graph, {"x": x})["y"], evaluate(after, {"x": x})["y"]
        assert str(before.tolist()) == str(found.tolist()), (a, b, c, d)
    assert merged > 100


FLOAT, WHOLE, TRUTH = "f32[N,4]", "i32[N,4]", "bool[N,4]"
NO_OPS = {
    "cast": (lambda x: op.cast(x, element="f32"), FLOAT),
    "negative twice": (lambda x: op.neg(op.neg(x)), FLOAT),
    "not twice": (lambda x: op.logical_not(op.logical_not(x)), TRUTH),
    "bits turned twice": (lambda x: op.bitwise_not(op.bitwise_not(x)), WHOLE),
    "greater of itself": (lambda x: op.maximum(x, x), FLOAT),
    "both itself": (lambda x: op.logical_and(x, x), TRUTH),
    "bits of itself": (lambda x: op.bitwise_or(x, x), WHOLE),
    "power of 1": (lambda x: op.pow(x, 1.0), FLOAT),
    "tiled once": (lambda x: op.tile(x, repeats=(1, 1)), FLOAT),
    "expanded to its shape": (lambda x: op.expand(x, shape=("N", 4)), FLOAT),
    "expanded by ones": (lambda x: op.expand(x, shape=(1, 4)), FLOAT),
    "whole slice": (lambda x: op.slice(x, starts=(0, 0), ends=(2**31 - 1, 4)), FLOAT),
    "whole slice from behind": (lambda x: op.slice(x, starts=(-4,), ends=(2**63 - 1,), axes=(-1,)), FLOAT),
    "one operand": (lambda x: op.concat(x, axis=1), FLOAT),
    "no border": (lambda x: op.pad(x, pads=(0, 0, 0, 0)), FLOAT),
    "greatest of one": (lambda x: op.max_pool(x, kernel=(1, 1)), "f32[N,2,3,3]"),
    "mean of one": (lambda x: op.average_pool(x, kernel=(1, 1)), "f32[N,2,3,3]"),
    "global maximum of one": (op.global_max_pool, "f32[N,2,1,1]"),
    "resized to its size": (lambda x: op.resize(x, sizes=("N", 2, 3, 3), mode="cubic"), "f32[N,2,3,3]"),
    "resized by 1": (lambda x: op.resize(x, scales=(1, 1, 1, 1), mode="linear"), "f32[N,2,3,3]"),
    "sum of one": (op.sum, FLOAT),
    "mean of one operand": (op.mean, FLOAT),
    "equal branches": (lambda x: op.where(op.greater(x, 0.0), x, x), FLOAT),
    "slope 1": (lambda x: op.leaky_relu(x, alpha=1.0), FLOAT),
    "slopes 1": (lambda x: op.prelu(x, np.ones(4, np.float32)), FLOAT),
    "chosen truth": (lambda x: op.where(x, True, False), TRUTH),
    "and true": (lambda x: op.logical_and(True, x), TRUTH),
    "or false": (lambda x: op.logical_or(x, False), TRUTH),
    "unequal to false": (lambda x: op.logical_xor(x, np.zeros((1, 4), bool)), TRUTH),
    "no shift": (lambda x: op.bit_shift(x, 0, direction="left"), WHOLE),
    "no bits": (lambda x: op.bitwise_xor(x, 0), WHOLE),
    "plus -0": (lambda x: op.add(x, -0.0), FLOAT),
    "plus 0, whole": (lambda x: op.add(x, 0), WHOLE),
    "reduced over 1": (lambda x: op.reduce_max(x, axes=(1,)), "f32[N,1]"),
    "not cropped": (lambda x: op.gather(x, np.arange(4), axis=1), FLOAT),
}
ONE_LEFT = {
    "abs": (lambda x: op.abs(op.abs(x)), FLOAT, "abs"),
    "abs of negative": (lambda x: op.abs(op.neg(x)), FLOAT, "abs"),
    "sign": (lambda x: op.sign(op.sign(x)), FLOAT, "sign"),
    "floor": (lambda x: op.floor(op.floor(x)), FLOAT, "floor"),
    "rounding of floor": (lambda x: op.round(op.floor(x)), FLOAT, "floor"),
    "relu": (lambda x: op.relu(op.relu(x)), FLOAT, "relu"),
    "relu of clip": (lambda x: op.relu(op.clip(x, low=-1.0, high=6.0)), FLOAT, "clip"),
    "clip of relu": (lambda x: op.clip(op.relu(x), low=-1.0, high=6.0), FLOAT, "clip"),
    "relu of lower limit": (lambda x: op.relu(op.clip(x, low=-1.0)), FLOAT, "relu"),
    "reduced over 1": (lambda x: op.reduce_max(x, axes=(1,), keep_dims=False), "f32[N,1]", "reshape"),
    "choice turned": (lambda x: op.where(op.logical_not(x), False, True), TRUTH, None),
}


@pytest.mark.parametrize("name", NO_OPS)
def test_an_op_that_does_nothing_goes(name):
    body, kind = NO_OPS[name]
    assert left(body, [kind], RULES) == []


@pytest.mark.parametrize("name", ONE_LEFT)
def test_the_same_op_again_goes(name):
    body, kind, wanted = ONE_LEFT[name]
    assert left(body, [kind], RULES) == ([] if wanted is None else [wanted])


@pytest.mark.parametrize(
    "body",
    [
        lambda x: op.add(x, 0.0),
        lambda x: op.mul(x, np.ones((3, 1, 1), np.float32)),
        lambda x: op.slice(x, starts=(-1,), ends=(-9,), axes=(1,), steps=(-1,)),
        lambda x: op.pad(x, pads=(0, 1, 0, -1)),
        lambda x: op.resize(x, scales=(1, 1.2)),
        lambda x: op.tile(x, repeats=(1, 2)),
        lambda x: op.reduce_sum(op.slice(x, starts=(0,), ends=(1,), axes=(1,)), axes=(1,)),
    ],
)
def test_an_op_that_does_something_stays(body):
    assert left(body, [FLOAT], RULES)
