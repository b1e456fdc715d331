"""This library: graphs of its own with types, rules in its notation.

Variants: ``copy`` for the call as a user writes it, which leaves its argument as it was, ``trace`` for a whole record
of that, ``python`` for rules whose lower half decides anew at each match and so must run each time, ``constant`` for
rules that compute a new constant at each match, ``every`` for one match of all readers of a value, ``once`` where each
node is looked at once, the path of an ONNX file for the library's own rules on it, and ``define`` where the rules are
defined within the time, which otherwise happens before, as on import.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from workloads import COMMUTATIVE, LEAF, RESULT, Law, Workload

from graphrewrite import Constant, Graph, Rule, Tensor, decline, define_op, op, rewrite, rule, trace
from graphrewrite.op import Op
from graphrewrite.rules import RULES, eliminate_dead_nodes

DISTRIBUTION = "graphrewrite"

FLOATS = Tensor("f32", ("N", 4))
WEIGHT = np.ones(4, np.float32)
MEANINGS = (
    lambda: None,
    lambda a: a,
    lambda a, b: a,
    lambda a, b, c: a,
    lambda a, b, c, d: a,
    lambda a, b, c, d, e: a,
)
"""Nothing is computed here; an op's signature is its function's."""


def new_ops(workload: Workload) -> dict[str, Op]:
    two = {law.new.op for law in workload.laws if len(law.roots) == 2}
    return {
        name: define_op(
            name=name,
            commutative=name in COMMUTATIVE,
            results=2 if name in two else 1,
            **({"infer": lambda a: (a, a)} if name in two else {}),
        )(MEANINGS[operands])
        for name, operands in workload.ops.items()
    }


def build(workload: Workload, variant: str) -> tuple[Graph, tuple[Rule, ...]]:
    if workload.name == "network":
        from graphrewrite.lowering import from_onnx

        return from_onnx(variant), RULES
    graph = graph_of(workload)
    return graph, () if variant == "define" else rules_of(graph, workload, variant)


def graph_of(workload: Workload) -> Graph:
    graph = Graph("bench", ops=() if workload.name == "chain" else new_ops(workload).values())
    names = {number: f"{node.op}_{number}" for number, node in enumerate(workload.nodes)}
    for number, (kind, operands) in enumerate(workload.nodes):
        data: dict[str, object] = {"type": kind, "result": FLOATS, "origin": (names[number],)}
        if kind == LEAF and number:
            data |= {"type": "constant", "value": WEIGHT, "result": Tensor("f32", (4,))}
        elif kind == LEAF:
            data |= {"type": "input", "index": 0}
        elif kind == RESULT:
            data = {"type": "output", "index": 0, "origin": (names[number],)}
        graph.add_node(names[number], **data)
        for operand in dict.fromkeys(operands):
            slots = tuple((slot, 0) for slot, other in enumerate(operands) if other == operand)
            graph.add_edge(names[operand], names[number], slots=slots)
    return graph


def rule_of(law: Law, ops: dict[str, Op], variant: str) -> Rule:
    """Write the law as a rule and run that source, as a user would write it."""
    variables = dict.fromkeys(name for root in law.roots for name in root.variables)
    parameters = (f"{name}: Constant" if name == "c" and "constant" in variant else name for name in variables)
    lines = [f"def {law.name}({', '.join(parameters)}):", f'    "{law.pattern} is {law.replacement}."']
    first = law.roots[0].variables[0]
    if variant == "every":
        lines += [f"    found = rule.every({first}, {law.root.op})", "    yield found", f"    new = {law.replacement}"]
        lines.append("    return [new] * len(found.nodes)")
    else:
        lines.append(f"    yield {law.pattern}")
    if "python" in variant:
        lines += [f"    if {first}.type.element != 'f32':", "        return decline('only floats')"]
    new = law.replacement
    if "constant" in variant:
        new = new.replace("c,", "c.value * 2,")
    if variant != "every":
        lines.append(f"    return {new}")
    scope = {**ops, "decline": decline, "Constant": Constant, "rule": rule}
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    return rule(scope[law.name])


def rules_of(graph: Graph, workload: Workload, variant: str) -> tuple[Rule, ...]:
    ops = graph.ops or {"mul": op.mul, "add": op.add, "fma": op.fma}
    return tuple(rule_of(law, ops, variant) for law in workload.laws)


def run(model: tuple[Graph, tuple[Rule, ...]], workload: Workload, variant: str) -> Graph:
    graph, rules = model
    if workload.name == "network":
        return rewrite(graph, rules)
    if not workload.laws and variant == "copy":
        return eliminate_dead_nodes(graph)
    if not workload.laws:
        eliminate_dead_nodes.apply_in_place(graph)
        return graph
    rules = rules or rules_of(graph, workload, variant)
    if variant == "trace":
        return trace(graph, rules).graph
    return rewrite(graph, rules, copy=variant == "copy", once=variant == "once")


def count(model: Graph) -> Counter[str]:
    return Counter(kind for _, kind in model.nodes(data="type"))
