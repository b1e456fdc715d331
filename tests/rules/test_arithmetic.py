"""Signs that meet, and constants in a row."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import op
from graphrewrite.rules import APPROXIMATE, RULES
from tests.support.rewritten import graph_of, left

FLOAT, WHOLE, BYTE = "f32[N,4]", "i32[N,4]", "u8[N,4]"
C = np.array([1.5, 2.0, 0.5, 3.0], np.float32)
EXACT = {
    "sum with a negative": (lambda x, y: op.add(op.neg(x), y), [FLOAT] * 2, ["sub"]),
    "difference with a negative": (lambda x, y: op.sub(x, op.neg(y)), [FLOAT] * 2, ["add"]),
    "product of negatives": (lambda x, y: op.mul(op.neg(x), op.neg(y)), [FLOAT] * 2, ["mul"]),
    "quotient of negatives": (lambda x, y: op.div(op.neg(x), op.neg(y)), [FLOAT] * 2, ["div"]),
    "quotient of whole negatives": (lambda x, y: op.div(op.neg(x), op.neg(y)), [WHOLE] * 2, ["neg", "neg", "div"]),
    "square of a negative": (lambda x: op.mul(*[op.neg(x)] * 2), [FLOAT], ["mul"]),
    "factor of minus one": (lambda x: op.mul(x, -1.0), [FLOAT], ["neg"]),
    "quotient by minus one": (lambda x: op.div(op.neg(x), -1.0), [FLOAT], []),
    "whole quotient by minus one": (lambda x: op.div(x, -1), [WHOLE], ["div"]),
    "negative of a product": (lambda x: op.neg(op.mul(x, C)), [FLOAT], ["mul"]),
    "product of a negative": (lambda x: op.mul(C, op.neg(x)), [FLOAT], ["mul"]),
    "product of a negative with one of a constant": (
        lambda x, y: op.mul(op.neg(op.mul(x, C)), op.neg(y)),
        [FLOAT] * 2,
        ["mul", "mul"],
    ),
    "quotient of a constant by a negative": (lambda x: op.div(2.0, op.neg(x)), [FLOAT], ["div"]),
    "difference with a product": (lambda x, y: op.sub(x, op.mul(y, C)), [FLOAT] * 2, ["mul", "add"]),
    "minus zero less a number": (lambda x: op.sub(-0.0, x), [FLOAT], ["neg"]),
    "size of a constant less a number": (lambda x: op.abs(op.sub(1.0, x)), [FLOAT], ["add", "abs"]),
    "whole negatives": (lambda x, y: op.sub(op.neg(x), y), [WHOLE] * 2, ["add", "neg"]),
    "negative of a whole sum": (lambda x, y: op.neg(op.add(op.sub(x, y), x)), [WHOLE] * 2, ["sub", "sub"]),
    "negative of a whole offset": (lambda x: op.neg(op.add(x, 3)), [WHOLE], ["sub"]),
    "whole sums": (lambda x: op.add(op.sub(op.add(x, 3), 1), 2), [WHOLE], ["add"]),
    "whole sums that cancel": (lambda x: op.sub(op.add(x, 3), 3), [WHOLE], []),
    "whole differences": (lambda x: op.sub(7, op.sub(2, x)), [WHOLE], ["add"]),
    "bytes wrap": (lambda x: op.add(op.add(x, 200), 100), [BYTE], ["add"]),
    "whole products": (lambda x: op.mul(op.mul(x, 3), 5), [WHOLE], ["mul"]),
    "whole products with channels": (lambda x: op.mul(3, op.mul(np.arange(4, dtype=np.int32), x)), [WHOLE], ["mul"]),
    "extremes": (lambda x: op.maximum(op.maximum(x, 1.0), C), [FLOAT], ["maximum"]),
    "extremes of two zeros": (lambda x: op.minimum(op.minimum(x, 0.0), -0.0), [FLOAT], ["minimum", "minimum"]),
    "extremes of a zero that comes first": (
        lambda x: op.minimum(op.minimum(-0.0, x), C - 1),
        [FLOAT],
        ["minimum", "minimum"],
    ),
    "extremes of a zero that comes last": (lambda x: op.minimum(op.minimum(x, -0.0), C - 1), [FLOAT], ["minimum"]),
    "bits": (lambda x: op.bitwise_and(op.bitwise_and(x, 12), 10), [WHOLE], ["bitwise_and"]),
    "float sums stay": (lambda x: op.add(op.add(x, 1.0), 2.0), [FLOAT], ["add", "add"]),
    "float products stay": (lambda x: op.mul(op.mul(x, 1.1), 2.0), [FLOAT], ["mul", "mul"]),
    "larger constants stay": (
        lambda x: op.add(op.add(x, np.int32([[[1]], [[2]], [[3]]])), np.int32([[1, 2, 3, 4], [5, 6, 7, 8]])),
        ["i32[2,4]"],
        ["add", "add"],
    ),
    "whole zero": (lambda x: op.mul(x, 0), [WHOLE], ["expand"]),
    "whole difference with itself": (lambda x: op.sub(x, x), ["i32[2,4]"], []),
    "bits of itself": (lambda x: op.bitwise_xor(x, x), ["i32[2,4]"], []),
}
ROUNDED = {
    "sums": (lambda x: op.add(op.add(x, 1.0), C), ["add"]),
    "differences": (lambda x: op.sub(op.add(x, C), 1.0), ["add"]),
    "from a constant": (lambda x: op.add(op.sub(1.0, x), C), ["sub"]),
    "a constant less them": (lambda x: op.sub(3.0, op.add(x, C)), ["sub"]),
    "a constant less that of one": (lambda x: op.sub(3.0, op.sub(C, x)), ["add"]),
    "factors": (lambda x: op.mul(op.mul(x, 2.0), C), ["mul"]),
    "line that is scaled": (lambda x: op.mul(op.sub(op.mul(x, C), 2.0), 4.0), ["mul", "add"]),
    "factor and divisor": (lambda x: op.div(op.mul(x, C), 4.0), ["mul"]),
    "divisors": (lambda x: op.div(op.div(x, 2.0), C), ["div"]),
    "quotient of a constant": (lambda x: op.mul(op.div(2.0, x), C), ["div"]),
    "constant over a product": (lambda x: op.div(2.0, op.mul(x, C)), ["div"]),
    "constant over a quotient": (lambda x: op.div(2.0, op.div(C, x)), ["mul"]),
    "many": (lambda x: op.mul(op.mul(op.mul(op.mul(x, 2.0), 3.0), 4.0), 0.5), ["mul"]),
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_the_same_bits(name):
    body, types, wanted = EXACT[name]
    assert left(body, types, RULES) == wanted


@pytest.mark.parametrize("name", ROUNDED)
def test_what_is_rounded_elsewhere(name):
    body, wanted = ROUNDED[name]
    assert left(body, [FLOAT], (*RULES, *APPROXIMATE), tame=True) == wanted


def test_a_factor_that_would_be_infinite_stays_two():
    body = lambda x: op.mul(op.mul(x, 1e30), 1e30)  # noqa: E731
    assert left(body, [FLOAT], (*RULES, *APPROXIMATE)) == ["mul", "mul"]


@pytest.mark.parametrize("of", [op.add, op.mul, op.equal])
def test_a_constant_comes_last(of):
    from graphrewrite import rewrite

    graph = rewrite(graph_of(lambda x: of(C, x), FLOAT), RULES)
    node = graph.operands("y")[0].node
    assert next(o.node for o in graph.operands(node)) == "x0"
