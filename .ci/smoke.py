"""A minute of everything that needs only networkx and numpy, in an environment that has nothing else."""

import sys

import networkx as nx
import numpy as np

from graphrewrite import Graph, Module, Tensor, diff, evaluate, hdl, lowering, models, op, rewrite, rule, trace, verify
from graphrewrite.rules import RULES
from graphrewrite.types import FixedPoint


@rule
def drop_double_negation(x):
    "Minus minus x is x."
    yield op.neg(op.neg(x))
    return x


graph = Graph("smoke")
x = graph.input("x", Tensor("f32", ("N", 4)))
weights = np.arange(12, dtype=np.float32).reshape(3, 4)
hidden = op.relu(op.linear(x * np.float32(2), weights, np.zeros(3, np.float32)))
graph.output("y", op.neg(op.neg(hidden)))
verify(graph)

data = {"x": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)}
rewritten = rewrite(graph, [drop_double_negation, *RULES])
assert len(rewritten) < len(graph)
assert trace(graph, [drop_double_negation]).steps
np.testing.assert_allclose(evaluate(rewritten, data)["y"], evaluate(graph, data)["y"], rtol=1e-5)

copied = graph.copy()
assert not diff(graph, copied)
assert copied.equals(graph)
assert Graph.parse(str(graph)).equals(graph)
assert nx.is_directed_acyclic_graph(graph.reverse())

integer = lowering.to_integer(lowering.quantise(graph, data["x"]))
assert set(evaluate(integer, data)) == {"y"}
stream = lowering.to_stream(integer)
assert int(hdl.predict(stream, 4).interval) > 0
assert FixedPoint(True, 8, 4).maximum == 127
assert Module("m") is not None
assert models.NAMES

print(f"Python {sys.version.split()[0]}, networkx {nx.__version__}, numpy {np.__version__}: works")
