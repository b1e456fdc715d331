"""torch.fx's subgraph rewriter, one rule a call, repeated until none matches; and the pattern matcher of Inductor."""

from __future__ import annotations

import operator
import sys
import types
from collections import Counter
from collections.abc import Callable

import torch
from torch import fx
from torch._inductor.pattern_matcher import CallFunction, KeywordArg, PatternMatcherPass, register_graph_pattern
from torch.fx import subgraph_rewriter
from workloads import LEAF, RESULT, Term, Workload

DISTRIBUTION = "torch"
VARIANTS = {"subgraph rewriter": ("chain", "blocks", "dead", "forks"), "Inductor": ("chain", "blocks")}
SPARE = True

OPS = types.ModuleType("bench_ops")
sys.modules[OPS.__name__] = OPS


def function(op: str) -> Callable[..., object]:
    """A Python function that stands for an op; generated code finds it in a module."""
    if not hasattr(OPS, op):
        scope = {"__name__": OPS.__name__}
        exec(f"def {op}(*operands): return operands[0]", scope)
        setattr(OPS, op, scope[op])
    return getattr(OPS, op)


def build(workload: Workload, variant: str) -> fx.GraphModule:
    graph = fx.Graph()
    root = torch.nn.Module()
    root.weight = 1.0
    made: list[fx.Node] = []
    for number, (op, operands) in enumerate(workload.nodes):
        sources = tuple(made[operand] for operand in operands)
        if op == LEAF:
            made.append(graph.get_attr("weight") if number else graph.placeholder("x"))
        elif op == RESULT:
            result = sources[0]
            made.append(result)
        else:
            made.append(graph.call_function(function(op), sources))
    graph.output(result)
    return fx.GraphModule(root, graph)


def graph_of(terms: tuple[Term, ...], names: tuple[str, ...], results: int = 1) -> fx.Graph:
    graph = fx.Graph()
    bound = {name: graph.placeholder(name) for name in names}

    def call(term: Term | str) -> fx.Node:
        if isinstance(term, str):
            return bound[term]
        return graph.call_function(function(term.op), tuple(map(call, term.operands)))

    made = tuple(map(call, terms))
    if results > 1:
        made = tuple(graph.call_function(operator.getitem, (made[0], i)) for i in range(results))
    graph.output(made if len(made) > 1 else made[0])
    return graph


def sought(term: Term | str) -> object:
    return KeywordArg(term) if isinstance(term, str) else CallFunction(function(term.op), *map(sought, term.operands))


def inductor(workload: Workload) -> PatternMatcherPass:
    found = PatternMatcherPass()
    for law in workload.laws:
        for root in law.root.orders():

            def replace(match, new=law.new, **bound):
                old = match.output_node()
                with match.graph.inserting_before(old):
                    made = match.graph.call_function(function(new.op), tuple(bound[name] for name in new.operands))
                made.meta.update(old.meta)
                old.replace_all_uses_with(made)
                match.erase_nodes()

            register_graph_pattern(sought(root), pass_dict=found)(replace)
    return found


def run(model: fx.GraphModule, workload: Workload, variant: str) -> fx.GraphModule:
    if not workload.laws:
        model.graph.eliminate_dead_code()
        return model
    if variant == "Inductor":
        matcher = inductor(workload)
        while matcher.apply(model):
            pass
        model.recompile()
        return model
    pairs = []
    for law in workload.laws:
        for roots in [(root,) for root in law.root.orders()] if len(law.roots) == 1 else [law.roots]:
            names = tuple(dict.fromkeys(name for root in roots for name in root.variables))
            pairs.append((graph_of(roots, names), graph_of((law.new,), names, len(roots))))
    again = True
    while again:
        again = False
        for old, new in pairs:
            again |= bool(subgraph_rewriter.replace_pattern_with_filters(model, old, new))
    return model


def count(model: fx.GraphModule) -> Counter[str]:
    return Counter(getattr(node.target, "__name__", node.op) for node in model.graph.nodes)


def warm_up() -> None:
    """Inductor's first use imports for seconds."""
    from workloads import chain

    run(build(chain(20), "Inductor"), chain(20), "Inductor")
