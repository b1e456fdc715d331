"""Which ops the code of a function speaks of."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given

from graphrewrite import Pipeline, op, pass_, rewrite, rule, rules
from graphrewrite.op import LIBRARY
from graphrewrite.rules.cleaning import merge_equal_nodes
from graphrewrite.testing import check
from graphrewrite.testing.mentioning import mentions_memory, ops_mentioned, rules_used, values_mentioned
from graphrewrite.testing.strategies.graph_strategy import graphs_about
from graphrewrite.testing.strategies.picking import Choices, making
from graphrewrite.testing.subject import Subject

POOLS = ("max_pool", "average_pool")


def _is_pool(data):
    return data["type"] in POOLS


def names(function):
    return [op.name for op in ops_mentioned(function)]


def test_texts_in_the_code_of_functions_inside_and_of_those_it_calls():
    def outer(graph, wanted="neg"):
        def inner(node):
            return graph.nodes[node]["type"] == "sub" or _is_pool(graph.nodes[node])

        return [n for n in graph if inner(n) and "input" not in n]

    assert set(names(outer)) == {"sub", *POOLS}
    assert names(partial(outer, wanted="add")) == names(outer)


def test_ops_that_keep_a_state_where_the_code_asks_for_that():
    assert names(merge_equal_nodes.function) == ["constant", "maximum", "minimum", "register", "delay", "counter"]


class _Counter:
    """Counts what has one reader."""

    def __init__(self, graph):
        self.found = [n for n, data in graph.nodes.items() if data["type"] == "pad"]


def test_methods_of_classes_of_its_module_speak_of_ops_as_well():
    assert names(lambda graph: _Counter(graph).found) == ["pad"]


def test_ops_of_memory_count_where_their_names_are_texts():
    assert mentions_memory(lambda graph: [n for n in graph if graph.nodes[n]["type"] == "view"])
    assert not mentions_memory(lambda graph: graph.copy())


def test_numbers_with_which_lengths_are_compared():
    def is_image(x, y):
        return (len(x.shape) == 4 and x.shape[1] > 7) or len(y.shape) not in (2, 3)

    assert values_mentioned(is_image).lengths == (4, 2, 3)


def test_of_what_is_not_written_in_python_nothing_is_known():
    assert names(len) == []
    assert names(Subject) == []


@pass_
def touches_constants(graph):
    """Speaks of constants."""
    return [n for n in graph if graph.nodes[n]["type"] == "constant"][:0]


def test_graphs_for_a_pass_about_constants_have_some_that_are_nearly_equal():
    pairs: Counter[str] = Counter()

    @given(Subject(touches_constants).graphs(["touches_constants"]))
    def count(graph):
        arrays = [data["value"] for data in graph.nodes.values() if data["type"] == "constant"]
        for a, b in combinations(arrays, 2):
            if a.size == b.size and np.array_equal(a.ravel(), b.ravel()):
                pairs["sign or shape"] += (a.shape, a.tobytes()) != (b.shape, b.tobytes())

    count()
    assert pairs["sign or shape"] > 0


@pass_
def touches_pads(graph):
    """Speaks of one op."""
    return [n for n in graph if graph.nodes[n]["type"] == "pad"][:0]


def test_graphs_for_a_pass_are_full_of_them():
    found: Counter[str] = Counter()

    @given(Subject(touches_pads).graphs(["touches_pads"]))
    def count(graph):
        found.update(data["type"] for data in graph.nodes.values())

    count()
    assert found["pad"] > 2 * max(found[other] for other in ("sub", "conv", "max_pool"))


def test_graphs_have_the_annotations_that_code_reads():
    make = making(graphs_about([], [LIBRARY["neg"]], ["backend"]))
    assert make is not None
    drawn = [make(Choices(Random(seed).randbytes)) for seed in range(20)]
    found = Counter(str(data.get("backend")) for graph in drawn for data in graph.nodes.values())
    assert min(found["cpu"], found["gpu"], found["None"]) > 10


@pass_
def touches_regions(graph):
    """Speaks of memory."""
    return [n for n in graph if graph.nodes[n]["type"] == "alloc"][:0]


def test_graphs_for_a_pass_about_memory_are_programs_as_well():
    found: Counter[str] = Counter()

    @given(Subject(touches_regions).graphs(["touches_regions"]))
    def count(graph):
        found.update(data["type"] for data in graph.nodes.values())

    count()
    assert min(found["alloc"], found["copy"]) > 0


@rule
def wrongly_turned(x, y):
    """The difference is turned without a sign."""
    yield op.neg(op.sub(x, y))
    return op.sub(x, y)


_SET = [rules.drop_abs, wrongly_turned]


def test_rules_that_a_function_applies():
    cases = {
        "alone": lambda graph: rewrite(graph, wrongly_turned),
        "a set": lambda graph: rewrite(graph, _SET),
        "of a module": lambda graph: rewrite(graph, [rules.drop_abs, rules.merge_clips]),
        "given": partial(lambda pipeline, graph: pipeline(graph), Pipeline([rules.drop_abs], [wrongly_turned])),
        "none": lambda graph: graph.copy(),
    }
    found = {name: [each.name for each in rules_used(function)] for name, function in cases.items()}
    assert found == {
        "alone": ["wrongly_turned"],
        "a set": ["drop_abs", "wrongly_turned"],
        "of a module": ["drop_abs", "merge_clips"],
        "given": ["drop_abs", "wrongly_turned"],
        "none": [],
    }


def test_a_function_is_checked_where_its_rules_fire():
    def tidy(graph):
        return rewrite(graph, _SET)

    report = check(tidy, seed=0)
    assert report.verdict == "refuted"
    assert report.fired["tidy"]


def test_a_function_keeps_what_its_rules_keep():
    def folded(graph):
        return rewrite(graph, rules.FOLDING)

    assert Subject(folded).keeps == "rounding"
    assert Subject(pass_(folded)).keeps == "exact"


def count_some(graph):
    kinds = [data["type"] for data in graph.nodes.values()]
    return sum(kind.startswith("cum_") or kind.endswith(("_norm", "_not")) or "unpool" in kind for kind in kinds)


def count_others(graph):
    return sum(data["type"].startswith("") or data["type"].endswith("_nothing") for data in graph.nodes.values())


def test_ops_are_mentioned_by_a_part_of_their_names():
    found = {each.name for each in ops_mentioned(count_some)}
    assert {"cum_sum", "cum_prod", "layer_norm", "bitwise_not", "logical_not", "max_unpool"} <= found
    assert not {"relu", "add", "max_pool"} & found
    assert not ops_mentioned(count_others)
