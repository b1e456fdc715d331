"""egglog: equality saturation in Rust; from a graph in Python to the cheapest term of its result.

The graph goes in as text, which is many times faster than expressions of its Python interface; nodes are named by their
numbers and made equal to their terms. Nothing is ever removed, and nothing is refused for a reader outside. Ops have a
prefix, because some of its own have such names.
"""

from __future__ import annotations

import re
from collections import Counter

from egglog import bindings
from workloads import LEAF, RESULT, Term, Workload

DISTRIBUTION = "egglog"
VARIANTS = {"from and to Python": ("chain", "blocks"), "saturation alone": ("chain", "blocks")}
SPARE = True


def commands(workload: Workload) -> tuple[list[str], str]:
    """The graph as commands, and the expression of its result."""
    old = {node.op for node in workload.nodes} | {op for op, left in workload.left.items() if not left}
    kinds = (f"(op_{op} {'T ' * operands} :cost {10 if op in old else 1})" for op, operands in workload.ops.items())
    lines = [f"(datatype T (Leaf i64) (Node i64 :cost 1000) {' '.join(kinds)})"]
    top = ""
    for number, (op, operands) in enumerate(workload.nodes):
        if op == RESULT:
            top = f"(Node {operands[0]})"
            continue
        inner = " ".join(f"(Node {operand})" for operand in operands)
        lines.append(f"(union (Node {number}) ({f'Leaf {number}' if op == LEAF else f'op_{op} {inner}'}))")
    return lines, top


def load(lines: list[str]) -> bindings.EGraph:
    found = bindings.EGraph()
    for line in lines:  # one by one: each place in a parsed text holds a copy of the whole text
        found.run_program(*found.parse_program(line))
    return found


def build(workload: Workload, variant: str) -> tuple[object, str]:
    lines, top = commands(workload)
    return (lines if variant.startswith("from") else load(lines)), top


def written(term: Term | str) -> str:
    return term if isinstance(term, str) else f"(op_{term.op} {' '.join(map(written, term.operands))})"


def run(model: tuple[object, str], workload: Workload, variant: str) -> tuple[object, str]:
    state, top = model
    state = load(state) if variant.startswith("from") else state
    rules = [f"(rewrite {written(root)} {written(law.new)})" for law in workload.laws for root in law.root.orders()]
    program = "\n".join([*rules, "(run-schedule (saturate (run)))", f"(extract {top})"])
    state.run_program(*state.parse_program(program))
    return state, top


def count(model: tuple[object, str]) -> Counter[str]:
    """Rows of its tables, which hold what was there before as well."""
    state, _ = model
    text = " ".join(map(str, state.run_program(*state.parse_program("(print-size)"))))
    return Counter({op: int(rows) for op, rows in re.findall(r"\(op_(\w+) (\d+)\)", text)})
