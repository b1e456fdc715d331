from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graphrewrite import Graph, GraphRewriteError, define_op, evaluate, op, rewrite, rule, verify
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.lowering import Entry, ModelError, OpenSizesError, UnsupportedOpsError, from_onnx, quantise, to_onnx
from graphrewrite.models import path
from graphrewrite.rules import RULES
from tests.support.lowering_networks import mlp, model, residual_cnn, weights
from tests.support.sessions import session_of

pytest.importorskip("onnxruntime")


def check_against_onnxruntime(proto: onnx.ModelProto, x: np.ndarray, tolerance: float = 1e-5) -> None:
    session = session_of(proto.SerializeToString())
    name = proto.graph.input[0].name
    wanted = session.run(None, {name: x})[0]
    graph = from_onnx(proto)
    verify(graph)
    found = evaluate(graph, {graph.inputs[0]: x})[graph.outputs[0]]
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["digits", "classes"])
def test_shipped_models_evaluate_as_onnxruntime_does(name: str) -> None:
    proto = onnx.load(path(name))
    shape = [d.dim_value or 7 for d in proto.graph.input[0].type.tensor_type.shape.dim]
    check_against_onnxruntime(proto, weights(*shape, scale=1.0))


@pytest.mark.parametrize("proto", [mlp(), mlp(softmax=True), residual_cnn()], ids=["mlp", "softmax", "residual"])
def test_small_models_evaluate_as_onnxruntime_does(proto: onnx.ModelProto) -> None:
    shape = [d.dim_value or 5 for d in proto.graph.input[0].type.tensor_type.shape.dim]
    check_against_onnxruntime(proto, weights(*shape, scale=1.0))


@pytest.mark.parametrize(
    ("kind", "attributes", "constants", "shape"),
    [
        (
            "Conv",
            {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]},
            {"w": weights(4, 3, 3, 2)},
            (2, 3, 9, 8),
        ),
        ("Conv", {"group": 3}, {"w": weights(6, 1, 3, 3), "b": weights(6)}, (2, 3, 7, 7)),
        ("Conv", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"w": weights(2, 3, 3, 3)}, (1, 3, 6, 7)),
        ("Conv", {"auto_pad": "SAME_LOWER"}, {"w": weights(2, 3, 2, 2)}, (1, 3, 6, 7)),
        ("Conv", {"strides": [2]}, {"w": weights(2, 3, 3)}, (2, 3, 9)),
        ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, {}, (2, 3, 7, 6)),
        ("AveragePool", {"kernel_shape": [2, 3], "pads": [1, 1, 0, 0]}, {}, (2, 3, 5, 6)),
        ("AveragePool", {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1}, {}, (2, 3, 5, 6)),
        ("GlobalAveragePool", {}, {}, (2, 3, 5, 6)),
        ("Transpose", {"perm": [0, 2, 1]}, {}, (2, 3, 4)),
        ("Transpose", {}, {}, (2, 3, 4)),
        ("Flatten", {}, {}, (2, 3, 4)),
        ("Reshape", {}, {"shape": np.array([0, -1], np.int64)}, (2, 3, 4)),
        ("Squeeze", {}, {"axes": np.array([1], np.int64)}, (2, 1, 4)),
        ("Unsqueeze", {}, {"axes": np.array([1], np.int64)}, (2, 4)),
        ("Clip", {}, {"low": np.float32(-0.5), "high": np.float32(0.5)}, (2, 4)),
        ("Gemm", {"alpha": 0.5, "beta": 2.0}, {"w": weights(4, 3), "b": weights(3)}, (2, 4)),
        ("Softmax", {"axis": 1}, {}, (2, 4)),
        ("LeakyRelu", {"alpha": 0.2}, {}, (2, 4)),
        ("Pad", {}, {"pads": np.array([0, 1, 0, 2], np.int64), "value": np.float32(3)}, (2, 4)),
        ("Sub", {}, {"c": weights(4)}, (2, 4)),
        ("Div", {}, {"c": 2 + weights(4)}, (2, 4)),
    ],
)
def test_ops_evaluate_as_onnxruntime_does(kind, attributes, constants, shape) -> None:
    node = helper.make_node(kind, ["x", *constants], ["y"], name="node", **attributes)
    check_against_onnxruntime(model([node], constants, input_shape=shape), weights(*shape, scale=1.0))


def test_names_are_kept_as_origin() -> None:
    graph = from_onnx(residual_cnn())
    assert graph.nodes["join"]["origin"] == ("join",)
    assert graph.inputs == ("x",)
    assert graph.outputs == ("y",)
    assert graph.result_type("x").shape == ("N", 1, 6, 6)


def test_documentation_and_metadata_are_kept_and_written() -> None:
    proto = residual_cnn()
    assert "origin" not in from_onnx(proto).graph
    proto.doc_string = "a small net"
    proto.metadata_props.add(key="author", value="me")
    proto.graph.node[0].doc_string = "the stem"
    proto.graph.node[4].metadata_props.add(key="scope", value="block/1")
    graph = from_onnx(proto)
    assert graph.graph["origin"] == {
        "doc": "a small net",
        "metadata": {"author": "me"},
        "nodes": {"c1": {"doc": "the stem"}, "join": {"metadata": {"scope": "block/1"}}},
    }
    assert from_dict(to_dict(graph)) == graph
    assert rewrite(graph, RULES).graph["origin"] == graph.graph["origin"]
    written = to_onnx(graph)
    assert written.doc_string == "a small net"
    assert next(node.doc_string for node in written.graph.node if node.name == "c1") == "the stem"
    assert from_onnx(written, batch=None) == graph


def test_a_batch_of_one_becomes_any_batch() -> None:
    nodes = [helper.make_node("Flatten", ["x"], ["f"], axis=0), helper.make_node("Gemm", ["f", "w"], ["y"])]
    graph = from_onnx(model(nodes, {"w": weights(6, 2)}, input_shape=(1, 2, 3)))
    assert evaluate(graph, {"x": weights(5, 2, 3)})["y"].shape == (5, 2)
    kept = from_onnx(model(nodes, {"w": weights(6, 2)}, input_shape=(1, 2, 3)), batch=None)
    assert kept.result_type("x").shape == (1, 2, 3)


def test_a_batch_of_one_is_kept_where_no_reshape_could_leave_it_open() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Add", ["r", "c"], ["y"])]
    proto = model(nodes, {"shape": np.array([2, 2]), "c": weights(2, 2)}, input_shape=(1, 4))
    assert from_onnx(proto) == from_onnx(proto, batch=None)


@pytest.mark.parametrize("scales", [2, 6])
def test_a_group_norm_has_scales_of_groups_or_of_channels(scales: int) -> None:
    x, gain, shift = weights(4, 6, 5, seed=1), weights(scales, seed=2), weights(scales, seed=3)
    node = helper.make_node("GroupNormalization", ["x", "gain", "shift"], ["y"], num_groups=2, epsilon=0.25)
    proto = model([node], {"gain": gain, "shift": shift}, input_shape=(1, 6, 5), opset=21)
    groups = x.reshape(4, 2, 15)
    normed = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 0.25)
    each = [np.repeat(array, 6 // scales)[:, None] for array in (gain, shift)]
    found = evaluate(from_onnx(proto), {"x": x})["y"]
    np.testing.assert_allclose(found, normed.reshape(x.shape) * each[0] + each[1], rtol=1e-4, atol=1e-5)


def test_old_opsets_are_converted() -> None:
    node = helper.make_node("Clip", ["x"], ["y"], min=-1.0, max=1.0)
    graph = from_onnx(model([node], {}, input_shape=(2, 3), opset=9))
    assert evaluate(graph, {"x": [[-5, 0, 5], [0, 0, 2]]})["y"].max() == 1


class TestWrongInput:
    def test_missing_file_suggests_a_near_name(self, tmp_path) -> None:
        (tmp_path / "digits.onnx").write_bytes(b"")
        with pytest.raises(ModelError, match=r"no file .*did you mean 'digits.onnx'"):
            from_onnx(tmp_path / "digit.onnx")

    def test_folder(self, tmp_path) -> None:
        with pytest.raises(ModelError, match="folder"):
            from_onnx(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"hello world", b"\x00" * 100, b"\xff" * 40])
    def test_foreign_file(self, tmp_path, content) -> None:
        file = tmp_path / "x.onnx"
        file.write_bytes(content)
        with pytest.raises(ModelError, match=r"x.onnx"):
            from_onnx(file)

    def test_every_truncation_is_refused_or_complete(self, tmp_path) -> None:
        whole = mlp().SerializeToString()
        for length in range(0, len(whole) - 1, 7):
            try:
                from_onnx(whole[:length])
            except ModelError:
                continue
            pytest.fail(f"the first {length} of {len(whole)} bytes were taken for a model")

    def test_an_open_batch_may_be_written_as_an_expression(self) -> None:
        proto = mlp()
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "2*batch"
        graph = from_onnx(proto)
        assert graph.result_type(graph.inputs[0]).shape[0] == "2*batch"

    def test_open_shape(self) -> None:
        proto = model([helper.make_node("Relu", ["x"], ["y"])], {}, input_shape=("N", 3, "H", "W"))
        assert from_onnx(proto).result_type("x").shape == ("N", 3, "H", "W")
        assert from_onnx(proto, shapes={"x": (1, 3, 4, 4)}).result_type("x").shape == ("N", 3, 4, 4)
        with pytest.raises(ModelError, match="did you mean 'x'"):
            from_onnx(proto, shapes={"x": (1, 3, 4, 4), "xx": (1,)})

    def test_contradicting_shapes_name_the_node(self) -> None:
        node = helper.make_node("Gemm", ["x", "w"], ["y"], name="bad")
        with pytest.raises(ModelError, match=r"'bad' \(Gemm\)"):
            from_onnx(model([node], {"w": weights(5, 2)}, input_shape=(1, 4)))

    def test_dangling_value(self) -> None:
        proto = mlp()
        proto.graph.node[0].input[1] = "w_1"
        with pytest.raises(ModelError):
            from_onnx(proto)

    def test_a_size_that_an_input_decides_is_asked_for(self) -> None:
        nodes = [
            helper.make_node("Concat", ["s", "t"], ["shape"], axis=0),
            helper.make_node("Reshape", ["x", "shape"], ["y"], name="shaped"),
        ]
        proto = model(nodes, {"t": np.array([2], np.int64)}, input_shape=(1, 4))
        proto.graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, (1,)))
        with pytest.raises(
            OpenSizesError, match=r"'shaped' \(Reshape\).*depends on 's'.*constants=\{'s': ...\}"
        ) as caught:
            from_onnx(proto)
        assert caught.value.inputs == ("s",)
        graph = from_onnx(proto, constants={"s": [-1]})
        assert graph.inputs == ("x",)
        assert str(graph.result_type(graph.operands("y")[0].node)) == "f32[2*N,2]"
        assert len(graph) == 3  # what served to compute the shape is gone
        with pytest.raises(ModelError, match=r"no input 'shapes' to give a value; inputs are x, s"):
            from_onnx(proto, constants={"shapes": [-1]})

    def test_bounds_that_an_input_decides_need_not_be_known(self) -> None:
        proto = model([helper.make_node("Clip", ["x", "", "top"], ["y"], name="c")], {}, input_shape=(1, 4))
        proto.graph.input.append(helper.make_tensor_value_info("top", TensorProto.FLOAT, ()))
        graph = from_onnx(proto, batch=None)
        assert evaluate(graph, {"x": [[1, 2, 3, 4]], "top": 2.5})["y"].tolist() == [[1, 2, 2.5, 2.5]]


class TestUnknownOps:
    """They load, and wait for a rule."""

    def test_they_become_generic_nodes(self) -> None:
        nodes = [
            helper.make_node("Det2", ["x"], ["a"], name="first", domain="com.acme"),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node(
                "Swirl", ["b"], ["y"], name="second", domain="com.acme", turns=3, kinds=["a", "b"], type=1
            ),
        ]
        graph = from_onnx(model(nodes, {}, input_shape=(1, 2), domains=["com.acme"]))
        assert graph.nodes["first"]["type"] == "com.acme.Det2"
        assert str(graph.result_type("first")) == "f32[N,2]"
        assert graph.nodes["second"]["type"] == "com.acme.Swirl"
        assert graph.attributes("second") == {"turns": 3, "kinds": ("a", "b"), "type_": 1}
        assert graph.origin("second") == ("second",)
        verify(graph)
        assert Graph.parse(str(graph)) == graph
        with pytest.raises(GraphRewriteError, match=r"com\.acme\.Det2 \(first\), com\.acme\.Swirl \(second\)"):
            evaluate(graph, {"x": np.zeros((1, 2))})
        with pytest.raises(
            UnsupportedOpsError, match=r"2 nodes .*com\.acme\.Det2 \(first\), com\.acme\.Swirl \(second\)"
        ):
            quantise(graph, np.zeros((1, 2), np.float32))

    def test_a_rule_says_what_they_are(self) -> None:
        nodes = [helper.make_node("Twice", ["x"], ["y"], domain="com.acme", name="t")]
        graph = from_onnx(model(nodes, {}, input_shape=(1, 2), domains=["com.acme"]))

        @rule
        def know_twice(x):
            """Twice x is x + x."""
            yield op.generic("com.acme.Twice")(x)
            return x + x

        assert evaluate(rewrite(graph, know_twice), {"x": [[1, 2]]})["y"].tolist() == [[2, 4]]

    def test_an_entry_of_ones_own_says_what_they_are(self) -> None:
        @define_op(results=2, infer=lambda x, *, turns=1: (x, x))
        def swirl(x, *, turns=1):
            return turns * x, -x

        nodes = [
            helper.make_node("Swirl", ["x"], ["a", "b"], domain="com.acme", name="s", times=3),
            helper.make_node("Relu", ["b"], ["c"]),
            helper.make_node("Add", ["a", "c"], ["y"]),
        ]
        proto = model(nodes, {}, input_shape=(1, 2), domains=["com.acme"])
        mine = Entry("com.acme.Swirl", swirl, {"times": ("turns", int)})
        graph = from_onnx(proto, entries=[mine, Entry("Relu", op.abs)])
        assert graph.attributes("s") == {"turns": 3}
        assert "abs" in {data["type"] for _, data in graph.nodes(data=True)}
        assert evaluate(graph, {"x": [[1, -2]]})["y"].tolist() == [[4, -4]]

    def test_an_attribute_that_an_entry_does_not_know_is_refused(self) -> None:
        swirl = define_op(infer=lambda x: x)(lambda x: x)
        nodes = [helper.make_node("Swirl", ["x"], ["y"], domain="com.acme", name="s", times=3)]
        proto = model(nodes, {}, input_shape=(1, 2), domains=["com.acme"])
        with pytest.raises(ModelError, match=r"node 's' \(Swirl\): its attribute 'times' has no meaning here.*ignored"):
            from_onnx(proto, entries=[Entry("com.acme.Swirl", swirl)])
        graph = from_onnx(proto, entries=[Entry("com.acme.Swirl", swirl, ignored=("times",))])
        assert graph.attributes("s") == {}

    def test_onnx_tells_the_types_that_it_knows(self) -> None:
        nodes = [
            helper.make_node("Split", ["x"], ["a", "b"], name="split", axis=1),
            helper.make_node("Concat", ["b", "a"], ["y"], axis=1),
        ]
        graph = from_onnx(model(nodes, {}, input_shape=(1, 4)))
        assert [str(graph.result_type("split", i)) for i in (0, 1)] == ["f32[N,2]", "f32[N,2]"]
        (joined,) = graph.operands(graph.outputs[0])
        assert [o.result for o in graph.operands(joined.node)] == [1, 0]

    def test_an_operand_that_is_left_out_is_noted(self) -> None:
        nodes = [helper.make_node("Warp", ["x", "", "scales"], ["y"], name="r", domain="com.acme")]
        proto = model(nodes, {"scales": np.ones(2, np.float32)}, input_shape=(1, 4), domains=["com.acme"])
        graph = from_onnx(proto)
        assert graph.attributes("r")["left_out"] == (1,)
        assert len(graph.operands("r")) == 2
        (node,) = to_onnx(graph).graph.node
        assert (node.domain, node.op_type, list(node.input)) == ("com.acme", "Warp", ["x", "", "scales"])

    def test_what_follows_an_assumed_type_loads_as_well(self) -> None:
        nodes = [
            helper.make_node("Shrink2", ["x"], ["a"], domain="com.acme", name="s"),
            helper.make_node("Gemm", ["a", "w"], ["y"], name="g"),
        ]
        graph = from_onnx(model(nodes, {"w": weights(3, 5)}, input_shape=(1, 4), domains=["com.acme"]))
        assert graph.nodes["g"]["type"] == "Gemm"

    def test_an_op_that_onnx_defines_by_others_is_expanded(self) -> None:
        node = helper.make_node("Shrink", ["x"], ["y"], lambd=1.5, bias=0.5)
        check_against_onnxruntime(model([node], {}, input_shape=(2, 9)), weights(2, 9, scale=3.0))

    def test_functions_of_the_model_are_inlined(self) -> None:
        twice = helper.make_function(
            "mine", "twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
        )
        nodes = [helper.make_node("twice", ["x"], ["y"], domain="mine", name="t")]
        proto = model(nodes, {}, input_shape=(1, 4), domains=["mine"])
        proto.functions.append(twice)
        proto.graph.output[0].type.tensor_type.shape.CopyFrom(proto.graph.input[0].type.tensor_type.shape)
        graph = from_onnx(proto)
        assert evaluate(graph, {"x": [[1, 2, 3, 4]]})["y"].tolist() == [[2, 4, 6, 8]]


class TestComputedSizes:
    """What exporters compute from shapes is known on import."""

    def flattening(self) -> onnx.ModelProto:
        nodes = [
            helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Gather", ["shape", "first"], ["batch"], axis=0),
            helper.make_node("Unsqueeze", ["batch", "axes"], ["row"]),
            helper.make_node("Concat", ["row", "rest"], ["wanted"], axis=0),
            helper.make_node("Reshape", ["x", "wanted"], ["y"], name="r"),
        ]
        constants = {name: np.array(v, np.int64) for name, v in {"first": 0, "axes": [0], "rest": [-1]}.items()}
        return model(nodes, constants, input_shape=("batch", 3, 4))

    def test_a_symbolic_batch_stays_symbolic(self) -> None:
        graph = from_onnx(self.flattening())
        assert [graph.nodes[n]["type"] for n in graph.in_order()] == ["input", "reshape", "output"]
        assert str(graph.result_type("r")) == "f32[N,12]"
        assert evaluate(graph, {"x": np.zeros((5, 3, 4))})["y"].shape == (5, 12)

    def test_what_is_read_elsewhere_stays(self) -> None:
        proto = self.flattening()
        proto.graph.output.append(helper.make_tensor_value_info("shape", TensorProto.INT64, (3,)))
        graph = from_onnx(proto)
        assert evaluate(graph, {"x": np.zeros((5, 3, 4))})["shape"].tolist() == [5, 3, 4]
