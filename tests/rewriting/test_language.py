"""The pattern language by example: for each form a rule, a graph, and what becomes of it.

A rule is written as in a notebook cell where `rule` and `op` are all that was imported.
"""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path
from textwrap import dedent

import networkx as nx
import pytest

from graphrewrite import Graph, op, rule
from graphrewrite.op import define_op


# The library has no op of several results, and none of any number of operands in any order.
@define_op(results=2, infer=lambda x: (x, x))
def halves(x):
    return x / 2, x - x / 2


@define_op(commutative=True)
def total(*xs):
    return sum(xs)


OWN_OPS = {"halves": halves, "total": total}
EXAMPLES = {
    "operands by position": (
        """
        @rule
        def subtract_as_add(x, y):
            yield op.sub(x, y)
            return op.add(x, op.neg(y))
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        d = sub(b, a)
        y = output(d)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        neg_1 = neg(a)
        add_1 = add(b, neg_1)
        y = output(add_1)
        """,
    ),
    "the same value twice": (
        """
        @rule
        def double(x):
            yield op.add(x, x)
            return x * 2
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        s = add(a, a)
        t = add(a, b)
        u = mul(s, t)
        y = output(u)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        t = add(a, b)
        constant_1 = constant(value=2.0) : f32[]
        mul_1 = mul(a, constant_1)
        u = mul(mul_1, t)
        y = output(u)
        """,
    ),
    "variables that may have bound one value": (
        """
        @rule
        def square(x, y):
            product = op.mul(x, y)
            yield product
            if x == y:
                return op.pow(x, 2.0)
            return rule.decline("two values", at=product)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        m = mul(a, a)
        n = mul(m, b)
        y = output(n)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        constant_1 = constant(value=2.0) : f32[]
        pow_1 = pow(a, constant_1)
        n = mul(pow_1, b)
        y = output(n)
        """,
    ),
    "a constant": (
        """
        @rule
        def subtract_as_add(x, c: rule.Constant):
            yield op.sub(x, c)
            return op.add(x, -c.value)
        """,
        """
        a = input() : f32[3]
        k = constant(value=4.0) : f32[]
        d = sub(a, k)
        e = sub(k, d)
        y = output(e)
        """,
        """
        a = input() : f32[3]
        k = constant(value=4.0) : f32[]
        constant_1 = constant(value=-4.0) : f32[]
        add_1 = add(a, constant_1)
        e = sub(k, add_1)
        y = output(e)
        """,
    ),
    "a constant with a condition": (
        """
        from typing import Annotated

        @rule
        def subtract_scalar_as_add(x, c: Annotated[rule.Constant, rule.where(lambda c: not c.shape, "a scalar")]):
            yield op.sub(x, c)
            return op.add(x, -c.value)
        """,
        """
        a = input() : f32[1]
        k = constant(value=4.0) : f32[]
        l = constant(value=[4.0]) : f32[1]
        d = sub(a, k)
        e = sub(d, l)
        y = output(e)
        """,
        """
        a = input() : f32[1]
        l = constant(value=[4.0]) : f32[1]
        constant_1 = constant(value=-4.0) : f32[]
        add_1 = add(a, constant_1)
        e = sub(add_1, l)
        y = output(e)
        """,
    ),
    "a literal": (
        """
        @rule
        def drop_factor_one(x):
            product = op.mul(x, 1)
            yield product
            return x if x.type == product.type else rule.decline("the constant broadcasts", at=product)
        """,
        """
        a = input() : f32[3]
        ones = constant(value=[1.0, 1.0, 1.0]) : f32[3]
        m = mul(ones, a)
        y = output(m)
        """,
        """
        a = input() : f32[3]
        y = output(a)
        """,
    ),
    "one of some values": (
        """
        @rule
        def drop_sign(x):
            product = op.mul(x, {1, -1})
            yield op.abs(product)
            return op.abs(x) if x.type == product.type else rule.decline("the constant broadcasts", at=product)
        """,
        """
        a = input() : f32[3]
        signs = constant(value=[1.0, -1.0, 1.0]) : f32[3]
        m = mul(a, signs)
        p = abs(m)
        y = output(p)
        """,
        """
        a = input() : f32[3]
        abs_1 = abs(a)
        y = output(abs_1)
        """,
    ),
    "one of some values, with a name": (
        """
        @rule(keeps="rounding")
        def power_as_product(x, k: range(2, 5)):
            power = op.pow(x, k)
            yield power
            if k.shape != ():
                return rule.decline("each entry has a power of its own", at=power)
            product = x
            for _ in range(int(k.value) - 1):
                product = op.mul(product, x)
            return product
        """,
        """
        a = input() : f32[3]
        k = constant(value=3.0) : f32[]
        p = pow(a, k)
        y = output(p)
        """,
        """
        a = input() : f32[3]
        mul_1 = mul(a, a)
        mul_2 = mul(mul_1, a)
        y = output(mul_2)
        """,
    ),
    "a range of values": (
        """
        @rule
        def drop_relu_of_positive(x):
            scaled = op.mul(op.sigmoid(x), range(1, 10))
            yield op.relu(scaled)
            return scaled
        """,
        """
        a = input() : f32[3]
        s = sigmoid(a)
        k = constant(value=[2.0, 4.0, 9.0]) : f32[3]
        m = mul(s, k)
        r = relu(m)
        y = output(r)
        """,
        """
        a = input() : f32[3]
        s = sigmoid(a)
        k = constant(value=[2.0, 4.0, 9.0]) : f32[3]
        m = mul(s, k)
        y = output(m)
        """,
    ),
    "operands in any order": (
        """
        @rule
        def add_of_negated(x, y):
            yield op.add(op.neg(x), y)
            return op.sub(y, x)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        n = neg(b)
        s = add(a, n)
        y = output(s)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        sub_1 = sub(a, b)
        y = output(sub_1)
        """,
    ),
    "any number of operands in any order": (
        """
        @rule(keeps="assumes")
        def cancel(x, y, rest):
            whole = total(x, op.neg(x), y, *rest)
            yield whole
            left = total(y, *rest)
            return left if left.type == whole.type else rule.decline("x broadcasts the others", at=whole)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        c = input() : f32[3]
        n = neg(b)
        t = total(c, n, a, b)
        y = output(t)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        c = input() : f32[3]
        total_1 = total(c, a)
        y = output(total_1)
        """,
    ),
    "an operand that may be missing": (
        """
        @rule(keeps="assumes")
        def negate_weights(x, w, b=None):
            yield op.neg(op.linear(x, w, b))
            return op.linear(x, op.neg(w), None if b is None else op.neg(b))
        """,
        """
        a = input() : f32[N,2]
        v = input() : f32[3,2]
        w = input() : f32[4,3]
        b = input() : f32[4]
        k = linear(a, v)
        l = neg(k)
        m = linear(l, w, b)
        n = neg(m)
        y = output(n)
        """,
        """
        a = input() : f32[N,2]
        v = input() : f32[3,2]
        w = input() : f32[4,3]
        b = input() : f32[4]
        neg_1 = neg(v)
        linear_1 = linear(a, neg_1)
        neg_2 = neg(w)
        neg_3 = neg(b)
        linear_2 = linear(linear_1, neg_2, neg_3)
        y = output(linear_2)
        """,
    ),
    "any number of operands": (
        """
        @rule
        def flatten_concat(xs, ys, zs, a):
            yield op.concat(*xs, op.concat(*ys, axis=a), *zs, axis=a)
            return op.concat(*xs, *ys, *zs, axis=a)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        c = concat(a, b, axis=0)
        d = concat(b, c, a, axis=0)
        y = output(d)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        concat_1 = concat(b, a, b, a, axis=0)
        y = output(concat_1)
        """,
    ),
    "one of several ops": (
        """
        @rule
        def drop_relu(x):
            positive = (op.relu | op.sigmoid | op.abs)(x)
            yield op.relu(positive)
            return positive.op(x, like=positive)
        """,
        """
        a = input() : f32[3]
        s = sigmoid(a)
        r = relu(s)
        t = tanh(r)
        u = relu(t)
        y = output(u)
        """,
        """
        a = input() : f32[3]
        sigmoid_1 = sigmoid(a)
        t = tanh(sigmoid_1)
        u = relu(t)
        y = output(u)
        """,
    ),
    "one of several sub-patterns": (
        """
        @rule
        def square_is_positive(x, y):
            positive = op.mul(x, x) | op.exp(y)
            yield op.abs(positive)
            return positive
        """,
        """
        a = input() : f32[3]
        m = mul(a, a)
        p = abs(m)
        e = exp(p)
        q = abs(e)
        y = output(q)
        """,
        """
        a = input() : f32[3]
        m = mul(a, a)
        e = exp(m)
        y = output(e)
        """,
    ),
    "what an option binds": (
        """
        @rule
        def scaled_difference(x, y, c):
            scaled = op.mul(x, c)
            yield op.sub(scaled | x, y)
            return op.fma(x, c if scaled else 1, op.neg(y))
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        m = mul(a, b)
        s = sub(m, a)
        t = sub(s, b)
        y = output(t)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        neg_1 = neg(a)
        fma_1 = fma(a, b, neg_1)
        constant_1 = constant(value=1.0) : f32[]
        neg_2 = neg(b)
        fma_2 = fma(fma_1, constant_1, neg_2)
        y = output(fma_2)
        """,
    ),
    "any op": (
        """
        @rule
        def drop_identity_below(xs):
            outer = rule.any_op(op.identity(*xs))
            yield outer
            return outer.op(*xs, like=outer)
        """,
        """
        a = input() : f32[N,3]
        i = identity(a)
        s = softmax(i, axis=0)
        y = output(s)
        """,
        """
        a = input() : f32[N,3]
        softmax_1 = softmax(a, axis=0)
        y = output(softmax_1)
        """,
    ),
    "a run of one op": (
        """
        @rule
        def merge_relus(x):
            yield rule.repeated(x, op.relu, least=2)
            return op.relu(x)
        """,
        """
        a = input() : f32[3]
        r = relu(a)
        s = relu(r)
        t = relu(s)
        y = output(t)
        """,
        """
        a = input() : f32[3]
        relu_1 = relu(a)
        y = output(relu_1)
        """,
    ),
    "a run of a pattern": (
        """
        @rule(keeps="rounding")
        def merge_differences(x):
            differences = rule.repeated(x, lambda below, c: op.sub(below, c), least=2)
            yield differences
            first, *others = differences.c
            for other in others:
                first = op.add(first, other)
            return op.sub(x, first)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[]
        c = input() : f32[]
        s = sub(a, b)
        t = sub(s, c)
        u = sub(t, b)
        y = output(u)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[]
        c = input() : f32[]
        add_1 = add(b, c)
        add_2 = add(add_1, b)
        sub_1 = sub(a, add_2)
        y = output(sub_1)
        """,
    ),
    "a run of a pattern that is narrowed": (
        """
        @rule(keeps="rounding")
        def merge_factors(x):
            def scale(below, c: rule.Constant):
                return op.mul(below, c)

            factors = rule.repeated(x, scale, least=2)
            yield factors
            product = 1.0
            for c in factors.c:
                product = product * c.value
            return op.mul(x, product)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        two = constant(value=2.0) : f32[]
        five = constant(value=5.0) : f32[]
        m = mul(a, b)
        n = mul(m, two)
        o = mul(five, n)
        y = output(o)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        m = mul(a, b)
        constant_1 = constant(value=10.0) : f32[]
        mul_1 = mul(m, constant_1)
        y = output(mul_1)
        """,
    ),
    "an attribute that is equal": (
        """
        @rule
        def transpose_twice(x):
            yield op.transpose(op.transpose(x, perm=(1, 0)), perm=(1, 0))
            return x
        """,
        """
        a = input() : f32[2,3]
        t = transpose(a, perm=[1, 0])
        u = transpose(t, perm=[1, 0])
        y = output(u)
        """,
        """
        a = input() : f32[2,3]
        y = output(a)
        """,
    ),
    "an attribute that is one of some": (
        """
        @rule
        def drop_transpose(x):
            yield op.transpose(x, perm={(0, 1), (0, 1, 2)})
            return x
        """,
        """
        a = input() : f32[2,3,4]
        t = transpose(a, perm=[0, 1, 2])
        u = transpose(t, perm=[0, 2, 1])
        y = output(u)
        """,
        """
        a = input() : f32[2,3,4]
        u = transpose(a, perm=[0, 2, 1])
        y = output(u)
        """,
    ),
    "an attribute in a range": (
        """
        @rule
        def drop_relu_of_clip(x):
            clipped = op.clip(x, low=range(1, 7))
            yield op.relu(clipped)
            return clipped
        """,
        """
        a = input() : f32[3]
        c = clip(a, low=2.0, high=4.0)
        r = relu(c)
        y = output(r)
        """,
        """
        a = input() : f32[3]
        c = clip(a, low=2.0, high=4.0)
        y = output(c)
        """,
    ),
    "an attribute that is captured": (
        """
        @rule
        def merge_reshapes(x, s, t):
            yield op.reshape(op.reshape(x, shape=s), shape=t)
            return op.reshape(x, shape=t)
        """,
        """
        a = input() : f32[2,6]
        r = reshape(a, shape=[3, 4])
        s = reshape(r, shape=[12])
        y = output(s)
        """,
        """
        a = input() : f32[2,6]
        reshape_1 = reshape(a, shape=[12])
        y = output(reshape_1)
        """,
    ),
    "a condition on an attribute": (
        """
        @rule
        def drop_transpose(x):
            yield op.transpose(x, perm=rule.where(lambda p: list(p) == sorted(p), "it moves no axis"))
            return x
        """,
        """
        a = input() : f32[2,3,4]
        t = transpose(a, perm=[0, 1, 2])
        u = transpose(t, perm=[0, 2, 1])
        y = output(u)
        """,
        """
        a = input() : f32[2,3,4]
        u = transpose(a, perm=[0, 2, 1])
        y = output(u)
        """,
    ),
    "a condition on a value": (
        """
        @rule
        def drop_flatten(x: rule.where(lambda x: len(x.shape) == 2, "it is flat already")):
            yield op.flatten(x)
            return x
        """,
        """
        a = input() : f32[N,2,3]
        f = flatten(a)
        g = flatten(f)
        y = output(g)
        """,
        """
        a = input() : f32[N,2,3]
        f = flatten(a)
        y = output(f)
        """,
    ),
    "a condition on an operand without a name": (
        """
        def is_never_positive(c):
            return c.is_constant and c.value.max() <= 0

        @rule
        def drop_maximum(x):
            positive = op.relu(x)
            maximum = op.maximum(positive, rule.where(is_never_positive, "it is never positive"))
            yield maximum
            return positive if x.type == maximum.type else rule.decline("the constant broadcasts", at=maximum)
        """,
        """
        a = input() : f32[3]
        c = constant(value=[-1.0, 0.0, -2.0]) : f32[3]
        r = relu(a)
        m = maximum(c, r)
        y = output(m)
        """,
        """
        a = input() : f32[3]
        r = relu(a)
        y = output(r)
        """,
    ),
    "a condition on the match": (
        """
        @rule(keeps="rounding")
        def multiply_by_reciprocal(x, y):
            quotient = op.div(x, y)
            yield quotient
            if x.shape != y.shape:
                return rule.decline("the shape is {}", x.shape, at=x)
            return op.mul(x, op.div(1, y))
        """,
        """
        a = input() : f32[3]
        b = input() : f32[]
        q = div(a, b)
        y = output(q)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[]
        q = div(a, b)
        y = output(q)
        """,
    ),
    "several results": (
        """
        @rule(keeps="assumes")
        def halves_of_negated(x):
            low, high = halves(op.neg(x))
            yield low, high
            a, b = halves(x)
            return op.neg(a), op.neg(b)
        """,
        """
        a = input() : f32[3]
        n = neg(a)
        h = halves(n)
        y = output(h)
        z = output(h:1)
        """,
        """
        a = input() : f32[3]
        halves_1 = halves(a)
        neg_1 = neg(halves_1)
        neg_2 = neg(halves_1:1)
        y = output(neg_1)
        z = output(neg_2)
        """,
    ),
    "all results": (
        """
        @rule
        def spell_out_halves(x):
            yield halves(x)
            low = op.div(x, 2)
            return low, op.sub(x, low)
        """,
        """
        a = input() : f32[3]
        h = halves(a)
        y = output(h)
        z = output(h:1)
        """,
        """
        a = input() : f32[3]
        constant_1 = constant(value=2.0) : f32[]
        div_1 = div(a, constant_1)
        sub_1 = sub(a, div_1)
        y = output(div_1)
        z = output(sub_1)
        """,
    ),
    "any number of results": (
        """
        @rule
        def choose_the_other(c, xs, t, e):
            yield op.cond(op.logical_not(c), *xs, then=t, otherwise=e)
            return op.cond(c, *xs, then=e, otherwise=t)
        """,
        """
        c = input() : bool[]
        a = input() : f32[3]
        b = input() : f32[3]
        n = logical_not(c)
        k = logical_not(c)
        m = cond(n, a, then=body(one), otherwise=body(other))
        i = cond(k, a, b, then=body(sum), otherwise=body(difference))
        y = output(m)
        z = output(m:1)
        w = output(i)

        body one
        x = input() : f32[3]
        n = neg(x)
        y = output(n)
        z = output(x)

        body other
        x = input() : f32[3]
        r = relu(x)
        y = output(x)
        z = output(r)

        body sum
        x = input() : f32[3]
        w = input() : f32[3]
        s = add(x, w)
        y = output(s)

        body difference
        x = input() : f32[3]
        w = input() : f32[3]
        s = sub(x, w)
        y = output(s)
        """,
        """
        c = input() : bool[]
        a = input() : f32[3]
        b = input() : f32[3]
        cond_2 = cond(c, a, then=body(other), otherwise=body(one))
        cond_1 = cond(c, a, b, then=body(difference), otherwise=body(sum))
        y = output(cond_2)
        z = output(cond_2:1)
        w = output(cond_1)

        body one
        x = input() : f32[3]
        n = neg(x)
        y = output(n)
        z = output(x)

        body other
        x = input() : f32[3]
        r = relu(x)
        y = output(x)
        z = output(r)

        body sum
        x = input() : f32[3]
        w = input() : f32[3]
        s = add(x, w)
        y = output(s)

        body difference
        x = input() : f32[3]
        w = input() : f32[3]
        s = sub(x, w)
        y = output(s)
        """,
    ),
    "one node by two paths": (
        """
        @rule
        def swish(x):
            shifted = op.neg(x)
            yield op.mul(shifted, op.sigmoid(shifted))
            return op.neg(op.mul(x, op.sigmoid(op.neg(x))))
        """,
        """
        a = input() : f32[3]
        n = neg(a)
        s = sigmoid(n)
        m = mul(n, s)
        y = output(m)
        """,
        """
        a = input() : f32[3]
        neg_1 = neg(a)
        sigmoid_1 = sigmoid(neg_1)
        mul_1 = mul(a, sigmoid_1)
        neg_2 = neg(mul_1)
        y = output(neg_2)
        """,
    ),
    "several roots": (
        """
        @rule
        def share_negation(x):
            yield op.relu(op.neg(x)), op.abs(x)
            plus, minus = op.relu(x), op.relu(op.neg(x))
            return minus, op.add(plus, minus)
        """,
        """
        a = input() : f32[3]
        n = neg(a)
        r = relu(n)
        p = abs(a)
        s = sub(r, p)
        y = output(s)
        """,
        """
        a = input() : f32[3]
        neg_1 = neg(a)
        relu_1 = relu(neg_1)
        relu_2 = relu(a)
        add_1 = add(relu_2, relu_1)
        s = sub(relu_1, add_1)
        y = output(s)
        """,
    ),
    "parts that are not connected": (
        """
        @rule(keeps="rounding")
        def tanh_as_sigmoid(x, y):
            there = op.sigmoid(y)
            yield op.tanh(x), there
            return op.sub(op.mul(op.sigmoid(op.mul(x, 2)), 2), 1), there
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        s = sigmoid(b)
        t = tanh(a)
        y = output(s)
        z = output(t)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        s = sigmoid(b)
        constant_1 = constant(value=2.0) : f32[]
        mul_1 = mul(a, constant_1)
        sigmoid_1 = sigmoid(mul_1)
        constant_2 = constant(value=2.0) : f32[]
        mul_2 = mul(sigmoid_1, constant_2)
        constant_3 = constant(value=1.0) : f32[]
        sub_1 = sub(mul_2, constant_3)
        y = output(s)
        z = output(sub_1)
        """,
    ),
    "an operand that is not": (
        """
        @rule
        def subtract_as_add(x, y):
            other = ~op.neg(y)
            yield op.sub(x, other)
            return op.add(x, op.neg(other))
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        n = neg(b)
        s = sub(a, n)
        t = sub(s, b)
        y = output(t)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        n = neg(b)
        s = sub(a, n)
        neg_1 = neg(b)
        add_1 = add(s, neg_1)
        y = output(add_1)
        """,
    ),
    "a node that is not there": (
        """
        @rule(keeps="assumes")
        def abs_as_maximum(x):
            root = op.abs(x)
            yield root, ~op.neg(root)
            return op.maximum(x, op.neg(x))
        """,
        """
        a = input() : f32[3]
        p = abs(a)
        q = abs(p)
        n = neg(q)
        y = output(n)
        """,
        """
        a = input() : f32[3]
        neg_1 = neg(a)
        maximum_1 = maximum(a, neg_1)
        q = abs(maximum_1)
        n = neg(q)
        y = output(n)
        """,
    ),
    "all readers of a form": (
        """
        @rule
        def share_relu(x):
            relus = rule.every(x, op.relu)
            yield relus
            shared = op.relu(x)
            return [shared for _ in relus.nodes]
        """,
        """
        a = input() : f32[3]
        r = relu(a)
        s = relu(a)
        t = add(r, s)
        y = output(t)
        """,
        """
        a = input() : f32[3]
        relu_1 = relu(a)
        t = add(relu_1, relu_1)
        y = output(t)
        """,
    ),
    "all readers of a form with variables": (
        """
        @rule(keeps="rounding")
        def divide_once(y):
            quotients = rule.every(y, lambda x: op.div(x, y), least=2)
            yield quotients
            reciprocal = op.div(1, y)
            return [op.mul(x, reciprocal) for x in quotients.x]
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        c = input() : f32[3]
        p = div(a, c)
        q = div(b, c)
        t = add(p, q)
        y = output(t)
        """,
        """
        a = input() : f32[3]
        b = input() : f32[3]
        c = input() : f32[3]
        constant_1 = constant(value=1.0) : f32[]
        div_1 = div(constant_1, c)
        mul_1 = mul(a, div_1)
        mul_2 = mul(b, div_1)
        t = add(mul_1, mul_2)
        y = output(t)
        """,
    ),
    "nodes that just go": (
        """
        @rule
        def drop_unread(x):
            unread = op.relu(x)
            yield unread
            return rule.nothing if unread.readers == 0 else rule.decline("it is read", at=unread)
        """,
        """
        a = input() : f32[3]
        r = relu(a)
        s = relu(a)
        y = output(s)
        """,
        """
        a = input() : f32[3]
        s = relu(a)
        y = output(s)
        """,
    ),
    "a replacement that is a constant": (
        """
        @rule
        def negate_now(c: rule.Constant):
            yield op.neg(c)
            return -c.value
        """,
        """
        a = input() : f32[3]
        c = constant(value=[1.0, 4.0, 9.0]) : f32[3]
        n = neg(c)
        s = add(a, n)
        y = output(s)
        """,
        """
        a = input() : f32[3]
        constant_1 = constant(value=[-1.0, -4.0, -9.0]) : f32[3]
        s = add(a, constant_1)
        y = output(s)
        """,
    ),
    "attributes carried over": (
        """
        @rule
        def drop_offset(x, c: rule.where(lambda c: c.shape == (), "it is one number")):
            soft = op.softmax(op.add(x, c))
            yield soft
            return op.softmax(x, like=soft)
        """,
        """
        a = input() : f32[N,3]
        c = input() : f32[]
        b = add(c, a)
        s = softmax(b, axis=0)
        y = output(s)
        """,
        """
        a = input() : f32[N,3]
        c = input() : f32[]
        softmax_1 = softmax(a, axis=0)
        y = output(softmax_1)
        """,
    ),
    "an inner node that others read, kept": (
        """
        @rule(shared="keep")
        def fuse(x, y, z):
            yield op.add(op.mul(x, y), z)
            return op.fma(x, y, z)
        """,
        """
        a = input() : f32[3]
        m = mul(a, a)
        s = add(m, a)
        y = output(s)
        z = output(m)
        """,
        """
        a = input() : f32[3]
        m = mul(a, a)
        fma_1 = fma(a, a, a)
        y = output(fma_1)
        z = output(m)
        """,
    ),
    "an inner node that others read, duplicated": (
        """
        @rule(shared="duplicate")
        def negate_by_product(x):
            inner = op.abs(x)
            yield op.neg(inner)
            return op.mul(inner, -1)
        """,
        """
        a = input() : f32[3]
        p = abs(a)
        n = neg(p)
        y = output(n)
        z = output(p)
        """,
        """
        a = input() : f32[3]
        p = abs(a)
        abs_1 = abs(a)
        constant_1 = constant(value=-1.0) : f32[]
        mul_1 = mul(abs_1, constant_1)
        y = output(mul_1)
        z = output(p)
        """,
    ),
}

GRAPH_EXAMPLES = {
    "a pattern graph and its replacement": (
        """
        pattern = nx.DiGraph([("s", "m"), ("m", "e")])
        pattern.nodes["m"]["type"] = "wait"
        drop_wait = rule.from_graphs(pattern, nx.DiGraph([("s", "e")]), name="drop_wait", interface=["s", "e"])
        """,
        """
        a -> b -> c
        b: {"type": "wait"}
        """,
        """
        a -> c
        """,
    ),
    "a group of outside neighbours": (
        """
        pattern = nx.DiGraph([("s", "m"), ("m", "e")])
        pattern.nodes["m"]["type"] = "wait"
        drop_wait = rule.from_graphs(pattern, nx.DiGraph([("s", "e")]), name="drop_wait", groups=["s", "e"])
        """,
        """
        a -> c -> d
        b -> c -> e
        c: {"type": "wait"}
        """,
        """
        a -> d
        a -> e
        b -> d
        b -> e
        """,
    ),
    "one of some values, a predicate": (
        """
        pattern = nx.DiGraph([("s", "m")])
        pattern.nodes["s"]["type"] = {"pump", "valve"}
        pattern.nodes["m"]["flow"] = rule.where(lambda flow: flow < 1, "less than 1 flows through it")
        cut_off = rule.from_graphs(pattern, nx.empty_graph(["s"], nx.DiGraph), name="cut_off", interface=["s"])
        """,
        """
        a -> b
        c -> d
        a: {"type": "pump"}
        b: {"flow": 0.5}
        c: {"type": "valve"}
        d: {"flow": 3}
        """,
        """
        c -> d
        a: {"type": "pump"}
        c: {"type": "valve"}
        d: {"flow": 3}
        """,
    ),
    "attributes of edges": (
        """
        pattern = nx.DiGraph()
        pattern.add_edge("a", "b", kind="road", length=rule.where(lambda length: length > 9, "it is long"))
        two_stops = nx.empty_graph(["a", "b"], nx.DiGraph)
        close = rule.from_graphs(pattern, two_stops, name="close", interface=["a", "b"])
        """,
        """
        x -> y: {"kind": "road", "length": 12}
        y -> z: {"kind": "rail", "length": 12}
        z -> x: {"kind": "road", "length": 5}
        """,
        """
        y -> z: {"kind": "rail", "length": 12}
        z -> x: {"kind": "road", "length": 5}
        """,
    ),
    "an attribute that changes": (
        """
        pattern = nx.DiGraph([("a", "b")])
        pattern.add_nodes_from([("a", {"lit": True}), ("b", {"lit": False})])
        both = nx.DiGraph([("a", "b")])
        both.add_nodes_from(["a", "b"], lit=True)
        spread = rule.from_graphs(pattern, both, name="spread", interface=["a", "b"])
        """,
        """
        x -> y -> z
        x: {"lit": True}
        y: {"lit": False, "size": 1}
        z: {"lit": False}
        """,
        """
        x -> y -> z
        x: {"lit": True}
        y: {"lit": True, "size": 1}
        z: {"lit": True}
        """,
    ),
    "an edge that is not there": (
        """
        path, direct = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("a", "c")])
        shorten = rule.from_graphs(
            path, nx.compose(path, direct), name="shorten", interface=["a", "b", "c"], without=[direct]
        )
        """,
        """
        x -> y -> z
        """,
        """
        x -> y -> z
        x -> z
        """,
    ),
    "a neighbour that is not there": (
        """
        pattern, done = nx.DiGraph(), nx.DiGraph()
        pattern.add_node("task", state="open")
        done.add_node("task", state="done")
        before = nx.DiGraph([("other", "task")])
        before.nodes["other"]["state"] = "blocked"
        finish = rule.from_graphs(pattern, done, name="finish", interface=["task"], without=[before])
        """,
        """
        x -> y
        x: {"state": "blocked"}
        y: {"state": "open"}
        z: {"state": "open"}
        """,
        """
        x -> y
        x: {"state": "blocked"}
        y: {"state": "open"}
        z: {"state": "done"}
        """,
    ),
    "not induced": (
        """
        pattern = nx.DiGraph([("a", "m"), ("m", "b")])
        bypass = rule.from_graphs(pattern, nx.DiGraph([("a", "b")]), name="bypass", interface=["a", "b"])
        """,
        """
        x -> y -> z
        x -> z
        """,
        """
        x -> z
        """,
    ),
    "induced": (
        """
        pattern = nx.DiGraph([("a", "m"), ("m", "b")])
        bypass = rule.from_graphs(pattern, nx.DiGraph([("a", "b")]), name="bypass", interface=["a", "b"], induced=True)
        """,
        """
        x -> y -> z
        x -> z
        """,
        """
        x -> y -> z
        x -> z
        """,
    ),
    "a self-loop": (
        """
        drop_loop = rule.from_graphs(
            nx.DiGraph([("x", "x")]), nx.empty_graph(["x"], nx.DiGraph), name="drop_loop", interface=["x"]
        )
        """,
        """
        a -> a
        a -> b
        """,
        """
        a -> b
        """,
    ),
    "a cycle that becomes one node": (
        """
        ring = nx.cycle_graph(["x", "y", "z"], nx.DiGraph)
        one = nx.DiGraph()
        one.add_node("ring", size=3)
        contract = rule.from_graphs(ring, one, name="contract")
        """,
        """
        a -> b -> c -> a
        d -> e
        """,
        """
        d -> e
        ring: {"size": 3}
        """,
    ),
    "a replacement that is computed": (
        """
        def direct(match):
            first, second = match.edge("a", "m"), match.edge("m", "b")
            if first["unit"] != second["unit"]:
                return rule.decline("the units differ")
            made = nx.DiGraph()
            made.add_edge("a", "b", unit=first["unit"], length=first["length"] + second["length"])
            return made

        pattern = nx.DiGraph([("a", "m"), ("m", "b")])
        bypass = rule.from_graphs(pattern, direct, name="bypass", interface=["a", "b"])
        """,
        """
        w -> x: {"unit": "m", "length": 1}
        x -> y: {"unit": "m", "length": 2}
        y -> z: {"unit": "km", "length": 3}
        """,
        """
        w -> y: {"unit": "m", "length": 3}
        y -> z: {"unit": "km", "length": 3}
        """,
    ),
    "a condition on the match of a graph": (
        """
        falls = rule.where(lambda match: match["a"]["rank"] > match["b"]["rank"], "the rank falls")
        two = nx.empty_graph(["a", "b"], nx.DiGraph)
        cut = rule.from_graphs(nx.DiGraph([("a", "b")]), two, name="cut", interface=["a", "b"], condition=falls)
        """,
        """
        x -> y -> z
        x: {"rank": 1}
        y: {"rank": 3}
        z: {"rank": 2}
        """,
        """
        x -> y
        x: {"rank": 1}
        y: {"rank": 3}
        z: {"rank": 2}
        """,
    ),
}


def rule_of(source, **scope):
    """What a cell defines in which nothing is imported but `rule` and `op`; and networkx, for digraphs."""
    scope |= {"rule": rule, "op": op}
    exec(compile(dedent(source), "cell", "exec"), scope)
    return next(value for value in reversed(scope.values()) if hasattr(value, "find"))


def graph_of(lines):
    return Graph.parse(f"graph example\n{dedent(lines)}", ops=OWN_OPS.values())


def digraph_of(lines):
    """A line is a node or a path, with its attributes."""
    graph = nx.DiGraph()
    for line in dedent(lines).strip().splitlines():
        path, _, data = line.partition(": ")
        names, attributes = path.split(" -> "), literal_eval(data or "{}")
        if len(names) == 1:
            graph.add_node(*names, **attributes)
        nx.add_path(graph, names, **attributes)
    return graph


@pytest.mark.parametrize(("source", "before", "after"), EXAMPLES.values(), ids=EXAMPLES)
def test_what_is_written_is_found_and_replaced(source, before, after):
    graph = graph_of(before)
    assert str(rule_of(source, **OWN_OPS)(graph)) == str(graph_of(after))
    assert str(graph) == str(graph_of(before))


@pytest.mark.parametrize(("source", "before", "after"), GRAPH_EXAMPLES.values(), ids=GRAPH_EXAMPLES)
def test_a_pattern_graph_is_found_and_replaced(source, before, after):
    rewritten = rule_of(source, nx=nx)(digraph_of(before))
    assert type(rewritten) is nx.DiGraph
    assert nx.utils.graphs_equal(rewritten, digraph_of(after))


def test_every_line_of_the_page_is_a_piece_of_an_example():
    page = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")
    section = page.partition("## The pattern language")[2].partition("## Strategies")[0]
    rows = re.findall(r"^\| [^|]+ \| (.+?) \| .+ \|$", section.replace(r"\|", "\v"), re.MULTILINE)
    written = [piece.replace("\v", "|") for row in rows for piece in re.findall(r"`([^`]+)`", row)]
    sources = "\n".join(source for source, _, _ in EXAMPLES.values())
    assert len(written) >= 35
    assert [piece for piece in written if piece not in sources] == []
