"""Direct access to the dictionaries of graphs: what a look at all nodes tells, and what copies share."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph
from graphrewrite.graph.storage import survey

BODY = Graph.parse("graph body\nx = input() : f32[N]\ny = output(x)")
KEYS = ("type", "result", "origin", "value", "then")
NODES = st.lists(
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["relu", "tanh", (), BODY]), max_size=5), max_size=4
)


def graph_of(nodes: list[dict[str, Any]]) -> Graph:
    graph = Graph("g")
    for i, data in enumerate(nodes):
        graph.add_node(f"n{i}")
        graph.nodes[f"n{i}"].update({key: value for key, value in data.items() if key in KEYS[3:] or value is not BODY})
    return graph


@given(NODES, st.none() | st.sets(st.sampled_from(["relu", "tanh", "neg"])))
def test_a_survey_finds_the_nodes_of_some_types_and_whether_there_are_graphs_in_nodes(nodes, kinds):
    graph = graph_of(nodes)
    found, held = survey(graph, kinds)
    assert found == [n for n, data in graph.nodes.items() if kinds is None or data.get("type") in kinds]
    assert (Graph in held) == bool(list(graph.bodies()))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.booleans())
def test_copies_share_no_array_that_somebody_may_write_to(places, read_only):
    arrays = [np.zeros(2, np.float32), np.zeros((2, 2), np.float32)[0], np.frombuffer(b"12345678", np.float32)]
    arrays[0].flags.writeable = not read_only
    graph = graph_of([{"type": "constant"} for _ in places])
    for data, place in zip(graph.nodes.values(), places, strict=True):
        data["value"] = arrays[place]
    copied = [data["value"] for data in graph.copy().nodes.values()]
    for place, array in zip(places, copied, strict=True):
        assert not array.flags.writeable
        assert (array is arrays[place]) == (place == 2 or (place == 0 and read_only))
        assert array is copied[places.index(place)]  # one that several nodes hold is copied once
    arrays[1][:] = 7
    assert all((array != 7).all() for place, array in zip(places, copied, strict=True) if place == 1)
