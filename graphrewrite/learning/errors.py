"""Errors of differentiation and training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrewrite.errors import GraphRewriteError

if TYPE_CHECKING:
    from graphrewrite.learning.training import Fit

__all__ = ["DifferentiationError", "TrainingError"]


class DifferentiationError(GraphRewriteError):
    """A graph has no gradients as asked for: of a loss that is no number, or by an op without a rule."""


class TrainingError(GraphRewriteError):
    """Training cannot begin or go on: its data are empty or wrong, or the loss is no number any more.

    Attributes
    ----------
    fit : Fit or None
        What training had reached; None if it had not begun.
    """

    fit: Fit | None = None
