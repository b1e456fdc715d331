"""Lowering to programs over memory: the same bits, every result in a region of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import ParseError
from graphrewrite.formats.text import to_text
from graphrewrite.lowering import LoweringError, lower_to_memory
from graphrewrite.testing import graphs, inputs_for
from tests.support.programs import has_a_place

LOWERED = graphs().filter(has_a_place)


@given(LOWERED.flatmap(lambda graph: st.tuples(st.just(graph), inputs_for(graph))))
def test_a_program_gives_the_same_bits(case):
    graph, inputs = case
    program = lower_to_memory(graph)
    verify(program)
    with np.errstate(all="ignore"):
        before, after = evaluate(graph, inputs), evaluate(program, inputs)
    for name, array in before.items():
        assert array.dtype == after[name].dtype
        np.testing.assert_array_equal(array, after[name])


@given(LOWERED)
def test_a_program_is_printed_and_parsed(graph):
    program = lower_to_memory(graph)
    assert Graph.parse(to_text(program, whole=True)) == program
    assert all(program.op(n).level in ("memory", "structure") for n in program)


def test_a_variable_shares_its_region_and_is_read_before_it_is_written():
    g = Graph.parse("""graph g
x = input() : f32[2]
s = input() : f32[2]
new = add(x, s)
d = sub(new, s)
y = output(d)
after = output(new)""")
    program = lower_to_memory(g, inout={"s": "after"})
    verify(program)
    assert program.nodes["after"]["region"] == "s"
    order = program.in_order()
    assert order.index("d") < order.index("after_value")
    given_ = {"x": np.float32([1, 2]), "s": np.float32([3, 4])}
    for name, array in evaluate(g, given_).items():
        np.testing.assert_array_equal(array, evaluate(program, given_)[name])


def test_predicates_and_annotations_stay():
    g = Graph.parse("graph g\np = input() : bool[N]\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    g.set_predicate("r", "p")
    g.nodes["r"]["latency"] = 3
    program = lower_to_memory(g)
    assert program.predicate("r") == ("p", 0)
    assert program.nodes["r"]["latency"] == 3


def test_own_ops_and_layouts_are_computed_as_before():
    g = Graph("g")
    x = g.input("x", Tensor("f32", (1, 4, 4, 2), "NHWC"))
    g.output("y", op.max_pool(x, kernel=(2, 2), strides=(2, 2), pads=(0, 0, 0, 0)))
    program = lower_to_memory(g)
    given_ = {"x": np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)}
    np.testing.assert_array_equal(evaluate(g, given_)["y"], evaluate(program, given_)["y"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("graph g\nx = input() : f32[4]\nn = nonzero(x)\ny = output(n)", "whose size only the run decides"),
        ("graph g\nx = input() : s8f0[N,4]\nd = delay(x, cycles=2)\ny = output(d)", "holds state"),
    ],
)
def test_what_has_no_place_in_memory_is_refused(text, said):
    with pytest.raises(LoweringError, match=said):
        lower_to_memory(Graph.parse(text))


def test_a_variable_is_an_input_and_an_output_of_one_type():
    g = Graph.parse("graph g\nx = input() : f32[2]\nr = reduce_sum(x, axes=[0])\ny = output(r)")
    with pytest.raises(LoweringError, match="did you mean 'x'"):
        lower_to_memory(g, inout={"xx": "y"})
    with pytest.raises(LoweringError, match="its value afterwards"):
        lower_to_memory(g, inout={"x": "y"})


def test_regions_have_the_types_of_results():
    with pytest.raises(ParseError, match="allocate regions of its types"):
        Graph.parse("""graph g
x = input() : f32[2]
a = alloc(element='f32', shape=[3]) : f32[3]
r = into(a, x, of='relu')
y = output(r)""")
