"""Random networks of components, end to end: values and cycles equal GHDL, with stalls on both sides."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor
from functools import partial
from itertools import islice

import pytest

from graphrewrite.hdl import cosimulate, emit, predict
from tests.hdl.configurations import BY_NAME
from tests.support.growing_designs import GROWTH, INSERTED, network, with_other_stores

PARTS = 10


def difference(seed: int, number: int) -> str:
    """Say in what GHDL and the prediction differ on a random network; nothing if they are equal."""
    graph, _ = network(seed, number)
    if number % 3 == 1:
        graph = with_other_stores(graph, seed, number)
    report = cosimulate(emit(graph, frames=2 + number % 4, seed=number))
    return "" if report.equal else f"--hdl-seed={seed}, network {number}: {report}\n{graph}"


@pytest.mark.ghdl
@pytest.mark.parametrize("part", range(PARTS))
def test_values_and_cycles_equal_ghdl(part: int, hdl_seed: int, hdl_networks: int, executor: Executor | None) -> None:
    run, numbers = partial(difference, hdl_seed), range(part, hdl_networks, PARTS)
    if executor is None:
        differences = map(run, numbers)
    else:
        waiting = [executor.submit(run, number) for number in numbers]
        differences = (each.result() for each in waiting)
    for found in differences:
        assert not found, found


def test_stores_of_other_depths_slow_a_network_down(hdl_seed: int) -> None:
    def is_slower(number: int) -> bool:
        graph, _ = network(hdl_seed, number)
        other = with_other_stores(graph, hdl_seed, number)
        return predict(other, 12).interval > predict(graph, 12).interval

    # How often depends on the seed: about one network in three.
    assert sum(islice(filter(None, map(is_slower, range(1, 240, 3))), 3)) == 3


def test_the_networks_have_branches_joins_and_all_components(hdl_seed: int) -> None:
    kinds: Counter[str] = Counter()
    shapes: Counter[str] = Counter()
    for number in range(2 * len(GROWTH)):
        graph, grown = network(hdl_seed, number, fifos=False)
        assert len(grown) <= 20
        kinds.update(grown)
        types = [data["type"] for _, data in graph.nodes(data=True)]
        shapes["branches"] += "fork" in types
        shapes["inputs"] += len(graph.inputs) > 1
        shapes["outputs"] += len(graph.outputs) > 1
        shapes["lanes"] += any(graph.result_type(n).folds > 1 for n in graph if graph.nodes[n]["type"] != "output")
        shapes["deep"] += len(grown) > 15
    assert set(kinds) == set(GROWTH)
    assert min(kinds.values()) >= 3
    assert min(shapes[shape] for shape in ("branches", "inputs", "outputs", "lanes", "deep")) >= 10


def test_every_component_grows() -> None:
    missing = set(BY_NAME) - set(GROWTH) - INSERTED
    assert not missing, (
        f"say in tests/support/growing_designs.py how {', '.join(sorted(missing))} are attached to a value"
    )
