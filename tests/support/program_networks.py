"""Random networks of real numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op


class Networks:
    """Layers of random sizes, drawn one after the other."""

    def __init__(self, draw):
        self.draw, self.random = draw, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.dtype = draw(st.sampled_from((np.float32, np.float64)))

    def number(self, least, most):
        return self.draw(st.integers(least, most))

    def weights(self, *shape):
        return self.random.normal(size=shape).astype(self.dtype)

    def windows(self, sizes, *, dilated):
        dilations = tuple(self.number(1, 2) if dilated else 1 for _ in sizes)
        pads = tuple(self.number(0, 1) for _ in (*sizes, *sizes))
        room = [(s - 1) // d + 1 for s, d in zip(sizes, dilations, strict=True)]
        kernel = tuple(self.number(1, min(3, r)) for r in room)
        pads = tuple(min(p, k - 1) for p, k in zip(pads, 2 * kernel, strict=True))
        strides = tuple(self.number(1, 2) for _ in sizes)
        return kernel, {"strides": strides, "pads": pads, "dilations": dilations}

    def conv(self, x):
        channels, *sizes = x.type.shape[1:]
        groups = self.draw(st.sampled_from([g for g in (1, 2, channels) if channels % g == 0]))
        outer = channels if groups == channels and self.draw(st.booleans()) else groups * self.number(1, 2)
        kernel, how = self.windows(sizes, dilated=True)
        w = self.weights(outer, channels // groups, *kernel)
        bias = (self.weights(outer),) if self.draw(st.booleans()) else ()
        return op.conv(x, w, *bias, groups=groups, **how)

    def norm(self, x):
        gain, shift, mean, var = (self.weights(x.type.shape[1]) for _ in range(4))
        return op.batch_norm(x, gain, shift, mean, np.abs(var) + self.dtype(0.5))

    def relu(self, x):
        return op.relu(x)

    def clip(self, x):
        return op.clip(x, low=self.draw(st.sampled_from((None, -1.0))), high=self.draw(st.sampled_from((None, 2.0))))

    def max_pool(self, x):
        kernel, how = self.windows(x.type.shape[2:], dilated=False)
        return op.max_pool(x, kernel=kernel, **how)

    def average_pool(self, x):
        kernel, how = self.windows(x.type.shape[2:], dilated=False)
        return op.average_pool(x, kernel=kernel, count_include_pad=self.draw(st.booleans()), **how)

    def join(self, x):
        return op.add(x, op.relu(x))

    def sigmoid(self, x):
        return op.sigmoid(x)


@st.composite
def networks(draw):
    make = Networks(draw)
    g = Graph("net")
    element = "f32" if make.dtype == np.float32 else "f64"
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=2))
    x = make.conv(g.input("x", Tensor(element, ("N", make.number(1, 4), *sizes))))
    layers = (make.conv, make.norm, make.relu, make.clip, make.max_pool, make.average_pool, make.join, make.sigmoid)
    for layer in draw(st.lists(st.sampled_from(layers), max_size=5)):
        x = layer(x)
    match draw(st.sampled_from(("leave", "flatten", "pool"))):
        case "flatten":
            x = op.flatten(x)
            x = op.gemm(x, make.weights(3, x.type.shape[1]), make.weights(3), trans_b=True, alpha=0.5, beta=2.0)
        case "pool":
            x = op.linear(op.flatten(op.global_average_pool(x)), make.weights(2, x.type.shape[1]))
    g.output("y", x)
    return g
