"""The same work by hand, without types, names, records or checks: on plain dictionaries, which is the least that
Python needs, and on networkx, by its public calls and directly in its dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import networkx as nx
from workloads import Workload

DISTRIBUTION = "networkx"
VARIANTS = {
    "dictionaries": ("chain", "blocks", "dead", "forks"),
    "networkx": ("chain", "blocks", "dead", "forks"),
    "networkx, its dictionaries": ("chain", "dead"),
    "networkx, and a copy before": ("dead",),
}


class Tables:
    """A graph as three dictionaries: each node's op, operands and readers."""

    def __init__(self, workload: Workload) -> None:
        self.op: dict[int, str] = {}
        self.operands: dict[int, list[int]] = {}
        self.readers: dict[int, list[int]] = {}
        for number, (op, operands) in enumerate(workload.nodes):
            self.op[number], self.operands[number], self.readers[number] = op, list(operands), []
            for operand in operands:
                self.readers[operand].append(number)


def build(workload: Workload, variant: str) -> Tables | nx.DiGraph:
    if variant == "dictionaries":
        return Tables(workload)
    graph = nx.DiGraph()
    for number, node in enumerate(workload.nodes):
        graph.add_node(number, op=node.op)
        for operand in dict.fromkeys(node.operands):
            graph.add_edge(operand, number, slots=[s for s, o in enumerate(node.operands) if o == operand])
    return graph


def run(model: Tables | nx.DiGraph, workload: Workload, variant: str) -> Tables | nx.DiGraph:
    if variant.endswith("copy before"):
        model = model.copy()
    BY_HAND["networkx" if variant.endswith("before") else variant, workload.name](model)
    return model


def count(model: Tables | nx.DiGraph) -> Counter[str]:
    return Counter(model.op.values() if isinstance(model, Tables) else (op for _, op in model.nodes(data="op")))


# ------------------------------------------------------------------ on plain dictionaries


def fuse_chain(tables: Tables) -> None:
    """The unit of all figures: time per rewrite of this loop over 10,000 ops is 1 x."""
    op, operands, readers = tables.op, tables.operands, tables.readers
    fresh = len(op)
    places = [node for node, kind in op.items() if kind == "add"]
    while places:
        total = places.pop()
        if op.get(total) != "add":
            continue
        first, second = operands[total]
        if op[first] == "mul" and len(readers[first]) == 1:
            product, other = first, second
        elif op[second] == "mul" and len(readers[second]) == 1:
            product, other = second, first
        else:
            continue
        x, factor = operands[product]
        op[fresh], operands[fresh] = "fma", [x, factor, other]
        for source, gone in ((x, product), (factor, product), (other, total)):
            those = readers[source]
            those[those.index(gone)] = fresh
        readers[fresh] = readers[total]
        for reader in readers[fresh]:
            slots = operands[reader]
            for slot, source in enumerate(slots):
                if source == total:
                    slots[slot] = fresh
            if op[reader] == "add":
                places.append(reader)
        for gone in (total, product):
            del op[gone], operands[gone], readers[gone]
        fresh += 1


def fuse_blocks(tables: Tables) -> None:
    """The three rules that fire; the others cost it nothing."""
    op, operands, readers = tables.op, tables.operands, tables.readers
    below = {
        "norm": ("convolve", "conv_norm"),
        "clamp": ("conv_norm", "conv_norm_clamp"),
        "join": ("conv_norm_clamp", "block"),
    }
    fresh = len(op)
    places = [node for node, kind in op.items() if kind in below]
    places.reverse()
    while places:
        top = places.pop()
        if (kind := op.get(top)) not in below:
            continue
        wanted, new = below[kind]
        slots = operands[top]
        for inner in slots if kind == "join" else slots[:1]:
            if op[inner] == wanted and len(readers[inner]) == 1:
                break
        else:
            continue
        others = [source for source in slots if source != inner]
        op[fresh], operands[fresh] = new, [*operands[inner], *others]
        for gone in (inner, top):
            for source in operands[gone]:
                if source != inner:
                    those = readers[source]
                    those[those.index(gone)] = fresh
        readers[fresh] = readers[top]
        for reader in readers[fresh]:
            operands[reader] = [fresh if source == top else source for source in operands[reader]]
            if op[reader] in below:
                places.append(reader)
        for gone in (top, inner):
            del op[gone], operands[gone], readers[gone]
        fresh += 1


def drop_dead(tables: Tables) -> None:
    op, operands, readers = tables.op, tables.operands, tables.readers
    places = [node for node, those in readers.items() if not those and op[node] == "work"]
    while places:
        node = places.pop()
        for source in operands[node]:
            those = readers[source]
            those.remove(node)
            if not those and op[source] == "work":
                places.append(source)
        del op[node], operands[node], readers[node]


def join_forks(tables: Tables) -> None:
    """A result is named by its node and number where a node has two of them."""
    op, operands, readers = tables.op, tables.operands, tables.readers
    fresh = len(op)
    for low in [node for node, kind in op.items() if kind == "low"]:
        (source,) = operands[low]
        high = next((node for node in readers[source] if op[node] == "high"), None)
        if high is None:
            continue
        op[fresh], operands[fresh] = "both", [source]
        readers[source] = [fresh, *(node for node in readers[source] if node not in (low, high))]
        readers[fresh] = [*readers[low], *readers[high]]
        for reader in readers[fresh]:
            operands[reader] = [(fresh, 0) if o == low else (fresh, 1) if o == high else o for o in operands[reader]]
        for gone in (low, high):
            del op[gone], operands[gone], readers[gone]
        fresh += 1


# ------------------------------------------------------------------ on networkx


def fuse_chain_publicly(graph: nx.DiGraph) -> None:
    _fuse_publicly(graph, {"add": ("mul", "fma", 2)})


def fuse_blocks_publicly(graph: nx.DiGraph) -> None:
    fused = {"norm": ("convolve", "conv_norm", 1), "clamp": ("conv_norm", "conv_norm_clamp", 1)}
    _fuse_publicly(graph, {**fused, "join": ("conv_norm_clamp", "block", 2)})


def _fuse_publicly(graph: nx.DiGraph, fused: dict[str, tuple[str, str, int]]) -> None:
    """Fuse a node with one of its first operands, by public calls; op: op below, new op, how many operands to try."""
    nodes = graph.nodes
    fresh = len(graph)
    places = [node for node, op in nodes(data="op") if op in fused]
    places.reverse()
    while places:
        top = places.pop()
        if top not in graph or nodes[top]["op"] not in fused:
            continue
        wanted, new, tried = fused[nodes[top]["op"]]
        slots = slots_of(graph, top)
        for inner in slots[:tried]:
            if nodes[inner]["op"] == wanted and graph.out_degree(inner) == 1:
                break
        else:
            continue
        sources = [*slots_of(graph, inner), *(source for source in slots if source != inner)]
        readers = [(reader, data["slots"]) for _, reader, data in graph.out_edges(top, data=True)]
        graph.remove_nodes_from((top, inner))
        graph.add_node(fresh, op=new)
        for slot, source in enumerate(sources):
            if graph.has_edge(source, fresh):
                graph.edges[source, fresh]["slots"].append(slot)
            else:
                graph.add_edge(source, fresh, slots=[slot])
        for reader, its in readers:
            graph.add_edge(fresh, reader, slots=its)
            if nodes[reader]["op"] in fused:
                places.append(reader)
        fresh += 1


def slots_of(graph: nx.DiGraph, node: int) -> list[int]:
    found = [(slot, source) for source, _, data in graph.in_edges(node, data=True) for slot in data["slots"]]
    found.sort()
    return [source for _, source in found]


def fuse_chain_directly(graph: nx.DiGraph) -> None:
    node, pred, succ = graph._node, graph._pred, graph._succ
    fresh = len(node)
    places = [name for name, data in node.items() if data["op"] == "add"]
    while places:
        total = places.pop()
        if total not in node:
            continue
        around = pred[total]
        product = next((n for n in around if node[n]["op"] == "mul" and len(succ[n]) == 1), None)
        if product is None or len(around) != 2:
            continue
        (other,) = (n for n in around if n != product)
        x, factor = pred[product]
        if pred[product][x]["slots"] == [1]:
            x, factor = factor, x
        edges = {x: {"slots": [0]}, factor: {"slots": [1]}, other: {"slots": [2]}}
        node[fresh], pred[fresh] = {"op": "fma"}, edges
        for source, gone in ((x, product), (factor, product), (other, total)):
            del succ[source][gone]
            succ[source][fresh] = edges[source]
        succ[fresh] = succ.pop(total)
        for reader, data in succ[fresh].items():
            del pred[reader][total]
            pred[reader][fresh] = data
            if node[reader]["op"] == "add":
                places.append(reader)
        del node[total], node[product], pred[total], pred[product], succ[product]
        fresh += 1
    nx._clear_cache(graph)


def drop_dead_publicly(graph: nx.DiGraph) -> None:
    nodes, succ, pred = graph.nodes, graph.succ, graph.pred
    places = [node for node, op in nodes(data="op") if op == "work" and not succ[node]]
    while places:
        node = places.pop()
        sources = list(pred[node])
        graph.remove_node(node)
        for source in sources:
            if succ[source] or nodes[source]["op"] != "work":
                continue
            places.append(source)


def drop_dead_directly(graph: nx.DiGraph) -> None:
    """Reads the dictionaries, writes by a public call: what a hurried user of networkx writes."""
    node, pred, succ = graph._node, graph._pred, graph._succ
    places = [name for name, readers in succ.items() if not readers and node[name]["op"] == "work"]
    while places:
        name = places.pop()
        sources = list(pred[name])
        graph.remove_node(name)
        for source in sources:
            if succ[source] or node[source]["op"] != "work":
                continue
            places.append(source)


def join_forks_publicly(graph: nx.DiGraph) -> None:
    fresh = len(graph)
    for low in [node for node, op in graph.nodes(data="op") if op == "low"]:
        (source,) = graph.pred[low]
        high = next((node for node in graph.succ[source] if graph.nodes[node]["op"] == "high"), None)
        if high is None:
            continue
        moved: dict[int, list[tuple[int, int]]] = {}
        for result, gone in enumerate((low, high)):
            for reader, data in graph.succ[gone].items():
                moved.setdefault(reader, []).extend((slot, result) for slot in data["slots"])
        graph.remove_nodes_from((low, high))
        graph.add_node(fresh, op="both")
        graph.add_edge(source, fresh, slots=[0])
        for reader, slots in moved.items():
            graph.add_edge(fresh, reader, slots=slots)
        fresh += 1


BY_HAND: dict[tuple[str, str], Callable[..., None]] = {
    ("dictionaries", "chain"): fuse_chain,
    ("dictionaries", "blocks"): fuse_blocks,
    ("dictionaries", "dead nodes"): drop_dead,
    ("dictionaries", "forks"): join_forks,
    ("networkx", "chain"): fuse_chain_publicly,
    ("networkx", "blocks"): fuse_blocks_publicly,
    ("networkx", "dead nodes"): drop_dead_publicly,
    ("networkx", "forks"): join_forks_publicly,
    ("networkx, its dictionaries", "chain"): fuse_chain_directly,
    ("networkx, its dictionaries", "dead nodes"): drop_dead_directly,
}
