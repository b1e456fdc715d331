"""A graph without nested graphs remembers their uses, whatever their nodes are called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from graphrewrite import Graph, Module, Tensor, evaluate, op
from graphrewrite.errors import GraphError, UnknownGraphError
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.hierarchy import GraphOp, blocks_of, flattened
from graphrewrite.hierarchy.blocks import innermost, main_graph, of_graph
from tests.support.nested_networks import nested_networks
from tests.support.random_networks import Network


@given(nested_networks())
def test_a_flattened_network_computes_the_same_and_knows_where_each_node_stands(network: Network):
    flat = flattened(network.graph)
    given = {"x": network.samples}
    assert np.array_equal(evaluate(flat, given)["y"], evaluate(network.graph, given)["y"])
    blocks = blocks_of(flat)
    assert flattened(flat) is flat
    assert blocks_of(from_dict(to_dict(flat))) == blocks
    uses = [path for path in blocks if "." not in path]
    assert uses == [n for n in network.graph.in_order() if isinstance(network.graph.op(n), GraphOp)]
    for path, block in blocks.items():
        body = network.graph.op(uses[0]).library[block.graph]
        inside = {n for n in body if body.op(n).level == "nn" and not isinstance(body.op(n), GraphOp)}
        found = {of_graph(flat, n) for n in flat if flat.origin(n)[0].startswith(f"{path}.")}
        assert found >= {(block.graph, n) for n in inside}


def test_names_with_dots_are_told_from_paths():
    block = Graph("block")
    block.output("y", block.add(op.relu, [block.input("x", Tensor("f32", ("N", 2)))], name="a.b"))
    module = Module("net")
    module["block"] = block
    main = module.add_graph("main")
    x = main.input("x", Tensor("f32", ("N", 2)))
    value = x
    for kind, name in (
        (module.op("block"), "one"),
        (op.exp, "one.b"),
        (module.op("block"), "one.a"),
        (op.neg, "one.a.b"),
    ):
        value = main.add(kind, [value], name=name)
    main.output("y", value)
    flat = flattened(module)
    places = {flat.origin(n)[0]: innermost(flat.origin(n)[0], blocks_of(flat)) for n in flat}
    assert places == {"x": "", "y": "", "one.b": "", "one.a.b": "", "one_2.a.b": "one_2", "one.a_2.a.b": "one.a_2"}


def test_a_block_remembers_the_nodes_of_the_imported_graph():
    block = Graph("block")
    block.output("y", op.relu(block.input("x", Tensor("f32", ("N", 2)))))
    block.nodes["relu_1"]["origin"] = ("/act/Relu",)
    module = Module("net")
    module["block"] = block
    main = module.add_graph("main")
    main.output("y", module.op("block")(main.input("x", Tensor("f32", ("N", 2)))))
    main.nodes["block_1"]["origin"] = ("/act",)
    flat = flattened(main)
    assert flat.origin("block_1.relu_1") == ("block_1./act/Relu",)
    assert blocks_of(flat)["block_1"].origin == ("/act",)


def test_the_main_graph_of_a_module():
    module = Module("net")
    with pytest.raises(UnknownGraphError, match="which graph of the module 'net' is meant"):
        main_graph(module)
    first = module.add_graph("first")
    assert main_graph(module) is first
    second = module.add_graph("second")
    with pytest.raises(UnknownGraphError, match="'first', 'second'"):
        main_graph(module)
    first.output("y", op.relu(first.input("x", Tensor("f32", ("N", 2)))))
    second.output("y", module.op("first")(second.input("x", Tensor("f32", ("N", 2)))))
    assert main_graph(module) is second
    with pytest.raises(GraphError, match="no record of nested graphs"):
        blocks_of(Graph("g", blocks=3))
