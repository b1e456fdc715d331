"""Networks as programs: the memory that they take, and how fast their plan is made."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphrewrite import rewrite, verify
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.lowering import from_onnx, lower_to_memory
from graphrewrite.memory import plan_memory, schedule
from graphrewrite.rules import MEMORY_RULES, eliminate_independent_nodes
from tests.support.arena import Arena

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
MIB = 1 << 20


def programs_of(name):
    """A network of ONNX with weights as constants, as a program, and with few regions."""
    file = FOLDER / f"light_{name}.onnx"
    if not file.exists():
        pytest.skip("this version of onnx brings no networks")
    graph = rewrite(from_onnx(file), [eliminate_independent_nodes])
    program = lower_to_memory(graph, sizes={"N": 1})
    return graph, program, rewrite(program, MEMORY_RULES)


@pytest.mark.parametrize(("name", "least", "most"), [("squeezenet", 26.6, 3.75), ("resnet50", 100.9, 6.9)])
def test_a_network_takes_little_memory(name, least, most):
    _, program, fewer = programs_of(name)
    verify(fewer)
    plan = plan_memory(fewer, schedule(fewer).order)
    assert plan.size == plan.bound <= most * MIB
    assert sum(room.size for room in plan_memory(program, search=False).rooms.values()) >= least * MIB


def test_squeezenet_gives_the_same_bits_in_one_block():
    graph, _, fewer = programs_of("squeezenet")
    plan = plan_memory(fewer, schedule(fewer).order)
    given = {name: np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(np.float32) for name in graph.inputs}
    found = Arena(fewer, plan, given).run()
    for name, array in evaluate_nodes(graph, given).items():
        np.testing.assert_array_equal(array, found[name])


def test_a_deep_network_has_its_plan_soon():
    begin = time.process_time()
    *_, fewer = programs_of("densenet121")
    plan_memory(fewer, schedule(fewer).order)
    assert time.process_time() - begin < 3
