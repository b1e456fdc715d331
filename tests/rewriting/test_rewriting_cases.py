"""Cases of match, rewrite, overlap, names, traversal and determinism, beside a development checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Graph, Tensor, define_op, op
from graphrewrite.errors import RuleError
from graphrewrite.graph.dataflow import Dataflow
from graphrewrite.graph.edit import apply_edit
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.hierarchy.module import Module
from graphrewrite.rewriting.digraph_rules import GraphRule, fresh_name, from_graphs, non_overlapping
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.pattern.condition import Where
from graphrewrite.rules import eliminate_dead_nodes

FILE = Path(__file__).parents[3] / "shared" / "cases" / "rewriting.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text("utf-8"))["cases"]} if FILE.is_file() else {}

LACKING = {
    "L06": "hdl wires whole payloads; nothing is wired by index",
    "L07": "hdl has no component of a truth table",
}
"""What the library does not have yet."""


def digraph(data: dict[str, Any], kind: type[nx.DiGraph] = nx.DiGraph) -> nx.DiGraph:
    graph = kind(**data.get("attributes", {}))
    graph.add_nodes_from((name, dict(attributes)) for name, attributes in data["nodes"].items())
    for source, destination, *attributes in data["edges"]:
        graph.add_edge(source, destination, **(attributes[0] if attributes else {}))
    return graph


def chain(*types: str) -> nx.DiGraph:
    names = [f"{kind}{index}" for index, kind in enumerate(types)]
    graph = nx.DiGraph()
    graph.add_nodes_from((name, {"type": kind}) for name, kind in zip(names, types, strict=True))
    nx.add_path(graph, names)
    return graph


def without_anchor_type(graph: nx.DiGraph) -> nx.DiGraph:
    """What the cases call an interface has any type."""
    for data in graph.nodes.values():
        if data.get("type") in ("interface", "*"):
            del data["type"]
    return graph


def pattern_of(case: dict[str, Any]) -> nx.DiGraph:
    pattern = without_anchor_type(digraph(case["pattern"]))
    constraint = case["constraint"]
    if isinstance(constraint, dict) and "graph_nodes_allowed" not in constraint:
        for name, data in pattern.nodes(data=True):
            allowed = constraint.get(name, constraint["else"])
            if allowed != "type":
                data["type"] = set(allowed)
    return pattern


def rule_of(case: dict[str, Any], replacement: Any = None, pattern: Any = None, **options: Any) -> GraphRule:
    given = replacement if replacement is not None else without_anchor_type(digraph(case["replacement"]))
    return from_graphs(
        pattern_of(case) if pattern is None else pattern,
        given,
        name=case["id"],
        interface=case["pattern"]["interface"],
        induced=True,
        **options,
    )


def looking_for(pattern: nx.DiGraph, **options: Any) -> GraphRule:
    """A rule that is there to find; it keeps all it matches."""
    replacement = pattern.copy()
    replacement.nodes[next(iter(pattern))]["seen"] = True
    return from_graphs(pattern, replacement, name="look", interface=list(pattern), induced=True, **options)


def one_pass(rule: GraphRule, graph: nx.DiGraph) -> nx.DiGraph:
    """Carry out all matches that do not overlap."""
    graph = graph.copy()
    for match in non_overlapping(rule.find(graph)):
        edit = rule.edit(graph, match)
        apply_edit(graph, edit)
    return graph


def types_in_order(graph: nx.DiGraph) -> list[str]:
    return [graph.nodes[name]["type"] for name in nx.topological_sort(graph)]


def same_structure(made: nx.DiGraph, expected: dict[str, Any]) -> bool:
    return nx.is_isomorphic(made, digraph(expected), node_match=dict.__eq__, edge_match=dict.__eq__)


def same_edges(made: nx.DiGraph, expected: dict[str, Any]) -> bool:
    return sorted(map(list, made.edges)) == sorted(expected["edges"])


# ---------------------------------------------------------------------- matches, what forbids them, what overlaps


def check_match(case: dict[str, Any]) -> None:
    constraint = case["constraint"]
    options = {}
    if "graph_nodes_allowed" in constraint:
        allowed = set(constraint["graph_nodes_allowed"])
        options["condition"] = Where(lambda match: allowed.issuperset(match.nodes), "its nodes are allowed")
    found = [match.bindings for match in looking_for(pattern_of(case), **options).find(digraph(case["graph"]))]
    wanted = case["expected"]["matches"]
    assert len(found) == len(wanted)
    assert all(match in found for match in wanted)


def check_dangling(case: dict[str, Any]) -> None:
    pattern = nx.path_graph(list(case["match"]), nx.DiGraph)
    kept = pattern.subgraph(case["interface"])
    rule = from_graphs(pattern, kept, name=case["id"], interface=case["interface"], induced=True)
    found = [match.bindings for match in rule.find(digraph(case["graph"]))]
    assert (case["match"] not in found) == case["expected"]["dangling"]
    loose = from_graphs(pattern, kept, name=case["id"], interface=case["interface"])
    told = loose.explain(digraph(case["graph"]), at="b")
    assert ("to the outside of the match" in told) == case["expected"]["dangling"]


def check_conflict_filter(case: dict[str, Any]) -> None:
    pattern = nx.path_graph(list(case["matches_in_order"][0]), nx.DiGraph)
    interface = case["interface"]
    rule = from_graphs(pattern, pattern.subgraph(interface), name=case["id"], interface=interface, induced=True)
    matches = rule.find(digraph(case["graph"]))
    assert [match.bindings for match in matches] == case["matches_in_order"]
    assert [match.bindings for match in non_overlapping(matches)] == case["expected"]["kept"]


def check_names(case: dict[str, Any]) -> None:
    taken, given = list(case["taken"]), []
    for request in case["requests"]:
        given.append(fresh_name(taken, request))
        taken.append(given[-1])
    assert given == case["expected"].get("names", given)
    assert not set(given) & set(case["expected"].get("must_not_be_in", ()))


# ---------------------------------------------------------------------- rewriting


def check_rewrite(case: dict[str, Any]) -> None:
    graph, expected = digraph(case["graph"]), case["expected"]
    before = graph.copy()
    made = rewrite(graph, [rule_of(case)])
    assert same_structure(made, expected) if "nodes" in expected else same_edges(made, expected)
    assert nx.utils.graphs_equal(graph, before)


def check_changed_interface(case: dict[str, Any]) -> None:
    made = rule_of(case)(digraph(case["graph"]))
    assert dict(made.nodes(data="type")) == case["expected"]["node_types"]
    assert same_edges(made, case["expected"])


def check_outside_readers(case: dict[str, Any]) -> None:
    graph = digraph(case["graph"])
    assert rule_of(case).find(graph) == []
    assert same_edges(rule_of(case, groups=["e"])(graph), case["expected"])


def check_outside_operands(case: dict[str, Any]) -> None:
    graph, pattern = digraph(case["graph"]), pattern_of(case)
    assert rule_of(case).find(graph) == []
    pattern.add_edge("s", "a")  # what feeds either of the two
    assert same_edges(rule_of(case, pattern=pattern, groups=["s"])(graph), case["expected"])


def check_windows(case: dict[str, Any]) -> None:
    given, expected = case["graph"], case["expected"]
    graph = chain(given["first"], *(given["types"][i % 2] for i in range(given["length"])), given["last"])
    rule = rule_of(case)

    def macs(made: nx.DiGraph) -> int:
        return sum(kind == "mac" for _, kind in made.nodes(data="type"))

    assert len(rule.find(graph)) == expected["windows"]
    assert macs(one_pass(rule, graph)) == expected["one_pass_mac_with_one_node_anchors"]
    made = rule(graph)
    assert macs(made) == expected["fixpoint_mac"]
    assert len(made) == expected["fixpoint_node_count"]


def check_computed(case: dict[str, Any]) -> None:
    def fused(match: Any) -> nx.DiGraph:
        replacement = without_anchor_type(digraph(case["replacement"]))
        replacement.nodes["fused"]["weight"] = match["conv"]["weight"] + match["bn"]["weight"]
        return replacement

    assert same_structure(rule_of(case, fused)(digraph(case["graph"])), case["expected"])


def check_adjacent_blocks(case: dict[str, Any]) -> None:
    rule, graph, expected = rule_of(case), digraph(case["graph"]), case["expected"]
    assert len(one_pass(rule, graph)) == expected["one_pass"]["node_count"]
    made = rule(graph)
    assert len(made) == expected["fixpoint"]["node_count"]
    assert types_in_order(made) == expected["fixpoint"]["types_in_order"]


def check_missing_anchor(case: dict[str, Any]) -> None:
    (name,) = case["expected"]["names"]
    with pytest.raises(RuleError, match=f"its replacement lacks the interface node '{name}'"):
        rule_of(case)


def check_reordered(case: dict[str, Any]) -> None:
    made = rule_of(case)(digraph(case["graph"]))
    assert types_in_order(made) == case["expected"]["types_in_order"]
    of_type = {data["type"]: data for _, data in made.nodes(data=True)}
    for path, value in case["expected"]["kept"].items():
        kind, attribute = path.split(".")
        assert of_type[kind][attribute] == value


def check_compensated(case: dict[str, Any]) -> None:
    """What would be one entry of a library is the data of both nodes: graphs have no library of graphs yet."""

    def reordered(match: Any) -> nx.DiGraph:
        scale = np.sign(match["norm"]["scale"])
        if (scale >= 0).all():
            return nx.path_graph(["s", "norm", "sign", "pool", "e"], nx.DiGraph)
        made = nx.path_graph(["s", "norm", "sign", "before", "pool", "after", "e"], nx.DiGraph)
        channels = len(scale)
        for name in ("before", "after"):
            made.nodes[name].update(type="conv1d", kernel_size=1, groups=channels, bias=[0.0] * channels)
            made.nodes[name].update(
                in_channels=channels, out_channels=channels, weight=scale.reshape(-1, 1, 1).tolist()
            )
        return made

    made = rule_of(case, reordered)(digraph(case["graph"]))
    assert types_in_order(made) == case["expected"]["types_in_order"]
    wanted = case["expected"]["library_added"]["scaling_compensation"]
    assert [data for _, data in made.nodes(data=True) if "kernel_size" in data] == [wanted, wanted]


# ---------------------------------------------------------------------- lowering, as rules over digraphs


def filters(case: dict[str, Any]) -> nx.DiGraph:
    graph = chain(*case["graph"]["types"])
    for name, data in zip(list(graph)[1:-1], case["graph"]["filters"], strict=True):
        graph.nodes[name].update(data)
    first = list(graph)[1]
    graph.nodes[first]["step"] = graph.nodes[first]["stride"]
    return graph


def with_registers(case: dict[str, Any]) -> nx.DiGraph:
    """Put a register before each filter that sees several beats; a filter that sees one hands on how far they reach."""

    def pair(kernel: Any) -> nx.DiGraph:
        pattern = nx.DiGraph([("a", "b")])
        pattern.nodes["a"].update(type="filter", step=Where(lambda step: step > 0, "it is known"))
        pattern.nodes["b"].update(type="filter", kernel=kernel)
        return pattern

    def remembered(match: Any) -> nx.DiGraph:
        made = nx.DiGraph([("a", "b")])
        made.nodes["b"]["step"] = match["a"]["step"] * match["b"]["stride"]
        return made

    def registered(match: Any) -> nx.DiGraph:
        made = nx.DiGraph([("a", "register"), ("register", "b")])
        kind = "striding_shift_register" if match["a"]["step"] > 1 else "shift_register"
        made.nodes["register"].update(type=kind, output_shape=[match["b"]["in"], match["b"]["kernel"]])
        made.nodes["b"]["step"] = match["b"]["stride"]
        return made

    several = Where(lambda kernel: kernel > 1, "it sees several beats")
    remember = from_graphs(pair(1), remembered, name="remember", interface=["a", "b"])
    register = from_graphs(pair(several), registered, name="register", interface=["a", "b"])
    return rewrite(filters(case), [remember, register])


def check_register(case: dict[str, Any]) -> None:
    graph, expected = with_registers(case), case["expected"]
    (register,) = [name for name, data in graph.nodes(data=True) if "output_shape" in data]
    first, second = list(graph)[1:3]
    assert graph.nodes[register]["type"] == expected["register_type"]
    assert graph.nodes[register]["output_shape"] == expected["register_output_shape"]
    assert (list(graph.pred[register]), list(graph.succ[register])) == ([first], [second])


def check_remembered_stride(case: dict[str, Any]) -> None:
    graph = with_registers(case)
    (pointwise,) = [name for name, data in graph.nodes(data=True) if data.get("kernel") == 1]
    (reader,) = graph.succ[pointwise]
    assert graph.nodes[reader]["type"] == case["expected"]["successor_type_of_pointwise"]


def check_handshake(case: dict[str, Any]) -> None:
    pattern = nx.path_graph(["s", "x", "e"], nx.DiGraph)
    pattern.nodes["x"]["type"] = "unclocked_combinatorial"
    skip = from_graphs(pattern, nx.DiGraph([("s", "e")]), name="skip", interface=["s", "e"])
    clocked = skip(digraph(case["graph"]))
    assert {b: a for a, b in clocked.edges} == case["expected"]["valid_from"]
    assert dict(list(clocked.edges)) == case["expected"]["ready_from"]


def check_shapes(case: dict[str, Any]) -> None:
    x = Tensor("f32", (1, *case["graph"]["input_shape"]))
    (pooled,) = op.max_pool.infer(x, kernel=(2,), strides=(2,), pads=(0, 0))
    assert [*pooled.shape] == [1, *case["expected"]["maxpool1d"]]
    (flat,) = op.flatten.infer(x)
    assert [*flat.shape] == case["expected"]["flatten"]


# ---------------------------------------------------------------------- analysis, traversal, serialising, determinism


def check_dead_and_independent(case: dict[str, Any]) -> None:
    graph = digraph(case["graph"], Dataflow)
    for name in graph:
        for slot, source in enumerate(graph.pred[name]):
            graph.edges[source, name]["slots"] = ((slot, 0),)
    assert sorted(graph.dead_nodes()) == case["expected"]["dead"]
    assert sorted(graph.independent_nodes()) == case["expected"]["independent"]
    made = rewrite(nx.DiGraph(graph), [eliminate_dead_nodes])
    after = case["expected"]["after_dead_elimination"]
    assert sorted(made) == after["nodes"]
    assert same_edges(made, after)


def check_traversal(case: dict[str, Any]) -> None:
    """Every function of networkx works on the library's graphs."""
    graph = Dataflow(nx.from_dict_of_lists(case["adjacency"], nx.DiGraph))
    (start,) = case["start"]
    if case["direction"] == "up":
        order = [n for n in nx.topological_sort(graph.reverse()) if n in graph.upstream(start)]
        assert order == case["expected"]["order"]
    else:
        assert list(nx.dfs_preorder_nodes(graph, start)) in case["expected"]["one_of"]


def check_dictionaries(case: dict[str, Any]) -> None:
    graph = digraph(case["graph"], Dataflow)
    written = {"nodes": dict(graph.nodes(data=True)), "edges": nx.to_dict_of_dicts(graph), "attributes": graph.graph}
    if "round_trip_equal" not in case["expected"]:
        assert json.loads(json.dumps(written)) == case["expected"]
        return
    read = Dataflow(nx.from_dict_of_dicts(written["edges"], nx.DiGraph), **written["attributes"])
    nx.set_node_attributes(read, written["nodes"])
    assert nx.utils.graphs_equal(read, graph) == case["expected"]["round_trip_equal"]


PROBE = """
import networkx as nx
from graphrewrite.rewriting.digraph_rules import from_graphs
graph = nx.DiGraph()
kinds = ["input", *["prelu", "conv"] * 12, "output"]
graph.add_nodes_from((f"{kind}_{index}", {"type": kind}) for index, kind in enumerate(kinds))
nx.add_path(graph, list(graph))
pattern, replacement = nx.path_graph("sxe", nx.DiGraph), nx.path_graph(["s", "binarize", "e"], nx.DiGraph)
pattern.nodes["x"]["type"] = {"prelu", "relu", "elu"}
replacement.nodes["binarize"]["type"] = "binarize"
made = from_graphs(pattern, replacement, name="swap", interface=["s", "e"])(graph)
print(list(made.nodes(data=True)), list(made.edges(data=True)))
"""


def check_hash_seeds(case: dict[str, Any]) -> None:
    root = str(Path(__file__).parents[2])
    made = set()
    for seed in range(4):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": root}
        done = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60, env=environment
        )
        made.add(done.stdout)
    assert (len(made) == 1) == case["expected"]["identical_across_hash_seeds"]
    assert made.pop().count("{'type': 'binarize'}") == 12


GROUPS: dict[str, Callable[[dict[str, Any]], None]] = {
    "match": check_match,
    "dangling": check_dangling,
    "conflict_filter": check_conflict_filter,
    "names": check_names,
    "rewrite": check_rewrite,
    "traversal": check_traversal,
    "serialise": check_dictionaries,
    "determinism": check_hash_seeds,
}
"""How the cases of a group are checked, unless a case has its own way."""


@define_op
def holder(x, *, data=None):
    """Its operand; it holds data."""
    return x


def stored(data: Any) -> tuple[Graph, Any]:
    graph = Graph("g", ops=[holder])
    node = graph.add(holder, [graph.input("x", Tensor("f32", ("N",)))], {"data": data}).node
    return graph, node


def check_plain_attributes(case: dict[str, Any]) -> None:
    """Sequences are stored as tuples; printed as JSON they are lists."""
    for given, wanted in zip(case["inputs"], case["expected"], strict=True):
        given = range(3) if given == "range(3)" else given
        graph, node = stored(given)
        kept = graph.nodes[node]["data"]
        assert json.loads(json.dumps(kept)) == wanted
        assert kept == (tuple(wanted) if isinstance(wanted, list) else {"x": (1, {"y": 2})})


def check_change_by_path(case: dict[str, Any]) -> None:
    """A node's dictionary is its data: a path is followed and written to as in any dictionary."""
    graph, node = stored(case["inputs"])
    (first, last), value = case["update"]
    graph.nodes[node]["data"][first][last] = value
    assert graph.attributes(node)["data"] == case["expected"]


def check_collection(case: dict[str, Any]) -> None:
    """What a graph needs stays in the module, what nobody needs goes, what is missing is no error."""
    module = Module("net")
    for name in case["graph"]["library"]:
        module.add_graph(name)
    main = module["main"]
    for node, implementation in case["graph"]["main"].items():
        main.add_node(node, type="x", implementation=implementation)
    assert list(module.collect("main")) == case["expected"]["library"]
    assert module.implementation("main", "b") is None
    assert list(module) == case["graph"]["library"]


def check_added_graph(case: dict[str, Any]) -> None:
    """A replacement knows the graphs that it makes nodes of as its ops; they come into the module."""
    added = case["replacement"]["registry_add"]

    def replacement(match: Any) -> Graph:
        made = Graph(without_anchor_type(digraph(case["replacement"])))
        for name, data in added.items():
            graph = Graph(name)
            graph.add_node("only", **data)
            made.adopt(graph_op(graph))
            made.nodes["b"]["implementation"] = name
        for source, destination in made.edges:
            made.edges[source, destination]["slots"] = ((0, 0),)
        return made

    module = Module("net")
    module["main"] = digraph(case["graph"])
    for source, destination in module["main"].edges:
        module["main"].edges[source, destination]["slots"] = ((0, 0),)
    for rewritten in (rewrite(module, rule_of(case, replacement)), rewrite(module, rule_of(case, replacement(None)))):
        assert types_in_order(rewritten["main"]) == ["input", "y", "output"]
        assert [name for name in rewritten if name != "main"] == case["expected"]["registry_keys"]
        (node,) = (n for n, data in rewritten["main"].nodes(data=True) if data["type"] == "y")
        found = rewritten.implementation("main", node)
        assert found is not None
        assert found.nodes["only"]["type"] == added[found.name]["type"]
    assert list(module) == ["main"]


OWN: dict[str, Callable[[dict[str, Any]], None]] = {
    "S03": check_plain_attributes,
    "S04": check_change_by_path,
    "C01": check_dead_and_independent,
    "C02": check_collection,
    "L02": check_register,
    "L03": check_remembered_stride,
    "L04": check_handshake,
    "L05": check_shapes,
    "P04": check_changed_interface,
    "P05": check_outside_readers,
    "P06": check_outside_operands,
    "P07": check_windows,
    "W02": check_computed,
    "W03": check_adjacent_blocks,
    "W05": check_missing_anchor,
    "W07": check_added_graph,
    "W08": check_reordered,
    "W09": check_compensated,
}


@pytest.mark.skipif(not CASES, reason=f"{FILE.name} is not beside this checkout")
def test_there_are_all_cases() -> None:
    assert len(CASES) == 54
    assert set(OWN) | set(LACKING) <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_case_agrees(name: str) -> None:
    if name in LACKING:
        pytest.skip(LACKING[name])
    case = CASES[name]
    check = OWN.get(name) or GROUPS[case["group"]]
    check(case)
