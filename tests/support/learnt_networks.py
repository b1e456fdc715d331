"""Eight small networks, trained by a seed in a second or so each: what quantising is measured on.

Scikit-learn is imported where a network is trained: tests are collected without it.
`python -m tests.support.learnt_networks FOLDER` writes them as ONNX files with their samples beside them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support.numpy_layers import BatchNorm, Convolution, Layer, Linear, MaxPool, Relu, train

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

__all__ = ["NETWORKS", "Learnt", "learnt"]

Row = tuple[str, list[np.ndarray], dict[str, Any]]
"""An ONNX op, its constants, its attributes."""


class Learnt(NamedTuple):
    """A trained network, samples of its input to calibrate with, and others to measure on."""

    model: onnx.ModelProto
    calibration: np.ndarray
    test: np.ndarray
    wanted: dict[str, np.ndarray]
    """By output: labels, zeros and ones in a column, or numbers."""

    def points(self, outputs: Mapping[str, np.ndarray]) -> float:
        """Right answers in percent; the explained variance where the answers are numbers; the mean of all outputs."""
        return float(np.mean([_points(outputs[name], wanted) for name, wanted in self.wanted.items()]))


def _points(y: np.ndarray, wanted: np.ndarray) -> float:
    from sklearn.metrics import r2_score

    if wanted.dtype.kind == "f":
        return 100 * r2_score(wanted, y, multioutput="variance_weighted")
    return 100 * float(((y > 0.5) == wanted if wanted.ndim == 2 else y.argmax(1) == wanted).mean())


def _model(name: str, shape: Sequence[int], trunk: list[Row], heads: Mapping[str, list[Row]]) -> onnx.ModelProto:
    """A chain of layers, and behind it a chain for each output; nodes are called after their places."""
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []

    def chain(rows: list[Row], value: str, prefix: str, result: str) -> str:
        for place, (kind, arrays, attributes) in enumerate(rows, start=1):
            node = f"{prefix}{kind.lower()}{place}"
            names = [f"{node}.{i}" for i in range(len(arrays))]
            constants.extend(map(numpy_helper.from_array, [a.astype(np.float32) for a in arrays], names))
            y = result if place == len(rows) else f"{node}_y"
            nodes.append(helper.make_node(kind, [value, *names], [y], name=node, **attributes))
            value = y
        return value

    value = chain(trunk, "x", "", "trunk")
    for output, rows in heads.items():
        chain(rows, value, f"{output}_", output)
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])]
    results = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in heads]
    graph = helper.make_graph(nodes, name, given, results, constants)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(proto)


def _alone(name: str, shape: Sequence[int], rows: list[Row]) -> onnx.ModelProto:
    return _model(name, shape, rows[:-1], {"y": rows[-1:]})


def _perceptron(net: MLPClassifier | MLPRegressor, activation: str = "Relu") -> list[Row]:
    """The layers of an MLP of scikit-learn, without what follows the last."""
    rows: list[Row] = []
    for w, b in zip(net.coefs_, net.intercepts_, strict=True):
        rows += [("Gemm", [w.T, b], {"transB": 1}), (activation, [], {})]
    return rows[:-1]


def _fitted(net: Any, x: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as many epochs as there is time for
        return net.fit(x, y)


def _scaling(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.mean(0), x.std(0)


def digits_mlp() -> Learnt:
    """Ten classes, 64-32-16-10."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    x, test, y, wanted = train_test_split(x / 16, y, test_size=600, random_state=0, stratify=y)
    net = _fitted(MLPClassifier((32, 16), max_iter=60, random_state=0), x, y)
    return Learnt(_alone("digits_mlp", [64], _perceptron(net)), x[:256], test, {"y": wanted})


def digits_cnn() -> Learnt:
    """Ten classes, two convolutions with a batch norm and poolings."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    x, test, y, wanted = train_test_split((x / 16).reshape(-1, 1, 8, 8), y, test_size=600, random_state=1, stratify=y)
    rng = np.random.default_rng(1)
    layers: list[Layer] = [Convolution("c1", 1, 8, rng, bias=False), BatchNorm("n1", 8), Relu("r1"), MaxPool("p1")]
    layers += [Convolution("c2", 8, 16, rng), Relu("r2"), MaxPool("p2"), Linear("fc", 64, 10, rng)]
    train(layers, x, y, rng, epochs=20)
    return Learnt(_alone("digits_cnn", [1, 8, 8], _rows(layers)), x[:256], test, {"y": wanted})


def _rows(layers: list[Layer]) -> list[Row]:
    arrays = [{**layer.parameters, **layer.state} for layer in layers]
    return [
        (kind, [kept[name] for name in names], attributes)
        for layer, kept in zip(layers, arrays, strict=True)
        for kind, names, attributes in layer.nodes()
    ]


class _Line(Convolution):
    """A convolution of three taps along one axis: the middle column of a square."""

    def nodes(self) -> list[Any]:
        return [("Conv", [*self.parameters], {"kernel_shape": [3], "pads": [1, 1]})]


def signals_cnn() -> Learnt:
    """Four forms of waves with noise, three 1-D convolutions."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, 2400)
    turn = (np.arange(32) * rng.uniform(0.1, 0.35, (2400, 1)) + rng.uniform(0, 1, (2400, 1))) % 1
    waves = [np.sin(2 * np.pi * turn), np.sign(turn - 0.5), 2 * turn - 1, 1 - 4 * np.abs(turn - 0.5)]
    x = np.choose(labels[:, None], waves) * rng.uniform(0.3, 2, (2400, 1)) + rng.normal(0, 0.15, (2400, 32))
    layers: list[Layer] = [_Line("c1", 1, 8, rng), Relu("r1"), _Line("c2", 8, 12, rng), Relu("r2")]
    layers += [_Line("c3", 12, 8, rng), Relu("r3"), Linear("fc", 256, 4, rng)]
    train(layers, x[:1800, None, :, None], labels[:1800], rng, epochs=25, rate=1e-2)
    rows = [(kind, [a[..., 1] if a.ndim == 4 else a for a in arrays], how) for kind, arrays, how in _rows(layers)]
    return Learnt(_alone("signals_cnn", [1, 32], rows), x[:256, None], x[1800:, None], {"y": labels[1800:]})


def _cancer() -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Row]]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    x, y = load_breast_cancer(return_X_y=True)
    x, test, y, wanted = train_test_split(x, y, test_size=200, random_state=3, stratify=y)
    mean, scale = _scaling(x)
    net = _fitted(MLPClassifier((16, 8), max_iter=150, random_state=3), (x - mean) / scale, y)
    scaler: list[Row] = [("Sub", [mean], {}), ("Div", [scale], {})]
    return x[:256], test, wanted[:, None], [*scaler, *_perceptron(net), ("Sigmoid", [], {})]


def cancer() -> Learnt:
    """One answer, yes or no, on scaled inputs."""
    x, test, wanted, ((_, (mean,), _), (_, (scale,), _), *rows) = _cancer()
    return Learnt(_alone("cancer", [30], rows), (x - mean) / scale, (test - mean) / scale, {"y": wanted})


def cancer_raw() -> Learnt:
    """The same network with its scaler in front of it, on raw inputs."""
    x, test, wanted, rows = _cancer()
    return Learnt(_alone("cancer_raw", [30], rows), x, test, {"y": wanted})


def friedman() -> Learnt:
    """One number of ten, by tanh."""
    from sklearn.datasets import make_friedman1
    from sklearn.neural_network import MLPRegressor

    x, y = make_friedman1(1600, n_features=10, noise=0.3, random_state=4)
    mean, scale = _scaling(y)
    x, y = 2 * x - 1, (y - mean) / scale
    how = {"activation": "tanh", "max_iter": 150, "learning_rate_init": 5e-3, "random_state": 4}
    rows = _perceptron(_fitted(MLPRegressor(hidden_layer_sizes=(24, 16), **how), x[:1200], y[:1200]), "Tanh")
    return Learnt(_alone("friedman", [10], rows), x[:256], x[1200:], {"y": y[1200:, None]})


def autoencoder() -> Learnt:
    """Digits through twelve numbers, 64-32-12-32-64."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPRegressor

    x = np.random.default_rng(5).permutation(load_digits().data / 16)
    net = MLPRegressor(hidden_layer_sizes=(32, 12, 32), max_iter=200, learning_rate_init=3e-3, random_state=5)
    rows = _perceptron(_fitted(net, x[:1200], x[:1200]))
    return Learnt(_alone("autoencoder", [64], rows), x[:256], x[1200:], {"y": x[1200:]})


def wine_heads() -> Learnt:
    """Two outputs of one trunk, three classes and two of the measured numbers, on raw inputs."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPRegressor

    x, y = load_wine(return_X_y=True)
    numbers = x[:, [6, 9]]
    numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    x = np.delete(x, [6, 9], axis=1)
    x, test, y, wanted, numbers, others = train_test_split(x, y, numbers, test_size=60, random_state=6)
    mean, scale = _scaling(x)
    how = {"max_iter": 300, "learning_rate_init": 3e-3, "alpha": 0.1, "random_state": 6}
    wished = np.hstack([np.eye(3)[y], numbers])
    net = _fitted(MLPRegressor(hidden_layer_sizes=(24, 16), **how), (x - mean) / scale, wished)
    *rows, (kind, (w, b), attributes) = _perceptron(net)
    heads = {"kind": [(kind, [w[:3], b[:3]], attributes)], "numbers": [(kind, [w[3:], b[3:]], attributes)]}
    model = _model("wine_heads", [11], [("Sub", [mean], {}), ("Div", [scale], {}), *rows], heads)
    return Learnt(model, x, test, {"kind": wanted, "numbers": others})


NETWORKS: dict[str, Callable[[], Learnt]] = {
    maker.__name__: maker
    for maker in (digits_mlp, digits_cnn, signals_cnn, cancer, cancer_raw, friedman, autoencoder, wine_heads)
}


@cache
def learnt(name: str) -> Learnt:
    """A network by its name, its samples in single precision."""
    made = NETWORKS[name]()
    return made._replace(calibration=made.calibration.astype(np.float32), test=made.test.astype(np.float32))


if __name__ == "__main__":
    for name in NETWORKS:
        made = learnt(name)
        onnx.save(made.model, Path(sys.argv[1]) / f"{name}.onnx")
        arrays = {"calibration_x": made.calibration, "test_x": made.test}
        arrays |= {f"test_{output}": wanted for output, wanted in made.wanted.items()}
        np.savez(Path(sys.argv[1]) / f"{name}.npz", **arrays)
