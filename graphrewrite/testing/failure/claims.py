"""Claims of properties, as Python code that fails if they do not hold.

In each of them ``before`` is the graph, ``inputs`` are the arrays, and ``{made}`` is the call of the transformation on
``before``.
"""

from __future__ import annotations

__all__ = [
    "ARGUMENT",
    "BITS",
    "DETERMINISTIC",
    "EQUAL",
    "IDEMPOTENT",
    "INTERFACE",
    "IN_FORMAT",
    "NEAR",
    "SAME_EFFECTS",
    "SAME_ORDER",
    "WELL_FORMED",
]

BITS = """\
after = {made}
for name, wanted in evaluate(before, inputs).items():
    found = evaluate(after, inputs)[name]
    assert found.dtype == wanted.dtype
    assert str(found.tolist()) == str(wanted.tolist())  # as text: 0.0 is not -0.0, and NaN is NaN
"""
"""Every output has the same bits, or is NaN as well."""

NEAR = """\
after = {made}
for name, wanted in evaluate(before, inputs).items():
    found = evaluate(after, inputs)[name]
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=0, atol={bound})
"""
"""Every output is near enough."""

EQUAL = """\
after = {made}
for name, wanted in evaluate(before, inputs).items():
    assert same_data(evaluate(after, inputs)[name], wanted)
"""
"""Every output is equal, of which some are no tensors."""

INTERFACE = """\
def interface(graph):
    outputs = [(name, str(graph.result_type(*graph.operands(name)[0]))) for name in graph.outputs]
    return [(name, str(graph.result_type(name))) for name in graph.inputs], outputs

assert interface({made}) == interface(before)
"""
"""Inputs and outputs have the same names, the same order and the same types."""

SAME_ORDER = """\
after = {made}
constants = {node for node, data in before.nodes(data=True) if data.get("type") == "constant"}
for first, second, edge in before.edges(data=True):
    is_order = edge.get("kind", "predicate") not in ("predicate", "overwrite") and constants.isdisjoint((first, second))
    if is_order and first in after and second in after:
        assert second in after.downstream(first)
"""
"""A node that came after another one by a control edge still does, where both are left; constants are at any time."""

WELL_FORMED = """\
verify({made})
"""
"""It raises no error, and the result is well formed."""

IN_FORMAT = """\
after = {made}
for node, values in evaluate_nodes(after, inputs, set(after) - set(after.outputs)).items():
    assert out_of_range(after.result_type(node).element, values) is None
"""
"""Every value fits the format that its node declares."""

SAME_EFFECTS = """\
after = {made}
wanted, found = (
    list(map(str, evaluation(graph, inputs, implementations=None).effects)) for graph in (before, after)
)
assert found == wanted
"""
"""The same effects happen, in the same order."""

ARGUMENT = """\
untouched = before.copy()
{made}
assert (list(before), to_text(before, whole=True)) == (list(untouched), to_text(untouched, whole=True))
"""
"""The argument does not change."""

DETERMINISTIC = """\
first, second = {made}, {made}
assert (list(first), to_text(first, whole=True)) == (list(second), to_text(second, whole=True))
"""
"""The same graph has the same result."""

IDEMPOTENT = """\
assert {made} == before
"""
"""Its own result does not change any more."""
