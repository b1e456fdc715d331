"""Products that share an operand as one: more is computed at once, and split.

A sum behind a layer is to belong to it before, as `graphrewrite.rules.FOLDING` and `ROWS` make it: a layer that is one
with others takes up no more.
"""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rewriting.facts.queries import readers_of

__all__ = [
    "MERGE_PRODUCTS",
    "merge_layers_of_one_operand",
    "merge_products_of_one_factor",
    "merge_products_of_one_matrix",
    "merge_products_of_one_operand",
    "merge_sums_of_one_operand",
]


@rule(keeps="rounding")
def merge_sums_of_one_operand(x):
    """Products of one operand with several weights, each with its own addends, are one with all of them, split."""

    def total(w: Constant, b: Constant):
        return op.add(op.matmul(x, w), b)

    sums = rule.every(x, total, least=2)
    yield sums
    if any(w.value.ndim != 2 or b.shape != w.shape[1:] for w, b in zip(sums.w, sums.b, strict=True)):
        return decline("the weights are no matrices, or their addends not one a column", at=x)
    w, b = (np.concatenate([each.value for each in several], axis=-1) for several in (sums.w, sums.b))
    whole = op.add(op.matmul(x, w), b)
    return list(op.split(whole, axis=len(x.shape) - 1, sizes=tuple(each.shape[1] for each in sums.w)))


def _has_addends(product, w):
    """Whether all that is done with a product is to add as many numbers as it has columns."""
    readers = readers_of(product)
    if len(readers) != 1 or product.graph.nodes[readers[0]]["type"] != "add":
        return False
    others = [each for each in product.graph.operands(readers[0]) if each.node != product.node]
    return any(
        product.graph.nodes[each.node]["type"] == "constant" and product.graph.result_type(*each).shape == w.shape[1:]
        for each in others
    )


@rule(keeps="rounding")
def merge_products_of_one_operand(x):
    """Products of one operand with several weights are one with all of them, split (queries, keys and values)."""

    def product(w: Constant):
        return op.matmul(x, w)

    products = rule.every(x, product, least=2)
    yield products
    if any(w.value.ndim != 2 for w in products.w):
        return decline("the weights are no matrices", at=x)
    if sum(_has_addends(product, w) for product, w in zip(products.nodes, products.w, strict=True)) > 1:
        return decline("they are merged with what is added to them", at=x)
    whole = op.matmul(x, np.concatenate([w.value for w in products.w], axis=1))
    return list(op.split(whole, axis=len(x.shape) - 1, sizes=tuple(w.shape[1] for w in products.w)))


@rule(keeps="rounding")
def merge_layers_of_one_operand(x):
    """So are fully-connected layers of one operand."""

    def layer(w: Constant, b: Constant):
        return op.linear(x, w, b)

    layers = rule.every(x, layer, least=2)
    yield layers
    w, b = (np.concatenate([each.value for each in several]) for several in (layers.w, layers.b))
    axis = 1 if x.type.layout is None else x.type.layout.index("C")
    return list(op.split(op.linear(x, w, b), axis=axis, sizes=tuple(each.shape[0] for each in layers.w)))


@rule(keeps="rounding")
def merge_products_of_one_matrix(w):
    """Products of several operands with one matrix are one of all their rows, split, if none of them needs another."""
    products = rule.every(w, lambda x: op.matmul(x, w), least=2)
    yield products
    if len(w.shape) != 2 or any(len(x.shape) != 2 or isinstance(x.shape[0], str) for x in products.x):
        return decline("an operand is no matrix, or its number of rows is symbolic", at=w)
    if len({x.type.layout for x in products.x} - {None}) > 1:
        return decline("their axes have different names", at=w)
    if _need_each_other(products, products.x):
        return decline("one of the products needs another", at=w)
    whole = op.matmul(op.concat(*products.x, axis=0), w)
    return list(op.split(whole, axis=0, sizes=tuple(x.shape[0] for x in products.x)))


def _need_each_other(products, operands):
    """Whether one of several products is made of another one."""
    nodes = {each.node for each in products.nodes}
    graph = products.nodes[0].graph
    return any(nodes & {*graph.upstream(operand.node), operand.node} for operand in operands)


@rule(keeps="rounding")
def merge_products_of_one_factor(x):
    """Products of one operand with several computed matrices are one of all their columns, split."""
    products = rule.every(x, lambda w: op.matmul(x, w), least=2)
    yield products
    if any(len(w.shape) != 2 or w.is_constant or isinstance(w.shape[1], str) for w in products.w):
        return decline("an operand is no matrix, or constant, or its number of columns is symbolic", at=x)
    if len(x.shape) < 2 or len({w.type.layout for w in products.w} - {None}) > 1:
        return decline("it is no matrix, or the axes of the others have different names", at=x)
    if _need_each_other(products, products.w):
        return decline("one of the products needs another", at=x)
    whole = op.matmul(x, op.concat(*products.w, axis=1))
    return list(op.split(whole, axis=len(x.shape) - 1, sizes=tuple(w.shape[1] for w in products.w)))


MERGE_PRODUCTS = (
    merge_sums_of_one_operand,
    merge_products_of_one_operand,
    merge_layers_of_one_operand,
    merge_products_of_one_matrix,
    merge_products_of_one_factor,
)
"""Larger products, of all that share an operand; opt-in, after those that fold."""
