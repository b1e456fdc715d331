"""What cannot become hardware is refused with the node and what to do, before a file is written or GHDL is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.errors import EvaluationError, GraphError, TypeMismatchError
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.hdl import DeadlockError, DesignError, NetlistError, cosimulate, emit, predict, simulate
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.constant import constant
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import BYTE, rectify


def graph(*streams: Stream) -> Graph:
    g = Graph("g")
    for name, stream in zip("xy", streams, strict=False):
        g.input(name, stream)
    return g


def too_wide() -> Graph:
    g = graph(Stream(FixedPoint(True, 49), (2, 3)))
    g.output("z", clip(g.value("x"), low=0))
    return g


def too_wide_within() -> Graph:
    g = graph(Stream(FixedPoint(True, 40), (2, 3)))
    wide = FixedPoint(True, 62)
    g.output("z", matvec(g.value("x"), weights=np.full((1, 2), 2**20), bias=[0], element=wide))
    return g


def too_wide_without_component() -> Graph:
    g = graph(Stream(FixedPoint(True, 49), (2, 3)))
    g.output("z", g.value("x"))
    return insert_forks(g)


def without_type() -> Graph:
    g = rectify()
    for key in set(g.nodes["x"]) - {"type"}:
        del g.nodes["x"][key]
    return g


def tensors() -> Graph:
    return Graph.parse("graph g\nx = input() : f32[N,3]\nr = abs(x)\ny = output(r)")


def circle() -> Graph:
    g = graph(*[Stream(BYTE, (2, 3))] * 2)
    total = add(g.value("x"), g.value("y"), element=FixedPoint(True, 9))
    out, back = fork(clip(total, element=BYTE))
    g.output("z", out)
    move_slot(g, total.node, 1, Operand(back.node, back.result))
    return g


def nobody_reads() -> Graph:
    g = graph(Stream(BYTE, (2, 3)))
    first, _ = fork(g.value("x"))
    g.output("z", clip(first, low=0))
    return g


def input_that_nobody_reads() -> Graph:
    g = graph(*[Stream(BYTE, (2, 3))] * 2)
    g.output("z", clip(g.value("x"), low=0))
    return g


def two_readers() -> Graph:
    g = graph(Stream(BYTE, (2, 3)))
    g.output("z", add(g.value("x"), g.value("x"), element=FixedPoint(True, 9)))
    return g


def straight_through() -> Graph:
    g = graph(Stream(BYTE, (2, 3)))
    g.output("z", g.value("x"))
    return g


def nothing_comes_in() -> Graph:
    g = Graph("g")
    g.output("z", g.add(constant, [], {"value": np.zeros((2, 2), int), "element": BYTE}))
    return g


def operand_missing() -> nx.DiGraph:
    g = nx.DiGraph(rectify())
    g.remove_edge("x", "act")
    return g


WRONG: dict[str, tuple[Callable[[], nx.DiGraph], type[GraphRewriteError], str]] = {
    "a lane is too wide": (too_wide, TypeMismatchError, r"s49f0\[2,3\]: a lane has at most 48 bits; requantise"),
    "a result is too wide": (too_wide_within, TypeMismatchError, r"matvec.*s62f0.*: a lane has at most 48 bits; requ"),
    "a port is too wide": (too_wide_without_component, TypeMismatchError, "a lane has at most 48 bits; requantise"),
    "an input has no type": (without_type, GraphRewriteError, "'x'.*type"),
    "tensors": (tensors, NetlistError, "'r': is abs, which is no component.*lower the graph with to_stream first"),
    "a circle": (circle, NetlistError, r"node '\w+': is on a circle of streams, .* -> .*; break it"),
    "a branch that nobody reads": (nobody_reads, NetlistError, "'fork_1': its stream 1 has no reader; drop it"),
    "an input that nobody reads": (input_that_nobody_reads, NetlistError, "'y': its stream 0 has no reader; drop it"),
    "two readers": (two_readers, NetlistError, "'x': its stream 0 has 2 readers; insert a fork"),
    "no component between": (straight_through, NetlistError, r"x\[0\] -> z\[0\] joins an input .*a fifo\) between"),
    "no input": (nothing_comes_in, NetlistError, "the graph 'g' has no input; a design takes and gives at least one"),
    "no output": (lambda: graph(Stream(BYTE, (2,))), NetlistError, "the graph 'g' has no output; a design takes"),
    "nothing at all": (Graph, NetlistError, "has no input; a design takes and gives at least one stream"),
    "an operand is missing": (operand_missing, GraphRewriteError, "'act'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_refused_wherever_it_is_given(what: str) -> None:
    make, error, told = WRONG[what]
    for use in (emit, lambda g: predict(g, 2), lambda g: simulate(g, {"x": np.zeros((1, 2, 3), int)})):
        with pytest.raises(error, match=told):
            use(make())


def test_a_circle_is_refused_where_buffers_are_put_in() -> None:
    with pytest.raises(GraphRewriteError, match=r"fork_1.* -> .*break it"):
        insert_fifos(insert_forks(circle()))


def test_no_graph() -> None:
    with pytest.raises(GraphError, match="int is not a graph of components"):
        emit(3)  # type: ignore[arg-type]


def test_a_plain_digraph_is_a_graph() -> None:
    plain = nx.DiGraph(rectify())
    assert emit(plain, frames=1) == emit(rectify(), frames=1)
    assert predict(plain, 3).interval == 3
    assert simulate(plain, {"x": -np.ones((1, 2, 3), int)}).values["y"].tolist() == [[[0] * 3] * 2]


def test_frames_that_do_not_fit() -> None:
    with pytest.raises(
        EvaluationError, match=r"the input 'x' holds 300, which is no s8f0; give mantissas of -128 to 127"
    ):
        emit(rectify(), inputs={"x": np.full((1, 2, 3), 300)})
    with pytest.raises(EvaluationError, match=r"'x' is stream s8f0\[2,3\], got an array of shape"):
        emit(rectify(), inputs={"x": np.zeros((1, 3, 3), int)})
    with pytest.raises(EvaluationError, match="there is no frame to simulate; give at least one"):
        emit(rectify(), frames=0)


def test_gates_that_do_not_open() -> None:
    for gates in ({"x": [0]}, {"y": [0, 0]}):
        with pytest.raises(DeadlockError, match=r"never opens.*give a pattern with a 1 in it"):
            emit(rectify(), gates=gates)


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (None, "inputs are NoneType; give a mapping from x to frames"),
        ({"x": np.full((1, 2, 3), 0.5)}, "the input 'x' holds float64, not whole numbers; give mantissas"),
        ({"x": "abc"}, "the input 'x' holds <U3, not whole numbers; give mantissas"),
        ({"x": np.zeros((0, 2, 3), int)}, "there is no frame to simulate; give at least one"),
    ],
)
def test_what_no_design_takes(frames: Any, told: str) -> None:
    with pytest.raises(EvaluationError, match=told):
        simulate(rectify(), frames)


def test_what_is_no_design_is_not_simulated() -> None:
    with pytest.raises(DesignError, match=r"got Graph; call hdl.emit\(graph\) first"):
        cosimulate(rectify())
