"""Quantise exported networks of this folder, as users do: onnxruntime's quantiser, Brevitas to QCDQ and to QONNX.

It needs PyTorch, onnxscript and Brevitas, which the project does not; make an environment of its own for it:

    python -m venv build/quantisers
    build/quantisers/bin/pip install torch==2.13.0 onnx onnxscript onnxruntime brevitas qonnx
    build/quantisers/bin/python -m tests.models_roundtrip.make_quantised [name ...]
"""

from __future__ import annotations

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
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import nn

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


def by_brevitas(write: Callable[..., Any], bits: int, file: Path, **options: Any) -> None:
    write(brevitas_layers(bits), args=torch.randn(1, 3, 11, 11), export_path=str(file), **options)


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
    "brevitas_qcdq": partial(by_brevitas, export_onnx_qcdq, 4, opset_version=13),
    "brevitas_qonnx": partial(by_brevitas, export_qonnx, 3, opset_version=13),
}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for name in sys.argv[1:] or MODELS:
        file = FOLDER / f"{name}.onnx"
        MODELS[name](file)
        onnx.checker.check_model(onnx.load(file))
        print(name, file.stat().st_size)


if __name__ == "__main__":
    main()
