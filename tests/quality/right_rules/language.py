"""Right rules and passes that use the pattern language in all of its forms."""

from __future__ import annotations

import numpy as np

from graphrewrite import decline, define_op, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire


@rule
def drop_identity(x):
    """The identity is its operand."""
    yield op.identity(x)
    return x


@rule
def identity_of_anything(xs):
    """An identity behind any op is that op."""
    inner = rule.any_op(*xs)
    yield op.identity(inner)
    return inner.op(*xs, like=inner)


@rule
def flatten_a_join(xs, ys, zs, a):
    """Joining what is joined along the same axis is joining all."""
    yield op.concat(*xs, op.concat(*ys, axis=a), *zs, axis=a)
    return op.concat(*xs, *ys, *zs, axis=a)


@rule
def even_number_of_negations(x):
    """An even number of negations cancels, an odd one does not."""
    run = rule.repeated(x, op.neg, least=2)
    yield run
    return op.neg(x) if len(run.links) % 2 else x


@rule
def all_differences(x):
    """Each reader of a value keeps its own operand."""
    differences = rule.every(x, lambda w: x - w)
    yield differences
    return [op.add(x, op.neg(w)) for w in differences.w]


@rule
def either_of_two(x):
    """A rectified absolute value is it, whichever op makes it positive."""
    inner = (op.sigmoid | op.sqrt)(x)
    yield op.abs(op.neg(inner))
    return op.abs(inner)


@define_op(results=2, infer=lambda x: (x, x))
def signs(x):
    """The absolute value, and its negative."""
    return np.abs(x), -np.abs(x)


@rule
def both_results(x):
    """Both results of a node are replaced, each by its own value."""
    size, negative = signs(x)
    yield size, negative
    if str(x.type.element)[0] not in "fi":
        return decline("no number")
    return op.abs(x), op.neg(op.abs(x))


@rule
def two_roots(x, y):
    """Two roots are replaced at once, each by its own value."""
    yield op.maximum(x, y), op.minimum(x, y)
    if x.type != y.type or str(x.type.element)[0] != "i":
        return decline("of two types, or no integers: the order decides between 0 and -0")
    return op.maximum(y, op.identity(x)), op.minimum(op.identity(y), x)


@rule
def optional_bias(x, w, b=None):
    """A bias may be there or not, and is kept."""
    yield op.identity(op.linear(x, w, b))
    return op.linear(x, w) if b is None else op.linear(x, w, b)


@rule
def not_a_negation(x, y):
    """A difference is the sum with the negative of what is no negation."""
    other = ~op.neg(y)
    yield op.sub(x, other)
    return op.add(x, op.neg(other))


@pass_
def bypass_identities(graph):
    """Lets all readers of an identity read its operand."""
    gone = [n for n in graph.in_order() if graph.nodes[n]["type"] == "identity"]
    for node in gone:
        rewire(graph, node, graph.operands(node)[0])
        graph.remove_node(node)
    return gone


@pass_
def merge_equal_sums(graph):
    """Takes x + y and y + x for the same: floats of either order add up to the same bits."""
    seen, gone = {}, []
    for node in graph.in_order():
        if graph.nodes[node]["type"] == "add":
            first = seen.setdefault(tuple(sorted(graph.operands(node))), node)
            if first != node:
                rewire(graph, node, Operand(first))
                graph.remove_node(node)
                gone.append(node)
    return gone
