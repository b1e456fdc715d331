"""The numbers on every edge: figures of a distribution, errors against a reference, and who is compared with whom."""

from __future__ import annotations

import math

import ml_dtypes
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, evaluation, op
from graphrewrite.errors import EvaluationError, UnknownOpError
from graphrewrite.execution.distribution import BINS, distribution_of, error_between, real_values
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.origin_pairing import counterparts, needed_nodes
from graphrewrite.execution.program import compile_graph
from graphrewrite.execution.statistics import Evaluation
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.types import Quantised

FORMATS = st.builds(FixedPoint, st.booleans(), st.integers(1, 63), st.integers(-8, 40))


class TestDistribution:
    @given(FORMATS, st.data())
    def test_of_mantissas(self, element, data):
        count = data.draw(st.integers(0, 40))
        numbers = [data.draw(st.integers(element.minimum, element.maximum)) for _ in range(count)]
        found = distribution_of(np.array(numbers, element.dtype), element)
        assert (found.count, found.zeros, found.not_finite, sum(found.counts)) == (count, numbers.count(0), 0, count)
        assert found.limits == (element.minimum * element.step, element.maximum * element.step)
        assert found.width == element.width
        if not numbers:
            assert math.isnan(found.low)
            assert (found.bits, found.counts, found.bounds) == (None, (), ())
            return
        assert (found.low, found.high) == (min(numbers) * element.step, max(numbers) * element.step)
        assert found.low <= found.mean <= found.high or found.mean == pytest.approx(found.low)
        # The bits that are needed are those of the narrowest format of the same kind.
        kinds = [FixedPoint(element.signed, width) for width in range(1, 64)]
        needed = next(k.width for k in kinds if k.minimum <= min(numbers) and max(numbers) <= k.maximum)
        assert found.bits == needed
        at_limits = numbers.count(element.maximum) + (numbers.count(element.minimum) if element.signed else 0)
        assert found.clipped == (at_limits if element.width > 1 else 0)
        assert len(found.bounds) == len(found.counts) + 1
        assert list(found.bounds) == sorted(found.bounds)

    @given(arrays.arrays(st.sampled_from([np.float16, np.float32, np.float64]), st.integers(0, 50)))
    def test_of_floats(self, values):
        found = distribution_of(values, None)
        finite = values[np.isfinite(values)].astype(np.float64)
        assert (found.limits, found.bits, found.clipped) == (None, None, 0)
        assert found.not_finite == len(values) - len(finite)
        assert sum(found.counts) == len(finite)
        if len(finite):
            assert (found.low, found.high) == (finite.min(), finite.max())
            assert math.isfinite(found.mean)
            assert (found.bounds[0], found.bounds[-1]) == (found.low, found.high)

    def test_a_bar_each_where_numbers_are_few(self):
        found = distribution_of(np.array([-1, 0, 0, 2]), FixedPoint(True, 4, 1))
        assert found.counts == (1, 2, 0, 1)
        assert found.bounds == (-0.75, -0.25, 0.25, 0.75, 1.25)
        assert len(distribution_of(np.arange(100), FixedPoint(False, 8)).counts) == BINS

    def test_of_one_number(self):
        found = distribution_of(np.full(3, 0.1), None)
        assert (found.counts, found.bounds) == ((3,), (0.1, 0.1))

    def test_of_stored_integers(self):
        kind = Quantised("i8", (0.5, 2.0), (0, 10), 1)
        array = np.array([[4, 12], [-128, 127]], np.int8)
        assert real_values(array, kind).tolist() == [[2.0, 4.0], [-64.0, 234.0]]
        found = distribution_of(array, kind)
        assert (found.limits, found.clipped, found.width, found.bits) == ((-276.0, 234.0), 2, 8, 8)

    def test_of_floats_that_are_quantised(self):
        found = distribution_of(np.array([-2.0, 0.25, 1.75]), "f32", format=FixedPoint(True, 4, 2))
        assert (found.limits, found.clipped, found.bits, found.width) == ((-2.0, 1.75), 2, 4, 4)
        assert len(found.counts) == 16

    def test_of_booleans_and_small_floats(self):
        assert distribution_of(np.array([True, False, True]), "bool").counts == (1, 2)
        assert distribution_of(np.array([0.5, 2], ml_dtypes.bfloat16).astype(np.float32), "bf16").high == 2.0


class TestError:
    def test_of_equal_numbers(self):
        values = np.array([1.0, np.inf, np.nan])
        assert error_between(values, values.copy(), "r") == error_between(values[:0], values[:0], "r")
        assert error_between(values, values.copy(), "r").largest == 0.0

    def test_of_a_number_that_is_none(self):
        found = error_between(np.array([1.0, np.nan]), np.array([1.0, 2.0]), "r")
        assert (found.largest, found.mean, found.unequal) == (math.inf, math.inf, 1)

    @given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=1))
    def test_of_any_numbers(self, pairs):
        values, wanted = np.array(pairs).T
        found = error_between(values, wanted, "r")
        off = np.abs(values - wanted)
        assert (found.largest, found.unequal) == (off.max(), np.count_nonzero(off))
        assert found.mean == pytest.approx(off.mean())
        if np.abs(wanted).max() > 1e-3:
            assert found.relative == pytest.approx(np.sqrt((off**2).sum() / (wanted**2).sum()))


@given(st.data())
def test_every_edge_has_its_numbers(data):
    graph = data.draw(graphs())
    inputs = data.draw(inputs_for(graph))
    with np.errstate(all="ignore"):
        found = evaluation(graph, inputs)
        itself = evaluation(graph, inputs, graph)
        inner = [node for node in needed_nodes(graph) if node not in graph.outputs and (node, 0) in found.edges]
        values = evaluate_nodes(graph, inputs, inner)
    for node in inner:
        edge, real = found.edges[node, 0], real_values(values[node], graph.result_type(node).element)
        finite = real[np.isfinite(real)]
        assert (edge.count, edge.zeros) == (real.size, real.size - np.count_nonzero(real))
        assert not finite.size or (edge.low, edge.high) == (finite.min(), finite.max())
    assert not [edge for edge in itself.edges.values() if edge.error is not None and edge.error.unequal]


def levels():
    """A layer as floats, and the same on integers, as a lowering leaves it."""
    float_ = Graph.parse(
        "graph net\nx = input() : f32[N,2]\nc = constant(value=[0.5, 2.0]) : f32[2]\n"
        "m = mul(x, c)\nr = relu(m)\ny = output(r)"
    )
    fixed = Graph.parse(
        "graph net\nx = input() : f32[N,2]\nq = to_fixed(x, element=s8f4)\nr2 = relu(q)\n"
        "s = requantise(r2, shift=2, element=u5f2)\nf = from_fixed(s, fraction=2)\ny = output(f)"
    )
    for node in ("r2", "s"):
        fixed.nodes[node]["origin"] = ("m", "r")
    return float_, fixed


class TestReference:
    def test_a_graph(self):
        before, after = levels()
        assert dict(counterparts(after, before)) == {"x": "x", "q": "x", "s": "r", "f": "r", "y": "y"}
        x = np.array([[1.0, 3.0], [-1.0, 30.0]])
        found = evaluation(after, {"x": x}, before)
        assert repr(found) == "<Evaluation of 'net': 6 edges, 2 frames, compared with graph 'net'>"
        assert found.edges["q", 0].error.largest == 30.0 - 7.9375
        error = found.edges["s", 0].error
        # 7.75 is the greatest number of u5f2; the float network gives 60.
        assert (error.node, error.largest, error.mean) == ("r", 60 - 7.75, (0.5 + 3 + 0 + 52.25) / 4)
        assert found.edges["r2", 0].error is None
        assert found.edges["y", 0].error.largest == 60 - 7.75

    def test_mantissas_go_into_the_reference_as_what_they_stand_for(self):
        graph = Graph.parse("graph g\nx = input() : s8f4[N,2]\nr = relu(x)\ny = output(r)")
        before = Graph.parse("graph h\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
        found = evaluation(graph, {"x": [[-16, 24]]}, before)
        assert [edge.error.unequal for edge in found.edges.values()] == [0, 0, 0]

    def test_layouts_and_axes_of_one(self):
        graph = Graph.parse("graph g\nx = input() : f32[N,2,3,4] NHWC\ny = output(x)")
        before = Graph.parse("graph g\nx = input() : f32[N,4,2,3] NCHW\ny = output(x)")
        array = np.arange(24.0).reshape(1, 2, 3, 4)
        pairs = {"x": array.transpose(0, 3, 1, 2)[..., None]}
        assert evaluation(graph, {"x": array}, {"x": array[:, None]}).edges["x", 0].error.unequal == 0
        assert evaluation(graph, {"x": array}, pairs).edges["x", 0].error is None
        assert evaluation(before, {"x": array.transpose(0, 3, 1, 2)}, before).edges["x", 0].error.unequal == 0

    def test_arrays_by_node_and_by_node_of_the_model(self):
        _, after = levels()
        x = np.array([[1.0, 3.0]])
        for name in ("s", "r", "m"):
            found = evaluation(after, {"x": x}, {name: [[1.0, 2.0]]})
            assert [key for key, edge in found.edges.items() if edge.error] == [("s", 0)]
            assert found.edges["s", 0].error.node == name
            assert found.edges["s", 0].error.largest == 1.0
        with pytest.raises(EvaluationError, match="'relu_7', not a node of the graph or its model"):
            evaluation(after, {"x": x}, {"relu_7": x})
        with pytest.raises(EvaluationError, match="the reference values for 'r' must be numbers"):
            evaluation(after, {"x": x}, {"r": "abc"})

    def test_a_value_of_another_shape_is_not_compared(self):
        before, _ = levels()
        other = Graph.parse(
            "graph net\nx = input() : f32[N,2]\nr = reduce_sum(x, axes=(1,), keep_dims=False)\ny = output(r)"
        )
        found = evaluation(before, {"x": [[1.0, 2.0]]}, other)
        assert found.edges["y", 0].error is None

    def test_nodes_are_not_paired_that_share_a_name_only(self):
        before = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(a)\ny = output(b)")
        after = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\ny = output(a)")
        after.nodes["a"]["origin"] = ("b",)
        assert dict(counterparts(after, before)) == {"x": "x", "a": "b", "y": "y"}
        before.nodes["b"]["origin"] = ("b", "c")  # stands for more than there is
        assert dict(counterparts(after, before)) == {"x": "x", "y": "y"}


class TestEvaluation:
    def test_dead_nodes_and_what_they_lack(self):
        graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        graph.add_node("dead", type="unheard_of")
        assert list(evaluation(graph, {"x": [1]}).edges) == [("x", 0), ("r", 0), ("y", 0)]
        graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)")
        assert list(evaluation(graph, {"x": [1]}).edges) == [("x", 0), ("r", 0)]

    def test_several_results(self):
        graph = Graph("g")
        low, high = op.split(graph.input("x", Tensor("f32", ("N", 4))), axis=1, sizes=(1, 3))
        graph.output("a", low)
        graph.output("b", high)
        found = evaluation(graph, {"x": [[1.0, 2.0, 3.0, 4.0]]})
        (node,) = {node for node, result in found.edges if result == 1}
        assert (found.edges[node, 0].high, found.edges[node, 1].high) == (1.0, 4.0)

    def test_nothing_is_written_over_before_it_is_seen(self):
        graph = Graph("g")
        x = graph.input("x", Tensor("f32", ("N", 2)))
        graph.output("y", op.relu(op.add(op.mul(x, x), -1.0)))
        found = evaluation(graph, {"x": [[0.5, 2.0]]}, graph)
        assert [(e.low, e.high) for e in found.edges.values() if e.kind in ("mul", "add", "relu")] == [
            (0.25, 4.0), (-0.75, 3.0), (0.0, 3.0),
        ]  # fmt: skip
        assert not [e for e in found.edges.values() if e.error and e.error.unequal]

    def test_the_values_are_those_of_evaluate(self):
        before, _ = levels()
        program = compile_graph(before, instructions=False)
        seen = dict(program.watch({"x": [[1.0, 2.0]]}))
        assert seen["y"][0].tolist() == evaluate(before, {"x": [[1.0, 2.0]]})["y"].tolist()

    def test_wrong_use(self):
        before, _ = levels()
        with pytest.raises(EvaluationError, match="the input 'x' is missing"):
            evaluation(before, {})
        graph = before.copy()
        graph.nodes["r"]["type"] = "unheard_of"
        with pytest.raises(UnknownOpError, match="unheard_of"):
            evaluation(graph, {"x": [[1.0, 2.0]]})

    def test_a_plain_digraph(self):
        before, _ = levels()
        assert isinstance(evaluation(nx.DiGraph(before), {"x": [[1.0, 2.0]]}), Evaluation)

    def test_no_frames(self):
        before, _ = levels()
        found = evaluation(before, {"x": np.zeros((0, 2))}, before)
        assert found.frames == 0
        assert found.edges["r", 0].count == 0
        assert "0 frames" in str(found)
