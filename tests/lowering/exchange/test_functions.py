"""Functions of a model and composite ops of ONNX: written out with their defaults, within limits."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser
from onnx.reference import ReferenceEvaluator

from graphrewrite import evaluate
from graphrewrite.lowering import ModelError, from_onnx

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def parsed(body: str, functions: str = "", imports: str = "") -> onnx.ModelProto:
    head = f'<ir_version: 9, opset_import: ["" : 17{imports}]> g (float[3,4] x) => (float[3,4] y)'
    return parser.parse_model(f"{head} {{ {body} }} {functions}")


@pytest.mark.parametrize(
    "body",
    [
        "y = Shrink(x)",
        "y = Shrink <lambd = 1.5> (x)",
        "size = Constant <value_int = 12> () w = HannWindow(size) s = Shape(x) v = Reshape(w, s) y = Add(x, v)",
        "size = Constant <value_int = 12> () w = HammingWindow(size) s = Shape(x) v = Reshape(w, s) y = Add(x, v)",
        "size = Constant <value_int = 12> () w = BlackmanWindow <periodic = 0> (size) s = Shape(x) v = Reshape(w, s) "
        "y = Add(x, v)",
    ],
    ids=["shrink", "given", "hann", "hamming", "blackman"],
)
def test_definitions_keep_default_attributes(body: str) -> None:
    model = parsed(body)
    (found,) = evaluate(from_onnx(model), {"x": X}).values()
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": X})
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


FUNCTIONS = """
<domain: "a", opset_import: ["" : 17, "b" : 1]>
twice <first: float = 0.5, second: float = 0.25> (x) => (y) {
    h = b.leaky <alpha: float = @first> (x)
    y = b.leaky <alpha: float = @second> (h)
}
<domain: "b", opset_import: ["" : OPSET]>
leaky <alpha: float = 0.125> (x) => (y) { y = LeakyRelu <alpha: float = @alpha> (x) }
"""


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize(
    ("call", "slope"),
    [
        ("a.twice(x)", 0.125),
        ("a.twice <first = 0.75> (x)", 0.1875),
        ("a.twice <second = 2.0, first = 2.0> (x)", 4.0),
        ("b.leaky(x)", 0.125),
    ],
)
def test_functions_keep_default_attributes_in_any_opset(call: str, slope: float, opset: int) -> None:
    model = parsed(f"y = {call}", FUNCTIONS.replace("OPSET", str(opset)), ', "a" : 1, "b" : 1')
    (found,) = evaluate(from_onnx(model), {"x": X}).values()
    np.testing.assert_array_equal(found, np.where(X < 0, X * np.float32(slope), X))


def calling(*bodies: list[str]) -> onnx.ModelProto:
    """A model whose function f0 calls those that its body names, and so on; the last one is a Relu."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = []
    for i, body in enumerate(bodies):
        names = ["x", *(f"v{j}" for j in range(len(body) - 1)), "y"]
        nodes = [
            helper.make_node(kind, [names[j]], [names[j + 1]], domain="own" if kind.startswith("f") else "")
            for j, kind in enumerate(body)
        ]
        functions.append(helper.make_function("own", f"f{i}", ["x"], ["y"], nodes, imports))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (3, 4)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("f0", ["x"], ["y"], domain="own")], "g", values[:1], values[1:])
    return helper.make_model(graph, functions=functions, opset_imports=imports, ir_version=9)


def test_functions_that_call_one_another_twice_have_a_limit() -> None:
    few = calling(*([f"f{i + 1}", f"f{i + 1}"] for i in range(9)), ["Relu"])
    graph = from_onnx(few)
    assert [graph.nodes[node]["type"] for node in graph].count("relu") == 512
    many = calling(*([f"f{i + 1}", f"f{i + 1}"] for i in range(30)), ["Relu"])
    assert len(many.SerializeToString()) < 3000
    with pytest.raises(ModelError, match=r"'f0' is 1,073,741,824; at most 100,000"):
        from_onnx(many)


def test_what_is_not_called_is_not_counted() -> None:
    many = calling(["Relu"], *([f"f{i + 1}", f"f{i + 1}"] for i in range(1, 30)), ["Relu"])
    assert list(from_onnx(many)) == ["x", "y_1", "y"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (calling(["f1"], ["f2"], ["f0"]), "recursive|calls itself"),
        (calling(*([f"f{i + 1}"] for i in range(150)), ["Relu"]), "depth|in a row"),
    ],
    ids=["cycle", "chain"],
)
@pytest.mark.parametrize("strange", [False, True])
def test_functions_that_do_not_end(model: onnx.ModelProto, message: str, strange: bool) -> None:
    if strange:  # which onnx's checker gives up on
        model.graph.node.add(op_type="Swirl", domain="acme", input=["x"], output=["z"])
    with pytest.raises(ModelError, match=message):
        from_onnx(model)


def test_a_default_that_calls_its_own_function_ends() -> None:
    model = calling(["Relu"])
    own = helper.make_graph([helper.make_node("f0", ["x"], ["y"], domain="own")], "own", [], [])
    model.functions[0].attribute_proto.append(helper.make_attribute("unread", own))
    assert list(from_onnx(model)) == ["x", "y_1", "y"]
