"""Every rule, pass, rule set and lowering of the library, found by what its modules hold: no rule has code here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from graphrewrite import Graph, Pass, Pipeline, Rule, Stream, Tensor, lowering, rewrite, rules
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot, rewire
from graphrewrite.graph.type_inference import infer
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.lowering import (
    composite,
    lower_composite,
    lower_to_memory,
    optimise,
    partition,
    quantise,
    to_integer,
    to_stream,
)
from graphrewrite.lowering import prequantised as quantised_rules
from graphrewrite.lowering.preparation.position_means import BY_WINDOWS, write_resize_by_conv
from graphrewrite.lowering.prequantised.transposes import merge_into_shuffle, multiply_stored_positions
from graphrewrite.lowering.streaming.bridge import enter, leave
from graphrewrite.lowering.streaming.scaling import MAP_SCALING, map_softmax
from graphrewrite.lowering.streaming.stream_lowering import drop_bridges
from graphrewrite.rules import inline, memory, outline_nodes
from graphrewrite.rules.affine_before_moves import norm_before_names
from graphrewrite.rules.arithmetic import merge_scale_of_line
from graphrewrite.rules.recognition import RECOGNISE_ATTENTION, RECOGNISE_ROTARY_EMBEDDING
from graphrewrite.rules.recognition.movement import (
    recognise_channel_shuffle_behind_transpose,
    recognise_pixel_shuffle,
)
from graphrewrite.rules.windows import dilate_conv
from graphrewrite.testing import assert_preserves, assert_refines, check, graphs
from graphrewrite.testing.properties import Idempotent
from graphrewrite.testing.search import search
from graphrewrite.testing.subject import Subject
from tests.support import programs
from tests.support.attentions import attentions
from tests.support.bordered_pools import bordered_pools
from tests.support.concatenations import (
    cut_pairs,
    cut_values,
    joined_rows,
    joined_values,
    rows_beside_others,
    sums_of_parts,
)
from tests.support.derivatives import derivatives
from tests.support.divisors import FORMS, tame_arithmetic
from tests.support.matrix_products import (
    counted_products,
    probabilities,
    rounded_products,
    rounded_sums,
    scalar_products,
    split_streams,
    stream_products,
    sums_of_signs,
)
from tests.support.pixel_shuffles import pixel_shuffles
from tests.support.plain_norms import norms_with_limits, plain_norms
from tests.support.profiles import few_plans, fewer_examples, fewer_graphs, some_of
from tests.support.random_networks import interpolated, networks, quantised
from tests.support.rotations import rotations
from tests.support.stored_numbers import limited_grids, stored_again, stored_apart
from tests.support.taken_apart import taken_apart
from tests.support.transposed_networks import between_transposes, stored_positions, tables_of_channels

pytestmark = [
    pytest.mark.slow,
    # Some attributes are never drawn: what is compared of each op is a matter of tests/testing/test_reach.py.
    pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning"),
]

ROOMS = ("graphrewrite.rules", "graphrewrite.lowering")
ON_NETWORKS = tuple(
    f"graphrewrite.lowering.{n}." for n in ("prequantised", "shift_add", "streaming", "folding", "exchange")
)
"""Packages whose rules are tested on whole networks, where generated graphs do not reach the states that they need."""
ALONE = {
    f"graphrewrite.lowering.{name}"
    for name in ("exchange.batch_size", "prequantised.transposes", "streaming.bridge", "streaming.stream_lowering")
}
"""Their modules whose rules and functions work on any graph."""


def _modules() -> Iterator[ModuleType]:
    for package in (rules, lowering):
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.startswith(ON_NETWORKS) or info.name in ALONE:
                yield importlib.import_module(info.name)


def _is_set(found: Any) -> bool:
    return isinstance(found, tuple) and bool(found) and all(isinstance(member, Rule | Pass) for member in found)


def _is_function(found: Any) -> bool:
    """Tell whether something makes a graph of a graph."""
    where = found.__module__ if inspect.isfunction(found) else type(found).__module__
    if not callable(found) or isinstance(found, type) or not where.startswith(ROOMS):
        return False
    said = inspect.signature(found)
    first = next(iter(said.parameters.values()), None)
    return first is not None and first.annotation in ("Graph", "Graph | Module") and said.return_annotation == "Graph"


def _found(fits: Callable[[Any], bool]) -> dict[str, Any]:
    """What fits, by the shortest of its public names."""
    names: dict[int, tuple[str, Any]] = {}
    for module in _modules():
        for name, value in vars(module).items():
            full = f"{module.__name__.removeprefix('graphrewrite.')}.{name}"
            if not name.startswith("_") and fits(value) and len(full) < len(names.get(id(value), (full + " ",))[0]):
                names[id(value)] = full, value
    return dict(sorted(names.values(), key=lambda item: item[0]))


# It makes the inputs and outputs streams: what it does is tested as a part of to_stream.
MEMBERS = _found(lambda value: isinstance(value, Rule | Pass) and value is not drop_bridges)
SETS = _found(_is_set) | _found(lambda value: isinstance(value, Pipeline))
FUNCTIONS = _found(_is_function)
OPTIONAL = {n for n, m in MEMBERS.items() if n.startswith("rules.") and m not in (*rules.RULES, *rules.FOLDING)}
"""Rules that no default pipeline has: each is tested on fewer graphs, and in its set."""
OF_GRADIENTS = [n for n in MEMBERS if n.startswith("lowering.gradients.")]
"""Gradients: each is compared with difference quotients, of which few graphs have many."""
COMPOSITE = {n for n in MEMBERS if n.startswith("lowering.composite.")} | {f"lowering.{n}" for n in composite.__all__}
"""What is about composite ops."""


def test_they_are_found():
    assert {"rules.RULES", "rules.FOLDING", "lowering.LOWER_TO_INTEGER", "lowering.LOWER_TO_STREAM"} <= set(SETS)
    assert {f"lowering.{name}" for name in composite.__all__ if name.isupper()} <= set(SETS)
    assert {"rules.insert_transfers", "rules.merge_equal_nodes"} <= set(MEMBERS)
    assert {"lowering.quantise", "lowering.to_integer", "lowering.to_stream", "rules.inline"} <= set(FUNCTIONS)
    assert set(lowering.LOWER_COMPOSITE) <= set(MEMBERS.values())
    assert len(MEMBERS) > 100


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_a_rule_says_what_it_does(member):
    assert member.__doc__
    assert member.__doc__.strip().endswith(".")


@st.composite
def _on_backends(draw: st.DrawFn) -> Graph:
    """Graphs some of whose nodes say where they run."""
    graph = draw(graphs())
    for node in graph:
        if graph.nodes[node]["type"] not in ("input", "output") and (place := draw(st.sampled_from([None, "a", "b"]))):
            graph.nodes[node]["backend"] = place
    return graph


def _on_each(members: tuple[Rule | Pass, ...], *others: st.SearchStrategy[Graph]) -> st.SearchStrategy[Graph]:
    """Graphs that contain one of some rules, and others, such as probabilities, which have a format of their own."""
    own = [m for m in members if isinstance(m, Rule) and m not in (map_softmax, dilate_conv)]
    return st.deferred(lambda: st.one_of([*[graphs(containing=m) for m in own], *others]))


ON = {
    "lowering.LOWER_TO_STREAM": _on_each(lowering.LOWER_TO_STREAM, probabilities()),
    "lowering.preparation.position_means.write_resize_by_conv": _on_each((write_resize_by_conv,), interpolated()),
    "lowering.host_cut.BY_WINDOWS": _on_each(BY_WINDOWS, interpolated()),
    "lowering.streaming.stream_lowering.split_channels": split_streams(),
    "lowering.streaming.stream_lowering.MAP_SCALING": _on_each(MAP_SCALING, probabilities()),
    "rules.insert_transfers": _on_backends(),
    "rules.drop_empty_operand": joined_values(empty=True),
    "rules.concat_of_slices": cut_values(),
    "rules.gather_sums": sums_of_parts(),
    "rules.opt_in.concat_before_quantising": stored_apart(),
    "rules.opt_in.slice_after_step": cut_values(joined=False),
    "rules.join_slices": cut_values(joined=False),
    "rules.opt_in.divide_zero": tame_arithmetic(FORMS[:1]),
    "rules.APPROXIMATE": _on_each((merge_scale_of_line,), tame_arithmetic(), stored_again()),
    "rules.opt_in.slice_after_pair": cut_pairs(),
    "rules.opt_in.slice_after_second": cut_pairs(),
    "rules.opt_in.concat_of_rows": joined_rows(),
    "rules.SHARED_STEPS": _on_each(
        (rules.SHARED_STEPS[1],), joined_values(), cut_values(joined=False), cut_pairs(), joined_rows(), stored_apart()
    ),
    "rules.rows.sink_rows_below_pair": rows_beside_others(),
    "rules.ROWS": _on_each(rules.ROWS, rows_beside_others()),
    "rules.opt_in.cancel_transposes": between_transposes(),
    "rules.opt_in.cancel_transposes_of_sums": between_transposes(),
    "rules.FEWER_TRANSPOSES": _on_each(rules.FEWER_TRANSPOSES, between_transposes()),
    "rules.norms.drop_norm": plain_norms(),
    "rules.opt_in.fold_pad_into_max_pool": bordered_pools(),
    "rules.FOLDING": _on_each(rules.FOLDING, plain_norms(), bordered_pools(), taken_apart()),
    "lowering.prequantised.COUNT_SIGNS": sums_of_signs(),
    "lowering.MAP_COUNTING": counted_products(),
    "lowering.shift_add.add_in_trees": scalar_products(),
    "lowering.shift_add.drop_unused_columns": scalar_products(),
    "lowering.shift_add.share_pairs": scalar_products(),
    "lowering.shift_add.unroll_as_adders": stream_products(),
    "lowering.SHARE_SUMS": scalar_products(),
    "lowering.shift_add.fuse_requantise_into_adders": rounded_sums(),
    "lowering.UNROLL_SHIFT_ADD": rounded_products(),
    "lowering.prequantised.transposes.merge_into_shuffle": _on_each((merge_into_shuffle,), tables_of_channels()),
    "lowering.prequantised.transposes.multiply_stored_positions": _on_each(
        (multiply_stored_positions,), stored_positions()
    ),
    "rules.fuse_activations": graphs(ops=["linear", "relu", "clip", "tanh"]),
    "rules.opt_in.dilate_conv": taken_apart(),
    "rules.grids.limit_by_grid": limited_grids(),
    "rules.grids.limit_by_grid_before": limited_grids(),
    "rules.CHANGE_GRIDS": _on_each(rules.CHANGE_GRIDS[2:], limited_grids()),
    "rules.quantised.skip_rounding": stored_again(),
    "rules.quantised.skip_rounding_before_moving": stored_again(),
    "rules.quantised.skip_rounding_of_stored": stored_again(),
    "rules.quantised.skip_narrow_type": stored_again(),
    "rules.quantised.store_without_cast": stored_again(),
    "rules.opt_in.MERGE_ROUNDINGS": stored_again(),
    "lowering.SINK_TRANSPOSES": _on_each(lowering.SINK_TRANSPOSES, stored_positions()),
    "rules.recognition.reductions.recognise_lp_norm": norms_with_limits(),
    "rules.recognition.movement.recognise_pixel_shuffle": pixel_shuffles(),
    "rules.recognition.RECOGNISE_ATTENTION": attentions(),
    "rules.recognition.RECOGNISE_ROTARY_EMBEDDING": rotations(),
    "rules.RECOGNITION": _on_each(rules.RECOGNITION, attentions(), rotations()),
    "rules.MEMORY_RULES": st.deferred(lambda: programs.lowered() | programs.written()),
    "rules.memory.eliminate_copies": programs.lowered(memory.view_reshape),
    "rules.memory.overwrite_operands": programs.lowered(ops=programs.COMPUTING),
    "rules.memory.compute_in_place_of_insert": programs.lowered(memory.insert_concat, ops=("concat", "relu")),
    "rules.memory.eliminate_dead_stores": programs.written(),
    "rules.memory.eliminate_idle_moves": programs.written(),
    "rules.memory.eliminate_needless_order": programs.written().map(
        partial(rewrite, rules=[memory.separate_regions, memory.eliminate_dead_stores])
    ),
    "rules.memory.separate_regions": programs.written(),
    "rules.memory.insert_concat": programs.lowered(ops=("concat",)),
    "rules.memory.extract_slice": programs.lowered(ops=("slice",)),
    "rules.memory.extract_splits": programs.lowered(ops=("split",)),
    "rules.memory.view_extract": programs.lowered(memory.extract_slice, memory.extract_splits, ops=("slice", "split")),
    "rules.memory.view_reshape": programs.lowered(ops=("reshape", "flatten", "unsqueeze", "transpose")),
    "rules.memory.merge_views": programs.lowered(
        memory.view_reshape, memory.eliminate_copies, ops=("reshape", "flatten", "unsqueeze")
    ),
    "rules.memory.drop_whole_view": programs.lowered(memory.view_reshape, ops=("identity", "reshape")),
    **{f"rules.recognition.rotary.{member.name}": rotations() for member in RECOGNISE_ROTARY_EMBEDDING},
    **{f"rules.recognition.attention.{member.__name__}": attentions() for member in RECOGNISE_ATTENTION},
    **{name: derivatives(MEMBERS[name]) for name in OF_GRADIENTS},
}
"""Where a rule or pass is tested of which the generator does not know where it fires."""


TRAINED = {
    *quantised_rules.LOWER_TRAINED,
    *quantised_rules.LOWER_UNSCALED_LAYERS,
    *quantised_rules.APPROXIMATE_STEPS,
}
"""Rules of quantised models fire on what others of them make: tests/lowering/test_trained_models.py has such graphs."""
ONE_BY_ONE = {*TRAINED, *(MEMBERS[n] for n in OF_GRADIENTS)}
"""Beside those, gradients: each is of another op, and a set of them does no more than they do."""
SETS_OF_ANY = [name for name, found in SETS.items() if not isinstance(found, tuple) or not ONE_BY_ONE & {*found}]
IN_OTHERS = [n for n in SETS_OF_ANY if any({*map(id, SETS[n])} < {*map(id, SETS[other])} for other in SETS_OF_ANY)]
"""Parts of larger sets, with which they are tested too."""
PARTS = [n for n in IN_OTHERS if n.startswith("rules.recognition.")]
"""Parts of a set that is too large for few graphs: they are always tested."""
SOME_SETS = [n for n in SETS_OF_ANY if n not in IN_OTHERS or n in PARTS or n in some_of(IN_OTHERS, 12)]


OF_PATTERNS = [n for n, member in MEMBERS.items() if isinstance(member, Rule) and n not in ON]
"""Rules that graphs are generated for."""


# Rules of composite ops are tried with the usual types in their sets, and one by one with every type, below.
ALWAYS = [n for n in MEMBERS if n not in {*COMPOSITE, *OF_GRADIENTS} or isinstance(MEMBERS[n], Pass)]


OFTEN = some_of([n for n in ALWAYS if n not in OPTIONAL], 6)
"""Those that are tried on more graphs than the others, outside the slow profile."""


SEEDS = {"rules.opt_in.transpose_after": 1}
"""With seed 0 there are zeros of both signs, of which numpy's maximum takes either, as they lie in memory."""


@pytest.mark.parametrize("name", [*ALWAYS, *some_of(OF_GRADIENTS, 8)])
def test_a_rule_preserves_what_it_says(name):
    if name in OFTEN:
        with fewer_examples():
            assert_preserves(MEMBERS[name], on=ON.get(name))
    else:
        with fewer_graphs(), few_plans():
            assert_preserves(MEMBERS[name], on=ON.get(name), seed=SEEDS.get(name))


FAULTS = {
    "lowering.quantisation.preparation.write_conv_transpose_by_blocks": "never fired in few graphs",
    "rules.matmul_of_weights_as_linear": "never fired in few graphs of every type",
}
"""Rules that fire seldom on graphs that are not made for them alone."""
SELDOM = {"lowering.LOWER_COMPOSITE", "lowering.LOWER_TO_STREAM", "rules.RECOGNITION"}
"""Sets some of whose rules never fire in few graphs: they are tested one by one, and as parts or in others."""
APART = (
    rules.drop_cast_of_indices,
    rules.drop_empty_operand,
    rules.drop_relu_of_clip,
    rules.merge_transpose_into_reshape,
    merge_into_shuffle,
    norm_before_names,
    recognise_channel_shuffle_behind_transpose,
    recognise_pixel_shuffle,
)
"""Rules for which the generator finds a graph that can be evaluated only by luck: sets are tested without them."""


OTHER_SEEDS = {"lowering.composite.recurrent.unroll_lstm": 1}
"""With seed 0 a state grows until it overflows, and where one gives NaN the other gives an infinity."""


def _known(name):
    marks = [pytest.mark.xfail(reason=FAULTS[name], strict=False)] if name in FAULTS else []
    return pytest.param(name, marks=[*marks, *[pytest.mark.thorough] * (name in SELDOM)])


@pytest.mark.parametrize(
    "name",
    [
        *map(_known, some_of([n for n in OF_PATTERNS if n in COMPOSITE], 3)),
        *map(_known, some_of([n for n in OF_PATTERNS if n not in COMPOSITE], 8)),
    ],
)
def test_so_it_does_with_every_type_and_layout(name):
    with fewer_graphs(), few_plans():
        assert_preserves(
            MEMBERS[name], on=graphs(containing=MEMBERS[name], every_type=True), seed=OTHER_SEEDS.get(name)
        )


MANY, LARGE = 20, 30
"""So many members of a set need as many graphs as one rule alone, or some never fire; so many take very long."""
UNMET = 20
"""One in so many members of a set may have no graph."""


@contextmanager
def _few_for(name):
    with fewer_examples() if len([*SETS[name]]) > MANY else fewer_graphs(), few_plans():
        yield


def _drawn(found):
    return tuple(m for m in found if m not in APART) if isinstance(found, tuple) else found


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("name", [_known(name) for name in SOME_SETS])
def test_a_rule_set_preserves_what_it_says(name):
    with _few_for(name):
        report = check(_drawn(SETS[name]), on=ON.get(name))
    # How much is compared of each member is a matter of the tests of one rule, above; of very many, a few never fire.
    assert report.counterexample is None, report
    assert len(report.idle) <= -(-len([*SETS[name]]) // UNMET), report


def _left_by(name):
    """Return the report of a search for graphs in which a rule set leaves something to do."""
    subject = Subject(_drawn(SETS[name]))
    with fewer_graphs(), few_plans():  # whether all of them fire, the test above says
        return search(subject, ON.get(name), Idempotent(subject), moderate=True, asked="idempotent")


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("name", [_known(name) for name in SOME_SETS if len([*SETS[name]]) <= LARGE])
def test_a_rule_set_leaves_nothing_to_do(name):
    report = _left_by(name)
    assert report.counterexample is None, report


@pytest.mark.slow(cases=0)  # a minute for a hundred rules: in small sets, and among random ones, faults show sooner
@pytest.mark.parametrize("name", [_known(name) for name in SOME_SETS if len([*SETS[name]]) > LARGE])
def test_a_large_rule_set_leaves_nothing_to_do(name):
    report = _left_by(name)
    assert report.counterexample is None, report


REACH = 8.0
"""Not a number in the function itself: the search would try what lies beyond it."""


def _samples(graph: Graph) -> dict[str, np.ndarray]:
    """Calibration inputs over the range of those that a refinement is tested with."""
    random = np.random.default_rng(0)
    return {n: random.uniform(-REACH, REACH, (64, *graph.result_type(n).shape[1:])) for n in graph.inputs}


def _quantise(graph: Graph) -> Graph:
    return quantise(graph, _samples(graph), bits=16)


def _between_tensors(graph: Graph) -> Graph:
    """The same streams, entered from tensors and left as tensors: with the interface of what it was made of."""
    new = graph.copy()
    for name in new.inputs:
        kind = new.result_type(name)
        if isinstance(kind, Stream):
            new.nodes[name]["result"] = Tensor(kind.element, ("N", *kind.shape))
            entered = enter(new.value(name))
            rewire(new, name, Operand(entered.node))
    for name in new.outputs:
        left = leave(new.value(*new.operands(name)[0]))
        move_slot(new, name, 0, Operand(left.node))
    infer(new)
    return new


def _in_hardware(graph: Graph, parallelism: str | int = "full") -> Graph:
    """An integer network whose core is what `to_stream` makes of it, between what the host does."""
    parts = partition(graph)
    core = _between_tensors(to_stream(graph, parallelism=parallelism))
    new = Graph(graph.name)
    given = [new.input(n, graph.result_type(n)) for n in graph.inputs]
    before, behind = parts.before.copy(), parts.after.copy()
    for number, part in enumerate((before, core, behind)):
        part.name = f"part_{number}"
    entered = _results(graph_op(before)(*(dict(zip(graph.inputs, given, strict=True))[n] for n in before.inputs)))
    left = _results(graph_op(core)(*entered))
    made = _results(graph_op(behind)(*left))
    for name, value in zip(graph.outputs, made, strict=True):
        new.output(name, value)
    return inline(new)


def _results(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _float_layers() -> st.SearchStrategy[Graph]:
    """Layers with weights of a few bits, whose results stay small."""

    def is_float(graph: Graph) -> bool:
        return all(graph.result_type(n).element in ("f32", "f64") for n in graph if n not in graph.outputs)

    return st.deferred(lambda: graphs(containing=rules.fold_bias, ops=["relu"])).filter(is_float)


def _quantised() -> st.SearchStrategy[Graph]:
    return st.builds(quantised, networks(), st.sampled_from([4, 8]), per_channel=st.booleans())


def _with_a_graph_inside() -> st.SearchStrategy[Graph]:
    """One of the nodes is a graph of its own."""

    def nested(graph: Graph) -> Graph:
        computed = [n for n in graph.in_order() if graph.op(n).level == "nn" and graph.op(n).results == 1]
        return outline_nodes(graph, computed[:1], "inner")[0] if computed else graph

    return graphs().map(nested)


SMOOTH = ["gelu", "mish", "softplus", "log_softmax", "softmin", "hard_swish", "sum", "maximum"]
"""Ops that keep moderate numbers moderate, and rounding small: a norm divides by what may be nothing else."""
LOWERINGS: dict[str, tuple[Callable[[Graph], Graph], st.SearchStrategy[Graph], float | None]] = {
    "rules.inline": (inline, _with_a_graph_inside(), None),
    "lowering.optimise": (optimise, graphs(), None),
    "lowering.lower_to_memory": (lower_to_memory, graphs().filter(programs.has_a_place), None),
    "lowering.lower_composite": (lower_composite, graphs(ops=SMOOTH), 1e-3),
    "lowering.quantise": (_quantise, _float_layers(), 0.01),
    "lowering.to_integer": (to_integer, _quantised(), None),
    "lowering.to_stream": (_in_hardware, _quantised().map(to_integer), None),
    "lowering.to_stream, folded": (partial(_in_hardware, parallelism=2), _quantised().map(to_integer), None),
}
"""How each function from graph to graph is tested: as what, where, and within what error if it is not exact."""
OTHER_WAYS = {"lowering.to_stream, folded"}
"""The same function again, with an argument."""
OTHERS = {
    "lowering.softmax_as_arg_max": "gives places instead of probabilities",
    "lowering.integer.classifier_heads.classify": "gives places instead of scores",
    "lowering.integer.classifier_heads.probabilities": "gives probabilities instead of scores",
    "lowering.decisions_in_hardware": "compares exact numbers instead of floats, see tests/lowering/test_heads.py",
    "lowering.integer.hardware_heads.scores_in_hardware": "compares doubles, see tests/lowering/test_heads.py",
    "lowering.softmax_in_hardware": "gives a softmax within a stated bound, see tests/lowering/test_softmax.py",
    "lowering.quantisation.equalisation.equalised": "is given the quantiser, see tests/lowering/test_equalisation.py",
    "lowering.quantisation.width_search.in_fixed_point": "is quantise, without what comes before",
    "lowering.quantisation.preparation.prepared_network": "rewrites by sets that are tested, and checks weights",
    "lowering.composite.recorded": "does what the rules do that it is given",
    "lowering.predicates.without_predicates": "changes no value that is needed, see tests/lowering/test_predicates.py",
    "lowering.predicates.with_predicates": "is given the graph before, see tests/lowering/test_predicates.py",
    "lowering.implementations.with_implementations": "gives names to nodes, see tests/hdl/test_own_components.py",
}
"""Functions that mean to change what a graph gives, or that are tested as a part of others."""


def test_every_function_from_graph_to_graph_is_covered():
    assert set(FUNCTIONS) == {name.partition(",")[0] for name in LOWERINGS} | set(OTHERS)


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("name", LOWERINGS)
def test_a_lowering_preserves_what_it_says(name):
    function, on, error = LOWERINGS[name]
    with fewer_graphs() if name in OTHER_WAYS else fewer_examples():
        if error is None:
            assert_preserves(function, on=on)
        else:
            assert_refines(function, on=on, error=error)
