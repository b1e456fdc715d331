from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

from graphrewrite import Constant, Graph, Tensor, decline, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.graph.edit import apply_edit


def written(body: str):
    """A rule of that source, line 1 being the decorator."""
    scope = {"rule": rule, "op": op, "Constant": Constant, "decline": decline, "np": np}
    exec(compile(f"@rule\n{body}", "my_rules.py", "exec"), scope)
    return scope["r"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def r(x):\n  yield op.rellu(x)\n  return x", "unknown op 'rellu'; did you mean 'relu'?"),
        (
            "def r(x, w):\n  yield op.conv(x, w, stridse=2)\n  return x",
            "has no attribute 'stridse'.*did you mean 'stride",
        ),
        ("def r(x):\n  yield op.add(x)\n  return x", "add needs operand 'y'$"),
        (
            "def r(x, w, r):\n  y, h = op.gru(x, w, r)\n  yield y, h\n  return x, x",
            "gru needs operand 'b'; every node has it: a call that leaves it out gives it a neutral value",
        ),
        (
            "def r(x, s, t):\n  yield op.transpose(x, perm=(s, t))\n  return x",
            "has s inside of perm=; bind the attribute as a whole, perm=perm, and take it apart below the yield",
        ),
        ("def r(x, s):\n  yield op.transpose(x, perm=[[s], 1])\n  return x", "has s inside of perm="),
        ("def r(x):\n  yield op.relu(x, x)\n  return x", "relu takes at most 1 operands"),
        ("def r(x, z):\n  yield op.relu(x)\n  return x", "never uses its parameter 'z'"),
        (
            "def r(x):\n  a = op.relu(x)\n  yield op.neg(x)\n  return x",
            "makes relu\\(x\\) above the yield, which is no part",
        ),
        ("def r(p):\n  yield op.reshape(p, shape=p)\n  return p", "uses 'p' both as an operand and as an attribute"),
        ("def r(x):\n  if x: pass\n  yield op.relu(x)\n  return x", "a condition above the yield cannot be decided"),
        ("def r(x):\n  if x > 3: pass\n  yield op.relu(x)\n  return x", "a condition above the yield"),
        ("def r(x, y):\n  if x == y: pass\n  yield op.add(x, y)\n  return x", "a condition above the yield"),
        (
            "def r(x):\n  if x.shape: pass\n  yield op.relu(x)\n  return x",
            "'shape' of a matched node is known only below",
        ),
        ("def r(x):\n  yield op.relu(x)", "returns nothing; return the replacement"),
        ("def r(x):\n  yield op.output(x)\n  return x", "inputs and outputs are the graph's own"),
        ("def r(x):\n  a, b = op.relu(x)\n  yield a\n  return x", "has one result, which cannot be unpacked"),
        ("def r(x):\n  yield op.relu(x), op.relu\n  return x", "which is no op"),
        ("def r(x):\n  a = op.relu(x)\n  yield a, a\n  return x, x", "yields one node twice"),
        ("def r(x):\n  yield ~op.relu(x)\n  return x", "yields nothing"),
        ("def r(x, y):\n  yield op.relu(~op.neg(~op.abs(x)) | y)\n  return y", "a negation inside a negation"),
        ("def r(xs, b=None):\n  yield op.concat(*xs, b, axis=0)\n  return b", "the optional operand 'b' beside"),
        ("def r(xs):\n  yield op.concat(*xs, xs, axis=0)\n  return op.relu(*xs)", "both as one operand and as \\*xs"),
        ("def r(x, w, b=None):\n  yield op.conv(x, b, w)\n  return x", "the optional operand 'b' before one"),
        ("def r(x):\n  yield rule.repeated(x, lambda y: y)\n  return x", "the unit of a pattern must be an op"),
        ("def r(x):\n  yield op.relu(~rule.where(len, 'long'))\n  return x", "negate inside its predicate"),
        ("def r(x):\n  yield op.relu(x)\n  return op.rellu(x)", "unknown op 'rellu'; did you mean 'relu'?"),
        ("def r(x):\n  yield op.relu(x)\n  return op.relu(x, alfa=1)", "its replacement is wrong.*'alfa'"),
        ("def r(x):\n  yield op.relu(x)\n  return op.add(x)", "its replacement is wrong: add needs operand 'y'"),
        ("def r(scale):\n  yield op.relu(scale)\n  return op.neg(scael)", "the name 'scael'; did you mean 'scale'?"),
        ("def r(x):\n  yield op.relu(x)\n  return x, x", "yields 1 nodes and returns 2 values"),
        ("def r(x):\n  return x", "has no yield"),
        ("def r(x):\n  yield op.relu(x)\n  yield op.relu(x)", "yields twice"),
        ("def r(x):\n  yield x\n  return x", "yields x, which is no op"),
        ("def r(x):\n  yield\n  return x", "yields None, which is no op"),
        ("def r(x):\n  yield ()\n  return x", "yields nothing"),
        ("def r(x):\n  return\n  yield op.relu(x)", "returns before its yield"),
        ("def r(x):\n  1 / 0\n  yield op.relu(x)", "fails above its yield: ZeroDivisionError"),
        ("def r(x: int):\n  yield op.relu(x)\n  return x", "does not understand the annotation"),
        (
            "def r(*xs):\n  yield op.concat(*xs, axis=1)\n  return xs",
            "'xs' has a star or a default.*op.concat\\(\\*xs\\)",
        ),
        ("def r(x, y=1):\n  yield op.add(x, y)\n  return x", "'y' has a star or a default"),
    ],
)
def test_a_wrong_rule_is_refused_when_it_is_defined_with_its_name_file_and_line(body, message):
    with pytest.raises(RuleError, match=message) as caught:
        written(body)
    assert str(caught.value).startswith("rule 'r' (my_rules.py:1): ")


@pytest.mark.parametrize("options", [{"keeps": "exakt"}, {"shared": "copy"}])
def test_a_wrong_option_is_refused(options):
    with pytest.raises(RuleError, match="keeps is 'exact', 'rounding' or 'assumes', and shared is 'refuse', 'keep' or"):

        @rule(**options)
        def r(x):
            yield op.relu(x)
            return x


RELU = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def r(x):\n  yield op.relu(x)\n  if x.readers: return\n  return x", "returns nothing"),
        ("def r(x):\n  yield op.relu(x)\n  return np.ones(2), x", "yields 1 nodes and returns 2 values"),
        ("def r(x):\n  yield op.relu(x)\n  return 1 / 0", "fails below its yield, at 'r': ZeroDivisionError"),
        ("def r(x):\n  yield op.relu(x)\n  return x.value", "'x': has no value to read.*annotate.*Constant"),
        ("def r(x):\n  n = op.relu(x)\n  yield n\n  return n.alpha", "has no attribute 'alpha'"),
        ("def r(x):\n  yield op.relu(x)\n  return op.reshape(x, shape=(0, 1, 2))", "a rewrite keeps types"),
        ("def r(x):\n  yield op.relu(x)\n  return op.matmul(x, x)", "failed at 'r': matmul"),
        ("def r(x):\n  yield op.relu(x)\n  return np.zeros(3)", "a rewrite keeps types"),
    ],
)
def test_a_wrong_replacement_is_refused_at_its_match_and_leaves_the_graph(body, message):
    found = written(body)
    before = str(RELU)
    with pytest.raises((RuleError, RewriteError), match=message) as caught:
        found(RELU)
    assert "rule 'r' (my_rules.py:1): " in str(caught.value)
    assert str(RELU) == before


@rule
def fuse(x, c, d):
    """Fused multiply-add."""
    yield op.add(op.mul(x, c), d)
    return op.fma(x, c, d)


@rule
def double(x):
    """x + x"""
    yield op.add(x, x)
    return op.mul(x, 2)


@rule
def unscale(x):
    """x * 1"""
    product = op.mul(x, 1)
    yield product
    return x if x.type == product.type else decline("it broadcasts", at=x)


@rule
def scale(x, c: Constant):
    """A constant factor."""
    yield op.mul(x, c)
    return op.mul(c.value * 2, op.mul(x, 0.5))


@rule
def pool_by_two(x, k):
    """Kernel and strides alike."""
    pool = op.max_pool(x, kernel=k, strides=k)
    yield pool
    return op.max_pool(x, like=pool)


@rule
def unit_stride(x):
    """Attributes by value."""
    yield op.max_pool(x, kernel=(2, 2), strides=(1, 1))
    return x


@rule
def diamond(x):
    """One node on two paths."""
    inner = op.neg(x)
    yield op.mul(op.relu(inner), op.abs(inner))
    return op.neg(x)


@pytest.mark.parametrize(
    ("tested", "lines", "at", "sentence"),
    [
        (fuse, "a = relu(x)", "a", "'a' is relu, and the pattern needs add"),
        (fuse, "a = add(x, x)", "a", "'x' is input, and the pattern needs mul"),
        (
            fuse,
            "m = mul(x, x)\na = add(m, x)\nb = neg(m)",
            "a",
            "'m' would disappear, but 'b' outside the match reads it",
        ),
        (
            fuse,
            "m = mul(x, x)\na = add(m, x)\nz = output(m)",
            "a",
            "'m' would disappear, but 'z' outside the match reads it",
        ),
        (double, "m = neg(x)\na = add(x, m)", "a", "'m' is not 'x', which x stands for already"),
        (unscale, "a = mul(x, x)", "a", "'x' is input, and the pattern needs the constant 1"),
        (unscale, "c = constant(value=[1.0, 2.0]) : f32[2]\na = mul(x, c)", "a", "'c' is a constant, but not 1"),
        (unscale, "c = constant(value=[[[1.0]]]) : f32[1,1,1]\na = mul(x, c)", "a", "'x' declined: it broadcasts"),
        (scale, "a = mul(x, x)", "a", "'x' is input, and 'c' must be a constant"),
        (
            diamond,
            "n = neg(x)\nm = neg(x)\nr = relu(n)\nb = abs(m)\na = mul(r, b)",
            "a",
            "needs the same neg here as before, 'n'",
        ),
        (diamond, "n = neg(x)\nr = relu(n)\na = mul(r, r)", "a", "'r' is relu, and the pattern needs abs"),
    ],
)
def test_explain_names_the_furthest_point_and_the_first_obstacle(tested, lines, at, sentence):
    graph = Graph.parse(f"graph g\nx = input() : f32[N,2]\n{lines}\ny = output({at})")
    assert tested.find(graph) == []
    text = tested.explain(graph, at=at)
    assert text.startswith(f"{tested.name} does not match at {at!r}: ")
    assert sentence in text


@pytest.mark.parametrize(
    ("tested", "call", "sentence"),
    [
        (pool_by_two, "max_pool(x, kernel=[2, 2])", "strides is (1, 1), and 'k' is already bound to (2, 2)"),
        (unit_stride, "max_pool(x, kernel=[2, 2], strides=[2, 2])", "strides is (2, 2), and the pattern needs (1, 1)"),
    ],
)
def test_explain_names_the_attribute(tested, call, sentence):
    graph = Graph.parse(f"graph g\nx = input() : f32[N,1,4,4]\np = {call}\ny = output(p)")
    assert sentence in tested.explain(graph, at="p")


def test_explain_says_where_a_rule_matches_and_suggests_nodes():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = add(x, x)\ny = output(a)")
    assert double.explain(graph, at="a").startswith("double matches at 'a': double at a with x=")
    with pytest.raises(Exception, match="is not in the graph"):
        double.explain(graph, at="b")


def test_commutative_operands_match_in_both_orders_and_others_do_not():
    left = Graph.parse("graph g\nx = input() : f32[N]\nm = mul(x, x)\na = add(m, x)\ny = output(a)")
    right = Graph.parse("graph g\nx = input() : f32[N]\nm = mul(x, x)\na = add(x, m)\ny = output(a)")
    assert str(fuse(left)) == str(fuse(right))

    @rule
    def from_negative(x, y):
        yield op.sub(op.neg(x), y)
        return op.neg(op.add(x, y))

    graph = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\ns = sub(x, n)\ny = output(s)")
    assert from_negative.find(graph) == []


def test_both_orders_of_two_equal_candidates_are_found_once_each():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = mul(x, x)\nb = mul(x, x)\nc = add(a, b)\ny = output(c)")

    @rule(shared="keep")
    def loose(p, q, d):
        yield op.add(op.mul(p, q), d)
        return op.fma(p, q, d)

    found = [(m.nodes, m.bindings["d"].node) for m in loose.find(graph)]
    assert found == [(("a", "c"), "b"), (("b", "c"), "a")]


def test_a_constant_s_array_is_known_below_the_yield():
    graph = Graph.parse("graph g\nx = input() : f32[N]\nc = constant(value=3.0) : f32[]\nm = mul(x, c)\ny = output(m)")

    @rule
    def as_sum(x, c: Constant):
        yield op.mul(x, c)
        return op.add(x, np.float32(c.value + 1))

    assert evaluate(as_sum(graph), {"x": [1]})["y"].tolist() == [5]


def test_attributes_are_captured_and_carried_over():
    graph = Graph.parse(
        "graph g\nx = input() : f32[N,1,4,4]\np = max_pool(x, kernel=[2, 2], strides=[2, 2])\ny = output(p)"
    )
    assert pool_by_two.find(graph)[0].bindings["k"] == (2, 2)

    @rule
    def by_hand(x, k, s):
        yield op.max_pool(x, kernel=k, strides=s)
        return op.max_pool(op.identity(x), kernel=k, strides=s, pads=(0, 0, 0, 0))

    made = rewrite_once(by_hand, graph)
    assert made.attributes("max_pool_1")["strides"] == (2, 2)


def rewrite_once(found, graph):
    with pytest.raises(RewriteError, match="do not end"):
        rewrite(graph, [found], limit=5)
    new = graph.copy()
    match = found.find(new)[0]
    apply_edit(new, found.edit(new, match))
    return new


def test_an_outside_reader_keeps_a_node_only_where_the_rule_says_so():
    text = "graph g\nx = input() : f32[N]\nm = mul(x, x)\na = add(m, x)\nn = neg(m)\ny = output(a)\nz = output(n)"
    graph = Graph.parse(text)
    assert fuse(graph) == graph

    @rule(shared="keep")
    def fuse_and_keep(x, c, d):
        yield op.add(op.mul(x, c), d)
        return op.fma(x, c, d)

    made = fuse_and_keep(graph)
    assert "m" in made
    assert "a" not in made
    assert evaluate(made, {"x": [3]}) == evaluate(graph, {"x": [3]})


def test_several_roots_are_replaced_at_once():
    @rule
    def swap(x):
        a, b = op.relu(x), op.abs(x)
        yield a, b
        return b, a

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = abs(x)\ny = output(a)\nz = output(b)")
    with pytest.raises(RewriteError, match=r"do not end.*swap"):
        swap(graph)
    match = swap.find(graph)[0]
    apply_edit(graph, swap.edit(graph, match))
    assert {n: graph.operands(n)[0].node for n in "yz"} == {"y": "b", "z": "a"}


def test_a_replacement_that_would_close_a_cycle_is_refused():
    @rule
    def merge_sum(x, y):
        yield op.relu(x), op.relu(y)
        total = op.maximum(x, y)
        return total, total

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nn = neg(a)\nb = relu(n)\ny = output(b)")
    assert merge_sum(graph) == graph
    assert "read a value that depends on it" in merge_sum.explain(graph, at="a")


def test_a_replacement_may_wrap_the_root():
    @rule
    def wrap(x):
        root = op.neg(x)
        yield root
        return op.abs(op.relu(root))

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\ny = output(a)")
    match = wrap.find(graph)[0]
    apply_edit(graph, wrap.edit(graph, match))
    verify(graph)
    assert str(graph).splitlines()[2:] == [
        "a = neg(x) : f32[N]",
        "relu_1 = relu(a) : f32[N]",
        "abs_1 = abs(relu_1) : f32[N]",
        "y = output(abs_1)",
    ]


def test_values_are_equal_where_they_are_one_and_are_no_numbers():
    @rule
    def doubled(x, y):
        yield op.add(x, y)
        return op.mul(x, 2.0) if x == y else decline("two values")

    text = "graph g\nx = input() : f32[N]\nw = input() : f32[N]\ns = add(x, {}) : f32[N]\ny = output(s)"
    one, two = Graph.parse(text.format("x")), Graph.parse(text.format("w"))
    assert [data["type"] for data in rewrite(one, [doubled]).nodes.values()].count("mul") == 1
    assert rewrite(two, [doubled]) == two


@pytest.mark.parametrize("comparison", ["c == 0", "c != 0", "c < 1", "1.0 <= c", "x == np.zeros(3)"])
def test_a_comparison_with_numbers_is_refused(comparison):
    wrong = written(f"def r(x, c: Constant):\n  yield op.sub(x, c)\n  return x if {comparison} else decline('no')")
    graph = Graph.parse(
        "graph g\nx = input() : f32[N]\nc = constant(value=0.0) : f32[]\ns = sub(x, c) : f32[N]\ny = output(s)"
    )
    with pytest.raises(RuleError, match=r"at 's': a value of the graph is compared.*\(c.value == 0\).all\(\)"):
        rewrite(graph, [wrong])


def test_a_decline_says_why():
    assert decline("no").reason == "no"
    graph = Graph("g")
    graph.output("y", graph.input("x", Tensor("f32", ("N",))) * np.ones((3, 1), np.float32))
    assert "it broadcasts" in unscale.explain(graph, at="mul_1")
    assert str(unscale) == "unscale: mul(x, 1)"
    with pytest.raises(RuleError, match=r"has no \{\} for 'mul_1'; where that is the node, write at="):
        decline("it broadcasts", "mul_1")


def test_an_annotation_that_a_type_checker_understands_narrows_as_well():
    @rule
    def double(x: Annotated[Any, rule.where(lambda v: len(v.shape) == 2, "it is a matrix")], c: Annotated[Any, {2.0}]):
        yield op.mul(x, c)
        return op.add(x, x)

    g = Graph("g")
    x, z = g.input("x", Tensor("f32", ("N", 3))), g.input("z", Tensor("f32", ("N",)))
    two, three = np.array(2.0, np.float32), np.array(3.0, np.float32)
    for index, product in enumerate((op.mul(x, two), op.mul(z, two), op.mul(x, three))):
        g.output(f"y{index}", product)
    (match,) = double.find(g)
    assert g.operands(match.nodes[0])[0].node == "x"
