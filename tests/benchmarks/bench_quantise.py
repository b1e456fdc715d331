"""Eight networks at 8 to 4 bits: against onnxruntime's static quantisation, rounding to nearest, and the literature.

Points are those of samples that no quantiser has seen: right answers, or explained variance, in percent.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from graphrewrite import Graph, evaluate
from graphrewrite.lowering import from_onnx, quantise
from graphrewrite.lowering.quantisation.preparation import prepared
from tests.benchmarks.figures import print_table, scaled
from tests.support.learnt_networks import NETWORKS, Learnt, learnt

WIDTHS = scaled((8,), (8, 6, 5, 4))
_KEEPING = frozenset({"relu", "max_pool", "flatten", "reshape"})
"""Ops through which a factor of each channel passes."""


@pytest.mark.parametrize("per_channel", [False, True], ids=["per tensor", "per channel"])
def test_points_of_trained_networks(per_channel: bool, tmp_path: Path) -> None:
    rows, missed = [], []
    for name in scaled(["cancer"], [*NETWORKS]):
        network, graph = learnt(name), from_onnx(learnt(name).model)
        row: list[object] = [name, network.points(evaluate(graph, {"x": network.test}))]
        for bits in WIDTHS:
            how = {"bits": bits, "per_channel": per_channel}
            plain, ours = (
                network.points(
                    evaluate(quantise(graph, network.calibration, **how, equalise=own, fit=own), {"x": network.test})
                )
                for own in (False, True)
            )
            written = network.points(literature(name, **how))
            others = [plain, written]
            if bits == 8:
                others.append(network.points(by_onnxruntime(network, per_channel, tmp_path)))
            row += [ours, *others]
            limit = max(max(others[:2]) - 0.5, *(points - 0.3 for points in others[2:]), -np.inf)
            if ours < limit:
                missed.append(f"{name} {bits}: {ours - limit:.2f}")
        rows.append(["" if value is None else f"{value:.2f}" if isinstance(value, float) else value for value in row])
    heads = ["network", "float"]
    for bits in WIDTHS:
        heads += [f"{bits} bits", "nearest", "literature", *(["onnxruntime"] if bits == 8 else [])]
    print_table(f"Points of quantised networks, {'per channel' if per_channel else 'per tensor'}", heads, rows)
    print("below the goal:", ", ".join(missed) or "none")


class _Reader(CalibrationDataReader):
    def __init__(self, samples: np.ndarray) -> None:
        self.samples = iter([{"x": samples}])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.samples, None)


def by_onnxruntime(network: Learnt, per_channel: bool, folder: Path) -> dict[str, np.ndarray]:
    """The outputs of onnxruntime's static quantisation: activations u8, weights i8, scales by least and greatest."""
    before, after = folder / "float.onnx", folder / "quantised.onnx"
    onnx.save(network.model, before)
    quantize_static(
        before,
        after,
        _Reader(network.calibration),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    session = onnxruntime.InferenceSession(after, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"x": network.test}), strict=True))


def literature(name: str, *, bits: int, per_channel: bool) -> dict[str, np.ndarray]:
    """Any scales and zero points of least squared error, after cross-layer equalisation, with bias correction.

    Nagel et al. 2019 and 2021 (A white paper on neural network quantization), in floats. What scales an input in front
    of the first layer stays in floats.
    """
    network, graph = _behind_its_scaler(name), _equalised(name)
    given = {"x": network.calibration}
    real = {key: np.asarray(value) for key, value in _values(graph, given).items()}
    seen, met = dict(given), {"x": network.test}
    for node in graph.in_order():
        kind, operands = graph.nodes[node]["type"], graph.operands(node)
        if node in given or kind == "constant":
            continue
        constants = [graph.nodes[o.node]["value"] for o in operands if graph.nodes[o.node]["type"] == "constant"]
        run = graph.op(node).function
        how = graph.attributes(node)
        if kind not in ("conv", "linear"):
            if kind == "tanh":  # a table
                low, step = _grid(seen[operands[0].node], bits)
                for values in (seen, met):
                    values[operands[0].node] = _on(values[operands[0].node], low, step, bits)
            for values in (seen, met):
                arrays = [values[o.node] if o.node in values else graph.nodes[o.node]["value"] for o in operands]
                values[node] = run(*arrays, **how)
            continue
        (source, *_), (w, b) = operands, constants
        low, step = _grid(seen[source.node], bits)
        calibrated, tested = (_on(values[source.node], low, step, bits) for values in (seen, met))
        parts = w if per_channel else w[None]
        w = np.stack([_symmetric(part, bits) for part in parts]).reshape(w.shape)
        axes = (0, *range(2, real[node].ndim))
        b = b + (real[node] - run(calibrated, w, b, **how)).mean(axis=axes)
        seen[node], met[node] = run(calibrated, w, b, **how), run(tested, w, b, **how)
    return {name: met[name] for name in graph.outputs}


def _behind_its_scaler(name: str) -> Learnt:
    network = learnt(name)
    if [node.op_type for node in network.model.graph.node[:2]] != ["Sub", "Div"]:
        return network
    constants = {entry.name: onnx.numpy_helper.to_array(entry) for entry in network.model.graph.initializer}
    model = onnx.ModelProto.FromString(network.model.SerializeToString())
    (shift, scale), given = model.graph.node[:2], model.graph.node[2].input
    mean, deviation = constants[shift.input[1]], constants[scale.input[1]]
    given[0] = "x"
    del model.graph.node[:2]
    calibration, test = ((samples - mean) / deviation for samples in (network.calibration, network.test))
    return network._replace(model=model, calibration=calibration, test=test)


def _values(graph: Graph, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    from graphrewrite.execution.evaluator import evaluate_nodes

    return evaluate_nodes(graph, inputs, [n for n in graph if graph.nodes[n]["type"] != "constant"])


def _grid(values: np.ndarray, bits: int) -> tuple[float, float]:
    """The least number and the step of the unsigned grid of least squared error."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    found = [(low * share, (high - low) * share / (2**bits - 1) or 1.0) for share in np.linspace(1, 0.4, 31)]
    return min(found, key=lambda grid: float(np.square(_on(values, *grid, bits) - values).sum()))


def _on(values: np.ndarray, low: float, step: float, bits: int) -> np.ndarray:
    zero = np.rint(-low / step)
    return ((np.clip(np.rint(values / step) + zero, 0, 2**bits - 1) - zero) * step).astype(np.float32)


def _symmetric(w: np.ndarray, bits: int) -> np.ndarray:
    most = 2 ** (bits - 1) - 1
    found = [
        np.clip(np.rint(w / step), -most, most) * step
        for step in (float(np.abs(w).max()) or 1.0) / most * np.linspace(1, 0.4, 31)
    ]
    return min(found, key=lambda some: float(np.square(some - w).sum())).astype(np.float32)


@cache
def _equalised(name: str) -> Graph:
    """A network whose layers share out the ranges of the channels between them."""
    network = _behind_its_scaler(name)
    graph, _ = prepared(from_onnx(network.model), network.calibration)
    graph = graph.copy()
    for _ in range(10):
        for first in [n for n in graph.in_order() if graph.nodes[n]["type"] in ("conv", "linear")]:
            second = first
            while len(readers := list(graph.successors(second))) == 1:
                (second,) = readers
                if graph.nodes[second]["type"] not in _KEEPING:
                    break
            if graph.nodes[second]["type"] in ("conv", "linear") and second != first:
                _share_range(graph, first, second)
    return graph


def _share_range(graph: Graph, first: str, second: str) -> None:
    (_, w, b), (_, v, _) = graph.operands(first), graph.operands(second)
    rows, bias, columns = (graph.nodes[o.node]["value"] for o in (w, b, v))
    by_channel = columns.reshape(len(columns), len(rows), -1)
    given, taken = np.abs(rows.reshape(len(rows), -1)).max(axis=1), np.abs(by_channel).max(axis=(0, 2))
    factor = np.where((given > 0) & (taken > 0), np.sqrt(given / np.where(taken > 0, taken, 1)), 1).astype(np.float32)
    factor[factor == 0] = 1
    graph.nodes[w.node]["value"] = rows / factor.reshape(-1, *[1] * (rows.ndim - 1))
    graph.nodes[b.node]["value"] = bias / factor
    graph.nodes[v.node]["value"] = (by_channel * factor[:, None]).reshape(columns.shape)
