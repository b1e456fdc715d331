"""Train `classes`: an MLP 16-64-32-32-5 on five synthetic classes, each a mixture of Gaussians.

Run `python -m graphrewrite.models.train_classes FOLDER` (needs the extra `train`); it takes a few seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from graphrewrite import Graph, Tensor, fit, op
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.learning import Adam, cosine
from graphrewrite.models.saving import save

SEED = 2
CLASSES, FEATURES, LEARNT, WIDTHS = 5, 16, 5000, (64, 32, 32)
EPOCHS, BATCH = 15, 64


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels; the first 5,000 are learnt from."""
    rng = np.random.default_rng(SEED)
    centres = rng.normal(0, 1.0, (CLASSES, 3, FEATURES))
    labels = rng.integers(0, CLASSES, 6000)
    x = centres[labels, rng.integers(0, 3, len(labels))] + rng.normal(0, 0.9, (len(labels), FEATURES))
    return x.astype(np.float32), labels


def network() -> Graph:
    """Return the network with fresh weights."""
    parts = [part for i in (1, 2, 3) for part in (layers.linear(WIDTHS[i - 1], name=f"fc{i}"), op.relu)]
    graph = Graph("classes")
    x = graph.input("input", Tensor("f32", ("N", FEATURES)))
    graph.output("output", sequential(*parts, layers.linear(CLASSES, name="fc4"), op.softmax)(x))
    return graph


def main(folder: Path) -> None:
    """Train, and write model and samples into a folder."""
    x, labels = samples()
    graph = network()
    way = Adam(cosine(3e-3, steps=EPOCHS * -(-LEARNT // BATCH)), decay=1e-2)
    trained = fit(graph, (x[:LEARNT], labels[:LEARNT]), optimiser=way, epochs=EPOCHS, batch=BATCH, seed=SEED)
    right = save(
        trained.graph,
        folder,
        note="Five synthetic classes: sixteen features give five probabilities.",
        calibration_x=x[:256],
        test_x=x[LEARNT:],
        test_y=labels[LEARNT:],
    )
    print(f"classes: {right:.2%} right on {len(labels) - LEARNT} held-out samples")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
