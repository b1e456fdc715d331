"""Arrays that come into a graph, a module or a view are theirs: nobody changes them, and none is copied needlessly."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Constant, Graph, IrData, Module, Tensor, define_op, evaluate, op, rewrite, rule
from graphrewrite.execution.program import compile_graph
from graphrewrite.formats import from_dict, load, read_text, save, to_dict, write_text
from graphrewrite.types import arrays_in, handed_over, owned

X = Tensor("f32", ("N", 4))


@define_op
def tabled(x, *, table, nested=()):
    """Rows of a table."""
    return x + table


class Settings(IrData):
    weights: np.ndarray


def graph_of(constant: Callable[[Graph], Any]) -> Graph:
    graph = Graph("g")
    x = graph.input("x", X)
    graph.output("y", op.add(x, constant(graph)))
    return graph


def written(array: np.ndarray) -> Graph:
    """A graph into whose dictionary an array was written, as networkx lets everybody do."""
    graph = graph_of(lambda g: g.constant(np.zeros(4, np.float32), name="c"))
    graph.nodes["c"]["value"] = array
    return graph


def noted(array: np.ndarray) -> Graph:
    graph = graph_of(lambda g: g.constant(np.zeros(4, np.float32)))
    graph.nodes["add_1"]["scales"] = {"of": [array, (array,)]}
    return graph


def assigned(array: np.ndarray) -> Graph:
    graph = graph_of(lambda g: tabled(g.value("x"), table=np.zeros(4, np.float32)))
    graph.node("tabled_1").table = array
    return graph


def replaced(array: np.ndarray) -> Graph:
    @rule
    def give_constant(x):
        yield op.relu(x)
        return op.add(x, array)

    graph = Graph("g")
    graph.output("y", op.relu(graph.input("x", X)))
    return rewrite(graph, [give_constant])


def shared(array: np.ndarray) -> Module:
    module = Module("m")
    module.constant("w", array)
    return module


def changed(array: np.ndarray) -> Module:
    module = shared(np.zeros(4, np.float32))
    graph = module.add_graph("main")
    graph.output("y", module.shared("w").on(graph))
    module.set_constant("w", array)
    return module


def plain(array: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node("c", type="constant", value=array, result=Tensor("f32", (4,)))
    return graph


WAYS_IN: dict[str, Callable[[np.ndarray], Any]] = {
    "constant": lambda array: graph_of(lambda g: g.constant(array)),
    "typed constant": lambda array: graph_of(lambda g: g.constant(array, type=Tensor("f32", (4,)))),
    "operand": lambda array: graph_of(lambda g: array),
    "attribute": lambda array: graph_of(lambda g: tabled(g.value("x"), table=array)),
    "nested attribute": lambda array: graph_of(lambda g: tabled(g.value("x"), table=0, nested={"a": [array]})),
    "view": assigned,
    "record": lambda array: Settings(weights=array).data,
    "rule": replaced,
    "module": shared,
    "changed module": changed,
    "plain digraph": lambda array: Graph(plain(array)),
    "copy": lambda array: written(array).copy(),
    "copy of an annotation": lambda array: noted(array).copy(),
    "rewriting": lambda array: rewrite(written(array), []),
}


def all_arrays(holder: Any) -> list[np.ndarray]:
    if isinstance(holder, dict):
        return list(arrays_in(holder))
    graphs = holder.values() if isinstance(holder, Module) else (holder,)
    own = holder.constants.values() if isinstance(holder, Module) else ()
    return [*own, *arrays_in([dict(graph.nodes(data=True)) for graph in graphs])]


FORMS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], bool]] = {
    "writable": (lambda a: a, True),
    "view": (lambda a: np.concatenate([a, a])[4:], True),
    "read-only view of a writable array": (lambda a: _locked(np.concatenate([a, a])[4:]), True),
    "memory of somebody else's": (lambda a: _locked(np.frombuffer(bytearray(a.tobytes()), a.dtype)), True),
    "read-only": (lambda a: handed_over(a.copy()), False),
    "bytes": (lambda a: np.frombuffer(a.tobytes(), a.dtype), False),
}
"""How an array comes, and whether somebody may still write to it."""


def _locked(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("form", FORMS)
def test_what_comes_in_is_copied_if_somebody_may_write_to_it(way: str, form: str) -> None:
    made, is_changeable = FORMS[form]
    array = made(np.arange(1, 5, dtype=np.float32))
    held = [each for each in all_arrays(WAYS_IN[way](array)) if np.array_equal(each, [1, 2, 3, 4])]
    assert held
    for each in held:
        assert not each.flags.writeable
        assert np.shares_memory(each, array) != is_changeable
        assert owned(each) is each


def read_again(thing: Any, folder: Path) -> list[Any]:
    save(thing, folder / "g.json")
    save(thing, folder / "h.json", arrays="npz")
    write_text(thing, folder / "g.txt")
    paths = folder / "g.json", folder / "h.json"
    return [*map(load, paths), read_text(folder / "g.txt"), from_dict(to_dict(thing))]


def test_what_comes_out_is_read_only(tmp_path: Path) -> None:
    seen = []

    @rule
    def look(x, c: Constant):
        yield op.add(x, c)
        scaled = op.mul(c, 2)
        seen.extend([c.value, scaled.value])
        return op.sub(x, op.neg(scaled))

    for size in (4, 1 << 18):  # large arrays are mapped, or views of bytes
        graph = Graph("g")
        graph.output("y", op.add(graph.input("x", X), graph.constant(np.arange(size, dtype=np.float32)[-4:], name="c")))
        graph.output("z", graph.constant(np.arange(size, dtype=np.float32), name="d"))
        graphs = [
            *read_again(graph, tmp_path),
            *([Graph.parse(str(graph))] if size == 4 else []),
            copy.deepcopy(graph),
            pickle.loads(pickle.dumps(graph)),
        ]
        for each in (*graphs, rewrite(graph, [look])):
            arrays = all_arrays(each)
            assert arrays
            assert all(owned(array) is array for array in arrays)
        with pytest.raises(ValueError, match="read-only"):
            graph.node("add_1").y[0] = 1
    for array in seen:
        with pytest.raises(ValueError, match="read-only"):
            array *= 2


def test_evaluation_hands_out_nothing_that_a_later_one_reads() -> None:
    graph = written(np.ones(4, np.float32))
    graph.output("z", graph.value("c"))
    graph.output("folded", op.exp(graph.value("c")))
    program = compile_graph(graph)
    for evaluated in (lambda: evaluate(graph, {"x": np.zeros((1, 4))}), lambda: program({"x": np.zeros((1, 4))})):
        first = evaluated()
        for array in first.values():
            if array.flags.writeable:
                array *= 5
        again = evaluated()
        assert [float(again[name].flat[0]) for name in graph.outputs] == [1, 1, float(np.exp(np.float32(1)))]
