"""Which rules are tried at a node: those that could match there by the types of the node and of its operands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import op, rule
from graphrewrite.rewriting.engine.rule_index import ANY, Entry, Index, entries_of
from tests.support.sources import rule_of

KINDS = st.sampled_from(("neg", "relu", "add", "mul"))
ENTRIES = st.lists(
    st.builds(
        Entry,
        st.integers(0, 9),
        kinds=st.frozensets(KINDS, max_size=2),
        needs=st.frozensets(KINDS, max_size=2),
    ),
    max_size=8,
)
NODES = st.lists(st.none() | KINDS, max_size=4)


@given(ENTRIES, KINDS, NODES)
def test_what_is_tried_is_what_fits_in_the_order_of_the_set(entries, kind, operands):
    nodes = {i: {} if operand is None else {"type": operand} for i, operand in enumerate(operands)}
    index = Index(entries, None)
    here = [e for e in entries if not e.kinds or kind in e.kinds]
    fitting = [e for e in here if not e.needs or e.needs & {operand for operand in operands if operand is not None}]
    for _ in range(2):  # entries of several operands are put together once
        assert list(index.at(kind, nodes, nodes)) == fitting
    always, known = index.by_kind[kind]
    assert list(always) == [e for e in here if not e.needs]
    assert set(known) == {need for e in here for need in e.needs}


def test_an_operand_without_a_type_is_of_any():
    entries = [Entry(i, frozenset({"neg"}), frozenset({ANY})) for i in range(3)]
    assert list(Index(entries, None).at("neg", ["a"], {"a": {}})) == entries
    assert list(Index(entries, None).at("neg", ["a"], {"a": {"type": "relu"}})) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def r(x):\n  yield op.neg(x)\n  return x", [({"neg"}, set(), 0)]),
        ("def r(x):\n  yield (op.neg | op.abs)(x)\n  return x", [({"neg", "abs"}, set(), 0)]),
        ("def r(x):\n  yield rule.any_op(op.relu(x))\n  return x", [(set(), {"relu"}, 0)]),
        ("def r(x):\n  yield op.neg(rule.any_op(x))\n  return x", [({"neg"}, set(), 0)]),
        # The deepest operand says most; of equally deep ones the first.
        ("def r(x, y):\n  yield op.add(op.neg(x), op.abs(op.relu(y)))\n  return x", [({"add"}, {"abs"}, 0)]),
        ("def r(x, y):\n  yield op.add(op.abs(op.relu(y)), op.neg(x))\n  return x", [({"add"}, {"abs"}, 0)]),
        ("def r(x, y):\n  yield op.add(op.neg(x), op.abs(y))\n  return x", [({"add"}, {"neg"}, 0)]),
        (
            "def r(x, y):\n  yield op.neg(op.exp(x)), op.relu(y)\n  return x, y",
            [({"neg"}, {"exp"}, 0), ({"relu"}, set(), 1)],
        ),
        ("def r(x):\n  yield rule.repeated(x, lambda l: op.neg(op.abs(l)))\n  return x", [({"neg"}, {"abs"}, 0)]),
        ("def r(x):\n  yield rule.every(x, lambda w: op.sub(x, w))\n  return [x]", [({"sub"}, set(), 0)]),
        # So do constants, results, and alternatives as far as all of them say something.
        ("def r(x):\n  yield op.add(x, 1)\n  return x", [({"add"}, {"constant"}, 0)]),
        ("def r(x, c: rule.Constant):\n  yield op.add(op.neg(x), c)\n  return x", [({"add"}, {"neg"}, 0)]),
        ("def r(x):\n  yield op.neg(op.exp(x) | op.add(x, 1))\n  return x", [({"neg"}, {"exp", "add"}, 0)]),
        ("def r(x):\n  yield op.add(x | op.exp(x), op.neg(x))\n  return x", [({"add"}, {"neg"}, 0)]),
        (
            "def r(x):\n  yield op.add(op.relu(x), op.mul(op.abs(x) | op.neg(op.exp(x)), 2))\n  return x",
            [({"add"}, {"mul"}, 0)],
        ),
        ("def r(x):\n  a, b = op.top_k(x, k=1)\n  yield op.neg(a)\n  return x", [({"neg"}, {"top_k"}, 0)]),
    ],
)
def test_a_rule_is_entered_at_each_of_its_roots_and_needs_its_deepest_operand(source, expected):
    tested = rule_of(f"@rule\n{source}")
    found = entries_of(tested)
    assert [(set(e.kinds), set(e.needs), e.root) for e in found] == expected
    assert all(e.member is tested and e.attempt is None for e in found)


def test_depth_counts_nodes_and_no_variables():
    @rule
    def deep(x, y):
        yield op.add(op.sub(op.neg(x), y), op.mul(x, op.abs(op.relu(y))))
        return x

    (entry,) = entries_of(deep)
    assert entry.needs == {"mul"}
