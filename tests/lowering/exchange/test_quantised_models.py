"""Models as onnxruntime's quantiser makes them of the shipped networks, in both of its forms; QONNX models."""

from __future__ import annotations

import logging
import math
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.models import path
from tests.support.sessions import session_of

pytest.importorskip("onnxruntime")
SAMPLES = 40
MODELS = Path(__file__).parents[4] / "shared" / "models"


def quantised(
    name: str, file: Path, x: np.ndarray, *, form: str, per_channel: bool, activations: str
) -> onnx.ModelProto:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantization = pytest.importorskip("onnxruntime.quantization")
        logging.disable(logging.CRITICAL)
        given = onnx.load(path(name)).graph.input[0].name

        class Samples(quantization.CalibrationDataReader):
            def __init__(self) -> None:
                self.rest = iter([{given: x[i : i + 1]} for i in range(len(x))])

            def get_next(self):
                return next(self.rest, None)

        try:
            quantization.quantize_static(
                path(name),
                file,
                Samples(),
                quant_format=quantization.QuantFormat[form],
                per_channel=per_channel,
                activation_type=quantization.QuantType[activations],
                weight_type=quantization.QuantType.QInt8,
            )
        finally:
            logging.disable(logging.NOTSET)
    return onnx.load(file)


def samples(name: str) -> np.ndarray:
    shape = [d.dim_value for d in onnx.load(path(name)).graph.input[0].type.tensor_type.shape.dim][1:]
    return np.random.default_rng(0).uniform(size=(SAMPLES, *shape)).astype(np.float32)


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("name", ["digits", "classes"])
def test_it_computes_exactly_what_onnxruntime_does(tmp_path: Path, name: str, form: str, per_channel: bool) -> None:
    x = samples(name)
    proto = quantised(name, tmp_path / "q.onnx", x, form=form, per_channel=per_channel, activations="QInt8")
    graph = from_onnx(proto)
    verify(graph)
    session = session_of(tmp_path / "q.onnx", optimise=False)
    (wanted,) = session.run(None, {graph.inputs[0]: x})
    (found,) = evaluate(graph, {graph.inputs[0]: x}).values()
    np.testing.assert_array_equal(found, wanted)
    assert from_onnx(to_onnx(graph), batch=None) == graph


def test_unsigned_activations_are_those_of_onnx_s_reference(tmp_path: Path) -> None:
    """Of onnxruntime they are not everywhere: its products of unsigned and signed bytes saturate on some processors."""
    x = samples("digits")
    proto = quantised("digits", tmp_path / "q.onnx", x, form="QDQ", per_channel=True, activations="QUInt8")
    graph = from_onnx(proto)
    newer = onnx.version_converter.convert_version(proto, 21)  # the reference has no older DequantizeLinear
    (wanted,) = ReferenceEvaluator(newer).run(None, {graph.inputs[0]: x[:8]})
    (found,) = evaluate(graph, {graph.inputs[0]: x[:8]}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["bnn_model_fc_1layer", pytest.param("separable_conv_model_ch_last", marks=pytest.mark.thorough)]
)
def test_qonnx_models_are_as_qonnx_executes_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = MODELS / f"{name}.onnx"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside this checkout")
    pytest.importorskip("qonnx")
    make = onnx.helper.make_model

    def older(*arguments, **keywords):
        """The executor runs each node as a model of its own, of a version that onnxruntime does not read yet."""
        made = make(*arguments, **keywords)
        made.ir_version = 10
        return made

    monkeypatch.setattr(onnx.helper, "make_model", older)
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.core.onnx_exec import execute_onnx
    from qonnx.transformation.infer_shapes import InferShapes

    graph = from_onnx(file, batch=None)
    (given,) = graph.inputs
    x = np.random.default_rng(0).standard_normal(graph.result_type(given).shape, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapper = ModelWrapper(str(file)).transform(InferShapes())
        (wanted,) = execute_onnx(wrapper, {given: x}).values()
    (found,) = evaluate(graph, {given: x}).values()
    np.testing.assert_array_equal(found, wanted)


def published(opset: int, domain: str, *, imported: bool, batch: int | str) -> onnx.ModelProto:
    """A perceptron in the form in which Brevitas, FINN and QKeras write theirs: a flattened picture, scaled to -1 … 1,
    quantised weights that are transposed for a product, a batch norm, and a scale for the scores."""
    rng = np.random.default_rng(0)
    constants = {
        **{
            name: rng.normal(size=shape) for name, shape in (("w1", (8, 16)), ("w2", (3, 8)), ("gain", 8), ("shift", 8))
        },
        "mean": rng.normal(size=8),
        "variance": rng.uniform(0.5, 2, size=8),
        "one": 1.0,
        "two": 2.0,
        "half": 0.5,
        "zero": 0.0,
        "bits": 2.0,
        "ones": [1.0],
        "scores": [0.25],
    }
    one, half = ["one", "zero", "bits"], ["half", "zero", "bits"]
    fake = {"domain": domain, "signed": 1, "narrow": 1, "rounding_mode": "ROUND"}
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Mul", ["flat", "two"], ["doubled"]),
        helper.make_node("Sub", ["doubled", "ones"], ["centred"]),
        helper.make_node("Quant", ["centred", *half], ["q1"], **fake),
        helper.make_node("Quant", ["w1", *one], ["qw1"], domain=domain, signed=1),
        helper.make_node("Transpose", ["qw1"], ["t1"], perm=[1, 0]),
        helper.make_node("MatMul", ["q1", "t1"], ["h"]),
        helper.make_node("BatchNormalization", ["h", "gain", "shift", "mean", "variance"], ["normed"], momentum=0.9),
        helper.make_node("BipolarQuant", ["normed", "one"], ["q2"], domain=domain),
        helper.make_node("BipolarQuant", ["w2", "one"], ["qw2"], domain=domain),
        helper.make_node("Transpose", ["qw2"], ["t2"], perm=[1, 0]),
        helper.make_node("MatMul", ["q2", "t2"], ["s"]),
        helper.make_node("Mul", ["s", "scores"], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", (batch, 1, 4, 4)), ("y", (batch, 3)))
    ]
    tensors = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "torch-jit-export", values[:1], values[1:], tensors)
    imports = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if imported else [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=6)


@pytest.mark.parametrize("opset", [9, 11, 14])
@pytest.mark.parametrize("imported", [False, True], ids=["forgotten", "imported"])
@pytest.mark.parametrize("domain", ["qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general"])
def test_qonnx_models_are_read_as_published(domain: str, imported: bool, opset: int) -> None:
    given = published(opset, domain, imported=imported, batch=1)
    graph = from_onnx(given)
    assert graph == from_onnx(published(17, "qonnx.custom_op.general", imported=True, batch="N"))
    assert len(given.opset_import) == 1 + imported  # what was given is untouched
    assert from_onnx(to_onnx(graph), batch=None) == graph


@pytest.mark.parametrize(("element", "number"), [("i16", TensorProto.INT16), ("u16", TensorProto.UINT16), (None, None)])
def test_the_type_of_stored_numbers_is_written_where_it_is_named(element: str | None, number: int | None) -> None:
    g = Graph("g")
    named = {} if element is None else {"element": element}
    stored = op.quantize_linear(g.input("x", Tensor("f32", ("N", 3))), np.float32(0.5), **named)
    g.output("y", stored)
    written = to_onnx(g)
    (node,) = written.graph.node
    assert [a.i for a in node.attribute if a.name == "output_dtype"] == ([] if number is None else [number])
    assert from_onnx(written, batch=None) == g


def island(seed: int) -> tuple[Graph, np.ndarray, np.ndarray, Fraction]:
    """A stored picture, a convolution of it, stored again; the picture, the whole sums, and what one of them stores."""
    rng = np.random.default_rng(seed)
    x_scale, w_scale = rng.uniform(0.001, 0.1, 2).astype(np.float32)
    # Of every other network, a third of the sums lie in the middle between two stored numbers.
    y_scale = np.float32(x_scale * w_scale * np.float32(6 if seed % 2 else 217.3))
    zero, whole = int(rng.integers(0, 256)), rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    offset = rng.integers(-999, 999, 4).astype(np.int32)
    g = Graph("island")
    x = op.dequantize_linear(g.input("x", Tensor("u8", ("N", 3, 8, 8))), x_scale, np.uint8(zero))
    w = op.dequantize_linear(g.constant(whole), w_scale, np.int8(0))
    b = op.dequantize_linear(g.constant(offset), np.float32(x_scale * w_scale), np.int32(0))
    g.output("y", op.quantize_linear(op.conv(x, w, b), y_scale, np.int16(0)))
    q = rng.integers(0, 256, (6, 3, 8, 8)).astype(np.uint8)
    sums = op.conv(q.astype(np.int64) - zero, whole.astype(np.int64)) + offset.reshape(-1, 1, 1)
    return g, q, sums, Fraction(float(x_scale)) * Fraction(float(w_scale)) / Fraction(float(y_scale))


@pytest.mark.parametrize("executor", ["onnxruntime", "reference"])
def test_others_are_a_step_apart_where_their_float32_sums_lie_on_the_other_side_of_the_middle(executor: str) -> None:
    compared = apart = theirs_only = 0
    for seed in range(12):
        graph, q, sums, ratio = island(seed)
        model = to_onnx(graph)
        if executor == "onnxruntime":
            (theirs,) = session_of(model.SerializeToString(), optimise=False).run(None, {"x": q})
        else:
            (theirs,) = ReferenceEvaluator(onnx.version_converter.convert_version(model, 21)).run(None, {"x": q[:2]})
        ours = evaluate(graph, {"x": q})["y"][: len(theirs)]
        steps = np.abs(ours.astype(int) - theirs.astype(int))
        assert steps.max() <= 1
        compared, apart = compared + steps.size, apart + np.count_nonzero(steps)
        for at in zip(*np.nonzero(steps), strict=True):
            exact = int(sums[at]) * ratio
            middle = math.floor(exact) + Fraction(1, 2)
            # A sum of 27 products and a bias is rounded so often there; ours twice, after the exact sum.
            assert abs(exact - middle) <= abs(exact) * 28 * Fraction(2) ** -23 + Fraction(2) ** -10
            if abs(exact - middle) > abs(exact) * Fraction(2) ** -23:
                assert ours[at] == round(exact)
            theirs_only += ours[at] == round(exact)
    assert compared > 3000
    assert 0 < apart < compared / 10
    assert theirs_only > apart / 2


def test_a_domain_that_an_old_model_forgets_to_import() -> None:
    """Exporters of QONNX did; onnx converts no model that has such nodes."""
    numbers = {"scale": 0.5, "zero": 0.0, "bits": 4.0}
    given = {"narrow": 0, "signed": 1, "rounding_mode": "ROUND", "domain": "qonnx.custom_op.general"}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "xy"]
    constants = [helper.make_tensor(name, TensorProto.FLOAT, [], [value]) for name, value in numbers.items()]
    nodes = [helper.make_node("Quant", ["x", *numbers], ["q"], **given), helper.make_node("Relu", ["q"], ["y"])]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])
    np.testing.assert_array_equal(from_onnx(model)(np.float32([[0.3, -2, 9]])), [[0.5, 0, 3.5]])
