"""Quantise exported networks of this folder, as users do: onnxruntime's quantiser, Brevitas to QCDQ and to QONNX.

It needs PyTorch, onnxscript and Brevitas, which the project does not; make an environment of its own for it:

    python -m venv build/quantisers
    build/quantisers/bin/pip install torch==2.13.0 onnx onnxscript onnxruntime brevitas qonnx
    build/quantisers/bin/python -m tests.models_roundtrip.make_quantised [name ...]
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import brevitas.nn as qnn
import numpy as np
import onnx
import onnxruntime as ort
import torch
from brevitas.export import export_onnx_qcdq, export_qonnx
from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerChannelFloat, Uint8ActPerTensorFloat
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes
from torch import nn

from tests.models_roundtrip.make_torch import without_paths

QONNX = "qonnx.custom_op.general"
FOLDER = Path(__file__).parent / "models"


class Samples(CalibrationDataReader):
    """Random inputs of the model's own types; sizes that are free are 2."""

    def __init__(self, file: Path, count: int = 8) -> None:
        random = np.random.default_rng(0)
        given = ort.InferenceSession(str(file)).get_inputs()
        self.rest: Iterator[dict[str, Any]] = iter(
            [
                {
                    one.name: random.integers(0, 2, shape)
                    if one.type == "tensor(int64)"
                    else random.standard_normal(shape).astype(np.float32)
                    for one in given
                    for shape in [[size if isinstance(size, int) else 2 for size in one.shape]]
                }
                for _ in range(count)
            ]
        )

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


def static(source: str, file: Path, **options: Any) -> None:
    """Weights and activations, by samples."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(FOLDER / f"{source}.onnx", prepared, skip_symbolic_shape=True)
        quantize_static(prepared, file, Samples(prepared), **options)


def dynamic(source: str, file: Path) -> None:
    """Weights only; activations as they come."""
    quantize_dynamic(FOLDER / f"{source}.onnx", file, weight_type=QuantType.QUInt8)


def brevitas_layers(bits: int) -> nn.Module:
    """A small convolutional network whose weights and activations have a few bits."""
    torch.manual_seed(0)
    weight = {"weight_quant": Int8WeightPerChannelFloat, "weight_bit_width": bits}
    made = nn.Sequential(
        qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat, return_quant_tensor=True),
        qnn.QuantConv2d(3, 6, 3, stride=2, **weight),
        nn.BatchNorm2d(6),
        qnn.QuantReLU(act_quant=Uint8ActPerTensorFloat, bit_width=bits, return_quant_tensor=True),
        qnn.QuantConv2d(6, 6, 3, groups=6, padding=1, bias=False, **weight),
        qnn.QuantReLU(act_quant=Uint8ActPerTensorFloat, bit_width=bits),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        qnn.QuantLinear(6, 4, bias=True, **weight),
    )
    x = torch.randn(16, 3, 11, 11)
    for _ in range(3):
        made(x)  # the scales settle
    return made.eval()


def by_brevitas(write: Callable[..., Any], bits: int, file: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        write(brevitas_layers(bits), args=torch.randn(1, 3, 11, 11), export_path=str(file), opset_version=18)
    onnx.save(without_paths(onnx.load(file)), file)
    file.with_name(f"{file.name}.data").unlink(missing_ok=True)  # its weights, which the file now holds


def as_qonnx(make: Callable[[Path], None], file: Path) -> None:
    """Store what the package qonnx computes beside the model, since onnxruntime does not know the ops."""
    make(file)
    model = ModelWrapper(str(file)).transform(InferShapes())
    name, shape = model.graph.input[0].name, model.get_tensor_shape(model.graph.input[0].name)
    given = np.random.default_rng(0).standard_normal((6, *shape[1:])).astype(np.float32)
    made = [execute_onnx(model, {name: given[k : k + 1]})[model.graph.output[0].name] for k in range(len(given))]
    np.savez_compressed(file.with_suffix(".outputs.npz"), **{name: given, "output.0": np.concatenate(made)})


def binary_layers(file: Path) -> None:
    """A fully connected network as the QONNX model zoo has them: weights of one bit, activations of two."""
    random = np.random.default_rng(0)
    constants = {
        "one": np.float32(1), "none": np.float32(0), "two": np.float32(2), "eighth": np.float32(0.125),
        "four": np.float32(4), "eight": np.float32(8), "half": np.float32(0.5),
    }  # fmt: skip
    nodes = []

    def add(kind: str, given: list[str], **attributes: Any) -> str:
        domain = QONNX if kind in ("Quant", "BipolarQuant", "Trunc") else ""
        nodes.append(helper.make_node(kind, given, [f"{kind}_{len(nodes)}"], domain=domain, **attributes))
        return nodes[-1].output[0]

    def constant(name: str, array: np.ndarray) -> str:
        constants[name] = array.astype(np.float32)
        return name

    x = add("Quant", ["x", "eighth", "none", "four"], signed=1, narrow=0, rounding_mode="ROUND")
    for k, (given, made) in enumerate(((16, 12), (12, 12), (12, 4))):
        weights = add("BipolarQuant", [constant(f"weights_{k}", random.standard_normal((given, made))), "half"])
        x = add("MatMul", [x, weights])
        x = add("Mul", [x, constant(f"gain_{k}", random.uniform(0.5, 2, made))])
        x = add("Add", [x, constant(f"shift_{k}", random.standard_normal(made))])
        if k < 2:
            x = add("Relu", [x])
            x = add("Quant", [x, "half", "none", "two"], signed=0, narrow=0, rounding_mode="ROUND")
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes,
        "binary",
        [helper.make_tensor_value_info("x", 1, [1, 16])],
        [helper.make_tensor_value_info("y", 1, [1, 4])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", 11), helper.make_opsetid(QONNX, 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=6), file)


QDQ, OPERATOR = QuantFormat.QDQ, QuantFormat.QOperator
SIGNED = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
UNSIGNED = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8}

MODELS: dict[str, Callable[[Path], None]] = {
    "qdq_resnet": partial(static, "resnet_fixed", quant_format=QDQ, per_channel=True, **SIGNED),
    "qdq_mobilenet": partial(static, "mobilenet_v2", quant_format=QDQ, **SIGNED),
    "qdq_vit": partial(static, "vit", quant_format=QDQ, **UNSIGNED),
    "qdq_lenet_16_bits": partial(
        static,
        "lenet_batch",
        quant_format=QDQ,
        activation_type=QuantType.QUInt16,
        weight_type=QuantType.QInt8,
        extra_options={"UseQDQContribOps": True},
    ),
    "qoperator_lenet": partial(static, "lenet_fixed", quant_format=OPERATOR, **UNSIGNED),
    "qoperator_mobilenet": partial(static, "mobilenet_v2", quant_format=OPERATOR, **UNSIGNED),
    "dynamic_mlp": partial(dynamic, "mlp_fixed"),
    "dynamic_encoder": partial(dynamic, "encoder"),
    "dynamic_lstm": partial(dynamic, "lstm"),
    "brevitas_qcdq": partial(by_brevitas, export_onnx_qcdq, 4),
    "brevitas_qonnx": partial(as_qonnx, partial(by_brevitas, export_qonnx, 3)),
    "qonnx_binary": partial(as_qonnx, binary_layers),
}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for name in sys.argv[1:] or MODELS:
        file = FOLDER / f"{name}.onnx"
        MODELS[name](file)
        print(name, file.stat().st_size)


if __name__ == "__main__":
    main()
