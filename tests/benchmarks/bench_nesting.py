"""Graphs of graphs: what comparing, drawing and copying cost as they get deeper, with each graph twice in the next."""

from __future__ import annotations

import math
import pickle
from copy import deepcopy

from graphrewrite import Graph, Module, Tensor, diff, evaluate, op, rewrite, verify
from graphrewrite.compare.equality import equals, structure_hash
from graphrewrite.rules import RULES
from graphrewrite.summary import summary
from tests.benchmarks.figures import fastest, print_table, scaled

DEPTHS = scaled((5, 10), (50, 100, 200, 400))
T = Tensor("f32", ("N", 2))
HEADS = ("", *(f"{depth} ms" for depth in DEPTHS), "exponent", "goal")


def nested(depth: int, *, twice: bool = True) -> Module:
    """Return a module of graphs, each of which has one or two nodes of the one before."""
    module = Module("nested")
    for level in range(depth + 1):
        graph = module.add_graph(f"b{level}")
        x = graph.input("x", T)
        below = op.relu if level == 0 else module.op(f"b{level - 1}")
        graph.output("y", below(below(x)) if twice else op.neg(below(x)))
    return module


def outermost(module: Module) -> Graph:
    return module[f"b{len(module) - 1}"]


CASES = {
    "equal": lambda a, b: outermost(a) == outermost(b),
    "equal, no names": lambda a, b: equals(outermost(a), outermost(b), names=False),
    "hash, no names": lambda a, b: structure_hash(outermost(a), names=False),
    "equal modules": lambda a, b: a == b,
    "diff of modules": diff,
    "show a module": lambda a, b: a.show(),
    "summary": lambda a, b: summary(a),
    "verify": lambda a, b: verify(a),
    "text": lambda a, b: str(a),
    "deep copy": lambda a, b: deepcopy(a),
    "pickle": lambda a, b: pickle.dumps(a),
    "rewrite a module": lambda a, b: rewrite(a, RULES),
}
GOALS = {"rewrite a module": 2.0}
"""The growth exponents that are not about 1: the rules of a graph ask for the levels of all graphs in it."""


def test_depth():
    pairs = [(nested(depth), nested(depth)) for depth in DEPTHS]
    rows = []
    for name, function in CASES.items():
        times = fastest(*(lambda pair=pair, function=function: function(*pair) for pair in pairs), seconds=0.5)
        rows.append((name, *(t * 1e3 for t in times), _exponent(times), GOALS.get(name, 1.0)))
    chains = [nested(depth, twice=False) for depth in DEPTHS]
    times = fastest(*(lambda c=c: evaluate(outermost(c), {"x": [[1, 2]]}) for c in chains), seconds=0.5)
    rows.append(("evaluate a chain", *(t * 1e3 for t in times), _exponent(times), 1.0))
    print_table("Nested graphs", HEADS, rows)
    for name, *_, exponent, goal in rows:
        assert exponent < scaled(3.0, 0.6) + goal, f"{name}: grows with the power {exponent:.2f} of the depth"


def _exponent(times: list[float]) -> float:
    return math.log(times[-1] / times[0]) / math.log(DEPTHS[-1] / DEPTHS[0])
