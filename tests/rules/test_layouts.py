"""Transposes of networks with channels last, moved where they cancel."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given

from graphrewrite import Graph, evaluate, rewrite
from graphrewrite.rules import FEWER_TRANSPOSES, FOLDING, REARRANGE_LAST, RULES
from graphrewrite.rules.layouts import cancel_transposes, cancel_transposes_of_sums
from tests.support.profiles import fewer_examples
from tests.support.transposed_networks import between_transposes


def _counts(graph: Graph) -> Counter[str]:
    return Counter(graph.nodes[n]["type"] for n in graph)


def _rearrangements(graph: Graph) -> int:
    return _counts(graph)["transpose"] + _counts(graph)["reshape"]


@given(between_transposes())
def _never_more(graph: Graph) -> None:
    made = rewrite(graph, cancel_transposes_of_sums)
    if made != graph:
        assert _rearrangements(made) < _rearrangements(graph)


def test_there_are_never_more_transposes():
    with fewer_examples():
        _never_more()


NETWORK = Graph.parse("""graph g
    x = input() : f32[N,8,8,3]
    c = constant(value=[1.0,2.0,3.0]) : f32[3]
    t = transpose(x, perm=[0,3,1,2])
    first = max_pool(t, kernel=[3,3], pads=[1,1,1,1])
    u = transpose(first, perm=[0,2,3,1])
    a = add(u, c)
    r = relu(a)
    p = pad(r, pads=[0,1,2,0,0,1,2,0])
    s = transpose(p, perm=[0,3,1,2])
    second = max_pool(s, kernel=[3,3], pads=[1,1,1,1])
    q = transpose(second, perm=[0,2,3,1])
    m = add(q, p)
    both = concat(q, m, axis=3)
    z = transpose(both, perm=[0,3,1,2])
    y = output(z)
    e = output(r)""")


def test_transposes_around_layers_cancel():
    made = rewrite(NETWORK, (*RULES, cancel_transposes))
    # One at the input, one before the output that shows a value with channels last.
    assert _counts(made)["transpose"] == 2
    x = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    for name, value in evaluate(made, {"x": x}).items():
        np.testing.assert_array_equal(value, evaluate(NETWORK, {"x": x})[name])


def test_a_transpose_that_meets_no_other_stays():
    graph = Graph.parse("""graph g
        x = input() : f32[N,8,8,3]
        t = transpose(x, perm=[0,3,1,2])
        r = relu(t)
        y = output(r)""")
    assert rewrite(graph, (*RULES, *FOLDING, cancel_transposes, cancel_transposes_of_sums)) == graph


def test_layers_that_find_their_axes_by_name_need_no_transposes():
    graph = Graph.parse("""graph g
        x = input() : f32[N,4,4,6] NHWC
        t = transpose(x, perm=[0,3,1,2])
        s = channel_shuffle(t, groups=3)
        p = max_pool(s, kernel=[2,2])
        r = relu(p)
        u = transpose(r, perm=[0,2,3,1])
        y = output(u)""")
    made = rewrite(graph, cancel_transposes, verify=True)
    assert not _rearrangements(made)
    x = np.random.default_rng(0).normal(size=(2, 4, 4, 6)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(made, {"x": x})["y"], evaluate(graph, {"x": x})["y"])


def _with_predicates(perm):
    return Graph.parse(f"""graph g
        x = input() : f32[N,4,4]
        z = input() : f32[N,4,4]
        p = input() : bool[N]
        q = input() : bool[N]
        r = input() : bool[N]
        s = transpose(x, ^p:predicate, perm={perm})
        t = transpose(z, ^q:predicate, perm={perm})
        a = add(s, t, ^r:predicate)
        y = output(a)""")


def test_what_is_computed_before_a_transpose_and_the_transpose_are_needed_where_the_result_was():
    made = rewrite(_with_predicates([0, 2, 1]), cancel_transposes, verify=True)
    assert {made.nodes[n]["type"]: made.predicate(n) for n in made if made.predicate(n)} == {
        "add": ("r", 0),
        "transpose": ("r", 0),
    }
    assert _rearrangements(made) == 1
    graph = _with_predicates([1, 0, 2])  # samples are elsewhere before
    assert rewrite(graph, cancel_transposes) == graph


def test_a_transpose_back_that_is_seldom_needed_serves_no_other_reader():
    graph = Graph.parse("""graph g
        x = input() : f32[N,4,4]
        z = input() : f32[N,4,4]
        p = input() : bool[N]
        s = transpose(x, perm=[0,2,1])
        b = transpose(z, ^p:predicate, perm=[0,2,1])
        a = add(s, z)
        u = transpose(a, perm=[0,2,1])
        y = output(u)
        w = output(b)""")
    made = rewrite(graph, cancel_transposes, verify=True)
    reads = {made.nodes[o.node]["type"]: made.predicate(o.node) for n in made if made.nodes[n]["type"] == "add"
             for o in made.operands(n)}  # fmt: skip
    assert reads == {"input": None, "transpose": None}
    assert _rearrangements(made) == 2


def test_means_and_softmax_are_passed_within_rounding():
    graph = Graph.parse("""graph g
        x = input() : f32[N,3,8,8]
        t = transpose(x, perm=[0,2,3,1])
        m = reduce_mean(t, axes=[1,2])
        d = sub(t, m)
        s = softmax(d, axis=-1)
        u = transpose(s, perm=[0,3,1,2])
        y = output(u)""")
    assert rewrite(graph, cancel_transposes) == graph
    made = rewrite(graph, cancel_transposes_of_sums)
    assert not _rearrangements(made)
    assert [made.attributes(n).get("axis", made.attributes(n).get("axes")) for n in made.in_order()[1:4]] == [
        (2, 3),
        None,
        1,
    ]


def test_two_by_two_transposes_undo_themselves():
    graph = Graph.parse("""graph g
        x = input() : f32[N,4,5,6]
        h = transpose(x, perm=[0,2,1,3])
        r = relu(h)
        t = transpose(r, perm=[0,2,1,3])
        a = max_pool(t, kernel=[1,1])
        b = transpose(a, perm=[0,2,1,3])
        n = neg(b)
        u = transpose(n, perm=[0,2,1,3])
        y = output(u)""")
    assert not _rearrangements(rewrite(graph, (*RULES, cancel_transposes)))


def test_a_reshape_that_moves_ones_counts_as_a_transpose():
    graph = Graph.parse("""graph g
        x = input() : f32[N,3,8,8]
        t = transpose(x, perm=[0,2,3,1])
        m = global_average_pool(x)
        f = reshape(m, shape=['N',1,1,3])
        p = mul(t, f)
        u = transpose(p, perm=[0,3,1,2])
        y = output(u)""")
    assert not _rearrangements(rewrite(graph, (*RULES, cancel_transposes)))


def test_transposes_that_meet_in_a_sum_are_one():
    graph = Graph.parse("""graph g
        x = input() : f32[N,5,10,15]
        z = input() : f32[N,5,10,15]
        t = transpose(x, perm=[0,3,1,2])
        u = transpose(z, perm=[0,3,1,2])
        a = add(t, u)
        p = pow(a, u)
        y = output(p)""")
    assert _counts(rewrite(graph, cancel_transposes))["transpose"] == 1


def test_a_value_is_transposed_once_before_several_steps():
    graph = Graph.parse("""graph g
        x = input() : f32[N,5,10,15]
        a = relu(x)
        b = neg(x)
        t = transpose(a, perm=[0,3,1,2])
        u = transpose(b, perm=[0,3,1,2])
        y = output(t)
        z = output(u)""")
    assert _counts(rewrite(graph, cancel_transposes))["transpose"] == 1


@given(between_transposes())
def _they_end(graph: Graph) -> None:
    rules = dict.fromkeys((*RULES, *FOLDING, *REARRANGE_LAST, *FEWER_TRANSPOSES))
    made = rewrite(graph, rules)
    assert _counts(rewrite(made, rules)) == _counts(made)


def test_all_rules_about_transposes_end_together():
    with fewer_examples():
        _they_end()


def test_a_constant_stays_behind_a_reshape_that_others_read():
    graph = Graph.parse("""graph g
        x = input() : f32[N,1,1,3]
        c = constant(value=2.0) : f32[]
        r = reshape(x, shape=['N',1,3,1])
        a = add(r, c)
        t = concat(r, r, axis=2)
        y = output(a)
        z = output(t)""")
    assert rewrite(graph, (*RULES, *FOLDING, *FEWER_TRANSPOSES)) == graph
