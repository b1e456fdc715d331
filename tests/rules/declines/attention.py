"""Attention and rotary embedding of parts that are nearly theirs, as lines of a graph."""

from __future__ import annotations

from graphrewrite import Rule
from graphrewrite.rules.recognition import attention, rotary

__all__ = ["DECLINES"]

INPUTS = "q = input() : f32[N,2,3,4]\nk = input() : f32[N,2,3,4]\nv = input() : f32[N,2,3,4]\n"
PRODUCT = "t = transpose(k, perm=[0, 1, 3, 2])\ns = matmul(q, t)\n"
SPLIT = "p = input() : f32[3,4,4]\nt = transpose(p, perm=[0, 2, 1])\nu = reshape(t, shape=[1, 2, 4, 6])\n"
X = "x = input() : f32[N,2,3,4]\nc = input() : f32[3,2]\ns = input() : f32[3,2]\n"
HALVES = "a = slice(x, starts=[0], ends=[2], axes=[3])\nb = slice(x, starts=[2], ends=[4], axes=[3])\n"
TURNED = "e = mul(a, c)\nf = mul(b, s)\ng = sub(e, f)\nh = mul(b, c)\ni = mul(a, s)\nj = add(h, i)\n"
BESIDE = "k = unsqueeze(g, axes=[4])\nl = unsqueeze(j, axes=[4])\nm = concat(k, l, axis=4)\n"
BESIDE += "r = reshape(m, shape=[0, 0, 0, 4])"
WHOLE = "l = neg(b)\nm = concat(l, a, axis=-1)\nn = concat(c, c, axis=-1)\no = mul(x, n)\np = mul(m, n)\nr = add(o, p)"
DECLINES: dict[Rule, tuple[str, ...]] = {
    attention.recognise_attention: (
        # A factor below 0.
        INPUTS + PRODUCT + "c = constant(value=-2.0) : f32[]\nx = mul(s, c)\nw = softmax(x)\nr = matmul(w, v)",
        # Values of one head.
        INPUTS + "u = input() : f32[2,3,4]\n" + PRODUCT + "w = softmax(s)\nr = matmul(w, u)",
        # Keys of other entries.
        INPUTS + SPLIT + "o = input() : f32[1,2,6,4]\ns = matmul(o, u)\nw = softmax(s)\nr = matmul(w, o)",
        # Shares of queries.
        INPUTS + PRODUCT + "w = softmax(s, axis=2)\nr = matmul(w, v)",
        # Samples of several names.
        "q = input() : f32[M*N,3,4]\nt = transpose(q, perm=[0, 2, 1])\ns = matmul(q, t)\nw = softmax(s)\n"
        "r = matmul(w, q)",
        # Axes with names.
        "q = input() : f32[2,3,4] NWC\nt = transpose(q, perm=[0, 2, 1])\ns = matmul(q, t)\nw = softmax(s)\n"
        "r = matmul(w, q)",
    ),
    attention.recognise_masked_attention: (
        # A mask that repeats.
        INPUTS + "m = input() : f32[5,1,1,3,3]\n" + PRODUCT + "x = add(s, m)\nw = softmax(x)\nr = matmul(w, v)",
    ),
    attention.add_masks: (
        # Two masks that repeat.
        INPUTS
        + "m = input() : f32[3,3]\nn = input() : f32[5,1,1,3,3]\n"
        + PRODUCT
        + "x = add(s, m)\nz = add(x, n)\nw = softmax(z)\nr = neg(w)",
    ),
    attention.recognise_attention_of_chosen: (
        # Scores as low.
        INPUTS
        + "b = input() : bool[3,3]\nc = constant(value=-3.0) : f32[]\n"
        + PRODUCT
        + "x = where(b, s, c)\nw = softmax(x)\nr = matmul(w, v)",
    ),
    attention.scale_queries: (
        # A factor of each entry.
        INPUTS + "c = constant(value=[1.0, 2.0, 1.0, 1.0]) : f32[4]\nx = mul(q, c)\nr = attention(x, k, v)",
        # One number that is repeated.
        INPUTS
        + "c = constant(value=[[[[2.0]]]]) : f32[1,1,1,1]\nn = input() : f32[]\nx = mul(n, c)\nr = attention(x, x, x)",
        # A factor that is too large.
        INPUTS
        + "c = constant(value=1e30) : f64[]\na = cast(q, element='f64')\nb = cast(k, element='f64')\nx = mul(a, c)\n"
        "r = attention(x, b, b, scale=1e300)",
    ),
    attention.scale_keys: (
        # A negative factor.
        INPUTS + "c = constant(value=-1.0) : f32[]\nx = mul(k, c)\nr = attention(q, x, v)",
    ),
    attention.hide_later_keys: (
        # A mask that hides nothing.
        INPUTS + "c = constant(value=[[0.0, -1e9, -1e9], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) : f32[3,3]\n"
        "r = attention(q, k, v, c)",
        # A mask that adds.
        INPUTS + "c = constant(value=[[0.0, -1e9, -1e9], [1.0, 0.0, -1e9], [0.0, 0.0, 0.0]]) : f32[3,3]\n"
        "r = attention(q, k, v, c)",
    ),
    attention.share_keys: (
        # Heads one after the other.
        INPUTS + "e = input() : f32[N,1,2,3,4]\nf = input() : f32[N,1,2,3,4]\n"
        "x = expand(e, shape=['N', 2, 2, 3, 4])\na = reshape(x, shape=['N', 4, 3, 4])\n"
        "z = expand(f, shape=['N', 2, 2, 3, 4])\nb = reshape(z, shape=['N', 4, 3, 4])\n"
        "o = input() : f32[N,4,3,4]\nr = attention(o, a, b)",
        # Heads in steps.
        INPUTS + "e = input() : f32[N,2,1,3,4]\nf = input() : f32[N,2,1,3,4]\n"
        "x = expand(e, shape=['N', 2, 2, 3, 4])\na = reshape(x, shape=['N', 2, 6, 4])\n"
        "z = expand(f, shape=['N', 2, 2, 3, 4])\nb = reshape(z, shape=['N', 2, 6, 4])\n"
        "o = input() : f32[N,2,3,4]\nr = attention(o, a, b)",
        # One number for all heads.
        INPUTS + "e = input() : f32[]\nx = expand(e, shape=[2, 2, 3, 4])\na = reshape(x, shape=[2, 2, 3, 4])\n"
        "o = input() : f32[2,2,3,4]\nr = attention(o, a, a)",
        # Fewer heads of keys than of values.
        INPUTS + "e = input() : f32[N,1,1,3,4]\nf = input() : f32[N,2,1,3,4]\n"
        "x = expand(e, shape=['N', 1, 4, 3, 4])\na = reshape(x, shape=['N', 4, 3, 4])\n"
        "z = expand(f, shape=['N', 2, 2, 3, 4])\nb = reshape(z, shape=['N', 4, 3, 4])\n"
        "o = input() : f32[N,4,3,4]\nr = attention(o, a, b)",
    ),
    rotary.recognise_rotary_embedding: (
        # Parts of another axis.
        "x = input() : f32[N,2,2,1]\nc = input() : f32[2,1]\n"
        + HALVES.replace("axes=[3]", "axes=[2]").replace("ends=[2]", "ends=[1]").replace("starts=[2]", "starts=[1]")
        + WHOLE,
        # Halves that are exchanged.
        X + HALVES.replace("a =", "t =").replace("b =", "a =").replace("t =", "b =") + WHOLE,
        # One angle.
        X + HALVES + "t = input() : f32[3,1]\n" + WHOLE.replace("concat(c, c, axis=-1)", "mul(t, t)"),
        # Angles that differ.
        X + HALVES + WHOLE.replace("concat(c, c, axis=-1)", "concat(c, s, axis=-1)"),
    ),
    rotary.recognise_rotary_embedding_of_halves: (
        # The same half.
        X + HALVES.replace("starts=[2], ends=[4]", "starts=[1], ends=[3]") + TURNED + "r = concat(g, j, axis=3)",
        # Every other entry.
        X
        + HALVES.replace("ends=[2], axes=[3]", "ends=[4], axes=[3], steps=[2]").replace(
            "starts=[2], ends=[4], axes=[3]", "starts=[1], ends=[4], axes=[3], steps=[2]"
        )
        + TURNED
        + "r = concat(g, j, axis=3)",
    ),
    rotary.recognise_rotary_embedding_of_pairs: (
        # Halves as pairs.
        X + HALVES + TURNED + BESIDE,
        # Pairs apart.
        X + HALVES + TURNED + BESIDE.replace("axes=[4]", "axes=[3]"),
    ),
    rotary.recognise_rotary_embedding_beside: (
        # Angles of heads.
        X + "t = input() : f32[2,1,2]\n" + HALVES + TURNED.replace(", c)", ", t)") + "r = concat(g, j, a, axis=3)",
        # Angles that repeat.
        X
        + "t = input() : f32[5,1,1,1,2]\nq = input() : f32[5,N,2,3,2]\n"
        + HALVES
        + TURNED.replace(", c)", ", t)")
        + "r = concat(g, j, q, axis=-1)",
    ),
    rotary.recognise_partial_rotary_embedding: (
        # A rest that is turned.
        X + "v = unsqueeze(c, axes=[0])\nu = input() : f32[1,3,1]\nw = input() : f32[1,2,3,4]\n"
        "a = slice(w, starts=[0], ends=[2], axes=[3])\nb = slice(w, starts=[1], ends=[4], axes=[3])\n"
        "t = rotary_embedding(a, u, u)\nr = concat(t, b, axis=3)",
    ),
}
