"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS
from graphrewrite.op.nn.sampling import check_word
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.types import Tensor

__all__ = ["COMPARISONS", "tree_ensemble"]

COMPARISONS = ("leq", "lt", "gte", "gt", "eq", "neq")
"""How a node compares a feature with its threshold."""
_COMPUTED = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
_AGGREGATES = ("sum", "average", "min", "max")


def _infer(
    x: Tensor,
    *,
    roots: Sequence[int],
    features: np.ndarray,
    thresholds: np.ndarray,
    branches: np.ndarray,
    leaves: np.ndarray,
    comparisons: np.ndarray | None,
    missing: np.ndarray | None,
    aggregate: str,
) -> Tensor:
    check_word("aggregate", aggregate, _AGGREGATES)
    count = len(features)
    if len(x.shape) != 2 or not isinstance(x.shape[1], int):
        raise TypeMismatchError(f"trees ask for features [N,F], got {x}")
    each = {"features": features, "thresholds": thresholds, "comparisons": comparisons, "missing": missing}
    for name, array in each.items():
        if array is not None and np.shape(array) != (count,):
            raise TypeMismatchError(
                f"{name} are one for each of {count} nodes, got an array of {list(np.shape(array))}"
            )
    if np.shape(branches) != (count, 2) or np.ndim(leaves) != 2:
        raise TypeMismatchError(
            f"{count} nodes have two branches each, and leaves are [L,targets], got arrays of "
            f"{list(np.shape(branches))} and {list(np.shape(leaves))}"
        )
    if count and not 0 <= np.min(features) <= np.max(features) < x.shape[1]:
        raise TypeMismatchError(f"the trees ask for feature {np.max(features)}, and {x} has {x.shape[1]}")
    if comparisons is not None and count and not 0 <= np.min(comparisons) <= np.max(comparisons) < len(COMPARISONS):
        raise TypeMismatchError(f"comparisons are numbers from 0 to {len(COMPARISONS) - 1}: {', '.join(COMPARISONS)}")
    reached = np.concatenate([np.ravel(branches), np.asarray(roots, np.int64)])
    if reached.size and not (-len(leaves) <= np.min(reached) and np.max(reached) < count):
        raise TypeMismatchError(f"branches are numbers of {count} nodes, or of {len(leaves)} leaves from -1 downwards")
    return Tensor(x.element, (x.shape[0], np.shape(leaves)[1]))


@define_op(infer=_infer, elements=FLOATS)
def tree_ensemble(
    x: np.ndarray,
    *,
    roots: Sequence[int],
    features: np.ndarray,
    thresholds: np.ndarray,
    branches: np.ndarray,
    leaves: np.ndarray,
    comparisons: np.ndarray | None = None,
    missing: np.ndarray | None = None,
    aggregate: Literal["sum", "average", "min", "max"] = "sum",
) -> np.ndarray:
    """Sum, or another aggregate, of the leaves that a sample reaches in each tree (ONNX specification, TreeEnsemble).

    Parameters
    ----------
    x
        Samples [N, F].
    roots
        The node at which each tree begins.
    features
        Index of the feature that each node compares.
    thresholds
        What each node compares it with.
    branches
        Where to go from each node if the comparison holds, and if not: the number of a node, or of a leaf: -1 is the
        first, -2 the second.
    leaves
        Numbers of each leaf, one a target; NaN is none.
    comparisons
        Comparison of each node: 0 for at most (the default), 1 less, 2 at least, 3 greater, 4 equal, 5 not equal.
    missing
        Whether the first branch of each node is also for a feature that is not a number.
    aggregate
        How the leaves of all trees become a result: "sum", "average", "min" or "max".

    Examples
    --------
    >>> node = {"features": np.array([1]), "thresholds": np.array([0.5]), "branches": np.array([[-1, -2]])}
    >>> x, leaves = np.array([[0.0, 0.4], [0.0, 0.6]]), np.array([[3.0], [4.0]])
    >>> tree_ensemble(x, roots=(0,), **node, leaves=leaves).tolist()
    [[3.0], [4.0]]
    """
    wide = widened(x)
    at = np.tile(np.asarray(roots, np.int64), (len(x), 1))
    limits = np.asarray(thresholds).astype(wide.dtype)
    for _ in range(len(features) + 1):
        sample, tree = np.nonzero(at >= 0)
        if not len(sample):
            break
        node = at[sample, tree]
        value = wide[sample, np.asarray(features)[node]]
        holds = np.less_equal(value, limits[node])
        if comparisons is not None:
            kinds = np.asarray(comparisons)[node]
            holds = np.select(
                [kinds == i for i in range(len(COMPARISONS))], [c(value, limits[node]) for c in _COMPUTED]
            )
        if missing is not None:
            holds = holds | (np.isnan(value) & np.asarray(missing)[node].astype(np.bool_))
        at[sample, tree] = np.asarray(branches)[node, np.where(holds, 0, 1)]
    else:
        raise EvaluationError("the branches of a tree lead back to where they came from; give each node one parent")
    return narrowed(_aggregated(np.asarray(leaves).astype(wide.dtype)[-1 - at], aggregate), x)


def _aggregated(reached: np.ndarray, aggregate: str) -> np.ndarray:
    """One number a target of those that the trees give, [N, trees, targets]."""
    if aggregate in ("min", "max"):
        chosen = (np.fmin if aggregate == "min" else np.fmax).reduce(reached, axis=1, initial=np.nan)
        return np.nan_to_num(chosen, nan=0.0, posinf=np.inf, neginf=-np.inf)
    total = np.nansum(reached, axis=1)
    return total / max(reached.shape[1], 1) if aggregate == "average" else total
