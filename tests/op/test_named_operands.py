"""Operands by name: the same as by position, in graphs, on arrays and in patterns."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, define_op, op, rule
from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.testing import graphs

IMAGE = Tensor("f32", ("N", 3, 8))
W, B = np.ones((4, 3, 3), np.float32), np.arange(4, dtype=np.float32)


def image() -> Any:
    return Graph("g").input("x", IMAGE)


@given(graphs(), st.data())
def test_operands_by_any_of_their_names_are_those_by_position(graph: Graph, data: st.DataObject) -> None:
    nodes = [n for n in graph if graph.op(n).level != "structure" and not graph.op(n).variadic and graph.operands(n)]
    assume(nodes)
    node = data.draw(st.sampled_from(nodes))
    its_op, operands = graph.op(node), [graph.value(*operand) for operand in graph.operands(node)]
    by_position = data.draw(st.integers(0, len(operands)))
    words: dict[int, list[str]] = {}
    for word, place in its_op.operand_positions.items():
        words.setdefault(place, []).append(word)
    rest = {data.draw(st.sampled_from(words[i])): operands[i] for i in range(by_position, len(operands))}
    given_ = {**graph.attributes(node), **rest}
    made = its_op(*operands[:by_position], **dict(data.draw(st.permutations(list(given_.items())))))
    made = made[0] if isinstance(made, tuple) else made
    assert graph.operands(made.node) == graph.operands(node)
    assert graph.attributes(made.node) == graph.attributes(node)


@pytest.mark.parametrize("x", [image(), np.ones((2, 3, 8), np.float32)], ids=["graph", "arrays"])
@pytest.mark.parametrize(
    ("operands", "named", "message"),
    [
        ((W,), {"w": W}, "two values for the operand 'w'"),
        ((), {"w": W, "weight": W}, "two values for the operand 'w'"),
        ((), {"wieght": W}, "'wieght'.*did you mean 'weight'"),
        ((), {"bias": B}, "conv needs operand 'w'"),
        ((), {"stride": 2}, "conv needs operand 'w'"),
    ],
    ids=str,
)
def test_what_python_refuses_is_refused(x: Any, operands: Any, named: Any, message: str) -> None:
    with pytest.raises(TypeMismatchError, match=message) as caught:
        op.conv(x, *operands, **named)
    assert isinstance(caught.value, TypeError) == ("two values" in message)
    assert isinstance(x, np.ndarray) or list(x.graph) == ["x"]


def test_views_give_what_calls_take() -> None:
    x = image()
    conv = x.graph.node(op.conv(x, W).node)
    assert op.conv(x, weight=conv.weight, bias=conv.bias, strides=conv.stride).type == conv.result
    norm = x.graph.node(op.batch_norm(x.graph.value("conv_1"), gamma=B, beta=B, mean=B, var=B + 1).node)
    names = ("weight", "bias", "running_mean", "running_var")
    named = {name: getattr(norm, name) for name in names}
    ones = np.ones((1, 4, 2), np.float32)
    assert np.array_equal(op.batch_norm(ones, **named), op.batch_norm(ones, B, B, B, B + 1))


def test_any_number_of_operands_has_no_names() -> None:
    with pytest.raises(TypeMismatchError, match="'xs' is operand 0; pass it without its name"):
        op.concat(xs=W)


def test_a_name_that_means_something_else_is_no_operand() -> None:
    @define_op
    def blend(x: Any, name: Any, *, input: float = 1.0) -> Any:
        return x + name * input

    x = image()
    assert blend(x, x, input=2.0, name="mine").node == "mine"
    assert blend(np.ones(2), np.ones(2), input=2.0).tolist() == [3.0, 3.0]


def test_patterns_take_operands_by_name() -> None:
    @rule
    def by_name(x, w, b):
        conv = op.conv(x, bias=b, weight=w)
        yield op.relu(x=conv)
        return op.conv(op.relu(x), b=b, w=w, like=conv)

    @rule
    def by_position(x, w, b):
        conv = op.conv(x, w, b)
        yield op.relu(conv)
        return op.conv(op.relu(x), w, b, like=conv)

    @rule
    def of_several(x, w, b):
        conv = (op.conv | op.linear)(x, weight=w, bias=b)
        yield op.relu(conv)
        return conv.op(op.relu(x), weight=w, bias=b, like=conv)

    x = image()
    x.graph.output("y", op.relu(op.conv(x, W, B, padding=1)))
    assert str(by_name.pattern) == str(by_position.pattern)
    assert by_name(x.graph) == by_position(x.graph) == of_several(x.graph)


def test_alternatives_agree_on_the_place_of_a_name() -> None:
    with pytest.raises(RuleError, match="'x' is operand 0 of conv, and not of where; pass it without its name"):

        @rule
        def wrong(a):
            yield (op.conv | op.where)(x=a)
            return a


def test_graphs_as_ops_take_their_inputs_by_name() -> None:
    module = Module("m")
    block = module.add_graph("block")
    block.output("out", block.input("a", IMAGE) - block.input("b.1", IMAGE))
    x = module.add_graph("main").input("x", IMAGE)
    made = module.op("block")(**{"b.1": -x, "a": x})
    assert [operand.node for operand in x.graph.operands(made.node)] == ["x", "neg_1"]
    assert str(inspect.signature(module.op("block"))) == "(*operands)"  # no parameter can be called b.1
    with pytest.raises(TypeMismatchError, match="block needs operand 'a'"):
        module.op("block")(**{"b.1": x})
