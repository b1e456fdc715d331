"""Ops that look for entries: the greatest ones in order, and leaves of decision trees."""

from __future__ import annotations

import numpy as np

from graphrewrite.lowering.c.arrays import Reference
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.loops import block, counted, nest

__all__ = ["SEARCHING"]

_COMPARED = ("<=", "<", ">=", ">", "==", "!=")


def _top_k(step: Step) -> list[str]:
    """Find one after the other: the next in the order of values, and of places where these are equal."""
    x, given = step.operands[0], step.attributes
    at = given["axis"] % len(x.shape)
    others, (values, places) = [axis for axis in range(len(x.shape)) if axis != at], step.results
    count, size = int(given["k"]), x.shape[at]
    if not values.size:
        return []
    sign = ">" if given["largest"] else "<"

    def before(a: str, b: str) -> str:
        """A NaN counts as greater than all numbers."""
        first, second = (a, b) if given["largest"] else (b, a)
        also = f" || ({first} != {first} && {second} == {second})" if x.dtype.kind == "f" else ""
        return f"({a} {sign} {b}{also})"

    def body(value: Reference, place: Reference, entry: Reference) -> list[str]:
        own = entry.plus(f"i * {x.strides[at]}")
        is_next = f"{before('last', 'v0')} || (!{before('v0', 'last')} && i > found)"
        return [
            f"{x.type} last = 0;",
            "int32_t found = -1;",
            *counted(
                "k",
                count,
                [
                    f"{x.type} best = 0;",
                    "int32_t chosen = -1;",
                    *counted(
                        "i",
                        size,
                        [
                            f"const {x.type} v0 = {own};",
                            f"const int is_left = k == 0 || {is_next};",
                            *block(
                                f"if (is_left && (chosen < 0 || {before('v0', 'best')}))", ["chosen = i;", "best = v0;"]
                            ),
                        ],
                    ),
                    "last = best;",
                    "found = chosen;",
                    f"{value.plus(f'k * {values.strides[at]}')} = best;",
                    f"{place.plus(f'k * {places.strides[at]}')} = chosen;",
                ],
            ),
        ]

    return nest([x.shape[axis] for axis in others], [a.along(others) for a in (values, places, x)], body)


def _tree_ensemble(step: Step) -> list[str]:
    """Go from the root of each tree to a leaf, and put the leaves together."""
    x, y, given = step.operands[0], step.result, step.attributes
    leaves = np.asarray(given["leaves"]).astype(x.dtype)
    trees, nodes, targets = len(given["roots"]), len(given["features"]), leaves.shape[1]
    if not trees or not nodes or not targets:
        raise Unfit("there are no trees")
    if given["comparisons"] is not None and len({*np.ravel(given["comparisons"]).tolist()}) > 1:
        raise Unfit("its nodes compare in several ways")

    def table(name: str, values: object, dtype: object) -> str:
        entries = np.ravel(np.asarray(values))
        return step.table(name, np.append(entries, 0) if entries.size == 1 else entries, dtype).name

    sign = _COMPARED[0 if given["comparisons"] is None else int(np.ravel(given["comparisons"])[0])]
    roots, features = table("roots", given["roots"], np.int32), table("features", given["features"], np.int32)
    limits, branches = table("limits", given["thresholds"], x.dtype), table("branches", given["branches"], np.int32)
    numbers = table("leaves", leaves, x.dtype)
    holds = f"v0 {sign} {limits}[node]"
    if given["missing"] is not None:
        holds = f"{holds} || (v0 != v0 && {table('missing', given['missing'], np.uint8)}[node])"
    folded = {"min": "v1 < folded || folded != folded", "max": "v1 > folded || folded != folded"}
    is_sum = given["aggregate"] not in folded
    if is_sum:
        update = ["folded += v1 == v1 ? v1 : 0;"]
    else:
        update = [f"folded = v1 == v1 && ({folded[given['aggregate']]}) ? v1 : folded;"]
    divided = f"folded / {trees}" if given["aggregate"] == "average" else "folded"

    def body(to: Reference, entry: Reference) -> list[str]:
        feature = entry.plus(f"{features}[node] * {x.strides[1]}")
        walk = block(
            f"for (int32_t depth = 0; depth <= {nodes} && node >= 0; ++depth)",
            [f"const {x.type} v0 = {feature};", f"node = {branches}[node * 2 + !({holds})];"],
        )
        tree = [
            f"int32_t node = {roots}[tree];",
            *walk,
            *block("if (node >= 0)", ["continue;"]),
            f"const {x.type} v1 = {numbers}[(-1 - node) * {targets} + k];",
            *update,
        ]
        result = divided if is_sum else "folded == folded ? folded : 0"
        return counted(
            "k",
            targets,
            [
                f"{x.type} folded = {'0' if is_sum else 'NAN'};",
                *counted("tree", trees, tree),
                f"{to.plus(f'k * {y.strides[1]}')} = {result};",
            ],
        )

    return nest(x.shape[:1], [y.along([0]), x.along([0])], body)


SEARCHING = {"top_k": Kernel(_top_k), "tree_ensemble": Kernel(_tree_ensemble)}
"""Kernels of ops that look for entries."""
