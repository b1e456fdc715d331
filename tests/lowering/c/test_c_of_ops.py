"""C of every op, compiled strictly and run: whole numbers have the same bits, real ones are equal within rounding."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.errors import EvaluationError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.lowering import UnsupportedOpsError, to_c
from graphrewrite.lowering.c import C_OPS
from graphrewrite.testing import graphs, inputs_for
from tests.support.c_programs import TRAPPING, computed, needs_cc

pytestmark = needs_cc

FAMILIES = tuple(tuple(sorted(C_OPS)[start : start + 32]) for start in range(0, len(C_OPS), 32))
FEW = settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def drawn(ops, **options) -> list:
    """Some graphs of ops, with inputs: many are compiled into one program, which takes the time."""
    found = []

    @FEW
    @given(st.data())
    def run(data):
        graph = data.draw(graphs(ops=ops, **options))
        found.append((graph, data.draw(inputs_for(graph, moderate=True))))

    run()
    return found


def is_defined(graph: Graph) -> bool:
    """Whether all values are tensors, and none is an unsigned integer made of a negative real number."""
    kinds = [graph.result_type(name) for name in graph.inputs]
    made = [data for _, data in graph.nodes(data=True) if data["type"] == "from_fixed"]
    return all(isinstance(kind, Tensor) for kind in kinds) and all(d.get("element", "f")[0] != "u" for d in made)


def bound_of(graph: Graph, values: Mapping[str, np.ndarray], dtype: np.dtype) -> float:
    """What sums of so many numbers may lose, in as many steps as there are."""
    finite = [np.abs(v[np.isfinite(v)]).max(initial=0) for v in values.values() if v.dtype.kind == "f"]
    longest = max((v.size for v in values.values()), default=1)
    return float(np.finfo(dtype).eps * longest * len(graph) * max(finite, default=1.0))


def check_all(cases) -> int:
    """Compile the graphs that C has into one program, compare all outputs; return how many outputs there were."""
    designs, wanted = [], []
    for index, (graph, inputs) in enumerate(cases):
        if not is_defined(graph):
            continue
        try:
            with np.errstate(all="ignore"):
                values = evaluate_nodes(graph, inputs, [n for n in graph.in_order() if n not in graph.dead_nodes()])
            sizes = sizes_of_inputs({name: graph.result_type(name) for name in graph.inputs}, inputs)
            designs.append((to_c(graph, name=f"net{index}", sizes=sizes), inputs))
        except (EvaluationError, UnsupportedOpsError):
            continue  # an index out of bounds, a type that C lacks
        wanted.append((graph, values))
    with TemporaryDirectory() as folder:
        found = computed(designs, Path(folder), *TRAPPING) if designs else []
    for (graph, values), results in zip(wanted, found, strict=True):
        assert results is not None, f"the program ended early\n{graph}"
        for name in graph.outputs:
            want, got = values[name], results[name]
            if want.dtype.kind == "f":
                bound = bound_of(graph, values, want.dtype)
                np.testing.assert_allclose(got, want, rtol=0, atol=bound, err_msg=str(graph))
            else:
                np.testing.assert_array_equal(got, want, err_msg=str(graph))
    return sum(len(graph.outputs) for graph, _ in wanted)


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family[0]}_to_{family[-1]}")
def test_each_op_gives_what_evaluate_gives(family):
    assert check_all([case for op in family for case in drawn([op])]) >= len(family)


INTEGER = ("integer_add", "integer_mul", "integer_sub", "requantise", "rescale", "relu", "clip", "max_pool", "concat")
FLOAT = (
    "conv",
    "linear",
    "matmul",
    "batch_norm",
    "relu",
    "max_pool",
    "average_pool",
    "softmax",
    "add",
    "mul",
    "concat",
)
SHAPES = ("reshape", "transpose", "slice", "pad", "concat", "expand", "gather", "where", "cast", "tile", "flatten")


def test_graphs_of_several_ops_give_what_evaluate_gives():
    assert check_all([case for ops in (INTEGER, FLOAT, SHAPES) for case in drawn(ops)]) > 0


def test_any_layout_and_type_of_windows():
    ops = ["conv", "max_pool", "average_pool", "depth_to_space", "global_max_pool"]
    assert check_all([case for op in ops for case in drawn([op], every_type=True)]) > 0


@needs_cc
def test_tables_are_asked_for_numbers_far_beyond_their_ends():
    ends = np.array([[-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]])
    cases = []
    for low in (-(2**63), -1, 0, 1, 2**63 - 2):
        g = Graph("table")
        g.output("y", op.lookup(g.input("x", Tensor("i64", ("N", 7))), np.array([5, 7], np.int8), low=low))
        cases.append((g, {"x": ends}))
    assert check_all(cases) == len(cases)
