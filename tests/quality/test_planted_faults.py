"""Wrong rules, each with one fault that people make: `check` must refute every one, with a small counterexample."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

from graphrewrite import Constant, FixedPoint, Graph, Pass, Rule, decline, define_op, op, pass_, rule
from graphrewrite.pattern import Every, Repeated
from graphrewrite.testing import assert_preserves, check, graphs


@rule
def sign_error(x, y):
    yield op.sub(x, op.neg(y))
    return op.sub(x, y)


@rule
def swapped_operands(x, y):
    yield op.neg(op.sub(x, y))
    return op.sub(x, y)


@rule
def missing_guard_on_broadcasting(x):
    yield op.mul(x, 1)
    return x


@rule
def zero_is_not_neutral(x):
    yield op.add(x, 0)
    return x


@rule
def nan_is_forgotten(x):
    yield op.sub(x, x)
    return op.mul(x, 0)


@rule
def infinity_is_forgotten(x):
    product = op.mul(x, 0)
    yield product
    return op.sub(x, x)


@rule
def negative_is_forgotten(x):
    yield op.abs(x)
    return op.relu(x)


@rule
def order_of_rounding(x, y, z):
    yield op.add(op.add(x, y), z)
    return op.add(x, op.add(y, z))


@rule(keeps="rounding")
def forgotten_bias(x, w, b: Constant):
    yield op.linear(x, w, b)
    return op.linear(x, w)


@rule(keeps="rounding")
def begins_and_ends_of_the_border_swapped(x, w, b: Constant):
    conv = op.conv(x, w, b)
    yield conv
    half = len(conv.pads) // 2
    swapped = op.conv(x, w, like=conv, pads=(*conv.pads[half:], *conv.pads[:half]))
    return op.add(swapped, b.value.reshape(-1, *[1] * half))


@rule(keeps="rounding")
def forgotten_epsilon(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    return op.batch_norm(x, gain, shift, mean, var, epsilon=0.0) if norm.epsilon else decline("done")


@rule(keeps="rounding")
def scale_of_the_bias_forgotten(x, w: Constant, b: Constant, c: Constant):
    layer = op.linear(x, w, b)
    product = op.mul(layer, c)
    yield product
    if c.value.size != 1 or product.type != layer.type:
        return decline("not one factor")
    return op.linear(x, w.value * c.value.reshape(()), b)


@rule
def wrong_axis(x):
    soft = op.softmax(x)
    yield soft
    return op.softmax(x, axis=0) if soft.axis else decline("done")


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


@rule
def order_of_limits(x, a, b, c, d):
    yield op.clip(op.clip(x, low=a, high=b), low=c, high=d)
    return op.clip(x, low=c, high=d)


@rule
def greater_for_lesser(x, y):
    yield op.minimum(op.neg(x), op.neg(y))
    return op.neg(op.minimum(x, y))


@rule
def rounded_twice(x):
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift < 2:
        return decline("too small a shift")
    return op.requantise(op.requantise(x, shift=1, element=x.type.element), like=narrow, shift=narrow.shift - 1)


@rule
def ignored_saturation(x):
    narrow = op.requantise(x)
    yield narrow
    limit = narrow.element.maximum // 2
    return op.requantise(x, like=narrow, high=limit) if narrow.high != limit else decline("done")


@rule
def fraction_forgotten(x):
    real = op.from_fixed(x)
    again = op.to_fixed(real)
    yield again
    return op.requantise(x, shift=0, element=again.element)


@rule
def rounding_before_adding(x, y):
    rounded = op.quantise(op.add(x, y))
    yield rounded
    if rounded.fractions is not None:
        return decline("a format for each channel")
    return op.add(op.quantise(x, like=rounded), op.quantise(y, like=rounded))


@rule
def wrong_slot(x, y):
    yield op.integer_add(x, y)
    return op.integer_add(x, x, element=FixedPoint(True, 24, 6))


@rule
def mean_for_greatest(x):
    pool = op.max_pool(x)
    yield pool
    return op.average_pool(x, like=pool)


@rule
def negative_places_forgotten(x):
    place = op.arg_max(x)
    yield place
    return decline("done") if x.op_name == "relu" else op.arg_max(op.relu(x), like=place)


@rule
def other_type(x):
    yield op.arg_max(x)
    return x


@rule
def raises(x):
    yield op.relu(x)
    return x.value


@rule(shared="keep")
def endless(x):
    yield op.relu(x)
    return op.relu(op.identity(x))


@rule
def option_forgotten(x):
    yield op.relu(op.neg(x) | op.identity(x))
    return op.relu(x)


@rule
def second_op_forgotten(x, y):
    yield op.neg((op.maximum | op.minimum)(x, y))
    return op.neg(op.maximum(x, y))


@rule
def attributes_forgotten(xs):
    inner = rule.any_op(*xs)
    yield op.identity(inner)
    return inner.op(*xs)


@rule
def operands_in_another_order(xs, y, zs):
    joined = op.concat(*xs, op.identity(y), *zs)
    yield joined
    return op.concat(*zs, y, *xs, like=joined)


@rule
def operand_dropped(xs, y):
    joined = op.concat(*xs, op.identity(y))
    yield joined
    return op.concat(*xs, like=joined) if len(xs) > 1 else decline("nothing is left")


@rule(keeps="rounding")
def optional_bias_dropped(x, w, b=None):
    yield op.identity(op.linear(x, w, b))
    return op.linear(x, w)


@rule
def sign_of_a_factor_forgotten(x):
    product = op.mul(x, {1, -1})
    yield product
    return x if x.type == product.type else decline("the factor broadcasts the other operand")


@rule
def number_of_links_forgotten(x):
    yield rule.repeated(x, op.neg)
    return x


@rule(keeps="rounding")
def links_forgotten(x):
    run = rule.repeated(x, lambda below, c: below - c, least=2)
    yield run
    rest = run.c[-1]
    difference = x - rest
    return difference if difference.type == run.links[-1].type else decline("another link broadcasts")


@rule
def siblings_merged_that_differ(x):
    differences = rule.every(x, lambda w: x - w)
    yield differences
    if len({node.type for node in differences.nodes}) > 1:
        return decline("of several types")
    first = op.add(x, op.neg(differences.w[0]))
    return [first for _ in differences.nodes]


@rule
def siblings_in_another_order(x):
    differences = rule.every(x, lambda w: x - w)
    yield differences
    if len({node.type for node in differences.nodes}) > 1:
        return decline("of several types")
    return [op.add(x, op.neg(w)) for w in reversed(differences.w)]


@define_op(results=2, infer=lambda x: (x, x))
def signs(x):
    """The absolute value, and its negative."""
    return np.abs(x), -np.abs(x)


@rule
def results_exchanged(x):
    size, negative = signs(x)
    yield size, negative
    return op.neg(op.abs(x)), op.abs(x)


@rule
def condition_too_weak(x, c: rule.where(lambda v: v.is_constant and v.value.size > 0, "a constant")):
    yield op.sub(x, c)
    return op.add(x, -c.value.reshape(-1)[:1].reshape((1,) * c.value.ndim))


@rule
def roots_exchanged(x, y):
    yield op.maximum(x, y), op.minimum(x, y)
    if x.type != y.type:
        return decline("of two types")
    return op.minimum(y, op.identity(x)), op.maximum(y, op.identity(x))


COUNT = iter(range(10**9))


@rule
def different_every_time(x):
    yield op.neg(x)
    return op.sub(-0.0, x) if next(COUNT) % 2 else op.mul(x, -1)


@pass_
def loses_a_reader(graph):
    """Removes nodes that are dead but for one output."""
    gone = [n for n in graph if graph.nodes[n]["type"] == "neg" and len(graph.succ[n]) == 1]
    graph.remove_nodes_from(gone)
    return gone


@pass_
def drops_an_output(graph):
    gone = list(graph.outputs[1:])
    graph.remove_nodes_from(gone)
    return gone


@pass_
def reorders_outputs(graph):
    first, *rest = graph.outputs
    for i, name in enumerate([*rest, first]):
        graph.nodes[name]["index"] = i
    return [first] if rest else []


@pass_
def leaves_a_stale_type(graph):
    found = [n for n in graph if graph.nodes[n]["type"] == "abs"]
    for node in found:
        graph.nodes[node]["type"] = "arg_max"
    return found


@pass_
def merges_differences_of_either_order(graph):
    """Takes x - y and y - x for the same."""
    seen, gone = {}, []
    for node in graph.in_order():
        if graph.nodes[node]["type"] == "sub":
            key = frozenset(graph.operands(node))
            first = seen.setdefault(key, node)
            if first != node:
                for reader, data in list(graph.succ[node].items()):
                    graph.add_edge(
                        first, reader, slots=(*graph.succ[first].get(reader, {}).get("slots", ()), *data["slots"])
                    )
                graph.remove_node(node)
                gone.append(node)
    return gone


def changes_its_argument(graph: Graph) -> Graph:
    for data in graph.nodes.values():
        if data["type"] == "neg":
            data["type"] = "identity"
    return graph


FAULTS = [found for found in list(vars().values()) if isinstance(found, Rule | Pass)]


ON = {"merges_differences_of_either_order": graphs(ops=["sub", "neg"])}
"""Where a pass is tested that has no pattern to say where it fires."""


@pytest.mark.parametrize("fault", [*FAULTS, changes_its_argument], ids=lambda fault: getattr(fault, "name", "function"))
def test_a_wrong_rule_is_refuted_by_a_small_graph(fault):
    report = check(fault, on=ON.get(getattr(fault, "name", "")))
    assert report.verdict == "refuted", str(report)
    if isinstance(fault, Rule):
        assert len(report.counterexample.before) <= smallest(fault.pattern) + 2, str(report)


def smallest(pattern):
    """Nodes of the smallest graph with one instance: what is matched, what it reads, and an output for each root."""
    count = len(pattern.nodes) + len(pattern.variables) + len(pattern.roots)
    for term in pattern.made:
        if isinstance(term, Repeated | Every):
            count += (term.least - 1) * len(term.unit.nodes) + term.least * len(term.unit.own)
        if isinstance(term, Every):
            count += term.least - 1  # outputs
    return count


@rule
def never_fires(x):
    yield op.relu(x)
    return decline("never")


def test_a_rule_that_never_fires_fails():
    with pytest.raises(AssertionError, match=r"never_fires never fired in \d+ graphs"):
        assert_preserves(never_fires)


def test_a_pattern_that_nothing_fits_says_so():
    @rule
    def impossible(x):
        yield op.linear(op.arg_max(x), x)
        return x

    with pytest.raises(ValueError, match="no graph that contains linear"):
        graphs(containing=impossible)


@pytest.mark.parametrize("fault", [sign_error, ignored_saturation])
def test_the_message_shows_both_graphs_inputs_and_the_difference(fault):
    with pytest.raises(AssertionError) as caught:
        assert_preserves(fault)
    text = str(caught.value)
    assert text.startswith(f"{fault.name}: refuted: output y")
    before, after = text.split("a test that fails:", maxsplit=1)[0].split("\nbefore")[1].split("after", maxsplit=1)
    assert "<- first difference" not in before
    assert "<- first difference" in after
    assert "inputs: x = np.array([" in text
    rebuilt = re.search(r'Graph.parse\("""\n(.*?)"""', text, re.DOTALL)
    assert rebuilt
    assert fault.find(Graph.parse(textwrap.dedent(rebuilt[1]))), "the text can be pasted into a test"
