"""Small stream graphs for tests of emission and cosimulation."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.window import window
from graphrewrite.types import FixedPoint, Stream

BYTE = FixedPoint(True, 8)


def rectify(name: str = "rectify", *, x: str = "x", y: str = "y", node: str = "act") -> Graph:
    """One component: two lanes, three beats a frame."""
    g = Graph(name)
    given = g.input(x, Stream(BYTE, (2, 3)))
    made = g.add(clip, [given], {"low": 0, "high": 127}, name=node, origin=(node,))
    g.output(y, made)
    return g


def residual(name: str = "residual", origins: tuple[str, ...] = ("split", "scan", "sum", "round", "join")) -> Graph:
    """A branch and a join: a window with a matrix of one lane behind it, and a buffer beside it."""
    split, scan, total, narrow, join = origins
    weights = np.random.default_rng(3).integers(-8, 8, (2, 18))
    wide = FixedPoint(True, 16)
    g = Graph(name)
    x = g.input("x", Stream(BYTE, (2, 4, 4)))
    a, b = g.add(fork, [x], {}, origin=(split,))
    windows = g.add(window, [a], {"kernel": (3, 3), "pads": (1, 1, 1, 1)}, origin=(scan,))
    attributes = {"weights": weights, "bias": np.array([1, -2]), "element": wide, "lanes": 1}
    sums = g.add(matvec, [windows], attributes, origin=(total,))
    rounded = g.add(requantise, [sums], {"shift": 5, "element": BYTE}, origin=(narrow,))
    paired = g.add(refold, [rounded], {"lanes": 2}, origin=(narrow,))
    waiting = g.add(fifo, [b], {"depth": 16}, origin=(split,))
    g.output("y", g.add(add, [paired, waiting], {"element": FixedPoint(True, 9)}, origin=(join,)))
    return g
