"""Models that are wrong: one typed error that names the node, and nothing worse."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, parser

from graphrewrite import GraphRewriteError, evaluate
from graphrewrite.lowering import ModelError, UnsupportedOpsError, from_onnx, to_onnx
from graphrewrite.lowering.exchange.onnx import importer
from tests.support.lowering_networks import mlp, model, residual_cnn, weights


def test_text_is_no_model(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_text("import torch\n" * 50)
    with pytest.raises(ModelError, match=r"net\.onnx"):
        from_onnx(file)


def test_too_many_operands_name_the_node() -> None:
    proto = mlp()
    proto.graph.node[1].input.append("x")
    with pytest.raises(ModelError, match="Relu"):
        from_onnx(proto)


def test_too_few_operands_name_the_node() -> None:
    proto = model([helper.make_node("Swirl", ["x"], ["y"], domain="a.b")], {}, input_shape=(1, 2), domains=["a.b"])
    proto.graph.node.append(helper.make_node("Add", ["y"], ["z"], name="alone"))
    with pytest.raises(ModelError, match=r"'alone' \(Add\).*1 operands and needs 2"):
        from_onnx(proto)


def test_contradicting_shapes_name_both_shapes() -> None:
    nodes = [helper.make_node("Add", ["x", "c"], ["y"], name="sum")]
    with pytest.raises(ModelError, match=r"'sum' \(Add\).*\[1,4\] and \[3\]"):
        from_onnx(model(nodes, {"c": weights(3)}, input_shape=(1, 4)), batch=None)


def test_a_cycle_is_refused() -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="one"), helper.make_node("Relu", ["a"], ["b"], name="two")]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2))],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, (1, 2))],
    )
    with pytest.raises(ModelError, match="one"):
        from_onnx(helper.make_model(graph))


@pytest.mark.parametrize("kind", ["node", "input", "constant", "large"])
def test_two_of_one_name_are_refused(kind: str) -> None:
    proto = mlp(inputs=50, hidden=60)
    if kind == "node":
        proto.graph.node[1].output[0] = "h"
    elif kind == "input":
        proto.graph.input.append(proto.graph.input[0])
    else:
        found = next(t for t in proto.graph.initializer if (t.ByteSize() > 4096) == (kind == "large"))
        proto.graph.initializer.append(found)
    with pytest.raises(ModelError):
        from_onnx(proto)


def test_a_missing_constant_names_its_reader() -> None:
    proto = mlp()
    del proto.graph.initializer[0]
    with pytest.raises(ModelError, match="w1"):
        from_onnx(proto)


HUGE = 1 << 40


@pytest.mark.parametrize(
    "change",
    [
        lambda proto: proto.graph.initializer[0].dims.__setitem__(0, HUGE),
        lambda proto: proto.graph.initializer[0].dims.extend([HUGE, HUGE]),
        lambda proto: proto.graph.initializer[0].dims.__setitem__(0, -4),
    ],
    ids=["size", "rank", "negative"],
)
def test_a_header_that_lies_costs_no_memory(change) -> None:
    proto = mlp()
    change(proto)
    with pytest.raises(ModelError):
        from_onnx(proto)


def test_a_model_that_asks_for_the_world_costs_no_memory_on_import() -> None:
    script = """
        import resource
        import numpy as np, onnx
        from onnx import helper, numpy_helper, TensorProto
        from graphrewrite.lowering import ModelError, from_onnx
        nodes = [
            helper.make_node("ConstantOfShape", ["s"], ["big"], name="big"),
            helper.make_node("Shape", ["big"], ["sizes"]),
            helper.make_node("ConstantOfShape", ["sizes"], ["big2"], name="big2"),
            helper.make_node("Cast", ["big2"], ["wanted"], to=TensorProto.INT64),
            helper.make_node("Reshape", ["x", "wanted"], ["y"], name="r"),
        ]
        shape = numpy_helper.from_array(np.array([1 << 20, 1 << 20], np.int64), "s")
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, (1, 2))],
                                  [helper.make_tensor_value_info("y", 1, None)], [shape])
        graph.output[0].type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto())
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        try:
            from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        except ModelError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "'r' (Reshape)" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["optional", "sequence"])
def test_what_is_no_tensor(name: str) -> None:
    kinds = {
        "optional": helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, (2,))),
        "sequence": helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, (2,))),
    }
    values = [helper.make_value_info(each, kinds[name]) for each in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1], values[1:])
    with pytest.raises(ModelError, match="not supported"):
        from_onnx(helper.make_model(graph))


def test_an_opset_of_the_future_is_refused() -> None:
    proto = mlp()
    proto.opset_import[0].version = 99
    with pytest.raises(ModelError, match=r"99"):
        from_onnx(proto)


def nested_loops(depth: int) -> ModelProto:
    """Loops within loops, each of which makes a tensor longer: no type is the same in two iterations."""
    inner = "w0 = Concat <axis = 0> (v0, v0)"
    for i in range(1, depth + 1):
        inner = f"""w{i} = Loop(two, one, v{i}) <body = l{i} (int64 i{i}, bool k{i}, float[m{i}] v{i - 1})
            => (bool e{i}, float[n{i}] w{i - 1}) {{ e{i} = Identity(k{i}) {inner} }}>"""
    return parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]> g (float[a] x) => (float[b] y) {{
        two = Constant <value_int = 2> () one = Constant <value = bool[1] {{1}}> ()
        v{depth} = Identity(x) {inner} y = Identity(w{depth}) }}""")


def test_loops_within_loops_take_no_time_that_doubles_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_FEW", 500)
    (found,) = evaluate(from_onnx(nested_loops(2)), {"x": np.ones(1, np.float32)}).values()
    assert found.shape == (16,)
    with pytest.raises(ModelError, match="too many loops within loops"):
        from_onnx(nested_loops(24))


# ---------------------------------------------------------------------- mutated files

SEEDS = [proto.SerializeToString() for proto in (mlp(), residual_cnn(), mlp(softmax=True))]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A model's bytes, some of them changed, put in, cut out or moved."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.sampled_from(["set", "flip", "insert", "cut", "copy", "end"]))
        if how == "set":
            data[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif how == "flip":
            data[at : at + 1] = bytes([(data[at] if data else 0) ^ (1 << draw(st.integers(0, 7)))])
        elif how == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=12))
        elif how == "cut":
            del data[at : at + draw(st.integers(1, 60))]
        elif how == "copy":
            start = draw(st.integers(0, max(len(data) - 1, 0)))
            data[at:at] = data[start : start + draw(st.integers(1, 80))]
        else:
            del data[at:]
    return bytes(data)


def import_or_refuse(data: bytes) -> None:
    """Import; whatever loads also evaluates, or says why it cannot. Any other error is a failure."""
    with suppress(GraphRewriteError):
        graph = from_onnx(data)
        str(graph)
        shapes = {name: graph.result_type(name).shape for name in graph.inputs}
        if all(np.prod([size for size in shape if isinstance(size, int)]) < 1e5 for shape in shapes.values()):
            fed = {n: np.zeros([2 if isinstance(size, str) else size for size in s]) for n, s in shapes.items()}
            with np.errstate(all="ignore"):
                assert tuple(evaluate(graph, fed)) == graph.outputs


@given(mutated())
def test_no_mutated_model_breaks_the_importer(data: bytes) -> None:
    import_or_refuse(data)


@pytest.mark.slow
@pytest.mark.thorough
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_none_of_ten_thousand_mutated_models_breaks_the_importer(data: bytes) -> None:
    import_or_refuse(data)


# ---------------------------------------------------------------------- export


def test_what_onnx_has_not_is_refused_at_once() -> None:
    from graphrewrite import Graph

    graph = Graph.parse(
        "graph g\nx = input() : f32[N,2]\nq = to_fixed(x, element=s8f4)\nr = from_fixed(q, fraction=4)\ny = output(r)"
    )
    with pytest.raises(UnsupportedOpsError, match=r"2 nodes .*to_fixed \(q.*from_fixed \(r"):
        to_onnx(graph)


def test_an_opset_that_cannot_be_written() -> None:
    with pytest.raises(ModelError, match="opset 12 cannot be written; give 18 to"):
        to_onnx(from_onnx(mlp()), opset=12)


def test_parts_of_a_model_say_how_they_are_read():
    node = helper.make_node("Relu", ["x"], ["y"])
    with pytest.raises(ModelError, match=r"not NodeProto; read a single node with interpret_onnx"):
        from_onnx(node)
    with pytest.raises(ModelError, match=r"not GraphProto; make it one: onnx.helper.make_model"):
        from_onnx(helper.make_graph([node], "g", [], []))
