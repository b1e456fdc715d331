"""Checks of modules and of graphs in graphs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op, verify
from graphrewrite.errors import VerificationError
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.hierarchy.module import Module
from graphrewrite.rewriting.verification import faults

X = Tensor("f32", ("N", 2))


def network() -> Module:
    module = Module("net")
    x, w = module.placeholder("x", X), module.constant("w", np.ones((2, 2), np.float32))
    block, main = module.add_graph("block"), module.add_graph("main")
    block.output("y", op.linear(x.on(block), w.on(block)))
    main.output("y", op.relu(module.op("block")(x.on(main))))
    main.nodes["relu_1"]["implementation"] = "block"
    return module


def lone_block(name: str = "other") -> Graph:
    graph = Graph(name)
    graph.output("y", graph.input("x", X))
    return graph


def foreign(module: Module) -> None:
    graph_op(lone_block())(module["main"].value("x"))


def cyclic(module: Module) -> None:
    block = module["block"]
    block.ops["main"] = module.op("main")
    block.add_node("again", type="main", result=X, origin=())
    block.add_edge("x", "again", slots=((0, 0),))


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        (lambda m: m["main"].nodes["relu_1"].update(implementation="blok"), "implementations_are_there", "'blok', and"),
        (lambda m: m["block"].nodes["x"].update(result=Tensor("f32", (3, 2))), "placeholders_are_kept", "another type"),
        (lambda m: m["block"].nodes["x"].update(shared="v"), "placeholders_are_kept", "does not have"),
        (lambda m: m["block"].nodes["linear_1"].update(shared="w"), "placeholders_are_kept", "neither a constant nor"),
        (
            lambda m: m["block"].nodes["w"].update(value=np.ones((2, 2), np.float32)),
            "shared_constants_are_kept",
            "remove its `shared`",
        ),
        (
            lambda m: setattr(m["main"], "name", "minor"),
            "graphs_are_the_modules",
            "is named 'minor'; the name of a graph is its key",
        ),
        (foreign, "graphs_are_the_modules", "node 'other_1': is 'other', a graph that is not the module's"),
        (cyclic, "nesting_ends", "contain itself: block -> main -> block"),
        (lambda m: m.__delitem__("block"), "implementations_are_there", "there is no such graph"),
    ],
)
def test_each_fault_is_named(damage, check: str, said: str) -> None:
    module = network()
    verify(module)
    damage(module)
    found = [fault for fault in faults(module) if fault.check == check]
    assert any(said in str(fault) for fault in found), [str(fault) for fault in faults(module)]
    assert all(str(fault).startswith("graph '") for fault in found)
    with pytest.raises(VerificationError, match=re.escape(str(found[0]))):
        verify(module)


def test_a_graph_that_has_gone_is_named_where_it_is_used() -> None:
    module = network()
    del module["block"]
    with pytest.raises(VerificationError, match=r"graph 'main': node 'block_1': .*no graph 'block'"):
        verify(module)


def test_the_graphs_in_a_lone_graph_are_checked() -> None:
    inner, outer, graph = lone_block("inner"), Graph("outer"), Graph("g")
    outer.output("y", graph_op(inner)(outer.input("x", X)))
    graph.output("y", graph_op(outer)(graph.input("x", X)))
    verify(graph)
    inner.add_node("stray", type="no_such_op")
    with pytest.raises(VerificationError, match=r"its graph 'inner': node 'stray': .*no_such_op"):
        verify(graph)
