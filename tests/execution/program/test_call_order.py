"""Order of calls: allowed by every edge, never higher than the graph's own, and lower where that is not best."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, define_op
from graphrewrite.execution.program import call_order, compile_graph
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.call_order import ordered
from graphrewrite.memory.ordering import best_order
from graphrewrite.memory.running import peak_of

note = define_op(lambda x: x, name="note", effects=True)


@st.composite
def wide_graphs(draw) -> Graph:
    """Graphs of elementwise ops, views, concats and effects, with edges that carry no values."""
    lines, sizes, past = ["graph g", "x = input() : f32[N,2]"], {"x": 2}, []
    for index in range(draw(st.integers(2, 14))):
        node, a = f"n{index}", draw(st.sampled_from(sorted(sizes)))
        kind = draw(st.sampled_from(["relu", "concat", "slice", "identity", "add", "note"]))
        if kind == "concat":
            b = draw(st.sampled_from(sorted(sizes)))
            lines.append(f"{node} = concat({a}, {b}, axis=1)")
            sizes[node] = sizes[a] + sizes[b]
        elif kind == "slice":
            sizes[node] = draw(st.integers(1, sizes[a]))
            lines.append(f"{node} = slice({a}, starts=(0, 0), ends=('N', {sizes[node]}))")
        else:
            b = draw(st.sampled_from([n for n in sorted(sizes) if sizes[n] == sizes[a]]))
            lines.append(f"{node} = add({a}, {b})" if kind == "add" else f"{node} = {kind}({a})")
            sizes[node] = sizes[a]
        past.append(node)
    for index, node in enumerate(draw(st.lists(st.sampled_from(sorted(sizes)), min_size=1, max_size=3, unique=True))):
        lines.append(f"y{index} = output({node})")
    graph = Graph.parse("\n".join(lines), ops=[note])
    for _ in range(draw(st.integers(0, 2))):
        first, second = sorted(draw(st.lists(st.integers(0, len(past) - 1), min_size=2, max_size=2)))
        if first < second and not graph.has_edge(past[first], past[second]):
            graph.add_control(past[first], past[second])
    return graph


@given(wide_graphs())
def test_orders_are_allowed_and_not_higher(graph):
    nodes = [node for node in graph.in_order() if graph.nodes[node]["type"] != "input"]
    calls = [Call.of(graph, node) for node in nodes]
    found = [call.node for call in ordered(calls, graph, graph.outputs)]
    assert sorted(found) == sorted(nodes)
    place = {node: index for index, node in enumerate(found)}
    assert all(place[a] < place[b] for a, b in graph.edges if a in place)
    effects = [node for node in nodes if node in set(graph.effects)]
    assert effects == sorted(effects, key=place.__getitem__)
    values = call_order._Values(calls, graph.outputs)
    steps = values.steps(graph)
    own, number = max(values.loads()), {node: index for index, node in enumerate(nodes)}
    assert own == peak_of(steps, range(len(nodes)))
    least = peak_of(steps, best_order(steps, 10_000)[0])
    assert max(values.least_at(index) for index in range(len(nodes))) <= least
    assert least <= peak_of(steps, [number[node] for node in found]) <= own


def test_a_program_takes_less_memory_than_the_order_of_its_graph():
    parts = "\n".join(
        f"wide{i} = concat(x, x, x, x, x, x, x, x, axis=1)\nless{i} = reduce_sum(wide{i}, axes=(1,), keepdims=True)"
        for i in range(4)
    )
    # The graph's order has all wide values first.
    lines = sorted(parts.splitlines(), reverse=True)
    total = "a = add(less0, less1)\nb = add(a, less2)\nc = add(b, less3)\ny = output(c)"
    graph = Graph.parse("\n".join(["graph g", "x = input() : f32[N,100]", *lines, total]))
    x = {"x": np.ones((1000, 100), np.float32)}
    program = compile_graph(graph)
    wanted = program(x)
    tracemalloc.start()
    found = program(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found["y"], wanted["y"])
    assert peak < 1.3 * 8 * x["x"].nbytes
