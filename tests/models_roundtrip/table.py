"""A row for each model: where it comes from, what was compared, how far its numbers lie apart.

python -m tests.models_roundtrip.table [file ...]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import onnx

from tests.models_roundtrip.journey import JourneyError, journey

__all__ = ["FILES", "options_of"]

FILES = sorted((Path(__file__).parent / "models").glob("*.onnx"))


KINDS: dict[str, Any] = {"below": {"kinds": 2, "mask": 2}}
EXACT: dict[str, Any] = {"optimise": False, "tolerance": 0}
"""Not one bit apart, where onnxruntime does not exchange kernels, which round some numbers elsewhere."""
OPTIONS: dict[str, dict[str, Any]] = {
    "bert": KINDS,
    "bert_dynamo": KINDS,
    "bert_fixed": KINDS,
    "qdq_lenet_16_bits": {"optimise": False, "tolerance": 5e-6},
    "qdq_mobilenet": EXACT,
    "qdq_resnet": EXACT,
    "qdq_vit": {"optimise": False},
    "qoperator_mobilenet": EXACT,
    "brevitas_qcdq": {"optimise": False},
}


def options_of(file: Path) -> dict[str, Any]:
    return OPTIONS.get(file.stem, {})


def source(file: Path) -> str:
    """The tool that wrote a model, and its opset."""
    model = onnx.load(file)
    opset = max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=0)
    return f"{model.producer_name} {model.producer_version}, opset {opset}"


def main() -> None:
    print(f"{'model':24} nodes  left  numbers    far   time    inputs")
    for file in map(Path, sys.argv[1:]) if sys.argv[1:] else FILES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(journey(file, Path(folder), **options_of(file)).row(), " ", source(file))
            except JourneyError as error:
                print(f"{file.stem:24} {error}")


if __name__ == "__main__":
    main()
