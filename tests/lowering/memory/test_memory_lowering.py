"""Lowering to programs over memory: the same bits, every result in a region of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, evaluate, op, rewrite, verify
from graphrewrite.errors import EvaluationError, ParseError, VerificationError
from graphrewrite.execution.sequence import evaluate_sequence
from graphrewrite.formats.text import to_text
from graphrewrite.lowering import LoweringError, lower_to_memory
from graphrewrite.memory import parse_program, plan_memory, schedule, to_program
from graphrewrite.rules import MEMORY_RULES
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.types import symbols
from tests.support.control_flow import CONTROLLED, controlled_inputs
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


@settings(max_examples=12)
@given(
    graphs(ops=("delay", "register", "counter", "add", "concat")).flatmap(
        lambda graph: st.tuples(st.just(graph), inputs_for(graph))
    )
)
def test_what_nodes_keep_are_variables(case):
    graph, inputs = case
    try:
        program = lower_to_memory(graph)
        wanted = evaluate_sequence(graph, inputs, cycles=6)
    except (EvaluationError, LoweringError):
        assume(False)
    fewer = rewrite(program, MEMORY_RULES)
    for each in (program, fewer):
        verify(each)
        found = evaluate_sequence(each, inputs, cycles=6)
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array)
    sized = rewrite(lower_to_memory(graph, sizes=dict.fromkeys(_names(graph), 1)), MEMORY_RULES)
    text = to_program(sized, plan=plan_memory(sized, schedule(sized).order), whole=True)
    again = parse_program(text)
    verify(again)
    plan_memory(again)
    assert [again.annotations(n) for n in again.inputs] == [sized.annotations(n) for n in sized.inputs]


def _names(graph: Graph) -> set[str]:
    return {n for name in graph.inputs for size in graph.result_type(name).shape for n in symbols(size)}


def test_variables_may_follow_each_other():
    g = Graph.parse("""graph g
a = input() {next='a2', initial=1.0} : f32[]
b = input() {next='b2', initial=2.0} : f32[]
y = output(a)
a2 = output(b)
b2 = output(a)""")
    for program in (lower_to_memory(g), rewrite(lower_to_memory(g), MEMORY_RULES)):
        verify(program)
        assert evaluate_sequence(program, {}, cycles=3)["y"].tolist() == [1, 2, 1]
        assert evaluate_sequence(program, {"a": 5}, cycles=3)["y"].tolist() == [5, 2, 5]


def test_graphs_that_nodes_run_are_programs_whose_regions_have_a_place():
    program = lower_to_memory(CONTROLLED)
    fewer = rewrite(program, MEMORY_RULES)
    plan = plan_memory(fewer, schedule(fewer).order)
    text = to_program(fewer, plan=plan, whole=True)
    again = parse_program(text)
    for go in (True, False):
        inputs = controlled_inputs(go=go)
        wanted = evaluate(CONTROLLED, inputs)
        for each in (program, fewer, again):
            verify(each)
            for name, array in evaluate(each, inputs).items():
                np.testing.assert_array_equal(array, wanted[name])
    assert schedule(fewer).peak == plan.bound
    for node, room in plan.workspaces.items():
        assert room.size == max(inner.size for inner in plan.nested[node].values())
        assert f"{node}: {fewer.nodes[node]['of']} at {room.offset} @out" in text
    assert "@inout x -> o : f32[2,3]" in text  # an iteration hands it to the next one
    assert "  h: tanh @out x, @in x\n}" in text  # and computes it there, where it may
    assert Graph.parse(to_text(fewer, whole=True)) == fewer


def test_a_program_that_a_node_runs_is_verified():
    program = lower_to_memory(CONTROLLED)
    body = program.nodes["l"]["body"].copy()
    body.remove_edge("three", "go")
    body.add_edge("go_region", "go", slots=((0, 0), (2, 0)))
    program.nodes["l"]["body"] = body.as_body()
    with pytest.raises(VerificationError, match="node 'l': its body: node 'go'"):
        verify(program)


def test_predicates_and_annotations_stay():
    g = Graph.parse("graph g\np = input() : bool[N]\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    g.set_predicate("r", "p")
    g.nodes["r"]["latency"] = 3
    program = lower_to_memory(g)
    assert program.predicate("r") == ("p", 0)
    assert program.nodes["r"]["latency"] == 3


def test_counters_of_any_width_begin_again():
    program = lower_to_memory(Graph.parse("graph g\nc = counter(element=s20f0)\ny = output(c)"))
    state = np.array([7, 2**19 - 1], np.int32)
    assert [int(evaluate(program, {"c_state": np.int32(each)})["c_after"]) for each in state] == [8, -(2**19)]


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
        ("graph g\nc = counter(element='f32')\ny = output(c)", "give it an element of whole numbers"),
        (
            "graph g\nx = input() : f32[2]\nn = input() : i64[]\ngo = constant(value=True) : bool[]\n"
            "l = loop(n, go, x, body=body(b))\ny = output(l)\n\nbody b\ni = input() : i64[]\n"
            "x = input() : f32[2]\nc = constant(value=True) : bool[]\na = output(c)\nb = output(x)\nd = output(x)",
            "a loop of a constant number of iterations",
        ),
        (
            "graph g\nx = input() : f32[2]\np = input() : bool[]\nl = cond(p, x, then=body(b), otherwise=body(b))\n"
            "y = output(l)\n\nbody b\nx = input() : f32[2]\nn = nonzero(x)\ns = reduce_max(n, axes=[1])\n"
            "t = reduce_max(s, axes=[0])\na = output(t)",
            "its then has no program: node 'n': gives",
        ),
    ],
)
def test_what_has_no_place_in_memory_is_refused(text, said):
    with pytest.raises(LoweringError, match=said):
        lower_to_memory(Graph.parse(text))


def test_a_state_that_only_an_op_knows_is_refused():
    total = define_op(lambda x: x, name="total", infer=lambda x: x, step=lambda state, x: (x, x))
    g = Graph.parse("graph g\nx = input() : f32[N]\nt = total(x)\ny = output(t)", ops=[total])
    with pytest.raises(LoweringError, match="node 't': total keeps a state that only it knows; make that an input"):
        lower_to_memory(g)


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
