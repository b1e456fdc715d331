"""Gradients of matrix products, of sums of products in Einstein's notation, and of determinants."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.gradients.shapes import number, repeated, summed

__all__ = ["DIFFERENTIATE_PRODUCTS"]


@rule(keeps="rounding")
def differentiate_matmul(g, x, y):
    """d(x @ y) = dx @ y + x @ dy: the gradient times the transposed other matrix."""
    d = op.matmul.vjp(g, x, y)
    yield d
    # A vector is a matrix of one row in front, or of one column behind.
    row, column = len(x.shape) == 1, len(y.shape) == 1
    if d.wrt == 1 and len(y.shape) == 2 < len(x.shape):  # one product of all rows, and no sum of products
        return op.matmul(op.transpose(_rows(x), perm=(1, 0)), _rows(g))
    if row:
        x, g = op.unsqueeze(x, axes=(0,)), op.unsqueeze(g, axes=(len(g.shape) - (not column),))
    if column:
        y, g = op.unsqueeze(y, axes=(1,)), op.unsqueeze(g, axes=(len(g.shape),))
    if d.wrt == 0:
        made = summed(op.matmul(g, _turned(y)), x)
        return op.squeeze(made, axes=(0,)) if row else made
    made = summed(op.matmul(_turned(x), g), y)
    return op.squeeze(made, axes=(1,)) if column else made


def _turned(x):
    rank = len(x.shape)
    return op.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


@rule(keeps="rounding")
def differentiate_linear(g, x, w, b=None):
    """d(x @ w.T + b) = dx @ w.T + x @ dw.T + db."""
    d = op.linear.vjp(g, x, w, b)
    yield d
    if d.wrt == 0:
        return op.matmul(g, w)
    if d.wrt == 2:
        return op.reduce_sum(g, axes=tuple(range(len(g.shape) - 1)), keep_dims=False) if len(g.shape) > 1 else g
    return op.matmul(op.transpose(_rows(g), perm=(1, 0)), _rows(x))


def _rows(x):
    """The vectors along the last axis as the rows of a matrix."""
    if len(x.shape) == 2:
        return x
    return op.unsqueeze(x, axes=(0,)) if len(x.shape) == 1 else op.flatten(x, axis=len(x.shape) - 1)


@rule(keeps="rounding")
def differentiate_gemm(g, x, w, b=None):
    """d(alpha * A @ B + beta * C), A and B transposed or not: products with the other matrix, as it was taken."""
    d = op.gemm.vjp(g, x, w, b)
    yield d
    if d.wrt == 2:
        return summed(g if d.beta == 1 else g * d.beta, d)
    if d.wrt == 0:
        made = op.gemm(w, g, trans_a=d.trans_b, trans_b=True) if d.trans_a else op.gemm(g, w, trans_b=not d.trans_b)
    else:
        made = op.gemm(g, x, trans_a=True, trans_b=d.trans_a) if d.trans_b else op.gemm(x, g, trans_a=not d.trans_a)
    return made if d.alpha == 1 else made * d.alpha


@rule(keeps="rounding")
def differentiate_einsum(g, xs):
    """The gradient in place of the result, and the result's letters in place of an operand's (Laue et al. 2020)."""
    d = op.einsum.vjp(g, *xs)
    yield d
    parts, result = _letters(d.equation, [len(x.shape) for x in xs], len(g.shape))
    if any(len({*part}) < len(part) for part in (*parts, result)):
        return decline("its equation takes a diagonal", at=d)
    sizes: dict[str, Any] = {}
    for part, x in zip(parts, xs, strict=True):
        sizes.update({c: size for c, size in zip(part, x.shape, strict=True) if size != 1 or c not in sizes})
    # Axes of size 1 that others repeat have no letter.
    plain = [
        "".join(c for c, size in zip(part, x.shape, strict=True) if size == sizes[c])
        for part, x in zip(parts, xs, strict=True)
    ]
    others = [(plain[i], _without(parts[i], plain[i], x)) for i, x in enumerate(xs) if i != d.wrt]
    known = {*result, *"".join(part for part, _ in others)}
    kept = "".join(c for c in plain[d.wrt] if c in known)
    equation = ",".join([result, *(part for part, _ in others)]) + "->" + kept
    made = op.einsum(g, *(x for _, x in others), equation=equation)
    missing = tuple(i for i, c in enumerate(parts[d.wrt]) if c not in kept)
    return repeated(op.unsqueeze(made, axes=missing) if missing else made, xs[d.wrt].shape)


def _without(part: str, plain: str, x: Any) -> Any:
    axes = tuple(i for i, c in enumerate(part) if c not in plain)
    return op.squeeze(x, axes=axes) if axes else x


def _letters(equation: str, ranks: Sequence[int], rank: int) -> tuple[list[str], str]:
    """Return a letter for each axis of the operands and of the result: those of ellipses count from the last one."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    free = [c for c in string.ascii_letters if c not in left]
    if not arrow:
        result = "..." * ("..." in left) + "".join(sorted(c for c in {*left} - {*".,"} if left.count(c) == 1))

    def written(part: str, count: int) -> str:
        more = count - len(part.replace("...", ""))
        return part.replace("...", "".join(reversed(free[:more])))

    return [written(part, count) for part, count in zip(parts, ranks, strict=True)], written(result, rank)


@rule(keeps="rounding")
def differentiate_det(g, x):
    """Each entry has its cofactor: the determinant without its row and column, and a sign (Jacobi 1841)."""
    d = op.det.vjp(g, x)
    yield d
    size, rank = x.shape[-1], len(x.shape)
    if isinstance(size, str):
        return decline("only run time tells how large the matrices are", at=d)
    if size == 0:
        return x  # the gradient of no entries
    others = np.array([[k for k in range(size) if k != i] for i in range(size)], np.int64).reshape(size, -1)
    rows = op.gather(x, others, axis=rank - 2)  # […, i, k, column]
    minors = op.gather(rows, others, axis=rank)  # […, i, k, j, l]
    order = (*range(rank - 1), rank, rank - 1, rank + 1)
    signs = number((-1.0) ** np.add.outer(np.arange(size), np.arange(size)), x)
    return op.det(op.transpose(minors, perm=order)) * signs * op.unsqueeze(g, axes=(rank - 2, rank - 1))


DIFFERENTIATE_PRODUCTS = (
    differentiate_matmul,
    differentiate_linear,
    differentiate_gemm,
    differentiate_einsum,
    differentiate_det,
)
"""Gradients of matrix products, of sums of products, and of determinants, which are such sums."""
