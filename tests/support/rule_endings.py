"""Rule sets in which the order counts, or that do not end; and some that are right."""

from __future__ import annotations

import re

import networkx as nx
from hypothesis import strategies as st

from graphrewrite import Graph, op, rule
from graphrewrite.rewriting.digraph_rules import GraphMatch, from_graphs
from graphrewrite.rewriting.passes import Pipeline, pass_
from graphrewrite.testing import digraphs


@rule
def drop_double_negation(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@rule
def absolute_of_negation_as_negation(x):
    """Wrong where x is above zero."""
    yield op.abs(op.neg(x))
    return op.neg(x)


@rule
def absolute_of_negation(x):
    """The sign does not count."""
    yield op.abs(op.neg(x))
    return op.abs(x)


@rule
def sum_with_negation_as_difference(x, y):
    """A negated addend is subtracted."""
    yield op.add(x, op.neg(y))
    return op.sub(x, y)


@rule
def negation_out_of_sum(x, y):
    """A sum of negations is a negated sum; not for signs of zeros."""
    yield op.add(op.neg(x), op.neg(y))
    return op.neg(op.add(x, y))


@rule
def relu_of_absolute(x):
    """An absolute value is not below zero."""
    yield op.relu(op.abs(x))
    return op.abs(x)


@rule
def absolute_of_relu_as_zero(x):
    """Wrong: a relu is not below zero."""
    yield op.abs(op.relu(x))
    return op.relu(op.neg(x))


@rule
def relu_of_relu_as_relu(x):
    """Twice is once."""
    yield op.relu(op.relu(x))
    return op.relu(x)


@rule
def difference_as_sum(x, y):
    """A difference is a sum."""
    yield op.sub(x, y)
    return op.add(x, op.neg(y))


@rule
def difference_turned_round(x, y):
    """A difference is that of the other order, negated."""
    yield op.sub(op.neg(x), y)
    return op.neg(op.add(x, y))


@rule
def swap_maximum(x, y):
    """Maxima commute."""
    yield op.maximum(op.neg(x), y)
    return op.maximum(y, op.neg(x))


@rule
def relu_as_maximum(x):
    """A relu is a maximum."""
    yield op.relu(x)
    return op.maximum(x, op.sub(x, x))


@rule
def maximum_as_relu(x):
    """And the other way round."""
    yield op.maximum(x, op.sub(x, x))
    return op.relu(x)


@rule
def sigmoid_as_tanh(x):
    """Wrong, and the first of three."""
    yield op.sigmoid(x)
    return op.tanh(x)


@rule
def tanh_as_relu(x):
    """Wrong, and the second."""
    yield op.tanh(x)
    return op.relu(op.neg(x))


@rule
def relu_of_negation_as_sigmoid(x):
    """Wrong, and the third."""
    yield op.relu(op.neg(x))
    return op.sigmoid(x)


@rule
def relu_before_itself(x):
    """Matches what it makes, and more of it."""
    yield op.relu(x)
    return op.relu(op.relu(x))


@rule
def absolute_by_absolute(x):
    """Grows by one each time."""
    yield op.abs(x)
    return op.abs(op.neg(x))


@rule
def steeper(x, a):
    """Changes an attribute each time."""
    slow = op.leaky_relu(x, alpha=a)
    yield slow
    return op.leaky_relu(x, alpha=slow.alpha + 1)


@pass_
def rename_identities(graph: Graph) -> list[str]:
    """Turn identities into negations."""
    found = [n for n, data in graph.nodes(data=True) if data["type"] == "identity"]
    for node in found:
        graph.nodes[node]["type"] = "neg"
    return found


@rule
def negation_as_identity(x):
    """Wrong, and the pass turns it back."""
    yield op.neg(x)
    return op.identity(x)


# ---------------------------------------------------------------------- digraphs


def _digraph(*edges: tuple[str, str], **kinds: str) -> nx.DiGraph:
    graph = nx.DiGraph(edges)
    for name, kind in kinds.items():
        graph.add_node(name)
        graph.nodes[name]["type"] = kind
    return graph


def _one(before: str, after: str, name: str):
    """Let nodes of one type be of another."""
    return from_graphs(_digraph(n=before), _digraph(n=after), name=name, interface=["n"])


contract = from_graphs(
    _digraph(("s", "x"), ("x", "e"), x="mid"), nx.DiGraph([("s", "e")]), name="contract", interface=["s", "e"]
)
merge_pair = from_graphs(
    _digraph(("s", "x"), ("x", "y"), ("y", "e"), x="mid", y="mid"),
    _digraph(("s", "z"), ("z", "e"), z="pair"),
    name="merge_pair",
    interface=["s", "e"],
)
red_to_blue, red_to_green = _one("red", "blue", "red_to_blue"), _one("red", "green", "red_to_green")
blue_to_green, green_to_red = _one("blue", "green", "blue_to_green"), _one("green", "red", "green_to_red")
turn = from_graphs(nx.DiGraph([("a", "b")]), nx.DiGraph([("b", "a")]), name="turn", interface=["a", "b"])
sprout = from_graphs(_digraph(a="bud"), _digraph(("a", "leaf"), a="bud", leaf="leaf"), name="sprout", interface=["a"])


def _counted(match: GraphMatch) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node("n")
    graph.nodes["n"]["count"] = match["n"]["count"] + 1
    return graph


_counter = nx.DiGraph()
_counter.add_node("n")
_counter.nodes["n"]["count"] = {0, 1, 2, 3}
count_to_four = from_graphs(_counter, _counted, name="count_to_four", interface=["n"])


NOT_CONFLUENT = {
    "negation lost": ([drop_double_negation, absolute_of_negation_as_negation], 5),
    "relus lost": ([absolute_of_relu_as_zero, relu_of_relu_as_relu, relu_of_absolute], 5),
    "colours": ([red_to_blue, red_to_green], 1),
    "one or two": ([contract, merge_pair], 4),
}
"""Rules, and the nodes of the smallest graph that shows it."""

NOT_CONFLUENT_UP_TO_NAMES = {
    "difference or negation": ([sum_with_negation_as_difference, negation_out_of_sum], 5),
    "difference first": ([difference_as_sum, difference_turned_round], 4),
}
"""Rules whose ends compute the same but for signs of zeros."""

ENDLESS = {
    "swap": ([swap_maximum], "swap_maximum goes round: after 1 step", 4),
    "there and back": ([relu_as_maximum, maximum_as_relu], "go round: after 2 steps", 3),
    "through a third": (
        [sigmoid_as_tanh, tanh_as_relu, relu_of_negation_as_sigmoid],
        "go round: after 3 steps",
        3,
    ),
    "doubles": ([relu_before_itself], "it grows without end", 3),
    "grows beside others": ([drop_double_negation, relu_before_itself], "it grows without end", 3),
    "attribute": ([steeper], "it changes without end, at 3 nodes", 3),
    "pass": ([negation_as_identity, rename_identities], "go round: after 2 steps", 3),
    "colours": ([red_to_blue, blue_to_green, green_to_red], "go round: after 3 steps", 1),
    "turns": ([turn], "turn goes round", 2),
    "sprouts": ([sprout], "sprout", 1),
}
"""Rules, what is said of them, and the nodes of the smallest graph that shows it."""

RIGHT = {
    "one": ([drop_double_negation], {}),
    "two": ([drop_double_negation, absolute_of_negation], {}),
    "absolute values": ([drop_double_negation, absolute_of_negation, relu_of_absolute, relu_of_relu_as_relu], {}),
    # Where there are cycles, what is in between depends on where one begins.
    "contract": ([contract], {"on": st.deferred(lambda: digraphs(containing=[contract, contract], acyclic=True))}),
    "colours": ([red_to_blue, red_to_green, blue_to_green], {}),
    "counts": ([count_to_four], {}),
}
"""Rule sets that end, and whose ends are equal up to names; and where."""

PIPELINE = Pipeline((difference_as_sum,), (drop_double_negation, absolute_of_negation), name="simplify")
"""Ends, and its ends compute the same: what becomes of a constant depends on when it is negated."""


def message_of(asserts, *arguments, **options) -> str:
    """What an assertion says that fails."""
    try:
        asserts(*arguments, **options)
    except AssertionError as error:
        return str(error)
    raise AssertionError("it did not fail")


def size_in(message: str) -> int:
    """How many nodes the graph has that a failure shows."""
    return len(re.findall(r"^ +[\w']+ = ", message.partition('"""')[2].partition('"""')[0], re.MULTILINE))
