"""Rules of programs: executed in one block of memory, whose free parts are poison, programs give what graphs give."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, evaluate, rewrite, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.execution.program import compile_graph
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.lowering import lower_to_memory
from graphrewrite.memory import parse_program, plan_memory, schedule, to_program
from graphrewrite.rules import MEMORY_RULES
from graphrewrite.testing import graphs, inputs_for
from tests.support.arena import Arena
from tests.support.programs import COMPUTING, MOVING, has_a_place, texts, written

COUNT = 10_000 if settings.get_current_profile_name() == "slow" else settings().max_examples
"""Random graphs that are lowered, planned and executed."""


def with_inputs(on):
    return on.flatmap(lambda graph: st.tuples(st.just(graph), inputs_for(graph)))


def check(program: Graph, inputs, wanted, order=None) -> None:
    """Verify, evaluate and execute a program; no two regions overlap in space and time."""
    verify(program)
    plan = plan_memory(program, order)
    rooms = list(plan.rooms.values())
    for i, a in enumerate(rooms):
        for b in rooms[:i]:
            is_apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert is_apart or a.end <= b.begin or b.end <= a.begin
    with np.errstate(all="ignore"):
        for found in (computed(program, inputs), Arena(program, plan, inputs).run()):
            for name, array in wanted.items():
                np.testing.assert_array_equal(array, found[name])


def computed(program: Graph, inputs):
    """What the ops' own functions give: kernels of many frames may round sums in another order."""
    with np.errstate(all="ignore"):
        return compile_graph(program, instructions=False)(inputs)


def any_order(graph: Graph, data: st.DataObject) -> list[str]:
    """Any order of the nodes that edges allow."""
    ranks = data.draw(st.permutations(sorted(graph)))
    place = {node: index for index, node in enumerate(ranks)}
    return list(nx.lexicographical_topological_sort(graph, place.__getitem__))


@settings(max_examples=COUNT)
@given(with_inputs((graphs() | graphs(ops=[*MOVING, *COMPUTING])).filter(has_a_place)), st.data())
def test_lowered_programs_keep_what_they_give(case, data):
    graph, inputs = case
    sizes = sizes_of_inputs(
        {n: graph.result_type(n) for n in graph.inputs}, {n: np.asarray(a) for n, a in inputs.items()}
    )
    try:
        program = lower_to_memory(graph, sizes=sizes)
    except TypeMismatchError:
        with pytest.raises(TypeMismatchError):  # a place among so many fixed-point numbers has a format of its own
            graph.with_sizes(sizes)
        assume(False)
    wanted = computed(program, inputs)
    check(program, inputs, wanted)
    fewer = rewrite(program, MEMORY_RULES)
    check(fewer, inputs, wanted)
    check(fewer, inputs, wanted, any_order(fewer, data))
    check(fewer, inputs, wanted, schedule(fewer).order)
    assert plan_memory(fewer).bound <= plan_memory(program).bound or len(fewer) < len(program)


@given(with_inputs(written()), st.data())
def test_written_programs_keep_what_they_give(case, data):
    program, inputs = case
    wanted = computed(program, inputs)
    check(program, inputs, wanted)
    check(program, inputs, wanted, any_order(program, data))
    fewer = rewrite(program, MEMORY_RULES)
    check(fewer, inputs, wanted)
    check(fewer, inputs, wanted, any_order(fewer, data))


@given(texts())
def test_the_text_of_a_program_comes_back(text):
    first = to_program(parse_program(text), whole=True)
    second = parse_program(first)
    verify(second)
    again = to_program(second, whole=True)
    assert to_program(parse_program(again), whole=True) == again
    placed = to_program(second, plan=plan_memory(second), whole=True)
    assert to_program(read := parse_program(placed), whole=True) == placed
    assert parse_program(to_program(read, whole=True)) == read


def test_empty_values_with_several_readers():
    graph = Graph.parse(
        "graph g\nx = input() : f32[0]\na = neg(x)\nb = neg(a)\nc = abs(a)\ny = output(b)\nz = output(c)"
    )
    program = lower_to_memory(graph)
    inputs = {"x": np.empty(0, np.float32)}
    check(rewrite(program, MEMORY_RULES), inputs, evaluate(graph, inputs))


def test_a_region_of_no_bytes_into_which_nothing_is_written_any_more():
    graph = Graph.parse(
        "graph g\nx = input() : f32[2,0]\na = neg(x)\nb = reshape(a, shape=(0, 2), allow_zero=True)\nc = sigmoid(b)\n"
        "y = output(c)"
    )
    fewer = rewrite(lower_to_memory(graph), MEMORY_RULES)
    assert "a_region" in plan_memory(fewer).rooms
    inputs = {"x": np.empty((2, 0), np.float32)}
    check(fewer, inputs, evaluate(graph, inputs))


def test_a_move_to_where_its_operand_lies_reads_nothing():
    """The store before it goes a step earlier than the move itself: the program is well formed after each step."""
    graph = Graph.parse(
        "graph g\nx = input() : f32[1,1]\nr = alloc(element='f32', shape=[1, 1])\n"
        "s = alloc(element='f32', shape=[1, 1])\na = into(s, x, of='neg')\nb = insert(r, a, starts=[0, 0])\n"
        "c = copy(r, x, ^b:overwrite)\ny = output(c)"
    )
    fewer = rewrite(graph, MEMORY_RULES, verify=True)
    assert sorted(data["type"] for data in fewer.nodes.values()) == ["alloc", "copy", "input", "output"]


@pytest.mark.parametrize(
    "line", ["extract(r, x, starts=[1, 0])", "insert(x, r, starts=[1, 0])", "view(x, shape=['N', 2], offset=2)"]
)
def test_a_part_of_open_size_that_reaches_beyond_is_an_error(line):
    graph = Graph.parse(f"graph g\nx = input() : f32[3,2]\nr = input() : f32[N,2]\na = {line}\ny = output(a)")
    x = np.zeros((3, 2), np.float32)
    for rows in (0, 1, 2):
        evaluate(graph, {"x": x, "r": np.zeros((rows, 2), np.float32)})
    with pytest.raises(EvaluationError, match=r"reaches beyond|are not within"):
        evaluate(graph, {"x": x, "r": x})
