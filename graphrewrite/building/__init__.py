"""Building graphs of parts: one after the other, side by side, around a shortcut, and graph upon graph."""

from graphrewrite.building.building import Built, parallel, residual, sequential
from graphrewrite.building.composition import compose

__all__ = ["Built", "compose", "parallel", "residual", "sequential"]
