"""Configurations of `window`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.window import window
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S1, S8, S24, S48, U1, U8, Rng, element_of


def draw(rng: Rng) -> Site:
    count = int(rng.choice([1, 2, 2]))
    sizes = rng.integers(1, 8, count)
    before, after = rng.integers(0, 3, count), rng.integers(0, 3, count)
    dilations = rng.choice([1, 1, 1, 2, 3], count)
    # The extent of the window reaches past the border before it, and not beyond the one after it.
    most = np.maximum(before + 1, np.minimum(4, sizes + before + after))
    kernel = rng.integers(
        -(-before // dilations) + 1, np.maximum((most - 1) // dilations + 1, 1 - (-before // dilations)) + 1
    )
    kernel = np.minimum(kernel, (sizes + before + after - 1) // dilations + 1)
    kernel = np.where((kernel - 1) * dilations < before, 0, kernel)
    if (kernel < 1).any():
        before, dilations = np.zeros_like(before), np.ones_like(dilations)
        kernel = np.minimum(2, sizes)
    groups, folds = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    channels = groups * folds * int(rng.integers(1, 3))
    x = Stream(element_of(rng), (channels, *sizes.tolist()), channels // folds)
    return Site.of(
        window,
        x,
        kernel=tuple(kernel.tolist()),
        strides=tuple(rng.integers(1, 5, count).tolist()),
        pads=(*before.tolist(), *after.tolist()),
        dilations=tuple(dilations.tolist()),
        fill=int(rng.choice([x.element.minimum, 0, x.element.maximum])),
        groups=groups * folds,
    )


def corners() -> Iterator[Site]:
    yield Site.of(window, Stream(S8, (2, 5, 4)), kernel=(3, 2))
    for element, shape, kernel, strides, pads, fill in [
        (U1, (1, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 0),
        (S8, (1, 1, 1), (3, 3), (1, 1), (1, 1, 1, 1), -128),
        (S1, (2, 5, 1), (3, 1), (1, 1), (0, 0, 0, 0), 0),
        (S8, (2, 6, 1), (2, 1), (2, 1), (1, 0, 1, 0), 5),
        (U8, (3, 1, 7), (1, 3), (1, 2), (0, 1, 0, 1), 255),
        (S8, (2, 7, 7), (2, 2), (3, 3), (0, 0, 0, 0), 0),
        (S8, (2, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0), 0),
        (S24, (1, 6, 6), (5, 5), (1, 1), (2, 2, 2, 2), 0),
        (S8, (1, 4, 2), (3, 2), (1, 1), (2, 0, 0, 0), -1),
        (S48, (1, 3, 3), (2, 2), (1, 1), (0, 0, 0, 0), 0),
        (S8, (2, 9), (3,), (2,), (2, 1), 7),
    ]:
        yield Site.of(window, Stream(element, shape), kernel=kernel, strides=strides, pads=pads, fill=fill)
    image = Stream(S8, (6, 5, 7), 2)
    for groups in (3, 6):
        yield Site.of(window, image, kernel=(2, 3), pads=(1, 1, 1, 1), groups=groups)
        yield Site.of(window, image, kernel=(2, 2), dilations=(3, 2), pads=(2, 1, 0, 2), groups=groups)
    yield Site.of(window, Stream(U8, (4, 11), 1), kernel=(3,), dilations=(4,), pads=(8, 0), groups=4)
    yield Site.of(window, Stream(U8, (4, 3, 1), 1), kernel=(2, 1), pads=(1, 0, 0, 0), groups=4)
