"""What can go wrong between a model's file and a stream graph."""

from __future__ import annotations

from graphrewrite import Graph
from graphrewrite.errors import GraphRewriteError

__all__ = [
    "MOST_NAMED",
    "LoweringError",
    "ModelError",
    "OpenSizesError",
    "ParallelismError",
    "QuantisationError",
    "UnsupportedOpsError",
    "shown",
]

_MOST_ORIGINS = 3
MOST_NAMED = 6
"""Of nodes that have the same fault, so many are named."""


class ModelError(GraphRewriteError):
    """A model's file is missing, corrupt, or says something that cannot be true."""


class OpenSizesError(ModelError):
    """Sizes in a model depend on what is fed to it; says which inputs must be known on import.

    Attributes
    ----------
    inputs : tuple of str
        Their names.
    """

    def __init__(self, message: str, inputs: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.inputs = inputs


class UnsupportedOpsError(ModelError):
    """A model has ops that the import table does not know; names all of them with their nodes."""


class QuantisationError(GraphRewriteError):
    """A graph cannot be quantised with the given samples and widths."""


class LoweringError(GraphRewriteError):
    """A lowering left nodes behind that no rule could lower; counts them, and names the first few with the reason."""


class ParallelismError(GraphRewriteError):
    """No folding meets the wanted parallelism or budget; says the smallest that can be met."""


def shown(graph: Graph, node: str) -> str:
    r"""Return the names of the model's nodes that a node comes from; of many the last ones, which are the nearest.

    Parameters
    ----------
    graph : Graph
        A lowered graph.
    node : str
        One of its nodes.

    Returns
    -------
    str

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> shown(g, "r")
    'r'
    """
    origin = graph.origin(node)
    return ", ".join(origin if len(origin) <= _MOST_ORIGINS else ("...", *origin[1 - _MOST_ORIGINS :]))
