"""Nested graphs become one entity each: equal uses share it, and values and cycles equal GHDL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, evaluate, op
from graphrewrite.graph import Value
from graphrewrite.hdl import Design, cosimulate, emit
from graphrewrite.hdl.emission.entity import defaults_of
from graphrewrite.hdl.emission.hierarchy import Hierarchy
from graphrewrite.hdl.emission.names import identifier
from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import quantise, to_integer, to_stream
from tests.support.nested_networks import nested_networks, residual_module
from tests.support.profiles import fewer_examples
from tests.support.random_networks import Network, quantised


def weights(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=0.5, size=sizes).astype(np.float32)


def linear(x: Value, seed: int = 0) -> Value:
    return op.linear(x, weights(4, 4, seed=seed), weights(4, seed=seed + 1))


def graph_of(name: str, build: Callable[[Value], Value]) -> Graph:
    graph = Graph(name)
    graph.output("y", build(graph.input("x", Tensor("f32", ("N", 4)))))
    return graph


def designed(module: Module, samples: Any = None, **options: Any) -> Design:
    samples = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32) if samples is None else samples
    return emit(to_stream(to_integer(quantise(module, samples)), **options), frames=2)


def uses(design: Design) -> dict[str, str]:
    return {block["path"]: block["entity"] for block in design.description["blocks"]}


def instances(text: str) -> list[tuple[str, str]]:
    """Names and entities of the instances in a file."""
    return re.findall(r"^  (\w+) : entity work\.(\w+)$", text, re.MULTILINE)


@pytest.mark.ghdl
def test_values_and_cycles_of_nested_networks_equal_ghdl():
    with fewer_examples():

        @given(nested_networks(), st.integers(4, 12), st.sampled_from(["full", "folded", 2]))
        def is_exact(network: Network, bits: int, parallelism: str | int):
            fixed = quantised(network, bits)
            integer = to_integer(fixed)
            given = {"x": network.samples}
            assert np.array_equal(evaluate(fixed, given)["y"], evaluate(integer, given)["y"])
            design = emit(to_stream(integer, parallelism=parallelism), frames=2)
            report = cosimulate(design)
            assert report.equal, report
            assert_mirrored(design)

        is_exact()


def assert_mirrored(design: Design) -> None:
    """The instances of each block stand in the entity of the block around it, or in the top level."""
    blocks = {block["path"]: block for block in design.description["blocks"]}
    for path, block in blocks.items():
        if block["entity"] is None:
            assert block["notes"]
            continue
        around = path.rpartition(".")[0]
        file = f"blocks/{blocks[around]['entity']}.vhd" if around else f"{design.name}.vhd"
        label = block["instance"].rpartition(".")[2]
        assert (label, block["entity"]) in instances(design.files[file])
        assert block["entity"].startswith(f"{design.name}_{block['graph']}")
    names = [part["instance"] for part in design.description["components"]]
    assert len({*names}) == len(names)


def test_three_uses_share_one_entity_with_weights_of_their_own():
    module, samples = residual_module(head=False)
    design = designed(module, samples)
    assert uses(design) == dict.fromkeys(("block_1", "block_2", "block_3"), "main_block")
    assert [block["notes"] for block in design.description["blocks"]] == [[], [], []]
    assert instances(design.files["main.vhd"]) == [(f"block_{n}_i", "main_block") for n in (1, 2, 3)]
    assert [entity for _, entity in instances(design.files["blocks/main_block.vhd"])].count("matvec") == 2
    given = re.findall(r"LINEAR_1_MATVEC_WEIGHTS => (\w+)", design.files["main.vhd"])
    assert given == [f"main_rom_block_{n}_linear_1_matvec_weights" for n in (1, 2, 3)]
    texts = [design.files[f"rom/main_rom_block_{n}.vhd"].partition(":=")[2] for n in (1, 2, 3)]
    assert len({*texts}) == 3
    for comment in ("-- from linear_1, relu_1", "-- x: stream", "-- y: stream"):
        assert comment in design.files["blocks/main_block.vhd"]


def test_every_use_of_a_block_gives_its_components_what_they_ask_for():
    """And the entity's defaults beside it, where other uses give more."""
    module, samples = residual_module(head=False)
    net = netlist(to_stream(to_integer(quantise(module, samples))))
    hierarchy = Hierarchy(net, "main", reserved=(), file=lambda name: name.replace(" ", "_"))
    for node, each in net.instances.items():
        asked, defaults = each.component.generics(each.site), defaults_of(each.component)
        given = hierarchy.values[node]
        assert {name: literal(given[name]) for name in asked} == {name: literal(v) for name, v in asked.items()}
        others = {name: value for name, value in given.items() if name not in asked}
        wanted = {name: value for name, value in defaults.items() if name not in {name.upper() for name in asked}}
        assert others == (wanted if hierarchy.placement.of[node] else {})
        told = {generic["name"]: generic["value"] for generic in hierarchy.generics(node)}
        plain = {name: value for name, value in asked.items() if not isinstance(value, np.ndarray)}
        assert {name: told[name] for name in plain} == {name: literal(value) for name, value in plain.items()}


def test_a_block_within_a_block_is_an_instance_in_its_entity():
    module = Module("net")
    module["small"] = graph_of("small", lambda x: op.relu(linear(x)))
    module["large"] = graph_of("large", lambda x: module.op("small")(op.relu(linear(module.op("small")(x), 2))))
    module["main"] = graph_of("main", lambda x: linear(module.op("large")(module.op("large")(x)), 4))
    design = designed(module)
    assert [entity for _, entity in instances(design.files["main.vhd"])] == ["main_large", "main_large", "matvec"]
    inner = instances(design.files["blocks/main_large.vhd"])
    assert [entity for _, entity in inner] == ["main_small", "matvec", "requantise", "main_small"]
    assert_mirrored(design)
    files = design.files["compile_order.txt"].split()
    assert files.index("blocks/main_small.vhd") < files.index("blocks/main_large.vhd") < files.index("main.vhd")


def test_uses_with_and_without_branches_to_wait_for_are_buffered_alike():
    module = Module("net")
    cross = module.add_graph("cross")
    a, b = (cross.input(name, Tensor("f32", ("N", 4))) for name in "ab")
    cross.output("s", op.relu(op.add(linear(a), b)))
    cross.output("t", op.relu(linear(b, 2)))
    main = module.add_graph("main")
    p, q = (main.input(name, Tensor("f32", ("N", 4))) for name in "pq")
    for _ in range(2):
        p, q = module.op("cross")(q, p)
    main.output("y", linear(p, 4))
    main.output("z", q)
    samples = {name: np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32) for name in "pq"}
    design = designed(module, samples)
    assert uses(design) == {"cross_1": "main_cross", "cross_2": "main_cross"}
    ports = re.findall(r"^    (\w+)_payload : (in|out)", design.files["blocks/main_cross.vhd"], re.MULTILINE)
    assert sorted(ports) == [("a", "in"), ("b", "in"), ("s", "out"), ("t", "out")]


def test_graphs_of_equal_contents_have_entities_of_their_own():
    module = Module("net")
    for name in ("first", "second"):
        module[name] = graph_of(name, lambda x: op.relu(linear(x)))
    module["main"] = graph_of("main", lambda x: module.op("second")(module.op("first")(x)))
    assert uses(designed(module)) == {"first_1": "main_first", "second_1": "main_second"}


def test_what_a_rewrite_fuses_across_a_border_is_said():
    module = Module("net")
    module["block"] = graph_of("block", linear)
    block = module.op("block")
    module["main"] = graph_of("main", lambda x: block(op.relu(block(x))))
    design = designed(module)
    first, second = design.description["blocks"]
    assert any("also computes relu_1, which a rewrite has fused" in note for note in first["notes"])
    assert second["notes"] == []
    module["block"].remove_node("y")
    module["block"].output("y", module["block"].value("x"))
    (gone, _) = designed(module).description["blocks"]
    assert (gone["entity"], gone["notes"]) == (None, ["no component is left in it"])


@pytest.mark.parametrize("options", [{"interval": 8}, {"max_multipliers": 12}, {"latency": 70}], ids=str)
def test_uses_are_folded_alike(options: dict[str, int]):
    module, samples = residual_module(uses=2)
    assert uses(designed(module, samples, **options)) == {"block_1": "main_block", "block_2": "main_block"}


def test_a_use_that_is_folded_otherwise_has_an_entity_of_its_own():
    module, samples = residual_module(uses=2)
    folded = {"default": "full", "block_2.linear_1": "folded"}
    design = designed(module, samples, parallelism=folded)
    assert uses(design) == {"block_1": "main_block", "block_2": "main_block_2"}
    (note,) = design.description["blocks"][1]["notes"]
    assert note == "it shares no entity with block_1: it has 2 more refold"
    alike = designed(module, samples, parallelism={"block.linear_1": "folded"})
    assert uses(alike) == {"block_1": "main_block", "block_2": "main_block"}
    lanes = [part["generics"]["X_LANES"] for part in alike.description["components"] if part["entity"] == "matvec"]
    assert lanes == ["1", "4", "1", "4", "4"]


def test_entities_have_legal_names_that_differ():
    module = Module("net")
    for name in ("Signal", "signal", "a/../b", "matvec", "ünïcode"):
        module[name] = graph_of(name, lambda x: op.relu(linear(x)))
    names = list(module)

    def chain(x: Value) -> Value:
        for name in names:
            x = module.op(name)(x)
        return x

    module["main"] = graph_of("main", chain)
    entities = list(uses(designed(module)).values())
    assert len({*entities}) == len(names)
    assert all(identifier(entity) == entity for entity in entities)
