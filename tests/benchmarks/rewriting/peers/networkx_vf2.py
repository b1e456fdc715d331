"""networkx's VF2 matcher as an engine: find all embeddings of a rule's inner nodes, replace those that still stand and
are read by nobody else, until a round over all rules finds nothing."""

from __future__ import annotations

from collections.abc import Iterable

import limits
import networkx as nx
from networkx.algorithms import isomorphism
from workloads import Law, Term, Workload

DISTRIBUTION = "networkx"
VARIANTS = {"": ("chain", "blocks")}


def build(workload: Workload, variant: str) -> nx.DiGraph:
    return limits.build(workload, "networkx")


count = limits.count


def sought(root: Term) -> nx.DiGraph:
    """The pattern's nodes without its variables; the root is node 0."""
    graph = nx.DiGraph()
    parts = list(root.parts())
    numbers = {id(part): number for number, part in enumerate(parts)}
    graph.add_nodes_from((numbers[id(part)], {"op": part.op}) for part in parts)
    for part in parts:
        inner = (operand for operand in part.operands if isinstance(operand, Term))
        graph.add_edges_from((numbers[id(operand)], numbers[id(part)]) for operand in inner)
    return graph


def tops(graph: nx.DiGraph, pattern: nx.DiGraph) -> Iterable[int]:
    matcher = isomorphism.DiGraphMatcher(graph, pattern, node_match=lambda a, b: a["op"] == b["op"])
    return [next(n for n, p in found.items() if p == 0) for found in matcher.subgraph_monomorphisms_iter()]


def run(model: nx.DiGraph, workload: Workload, variant: str) -> nx.DiGraph:
    return to_fixed_point(model, workload.laws, tops)


def to_fixed_point(graph: nx.DiGraph, laws: tuple[Law, ...], find) -> nx.DiGraph:
    """Apply rules where a finder of embeddings says; it knows neither slots nor readers, so both are looked at."""
    rules = [(root, law.new, sought(root)) for law in laws for root in law.root.orders()]
    fresh = len(graph)
    again = True
    while again:
        again = False
        for root, new, pattern in rules:
            for top in find(graph, pattern):
                bound: dict[str, int] = {}
                gone: list[int] = []
                if top in graph and fits(graph, root, top, bound, gone):
                    replace(graph, top, gone, fresh, new.op, [bound[name] for name in new.operands])
                    fresh += 1
                    again = True
    return graph


def fits(graph: nx.DiGraph, term: Term, node: int, bound: dict[str, int], gone: list[int]) -> bool:
    if graph.nodes[node]["op"] != term.op or (gone and graph.out_degree(node) != 1):
        return False
    gone.append(node)
    sources = limits.slots_of(graph, node)
    if len(sources) != len(term.operands):
        return False
    for wanted, source in zip(term.operands, sources, strict=True):
        if isinstance(wanted, Term):
            if not fits(graph, wanted, source, bound, gone):
                return False
        elif bound.setdefault(wanted, source) != source:
            return False
    return True


def replace(graph: nx.DiGraph, top: int, gone: list[int], new: int, op: str, sources: list[int]) -> None:
    readers = [(reader, data["slots"]) for _, reader, data in graph.out_edges(top, data=True)]
    graph.remove_nodes_from(gone)
    graph.add_node(new, op=op)
    for source in dict.fromkeys(sources):
        graph.add_edge(source, new, slots=[slot for slot, other in enumerate(sources) if other == source])
    for reader, slots in readers:
        graph.add_edge(new, reader, slots=slots)
