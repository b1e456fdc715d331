"""The whole way of a graph, as a user would go on with it: verify, evaluate, rewrite, print, parse, store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph, Module, evaluate, rewrite, verify
from graphrewrite.formats import to_text
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.hierarchy.graph_ops import nested_ops
from graphrewrite.op.op import Op
from graphrewrite.rules import FOLDING, RULES


def goes_on(
    graph: Graph, inputs: Mapping[str, Any], *, ops: Iterable[Op] = (), implementations: Iterable[Any] = ()
) -> Graph:
    """Take a graph the whole way; return it rewritten."""
    options = {"implementations": tuple(implementations) or None}
    verify(graph)
    before = evaluate(graph, inputs, **options)
    text = to_text(graph, whole=True)
    parsed = Graph.parse(text, ops=[*ops, *nested_ops(graph)])
    assert to_text(parsed, whole=True) == text
    assert parsed == graph
    stored = from_dict(json.loads(json.dumps(to_dict(graph))), ops=ops)
    assert stored == graph
    for each in (parsed, stored):
        assert_equal(evaluate(each, inputs, **options), before, tolerance=0)
    exact = rewrite(graph, RULES, verify=True)
    assert_equal(evaluate(exact, inputs, **options), before, tolerance=0)
    made = rewrite(graph, RULES + FOLDING, verify=True)
    assert_equal(evaluate(made, inputs, **options), before, tolerance=1e-5)
    assert text == to_text(graph, whole=True), "rewriting changed its argument"
    return made


def module_goes_on(module: Module, inputs: Mapping[str, Any]) -> None:
    """Take a module and each of its graphs the whole way."""
    verify(module)
    assert from_dict(json.loads(json.dumps(to_dict(module)))) == module
    assert Module.parse(to_text(module, whole=True)) == module
    for graph in module.values():
        goes_on(graph, {name: inputs[name] for name in graph.inputs})


def assert_equal(found: Mapping[str, Any], wanted: Mapping[str, Any], *, tolerance: float) -> None:
    """Assert that outputs are equal, within a relative tolerance."""
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        least = tolerance * float(
            np.max(np.abs(array), initial=0)
        )  # sums that nearly vanish have the errors of their terms
        np.testing.assert_allclose(np.float64(found[name]), np.float64(array), rtol=tolerance, atol=least, err_msg=name)
