"""Write models of one operator of TensorFlow Lite, with what LiteRT's reference kernels compute for random inputs.

It needs ai-edge-litert, which the project's tests do not:

    pip install ai-edge-litert
    python -m tests.models_roundtrip.make_tflite
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.litert import outputs, steps, tensors
from tests.support.tflite_files import T
from tests.support.tflite_more_cases import PLAIN, STORED
from tests.support.tflite_networks import network
from tests.support.tflite_state_cases import lstm, svdf
from tests.support.tflite_tensors import inputs_of

FILE = Path(__file__).parent / "models" / "tflite.npz"
_STEPS = 6
KEEPING = (("SVDF", svdf, False), ("real SVDF", svdf, True), ("LSTM", lstm, False), ("real LSTM", lstm, True))
"""Models that keep a state from step to step."""


def main() -> None:
    """Write the file: for each case the model, its inputs, and its outputs; of the network every tensor."""
    arrays: dict[str, np.ndarray] = {}

    def put(case: str, data: bytes, inputs: dict[str, np.ndarray], results: dict[str, np.ndarray]) -> None:
        arrays[f"{case}|model"] = np.frombuffer(data, np.uint8)
        arrays.update({f"{case}|in|{name}": array for name, array in inputs.items()})
        arrays.update({f"{case}|out|{name}": array for name, array in results.items()})

    for table, real in ((STORED, ""), (PLAIN, "real ")):
        for kind, make in table.items():
            data, inputs = make(np.random.default_rng(7))
            put(f"{real}{kind}", data, inputs, outputs(data, inputs))
    data, inputs = network(), inputs_of(np.random.default_rng(7), [T("input:0", (1, 12, 6, 2))])
    every = tensors(data, inputs)
    put("network", data, inputs, {name: array for name, array in every.items() if array.size and "/w" not in name})
    for name, make, real in KEEPING:
        rng = np.random.default_rng(7)
        data, inputs = make(rng, real=real)
        x = np.stack([inputs_of(rng, [T("x", inputs["x"].shape, "f32" if real else "i8")])["x"] for _ in range(_STEPS)])
        put(name, data, {"x": x}, {"y": np.stack(steps(data, x))})
    np.savez_compressed(FILE, **arrays)  # type: ignore[arg-type]  # names are no keywords of it


if __name__ == "__main__":
    main()
