"""A network cut for the host: its parts are the whole, and what cannot be cut is refused with places where it can."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import GraphError
from graphrewrite.lowering import LoweringError, from_onnx, partition, quantise, to_integer
from graphrewrite.lowering.host_cut import cut_for_host, cuts, without_hardware
from tests.support.cli_commands import done, refused, sample, save
from tests.support.lowering_networks import model, residual_cnn, weights


def exotic(*, custom: bool = False) -> onnx.ModelProto:
    """A spectrum's logarithm, enlarged; a convolution; the two greatest scores."""
    nodes = [
        helper.make_node("Abs", ["x"], ["a"], name="abs"),
        helper.make_node("Add", ["a", "little"], ["b"], name="shift"),
        helper.make_node("Log", ["b"], ["l"], name="log"),
        helper.make_node("Resize", ["l", "", "scales"], ["p"], name="resize", mode="cubic"),
        helper.make_node("Conv", ["p", "w1"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2], name="pool"),
        helper.make_node("Flatten", ["m"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["s"], transB=1, name="fc"),
        helper.make_node("Best", ["s"], ["y"], name="best", domain="own")
        if custom
        else helper.make_node("TopK", ["s", "two"], ["y", "places"], name="best"),
    ]
    constants = {
        "little": np.float32([0.01]),
        "scales": np.float32([1, 1, 2, 2]),
        "w1": weights(3, 1, 3, 3),
        "w2": weights(5, 27, seed=1),
        "b2": weights(5, seed=2),
        "two": np.array([2]),
    }
    return model(nodes, constants, input_shape=("N", 1, 3, 3), domains=["own"] if custom else [])


def branches() -> Graph:
    """Two inputs, three outputs: one of the middle, which the end reads as well."""
    g = Graph("branches")
    x, z = (g.input(name, Tensor("f32", ("N", 4))) for name in "xz")
    left, right = op.relu(op.linear(op.exp(x), weights(3, 4), weights(3))), op.linear(z, weights(3, 4), weights(3))
    both = op.add(left, right)
    g.output("middle", both)
    g.output("again", both)
    g.output("shares", op.softmax(op.neg(both)))
    return g


def stored() -> Graph:
    """Weights that are stored as integers, as quantised models have them."""
    g = Graph("stored")
    y = g.input("x", Tensor("f32", ("N", 4)))
    for _ in range(2):
        whole = np.random.default_rng(0).integers(-99, 99, (4, 4), dtype=np.int8)
        weight = op.dequantize_linear(whole, np.float32(0.02), np.int8(0))
        points = np.float32(0.05), np.int8(3)
        y = op.dequantize_linear(op.quantize_linear(op.linear(y, weight, weights(4)), *points), *points)
    g.output("y", op.softmax(y))
    return g


def test_every_cut_is_the_whole_again() -> None:
    cut_through = 0
    for graph, x in (
        (from_onnx(residual_cnn()), {"x": sample(3, 1, 6, 6)}),
        (from_onnx(exotic()), {"x": sample(3, 1, 3, 3)}),
        (stored(), {"x": sample(3, 4)}),
        (branches(), {"x": sample(3, 4), "z": sample(3, 4, seed=2)}),
    ):
        before = graph.copy()
        wanted = evaluate(graph, x)
        for node in graph.in_order():
            weighted = [n for n in graph if graph.nodes[n]["type"] in ("conv", "linear", "gemm")]
            for named in (
                [node],
                [node, *graph.downstream(node)],
                [node, *(n for n in graph.upstream(node) if n in weighted)],
            ):
                try:
                    cut = cut_for_host(graph, [n for n in named if n not in (*graph.inputs, *graph.outputs)])
                except (LoweringError, GraphError):
                    continue
                cut_through += bool(cut.before or cut.after)
                verify(cut.core)
                whole = cut.joined(cut.core)
                verify(whole)
                assert (whole.inputs, whole.outputs) == (graph.inputs, graph.outputs)
                found = evaluate(whole, x)
                for name, values in wanted.items():
                    np.testing.assert_array_equal(found[name], values)
                assert {*cut.core.inputs} <= {*graph.inputs, *cut.before}
                evaluate(cut.core, cut.encode(x))
        assert graph == before
    assert cut_through >= 20


def test_the_hardware_is_what_the_host_leaves() -> None:
    graph, x = from_onnx(exotic()), sample(20, 1, 3, 3)
    assert without_hardware(graph) == ("resize", "best")
    cut = cut_for_host(graph, ["res*", "best"])
    assert (cut.before, cut.after) == (("abs", "shift", "log", "resize"), ("best",))
    fixed = quantise(cut.core, cut.encode({"x": x}))
    integer = cut.joined(to_integer(fixed))
    parts = partition(integer)
    assert {"top_k"} <= {parts.after.nodes[n]["type"] for n in parts.after}
    found = parts.decode(evaluate(parts.core, parts.encode({"x": x})))
    for name, values in evaluate(cut.joined(fixed), {"x": x}).items():
        np.testing.assert_array_equal(found[name], values)


def test_places_are_listed_from_inputs_to_outputs() -> None:
    graph = from_onnx(exotic())
    found = cuts(graph)
    names = ["abs", "shift", "log", "resize", "conv", "relu", "pool", "flat", "fc"]
    assert [cut.values for cut in found] == [(name,) for name in names]
    assert (found[0].before, found[0].after) == ((), ("resize", "best"))
    assert (found[-1].before, found[-1].after) == (("resize",), ("best",))
    # Beside a residual branch one value is not enough.
    graph = from_onnx(residual_cnn())
    assert ("c2",) not in [cut.values for cut in cuts(graph)]
    assert len(cuts(graph, most=2)) > len(cuts(graph))


class TestRefusals:
    def test_a_name_that_is_none(self) -> None:
        with pytest.raises(GraphError, match="no node 'best1' that the host could compute; did you mean 'best'"):
            cut_for_host(from_onnx(exotic()), ["best1"])

    def test_layers_behind_have_to_be_named(self) -> None:
        with pytest.raises(
            LoweringError, match=r"pool cannot be cut out alone: .*--host pool,fc; it can be cut behind"
        ):
            cut_for_host(from_onnx(exotic()), ["pool"])
        assert cut_for_host(from_onnx(exotic()), ["pool", "fc"]).after == ("pool", "flat", "fc", "best")

    def test_nothing_is_left(self) -> None:
        with pytest.raises(LoweringError, match="nothing is left for the hardware"):
            cut_for_host(from_onnx(exotic()), ["*"])

    def test_what_passes_by_the_hardware(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N", 4)))
        first = op.exp(x)
        g.output("y", op.sin(op.add(first, op.linear(first, weights(4, 4), weights(4)))))
        with pytest.raises(LoweringError, match="exp_1 is of the host and passes by the hardware"):
            cut_for_host(g, ["exp_1", "add_1"])


@pytest.fixture
def _no_ghdl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


class TestCommand:
    @pytest.mark.ghdl
    def test_exotic_ends_are_the_host_s(self, tmp_path: Path) -> None:
        file = save(tmp_path, exotic(), calibration_x=sample(30, 1, 3, 3))
        out = tmp_path / "out"
        told = refused(5, "resize", "compile", file, "-o", out)
        assert "--host resize,best leaves to the host what has no hardware" in told
        listed = done("compile", file, "-o", out, "--host", "list").stdout
        assert "behind conv; without hardware before it: resize; without hardware behind it: best\n" in listed
        assert not out.exists()
        text = done("compile", file, "-o", out, "--host", "resize,best", "--frames", 2, "--bits", 12).stdout
        assert "the host computes before the hardware: abs, add, log, resize" in text
        assert "the host computes after the hardware: top_k" in text
        assert "equal: values and cycles" in text

    @pytest.mark.usefixtures("_no_ghdl")
    def test_an_unknown_op(self, tmp_path: Path) -> None:
        file = save(tmp_path, exotic(custom=True), calibration_x=sample(30, 1, 3, 3))
        refused(4, r"own.Best .*--host resize,best leaves", "compile", file, "-o", tmp_path / "out")
        options = ("--host", "resize,best", "--parallelism", 9, "--bits", 12)
        text = done("compile", file, "-o", tmp_path / "out", *options).stdout
        assert "last ops are unknown here: what is compared are their operands" in text
        refused(2, "no node 'bets'.*did you mean 'best'", "compile", file, "-o", tmp_path / "out", "--host", "bets")
        refused(6, "drop either", "compile", file, "-o", tmp_path / "out", "--host", "resize,best", "--head", "class")
