"""Wrong rules are refuted by small inputs that numpy confirms, right ones proved; of the rest it is said why not."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
import z3

from graphrewrite import Constant, FixedPoint, Graph, Tensor, decline, define_op, op, rewrite, rule
from graphrewrite.errors import MissingDependencyError
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.lowering import LOWER_TO_INTEGER
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.rules import RULES, count_reduced_axes_from_front, drop_requantise, eliminate_dead_nodes
from graphrewrite.testing import prove
from graphrewrite.testing.comparison import compare
from graphrewrite.testing.proof import ufuncs
from graphrewrite.testing.proof.translation import Inputs
from graphrewrite.types import Stream
from tests.quality.wrong_rules.layers import groups_ignored

pytestmark = pytest.mark.slow

NUMBERS = MANTISSAS | {"bool"}


@rule
def swapped_difference(x, y):
    yield op.neg(op.sub(x, y))
    return op.sub(x, y)


@rule
def sign_lost(x):
    yield op.neg(op.neg(x))
    return op.abs(x)


@rule
def absolute_of_the_least(x):
    """The least number has no opposite: its absolute value is negative."""
    yield op.relu(op.abs(x))
    return op.abs(x)


@rule
def rounded_twice(x):
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift < 2 or x.type.element.width > 62:
        return decline("too small a shift")
    return op.requantise(op.requantise(x, shift=1, element=x.type.element), like=narrow, shift=narrow.shift - 1)


@rule
def saturation_ignored(x):
    """Right only where the wider format never saturates."""
    inner = op.requantise(x)
    outer = op.requantise(inner, shift=0)
    yield outer
    return op.requantise(x, shift=inner.shift, element=outer.element)


@rule
def bound_off_by_one(x):
    narrow = op.requantise(x)
    yield narrow
    limit = narrow.element.maximum - 1
    if narrow.element.width == 1 or narrow.high is not None:
        return decline("done")
    return op.requantise(x, like=narrow, high=limit)


@rule
def limits_in_the_wrong_order(x, a, b, c, d):
    yield op.clip(op.clip(x, low=a, high=b), low=c, high=d)
    if None in (a, b, c, d) or a > b or c > d:
        return decline("not four limits in order")
    return op.clip(x, low=max(a, c), high=min(b, d))


@rule
def sign_of_a_shift(x):
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift <= 0:
        return decline("done")
    return op.requantise(x, like=narrow, shift=-narrow.shift)


@rule
def other_operand(x, y):
    total = op.integer_add(x, y)
    yield total
    return op.integer_add(x, x, like=total) if x.type == y.type else decline("another type")


@rule
def shifts_exchanged(x, y):
    total = op.integer_add(x, y)
    yield total
    return op.integer_add(x, y, like=total, shifts=tuple(reversed(total.shifts)))


@rule
def order_lost(x):
    """Rectifying makes equal what was not, and of equal entries arg_max gives the first."""
    place = op.arg_max(x)
    yield place
    return op.arg_max(op.relu(x), like=place)


@rule
def forget_to_reverse(x):
    yield op.transpose(x)
    return x


@rule
def inverse_permutation_forgotten(x):
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return op.transpose(x, perm=tuple(outer.perm[p] for p in inner.perm))


@rule
def reshape_for_transpose(x):
    moved = op.transpose(x)
    yield moved
    return op.reshape(x, shape=moved.shape)


@rule(kind="lowering")
def fraction_ignored(x):
    real = op.from_fixed(x)
    rounded = op.quantise(real)
    yield rounded
    if rounded.fractions is not None:
        return decline("a format for each channel")
    same = op.requantise(x, shift=0, element=rounded.element, low=rounded.low, high=rounded.high)
    return op.from_fixed(same, fraction=rounded.element.fraction, element=real.element)


@rule
def constant_off_by_one(x, c: Constant):
    total = op.add(x, c)
    yield total
    if c.value.dtype.kind not in "iu" or not c.value.any() or x.op_name == "add":
        return decline("not a whole number")
    return op.add(op.add(x, c.value - 1), np.zeros_like(c.value))


@define_op(level="integer", infer=lambda x, *, by: x)
def arithmetic_shift(x, *, by: int = 1):
    """Shift to the right, the sign kept."""
    return x >> by


@define_op(level="integer", infer=lambda x, *, by: x)
def logical_shift(x, *, by: int = 1):
    """Shift to the right, zeros shifted in."""
    return (x.astype(f"u{x.dtype.itemsize}") >> by).astype(x.dtype)


@rule
def logical_for_arithmetic(x):
    shifted = arithmetic_shift(x)
    yield shifted
    return logical_shift(x, by=shifted.by)


WRONG = [
    *(swapped_difference, sign_lost, absolute_of_the_least, saturation_ignored, rounded_twice, bound_off_by_one),
    *(limits_in_the_wrong_order, sign_of_a_shift, other_operand, shifts_exchanged, order_lost),
    *(reshape_for_transpose, fraction_ignored, constant_off_by_one),
    logical_for_arithmetic,
]


def ran(code):
    """Run a test that somebody pasted."""
    pasted = {}
    exec(compile(code, "<pasted>", "exec"), pasted)
    next(value for name, value in pasted.items() if name.startswith("test_"))()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda found: found.name)
def test_a_wrong_rule_is_refuted(wrong):
    proof = prove(wrong, elements=NUMBERS, effort=200_000)
    assert proof.verdict == "refuted", str(proof)
    assert not proof
    found = proof.counterexample
    assert found.rules is wrong
    again = rewrite(found.before, wrong, once=True)  # to the end, some would go on with what they have made
    assert compare(found.before, again, found.inputs, keeps="exact", tolerance=None) is not None
    assert "once=True" in found.code
    with pytest.raises(AssertionError):
        ran(found.code)
    assert str(proof).startswith(f"{wrong.name}: refuted: output y")
    assert sum(np.count_nonzero(array) for array in found.inputs.values()) <= 8  # the rest does not matter


@rule
def relu_of_relu(x):
    yield op.relu(op.relu(x))
    return op.relu(x)


@rule
def distribute(x, y, z):
    """Whole numbers that wrap around are a ring."""
    yield op.mul(x, op.add(y, z))
    if x.type != y.type or y.type != z.type:
        return decline("a broadcast")
    return op.add(op.mul(x, y), op.mul(x, z))


@rule
def twice_taken_away(x):
    yield op.sub(x, op.add(x, x))
    return op.neg(x)


@rule
def shift_twice(x):
    inner = arithmetic_shift(x)
    outer = arithmetic_shift(inner)
    yield outer
    if min(inner.by, outer.by) < 0 or inner.by + outer.by > 127 or x.type.element in ("i32", "i64"):
        return decline("to the left, or beyond what numpy takes for eight bits; z3 gives up on sixty-four")
    return arithmetic_shift(x, by=inner.by + outer.by)


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("right", [relu_of_relu, distribute, twice_taken_away, shift_twice, drop_requantise])
def test_a_right_rule_is_proved(right):
    proof = prove(right, elements=NUMBERS, instances=8)
    assert proof, str(proof)
    assert proof.counterexample is None
    assert 5 < proof.counts["proved"] == len(proof.instances) <= 8
    assert not proof.sampled
    assert "these graphs stand for all in which the rule applies" in proof.assumed[0]
    assert "inputs are of these kinds only: bool, fixed, integer" in proof.assumed


def test_samples_prove_nothing():
    proof = prove(count_reduced_axes_from_front, elements={"integer"}, instances=2)
    assert proof.verdict == "proved for samples"
    assert not proof
    assert any(name.endswith(".axes") for name in proof.sampled)
    assert str(proof).startswith("count_reduced_axes_from_front: proved for samples of ")


def test_floats_may_be_moved():
    @rule
    def merge_flips(x):
        yield op.transpose(op.transpose(x, perm=(1, 0)), perm=(1, 0))
        return x

    proof = prove(merge_flips, elements={"float"}, instances=12)
    assert proof, str(proof)
    assert "f32" in proof.assumed[0]

    @rule
    def forget_a_flip(x):
        yield op.transpose(op.transpose(x, perm=(1, 0)), perm=(1, 0))
        return op.reshape(op.transpose(x, perm=(1, 0)), shape=x.shape)

    assert prove(forget_a_flip, elements={"float"}).verdict == "refuted"


def test_what_one_assumes_is_told():
    proof = prove(drop_requantise, instances=8)
    told = "; ".join(proof.assumed)
    assert "a batch of 2" in told
    assert "attributes are enumerated, not symbolic: requantise element " in told
    assert re.match(
        r"drop_requantise: proved for all values of the inputs.* and the attribute.*requantise.shift "
        r"of \d+ graphs \(ranks? .*\).\n"
        "Assumed:\n- these graphs",
        str(proof),
    )
    assert proof.page.headline.startswith("drop_requantise: proved")
    assert proof.page.assumed == proof.assumed
    assert proof._repr_html_().count("<li>") == len(proof.assumed)


def test_a_notebook_shows_what_refutes_a_rule():
    proof = prove(sign_lost, elements=NUMBERS)
    assert proof.page.headline.startswith("sign_lost: refuted: output y")
    assert proof.page.counterexample == proof.counterexample.page
    assert "a test that fails" in proof._repr_html_()


def test_it_is_deterministic():
    def told(proof):
        return str(proof.instances), proof.assumed, str(proof)

    for found in (twice_taken_away, order_lost):
        first, second = (prove(found, elements=NUMBERS, instances=6) for _ in range(2))
        assert told(first) == told(second)


@define_op(level="integer", infer=lambda x, y: x)
def mixed(x, y):
    """A product, by an identity that is hard to see through."""
    return (x & y) * (x | y) + (x & ~y) * (~x & y)


@rule
def see_through(x, y):
    yield mixed(x, y)
    return op.mul(x, y) if x.type == y.type else decline("a broadcast")


def test_a_solver_that_gives_up_says_on_what():
    graph = Graph("g")
    x, y = (graph.input(name, Tensor("i64", (1,))) for name in "xy")
    graph.output("z", mixed(x, y))
    proof = prove(see_through, [graph], effort=100_000)
    assert proof.verdict == "unknown"
    assert "z3 gave up on mixed : i64[1] after 100,000 units of work" in proof.why


def test_graphs_of_ones_own():
    graph = Graph.parse(
        "graph g\nx = input() : s8f4[N,3]\nd = relu(x)\nr = requantise(x, shift=0, element=s8f4)\ny = output(r)"
    )
    assert prove(eliminate_dead_nodes, [graph])
    assert prove([*RULES], [graph])
    assert "it has no pattern of ops, so give the graphs" in prove(eliminate_dead_nodes).why
    assert prove(LOWER_TO_INTEGER, [graph]).why == "it was applied to none of 1 graphs"


def test_a_lowering_as_a_whole():
    text = """graph g
x = input() : s8f4[N,2]
f = from_fixed(x, fraction=4)
w = constant(value=[[0.5, -1.0], [0.25, 2.0]]) : f32[2,2]
b = constant(value=[0.5, -0.25]) : f32[2]
l = linear(f, w, b)
r = relu(l)
q = quantise(r, element=u6f2)
y = output(q)"""
    proof = prove(lambda graph: rewrite(graph, (*LOWER_TO_INTEGER, *RULES)), [Graph.parse(text)])
    assert proof, str(proof)


def test_a_rule_that_raises_refutes_nothing_and_proves_nothing():
    @rule
    def raises(x):
        yield op.relu(x)
        return x.no_such_thing

    proof = prove(raises, elements=NUMBERS, instances=5)
    assert proof.verdict == "unknown"
    assert "it raises an error instead of rewriting" in proof.why


def test_an_interface_that_changes_is_refuted():
    @rule
    def wider(x):
        yield op.requantise(x, shift=0, element=FixedPoint(True, 4))
        return op.requantise(x, shift=0, element=FixedPoint(True, 5))

    graph = Graph.parse("graph g\nx = input() : s8f0[N]\nr = requantise(x, shift=0, element=s4f0)\ny = output(r)")
    assert not prove(wider, [graph])


def test_a_sign_of_zero_that_is_lost_is_refuted():
    """Minus x plus nothing is 0.0 where x is 0, and minus x is -0.0."""
    lines = "f = from_fixed(x, fraction=1)\nm = neg(f)\nc = constant(value=[{}]) : f32[1]\na = add(m, c)\ny = output(a)"

    @rule
    def drop_zero(x, c: Constant):
        total = op.add(x, c)
        yield total
        return x if total.type == x.type else decline("a broadcast")

    verdicts = [
        prove(drop_zero, [Graph.parse(f"graph g\nx = input() : s4f1[N,1]\n{lines.format(zero)}")]).verdict
        for zero in ("0.0", "-0.0")
    ]
    assert verdicts == ["refuted", "proved"]


@pytest.mark.slow(cases=1)  # two orders of axes have hundreds of ways through inference
@pytest.mark.parametrize("wrong", [forget_to_reverse, inverse_permutation_forgotten], ids=lambda wrong: wrong.name)
def test_what_the_engine_refuses_refutes(wrong):
    assert prove(wrong, elements=NUMBERS, instances=20).verdict == "refuted"


def test_a_replacement_of_another_size_is_refuted():
    @rule
    def strides_forgotten(x):
        pool = op.max_pool(x)
        yield op.identity(pool)
        return op.max_pool(x, like=pool, strides=(1,) * len(pool.kernel))

    proof = prove(strides_forgotten, elements=NUMBERS)
    assert proof.verdict == "refuted"


@pytest.mark.slow(cases=0)
def test_guards_that_few_graphs_pass_are_met():
    """The factors of groups of channels are mixed up: only with two channels and two results a group it shows."""
    assert prove(groups_ignored, elements=NUMBERS, instances=300, effort=100_000).verdict == "refuted"


def test_what_numpy_does_not_confirm_is_not_shown(monkeypatch):
    monkeypatch.setattr(ufuncs, "ELEMENTWISE", {**ufuncs.ELEMENTWISE, np.negative: lambda a, dtype: a})

    @rule
    def minus_minus(x):
        yield op.neg(x)
        return op.sub(op.sub(x, x), x)

    proof = prove(minus_minus, elements=NUMBERS, instances=4)
    assert proof.verdict == "unknown"
    assert re.search("z3 says that neg : .* differ for .*, numpy that they do not", proof.why)


def test_without_z3_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'graphrewrite\[prove\]'"):
        prove(drop_requantise)


@pytest.mark.parametrize("made", [op.register, op.delay])
def test_ops_with_a_state_are_not_proved_by_the_values_of_one_cycle(made):
    @rule
    def state_forgotten(x):
        yield made(x, initial=0)
        return x

    proof = prove(state_forgotten, instances=4)
    assert proof.verdict == "unknown"
    assert "has a state" in proof.why


def test_code_that_asks_for_the_text_of_a_constant_is_not_followed():
    @rule
    def by_its_text(x, c: Constant):
        yield op.bitwise_xor(x, c)
        return op.bitwise_and(x, c) if "77" in str(c.value) else op.bitwise_xor(c, x)

    assert prove(by_its_text, instances=4).verdict != "proved"


@define_op(level="nn", infer=lambda x: x)
def in_capitals(x):
    """Write texts in capitals."""
    return np.char.upper(x)


def test_texts_are_no_numbers_that_z3_knows():
    @rule
    def once(x):
        yield in_capitals(in_capitals(x))
        return in_capitals(x)

    graph = Graph("g")
    graph.output("y", in_capitals(in_capitals(graph.input("x", Tensor("string", ("N",))))))
    proof = prove(once, [graph])
    assert proof.verdict == "unknown"
    assert "an entry of string is no number" in proof.why
    assert prove(once, instances=3).verdict == "unknown"


def test_what_z3_refuses_is_unknown(monkeypatch):
    def refuse(graph, batch=2):
        raise z3.Z3Exception("sort mismatch")

    monkeypatch.setattr(Inputs, "of", refuse)
    proof = prove(drop_requantise, instances=2)
    assert proof.verdict == "unknown"
    assert "z3 refuses its terms: sort mismatch" in proof.why


def test_of_streams_the_values_alone_are_proved():
    @rule
    def drop_fifo(x):
        yield fifo(x)
        return x

    graph = Graph("g")
    graph.output("y", fifo(graph.input("x", Stream(FixedPoint(True, 8, 4), (2,))), depth=4))
    proof = prove(drop_fifo, [graph])
    assert proof.verdict == "proved of values"
    assert not proof
    assert str(proof).startswith("drop_fifo: proved of values for all values of the inputs of 1 graph (rank 2).")
    assert "Time is not examined." in str(proof)
    assert any("in which cycles is not examined" in sentence for sentence in proof.assumed)


def test_the_verdict_names_ranks_and_operands():
    @rule
    def drop_identity(x, w, b=None):
        yield op.identity(op.conv(x, w, b))
        return op.conv(x, w, b)

    lines = "x = input() : i8[N,1,2]\nw = input() : i8[1,1,1]\n{}\ni = identity(c)\ny = output(i)"
    graphs = [
        Graph.parse(f"graph g\n{lines.format(text)}")
        for text in ("c = conv(x, w)", "b = input() : i8[1]\nc = conv(x, w, b)")
    ]
    proof = prove(drop_identity, graphs)
    assert "of 2 graphs (ranks 1 | 3; conv of x, w | x, w, b)." in str(proof), str(proof)
    assert "operands that an op may lack or have more of: conv of x, w | x, w, b" in proof.assumed
    assert any("attributes are enumerated, not symbolic: conv dilations" in sentence for sentence in proof.assumed)
