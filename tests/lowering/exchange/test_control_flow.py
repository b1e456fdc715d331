"""If, Loop and Scan: in, rewritten and out again, with the results of onnxruntime at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graphrewrite import evaluate, rewrite, verify
from graphrewrite.errors import GraphRewriteError
from graphrewrite.lowering import OpenSizesError, from_onnx, to_onnx
from graphrewrite.rules import RULES, choose_branch, unroll_loops

onnxruntime = pytest.importorskip("onnxruntime")

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name: str, kind: int = FLOAT, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def held(name: str, array: Any) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def model(nodes: list[Any], inputs: list[Any], outputs: list[Any], **constants: Any) -> onnx.ModelProto:
    tensors = [held(name, array) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "main", inputs, outputs, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def branch(name: str, *nodes: Any, outputs: tuple[str, ...], **constants: Any) -> onnx.GraphProto:
    tensors = [held(key, array) for key, array in constants.items()]
    return helper.make_graph(list(nodes), name, [], [value(output) for output in outputs], tensors)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def run(proto: onnx.ModelProto, fed: dict[str, Any]) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, fed), strict=True))


def test_a_loop_of_another_domain_is_another_op() -> None:
    proto = model([node("Identity", "x", "y")], [value("x", FLOAT, [2])], [value("y", FLOAT, [2])])
    proto.opset_import.append(helper.make_opsetid("com.acme", 1))
    proto.graph.node[0].CopyFrom(node("Loop", "x", "y", domain="com.acme", turns=3))
    (written,) = to_onnx(from_onnx(proto, batch=None)).graph.node
    assert (written.op_type, written.domain, written.attribute[0].i) == ("Loop", "com.acme", 3)


def assert_runs_alike(proto: onnx.ModelProto, *feeds: dict[str, Any], names: bool = True) -> None:
    """Import, rewrite and export; a second import is equal."""
    graph = from_onnx(proto)
    rewritten = rewrite(graph, RULES, verify=True)
    verify(graph)
    written, changed = to_onnx(graph), to_onnx(rewritten)
    assert from_onnx(written, batch=None).equals(graph, names=names)
    for fed in feeds:
        wanted = run(proto, fed)
        for found in (evaluate(graph, fed), evaluate(rewritten, fed), run(written, fed), run(changed, fed)):
            for name, array in wanted.items():
                assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype)
                np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


X = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
ON, OFF = np.array(True), np.array(False)


def branching() -> onnx.ModelProto:
    """Two choices of different numbers of outputs, one in the other; both capture, one a constant."""
    inner = node(
        "If",
        "c",
        "p",
        then_branch=branch("deep", node("Mul", "h w", "m"), outputs=("m",)),
        else_branch=branch("flat", node("Sub", "h x", "s"), outputs=("s",)),
    )
    outer = node(
        "If",
        "d",
        "a b",
        then_branch=branch("first", inner, node("Relu", "p", "r"), outputs=("r", "p")),
        else_branch=branch(
            "second",
            node("MatMul", "h v", "q"),
            node("Identity", "h", "k"),
            outputs=("q", "k"),
            v=np.eye(4, dtype=np.float32),
        ),
    )
    after = node(
        "If",
        "c",
        "z",
        then_branch=branch("third", node("Neg", "a", "n"), outputs=("n",)),
        else_branch=branch("fourth", node("Identity", "b", "i"), outputs=("i",)),
    )
    nodes = [node("Exp", "x", "h"), outer, after]
    inputs = [value("x", FLOAT, ["N", 4]), value("c", BOOL, []), value("d", BOOL, [1])]
    outputs = [value("a", FLOAT, ["N", 4]), value("z", FLOAT, ["N", 4])]
    return model(nodes, inputs, outputs, w=np.arange(4, dtype=np.float32))


def repeating(goes_on: onnx.NodeProto, *, condition: str = "c") -> onnx.ModelProto:
    """A loop with a choice in it, which captures from two levels up."""
    choice = node(
        "If",
        "big",
        "s2",
        then_branch=branch("t", node("Mul", "s1 w", "m1"), outputs=("m1",)),
        else_branch=branch("e", node("Sub", "s1 h", "m2"), outputs=("m2",)),
    )
    nodes = [
        node("Add", "s h", "s1"),
        node("Greater", "i one", "big"),
        choice,
        node("ReduceSum", "s2", "row", keepdims=0),
        node("ReduceMax", "s2", "most", keepdims=0),
        node("Less", "most limit", "small"),
        goes_on,
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", INT, []), value("ci", BOOL, []), value("s")],
        [value("co", BOOL, []), value("s2"), value("row"), value("i2", INT, [])],
        [held("one", np.int64(1)), held("limit", np.float32(30))],
    )
    body.node.append(node("Identity", "i", "i2"))
    main = [node("Neg", "x", "h"), helper.make_node("Loop", ["n", condition, "x"], ["y", "rows", "all"], body=body)]
    inputs = [value("x", FLOAT, ["N", 4]), value("c", BOOL, []), value("n", INT, [])]
    outputs = [value("y", FLOAT, ["N", 4]), value("rows", FLOAT, ["k"]), value("all", INT, ["k"])]
    return model(main, inputs, outputs, w=np.float32([1, -2, 3, -4]))


KEEPS, MAY_END = node("Identity", "ci", "co"), node("Identity", "small", "co")


def scanning() -> onnx.ModelProto:
    """Along two axes and directions, with a captured value."""
    nodes = [node("Add", "s e", "s1"), node("Mul", "s1 g", "o1"), node("Add", "f e", "o2")]
    body = helper.make_graph(
        nodes, "body", [value("s"), value("e"), value("f")], [value("s1"), value("o1"), value("o2")]
    )
    scan = helper.make_node(
        "Scan",
        ["z", "x", "xt"],
        ["last", "p", "q"],
        body=body,
        num_scan_inputs=2,
        scan_input_axes=[0, 1],
        scan_input_directions=[0, 1],
        scan_output_axes=[0, 1],
        scan_output_directions=[1, 0],
    )
    main = [node("Transpose", "x", "xt", perm=[1, 0]), node("Exp", "z", "g"), scan]
    inputs = [value("x", FLOAT, [3, 4]), value("z", FLOAT, [4])]
    return model(main, inputs, [value("last", FLOAT, [4]), value("p", FLOAT, [3, 4]), value("q", FLOAT, [4, 3])])


class TestInAndOut:
    def test_choices(self) -> None:
        assert_runs_alike(branching(), *({"x": X, "c": c, "d": d.reshape(1)} for c in (ON, OFF) for d in (ON, OFF)))

    @pytest.mark.parametrize("goes_on", [KEEPS, MAY_END], ids=["counted", "conditional"])
    def test_loops(self, goes_on: onnx.NodeProto) -> None:
        counts = [np.array(count, np.int64) for count in (0, 1, 4)]
        proto = repeating(goes_on)
        assert_runs_alike(proto, *({"x": X, "c": c, "n": n} for c in (ON, OFF) for n in counts))

    def test_a_loop_without_count_or_condition(self) -> None:
        proto = repeating(MAY_END, condition="")
        proto.graph.node[1].input[0] = ""
        wanted = from_onnx(proto, batch=None)
        assert from_onnx(to_onnx(wanted), batch=None) == wanted
        found = evaluate(wanted, {"x": X, "c": ON, "n": 1})
        for name, array in run(proto, {"x": X, "c": ON, "n": np.array(1)}).items():
            np.testing.assert_allclose(found[name], array, rtol=1e-5)

    @pytest.mark.parametrize("condition", ["", "c"])
    def test_a_loop_that_stacks_nothing(self, condition: str) -> None:
        body = helper.make_graph(
            [node("Identity", "ci", "co"), node("Add", "v v", "w")],
            "step",
            [value("i", INT, []), value("ci", BOOL, []), value("v", shape=[3])],
            [value("co", BOOL, []), value("w", shape=[3])],
        )
        loop = helper.make_node("Loop", ["n", condition, "x"], ["y"], body=body)
        inputs = [value("n", INT, []), value("x", shape=[3]), *([value("c", BOOL, [])] if condition else [])]
        x = {"x": np.arange(3, dtype=np.float32)} | ({"c": ON} if condition else {})
        proto = model([loop], inputs, [value("y", shape=[3])])
        assert_runs_alike(proto, *({**x, "n": np.array(count, np.int64)} for count in (0, 1, 3)))

    def test_a_scan_that_stacks_nothing(self) -> None:
        """Its last state is all that it gives."""
        body = helper.make_graph(
            [node("Add", "s e", "t")], "step", [value("s", shape=[3]), value("e", shape=[3])], [value("t", shape=[3])]
        )
        scan = node("Scan", "z x", "y", body=body, num_scan_inputs=1)
        proto = model([scan], [value("z", shape=[3]), value("x", shape=[4, 3])], [value("y", shape=[3])])
        assert_runs_alike(proto, {"z": np.ones(3, np.float32), "x": np.arange(12, dtype=np.float32).reshape(4, 3)})

    def test_scans(self) -> None:
        assert_runs_alike(scanning(), {"x": X, "z": np.ones(4, np.float32)})


class TestKnownBeforeRunTime:
    def test_a_constant_condition_leaves_no_choice(self) -> None:
        for c in (True, False):
            graph = from_onnx(branching(), constants={"c": c, "d": [True]})
            assert not any(data["type"] == "cond" for _, data in graph.nodes(data=True))
            wanted = run(branching(), {"x": X, "c": np.array(c), "d": np.array([True])})
            np.testing.assert_allclose(evaluate(graph, {"x": X})["z"], wanted["z"], rtol=1e-5)

    def test_a_loop_is_unrolled(self) -> None:
        proto = repeating(KEEPS)
        for count in (1, 3):
            graph = from_onnx(proto, constants={"c": True, "n": count})
            unrolled = rewrite(graph, (unroll_loops, choose_branch, *RULES), verify=True)
            assert {"loop", "cond"}.isdisjoint(data["type"] for _, data in unrolled.nodes(data=True))
            wanted = run(proto, {"x": X, "c": ON, "n": np.array(count)})
            for name, array in evaluate(unrolled, {"x": X}).items():
                np.testing.assert_allclose(array, wanted[name], rtol=1e-5)
        assert from_onnx(to_onnx(unrolled), batch=None) == unrolled

    def test_a_scan_is_unrolled(self) -> None:
        graph = from_onnx(scanning(), batch=None)
        unrolled = rewrite(graph, (unroll_loops, *RULES), verify=True)
        assert "scan" not in {data["type"] for _, data in unrolled.nodes(data=True)}
        fed = {"x": X, "z": np.ones(4, np.float32)}
        for name, array in run(scanning(), fed).items():
            np.testing.assert_allclose(evaluate(unrolled, fed)[name], array, rtol=1e-5)

    def test_what_may_end_early_stays(self) -> None:
        graph = from_onnx(repeating(MAY_END), constants={"c": True, "n": 3})
        assert unroll_loops(graph) == graph


def test_bodies_name_what_they_read_as_it_is_named_around_them() -> None:
    graph = from_onnx(branching())
    bodies = list(graph.bodies())
    for node, _, body in bodies:
        around = [f"{o.node}.{o.result}" if o.result else o.node for o in graph.operands(node)[1:]]
        assert [*body.inputs] == around
    assert len(bodies) == 4


def test_names_may_come_again() -> None:
    """Branches have names in common, and nodes in them are called as values around them."""
    negative = branch("same", node("Neg", "h", "k", name="h"), outputs=("k",))
    plain = branch("same", node("Identity", "h", "k", name="x"), outputs=("k",))
    choice = node("If", "c", "y", then_branch=negative, else_branch=plain, name="c")
    inputs = [value("x", FLOAT, ["N"]), value("c", BOOL, [])]
    proto = model([node("Exp", "x", "h"), choice, node("Add", "y h", "k")], inputs, [value("k", FLOAT, ["N"])])
    assert_runs_alike(proto, *({"x": X[0], "c": c} for c in (ON, OFF)), names=False)


def test_what_has_no_body_here_is_generic() -> None:
    held = branch("held", node("Optional", "c", "s"), node("OptionalHasElement", "s", "l"), outputs=("l",))
    choice = node("If", "c", "y", then_branch=held, else_branch=held)
    proto = model([choice], [value("c", BOOL, [])], [value("y", BOOL, [])])
    with pytest.raises(GraphRewriteError, match="Optional"):
        evaluate(from_onnx(proto), {"c": True})


class TestSizes:
    def test_a_loop_collects(self) -> None:
        nodes = [
            node("Unsqueeze", "i zero", "u"),
            node("Cast", "u", "f", to=FLOAT),
            node("Concat", "a f", "longer", axis=0),
            node("Identity", "ci", "co"),
        ]
        inputs, outputs = (
            [value("i", INT, []), value("ci", BOOL, []), value("a")],
            [value("co", BOOL, []), value("longer")],
        )
        body = helper.make_graph(nodes, "body", inputs, outputs, [held("zero", [0])])
        loop = helper.make_node("Loop", ["n", "", "a0"], ["y"], body=body)
        proto = model(
            [loop, node("Neg", "y", "z")],
            [value("n", INT, []), value("a0", FLOAT, ["M"])],
            [value("z", FLOAT, ["k"])],
        )
        assert_runs_alike(proto, *({"n": np.array(n), "a0": X[0]} for n in (0, 1, 4)))

    def test_sizes_that_are_computed_around_a_subgraph_are_known_in_it(self) -> None:
        choice = node(
            "If",
            "c",
            "y",
            then_branch=branch("then", node("Reshape", "x s", "r"), outputs=("r",)),
            else_branch=branch("else", node("Flatten", "x", "f"), outputs=("f",)),
        )
        shape = [node("Shape", "x", "all"), node("Gather", "all zero", "n"), node("Concat", "n rest", "s", axis=0)]
        inputs = [value("x", FLOAT, ["N", 2, 3]), value("c", BOOL, [])]
        proto = model([*shape, choice], inputs, [value("y", FLOAT, ["N", 6])], zero=[0], rest=[-1])
        assert_runs_alike(proto, *({"x": X.reshape(2, 2, 3), "c": c} for c in (ON, OFF)))
        assert [o.node for o in from_onnx(proto).operands("y_1")] == ["c", "x"]

    def test_a_size_that_is_known_in_a_scan_is_no_value_of_it(self) -> None:
        nodes = [node("Reshape", "e s", "f"), node("Add", "t f", "u"), node("Identity", "u", "v")]
        body = helper.make_graph(nodes, "body", [value("t"), value("e")], [value("u"), value("v")])
        scan = helper.make_node("Scan", ["z", "x"], ["last", "p"], body=body, num_scan_inputs=1)
        proto = model(
            [node("Shape", "z", "s"), scan],
            [value("x", FLOAT, [3, 4]), value("z", FLOAT, [2, 2])],
            [value("last", FLOAT, [2, 2]), value("p", FLOAT, [3, 2, 2])],
        )
        assert_runs_alike(proto, {"x": X, "z": X[:2, :2]})
        assert [o.node for o in from_onnx(proto).operands("last_1")] == ["z", "x"]

    def test_names_that_a_branch_takes_as_one_size_become_one(self) -> None:
        choice = node(
            "If",
            "c",
            "y",
            then_branch=branch("then", node("Add", "x w", "s"), outputs=("s",)),
            else_branch=branch("else", node("Neg", "x", "n"), outputs=("n",)),
        )
        inputs = [value("x", FLOAT, ["N", 4]), value("w", FLOAT, ["M", 4]), value("c", BOOL, [])]
        proto = model([choice], inputs, [value("y", FLOAT, ["N", 4])])
        assert_runs_alike(proto, *({"x": X, "w": X, "c": c} for c in (ON, OFF)))

    def test_a_loop_whose_sizes_are_those_of_its_steps_is_repeated(self) -> None:
        nodes = [
            node("Add", "i one", "next"),
            node("Unsqueeze", "next zero", "end"),
            node("Slice", "x zero end", "part"),
            node("ReduceSum", "part", "row", keepdims=0),
            node("Identity", "ci", "co"),
        ]
        body = helper.make_graph(
            nodes,
            "body",
            [value("i", INT, []), value("ci", BOOL, [])],
            [value("co", BOOL, []), value("row")],
            [held("one", np.int64(1)), held("zero", [0])],
        )
        inputs = [value("x", FLOAT, [3, 4]), value("n", INT, []), value("c", BOOL, [])]
        proto = model([helper.make_node("Loop", ["n", "c"], ["y"], body=body)], inputs, [value("y", FLOAT, ["k"])])
        with pytest.raises(OpenSizesError, match=r"constants=\{'n': \.\.\., 'c': \.\.\.\}") as caught:
            from_onnx(proto)
        assert caught.value.inputs == ("n", "c")
        graph = from_onnx(proto, constants={"n": 3, "c": True})
        wanted = run(proto, {"x": X, "n": np.array(3), "c": ON})["y"]
        np.testing.assert_allclose(evaluate(graph, {"x": X})["y"], wanted, rtol=1e-6)

    @pytest.mark.parametrize("known", [{}, {"c": True}, {"n": 2}])
    def test_a_loop_whose_sizes_are_those_of_its_steps_is_refused_where_these_are_not_known(
        self, known: dict[str, Any]
    ) -> None:
        """A step keeps as many rows as its number says, and all that is left at last is given."""
        nodes = [
            node("Add", "i one", "next"),
            node("Unsqueeze", "next zero", "end"),
            node("Slice", "v zero end", "w"),
            node("Identity", "ci", "co"),
        ]
        sizes = [held("one", np.int64(1)), held("zero", [0])]
        body = helper.make_graph(
            nodes,
            "body",
            [value("i", INT, []), value("ci", BOOL, []), value("v", shape=[3, 4])],
            [value("co", BOOL, []), value("w")],
            sizes,
        )
        inputs = [value("x", FLOAT, [3, 4]), value("n", INT, []), value("c", BOOL, [])]
        loop = helper.make_node("Loop", ["n", "c", "x"], ["y"], body=body)
        proto = model([loop], inputs, [value("y", FLOAT, ["k", 4])])
        with pytest.raises(OpenSizesError):
            from_onnx(proto, constants=known)
        graph = from_onnx(proto, constants={"c": True, "n": 2})
        np.testing.assert_array_equal(evaluate(graph, {"x": X})["y"], X[:1])
