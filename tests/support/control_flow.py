"""A graph with each kind of control flow, in whose bodies things are computed in place and handed on."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph

__all__ = ["CONTROLLED", "controlled_inputs"]

CONTROLLED = Graph.parse("""graph controlled
x = input() : f32[2,3]
w = input() : f32[3,3]
n = input() : i64[]
go = input() : bool[]
yes = constant(value=True) : bool[]
five = constant(value=5) : i64[]
c = cond(go, x, then=body(double), otherwise=body(negative))
l = loop(n, go, x, w, carried=1, body=body(step))
s = loop(five, yes, x, w, carried=1, body=body(stacks))
d = scan(x, w, w, carried=1, body=body(along), axes=[1], output_axes=[-1], backwards=[True], output_backwards=[True])
y = output(c)
z = output(l)
last = output(s)
sums = output(s:1)
h = output(d)
rows = output(d:1)

body double
x = input() : f32[N,3]
y = add(x, x)
o = output(y)

body negative
x = input() : f32[N,3]
y = softmax(x)
m = neg(y)
o = output(m)

body step
i = input() : i64[]
x = input() : f32[N,3]
w = input() : f32[3,3]
three = constant(value=3) : i64[]
go = less(i, three)
y = matmul(x, w)
t = tanh(y)
g = output(go)
o = output(t)

body stacks
i = input() : i64[]
x = input() : f32[N,3]
w = input() : f32[3,3]
yes = constant(value=True) : bool[]
f = cast(i, element='f32')
y = matmul(x, w)
t = tanh(y)
r = reduce_sum(t, axes=[0], keep_dims=False)
rf = add(r, f)
g = output(yes)
o = output(t)
q = output(rf)

body along
x = input() : f32[2,3]
row = input() : f32[3]
w = input() : f32[3,3]
y = add(x, row)
t = matmul(y, w)
h = tanh(t)
g = output(h)
o = output(y)""")


def controlled_inputs(*, go: bool) -> dict[str, np.ndarray]:
    """Values of its inputs: whether the first branch is taken, and the loop begins."""
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 3), (3, 3)))
    return {"x": x, "w": w, "n": np.array(4), "go": np.array(go)}
