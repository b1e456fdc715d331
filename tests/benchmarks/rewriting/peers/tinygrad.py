"""tinygrad: patterns compiled to Python, hash-consed nodes, one traversal that rebuilds what changed.

Its ops are a closed enumeration, so each op of a workload borrows a member; when all are lent, ops that stand in no
graph share one. A node that is read outside a match is not refused but kept, so nodes may be left that nothing needs.
"""

from __future__ import annotations

from collections import Counter

from tinygrad.dtype import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite
from workloads import COMMUTATIVE, LEAF, RESULT, Law, Term, Workload

DISTRIBUTION = "tinygrad"
VARIANTS = {"": ("chain", "blocks"), "walk": ("chain", "blocks"), "interpreted": ("chain", "blocks")}
SPARE = True

KNOWN = {"add": Ops.ADD, "mul": Ops.MUL, "fma": Ops.MULACC}
# Members with a meaning of their own that building or rewriting nodes looks at.
TAKEN = {
    *("NOOP", "SINK", "CONST", "WHERE", "CALL", "FUNCTION", "PYLITERAL", "REWRITE_ERROR", "SUB", "CUSTOM", "CUSTOMI"),
    *("LINEAR", "PROGRAM", "BUFFER", "PARAM", "STACK", "ADD", "MUL", "MULACC"),
}


def members(workload: Workload) -> dict[str, Ops]:
    """A member for each op; ops of the graph first."""
    free = [op for op in Ops if op.name not in TAKEN]
    present = dict.fromkeys(node.op for node in workload.nodes)
    wanted = [op for op in (*present, *workload.left, *workload.ops) if op not in (*KNOWN, LEAF, RESULT)]
    return KNOWN | {op: free[min(i, len(free) - 1)] for i, op in enumerate(dict.fromkeys(wanted))}


def build(workload: Workload, variant: str) -> tuple[UOp, dict[str, Ops]]:
    lent = members(workload)
    made: list[UOp] = []
    for number, (op, operands) in enumerate(workload.nodes):
        sources = tuple(made[operand] for operand in operands)
        if op == LEAF:
            made.append(UOp(Ops.NOOP, dtypes.float32, (), number))
        elif op == RESULT:
            made.append(UOp(Ops.SINK, dtypes.void, sources))
        else:
            made.append(UOp(lent[op], dtypes.float32, sources))
    return made[-1], lent


def pattern(term: Term, lent: dict[str, Ops]) -> UPat:
    inner = [pattern(x, lent) if isinstance(x, Term) else UPat.var(x) for x in term.operands]
    return UPat(lent[term.op], src=inner if term.op in COMMUTATIVE else tuple(inner))  # a list: any order


def replacement(law: Law, lent: dict[str, Ops]) -> object:
    """A function of the variables, by source: the compiler of patterns takes functions apart."""
    names = ", ".join(law.new.operands)
    scope = {"UOp": UOp, "KIND": lent[law.new.op], "FLOAT": dtypes.float32}
    exec(f"def replace({names}, **rest): return UOp(KIND, FLOAT, ({names},))", scope)
    return scope["replace"]


def run(model: tuple[UOp, dict[str, Ops]], workload: Workload, variant: str) -> tuple[UOp, dict[str, Ops]]:
    top, lent = model
    pairs = [(pattern(law.root, lent), replacement(law, lent)) for law in workload.laws]
    matcher = PatternMatcher(pairs, compiled=variant != "interpreted")
    return graph_rewrite(top, matcher, walk=variant == "walk"), lent


def count(model: tuple[UOp, dict[str, Ops]]) -> Counter[str]:
    top, lent = model
    names = {member: op for op, member in reversed(lent.items())}
    return Counter(names.get(node.op, LEAF) for node in top.toposort())
