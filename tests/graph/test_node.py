"""E13, E14: every op's typed view follows from its definition; a view of a node is a view of networkx's dictionary."""

from __future__ import annotations

import copy
import inspect
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from graphrewrite import op
from graphrewrite.errors import DataError, FieldError, GraphError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.graph.node import Node
from graphrewrite.graph.node_class import class_of
from graphrewrite.graph.value import Value
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import LIBRARY, define_op
from graphrewrite.op.generic_op import generic
from graphrewrite.op.reserved_keys import RESERVED_ANNOTATIONS
from graphrewrite.schema import IrData
from graphrewrite.testing import graphs
from graphrewrite.types import FixedPoint, Tensor

F = np.float32
LAYERS = [one for one in LIBRARY.values() if one.level in ("nn", "integer", "bridge", "structure")]


def network() -> Graph:
    g = Graph("net")
    x = g.input("x", Tensor("f32", ("N", 4, 9)))
    w, b = np.ones((6, 2, 3), F), np.arange(6, dtype=F)
    one = op.conv(x, w, b, groups=2, strides=(2,), pads=(1, 1), dilations=(1,))
    two = op.conv(one, np.ones((1, 6, 5), F), strides=(1,), pads=(0, 0), dilations=(1,))
    g.output("y", op.clip(two, low=0.0))
    return g


def test_E13_a_convolution_has_what_frameworks_call_its_parts():
    g = network()
    one, two = g.node("conv_1"), g.node("conv_2")
    assert (one.in_channels, one.out_channels, one.kernel_size, one.groups) == (4, 6, 3, 2)
    assert (one.padding, one.padding_value, one.stride, one.strides, one.dilation) == ((1, 1), 0, (2,), (2,), (1,))
    assert one.weight.shape == (6, 2, 3)
    assert one.bias.tolist() == [0, 1, 2, 3, 4, 5]
    assert (two.b, two.bias.shape, two.bias.dtype) == (None, (0,), np.float32)
    assert (one.name, one.type, one.input_shape, one.output_shape) == ("conv_1", "conv", ("N", 4, 9), ("N", 6, 5))
    assert (two.in_channels, two.kernel_size) == (6, 5)
    assert isinstance(two.x, Value)
    assert two.x.node == "conv_1"
    assert two.result == Tensor("f32", ("N", 1, 1))
    image = Graph("image")
    op.conv(image.input("x", Tensor("f32", ("N", 3, 8, 8))), np.ones((2, 3, 3, 1), F))
    assert image.node("conv_1").kernel_size == (3, 1)
    learnt = Graph("learnt")
    op.linear(learnt.input("x", Tensor("f32", ("N", 3))), learnt.input("w", Tensor("f32", (5, 3))))
    assert repr(learnt.node("linear_1").weight) == "<value w>"
    assert (learnt.node("linear_1").in_features, learnt.node("linear_1").out_features) == (3, 5)


def test_other_layers():
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 4, 8, 8)))
    ones = np.ones(4, F)
    norm = op.batch_norm(x, ones, 2 * ones, ones, ones, epsilon=1e-3)
    pooled = op.global_average_pool(op.max_pool(norm, kernel=(2, 2), strides=(2, 2)))
    flat = op.flatten(op.leaky_relu(pooled, alpha=0.5))
    op.softmax(op.gemm(flat, np.ones((3, 4), F), trans_b=True), axis=1)
    assert (g.node("batch_norm_1").num_features, g.node("batch_norm_1").eps) == (4, 1e-3)
    assert g.node("batch_norm_1").bias.tolist() == g.node("batch_norm_1").shift.tolist() == [2, 2, 2, 2]
    assert (g.node("max_pool_1").kernel_size, g.node("max_pool_1").padding) == ((2, 2), (0, 0, 0, 0))
    assert g.node("global_average_pool_1").kernel_size == (4, 4)
    assert g.node("leaky_relu_1").negative_slope == 0.5
    assert (g.node("gemm_1").in_features, g.node("gemm_1").out_features, g.node("gemm_1").bias.shape) == (4, 3, (0,))
    assert g.node("softmax_1").dim == 1
    op.global_average_pool(g.input("last", Tensor("f32", ("N", 5, 7, 4), "NHWC")))
    assert g.node("global_average_pool_2").kernel_size == (5, 7)
    mantissas = Graph("mantissas")
    small = FixedPoint(True, 8)
    y = mantissas.input("x", Tensor(small, ("N", 3)))
    weights, bias = (mantissas.constant(np.ones(s, np.int8), type=Tensor(small, s)) for s in ((2, 3), (2,)))
    op.integer_linear(y, weights, bias, element=FixedPoint(True, 32))
    view = mantissas.node("integer_linear_1")
    assert (view.in_features, view.out_features, view.element) == (3, 2, FixedPoint(True, 32))
    with pytest.raises(DataError, match=r"^nodes.integer_linear_1.element: expected FixedPoint, got str 'f32'"):
        view.element = "f32"


def test_operands_of_any_number_missing_ones_and_ports():
    g = network()
    x = g.value("x")
    op.concat(x, x, axis=1)
    view = g.node("concat_1")
    assert [value.node for value in view.xs] == ["x", "x"]
    assert len(view.operands) == len(view.operand_types) == 2
    assert (g.node("x").output_shape, g.node("x").input_shape) == (("N", 4, 9),) * 2
    assert g.node("y").output_shape == g.node("y").input_shape == ("N", 1, 1)
    assert g.node("x").index == 0
    assert g.node("constant_1").value is g.nodes["constant_1"]["value"]
    with pytest.raises(ValueError, match="read-only"):
        g.node("conv_1").weight[...] = 0  # copies of the graph share it
    with pytest.raises(GraphError, match=r"node 'conv_9': is not in the graph; did you mean 'conv_2'\?"):
        g.node("conv_9")


def test_attributes_are_checked_and_written_through():
    g = network()
    view = g.node("conv_1")
    view.strides = [3]
    assert g.nodes["conv_1"]["strides"] == view.strides == (3,)
    view.strides = [1]
    assert "strides" not in g.nodes["conv_1"]
    view.stride = (2,)
    assert view.strides == (2,)
    view.groups = 1
    assert "groups" not in view.data  # a default is not stored
    assert view.groups == 1
    g.node("clip_1").low = np.float32(0.5)
    assert type(g.nodes["clip_1"]["low"]) is float
    g.node("clip_1").low = 2**60  # of mantissas, a whole number
    assert type(g.nodes["clip_1"]["low"]) is int
    g.node("clip_1").low = None
    assert g.node("clip_1").low is None
    before = copy.deepcopy(view.data)
    for name, wrong, message in [
        ("strides", [1, "x"], r"^nodes.conv_1.strides\[1\]: expected int, got str 'x'"),
        ("stride", 1.5, r"^nodes.conv_1.stride: expected Sequence\[int\], got float 1.5"),
        ("groups", 1.5, "^nodes.conv_1.groups: expected int, got float 1.5"),
        ("weight", np.ones(1), "^nodes.conv_1.weight: is an operand, which is an edge of the graph"),
        ("in_channels", 4, "^nodes.conv_1.in_channels: is derived from operands and attributes"),
        ("stridse", 4, r"^nodes.conv_1: has no 'stridse' .*; did you mean 'stride'\?"),
        ("backend", 4, r"^nodes.conv_1.backend: expected str \| None, got int 4"),
        ("result", "f32", "^nodes.conv_1.result: expected Tensor"),
    ]:
        with pytest.raises(DataError, match=message):
            setattr(view, name, wrong)
        assert view.data == before
    with pytest.raises(FieldError, match=r"has no 'in_chanels' .*did you mean 'in_channels'"):
        print(view.in_chanels)
    assert not hasattr(view, "nonsense")
    view.data["strides"] = (7,)
    assert view.strides == (7,)
    del view.strides
    assert view.strides == (1,)


def test_marks_and_what_every_node_has():
    g = network()
    view = g.node("conv_1")
    assert set(Node._fields) >= RESERVED_ANNOTATIONS
    for mark in sorted(RESERVED_ANNOTATIONS):
        assert getattr(view, mark) is None
        setattr(view, mark, "name")
        assert g.nodes["conv_1"][mark] == "name"
        setattr(view, mark, None)
        assert mark not in g.nodes["conv_1"]
    view.origin = ("Conv_0",)
    view.result = Tensor("f32", ("N", 6, 9))
    assert g.result_type("conv_1") == Tensor("f32", ("N", 6, 9))
    view.data["result"] = (Tensor("f32", ()), Tensor("f32", ()))
    assert len(view.result) == 2


def test_E14_a_node_for_vhdl_has_shapes_and_an_implementation_in_a_library_of_graphs():
    class VhdlNode(Node):
        implementation: str

    module = Module("design")
    main, matvec = module.add_graph("main"), module.add_graph("matvec")
    op.relu(main.input("x", Tensor("f32", ("N", 3, 8))))
    node = main.node("relu_1", VhdlNode)
    assert node.get_missing_required_fields() == {"implementation": "str"}
    node.implementation = "matvec"
    assert module.implementation("main", "relu_1") is matvec
    assert (node.input_shape, node.output_shape) == (("N", 3, 8), ("N", 3, 8))


def test_help_completion_and_printing():
    g = network()
    view = g.node("conv_1")
    assert {"weight", "bias", "in_channels", "x", "strides", "backend", "name", "data"} <= set(dir(view))
    assert inspect.getdoc(view).startswith("Convolution over the axes after batch and channels")
    assert inspect.getdoc(type(view).strides) == "Attribute: Sequence[int], (1, 1) if not given."
    assert inspect.getdoc(type(view).weight) == "Another name of `w`."
    assert inspect.getdoc(type(view).w) == "Operand 1."
    assert type(view).__name__ == "ConvNode"
    assert type(g.node("conv_2")) is type(view)
    text = repr(view)
    assert text.startswith("<conv node 'conv_1' {")
    assert "'groups': 2" in text


def test_views_of_one_s_own_classes():
    class Conv(Node):
        strides: tuple[int, ...]
        groups: int

    class Mine(IrData):
        type: str
        note: str = "none"

    g = network()
    conv = g.node("conv_2", Conv)
    assert (conv.strides, conv.groups, conv.name) == ((1,), 1, "conv_2")
    assert conv.in_channels == 6
    conv.groups = 3
    assert g.nodes["conv_2"]["groups"] == 3
    with pytest.raises(DataError, match=r"^nodes.conv_2.groups: expected int"):
        conv.groups = "x"  # type: ignore[assignment]

    class Named(Node):
        name: str
        input_shape: tuple[int | str, ...]

    assert (g.node("conv_1", Named).name, g.node("conv_1", Named).input_shape) == ("conv_1", ("N", 4, 9))
    with pytest.raises(FieldError, match=r"^nodes.conv_1.name: is the node's in the graph"):
        g.node("conv_1").name = "other"
    mine = g.node("conv_2", Mine)
    mine.note = "by hand"
    assert g.nodes["conv_2"]["note"] == "by hand"
    assert Conv.of(g.node("conv_2")).name == "conv_2"

    class VhdlNode(Node):
        name_of_unit: str

    made = VhdlNode.like(g.node("conv_1"), name_of_unit="u1")
    made.strides = (9,)
    assert g.node("conv_1").strides == (2,)
    assert made.data["name_of_unit"] == "u1"


def test_views_of_data_alone():
    plain = nx.DiGraph()
    plain.add_node("a", type="conv", strides=(2, 2))
    plain.add_node("b", type="unheard_of", alpha=1)
    view = Node.of(plain.nodes["a"])
    assert (view.strides, view.groups, view.type) == ((2, 2), 1, "conv")
    view.groups = 2
    assert plain.nodes["a"]["groups"] == 2
    for name in ("name", "graph", "weight", "in_channels", "operands"):
        with pytest.raises(FieldError, match=r"Node: is a view of plain data.*use graph.node"):
            getattr(view, name)
    unknown = Node.of(plain.nodes["b"])
    assert unknown.alpha == 1
    assert unknown.op is None
    with pytest.raises(FieldError, match=r"Node: has no 'alpah' .*did you mean 'alpha'"):
        print(unknown.alpah)
    with pytest.raises(FieldError, match="the op 'unheard_of' is unknown, and so are its attributes; write to `data`"):
        unknown.alpha = 2
    assert Node.of({}).get_missing_required_fields() == {"type": "str"}
    assert Node.of({"type": "transpose"}).get_missing_required_fields() == {"perm": "Sequence[int]"}
    with pytest.raises(FieldError, match=r"Node.perm: is required and missing"):
        print(Node.of({"type": "transpose"}).perm)
    assert Node(type="relu").data == {"type": "relu"}
    ours = Graph(plain)
    assert ours.node("b").alpha == 1


def test_ops_of_one_s_own_and_generic_ones():
    @define_op(infer=lambda x, *more, **_: x, derived={"gain": "factor", "twice": lambda node: 2 * node.factor})
    def scale_by(x, *more, factor, table=None):  # nothing is annotated
        """Scale."""

    g = Graph("g", ops=[scale_by])
    x = g.input("x", Tensor("f32", ("N",)))
    scale_by(x, x, factor=3)
    view = g.node("scale_by_1")
    assert (view.gain, view.twice, view.table, len(view.more)) == (3, 6, None, 1)
    assert inspect.getdoc(view).startswith("Scale.\n\nParameters\n")
    view.table = np.ones(3)
    assert g.nodes["scale_by_1"]["table"].shape == (3,)
    generic("a::B")(x, alpha=1)
    free = g.node("a::B_1")
    free.beta = [1, {"c": 2}]
    assert (free.alpha, free.beta) == (1, (1, {"c": 2}))
    assert g.attributes("a::B_1") == {"alpha": 1, "beta": (1, {"c": 2})}
    assert repr(free.operands) == "(<value x>,)"
    with pytest.raises(TypeMismatchError, match=r"'gain' would be an alias of 'facto', .* did you mean 'factor'"):
        define_op(derived={"gain": "facto"})(scale_by.function)
    with pytest.raises(TypeMismatchError, match="the derived name 'factor' is taken"):
        define_op(derived={"factor": "x"})(scale_by.function)


def test_a_node_of_a_graph_has_the_names_of_its_inputs():
    block = Graph("block")
    block.output("y", op.relu(block.input("x", Tensor("f32", ("N", 4)))))
    g = Graph("main")
    graph_op(block)(g.input("z", Tensor("f32", ("N", 4))))
    view = g.node("block_1")
    assert view.x.node == "z"
    block.input("later", Tensor("f32", ("N", 4)))
    assert view.later is None
    assert "later" in dir(view)
    with pytest.raises(FieldError, match=r"nodes.block_1: has no 'latre' .*did you mean 'later'"):
        print(view.latre)


def test_copies_and_pickles():
    g = network()
    view = g.node("conv_1")
    for other in (pickle.loads(pickle.dumps(view)), copy.deepcopy(view)):
        assert other == view
        assert other.in_channels == 4
        assert other.graph is not g
        other.groups = 1
        assert view.groups == 2
    alone = copy.copy(view)
    alone.groups = 1
    assert view.groups == 2
    assert pickle.loads(pickle.dumps(Node.of(dict(view.data)))) == view


@pytest.mark.parametrize("one", LAYERS, ids=lambda one: one.name)
def test_E13_every_op_has_a_view_from_its_definition(one):
    made = class_of(Node, one)
    assert made.__doc__ == one.__doc__
    assert {*one.operands, *one.attributes, *one.derived} <= set(dir(made))
    assert {*one.operands, *one.attributes, *one.derived} & set(
        dir(Node)
    ) <= RESERVED_ANNOTATIONS  # one key, one meaning
    for name, default in ((n, d) for n, d in one.attributes.items() if n not in RESERVED_ANNOTATIONS):
        kind = one.checks[name].kind
        assert inspect.getdoc(getattr(made, name)).startswith(f"Attribute: {kind.name}")
        if default is not inspect.Parameter.empty:
            kind.store(default, name)


@given(graphs())
def test_views_agree_with_the_graph(graph):
    before = graph.copy()
    for name in sorted(graph):
        view, its_op = graph.node(name), graph.op(name)
        for key, value in graph.attributes(name).items():
            assert np.array_equal(getattr(view, key), value) if isinstance(value, np.ndarray) else (
                getattr(view, key) == value
            )  # fmt: skip
            setattr(view, key, list(value) if isinstance(value, tuple) else value)
        sources = graph.operands(name)
        assert len(view.operands) == len(sources)
        for i, word in enumerate(its_op.operands[: None if not its_op.variadic else -1]):
            found = getattr(view, word)
            if i >= len(sources):
                assert found is None
            elif graph.nodes[sources[i].node]["type"] == "constant":
                np.testing.assert_array_equal(found, graph.nodes[sources[i].node]["value"])
            else:
                assert (found.node, found.result) == tuple(sources[i])
        for word in its_op.derived:
            getattr(view, word)
        assert view.data is graph.nodes[name]
    assert graph == before


class Convolution(Node):
    """What an annotation names is the op's own."""

    kernel_size: int
    padding: tuple[int, ...]
    groups: int = 1
    comment: str = ""


def test_what_a_subclass_annotates_means_what_it_means_without():
    g = network()
    view, before = g.node("conv_1", Convolution), dict(g.nodes["conv_1"])
    with pytest.raises(FieldError, match=r"nodes.conv_1.kernel_size: is derived from operands and attributes"):
        view.kernel_size = 5
    with pytest.raises(DataError, match=r"nodes.conv_1.padding\[0\]: expected int, got str 'x'"):
        view.padding = ("x",)  # type: ignore[assignment]
    assert g.nodes["conv_1"] == before
    view.padding = (2, 2)
    assert "padding" not in g.nodes["conv_1"]
    assert g.nodes["conv_1"]["pads"] == (2, 2) == g.node("conv_1").padding == view.padding
    view.groups = 1  # the default, which is not stored
    assert "groups" not in g.nodes["conv_1"]
    view.comment = "mine"  # nothing of the op's: data of the class
    assert g.nodes["conv_1"]["comment"] == "mine"


class VhdlNode(Node):
    implementation: str
    latencies: list[int]


def test_E10_a_mark_that_a_subclass_requires():
    g = network()
    with pytest.raises(FieldError, match=r"nodes.conv_1.implementation: is required and missing; assign it \(str\)"):
        print(g.node("conv_1", VhdlNode).implementation)
    with pytest.raises(FieldError, match=r"nodes.conv_1.latencies: is required and missing; assign it \(list\[int\]\)"):
        print(g.node("conv_1", VhdlNode).latencies)
    made = VhdlNode.like(g.node("conv_1"), implementation="mac", latencies=[1])
    assert repr(made).startswith("VhdlNode.of({'type': 'conv', ")
    assert "implementation" not in g.nodes["conv_1"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), r"alpha: object <object .*> cannot be stored; give numbers, strings, types, arrays"),
        ([1, {"a": print}], r"alpha\[1\]\['a'\]: builtin_function_or_method .* cannot be stored"),
        (np.array([None]), r"alpha: expected numpy.ndarray, got array object\[1\]"),
    ],
)
def test_data_that_cannot_be_stored_is_refused_at_once(value, message):
    g = Graph("g")
    generic("a::B")(g.input("x", Tensor("f32", ("N",))), alpha=1)
    with pytest.raises(DataError, match=message):
        g.node("a::B_1").alpha = value
    assert g.nodes["a::B_1"]["alpha"] == 1
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(DataError, match="alpha: is nested too deeply, or contains itself"):
        g.node("a::B_1").alpha = endless


def test_what_cannot_be_a_view_and_what_is_no_name():
    g = network()
    with pytest.raises(GraphError, match=r"<class 'int'> is not a view class; derive it from Node or from IrData"):
        g.node("conv_1", int)  # type: ignore[type-var]
    with pytest.raises(GraphError, match=r"node \['conv_1'\]: is not in the graph"):
        g.node(["conv_1"])  # type: ignore[call-overload]
    with pytest.raises(FieldError, match=r"nodes.conv_1.name: .*graph.renamed\(…\) gives it another"):
        g.node("conv_1").name = "other"
