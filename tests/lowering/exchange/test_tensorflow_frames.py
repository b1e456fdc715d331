"""Loops and branches of TensorFlow that are nodes among others, as TensorFlow 1 and freezing write them."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import verify
from graphrewrite.lowering import ModelError, from_tensorflow
from tests.lowering.exchange.test_tensorflow import constant, frozen, i32, placeholder, written

ROWS = np.random.default_rng(5).normal(size=(3, 4)).astype(np.float32)


def loop(name, count, values, body, again="limit"):
    """A loop that counts from 0 to a limit: nodes that make each next value of the entered ones."""
    carried = {"i": "zero", **values}
    nodes = [written(f"{name}/enter_{key}", "Enter", [start], frame_name=name) for key, start in carried.items()]
    nodes += [written(f"{name}/m_{key}", "Merge", [f"{name}/enter_{key}", f"{name}/n_{key}"]) for key in carried]
    nodes += [
        written(f"{name}/limit", "Enter", [count], frame_name=name, is_constant=True),
        written(f"{name}/less", "Less", [f"{name}/m_i", f"{name}/{again}"]),
        written(f"{name}/again", "LoopCond", [f"{name}/less"]),
    ]
    for key in carried:
        nodes.append(written(f"{name}/s_{key}", "Switch", [f"{name}/m_{key}", f"{name}/again"]))
        nodes.append(written(f"{name}/{key}", "Identity", [f"{name}/s_{key}:1"]))
        nodes.append(written(f"{name}/out_{key}", "Exit", [f"{name}/s_{key}"]))
    nodes += [written(f"{name}/more", "AddV2", [f"{name}/i", "one"]), *body]
    return [*nodes, written(f"{name}/n_i", "NextIteration", [f"{name}/more"])]


START = [
    placeholder("x", (-1, 4)),
    *(constant(name, i32(number)[0]) for name, number in (("zero", 0), ("one", 1), ("two", 2), ("five", 5))),
    constant("half", np.float32(0.5)),
    constant("axes", i32(0, 1)),
]


def test_a_branch_in_a_loop():
    body = [
        written("f/x", "Enter", ["x"], frame_name="f", is_constant=True),
        written("f/odd", "FloorMod", ["f/i", "two"]),
        written("f/even", "Equal", ["f/odd", "zero"]),
        written("f/c", "Switch", ["f/a", "f/even"]),
        written("f/d", "Switch", ["f/x", "f/even"]),
        written("f/then", "AddV2", ["f/c:1", "f/d:1"]),
        written("f/else", "Mul", ["f/c", "half"]),
        written("f/chosen", "Merge", ["f/else", "f/then"]),
        written("f/n_a", "NextIteration", ["f/chosen"]),
    ]
    graph = from_tensorflow(frozen(*START, *loop("f", "five", {"a": "x"}, body), written("y", "Neg", ["f/out_a"])))
    verify(graph)
    wanted = ROWS
    for i in range(5):
        wanted = wanted * np.float32(0.5) if i % 2 else wanted + ROWS
    np.testing.assert_allclose(graph(ROWS), -wanted, rtol=1e-6)


def test_a_loop_in_a_loop():
    inner = loop("g", "f/more", {"b": "f/a"}, [
        written("g/times", "Mul", ["g/b", "half"]),
        written("g/n_b", "NextIteration", ["g/times"]),
    ])  # fmt: skip
    inner = [node.replace('input: "zero"', 'input: "f/zero"') for node in inner]
    body = [
        written("f/zero", "Enter", ["zero"], frame_name="f", is_constant=True),
        *inner,
        written("f/x", "Enter", ["x"], frame_name="f", is_constant=True),
        written("f/sum", "AddV2", ["g/out_b", "f/x"]),
        written("f/n_a", "NextIteration", ["f/sum"]),
    ]
    graph = from_tensorflow(frozen(*START, *loop("f", "two", {"a": "x"}, body), written("y", "Neg", ["f/out_a"])))
    verify(graph)
    np.testing.assert_allclose(graph(ROWS), -((ROWS * 0.5 + ROWS) * 0.25 + ROWS), rtol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_that_reads_nothing(sign):
    nodes = [
        *START,
        written("s", "Sum", ["x", "axes"]),
        constant("nothing", np.float32(0)),
        written("p", "Greater", ["s", "nothing"]),
        written("pivot", "Switch", ["p", "p"]),
        written("no", "Identity", ["pivot"]),
        written("data", "Switch", ["s", "p"]),
        written("then", "Mul", ["data:1", "half"]),
        constant("seven", np.float32(7)).replace('op: "Const"', 'op: "Const" input: "^no"'),
        written("chosen", "Merge", ["seven", "then"]),
        written("y", "Mul", ["x", "chosen"]),
    ]
    graph = from_tensorflow(frozen(*nodes))
    assert graph.outputs == ("y",)
    x = sign * np.abs(ROWS)
    np.testing.assert_allclose(graph(x), x * (x.sum() * np.float32(0.5) if sign > 0 else 7), rtol=1e-5)


@pytest.mark.parametrize("lost", ["f/again", "f/enter_a"])
def test_what_is_no_loop(lost):
    body = [written("f/n_a", "NextIteration", ["f/a"])]
    nodes = [*START, *loop("f", "five", {"a": "x"}, body)]
    broken = [
        node.replace('"LoopCond"', '"Identity"').replace('"Enter"', '"Identity"') if f'name: "{lost}"' in node else node
        for node in nodes
    ]
    with pytest.raises(ModelError, match=r"'f' has no form that TensorFlow writes.*lower_control_flow=False"):
        from_tensorflow(frozen(*broken, written("y", "Neg", ["f/out_a"])))
