"""What can go wrong between a model's file and a stream graph."""

from __future__ import annotations

from graphrewrite.errors import GraphRewriteError

__all__ = ["LoweringError", "ModelError", "ParallelismError", "QuantisationError", "UnsupportedOpsError"]


class ModelError(GraphRewriteError):
    """A model's file is missing, corrupt, or says something that cannot be true."""


class UnsupportedOpsError(ModelError):
    """A model has ops that the import table does not know; names all of them with their nodes."""


class QuantisationError(GraphRewriteError):
    """A graph cannot be quantised with the given samples and widths."""


class LoweringError(GraphRewriteError):
    """A lowering left nodes behind that no rule could lower; names all of them."""


class ParallelismError(GraphRewriteError):
    """No folding meets the wanted parallelism or budget; says the smallest that can be met."""
