"""Depths of fifos: the predicted high-water mark is what GHDL shows, and one place less deadlocks or delays."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.graph import Graph
from graphrewrite.hdl import DeadlockError, Design, cosimulate, emit, predict
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.components.accumulate import accumulate
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.components.total import total
from graphrewrite.hdl.components.window import window
from graphrewrite.hdl.emission.entity import template
from graphrewrite.hdl.ghdl import simulator as ghdl
from graphrewrite.hdl.netlist import netlist
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import BYTE
from tests.support.growing_designs import network

FRAMES = 8
STEADY = 4096  # frames after which the slowest drift shows
SEARCHED = 40  # networks in which to look for fifos


def skipping(size: int, windows: int) -> Graph:
    """Windows, and a way around each and around all of them: what goes around has to wait for what is held back."""
    g = Graph(f"skipping_{size}_{windows}")
    x = first = g.input("x", Stream(BYTE, (1, size, size)))
    for _ in range(windows):
        scanned = total(window(x, kernel=(3, 3), pads=(1, 1, 1, 1)), groups=9, element=FixedPoint(True, 12))
        x = clip(add(scanned, x, element=FixedPoint(True, 13)), element=BYTE)
    g.output("y", add(x, first, element=FixedPoint(True, 9)))
    return insert_fifos(insert_forks(g))


def waiting(places: int) -> Graph:
    """The greatest number of a frame, added to each: what goes around has to wait for the end of the frame."""
    g = Graph(f"waiting_{places}")
    x = g.input("x", Stream(BYTE, (8, places), 1))
    slow = clip(matvec(x, weights=np.ones((1, 8), int), bias=[0], element=FixedPoint(True, 12)), element=BYTE)
    most = repeat(accumulate(slow, kind="maximum"), factors=(places,))
    g.output("y", add(slow, most, element=FixedPoint(True, 9)))
    return insert_fifos(insert_forks(g))


@cache
def given() -> tuple[Graph, ...]:
    return skipping(5, 1), skipping(4, 2), waiting(9)


def fifos(graph: Graph) -> dict[str, int]:
    """The fifos at joins, and how deep they are; not those that only part an input from an output."""
    return {
        node: graph.nodes[node]["depth"]
        for node in graph
        if graph.nodes[node]["type"] == "fifo"
        and not (graph.operands(node)[0].node in graph.inputs and graph.readers(node)[0].node in graph.outputs)
    }


def found(seed: int, most: int) -> Iterator[Graph]:
    """Random networks with fifos of two places or more."""
    for number in range(SEARCHED):
        graph, _ = network(seed, number)
        if any(depth > 1 for depth in fifos(graph).values()):
            yield graph
            most -= 1
            if not most:
                return


def instance(design: Design, node: str) -> tuple[str, str]:
    """Label of a node's instance, and its text in the top level."""
    label = next(part["instance"] for part in design.description["components"] if part["node"] == node)
    block = re.search(rf"  {label} : entity .*?\);\n.*?\);\n", design.files[f"{design.name}.vhd"], re.DOTALL)
    assert block is not None
    return label, block[0]


def watched(design: Design, nodes: list[str]) -> Design:
    """The design with a monitor at both sides of nodes."""
    top = f"{design.name}.vhd"
    parts = []
    for node in nodes:
        label, block = instance(design, node)
        width = re.search(r"WIDTH => (\d+)", block)
        assert width is not None
        for side in "xz":
            name = re.search(rf"{side}_valid => (\w+)_valid", block)
            assert name is not None
            wires = ", ".join(f"{part} => {name[1]}_{part}" for part in ("payload", "valid", "ready"))
            parts.append(
                f"  {label}_{side}_log : entity work.stream_monitor\n"
                f'    generic map (WIDTH => {width[1]}, FILE_NAME => "{node}_{side}.txt")\n'
                f"    port map (clk => clk, rst => rst, {wires});\n"
            )
    text = design.files[top].replace("end architecture;", "".join(parts) + "end architecture;")
    files = {**design.files, top: text, "stream_monitor.vhd": template("stream_monitor.vhd")}
    files["compile_order.txt"] = "stream_monitor.vhd\n" + files["compile_order.txt"]
    return dataclasses.replace(design, files=files)


def cycles(path: Path) -> np.ndarray:
    return np.array([int(line.split()[0]) for line in path.read_text().splitlines()])


@pytest.mark.ghdl
def test_the_high_water_mark_is_what_ghdl_shows(tmp_path: Path, hdl_seed: int) -> None:
    seen: Counter[str] = Counter()
    for number, graph in enumerate([*given(), *found(hdl_seed, 4)]):
        nodes = list(fifos(graph))
        design = emit(graph, frames=FRAMES, gates={}, seed=number)
        folder = watched(design, nodes).write(tmp_path / str(number))
        order = [folder / line for line in (folder / "compile_order.txt").read_text().split()]
        ghdl.run(order, design.description["testbench"], folder=folder, timeout=60)
        marks = predict(graph, FRAMES).high_water
        for node in nodes:
            visible, leaves = cycles(folder / f"{node}_x.txt") + 1, cycles(folder / f"{node}_z.txt")
            # The bench goes on until the last beat has left, so that what came in has gone.
            held = np.arange(1, len(visible) + 1) - np.searchsorted(leaves, visible)
            assert held.max() == marks[node, 0], f"seed {hdl_seed}, {node}\n{graph}"
            seen["full" if held.max() == graph.nodes[node]["depth"] else "one spare"] += 1
            # A place is free again only in the cycle after its beat left: more than one is never spare in a full run.
            assert held.max() <= graph.nodes[node]["depth"]
    assert seen["full"] >= 2
    assert sum(seen.values()) >= 5


@pytest.mark.ghdl
def test_one_place_less_deadlocks_or_delays(hdl_seed: int) -> None:
    kinds: Counter[str] = Counter()
    for number, graph in enumerate([*given(), *found(hdl_seed, 5)]):
        pace = predict(graph, STEADY)
        design = emit(graph, frames=FRAMES, gates={}, seed=number)
        for node, depth in fifos(graph).items():
            if depth == 1:
                continue
            shallow = graph.copy()
            shallow.nodes[node]["depth"] = depth - 1
            try:
                other = predict(shallow, STEADY)
                kind = "slower" if other.interval > pace.interval else "later"
                assert kind == "slower" or other.empty_latency > pace.empty_latency, f"{node}\n{graph}"
                same = all((a == predict(graph, FRAMES).transfers[k]).all() for k, a in _outputs(shallow))
            except DeadlockError:
                kind, same = "deadlock", False
            if same or kinds[kind] >= 3:
                continue  # the delay shows after more frames than are simulated
            kinds[kind] += 1
            _, block = instance(design, node)
            top = design.files[f"{design.name}.vhd"]
            changed = top.replace(block, block.replace(f"CAPACITY => {depth}", f"CAPACITY => {depth - 1}"))
            assert changed != top
            report = cosimulate(dataclasses.replace(design, files={**design.files, f"{design.name}.vhd": changed}))
            assert report.difference is not None, f"seed {hdl_seed}, {node} of {depth} places\n{graph}"
    print(kinds)
    assert kinds["deadlock"] >= 1
    assert kinds["slower"] + kinds["later"] >= 2


@pytest.mark.parametrize("number", [164, 200, 318, 522])
def test_buffers_stand_before_what_joins_or_pauses(number: int) -> None:
    """Networks whose components pause for each other; what takes a beat in every step waits for nobody."""
    before, _ = network(77, number, fifos=False)
    graph = insert_fifos(before)
    timed = netlist(graph).network
    for link in timed.links:
        if link.source not in before and graph.nodes[link.source]["type"] == "fifo":
            schedule = timed.components[link.sink]
            assert len(schedule.takes) > 1 or timed.beats(link) < schedule.steps


def _outputs(graph: Graph) -> list[tuple[object, np.ndarray]]:
    run = predict(graph, FRAMES)
    return [(link, run.transfers[link]) for link in run.network.links if link.sink in graph.outputs]
