"""Transformations and lowerings are told apart, and are what they say."""

from __future__ import annotations

import pytest

from graphrewrite import FixedPoint, Graph, Pass, Stream, Tensor, define_op, lowering, op, pass_, rewrite, rule, rules
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.op.levels import LEVELS
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.levels import level_of, unlike

BYTE = FixedPoint(True, 8)


def members(*modules):
    return [m for module in modules for m in vars(module).values() if isinstance(m, Rule | Pass)]


@pytest.mark.parametrize("member", members(rules), ids=lambda m: m.name)
def test_what_rules_holds_is_a_transformation(member):
    assert member.kind == "transformation"


def test_what_lowers_says_so():
    import importlib

    rooms = ("integer.binary_points", "prequantised", "streaming.layers", "streaming.channelwise", "streaming.scaling")
    found = members(*(importlib.import_module(f"graphrewrite.lowering.{room}") for room in rooms))
    kinds = {m.name: m.kind for m in found if isinstance(m, Rule)}
    assert {kind for name, kind in kinds.items() if name.startswith(("lower_", "map_"))} == {"lowering"}
    assert kinds["absorb_integer_relu"] == "transformation"
    assert lowering.__doc__


def relu_graph() -> Graph:
    graph = Graph("g")
    graph.output("y", op.relu(graph.input("x", Tensor("f32", ("N",)))))
    return graph


def lower(x):
    """To mantissas and back."""
    real = op.relu(x)
    yield real
    fixed = op.to_fixed(x, element=BYTE)
    return op.from_fixed(op.requantise(fixed, shift=0, element=BYTE, low=0), fraction=0)


def test_a_transformation_that_lowers_is_refused():
    graph = relu_graph()
    with pytest.raises(
        RewriteError, match=r"'lower'.* is a transformation and makes 'requantise' of the level integer"
    ):
        rewrite(graph, rule(lower))
    assert graph == relu_graph()
    assert "requantise_1" in rewrite(graph, rule(kind="lowering")(lower))


def test_a_lowering_that_goes_up_is_refused():
    @rule(kind="lowering")
    def raise_(x):
        """Back to real numbers."""
        narrow = op.requantise(x, shift=0, element=BYTE)
        yield narrow
        return op.to_fixed(op.relu(op.from_fixed(x, fraction=0)), element=BYTE)

    graph = Graph("g")
    graph.output("y", op.requantise(graph.input("x", Tensor(BYTE, ("N",))), shift=0, element=BYTE))
    with pytest.raises(RewriteError, match="goes to a more specific level"):
        rewrite(graph, raise_)


def test_a_rule_that_shows_it_is_refused_when_it_is_written():
    @define_op(level="stream", infer=lambda x: x)
    def wire(x):
        return x

    with pytest.raises(RuleError, match="makes 'wire' of the level stream out of nn"):

        @rule
        def straight(x):
            """A wire is no float op."""
            yield op.relu(x)
            return wire(x)


def test_passes_are_held_to_it_too():
    def to_bytes(graph):
        """Replace the network by hand."""
        x = graph.value("x")
        low = op.from_fixed(op.requantise(op.to_fixed(x, element=BYTE), shift=0, element=BYTE), fraction=0)
        graph.remove_node("y")
        graph.output("y", low)
        return ["relu_1"]

    with pytest.raises(RewriteError, match="pass 'to_bytes' is a transformation"):
        pass_(to_bytes)(relu_graph())
    assert "requantise_1" in pass_(to_bytes, kind="lowering")(relu_graph())


def test_an_unknown_kind_suggests():
    with pytest.raises(RuleError, match="did you mean 'lowering'"):
        rule(kind="lowring")(lower)
    with pytest.raises(RuleError, match="not 'lowring'"):
        pass_(lambda graph: [], kind="lowring")


def test_levels():
    nn, integer, stream, _ = LEVELS
    assert level_of(op.relu, Stream(BYTE, (1,))) == stream
    assert level_of(op.constant, Tensor(BYTE, (1,))) is None
    assert level_of(None) is None
    assert unlike("transformation", [None], {"a": stream}) is None
    assert unlike("transformation", [integer], {"a": nn}) is None
    assert unlike("lowering", [nn, integer], {"a": nn}) is None
