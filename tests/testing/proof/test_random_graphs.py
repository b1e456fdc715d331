"""What is translated gives bit for bit what numpy computes: ops with random types, attributes and inputs."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from graphrewrite import Tensor, define_op, op, rule
from graphrewrite.graph import Graph
from graphrewrite.testing.proof.instances import Instances
from graphrewrite.testing.proof.refusal import Untranslatable
from tests.testing.proof.test_translation import check, translated

pytestmark = pytest.mark.slow

UNARY = (
    "neg",
    "abs",
    "relu",
    "clip",
    "cast",
    "identity",
    "reshape",
    "flatten",
    "transpose",
    "pad",
    "arg_max",
    "max_pool",
)
BINARY = ("add", "sub", "mul", "maximum", "minimum", "integer_add", "concat")
OTHERS = ("requantise", "from_fixed", "average_pool", "unsqueeze", "squeeze")


def rule_of(name):
    """A rule for its pattern: one node of an op."""
    node = getattr(op, name)
    if name in BINARY:

        @rule
        def one_node(x, y):
            yield node(x, y)
            return x

        return one_node

    @rule
    def one_node(x):
        yield node(x)
        return x

    return one_node


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *OTHERS])
def test_an_op_with_any_type_and_attributes(name):
    done = [check(graph, seeds=2) for graph in islice(Instances(rule_of(name), 240), 24)]
    assert sum(done) >= 2  # average pools seldom divide by a power of two


FUNCTIONS = {
    "where": lambda x: np.where(x > 3, x - 3, x),
    "clip": lambda x: np.clip(x, 1, 9),
    "shifts": lambda x: (x << 3) ^ (x >> 2),
    "minimum": lambda x: np.minimum(x, x[..., ::-1]) | 5,
    "bits": lambda x: ~x & np.bitwise_or(x, 12),
    "sum": lambda x: np.broadcast_to(x.sum(axis=1, keepdims=True).astype(x.dtype), x.shape),
    "matmul": lambda x: x @ np.ones((x.shape[1], x.shape[1]), x.dtype),
    "take": lambda x: np.take(x, [2, 0, 1], axis=1),
    "divided": lambda x: x // 3 + x % 5,
    "rounded": lambda x: np.rint(x.astype(np.float64) / 4).astype(x.dtype),
    "compared": lambda x: ((x >= 2) & (x != 7)).astype(x.dtype),
    "joined": lambda x: np.concatenate([x[:, 1:], x[:, :1]], axis=1),
}
ELEMENTS = ("i8", "u8", "i16", "u32", "i64", "i4", "u4")


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_in_ops_of_users(name, element):
    compute = FUNCTIONS[name]

    @define_op(level="integer", infer=lambda x: x)
    def own(x):
        "Made of numpy's functions."
        return compute(x)

    graph = Graph("g")
    graph.output("y", own(graph.input("x", Tensor(element, ("N", 3)))))
    assert check(graph, seeds=6)


UNTRANSLATED = {
    "np.sort": lambda x: np.sort(x, axis=1),
    "np.exp": lambda x: np.exp(x.astype(np.float32)).astype(x.dtype),
    "np.unique": lambda x: np.broadcast_to(np.unique(x)[:1], x.shape),
    "np.cumsum": lambda x: np.cumsum(x, axis=1).astype(x.dtype),
    "np.median": lambda x: np.median(x, axis=1, keepdims=True).astype(x.dtype) + x,
    "np.gcd": lambda x: np.gcd(x, 6).astype(x.dtype),
}


@pytest.mark.parametrize("name", UNTRANSLATED)
def test_what_is_not_translated_is_named(name):
    compute = UNTRANSLATED[name]

    @define_op(level="integer", infer=lambda x: x)
    def own(x):
        "Of a function that has no form in bit-vectors here."
        return compute(x)

    graph = Graph("g")
    graph.output("y", own(graph.input("x", Tensor("i16", ("N", 3)))))
    with pytest.raises(Untranslatable, match=rf"own\(.*\): .*{name}"):
        translated(graph)
