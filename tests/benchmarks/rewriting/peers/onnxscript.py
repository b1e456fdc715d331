"""onnxscript's rewriter: rules as pairs of functions, one pass over the nodes, repeated until nothing matches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx_ir as ir
import onnx_ir.passes.common
from onnxscript.rewriter import pattern
from workloads import LEAF, RESULT, Law, Term, Workload

DISTRIBUTION = "onnxscript"
VARIANTS = {"": ("chain", "blocks", "dead", "forks")}
DOMAIN = "bench"


def build(workload: Workload, variant: str) -> ir.Model:
    tensor = ir.tensor(np.zeros(4, np.float32))
    values: list[ir.Value] = []
    inputs, constants, nodes, outputs = [], [], [], []
    for number, (op, operands) in enumerate(workload.nodes):
        if op == LEAF:
            values.append(ir.Value(name=f"v{number}", const_value=tensor if number else None))
            (constants if number else inputs).append(values[-1])
        elif op == RESULT:
            outputs = [values[operand] for operand in operands]
            values.append(outputs[0])
        else:
            nodes.append(ir.Node(DOMAIN, op, [values[operand] for operand in operands], name=f"n{number}"))
            nodes[-1].outputs[0].name = f"v{number}"
            values.append(nodes[-1].outputs[0])
    opsets = {"": 20, DOMAIN: 1}
    graph = ir.Graph(inputs, outputs, nodes=nodes, initializers=constants, opset_imports=opsets, name="bench")
    return ir.Model(graph, ir_version=10)


def written(term: Term, more: str = "") -> str:
    inner = (written(x) if isinstance(x, Term) else x for x in term.operands)
    return f"op.{term.op}({', '.join(inner)}, _domain={DOMAIN!r}{more})"


def rules(law: Law) -> list[pattern.RewriteRule]:
    """One for each order of operands: it commutes none but ONNX's own ops."""
    found = []
    orders = law.root.orders() if len(law.roots) == 1 else [None]
    for root in orders:
        roots = (root,) if root else law.roots
        names = ", ".join(dict.fromkeys(v for r in roots for v in r.variables))
        sought = ", ".join(written(r) for r in roots)
        made = written(law.new, f", _outputs={len(roots)}" if len(roots) > 1 else "")
        scope: dict[str, object] = {}
        exec(f"def sought(op, {names}): return {sought}\ndef made(op, {names}, **rest): return {made}", scope)
        found.append(pattern.RewriteRule(scope["sought"], scope["made"], name=law.name))
    return found


def run(model: ir.Model, workload: Workload, variant: str) -> ir.Model:
    if not workload.laws:
        onnx_ir.passes.common.RemoveUnusedNodesPass()(model)
        return model
    found = pattern.RewriteRuleSet([rule for law in workload.laws for rule in rules(law)])
    while found.apply_to_model(model):
        pass
    return model


def count(model: ir.Model) -> Counter[str]:
    return Counter(node.op_type for node in model.graph)
