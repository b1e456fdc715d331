"""Designs with components that have no input."""

import numpy as np
import pytest

from graphrewrite import Graph, hdl
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.constant import constant
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.errors import NetlistError
from graphrewrite.types import FixedPoint, Stream

S6, S8 = FixedPoint(True, 6), FixedPoint(True, 8)
VALUE = np.arange(-6, 6).reshape(4, 3)


def _joined() -> Graph:
    graph = Graph("joined")
    x = graph.input("x", Stream(S8, (4, 3), 2))
    c = graph.add(constant, [], {"value": VALUE, "element": S6, "lanes": 2})
    turned = reshape(reshape(c, shape=(12,), lanes=3), shape=(4, 3), lanes=2)
    once = add(x, c, element=FixedPoint(True, 9))
    graph.output("y", add(once, turned, element=FixedPoint(True, 10)))
    return insert_fifos(insert_forks(graph))


@pytest.mark.ghdl
def test_a_constant_joins_every_frame() -> None:
    graph = _joined()
    x = np.random.default_rng(20260721).integers(-128, 128, (7, 4, 3))
    design = hdl.emit(graph, inputs={"x": x})
    assert hdl.simulate(graph, {"x": x}).values["y"].tolist() == (x + 2 * VALUE).tolist()
    assert hdl.cosimulate(design).equal


def test_a_source_waits_for_nothing() -> None:
    # The beats of the constant are there when those of the input come, and from then on one every cycle.
    graph = Graph("offset")
    c = graph.add(constant, [], {"value": VALUE, "element": S6})
    graph.output("y", add(graph.input("x", Stream(S8, (4, 3))), c, element=FixedPoint(True, 9)))
    found = hdl.simulate(graph, {"x": np.zeros((3, 4, 3), np.int64)})
    assert found.cycles["y"].ravel().tolist() == list(range(2, 11))


def test_an_output_that_depends_on_no_input_is_refused() -> None:
    graph = Graph("endless")
    graph.output("y", clip(graph.input("x", Stream(S8, (4, 3))), low=0))
    graph.output("k", clip(graph.add(constant, [], {"value": VALUE, "element": S6}), low=0))
    with pytest.raises(NetlistError, match=r"'k': depends on no input.*drop this output"):
        hdl.emit(graph)
