"""Trees as ONNX writes them, a list of nodes with numbers, and as `op.tree_ensemble` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.lowering.exchange.attribute_values import word

__all__ = ["as_listed", "of_ensemble", "of_list"]

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""Comparisons in the order of their numbers; those of `op.tree_ensemble` are the same."""
_EQUAL, _MEMBER = 4, 6
_AGGREGATES = {"AVERAGE": "average", "SUM": "sum", "MIN": "min", "MAX": "max"}
_MOST = 1 << 26
"""Numbers in the leaves of an ensemble: a corrupt file cannot make larger arrays."""

_Key = tuple[int, int]


def of_list(listed: Mapping[str, Any], prefix: str, targets: int) -> dict[str, Any]:
    """Return trees of the attributes of a TreeEnsembleRegressor or a TreeEnsembleClassifier.

    Parameters
    ----------
    listed : mapping
        ONNX's attributes.
    prefix : str
        Of those that hold the votes of the leaves, ``"target"`` or ``"class"``.
    targets : int
        The number of targets or classes.
    """
    keys = _pairs(listed, "nodes_treeids", "nodes_nodeids")
    modes = list(map(word, listed.get("nodes_modes", ())))
    if len(set(keys)) != len(keys) or len(modes) != len(keys):
        raise ValueError(
            f"{len(set(keys))} different nodes of its trees have {len(modes)} modes, of {len(keys)} in all"
        )
    unknown = sorted(set(modes) - {*_MODES, "LEAF"})
    if unknown:
        raise ValueError(f"the mode {unknown[0]!r} of its nodes is not known")
    places: dict[_Key, int] = {}
    inner = [i for i, mode in enumerate(modes) if mode != "LEAF"]
    places.update({keys[i]: place for place, i in enumerate(inner)})
    ends = [i for i, mode in enumerate(modes) if mode == "LEAF"]
    places.update({keys[i]: -1 - place for place, i in enumerate(ends)})
    roots = {tree: places[tree, node] for tree, node in reversed(keys)}
    branches = [
        [_place(places, (keys[i][0], listed[name][i])) for name in ("nodes_truenodeids", "nodes_falsenodeids")]
        for i in inner
    ]
    aggregate = _AGGREGATES.get(word(listed.get("aggregate_function", "SUM")), "")
    leaves = _leaves(len(ends), targets, aggregate)
    rows = zip(
        _pairs(listed, f"{prefix}_treeids", f"{prefix}_nodeids"),
        listed.get(f"{prefix}_ids", ()),
        _numbers(listed, f"{prefix}_weights"),
        strict=True,
    )
    for key, target, weight in rows:
        place = _place(places, key)
        if place < 0:
            _vote(leaves, -1 - place, target, weight)
    missing = np.array([listed.get("nodes_missing_value_tracks_true", [0] * len(keys))[i] for i in inner], np.bool_)
    return _checked(
        roots=tuple(roots[tree] for tree in dict.fromkeys(tree for tree, _ in keys)),
        features=np.array([listed["nodes_featureids"][i] for i in inner], np.int64),
        thresholds=_numbers(listed, "nodes_values")[inner],
        branches=np.array(branches, np.int64).reshape(-1, 2),
        leaves=leaves,
        comparisons=np.array([_MODES.index(modes[i]) for i in inner], np.int64),
        missing=missing,
        aggregate=aggregate,
    )


def of_ensemble(listed: Mapping[str, Any]) -> dict[str, Any]:
    """Return trees of the attributes of a TreeEnsemble; a node that asks for a member asks for one after another."""
    from onnx import numpy_helper

    arrays = {
        name: numpy_helper.to_array(value) if hasattr(value, "raw_data") else value for name, value in listed.items()
    }
    kinds = np.array(arrays["nodes_modes"], np.int64)
    branches = np.stack([_ends(arrays, "true"), _ends(arrays, "false")], axis=1)
    features, thresholds = np.array(arrays["nodes_featureids"], np.int64), np.array(arrays["nodes_splits"])
    missing = np.array(arrays.get("nodes_missing_value_tracks_true", np.zeros(len(kinds))), np.bool_)
    columns = [list(column) for column in (features, thresholds, branches, kinds, missing)]
    members = _sets(arrays.get("membership_values", ()))
    for node in np.flatnonzero(kinds == _MEMBER):
        at = int(node)
        first, *others = next(members, [np.nan]) or [np.nan]
        columns[1][at], columns[3][at] = first, _EQUAL
        for other in others:
            rest = columns[2][at]
            columns[2][at] = np.array([rest[0], len(columns[0])])
            for column, value in zip(columns, (features[node], other, rest, _EQUAL, False), strict=True):
                column.append(value)
            at = len(columns[0]) - 1
    aggregate = tuple(_AGGREGATES.values())[int(arrays.get("aggregate_function", 1))]
    weights, targets = np.ravel(arrays["leaf_weights"]), arrays["leaf_targetids"]
    leaves = _leaves(len(weights), int(arrays.get("n_targets", 1)), aggregate).astype(weights.dtype)
    for leaf, (target, weight) in enumerate(zip(targets, weights, strict=True)):
        _vote(leaves, leaf, target, weight)
    return _checked(
        roots=tuple(map(int, arrays["tree_roots"])),
        features=np.array(columns[0], np.int64),
        thresholds=np.array(columns[1], thresholds.dtype),
        branches=np.array(columns[2], np.int64).reshape(-1, 2),
        leaves=leaves,
        comparisons=np.array(columns[3], np.int64),
        missing=np.array(columns[4], np.bool_),
        aggregate=aggregate,
    )


def _pairs(listed: Mapping[str, Any], first: str, second: str) -> list[_Key]:
    return list(zip(listed.get(first, ()), listed.get(second, ()), strict=True))


def _numbers(listed: Mapping[str, Any], name: str) -> np.ndarray:
    """Floats, or doubles that a tensor holds."""
    from onnx import numpy_helper

    tensor = listed.get(f"{name}_as_tensor")
    return np.ravel(np.asarray(listed.get(name, ()), np.float32) if tensor is None else numpy_helper.to_array(tensor))


def _place(places: Mapping[_Key, int], key: _Key) -> int:
    if key not in places:
        raise ValueError(f"its tree {key[0]} has no node {key[1]}, to which one of its nodes leads")
    return places[key]


def _ends(arrays: Mapping[str, Any], side: str) -> np.ndarray:
    at, is_leaf = np.array(arrays[f"nodes_{side}nodeids"]), np.array(arrays[f"nodes_{side}leafs"], np.bool_)
    return np.asarray(np.where(is_leaf, -1 - at, at))


def _sets(values: Any) -> Any:
    """Members of one set after another; a NaN ends each."""
    found: list[float] = []
    for value in np.ravel(values):
        if np.isnan(value):
            yield found
            found = []
        else:
            found.append(value)


def _leaves(count: int, targets: int, aggregate: str) -> np.ndarray:
    if count * targets > _MOST:
        raise ValueError(f"{count} leaves of {targets} targets are more numbers than {_MOST}")
    # Where no vote is a number, too: least and greatest leave it out.
    return np.full((count, targets), np.nan if aggregate in ("min", "max") else 0.0)


def _vote(leaves: np.ndarray, leaf: int, target: int, weight: float) -> None:
    if not 0 <= target < leaves.shape[1]:
        raise ValueError(f"a leaf of its trees votes for target {target} of {leaves.shape[1]}")
    old = leaves[leaf, target]
    leaves[leaf, target] = weight if np.isnan(old) else old + weight


def _checked(**trees: Any) -> dict[str, Any]:
    """Trees without what says nothing, if no node leads back to one above it."""
    branches, count = trees["branches"], len(trees["features"])
    at = np.unique([root for root in trees["roots"] if root >= 0]).astype(np.int64)
    depth = 0
    while at.size:
        if at.max() >= count:
            raise ValueError(f"its trees have {count} nodes, and one of them leads to node {at.max()}")
        at = np.unique(branches[at])
        at = at[at >= 0]
        depth += 1
        if depth > count:
            raise ValueError("its trees have a node that leads back to one above it")
    if not trees["comparisons"].any():
        del trees["comparisons"]
    if not trees["missing"].any():
        del trees["missing"]
    return trees


def as_listed(trees: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleRegressor that has these trees, in the order in which they are read."""
    count, targets = len(trees["features"]), np.shape(trees["leaves"])[1]
    comparisons = trees.get("comparisons")
    comparisons = np.zeros(count, np.int64) if comparisons is None else comparisons
    missing = trees.get("missing")
    missing = np.zeros(count, np.bool_) if missing is None else missing
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    listed: dict[str, list[Any]] = {f"nodes_{name}": [] for name in (*names, "missing_value_tracks_true")}
    votes: dict[str, list[Any]] = {f"target_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, root in enumerate(trees["roots"]):
        numbers = {place: i for i, place in enumerate(_in_order(root, trees["branches"]))}
        for place, node in numbers.items():
            is_leaf = place < 0
            ends = (0, 0) if is_leaf else [numbers[int(end)] for end in trees["branches"][place]]
            row = (
                tree,
                node,
                0 if is_leaf else int(trees["features"][place]),
                0.0 if is_leaf else float(trees["thresholds"][place]),
                "LEAF" if is_leaf else _MODES[int(comparisons[place])],
                *ends,
                0 if is_leaf else int(missing[place]),
            )
            for column, value in zip(listed.values(), row, strict=True):
                column.append(value)
            weights = trees["leaves"][-1 - place] if is_leaf else ()
            for target, weight in enumerate(weights):
                if not np.isnan(weight):
                    for column, value in zip(votes.values(), (tree, node, target, float(weight)), strict=True):
                        column.append(value)
    words = {ours: theirs for theirs, ours in _AGGREGATES.items()}
    return {**listed, **votes, "n_targets": targets, "aggregate_function": words[trees.get("aggregate", "sum")]}


def _in_order(root: int, branches: Sequence[Any]) -> list[int]:
    """The root of a tree, its other nodes, and its leaves, both as they are numbered."""
    order: set[int] = set()
    pending = [int(root)]
    while pending:
        place = pending.pop()
        if place >= 0 and place not in order:
            pending += [int(end) for end in branches[place][::-1]]
        order.add(place)
    return sorted(order, key=lambda place: (place != root, place < 0, abs(place)))
