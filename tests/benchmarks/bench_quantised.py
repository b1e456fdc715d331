"""Evaluation of quantised networks against onnxruntime, one thread each; and whether every batch gives the same bits.

The networks are quantised by onnxruntime from floats, as a user would do it: by a dozen samples, with default options.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from threadpoolctl import threadpool_limits

from graphrewrite import evaluate
from graphrewrite.execution.program import compile_graph
from graphrewrite.lowering import from_onnx
from tests.benchmarks.bench_evaluate import ratios, session_of, timed
from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.small_networks import NETWORKS, inputs_of
from tests.support.sessions import session_of as plain_session_of

HEADS = (
    "network, form, batch",
    "program µs",
    "onnxruntime 1",
    "goal",
    "evaluate() 1",
    "compile 1",
    "differ from onnxruntime",
    "without its optimiser",
    "of",
)
MOST = {("MLP", 1): "<= 4", ("MLP", 64): "<= 3", ("DS-CNN", 1): "<= 5", ("DS-CNN", 64): "<= 5", ("ResNet-8", 1): "<= 4"}
BATCHES = (1, 64)


class Samples(CalibrationDataReader):
    def __init__(self, model: onnx.ModelProto) -> None:
        ((self.name, array),) = inputs_of(model, 12).items()
        self.rest: Iterator[np.ndarray] = iter(array[:, None])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(({self.name: sample} for sample in self.rest), None)


def quantised(network: str, form: str, folder: Path) -> onnx.ModelProto:
    model = NETWORKS[network]()
    onnx.save(model, folder / "float.onnx")
    quantize_static(folder / "float.onnx", folder / "int8.onnx", Samples(model), quant_format=QuantFormat[form])
    return onnx.load(folder / "int8.onnx")


@pytest.mark.parametrize("batch", scaled(BATCHES[:1], BATCHES))
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("network", scaled(["MLP"], ["MLP", "CNN", "DS-CNN", "ResNet-8"]))
def test_networks(network: str, form: str, batch: int, tmp_path: Path, rows: list) -> None:
    model = quantised(network, form, tmp_path)
    inputs = inputs_of(model, batch)
    graph, session = from_onnx(model), session_of(model)
    program = compile_graph(graph)
    with threadpool_limits(1):
        ((name, found),) = program(inputs).items()
        alone = [program({key: array[i : i + 1] for key, array in inputs.items()})[name] for i in range(batch)]
        np.testing.assert_array_equal(found, np.concatenate(alone))
        np.testing.assert_array_equal(found, evaluate(graph, inputs)[name])
        others = [s.run(None, inputs)[0] for s in (session, plain_session_of(tmp_path / "int8.onnx", optimise=False))]
        own, times = ratios(
            timed(lambda: program(inputs)),
            {
                "onnxruntime": timed(lambda: session.run(None, inputs)),
                "evaluate": timed(lambda: evaluate(graph, inputs)),
                "compile": timed(lambda: compile_graph(graph)),
            },
        )
    goal = MOST.get((network, batch), "") if form == "QDQ" else ""
    differing = [int((found != other).sum()) for other in others]
    row = (own * 1e6, 1 / times["onnxruntime"], goal, times["evaluate"], times["compile"], *differing, found.size)
    rows.append((f"{network}, {form}, {batch}", *row))


@pytest.fixture(scope="module")
def rows() -> list:
    """The rows of the table, which is printed when all of them are there."""
    found: list = []
    yield found
    print_table("Evaluation of quantised networks; one thread", HEADS, found)
