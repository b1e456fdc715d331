"""Pairs of rules that once ended apart: now whatever is tried first, the result is the same."""

from __future__ import annotations

import pytest

from graphrewrite import Graph
from graphrewrite.rules import RULES
from graphrewrite.testing.orders import Orders

ALIKE = {
    "a border of nothing, and what is taken": """x = input() : f32[N,2,3]
        a = pad(x, pads=[0, 0, 0, 0, 0, 0])
        b = slice(a, starts=[1], ends=[3], axes=[2])
        y = output(b)""",
    "an operand alone, and what is taken of it": """x = input() : f32[N,1,2]
        a = concat(x, axis=2)
        b = slice(a, starts=[0], ends=[1], axes=[2], steps=[1])
        y = output(b)""",
    "two repetitions, of which one does nothing": """x = input() : f32[N]
        a = expand(x, shape=[3, 1])
        b = expand(a, shape=[1, 1])
        y = output(b)""",
    "transposes of axes of size 1": """x = input() : f32[1,2,1,N]
        a = transpose(x, perm=[2, 1, 0, 3])
        b = transpose(a, perm=[3, 0, 2, 1])
        y = output(b)""",
    "a zero of one axis": """x = input() : i64[N]
        z = constant(value=[0]) : i64[1]
        c = constant(value=1) : i64[]
        a = add(x, c)
        b = sub(z, a)
        y = output(b)""",
    "a difference from the same number": """x = input() : i64[N]
        c = constant(value=1) : i64[]
        a = sub(x, c)
        b = sub(x, a)
        y = output(b)""",
    "a sum of sums that is subtracted": """x = input() : i64[N]
        u = input() : i64[]
        c = constant(value=1) : i64[]
        a = add(u, c)
        b = add(x, a)
        n = neg(b)
        d = add(n, u)
        y = output(d)""",
    "quotients with a sign between": """x = input() : f32[N,2]
        c = constant(value=3.0) : f32[]
        d = constant(value=5.0) : f32[]
        a = div(c, x)
        n = neg(a)
        b = div(d, n)
        y = output(b)""",
    "a choice by an opposite that is known": """x = input() : f32[N]
        c = constant(value=[[True], [False]]) : bool[2,1]
        n = logical_not(c)
        w = where(n, x, x)
        y = output(w)""",
    "a limit that no number reaches": """x = input() : u8[N]
        a = clip(x, high=0)
        b = relu(a)
        y = output(b)""",
    "what is never negative, less a constant": """x = input() : i64[N]
        c = constant(value=1) : i64[]
        a = bitwise_and(c, x)
        b = sub(c, a)
        d = abs(b)
        y = output(d)""",
    "a constant that is computed, and a sign": """x = input() : f64[N]
        c = constant(value=[-0.25]) : f64[1]
        d = constant(value=1.0) : f64[]
        a = add(c, d)
        q = div(a, x)
        n = neg(q)
        b = mul(n, n)
        y = output(b)""",
    "differences of differences before a square": """x = input() : i64[N]
        u = input() : i64[]
        z = constant(value=0) : i64[]
        c = constant(value=2) : i64[]
        a = sub(z, x)
        b = mul(u, c)
        d = sub(a, b)
        e = mul(d, d)
        y = output(e)""",
    "no entries": """x = input() : i64[N,0]
        c = constant(value=[]) : i64[0]
        a = sub(c, x)
        b = sub(a, c)
        d = reduce_sum_square(b)
        y = output(d)""",
    "limits of two kinds": """x = input() : f64[N]
        c = constant(value=1.0) : f64[]
        a = maximum(c, x)
        r = relu(a)
        b = hard_tanh(r)
        y = output(b)""",
    "zeros that spread, and those that do not": """x = input() : i64[N,1]
        c = constant(value=[[0]]) : i64[1,1]
        d = constant(value=[0, 0]) : i64[2]
        a = add(x, c)
        b = add(a, d)
        y = output(b)""",
    "the sign of a known number": """x = input() : i64[N,2]
        c = constant(value=[1, -2]) : i64[2]
        k = clip(x, low=0, high=0.3)
        a = add(k, c)
        b = neg(a)
        y = output(b)""",
    "a negative and a product of the same number": """x = input() : i64[N]
        c = constant(value=[2]) : i64[1]
        a = sub(x, c)
        n = neg(a)
        b = mul(x, c)
        d = mul(n, b)
        y = output(d)""",
    "a product that is subtracted, before a square": """x = input() : f32[N]
        c = constant(value=[-1.0]) : f32[1]
        d = constant(value=[0.75]) : f32[1]
        a = mul(x, d)
        b = sub(c, a)
        e = div(b, b)
        y = output(e)""",
    "an order of what is computed once": """c = constant(value=0.0) : f32[]
        a = cast(c, element="f16")
        b = cast(a, element="f16")
        y = output(c, ^b)""",
    "an order of a constant": """x = input() : f32[]
        c = constant(^x, value=[[[[0.0]]]]) : f32[1,1,1,1]
        a = max_pool(c, kernel=[1, 1])
        b = unsqueeze(a, axes=[0])
        y = output(b)""",
    "an order among values without entries": """x = input() : f32[3,0,1]
        z = input() : f64[3]
        a = tanh(x)
        b = identity(a, ^z:memory)
        c = tanh(b, ^a:memory)
        e = constant(value=[0.0]) : f32[1]
        d = sub(c, e)
        y = output(d, ^a:memory)""",
    "what comes after another value, with a reader that is dead": """x = input() : f64[1]
        z = input() : f64[]
        a = transpose(x, ^z:memory, perm=[0])
        b = transpose(a, perm=[0])
        c = minimum(z, a)
        y = output(b)""",
    "equal operands of a concatenation": """x = input() : f32[N,2]
        a = concat(x, x, axis=1)
        b = concat(x, x, axis=1)
        c = concat(a, b, axis=1)
        y = output(a)
        z = output(c)""",
    "indices from behind, of a slice and of entries": """x = input() : f32[3,2,1]
        i = constant(value=[-3]) : i64[1]
        j = constant(value=[[0], [0]]) : i64[2,1]
        a = gather(x, i)
        b = gather(a, j)
        y = output(b)""",
    "a slice of a slice of a concatenation, both of which are read": """x = input() : f32[N,3]
        a = concat(x, x, axis=1)
        b = slice(a, starts=[1], ends=[6], axes=[1])
        c = slice(b, starts=[1], ends=[4], axes=[1])
        y = output(b)
        z = output(c)""",
    "equal constants that are spread": """x = input() : f32[N]
        c = constant(value=[-0.0]) : f32[1]
        d = constant(value=[-0.0]) : f32[1]
        a = fma(x, c, d)
        y = output(a)""",
    "truth values chosen by an opposite": """x = input() : bool[N]
        c = constant(value=True) : bool[]
        d = constant(value=False) : bool[]
        n = logical_not(x)
        a = where(n, c, d)
        y = output(a)""",
    "the negative of a negative in a product": """x = input() : i64[N]
        u = input() : i64[N]
        z = constant(value=0) : i64[]
        c = constant(value=2) : i64[]
        d = constant(value=3) : i64[]
        a = sub(c, x)
        n = sub(z, a)
        m = neg(n)
        e = add(u, d)
        b = mul(m, e)
        y = output(b)""",
}


@pytest.mark.parametrize("name", ALIKE)
def test_orders_end_alike(name):
    assert len(Orders(Graph.parse(f"graph g\n{ALIKE[name]}"), RULES).ends) == 1
