"""From an ONNX file to a VHDL project."""

from __future__ import annotations

import time

from graphrewrite.cli.pipeline import compile_model
from tests.benchmarks.figures import NETWORKS, path_of, print_table, scaled


def test_compilation_without_ghdl(tmp_path, monkeypatch):
    """All that `graphrewrite compile` does where GHDL is absent; the least of three."""
    monkeypatch.setenv("PATH", str(tmp_path))
    rows = []
    for network in scaled(NETWORKS[:1], NETWORKS):
        runs = []
        for index in range(scaled(1, 3)):
            start = time.perf_counter()
            found = compile_model(path_of(network), tmp_path / f"{network}_{index}")
            runs.append((time.perf_counter() - start, found))
        total, found = min(runs, key=lambda run: run[0])
        assert found.cosimulation is None
        slowest = max(found.seconds, key=found.seconds.__getitem__)
        rows.append((network, total, "< 3", f"{slowest} ({found.seconds[slowest]:.2f} s)"))
    print_table("Compilation without GHDL", ("network", "seconds", "goal", "slowest step"), rows)
