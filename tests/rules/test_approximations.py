"""Arithmetic that is right for real numbers."""

from __future__ import annotations

import pytest

from graphrewrite import op
from graphrewrite.rules import APPROXIMATE, RULES
from tests.support.rewritten import left

FORMS = {
    "plus 0": (lambda x, y: op.add(0.0, x), []),
    "times 0": (lambda x, y: op.add(y, op.mul(x, 0.0)), []),
    "0 over": (lambda x, y: op.add(y, op.div(0.0, x)), []),
    "less itself": (lambda x, y: op.add(y, op.sub(x, x)), []),
    "from 0": (lambda x, y: op.sub(0.0, x), ["neg"]),
    "negative of a difference": (lambda x, y: op.neg(op.sub(x, y)), ["sub"]),
    "square": (lambda x, y: op.pow(x, 2.0), ["mul"]),
    "root": (lambda x, y: op.pow(x, 0.5), ["sqrt"]),
    "to the power of -1": (lambda x, y: op.pow(x, -1.0), ["reciprocal"]),
    "root of a square": (lambda x, y: op.sqrt(op.pow(x, 2.0)), ["abs"]),
    "logarithm of exp": (lambda x, y: op.log(op.exp(x)), []),
    "reciprocal twice": (lambda x, y: op.reciprocal(op.reciprocal(x)), []),
    "times a reciprocal": (lambda x, y: op.mul(x, op.reciprocal(y)), ["div"]),
    "times one over": (lambda x, y: op.mul(op.div(1.0, y), x), ["div"]),
    "over a reciprocal": (lambda x, y: op.div(x, op.reciprocal(y)), ["mul"]),
}


@pytest.mark.parametrize("kind", ["f32[N,3]", "f64[2,3]"])
@pytest.mark.parametrize("name", FORMS)
def test_what_is_left(name, kind):
    body, wanted = FORMS[name]
    found = left(body, [kind, kind], (*RULES, *APPROXIMATE), tame=True)
    assert [op for op in found if op != "expand"] == wanted
