"""Memory of the largest networks here: what a run takes beside what its plan says.

The plan is the greatest sum of values that live at a time in the best order of nodes, as `schedule` proves it, where
nothing is overwritten; what functions need on the way is not in it. Of a program that is compiled, the first run in a
process of its own is measured twice: the growth of its resident set, and the peak of what it allocates, with what the
program keeps for later runs. Weights count on both sides. The networks are those that come with onnx, whose weights
are constants of their structure, and ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.small_networks import mobilenet, transformer

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PROGRAM = Path(__file__).with_name("planned_peer.py")
OURS = {"mobilenet": lambda: mobilenet(224), "transformer": transformer}
NETWORKS = (
    *("vgg19", "zfnet512", "bvlc_alexnet", "resnet50", "inception_v2", "densenet121", "inception_v1", "shufflenet"),
    *("squeezenet", *OURS),
)
"""The largest first."""
ROWS = scaled([("squeezenet", 1)], [*((name, batch) for name in NETWORKS for batch in (1, 4)), ("resnet50", 64)])
HEADS = ("network, batch", "plan MiB", "weights MiB", "allocated 1", "goal", "resident 1", "goal")


@pytest.mark.parametrize(("network", "batch"), ROWS)
def test_memory_is_as_planned(network: str, batch: int, tmp_path: Path, rows: list) -> None:
    if network in OURS:
        onnx.save(OURS[network](), model := tmp_path / "model.onnx")
    elif not (model := LIGHT / f"light_{network}.onnx").exists():
        pytest.skip("this version of onnx brings no networks")
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, str(PROGRAM), str(model), str(batch)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    plan, weights, allocated, resident = map(int, found.split())
    bound = plan + weights
    ratios = ((allocated + weights) / bound, (resident + weights) / bound)
    rows.append((f"{network}, {batch}", plan / 2**20, weights / 2**20, ratios[0], "<= 1.1", ratios[1], "<= 1.1"))


@pytest.fixture(scope="module")
def rows() -> list:
    """The rows of the table, which is printed when all of them are there."""
    found: list = []
    yield found
    print_table("Memory of a run and its weights, in terms of the plan and the weights; one thread", HEADS, found)
