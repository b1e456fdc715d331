"""Rules that turn sums of numbers times constants into shared additions of two shifted numbers."""

from __future__ import annotations

import heapq

import numpy as np

from graphrewrite import decline, rule
from graphrewrite.lowering.shift_add.ops import linear_sums, shifted_sum
from graphrewrite.lowering.shift_add.signed_digits import count_digits, matrix_of, rows_of, share

__all__ = ["SHARE_SUMS"]

_DOWN_TO = 0.5
"""Least saving of the last pair of a step, relative to the first: pairs of pairs are then considered in time."""


@rule(shared="keep")
def share_pairs(xs):
    """A sum or difference of two shifted numbers that several sums contain is computed once (Hartley 1996).

    Each step takes out those pairs of digits that save most.
    """
    sums = linear_sums(*xs)
    yield sums
    rows = rows_of(np.asarray(sums.matrix))
    bounds = [(x.type.element.minimum, x.type.element.maximum) for x in xs]
    pairs = share(rows, bounds, down_to=_DOWN_TO)
    if not pairs:
        return decline("no pair of digits occurs more than once", at=sums)
    numbers = list(xs)
    for pair in pairs:
        x, y = numbers[pair.first], numbers[pair.second]
        numbers.append(shifted_sum(x, y, shifts=pair.shifts, subtract=pair.subtract))
    return linear_sums(*numbers, matrix=matrix_of(rows, len(numbers)), element=sums.element)


@rule(shared="keep")
def drop_unused_columns(xs):
    """A number that no sum contains is no operand; one at least stays."""
    sums = linear_sums(*xs)
    yield sums
    matrix = np.asarray(sums.matrix)
    used = np.flatnonzero(matrix.any(axis=0))
    used = used if len(used) else np.array([0])
    if len(used) == len(xs):
        return decline("every number is in a sum", at=sums)
    return linear_sums(*(xs[i] for i in used), matrix=matrix[:, used], element=sums.element)


@rule(shared="keep")
def add_in_trees(xs):
    """A sum is a tree of additions, of those numbers first that are there first: what is left are wires and signs.

    Numbers of equal sign meet before others, and high ones before low ones, which overlap less.
    """
    sums = linear_sums(*xs)
    yield sums
    matrix = np.asarray(sums.matrix)
    if count_digits(matrix).max() < 2:
        return decline("no sum has two digits", at=sums)
    numbers, depths = list(xs), [_depth(x, {}) for x in xs]
    trees = np.zeros((len(matrix), len(xs) + int(count_digits(matrix).sum())), np.int64)
    for row, terms in enumerate(rows_of(matrix)):
        waiting = [(depths[term // 64], sign, -(term % 64), term // 64) for term, sign in terms.items()]
        heapq.heapify(waiting)
        while len(waiting) > 1:
            (a, sign, left, x), (b, other, right, y) = heapq.heappop(waiting), heapq.heappop(waiting)
            shift = min(-left, -right)
            depths.append(max(a, b) + 1)
            heapq.heappush(waiting, (depths[-1], sign, -shift, len(numbers)))
            shifts = (-left - shift, -right - shift)
            numbers.append(shifted_sum(numbers[x], numbers[y], shifts=shifts, subtract=sign != other))
        for _, sign, left, number in waiting:
            trees[row, number] = sign << -left
    return linear_sums(*numbers, matrix=trees[:, : len(numbers)], element=sums.element)


def _depth(x, depths):
    """Depth of the additions that compute a number."""
    graph = x.graph
    path = [x.node]
    while path:
        node = path[-1]
        below = [operand.node for operand in graph.operands(node)] if graph.nodes[node]["type"] == "shifted_sum" else []
        rest = [n for n in below if n not in depths]
        if rest:
            path += rest
        else:
            depths[path.pop()] = 1 + max(depths[n] for n in below) if below else 0
    return depths[x.node]


SHARE_SUMS = (drop_unused_columns, share_pairs, add_in_trees)
"""From sums of numbers times constants to additions, the shared ones first."""
