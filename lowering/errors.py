"""What can go wrong between a model's file and a stream graph."""

from __future__ import annotations

from graphrewrite.errors import GraphRewriteError

__all__ = [
    "LoweringError",
    "ModelError",
    "OpenSizesError",
    "ParallelismError",
    "QuantisationError",
    "UnsupportedOpsError",
]


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
    """A lowering left nodes behind that no rule could lower; names all of them."""


class ParallelismError(GraphRewriteError):
    """No folding meets the wanted parallelism or budget; says the smallest that can be met."""
