"""Choices, loops and scans: what they compute, their types, and graphs that have graphs among their attributes."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphrewrite import Graph, Module, Tensor, diff, evaluate, op, rewrite, rule, trace, verify
from graphrewrite.cli.tree import tree_of
from graphrewrite.errors import GraphRewriteError, ParseError, SerialError, TypeMismatchError, VerificationError
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.text import to_text
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.op import generic
from graphrewrite.rules import RULES, choose_branch, drop_identity, unroll_loops
from graphrewrite.summary import multiply_accumulates, parameters

DOUBLE = Graph.parse("graph double\nx = input() : f32[N]\ny = add(x, x)\nd = output(y)")
NEGATIVE = Graph.parse("graph negative\nx = input() : f32[N]\ny = neg(x)\nn = output(y)")
SUMS = Graph.parse("""graph sums
i = input() : i64[]
x = input() : f32[N]
step = input() : f32[N]
limit = constant(value=20) : f32[]
s = add(x, step)
most = reduce_max(s, keep_dims=False)
again = less(most, limit)
go_on = output(again)
last = output(s)
each = output(most)
number = output(i)""")
RUNNING = Graph.parse("""graph running
total = input() : f32[]
x = input() : f32[N]
gain = input() : f32[]
row = reduce_sum(x, keep_dims=False)
s = add(total, row)
scaled = mul(x, gain)
last = output(s)
each = output(scaled)""")
GROWING = Graph.parse("""graph growing
i = input() : i64[]
x = input() : f32[K]
y = pad(x, pads=[0, 1])
true = constant(value=1) : bool[]
go_on = output(true)
longer = output(y)""")

vectors = arrays(np.float32, 3, elements=st.integers(-4, 4).map(float))


def three() -> Graph:
    """A choice in it, a loop and a scan."""
    g = Graph("three")
    c, x = g.input("c", Tensor("bool", ())), g.input("x", Tensor("f32", ("N",)))
    chosen = op.cond(c, x, then=DOUBLE, otherwise=NEGATIVE)
    last, *rows = op.loop(np.int64(5), c, chosen, x, body=SUMS, carried=1)
    total, scaled = op.scan(
        np.float32(0), op.unsqueeze(last, axes=[0]), np.float32(2), body=RUNNING, carried=1, backwards=[True]
    )
    for i, value in enumerate((chosen, last, *rows, total, scaled)):
        g.output(f"y{i}", value)
    return g


class TestValues:
    @given(st.booleans(), vectors)
    def test_a_choice_is_one_of_two(self, condition, x):
        found = evaluate(three(), {"c": condition, "x": x})["y0"]
        np.testing.assert_array_equal(found, x + x if condition else -x)

    @given(st.integers(0, 6), st.booleans(), vectors, vectors)
    def test_a_loop_ends_by_its_count_or_condition(self, count, begins, x, step):
        last, each, numbers = op.loop(np.int64(count), np.array(begins), x, step, body=SUMS, carried=1)
        rows, again = [], begins
        while again and len(rows) < count:
            x = x + step
            rows.append(x.max())
            again = x.max() < 20
        np.testing.assert_array_equal(last, x)
        np.testing.assert_array_equal(each, np.array(rows, np.float32))
        assert (numbers.tolist(), numbers.dtype) == (list(range(len(rows))), np.int64)

    def test_without_a_count_or_condition_the_body_ends_a_loop(self):
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N",)))
        g.output("y", op.loop(None, None, x, x, body=SUMS, carried=1)[0])
        assert evaluate(g, {"x": np.array([6, 1], np.float32)})["y"].tolist() == [24, 4]

    @given(st.data())
    def test_a_scan_runs_along_axes_in_directions(self, data):
        length, axis, out = (data.draw(st.integers(0, most)) for most in (4, 1, 1))
        back, turned = data.draw(st.booleans()), data.draw(st.booleans())
        x = data.draw(arrays(np.float32, (length, 3), elements=st.integers(-4, 4).map(float)))
        settings = {"axes": [axis], "backwards": [back], "output_axes": [out], "output_backwards": [turned]}
        total, each = op.scan(
            np.float32(1), np.moveaxis(x, 0, axis), np.float32(3), body=RUNNING, carried=1, **settings
        )
        assert total == 1 + x.sum()
        wanted = 3 * (x[::-1] if back != turned else x)
        np.testing.assert_array_equal(np.moveaxis(each, out, 0), wanted)

    @given(st.integers(0, 4))
    def test_sizes_may_grow(self, count):
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N",)))
        longer = op.loop(np.int64(count), np.bool_(True), x, body=GROWING)
        g.output("y", op.neg(longer))
        verify(g)
        assert Graph.parse(to_text(g)) == g
        assert str(longer.type.shape[0]).startswith("?")
        assert evaluate(g, {"x": [1, 2]})["y"].tolist() == [-1, -2] + [0] * count

    def test_the_branch_that_is_not_taken_does_not_run(self):
        far = "far = constant(value=[99]) : i64[1]\nf = gather(x, far, axis=0)"
        wrong = Graph.parse(f"graph wrong\nx = input() : f32[N]\n{far}\ny = output(f)")
        g = Graph("g")
        c, x = g.input("c", Tensor("bool", (1,))), g.input("x", Tensor("f32", ("N",)))
        g.output("y", op.cond(c, x, then=DOUBLE, otherwise=wrong))
        assert evaluate(g, {"c": [True], "x": [1, 2]})["y"].tolist() == [2, 4]
        with pytest.raises(GraphRewriteError, match="cond_1"):
            evaluate(g, {"c": [False], "x": [1, 2]})


class TestTypes:
    def test_results_that_differ_have_unknown_sizes(self):
        longer = Graph.parse("graph longer\nx = input() : f32[4]\ny = pad(x, pads=[1, 1])\nd = output(y)")
        same = Graph.parse("graph same\nx = input() : f32[4]\ny = output(x)")
        (result,) = op.cond.infer(Tensor("bool", ()), Tensor("f32", (4,)), then=longer, otherwise=same)
        assert not isinstance(result.shape[0], int)
        assert op.cond.infer(Tensor("bool", ()), Tensor("f32", (4,)), then=same, otherwise=same)[0].shape == (4,)

    def test_types_are_those_of_the_operands(self):
        kinds = Tensor("i64", ()), Tensor("bool", ()), Tensor("f32", (4,)), Tensor("f32", (4,))
        last, each, number = op.loop.infer(*kinds, body=SUMS, carried=1)
        assert (last, len(each.shape), number.element) == (Tensor("f32", (4,)), 1, "i64")
        assert each.shape == number.shape
        found = op.scan.infer(
            Tensor("f32", ()), Tensor("f32", (5, "M")), Tensor("f32", ()), body=RUNNING, carried=1, output_axes=[1]
        )
        assert found == (Tensor("f32", ()), Tensor("f32", ("M", 5)))

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda c, x: op.cond(x, x, then=DOUBLE, otherwise=DOUBLE), "the condition must be one entry of bool"),
            (lambda c, x: op.cond(c, then=DOUBLE, otherwise=DOUBLE), r"its then has the inputs x, and 0 values"),
            (lambda c, x: op.cond(c, x, then=op.relu, otherwise=DOUBLE), "cond.then: expected Graph, got Op"),
            (lambda c, x: op.cond(c, x, then=DOUBLE, otherwise=SUMS), "its otherwise has the inputs i, x, step"),
            (lambda c, x: op.loop(3, c, x, x, body=SUMS, carried=1), r"the count must be one entry of i64.*np\.int64"),
            (lambda c, x: op.loop(np.int64(3), c, x, x, body=SUMS, carried=4), "carries 4 values, and 2 are given"),
            (lambda c, x: op.scan(c, x, x, body=RUNNING, carried=3), "carries 3 values and runs along 1"),
            (lambda c, x: op.scan(x, x, x, body=RUNNING, axes=[2]), "there is no axis 2"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, call, message):
        g = Graph("g")
        c, x = g.input("c", Tensor("bool", ())), g.input("x", Tensor("f32", ("N",)))
        with pytest.raises(TypeMismatchError, match=message):
            call(c, x)
        assert set(g) == {"c", "x"}


class TestGraphsAsAttributes:
    def test_they_are_kept_by_copies_and_every_format(self):
        g = three()
        verify(g)
        text = to_text(g, whole=True)
        for other in (
            g.copy(),
            copy.deepcopy(g),
            pickle.loads(pickle.dumps(g)),
            Graph.parse(text),
            from_dict(json.loads(json.dumps(to_dict(g)))),
        ):
            assert other == g
            assert to_text(other, whole=True) == text
            assert other.structure_hash(names=False) == g.structure_hash(names=False)
        assert "cond_1 = cond(c, x, then=body(double), otherwise=body(negative)) : f32[N]" in text.splitlines()

    def test_a_module_keeps_them(self):
        module = Module("net")
        module["main"] = three()
        assert Module.parse(to_text(module, whole=True)) == module
        assert from_dict(to_dict(module)) == module

    def test_two_of_one_name_are_two(self):
        other = NEGATIVE.copy()
        other.name = "double"
        g = Graph("g")
        c, x = g.input("c", Tensor("bool", ())), g.input("x", Tensor("f32", ("N",)))
        g.output("y", op.cond(c, x, then=DOUBLE, otherwise=other))
        assert Graph.parse(str(g)) == g
        assert "otherwise=body(double_1)" in str(g)

    def test_a_change_of_one_is_a_difference(self):
        g, other = three(), three()
        changed = NEGATIVE.copy()
        changed.nodes["y"]["type"] = "relu"
        other.nodes["cond_1"]["otherwise"] = changed
        assert g != other
        assert not g.equals(other, names=False)
        assert [change.name for change in diff(g, other).changed] == ["cond_1"]

    def test_a_node_holds_a_copy_that_cannot_be_changed(self):
        mine = DOUBLE.copy()
        g = Graph("g")
        c, x = g.input("c", Tensor("bool", ())), g.input("x", Tensor("f32", ("N",)))
        g.output("y", op.cond(c, x, then=mine, otherwise=mine))
        mine.nodes["y"]["type"] = "sub"
        assert evaluate(g, {"c": True, "x": [1]})["y"].tolist() == [2]
        with pytest.raises(Exception, match=r"[Ff]rozen"):
            g.nodes["cond_1"]["then"].add_node("z")

    def test_faults_in_one_are_found(self):
        g = three()
        g.nodes["cond_1"]["then"].nodes["y"]["type"] = "rellu"
        with pytest.raises(VerificationError, match=r"node 'cond_1': its then: node 'y': unknown op 'rellu'"):
            verify(g)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("graph g\nx = input() : f32[N]\ny = relu(x, then=body(b))", r"there is no body 'b'"),
            ("body b\nx = input() : f32[N]", "a body comes after the graph that holds it"),
            ("graph g\nx = input() : f32[N]\n\nbody b\ny = input() : f32[N]", "'b' is not nested in 'g'"),
            ("graph g\nx = ?a(b=[body(c)])", "a body is an attribute of its own"),
        ],
    )
    def test_text_without_a_body_is_refused(self, text, message):
        with pytest.raises(ParseError, match=message):
            Graph.parse(text)

    def test_a_document_whose_bodies_do_not_end_is_refused(self):
        data = json.loads(json.dumps(to_dict(three())))
        data["bodies"]["double"]["nodes"]["y"] = {"type": "cond", "then": {"$body": "double"}}
        with pytest.raises(SerialError, match="the body 'double' contains itself"):
            from_dict(data)
        with pytest.raises(SerialError, match="there is no body 'duble'"):
            from_dict(json.loads(json.dumps(to_dict(three())).replace('"$body": "double"', '"$body": "duble"')))


class TestRewriting:
    def nested(self) -> Graph:
        """A choice whose branch holds a loop with an identity in it."""
        body = Graph.parse("""graph body
i = input() : i64[]
x = input() : f32[N]
same = identity(x)
y = add(same, x)
true = constant(value=1) : bool[]
go_on = output(true)
last = output(y)""")
        branch = Graph("branch")
        x = branch.input("x", Tensor("f32", ("N",)))
        branch.output("y", op.loop(np.int64(2), np.bool_(True), op.identity(x), body=body))
        g = Graph("g")
        c, x = g.input("c", Tensor("bool", ())), g.input("x", Tensor("f32", ("N",)))
        g.output("y", op.cond(c, x, then=branch, otherwise=NEGATIVE))
        return g

    @staticmethod
    def inside(graph: Graph) -> list[str]:
        return sorted(data["type"] for each in nested_graphs(graph) for _, data in each.nodes(data=True))

    def test_rules_rewrite_bodies_at_any_depth(self):
        g = self.nested()
        before = str(g)
        rewritten = rewrite(g, [drop_identity], verify=True)
        assert str(g) == before
        assert "identity" in self.inside(g)
        assert "identity" not in self.inside(rewritten)
        for c in (True, False):
            assert evaluate(rewritten, {"c": c, "x": [1, 2]})["y"].tolist() == ([4, 8] if c else [-1, -2])
        found = trace(g, [drop_identity])
        assert (found.graph, [step.rule for step in found.steps]) == (rewritten, ["rewrite_bodies"])

    def test_in_place_they_change_at_once_or_not_at_all(self):
        g, wanted = self.nested(), rewrite(self.nested(), [drop_identity])
        assert rewrite(g, [drop_identity], copy=False) is g
        assert g == wanted

        def fail(x):
            raise ValueError("it fails")

        @rule
        def wrong(x):
            """A rule that fails below its match."""
            yield op.neg(x)
            return fail(x)

        h = self.nested()
        with pytest.raises(GraphRewriteError) as caught:
            rewrite(h, [drop_identity, wrong], copy=False)
        assert "in the otherwise of 'cond_1'" in caught.value.__notes__
        assert h == self.nested()

    def test_at_one_place_only_that_is_rewritten(self):
        g = self.nested()
        assert rewrite(g, [drop_identity], at="cond_1") == g

    def test_a_branch_that_is_known_stands_in_place_of_the_choice(self):
        for c, wanted in ((True, [4, 8]), (False, [-1, -2])):
            g = self.nested()
            true = g.constant(np.bool_(c))
            rewire(g, "c", Operand(true.node))
            g.nodes["cond_1"]["latency"] = 5
            chosen = rewrite(g, (choose_branch, unroll_loops), verify=True)
            assert chosen.annotations(chosen.operands("y")[0].node) == {"latency": 5}
            assert {"cond", "loop"}.isdisjoint(self.inside(chosen))
            assert evaluate(chosen, {"c": True, "x": [1, 2]})["y"].tolist() == wanted

    @given(st.integers(0, 4), st.booleans(), st.booleans())
    def test_unrolled_scans_compute_the_same(self, length, back, turned):
        g = Graph("g")
        total, x = g.input("total", Tensor("f32", ())), g.input("x", Tensor("f32", (3, length)))
        settings = {"axes": [1], "backwards": [back], "output_axes": [1], "output_backwards": [turned]}
        for i, value in enumerate(op.scan(total, x, np.float32(2), body=RUNNING, carried=1, **settings)):
            g.output(f"y{i}", value)
        g.nodes["scan_1"]["latency"] = 5
        unrolled = rewrite(g, unroll_loops, verify=True)
        kept = [unrolled.annotations(unrolled.operands(output)[0].node) for output in g.outputs]
        assert kept == [{"latency": 5}] * 2
        assert ("scan_1" in unrolled) == (length == 0)
        fed = {"total": 1, "x": np.arange(3 * length).reshape(3, length)}
        for name, array in evaluate(g, fed).items():
            np.testing.assert_array_equal(evaluate(unrolled, fed)[name], array)

    def test_what_would_become_large_stays(self):
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N",)))
        body = self.nested().nodes["cond_1"]["then"].nodes["loop_1"]["body"]
        g.output("y", op.loop(np.int64(10_000), np.bool_(True), x, body=body))
        assert rewrite(g, unroll_loops) == g

    def test_a_body_with_state_is_never_folded(self):
        drawn = Graph("drawn", ops=[generic("Draw")])
        drawn.output("y", generic("Draw")(drawn.input("x", Tensor("f32", (2,)))))
        g = Graph("g")
        x = g.constant(np.float32([1, 2]))
        c = g.input("c", Tensor("bool", ()))
        for i in range(2):
            g.output(f"y{i}", op.cond(c, x, then=drawn, otherwise=drawn))
        assert [n for n in rewrite(g, RULES) if n.startswith("cond")] == ["cond_1", "cond_2"]


def test_it_is_counted_and_shown():
    weights = "w = constant(value=[[1, 2], [3, 4], [5, 6]]) : f32[3,2]\ny = linear(x, w)"
    layer = Graph.parse(f"graph layer\nx = input() : f32[N,2]\n{weights}\nd = output(y)")
    same = Graph.parse("graph same\nx = input() : f32[N,2]\ny = pad(x, pads=[0, 0, 0, 1])\nd = output(y)")
    g = Graph("g")
    c, x = g.input("c", Tensor("bool", ())), g.input("x", Tensor("f32", ("N", 2)))
    g.output("y", op.cond(c, x, then=layer, otherwise=same))
    assert (parameters(g, "cond_1"), multiply_accumulates(g, "cond_1")) == (6, 6)
    assert "then = body(layer)" in g.show()._repr_html_()
    tree = tree_of(g)
    labels = [child.label.plain for inside in tree.children for child in inside.children]
    assert labels == ["then: graph layer: 4 nodes", "otherwise: graph same: 3 nodes"]
