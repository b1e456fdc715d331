"""Rewriting a chain of multiplications and additions against a loop over a plain dictionary."""

from __future__ import annotations

import time

from graphrewrite import Graph, Tensor, op, rewrite, rule
from tests.benchmarks.figures import print_table

SIZES = (1_000, 10_000)


@rule
def fuse_mul_add(x, c, d):
    """x·c + d is one fused multiply-add."""
    yield op.add(op.mul(x, c), d)
    return op.fma(x, c, d)


def chain(nodes: int) -> Graph:
    graph = Graph("chain")
    kind = Tensor("f32", ("N", 4))
    x, c, d = (graph.input(name, kind) for name in "xcd")
    for _ in range(nodes // 2):
        x = x * c + d
    graph.output("y", x)
    return graph


def plain_chain(nodes: int) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    x = "x"
    for i in range(nodes // 2):
        found[f"mul_{i}"] = ("mul", [x, "c"])
        x = f"add_{i}"
        found[x] = ("add", [f"mul_{i}", "d"])
    return found


def fuse_plainly(nodes: dict[str, tuple[str, list[str]]]) -> int:
    """The same by hand, without types, names, checks or records: what no general engine can beat."""
    readers: dict[str, int] = {}
    for _, operands in nodes.values():
        for operand in operands:
            readers[operand] = readers.get(operand, 0) + 1
    count = 0
    for name in list(nodes):
        kind, operands = nodes[name]
        if kind == "add" and nodes.get(operands[0], ("", []))[0] == "mul" and readers[operands[0]] == 1:
            nodes[name] = ("fma", [*nodes.pop(operands[0])[1], operands[1]])
            count += 1
    return count


def test_rewriting_a_chain():
    rows = []
    for size in SIZES:
        graph, plain = chain(size), plain_chain(size)
        start = time.perf_counter()
        fused = rewrite(graph, [fuse_mul_add])
        middle = time.perf_counter()
        count = fuse_plainly(plain)
        end = time.perf_counter()
        assert count == size // 2 == sum(data["type"] == "fma" for _, data in fused.nodes(data=True))
        ours, loop = (middle - start) / count * 1e6, (end - middle) / count * 1e6
        rows.append((f"{size:,}", ours, loop, ours / loop))
    print_table("Rewriting a mul-add chain, per rewrite", ("nodes", "rewrite µs", "dictionary µs", "ratio"), rows)
