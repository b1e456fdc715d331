"""Errors between a model's file and a stream graph."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite import Graph, Rule
from graphrewrite.errors import GraphRewriteError

__all__ = [
    "MOST_NAMED",
    "LoweringError",
    "ModelError",
    "OpenSizesError",
    "ParallelismError",
    "ProfileError",
    "QuantisationError",
    "QuantisationLossError",
    "QuantisationWarning",
    "UnsupportedOpsError",
    "declined_reasons",
    "origins_text",
]

_MOST_ORIGINS = 3
MOST_NAMED = 6
"""At most so many nodes with the same fault are named."""


class ModelError(GraphRewriteError):
    """A model's file is missing, corrupt or inconsistent."""


class OpenSizesError(ModelError):
    """Sizes in a model depend on its inputs' values; names the inputs that must be known on import.

    Attributes
    ----------
    reason : str
        Where that is.
    inputs : tuple of str
        Their names.
    """

    def __init__(self, reason: str, inputs: tuple[str, ...] = ()) -> None:
        names, values = ", ".join(map(repr, inputs)), ", ".join(f"{name!r}: ..." for name in inputs)
        on = f", and it depends on {names}; give values by from_onnx(..., constants={{{values}}})" if inputs else ""
        super().__init__(f"{reason}{on}")
        self.reason, self.inputs = reason, inputs


class UnsupportedOpsError(ModelError):
    """A model has ops that the import table lacks; names all of them with their nodes."""


class QuantisationError(GraphRewriteError):
    """A graph cannot be quantised with the given samples and widths."""


class QuantisationLossError(QuantisationError):
    """Quantising loses more than is allowed; names the layers that lose it."""


class ProfileError(QuantisationError):
    """A profile of values is broken, was edited to what has no meaning, or is of another network."""


class QuantisationWarning(UserWarning):
    """A layer of a quantised network gives the same for all samples, although the float network's does not."""


class LoweringError(GraphRewriteError):
    """A lowering left nodes behind that no rule could lower; counts them, and names the first few with the reason."""


class ParallelismError(GraphRewriteError):
    """No folding meets the requested parallelism or budget; states the smallest that can be met."""


def origins_text(graph: Graph, node: str) -> str:
    r"""Return the origins of a node as text; of many, the last ones, which are the nearest.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> origins_text(g, "r")
    'r'
    """
    origin = graph.origin(node)
    return ", ".join(origin if len(origin) <= _MOST_ORIGINS else ("...", *origin[1 - _MOST_ORIGINS :]))


def declined_reasons(graph: Graph, node: str, rules: Iterable[Rule]) -> list[str]:
    """Return the reasons for which rules declined a node."""
    explanations = (rule.explain(graph, at=node) for rule in rules)
    return [text.partition("declined: ")[2].rstrip(".") for text in explanations if "declined: " in text]
