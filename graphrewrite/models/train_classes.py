"""Train `classes.onnx`: an MLP 16-64-32-32-5 on five synthetic classes, each a mixture of Gaussians.

Run `python -m graphrewrite.models.train_classes [FOLDER]` (needs the extra `train`); it takes a few seconds.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from graphrewrite.models.layers import Layer, Linear, Relu
from graphrewrite.models.training import save, train

SEED = 2
WIDTHS = (16, 64, 32, 32, 5)


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels; the first 5,000 are learnt from."""
    x, labels, _ = _drawn()
    return x.astype(np.float32), labels


def _drawn() -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(SEED)
    centres = rng.normal(0, 1.0, (WIDTHS[-1], 3, WIDTHS[0]))
    labels = rng.integers(0, WIDTHS[-1], 6000)
    x = centres[labels, rng.integers(0, 3, len(labels))] + rng.normal(0, 0.9, (len(labels), WIDTHS[0]))
    return x, labels, rng


def main(folder: Path) -> None:
    """Train, and write model and samples into a folder."""
    x, labels, rng = _drawn()
    layers: list[Layer] = []
    for i, (inputs, outputs) in enumerate(pairwise(WIDTHS), start=1):
        layers += [Linear(f"fc{i}", inputs, outputs, rng), Relu(f"relu{i}")]
    layers.pop()  # the last layer gives scores
    train(layers, x[:5000], labels[:5000], rng, epochs=30, rate=1e-3, decay=1e-2)
    right = save(
        layers,
        folder,
        "classes",
        note="Five synthetic classes: sixteen features give five probabilities.",
        closing_softmax=True,
        calibration_x=x[:256],
        test_x=x[5000:],
        test_y=labels[5000:],
    )
    print(f"classes: {right:.2%} right on {len(labels) - 5000} held-out samples")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
