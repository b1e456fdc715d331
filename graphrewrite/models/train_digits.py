"""Train `digits`: a small CNN on the 1,797 handwritten digits that scikit-learn carries.

Run `python -m graphrewrite.models.train_digits FOLDER` (needs the extra `train`); it takes about ten seconds.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np

from graphrewrite import Graph, Tensor, fit, op
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.learning import Adam, cosine
from graphrewrite.models.saving import save

SEED = 1
EPOCHS, BATCH = 40, 32


def samples() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return images between 0 and 1 to learn from and to test on, and their labels."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=400, stratify=labels, random_state=SEED
    )
    return train_x, test_x, train_y, test_y


def network() -> Graph:
    """Return the network with fresh weights."""
    pool = partial(op.max_pool, kernel=2, strides=2)
    parts = [
        part
        for i, channels in enumerate((8, 16), start=1)
        for part in (
            layers.conv(channels, 3, pads=(1, 1, 1, 1), bias=False, name=f"conv{i}"),
            layers.batch_norm(name=f"bn{i}"),
            op.relu,
            pool,
        )
    ]
    graph = Graph("digits")
    x = graph.input("input", Tensor("f32", ("N", 1, 8, 8)))
    graph.output("output", sequential(*parts, op.flatten, layers.linear(10, name="fc"))(x))
    return graph


def main(folder: Path) -> None:
    """Train, and write model and samples into a folder."""
    train_x, test_x, train_y, test_y = samples()
    way = Adam(cosine(1e-2, steps=EPOCHS * -(-len(train_x) // BATCH)), decay=1e-2)
    trained = fit(network(), (train_x, train_y), optimiser=way, epochs=EPOCHS, batch=BATCH, seed=SEED, augment=shift)
    right = save(
        trained.graph,
        folder,
        note="Handwritten digits: images of 8x8 pixels between 0 and 1 give ten scores.",
        calibration_x=train_x[:256],
        test_x=test_x,
        test_y=test_y,
    )
    print(f"digits: {right:.2%} right on {len(test_y)} held-out images")


def shift(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Move each image by up to one pixel, half of them not at all."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = rng.integers(0, 3, (len(images), 2))
    moves[rng.random(len(images)) < 0.5] = 1
    moved = [image[:, top : top + 8, left : left + 8] for image, (top, left) in zip(padded, moves, strict=True)]
    return np.stack(moved)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
