"""Models as onnxruntime's quantiser makes them of the shipped networks, in both of its forms; QONNX models."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from graphrewrite import evaluate, verify
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
