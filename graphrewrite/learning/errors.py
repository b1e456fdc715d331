"""Errors of differentiation and training."""

from __future__ import annotations

from graphrewrite.errors import GraphRewriteError

__all__ = ["DifferentiationError", "TrainingError"]


class DifferentiationError(GraphRewriteError):
    """A graph has no gradients as asked for: of a loss that is no number, or by an op without a rule."""


class TrainingError(GraphRewriteError):
    """Training cannot begin or go on: its data are empty or wrong, or the loss is no number any more."""
