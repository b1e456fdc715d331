"""Activations as exporters write them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from tests.rules.recognition.recognising import NUMPY, ops, recognised

HALF, ROOT = math.sqrt(0.5), math.sqrt(2 / math.pi)


def slopes(x, *numbers):
    return np.array(numbers, NUMPY[x.type.element])


def gelu_tanh(x):
    return op.tanh((x + op.pow(x, 3.0) * 0.044715) * ROOT)


FORMS = {
    "gelu, PyTorch": ("gelu", lambda x: x * (op.erf(x / math.sqrt(2)) + 1.0) * 0.5),
    "gelu, halved first": ("gelu", lambda x: (op.erf(x * HALF) + 1.0) * (0.5 * x)),
    "gelu, TensorFlow": ("gelu", lambda x: x * (0.5 * (1.0 + op.erf(HALF * x)))),
    "gelu, share": ("gelu", lambda x: (op.erf(x * HALF) * 0.5 + 0.5) * x),
    "gelu, tanh": ("gelu", lambda x: 0.5 * x * (1.0 + gelu_tanh(x))),
    "gelu, tanh, TensorFlow": ("gelu", lambda x: x * ((gelu_tanh(x) + 1.0) * 0.5)),
    "gelu, tanh, cube": ("gelu", lambda x: x * (1.0 + op.tanh(ROOT * (x + 0.044715 * (x * x * x)))) * 0.5),
    "gelu, tanh, fast": ("gelu", lambda x: 0.5 * x * (1.0 + op.tanh(x * ROOT * (1.0 + 0.044715 * x * x)))),
    "sigmoid": ("sigmoid", lambda x: op.div(1.0, op.exp(-x) + 1.0)),
    "sigmoid, reciprocal": ("sigmoid", lambda x: op.reciprocal(1.0 + op.exp(x * -1.0))),
    "sigmoid, tanh": ("sigmoid", lambda x: op.tanh(x / 2.0) * 0.5 + 0.5),
    "silu": ("silu", lambda x: op.sigmoid(x) * x),
    "silu of parts": ("silu", lambda x: x * op.reciprocal(1.0 + op.exp(-x))),
    "silu, quotient": ("silu", lambda x: x / (1.0 + op.exp(-x))),
    "silu, 1.702": ("silu", lambda x: x * op.sigmoid(x * 1.702)),
    "softplus": ("softplus", lambda x: op.log(1.0 + op.exp(x))),
    "softplus, stable": ("softplus", lambda x: op.relu(x) + op.log(op.exp(-op.abs(x)) + 1.0)),
    "mish": ("mish", lambda x: x * op.tanh(op.softplus(x))),
    "mish of parts": ("mish", lambda x: op.tanh(op.log(op.exp(x) + 1.0)) * x),
    "softsign": ("softsign", lambda x: x / (op.abs(x) + 1.0)),
    "hard sigmoid": ("hard_sigmoid", lambda x: op.clip(x * 0.2 + 0.5, low=0.0, high=1.0)),
    "hard sigmoid, six": ("hard_sigmoid", lambda x: op.clip(x + 3.0, low=0.0, high=6.0) / 6.0),
    "hard swish, PyTorch": ("hard_swish", lambda x: x * op.hard_sigmoid(x, alpha=float(np.float32(1 / 6)))),
    "hard swish, six": ("hard_swish", lambda x: x * op.clip(x + 3.0, low=0.0, high=6.0) / 6.0),
    "hard swish, TensorFlow": ("hard_swish", lambda x: x * (op.clip(x + 3.0, low=0.0, high=6.0) * (1 / 6))),
    "hard swish, a sixth of x": ("hard_swish", lambda x: x * (1 / 6) * op.clip(x + 3.0, low=0.0, high=6.0)),
    "leaky relu, rectified": ("leaky_relu", lambda x: op.relu(x) - 0.1 * op.relu(-x)),
    "prelu, Keras": ("prelu", lambda x: op.relu(x) + slopes(x, -0.1, 0.2, 0.3) * op.relu(-x)),
    "prelu, minimum": ("prelu", lambda x: op.minimum(x, 0.0) * slopes(x, 0.1, 2.0, 0.3) + op.relu(x)),
}
OTHERS = {
    "another root": lambda x: x * (op.erf(x / 1.5) + 1.0) * 0.5,
    "another half": lambda x: x * (op.erf(x * HALF) + 1.0) * 0.4,
    "another operand": lambda x: op.relu(x) * (op.erf(x * HALF) + 1.0) * 0.5,
    "other limits": lambda x: op.clip(x + 3.0, low=0.0, high=5.0) / 6.0,
    "logistic of another": lambda x: x * op.sigmoid(op.relu(x)),
}


def graph_of(body, element):
    graph = Graph("parts")
    graph.output("y", body(graph.input("x", Tensor(element, ("N", 3)))))
    return graph


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("name", FORMS)
def test_an_activation_is_recognised(name, element, folded):
    kind, body = FORMS[name]
    assert ops(recognised(graph_of(body, element), folded=folded)) == [kind]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_another_function_stays(name):
    graph = graph_of(OTHERS[name], "f32")
    assert ops(recognised(graph)) == ops(graph)


def test_arrays_of_one_number_are_numbers():
    graph = graph_of(lambda x: x * (op.erf(x * slopes(x, HALF)) + slopes(x, 1.0)) * slopes(x, 0.5), "f32")
    assert ops(recognised(graph)) == ["gelu"]
