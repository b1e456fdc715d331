"""Normalisations as exporters write them."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from tests.rules.recognition.recognising import NUMPY, ops, recognised


def line(x, *shape, low=0.5):
    """Numbers from a half upwards."""
    return np.linspace(low, low + 1, int(np.prod(shape))).reshape(shape).astype(NUMPY[x.type.element])


def deviation(x, axes=(-1,)):
    return x - op.reduce_mean(x, axes=axes)


def root(x, axes=(-1,), *, squared=lambda x: op.pow(x, 2.0)):
    return op.sqrt(op.reduce_mean(squared(x), axes=axes) + 1e-5)


def over_root(x, axes=(-1,)):
    return x / root(x, axes)


def of_torch(x):
    return over_root(deviation(x)) * line(x, 4) + line(x, 4)


def of_keras(x, before=op.sub):
    mean = op.reduce_mean(x, axes=(-1,))
    centred = x - mean
    scale = op.reciprocal(root(centred, squared=lambda y: y * y)) * line(x, 1, 1, 4)
    shift = line(x, 1, 1, 4) - mean * scale if before is op.sub else op.neg(mean) * scale + line(x, 1, 1, 4)
    return x * scale + shift


def of_groups(x):
    groups = op.reshape(x, shape=(0, 2, -1))
    alone = op.instance_norm(groups, line(x, 2, low=1), 0 * line(x, 2))
    return op.reshape(alone, shape=x.type.shape) * line(x, 4, 1) + line(x, 4, 1)


def of_rows(x):
    rows = over_root(deviation(op.reshape(x, shape=(0, 2, -1))))
    return op.reshape(rows, shape=x.type.shape) * line(x, 4, 1) + line(x, 4, 1)


def of_dynamo(x):
    """Deviations are computed twice, and a variance gets its axis back."""
    centred = deviation(x, (2,))
    variance = op.reduce_mean(centred * centred, axes=(2,), keep_dims=False)
    return deviation(x) / op.sqrt(op.reshape(variance, shape=(0, 3, 1)) + 1e-5) * line(x, 4) + line(x, 4)


LAST, POSITIONS, PICTURES = ("N", 3, 4), ("N", 4, 6), ("N", 4, 3, 2)
BETWEEN = ["transpose", "layer_norm", "transpose"]
FORMS = {
    "layer norm, PyTorch": (["layer_norm"], LAST, of_torch),
    "layer norm, no parameters": (["layer_norm"], LAST, lambda x: over_root(deviation(x))),
    "layer norm, two axes": (["layer_norm"], LAST, lambda x: over_root(deviation(x, (1, 2)), (-1, -2))),
    "layer norm, TensorFlow": (["layer_norm"], LAST, of_keras),
    "layer norm, Keras": (["layer_norm"], LAST, lambda x: of_keras(x, op.add)),
    "layer norm, gain first": (["layer_norm"], LAST, lambda x: line(x, 4) * deviation(x) / root(deviation(x)) + 2.0),
    "rms norm": (["rms_norm"], LAST, lambda x: over_root(x) * line(x, 4)),
    "rms norm, Llama": (["rms_norm"], LAST, lambda x: line(x, 4) * (x * op.reciprocal(root(x)))),
    "rms norm, inverse": (["rms_norm"], LAST, lambda x: line(x, 4) * (x * op.div(1.0, root(x)))),
    "rms norm, powers": (["rms_norm"], LAST, lambda x: x * op.pow(op.reduce_mean(x * x, axes=(-1,)) + 1e-5, -0.5)),
    "rms norm, gain inside": (["rms_norm"], LAST, lambda x: x * (op.reciprocal(root(x)) * line(x, 4))),
    "instance norm": (
        ["instance_norm"],
        POSITIONS,
        lambda x: over_root(deviation(x, (2,)), (2,)) * line(x, 4, 1) + line(x, 1, 4, 1),
    ),
    "layer norm, dynamo": (["layer_norm"], LAST, of_dynamo),
    "layer norm, channels first": (
        BETWEEN,
        PICTURES,
        lambda x: line(x, 4, 1, 1) * over_root(deviation(x, (1,)), (1,)) + line(x, 4, 1, 1),
    ),
    "layer norm, inner axes": (
        BETWEEN,
        PICTURES,
        lambda x: line(x, 4, 3, 1) * over_root(deviation(x, (1, 2)), (2, 1)) + line(x, 1, 3, 1),
    ),
    "rms norm, channels first": (
        ["transpose", "rms_norm", "transpose"],
        PICTURES,
        lambda x: x * (op.reciprocal(root(x, (1,))) * line(x, 1, 4, 1, 1)),
    ),
    "group norm": (["group_norm"], POSITIONS, of_groups),
    "group norm, by hand": (["group_norm"], POSITIONS, of_rows),
}
OTHERS = {
    "two axes, and one": (LAST, lambda x: deviation(x) / root(deviation(x), (1, 2))),
    "another axis": (LAST, lambda x: over_root(deviation(x, (1,)), (2,))),
    "another mean": (LAST, lambda x: over_root(x - op.reduce_mean(op.relu(x), axes=(-1,)))),
    "a root of another": (LAST, lambda x: deviation(x) / root(x)),
}


def graph_of(body, shape, element):
    graph = Graph("parts")
    graph.output("y", body(graph.input("x", Tensor(element, shape))))
    return graph


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("name", FORMS)
def test_a_norm_is_recognised(name, element, folded):
    kinds, shape, body = FORMS[name]
    assert ops(recognised(graph_of(body, shape, element), folded=folded)) == kinds


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_norm_stays(name):
    shape, body = OTHERS[name]
    assert not {*ops(recognised(graph_of(body, shape, "f32")))} & {"layer_norm", "instance_norm"}


def test_a_factor_that_is_no_constant_is_the_gain_of_a_norm_without_one():
    graph = Graph("parts")
    x, gain, shift = (
        graph.input(name, Tensor("f32", shape)) for name, shape in zip("xgs", (LAST, (4,), (4,)), strict=True)
    )
    graph.output("y", over_root(deviation(x)) * gain + shift)
    after = recognised(graph)
    assert [operand.node for operand in after.operands(after.operands("y")[0].node)] == ["x", "g", "s"]


def test_a_factor_for_each_sample_stays():
    graph = Graph("parts")
    x, factor = graph.input("x", Tensor("f32", LAST)), graph.input("f", Tensor("f32", ("N", 1, 4)))
    graph.output("y", over_root(deviation(x)) * factor)
    assert ops(recognised(graph)) == ["layer_norm", "mul"]
