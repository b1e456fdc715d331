"""What four documents ask of an intermediate representation, one test a line, as a user would try it.

E: elastic-ai.creator's IR, A: Aidge's computational graph, C: the import IR of cavis/deeplearning4j, G: Glow's IR.
"""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import PurePath

import networkx as nx
import numpy as np
import pytest

from graphrewrite import (
    FixedPoint,
    Graph,
    IrData,
    Module,
    Tensor,
    define_op,
    diff,
    evaluate,
    op,
    pass_,
    rewrite,
    rule,
    verify,
)
from graphrewrite.errors import (
    DataError,
    EvaluationError,
    GraphError,
    RewriteError,
    TypeMismatchError,
    UnknownOpError,
    VerificationError,
)
from graphrewrite.execution.implementation import Implementation, insert_conversions
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.hierarchy.building import parallel, residual, sequential
from graphrewrite.hierarchy.composition import compose
from graphrewrite.hierarchy.operator import Operator
from graphrewrite.rules import (
    eliminate_dead_nodes,
    eliminate_independent_nodes,
    inline,
    insert_transfers,
    outline,
)
from graphrewrite.schema import field
from tests.support.whole_way import goes_on, module_goes_on

F = Tensor("f32", ("N", 4))
X = {"x": np.float32([[1, -2, 3, -4]])}


def chain() -> Graph:
    graph = Graph("chain", author="me")
    x = graph.input("x", F)
    graph.output("y", op.relu(op.neg(x)))
    return graph


# ---------------------------------------------------------------------- elastic-ai.creator


def test_e1_a_node_is_an_operation_with_a_type_and_a_unique_name():
    graph = chain()
    assert {n: graph.nodes[n]["type"] for n in graph} == {"x": "input", "neg_1": "neg", "relu_1": "relu", "y": "output"}
    with pytest.raises(GraphError, match="taken"):
        graph.add(op.relu, [graph.value("x")], name="neg_1")
    with pytest.raises(GraphError, match="taken"):
        graph.input("relu_1", F)
    goes_on(graph, X)


def test_e2_a_graph_has_nodes_edges_attributes_inputs_and_outputs():
    graph = Graph("g", author="me", level=3)
    a, b = graph.input("a", F), graph.input("b", F)
    graph.output("total", a + b)
    graph.output("difference", a - b)
    assert (graph.graph["author"], graph.graph["level"]) == ("me", 3)
    assert graph.inputs == ("a", "b")
    assert graph.outputs == ("total", "difference")
    assert list(graph.edges) == [
        ("a", "add_1"),
        ("a", "sub_1"),
        ("b", "add_1"),
        ("b", "sub_1"),
        ("add_1", "total"),
        ("sub_1", "difference"),
    ]
    made = goes_on(graph, {"a": X["x"], "b": X["x"]})
    assert (made.name, made.graph["author"], made.inputs, made.outputs) == ("g", "me", graph.inputs, graph.outputs)


def test_e3_dead_and_independent_nodes():
    graph = Graph("g")
    x = graph.input("x", F)
    op.exp(x)  # nothing reads it
    count = graph.add(op.counter, (), {"element": "f32"})
    two = graph.constant(np.float32(2)) * np.float32(3)
    graph.output("y", x * two + count)
    assert graph.dead_nodes() == {"exp_1"}
    assert {"counter_1", "mul_1"} <= graph.independent_nodes()
    assert "exp_1" not in eliminate_dead_nodes(graph)
    folded = eliminate_independent_nodes(graph)
    assert "mul_1" not in folded
    assert "counter_1" in folded  # independent, and yet not constant
    counted = Implementation(op.counter, lambda *, element: np.float32(7))
    assert "counter_1" in goes_on(graph, X, implementations=(counted,))


def test_e4_edges_upstream_and_downstream_data_and_control():
    graph = chain()
    assert list(graph.in_edges("relu_1")) == [("neg_1", "relu_1")]
    assert graph.upstream("relu_1") == {"x", "neg_1"}
    assert graph.downstream("x") == {"neg_1", "relu_1", "y"}
    graph.add_control("x", "relu_1", kind="reset")
    assert graph.controls("relu_1") == (("x", "reset"),)
    assert graph.operands("relu_1") == (Operand("neg_1", 0),)
    assert goes_on(graph, X).controls("relu_1") == (("x", "reset"),)


def test_e5_lowerings_and_transformations_are_told_apart_and_checked():
    def to_bytes(x):
        """Through eight bits."""
        real = op.relu(x)
        yield real
        fixed = op.requantise(op.to_fixed(x, element=BYTE), shift=0, element=BYTE, low=0)
        return op.from_fixed(fixed, fraction=0)

    BYTE = FixedPoint(True, 8)
    assert rule(to_bytes).kind == "transformation"
    with pytest.raises(RewriteError, match="declare it with kind='lowering'"):
        rewrite(chain(), rule(to_bytes))
    lowering = rule(kind="lowering")(to_bytes)
    assert lowering.kind == "lowering"
    made = rewrite(chain(), lowering)
    assert "requantise_1" in made
    goes_on(made, X)
    assert pass_(lambda graph: []).kind == "transformation"


def test_e6_a_graph_with_type_and_name_is_a_node():
    module = Module("net")
    block = module.add_graph("block")
    block.output("y", op.relu(-block.input("x", F)))
    main = module.add_graph("main")
    main.output("out", module.op("block")(module.op("block")(main.input("x", F))))
    assert main.nodes["block_1"]["type"] == "block"
    module_goes_on(module, {**X})
    flat = inline(main)
    assert not {"block"} & {data["type"] for _, data in flat.nodes(data=True)}
    for graph in (main, flat):
        assert evaluate(graph, X)["out"].tolist() == [[0, 0, 0, 0]]
        goes_on(graph, X)


class Shape(IrData):
    channels: int
    length: int


class Layer(IrData):
    """What a layer says of itself."""

    name: str
    type: str
    input_shape: Shape
    stride: int = 1
    kernel: tuple[int, ...] = field(default=(3,), doc="Sizes of the window.")


class VhdlLayer(Layer):
    implementation: str
    output_shape: Shape


def layer() -> Layer:
    return Layer(name="conv_1", type="conv", input_shape=Shape(channels=3, length=8))


def test_e7_annotations_become_checked_fields_over_serialisable_data():
    node = layer()
    assert Layer.of(json.loads(json.dumps(node.data))).kernel == node.kernel == (3,)
    node.stride = 2
    assert node.data["stride"] == 2
    with pytest.raises(DataError, match=r"Layer\.stride: expected int, got str 'two'"):
        node.stride = "two"
    graph = chain()
    attributes = graph.nodes["neg_1"]

    class Noted(IrData):
        type: str
        note: str = ""

    view = Noted.of(attributes)
    view.note = "look"
    assert view.data is attributes
    assert graph.nodes["neg_1"]["note"] == "look"
    assert goes_on(graph, X).nodes["neg_1"]["note"] == "look"


def test_e8_new_types_take_no_boilerplate_and_fields_have_docstrings():
    class Edge(IrData):
        source: str
        destination: str

    assert Edge(source="a", destination="b").data == {"source": "a", "destination": "b"}
    assert "Sizes of the window." in Layer.kernel.__doc__
    # That a type checker accepts right use and rejects wrong use is tests/schema/test_typing.py.


def test_e9_fields_convert_on_the_way_in_and_out():
    class Node(IrData):
        path: PurePath = field(set_convert=str, get_convert=PurePath)

    node = Node.of({})
    node.path = PurePath("nets") / "a.onnx"
    assert node.path.suffix == ".onnx"
    assert json.loads(json.dumps(node.data)) == {"path": "nets/a.onnx"}
    with pytest.raises(DataError, match=r"Node\.path: expected PurePath, got int 3"):
        node.path = 3


def test_e10_missing_fields_are_listed_and_data_is_a_prototype():
    partial = VhdlLayer.of(layer().data)
    assert sorted(partial.get_missing_required_fields()) == ["implementation", "output_shape"]
    whole = VhdlLayer.like(layer(), implementation="conv_a", output_shape=Shape(channels=8, length=6))
    assert not whole.get_missing_required_fields()
    whole.stride = 7
    assert layer().stride == 1


def test_e11_nested_data_write_through():
    node = layer()
    node.input_shape.length = 5
    assert node.data["input_shape"]["length"] == 5
    with pytest.raises(DataError, match=r"Layer\.input_shape\.length: expected int"):
        node.input_shape.length = 1.5


def test_e12_constructors_are_typed():
    with pytest.raises(DataError, match="required fields are missing: type: str, input_shape"):
        Layer(name="a")
    with pytest.raises(DataError, match="did you mean 'stride'"):
        Layer(name="a", type="b", input_shape=Shape(channels=1, length=1), strid=2)


def test_e13_types_describe_layers():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3, 8)))
    graph.output("y", op.conv(x, np.ones((4, 3, 3), np.float32), strides=(1,), pads=(1, 1), dilations=(1,)))
    conv = graph.node("conv_1")
    assert (conv.in_channels, conv.out_channels, conv.groups, conv.padding_value) == (3, 4, 1, 0)
    assert conv.kernel_size in (3, (3,))
    assert tuple(np.atleast_1d(conv.padding)) == (1, 1)
    assert conv.weight.shape == (4, 3, 3)
    assert np.size(conv.bias) == 0
    assert str(conv.result) == "f32[N,4,8]"
    goes_on(graph, {"x": np.arange(48.0, dtype="f4").reshape(2, 3, 8)})


def test_e13_a_convolution_reads_length_and_channels_and_has_a_padding_value():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (8, 3), "LC"))
    weight = np.arange(36, dtype=np.float32).reshape(4, 3, 3)
    graph.output("y", op.conv(x, weight=weight, bias=np.zeros(0), kernel_size=3, padding=1, padding_value=1.0))
    values = np.arange(24.0, dtype="f4").reshape(8, 3)
    padded = np.pad(values, [(1, 1), (0, 0)], constant_values=1)
    wanted = [np.einsum("lc,ocl->o", padded[i : i + 3], weight) for i in range(8)]
    assert evaluate(graph, {"x": values})["y"].tolist() == np.stack(wanted).tolist()
    conv = graph.node("conv_1")
    assert (conv.in_channels, conv.out_channels, conv.kernel_size, conv.bias.shape) == (3, 4, 3, (0,))
    goes_on(graph, {"x": values})


def test_e14_implementations_are_found_by_name_in_a_library_of_graphs():
    module = Module("library")
    module["conv_a"] = chain()
    main = module.add_graph("main")
    main.output("y", op.generic("vhdl_conv")(main.input("x", F), result=F))
    main.nodes["vhdl_conv_1"]["implementation"] = "conv_a"
    found = module.implementation("main", "vhdl_conv_1")
    assert found is module["conv_a"]
    assert (str(found.result_type("x")), str(found.result_type("relu_1"))) == ("f32[N,4]", "f32[N,4]")
    assert module.implementation("main", "x") is None
    verify(module)
    assert evaluate(main, X)["y"].tolist() == evaluate(chain(), X)["y"].tolist()
    assert [data["type"] for _, data in goes_on(inline(main), X).nodes(data=True)] == ["input", "output", "neg", "relu"]
    main.nodes["vhdl_conv_1"]["implementation"] = "conv_b"
    with pytest.raises(GraphError, match="did you mean 'conv_a'"):
        evaluate(main, X)


def test_e15_graphs_serialise_to_nested_dictionaries_of_primitives_and_back():
    graph = chain()
    graph.nodes["neg_1"]["note"] = {"deep": [1, (2, None)]}
    plain = to_dict(graph)
    assert from_dict(json.loads(json.dumps(plain))) == graph
    assert goes_on(graph, X).nodes["neg_1"]["note"] == {"deep": [1, (2, None)]}


# ---------------------------------------------------------------------- Aidge


def test_a1_parents_children_and_several_slots_between_one_pair():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", x - x)
    assert graph.operands("sub_1") == (Operand("x"), Operand("x"))
    assert [(r.node, r.slot) for r in graph.readers("x")] == [("sub_1", 0), ("sub_1", 1)]
    assert list(graph.predecessors("sub_1")) == ["x"]
    goes_on(graph, X)


def test_a2_one_operator_is_shared_by_several_nodes():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 1, 4, 4)))
    layer = Operator(graph, op.conv, np.ones((1, 1, 1, 1), np.float32), strides=(1, 1))
    graph.output("y", layer(x))
    graph.output("z", layer(op.relu(x)))
    first, second = layer.nodes
    assert graph.operands(first)[1] == graph.operands(second)[1]
    layer.set(strides=(2, 2))
    verify(graph)
    assert {graph.attributes(n)["strides"] for n in layer.nodes} == {(2, 2)}
    assert str(graph.result_type(second)) == "f32[N,1,2,2]"
    goes_on(graph, {"x": np.arange(16.0, dtype="f4").reshape(1, 1, 4, 4)})


def test_a3_implementations_are_chosen_by_what_a_node_is():
    asked = []

    def on(name):
        return lambda x: (asked.append(name), np.maximum(x, 0))[1]

    options = (
        Implementation(op.relu, on("any")),
        Implementation(op.relu, on("single"), element="f32"),
        Implementation(op.relu, on("board"), backend="board"),
    )
    graph = chain()
    assert evaluate(graph, X, implementations=options)["y"].tolist() == [[0, 2, 0, 4]]
    graph.nodes["relu_1"]["backend"] = "board"
    evaluate(graph, X, implementations=options)
    assert asked == ["single", "board"]
    assert goes_on(graph, X, implementations=options).nodes["relu_1"]["backend"] == "board"


def test_a4_views_have_an_interface_follow_a_merge_and_are_set_as_a_whole():
    graph = chain()
    graph.view("both", ["neg_1", "relu_1"])
    graph.view("last", ["relu_1"])
    assert graph.views_of("relu_1") == ("both", "last")
    view = graph.view("both")
    assert (view.inputs, view.outputs) == (("x",), ("relu_1",))
    assert (view.input_operands, view.output_operands) == ((Operand("x"),), (Operand("relu_1"),))

    @rule
    def fuse(x):
        """Both in one."""
        yield op.relu(op.neg(x))
        return op.maximum(op.neg(x), np.float32(0))

    made = rewrite(graph, fuse)
    assert {"neg_2", "maximum_1"} <= made.view("both").nodes
    assert made.view("both").output_operands == (Operand("maximum_1"),)
    assert "maximum_1" in made.view("last")
    assert made.view("both").evaluate({"x": X["x"]})["maximum_1"].tolist() == [[0, 2, 0, 4]]
    assert made.view("both").set(backend="board").nodes["maximum_1"]["backend"] == "board"
    half = made.view("both").set(element="f16")
    assert str(half.result_type("maximum_1")) == "f16[N,4]"
    for each in (graph, made):
        goes_on(each, X)
    goes_on(half, X, implementations=(Implementation(op.maximum, np.maximum, backend="board"),))


def test_a6_a_generic_operator_loads_prints_and_is_replaced_later():
    graph = Graph("g")
    strange = op.generic("Strange")
    graph.output("y", strange(graph.input("x", F), level=3))
    assert graph.attributes("Strange_1") == {"level": 3}
    assert Graph.parse(str(graph)) == graph
    with pytest.raises(UnknownOpError, match="Strange"):
        evaluate(graph, X)

    @rule
    def known(x):
        """It was a relu."""
        yield strange(x)
        return op.relu(x)

    assert evaluate(rewrite(graph, known), X)["y"].tolist() == [[1, 0, 3, 0]]
    known_now = (Implementation(strange, lambda x, level: x * level),)
    assert evaluate(graph, X, implementations=known_now)["y"][0, 0] == 3
    goes_on(graph, X, implementations=known_now)
    goes_on(rewrite(graph, known), X)


def test_a7_a_producer_stores_a_tensor_and_reads_nothing():
    graph = Graph("g")
    weights = graph.constant(np.float32([1, 2, 3, 4]), name="w")
    graph.output("y", weights * graph.input("x", F))
    assert graph.operands("w") == ()
    goes_on(graph, X)
    graph.add_edge("x", "w", slots=((0, 0),))
    with pytest.raises(VerificationError, match="'w'"):
        verify(graph)


def test_a8_transmitters_are_inserted_where_backends_differ():
    graph = chain()
    graph.nodes["neg_1"]["backend"], graph.nodes["relu_1"]["backend"] = "cpu", "board"
    made = rewrite(graph, insert_transfers)
    (transfer,) = [n for n in made if made.nodes[n]["type"] == "transfer"]
    assert made.operands("relu_1") == (Operand(transfer),)
    values = [evaluate(each, X, implementations=None)["y"].tolist() for each in (made, graph)]
    assert values[0] == values[1]
    with pytest.raises(EvaluationError, match=r"'relu_1': no implementation of relu\(.*\) has the backend 'board'"):
        evaluate(made, X)
    assert goes_on(made, X).nodes["relu_1"]["backend"] == "board"


def test_a9_a_plugin_supplies_what_a_generic_operator_stood_in_for():
    @define_op
    def swirl(x):
        """Of a user's own package."""
        return x[:, ::-1]

    text = str(chain()).replace("relu(", "?swirl(")
    assert "?swirl" in str(Graph.parse(text))
    known = Graph.parse(text.replace("?swirl", "swirl"), ops=[swirl])
    assert evaluate(known, X)["y"].tolist() == [[4, -3, 2, -1]]
    goes_on(known, X, ops=[swirl])


def test_a10_sequential_and_parallel_nest():
    block = sequential(op.neg, parallel(op.relu, sequential(op.abs, op.sqrt)), op.add, residual(op.relu))
    graph = Graph("g")
    graph.output("y", block(graph.input("x", F)))
    expected = block(X["x"])
    np.testing.assert_allclose(evaluate(graph, X)["y"], expected)
    graph.add(op.exp, [graph.value("relu_1")], name="child")
    assert list(graph.predecessors("child")) == ["relu_1"]
    goes_on(graph, X)


def test_a11_the_functional_syntax_shares_what_is_shared():
    graph = Graph("g")
    x = graph.input("x", F)
    shared = op.relu(x)
    graph.output("y", shared + op.exp(shared))
    assert sum(data["type"] == "relu" for _, data in graph.nodes(data=True)) == 1
    assert {r.node for r in graph.readers("relu_1")} == {"add_1", "exp_1"}
    joined = compose(chain(), graph, {"y": "x"})
    assert evaluate(joined, X)[joined.outputs[0]].shape == (1, 4)
    goes_on(joined, X)


def test_a12_clones_are_deep_or_share_their_parameters():
    graph = Graph("g")
    graph.output("y", graph.input("x", F) * graph.constant(np.ones(4, np.float32), name="w"))
    shared, deep = graph.copy(), copy.deepcopy(graph)
    assert shared == deep == graph == copy.copy(graph) == pickle.loads(pickle.dumps(graph))
    assert shared.nodes["w"]["value"] is graph.nodes["w"]["value"]
    assert deep.nodes["w"]["value"] is not graph.nodes["w"]["value"]
    renamed = Graph(nx.relabel_nodes(graph, {"mul_1": "times"}))
    renamed.name = graph.name
    assert graph.equals(renamed, names=False)
    assert not graph.equals(renamed)
    for each in (shared, deep, renamed):
        goes_on(each, X)


# ---------------------------------------------------------------------- cavis, deeplearning4j


def test_c5_import_maps_names_tensors_and_ops_that_are_not_one_to_one():
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    from graphrewrite.lowering import from_onnx

    nodes = [
        helper.make_node("Dropout", ["x"], ["kept"], name="drop"),
        helper.make_node("Gemm", ["kept", "w"], ["h"], name="dense", transB=1),
        helper.make_node("Mystery", ["h"], ["y"], name="odd", domain="some.where", size=2),
    ]
    info = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", (1, 4)), ("y", (1, 2)))]
    weights = [numpy_helper.from_array(np.ones((2, 4), np.float32), "w")]
    sets = [helper.make_opsetid("", 13), helper.make_opsetid("some.where", 1)]
    graph = from_onnx(
        helper.make_model(helper.make_graph(nodes, "net", info[:1], info[1:], weights), opset_imports=sets)
    )
    assert graph.inputs == ("x",)
    assert graph.nodes["w"]["value"].shape == (2, 4)
    assert [graph.nodes[n]["type"] for n in ("drop", "dense", "odd")] == ["dropout", "gemm", "some.where.Mystery"]
    assert graph.origin("dense") == ("dense",)
    odd = Implementation(graph.op("odd"), lambda x, size: x[:, :size])
    goes_on(graph, {"x": X["x"]}, implementations=(odd,))


# ---------------------------------------------------------------------- Glow


def test_g1_every_edge_has_element_and_shape_and_nodes_are_verified():
    graph = chain()
    assert [str(graph.result_type(source)) for source, _ in graph.edges] == ["f32[N,4]"] * 3
    goes_on(graph, X)
    graph.nodes["relu_1"]["result"] = Tensor("f64", ("N", 4))
    with pytest.raises(VerificationError, match=r"'relu_1'.*f32\[N,4\].*f64\[N,4\]"):
        verify(graph)


def shared_module() -> Module:
    module = Module("net")
    weights = module.constant("w", np.float32([1, 2, 3, 4]))
    given = module.placeholder("x", F)
    for name, combine in (("train", op.mul), ("infer", op.add)):
        graph = module.add_graph(name)
        graph.output("y", combine(given.on(graph), weights.on(graph)))
    return module


def test_g2_functions_of_a_module_share_constants_and_placeholders():
    module = shared_module()
    arrays = [data["value"] for g in module.values() for _, data in g.nodes(data=True) if data["type"] == "constant"]
    assert len(arrays) == 2
    assert arrays[0] is arrays[1] is module.constants["w"]
    module.set_constant("w", np.float32([4, 3, 2, 1]))
    assert evaluate(module["infer"], X)["y"].tolist() == [[5, 1, 5, -3]]
    assert evaluate(module["train"], X)["y"].tolist() == [[4, -6, 6, -4]]
    module_goes_on(module, X)


def test_g3_constants_are_immutable_and_passes_copy_what_they_change():
    module = shared_module()
    with pytest.raises(ValueError, match="read-only"):
        module.constants["w"][0] = 7
    assert not any(
        "value" in data for g in module.values() for _, data in g.nodes(data=True) if data["type"] == "input"
    )

    @rule
    def double_weights(x, w: rule.Constant):
        """For one graph only."""
        yield op.mul(x, w)
        return op.mul(x, w + w)

    changed = rewrite(module["train"], double_weights, once=True)
    assert evaluate(changed, X)["y"].tolist() == [[2, -8, 18, -32]]
    assert evaluate(module["train"], X)["y"].tolist() == [[1, -4, 9, -16]]
    assert module.constants["w"].tolist() == [1, 2, 3, 4]
    goes_on(changed, X)


def test_g4_all_uses_of_a_value_are_replaced_and_constants_modified():
    graph = Graph("g")
    x = graph.input("x", F)
    negative = -x
    graph.output("y", negative + op.exp(negative) * graph.constant(np.ones(4, np.float32), name="w"))
    rewire(graph, "neg_1", Operand("x"))
    assert not graph.readers("neg_1")
    before = graph.copy()
    graph.nodes["w"]["value"] = np.zeros(4, np.float32)
    verify(graph)
    assert [change.name for change in diff(before, graph).changed] == ["w"]
    goes_on(graph, X)


def test_g5_nodes_print_with_their_types_and_graphs_draw():
    text = str(chain())
    assert "relu_1 = relu(neg_1) : f32[N,4]" in text
    goes_on(chain(), X)
    pytest.importorskip("pydot")
    from graphrewrite.view import show

    assert "relu" in str(show(chain()).dot)


def test_g6_a_predicate_says_when_a_value_is_needed_and_rewriting_keeps_it():
    graph = Graph("g")
    x, p, q = graph.input("x", F), graph.input("p", Tensor("bool", ("N",))), graph.input("q", Tensor("bool", ("N",)))
    graph.output("y", op.relu(op.relu(x)) + op.relu(x))
    graph.set_predicate("relu_2", p)
    graph.set_predicate("relu_3", q)
    made = goes_on(graph, {**X, "p": [True], "q": [False]})
    merged = {made.predicate(n).node for n in made if made.nodes[n]["type"] == "relu" and made.predicate(n)}
    assert "q" in merged, "equal nodes are merged only if their predicates are equal, too"


def test_g7_composites_are_lowered_by_rules_with_a_veto_and_their_origin():
    @rule
    def split_fma(x, y, z):
        """A product and a sum."""
        node = op.fma(x, y, z)
        yield node
        if node.backend == "dsp":
            return rule.decline("the target has it", at=node)
        return op.add(op.mul(x, y), z)

    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.fma(x, x, x))
    graph.output("z", op.fma(x, x, -x))
    graph.nodes["fma_2"]["backend"] = "dsp"
    made = rewrite(graph, split_fma)
    assert "fma_2" in made
    assert "fma_1" not in made
    assert made.origin("add_1") == ("fma_1",)
    assert goes_on(made, X).nodes["fma_2"]["backend"] == "dsp"


def test_outlining_is_the_inverse_of_inlining():
    block = Graph("block")
    block.output("y", op.relu(-block.input("x", F)))
    from graphrewrite.hierarchy.graph_ops import graph_op

    made = rewrite(chain(), outline(graph_op(block)))
    assert [made.nodes[n]["type"] for n in made.in_order()] == ["input", "block", "output"]
    assert inline(made).equals(chain(), names=False)
    goes_on(made, X)


def test_a_conversion_that_an_implementation_needs_is_inserted_by_rule():
    double = Implementation(op.relu, lambda x: np.maximum(x, 0), element="f64", backend="precise")
    graph = chain()
    graph.nodes["relu_1"]["backend"] = "precise"
    made = rewrite(graph, insert_conversions((double,)))
    assert "cast" in {data["type"] for _, data in made.nodes(data=True)}
    assert evaluate(made, X, implementations=(double,))["y"].tolist() == [[0, 2, 0, 4]]
    goes_on(made, X, implementations=(double,))


def test_types_that_contradict_are_refused_where_they_meet():
    graph = Graph("g")
    x, z = graph.input("x", F), graph.input("z", Tensor("f64", ("N", 4)))
    with pytest.raises(TypeMismatchError, match="cast one of them"):
        op.add(x, z)
