"""Effects through ONNX and towards hardware: kept in their order, or refused by name; never dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, evaluate, evaluation, op, verify
from graphrewrite.execution import replace_generic
from graphrewrite.lowering import from_onnx, quantise, to_integer, to_onnx, to_stream
from graphrewrite.lowering.errors import LoweringError, QuantisationError, UnsupportedOpsError
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.host_partition import partition


@define_op(effects=True)
def write(x: np.ndarray, *, label: str = "") -> np.ndarray:
    """The operand, which is written to a log."""
    return x


@define_op(effects=True, level="integer", infer=lambda x: x)
def probe(x: np.ndarray) -> np.ndarray:
    """The operand, at which an instrument looks."""
    return x


ENTRY = Entry("com.acme.Write", write, attributes={"label": ("label", bytes.decode, str)})
X = {"x": np.float32([[1, -2, 0.5], [-4, 0.25, 0]])}


def trace(graph: Graph) -> list[str]:
    """Return the effects of a graph, as text."""
    verify(graph)
    return list(map(str, evaluation(graph, X).effects))


@given(st.randoms(use_true_random=False))
def test_onnx_keeps_effects_in_their_order(random: Any) -> None:
    graph = Graph("net", ops=[write])
    values = [graph.input("x", Tensor("f32", ("N", 3)))]
    for index in range(random.randint(1, 8)):
        make = random.choice([lambda x: write(x, label=str(index)), op.neg, op.relu])  # noqa: B023  # called at once
        values.append(make(random.choice(values)))
    for name in "yz":
        graph.output(name, random.choice(values))
    if graph.effects:
        with pytest.raises(UnsupportedOpsError, match=r"write \(write_1: ONNX has no such op\).*pass entries=\[…\]"):
            to_onnx(graph)
    model = to_onnx(graph, entries=[ENTRY])
    assert from_onnx(model, entries=[ENTRY]) == graph
    # Without the entry nobody knows that the nodes have effects; once it is known, the order is that of the model.
    assert trace(replace_generic(write, "com.acme.Write")(from_onnx(model))) == trace(graph)


def parse(*lines: str) -> Graph:
    """Return a graph of an integer core, with lines in it that may have effects."""
    first = "graph g\nx = input() : f32[N,3]\nf = to_fixed(x, element=s8f4)\nr = relu(f)\nz = from_fixed(r, fraction=4)"
    return Graph.parse("\n".join([first, *lines, "y = output(z)"]), ops=[write, probe])


def test_the_host_keeps_effects_beside_the_hardware() -> None:
    graph = parse("a = write(x, label='a')", "b = write(a, label='b')", "c = write(z, label='c')", "d = write(z)")
    parts = partition(graph)
    assert [each.effects for each in (parts.before, parts.core, parts.after)] == [("a", "b"), (), ("c", "d")]
    after = evaluation(parts.after, evaluate(parts.core, parts.encode(X)))
    assert [*map(str, evaluation(parts.before, X).effects), *map(str, after.effects)] == trace(graph)
    assert to_stream(graph).effects == ()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["p = probe(r)"], r"^node 'p': has an effect \(probe\), which hardware cannot have; let it read an input"),
        (
            ["b = write(z)", "a = write(x)"],
            r"^node 'a': has an effect, which comes after that of 'b', and the host has this one before",
        ),
    ],
)
def test_effects_that_hardware_cannot_keep_are_refused(lines: list[str], message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        to_stream(parse(*lines))


def test_quantised_networks_keep_effects_that_need_no_format() -> None:
    graph = Graph("net", ops=[write])
    x = graph.input("x", Tensor("f32", ("N", 3)))
    write(x, label="first")
    y = op.linear(x, np.float32([[0.5, 0.25, 1]]), np.float32([0]))
    write(y, label="last")
    through = graph.copy()
    graph.output("y", y)
    fixed = quantise(graph, X)
    assert [fixed.attributes(node)["label"] for node in fixed.effects] == ["first", "last"]
    assert len(trace(fixed)) == 2
    with pytest.raises(LoweringError, match=r"^2 nodes have no integer form: write \(write_1\), write \(write_2\)"):
        to_integer(fixed)
    hidden = write(op.relu(through.value("linear_1")), label="through")
    through.output("y", op.linear(hidden, np.float32([[2]]), np.float32([0])))
    with pytest.raises(QuantisationError, match=r"^node 'write_3': is write, which has no fixed-point form"):
        quantise(through, X)
    assert evaluate(through, X)["y"].shape == (2, 1)
