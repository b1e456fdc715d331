"""Graphs nested 80 deep, each twice in the next: what looks at paths instead of graphs never ends, or recurses."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest

from graphrewrite import Graph, Module, Tensor, diff, op, verify
from graphrewrite.compare import equals
from graphrewrite.hierarchy.graph_ops import graph_op

DEPTH = 80
T = Tensor("f32", ("N", 2))


def nested(inmost=op.relu, module=None):
    """Return the outermost graph; each has two nodes of the one below, which a module holds or an op of its own."""
    graph = Graph("b0")
    graph.output("y", inmost(op.linear(graph.input("x", T), np.float32([[1, -1], [1, 1]]))))
    for level in range(DEPTH):
        if module is not None:
            module[graph.name] = graph
        below = graph_op(graph) if module is None else module.op(graph.name)
        graph = Graph(f"b{level + 1}")
        graph.output("y", below(below(graph.input("x", T))))
    if module is not None:
        module[graph.name] = graph
    return graph


def test_graphs_are_compared_once_each():
    a, b, c = nested(), nested(), nested(op.neg)
    for names in (True, False):
        assert equals(a, b, names=names)
        assert not equals(a, c, names=names)
        assert a.structure_hash(names=names) == b.structure_hash(names=names) != c.structure_hash(names=names)
    assert not diff(a, b)
    assert {node.name for node in diff(a, c).changed} == {f"b{DEPTH - 1}_1", f"b{DEPTH - 1}_2"}
    verify(a)
    assert not a.has_state
    assert a.summary().graphs[0].multiply_accumulates == 4 * 2**DEPTH
    assert a.summary().graphs[0].parameters == 4


@pytest.mark.parametrize("copied", [deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_copies_do_not_recurse(copied):
    graph = nested()
    new = copied(graph)
    assert new == graph
    inner = new.op(f"b{DEPTH - 1}_1").body
    assert inner is not graph.op(f"b{DEPTH - 1}_1").body
    assert new.op(f"b{DEPTH - 1}_2").body is inner


def test_modules_are_compared_and_drawn_in_linear_time():
    modules = Module("m"), Module("m"), Module("m")
    for module, inmost in zip(modules, (op.relu, op.relu, op.neg), strict=True):
        nested(inmost, module=module)
    a, b, c = modules
    assert a == b != c
    assert not diff(a, b)
    assert len(diff(a, c).graphs) == DEPTH + 1
    verify(a)
    assert f"{4 * 2**DEPTH:,}" in str(a.show())
    assert Module.parse(str(a)) == pickle.loads(pickle.dumps(a)) == deepcopy(a) == a
