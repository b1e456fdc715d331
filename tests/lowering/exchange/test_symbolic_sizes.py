"""Open sizes through ONNX: what is written computes them as they are, and what is read says them again."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import ModelError, from_onnx, to_onnx
from graphrewrite.lowering.exchange.size_agreement import agreements
from graphrewrite.types import Size, as_size, evaluate_size
from tests.support.lowering_networks import weights
from tests.support.sessions import session_of

EXPRESSIONS = st.recursive(
    st.sampled_from(["N", "seq", "1", "2", "3", "7"]),
    lambda parts: st.one_of(
        st.builds("({} {} {})".format, parts, st.sampled_from("+*"), parts),
        st.builds("({} {} {})".format, parts, st.sampled_from(["//", "%"]), st.integers(1, 5)),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), parts, parts),
    ),
    max_leaves=5,
)


def many(nodes, constants, shapes, *, outputs=("y",), opset=17) -> onnx.ModelProto:
    """A model of several inputs, whose outputs have no shape."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "several",
        [info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [info(name, TensorProto.FLOAT, None) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def check_at(graph: Graph, bindings, model: onnx.ModelProto | None = None) -> None:
    """The graph and what is written of it give the same as the model it is from, or as the graph; it comes back."""
    verify(graph)
    written = to_onnx(graph)
    assert from_onnx(written, batch=None) == graph
    session, source = session_of(written.SerializeToString()), None
    if model is not None:
        source = session_of(model.SerializeToString())
    for bound in bindings:
        fed = {}
        for i, name in enumerate(graph.inputs):
            shape = [evaluate_size(size, bound) for size in graph.result_type(name).shape]
            fed[name] = weights(*shape, seed=i)
        found = list(evaluate(graph, fed).values())
        for other in filter(None, (session, source)):
            for array, wanted in zip(found, other.run(None, fed), strict=True):
                assert array.shape == wanted.shape
                np.testing.assert_allclose(array, wanted, rtol=1e-4, atol=1e-5)


class TestSizesThatAreWritten:
    @given(EXPRESSIONS)
    def test_every_expression_is_computed_and_comes_back(self, text):
        size = as_size(text)
        assume(isinstance(size, Size))
        graph = Graph("g")
        graph.input("x", Tensor("f32", ("N", 2)))
        graph.input("z", Tensor("f32", (3, "seq")))
        graph.output("y", op.expand(graph.constant(np.float32(1.5)), shape=(size, 2)))
        graph.output("u", op.relu(graph.value("x")))
        graph.output("v", op.relu(graph.value("z")))
        check_at(graph, [{"N": 3, "seq": 4}, {"N": 1, "seq": 9}])

    def test_a_size_that_only_stands_in_an_expression_is_solved_for(self):
        graph = Graph("g")
        graph.input("x", Tensor("f32", ("2*seq + 1", 2)))
        graph.output("y", op.expand(graph.constant(np.float32(1)), shape=("seq",)))
        graph.output("u", op.relu(graph.value("x")))
        check_at(graph, [{"seq": 3}, {"seq": 4}])

    def test_reshapes_need_no_nodes_for_one_symbol(self):
        graph = Graph("g")
        x = graph.input("x", Tensor("f32", ("N", "seq", 6)))
        graph.output("y", op.reshape(x, shape=("N", "seq", 2, 3)))
        graph.output("z", op.reshape(x, shape=("N*seq", 6)))
        check_at(graph, [{"N": 2, "seq": 5}])
        assert [node.op_type for node in to_onnx(graph).graph.node] == ["Reshape", "Reshape"]

    def test_each_axis_is_read_once_and_each_shape_made_once(self):
        graph = Graph("g")
        x = graph.input("x", Tensor("f32", ("N", "seq", 6)))
        for i, size in enumerate((1, 2, 3, 2)):
            graph.output(f"y{i}", op.expand(graph.constant(np.float32(i)), shape=("N", "seq", size)))
        graph.output("u", op.relu(x))
        check_at(graph, [{"N": 2, "seq": 5}])
        kinds = [node.op_type for node in to_onnx(graph).graph.node]
        assert (kinds.count("Shape"), kinds.count("Concat")) == (2, 3)

    def test_names_of_nodes_that_look_like_those_of_sizes_are_no_clash(self):
        graph = Graph("size_shape")
        x = graph.input("sizes", Tensor("f32", ("N", "seq")))
        a = graph.add(op.relu, [x], name="size_shape")
        b = graph.add(op.expand, [graph.constant(np.float32(1))], {"shape": ("seq", "N*seq", 3)}, name="size_concat")
        graph.output("y", a)
        graph.output("z", b)
        check_at(graph, [{"N": 2, "seq": 5}])


class TestSizesThatAreRead:
    def test_names_that_are_none_become_legal(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        graph = from_onnx(many(nodes, {}, {"x": ("batch-size", "seq len", "2*k", None, None)}), batch=None)
        assert graph.result_type("x").shape == ("batch_size", "seq_len", "2*k", "?1", "?2")
        assert (
            from_onnx(many(nodes, {}, {"x": ("batch-size", "seq len", "2*k", None, None)})).result_type("x").shape[0]
            == "N"
        )

    def test_names_that_are_only_alike_stay_apart(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        graph = from_onnx(many(nodes, {}, {"x": ("a b", "a_b", "a.b")}), batch=None)
        assert len(set(graph.result_type("x").shape)) == 3

    def test_sizes_that_must_be_one_become_one(self):
        nodes = [helper.make_node("Add", ["a", "b"], ["y"])]
        model = many(nodes, {}, {"a": ("batch", "n", 4), "b": ("rows", None, 4)})
        graph = from_onnx(model)
        assert graph.result_type("b").shape == ("N", "n", 4)
        check_at(graph, [{"N": 2, "n": 3}], model)

    def test_a_size_that_weights_decide_becomes_a_number(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        model = many(nodes, {"w": weights(6, 2)}, {"x": (None, "seq", None)})
        graph = from_onnx(model)
        assert graph.result_type("x").shape == ("N", "seq", 6)
        check_at(graph, [{"N": 2, "seq": 3}], model)

    def test_what_fits_no_number_is_told(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
        with pytest.raises(ModelError, match=r"node 'product' \(MatMul\)"):
            from_onnx(many(nodes, {"w": weights(6, 2)}, {"x": ("N", 5)}))

    def test_all_inputs_of_unknown_rank_are_named_at_once(self):
        nodes = [helper.make_node("Add", ["a", "b"], ["y"])]
        model = many(nodes, {}, {"a": None, "b": None})
        with pytest.raises(ModelError, match=r"'a', 'b'; give .*shapes=\{'a': \['N', ...\], 'b': \['N', ...\]\}"):
            from_onnx(model)
        graph = from_onnx(model, shapes={"a": ("N", "2*k"), "b": ("N", "2*k")})
        assert graph.result_type("b").shape == ("N", "2*k")

    @pytest.mark.parametrize(("size", "read"), [(-1, "?1"), (0, 0)])
    def test_what_exporters_write_for_open(self, size, read):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        model = many(nodes, {}, {"x": (2, 3)})
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = size
        assert from_onnx(model).result_type("x").shape == ("N", read)

    def test_a_negative_size_names_its_input(self):
        model = many([helper.make_node("Relu", ["x"], ["y"])], {}, {"x": (2, 3)})
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -7
        with pytest.raises(ModelError, match=r"the input 'x': the size -7.*shapes="):
            from_onnx(model)

    def test_the_size_of_a_rescaled_image_is_computed(self):
        i64 = np.int64
        nodes = [
            helper.make_node("Shape", ["x"], ["s"], start=2),
            helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["f", "half"], ["h"]),
            helper.make_node("Floor", ["h"], ["w"]),
            helper.make_node("Cast", ["w"], ["i"], to=TensorProto.INT64),
            helper.make_node("Shape", ["x"], ["front"], end=2),
            helper.make_node("Concat", ["front", "i"], ["sizes"], axis=0),
            helper.make_node("ConstantOfShape", ["sizes"], ["ones"]),
            helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Add", ["p", "ones"], ["y"]),
        ]
        model = many(nodes, {"half": np.full(2, 0.5, np.float32), "two": i64(2)}, {"x": ("N", 3, "H", "W")})
        graph = from_onnx(model)
        assert str(graph.result_type(graph.operands("y")[0].node)) == "f32[N,3,H//2,W//2]"
        check_at(graph, [{"N": 2, "H": 6, "W": 9}], model)


class TestTheBatch:
    def test_a_factor_of_a_size_is_freed(self):
        nodes = [
            helper.make_node("Reshape", ["x", "flat"], ["a"]),
            helper.make_node("MatMul", ["a", "w"], ["b"]),
            helper.make_node("Reshape", ["b", "back"], ["y"]),
        ]
        constants = {"flat": np.array([5, 6]), "w": weights(6, 4), "back": np.array([1, 5, 4])}
        graph = from_onnx(many(nodes, constants, {"x": (1, 5, 6)}))
        assert [str(graph.result_type(o.node)) for o in graph.operands("y")] == ["f32[N,5,4]"]
        check_at(graph, [{"N": 1}, {"N": 3}])

    def test_a_choice_that_contradicts_is_taken_back(self):
        """Of [L,N,E] to [L,E] the batch may go either way, and the weights decide."""
        nodes = [
            helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
            helper.make_node("Reshape", ["t", "flat"], ["a"]),
            helper.make_node("MatMul", ["a", "w"], ["b"]),
            helper.make_node("Reshape", ["b", "back"], ["y"]),
        ]
        constants = {"flat": np.array([5, 6]), "w": weights(6, 4), "back": np.array([5, 1, 4])}
        graph = from_onnx(many(nodes, constants, {"x": (1, 5, 6)}))
        assert [str(graph.result_type(o.node)) for o in graph.operands("y")] == ["f32[5,N,4]"]
        check_at(graph, [{"N": 1}, {"N": 3}])

    def test_inputs_of_another_first_size_keep_it(self):
        nodes = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Relu", ["b"], ["z"])]
        graph = from_onnx(many(nodes, {}, {"a": (2, 3), "b": (3, 5)}, outputs=("y", "z")))
        assert [graph.result_type(name).shape for name in "ab"] == [("N", 3), (3, 5)]

    def test_a_scalar_input_stays_one(self):
        nodes = [helper.make_node("Mul", ["x", "factor"], ["y"])]
        graph = from_onnx(many(nodes, {}, {"factor": (), "x": (1, 3)}))
        assert [graph.result_type(name).shape for name in ("factor", "x")] == [(), ("N", 3)]

    def test_a_name_that_is_taken_is_not_given_again(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        assert from_onnx(many(nodes, {}, {"x": ("batch", "N")})).result_type("x").shape == ("batch", "N")


class TestAgreements:
    """What a symbol could be, the likeliest first."""

    def test_axes_are_aligned_at_the_back_then_at_the_front(self):
        shapes = [("a", "b"), (3, 4, 5)]
        aligned = [{"b": 5}, {"a": 4}, {"a": 3}, {"b": 4}]
        assert list(agreements(shapes, everywhere=False)) == aligned
        more = list(agreements(shapes))
        assert more[:4] == aligned
        assert {(name, size) for found in more[4:] for name, size in found.items()} == {("b", "a"), ("b", 3), ("a", 5)}

    def test_what_broadcasts_comes_last(self):
        assert list(agreements([("a", "b"), (7, 1)], everywhere=False)) == [{"a": 7}, {"b": 1}]


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize(
    ("axis", "shape"), [(0, ("3*N", "4*M")), (1, ("M*N", 12)), (None, ("12*M*N",))], ids=["rows", "columns", "all"]
)
def test_sizes_that_are_multiplied_along_an_axis_are_known(axis, shape, keep):
    """Of a table of sizes; whether the axis is kept changes nothing once all is one row."""
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "order"], ["sorted"]),
        helper.make_node("Reshape", ["sorted", "square"], ["table"]),
        helper.make_node(
            "ReduceProd", ["table"], ["products"], keepdims=keep, **({} if axis is None else {"axes": [axis]})
        ),
        helper.make_node("Reshape", ["products", "row"], ["target"]),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"order": np.array([0, 3, 1, 2]), "square": np.array([2, 2]), "row": np.array([-1])}
    read = from_onnx(many(nodes, constants, {"x": ["N", 3, 4, "M"]}), batch=None)
    assert read.result_type(*read.operands("y")[0]) == Tensor("f32", tuple(map(as_size, shape)))
