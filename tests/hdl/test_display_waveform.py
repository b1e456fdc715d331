"""Waveforms: valid and ready as GHDL has them, the beats of a window, and how they are shown."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, show
from graphrewrite.errors import EvaluationError
from graphrewrite.hdl import CosimulationReport, emit, simulate
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.emission.vectors import random_frames, random_gates
from graphrewrite.hdl.ghdl.cosimulation import _compare
from graphrewrite.hdl.netlist import netlist
from graphrewrite.hdl.simulation.signals import Signals
from graphrewrite.hdl.simulation.simulation import Simulation
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import rectify, residual
from tests.support.hostile_names import HOSTILE, Page
from tests.support.vcd_dump import signals_of


def several() -> Graph:
    g = Graph("several")
    a, b = (g.input(name, Stream(FixedPoint(True, 6, 2), (2, 3))) for name in ("a", "b"))
    left, right = fork(a)
    g.output("late", add(clip(left, low=0, high=9), b, element=FixedPoint(True, 7, 2)))
    g.output("early", clip(right, low=-1, high=1))
    return g


def run(graph: Graph, frames: int = 6, gates: dict[str, list[int]] | None = None) -> Simulation:
    return simulate(graph, random_frames(netlist(graph), frames, 0), gates=gates)


@pytest.fixture(scope="module")
def stalling() -> Simulation:
    return run(residual(), gates={"y": [1, 0, 0], "x": [1, 1, 0, 1]})


@pytest.mark.ghdl
@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("make", [rectify, residual, several])
def test_valid_and_ready_are_those_of_ghdl(make, seed, tmp_path: Path) -> None:
    graph = make()
    found = netlist(graph)
    gates = {} if seed is None else random_gates(found, seed)
    simulation = simulate(graph, random_frames(found, 5, 0), gates=gates)
    design = emit(graph, inputs=random_frames(found, 5, 0), gates=gates)
    labels = {part["node"]: part["instance"] for part in design.description["components"]}
    truth = signals_of(design, tmp_path / "design")
    timing, bench = simulation.timing, design.description["testbench"]
    cycles = 1 + max(int(timing.tracks(link)[0].of(-1, -1)) for link in timing.network.links)
    for first, length in ((0, cycles), (cycles // 3, cycles // 3)):
        signals = Signals(timing, gates, first, length)
        for link in timing.network.links:
            if link.sink in labels:
                port = f"{bench}.dut.{labels[link.sink]}.{'xy'[link.sink_port]}"
            else:
                results = len(found.instances[link.source].site.results)
                port = f"{bench}.dut.{labels[link.source]}.z{link.source_port if results > 1 else ''}"
            for name, bits in (("valid", signals.valid(link)), ("ready", signals.ready(link))):
                wanted = truth[f"{port}_{name}"][first : first + length]
                assert bits.tolist() == wanted.tolist(), (str(link), name)


def test_the_beats_of_a_window(stalling: Simulation) -> None:
    data = stalling.show(first=20, cycles=30).data
    assert (data.first, data.cycles) == (20, 30)
    assert [(wave.name, wave.reader) for wave in data.waves] == [
        (f"{link.source}:1" if link.source_port else link.source, link.sink) for link in stalling.timing.network.links
    ]
    (wave,) = stalling.show(first=20, cycles=30, streams="y").data.waves
    cycles = stalling.cycles["y"].ravel()
    values = Stream(FixedPoint(True, 9), (2, 4, 4)).to_beats(stalling.values["y"]).reshape(-1, 2)
    inside = [n for n in range(len(cycles)) if 20 <= cycles[n] < 50]
    shown = {beat.frame * 16 + beat.beat: beat for beat in wave.beats}
    assert set(inside) <= set(shown)
    for number in inside:
        assert shown[number].end == cycles[number]
        assert shown[number].text == " ".join(map(str, values[number]))
    for number in set(shown) - set(inside):  # offered in the window, and gone behind it
        assert shown[number].start < 50 <= shown[number].end


def test_all_windows_together_are_the_run(stalling: Simulation) -> None:
    total = stalling.show().data.total
    whole = stalling.show(cycles=total).data
    for wave in whole.waves:
        pieces = [stalling.show(first=f, cycles=17, streams=wave.name.split(":")[0]).data for f in range(0, total, 17)]
        same = [next(w for w in piece.waves if w.name == wave.name) for piece in pieces]
        assert tuple(bit for piece in same for bit in piece.valid)[:total] == wave.valid
        assert tuple(bit for piece in same for bit in piece.ready)[:total] == wave.ready
        assert {(b.frame, b.beat): b for piece in same for b in piece.beats} == {
            (b.frame, b.beat): b for b in wave.beats
        }
        moves = [cycle for cycle, state in enumerate(wave.states(0)) if state == "moves"]
        assert moves == [beat.end for beat in wave.beats]


def test_what_holds_a_stream_up(stalling: Simulation) -> None:
    data = stalling.show(cycles=200, streams=["y", "x"]).data
    y, x = data.waves
    for wave in (y, x):
        for state, place, length in data.runs(wave):
            for cycle in range(place, place + length):
                assert (wave.valid[cycle], wave.ready[cycle]) == ((True, False) if state == "waits" else (False, True))
                assert state == "waits" or wave.begins <= cycle <= wave.ends
    assert {state for wave in (y, x) for state, _, _ in data.runs(wave)} == {"waits", "starves"}
    moves = sum(valid and ready for valid, ready in zip(y.valid, y.ready, strict=True))
    waits = sum(length for state, _, length in data.runs(y) if state == "waits")
    assert data.counts(y) == f"{moves} beats, waits {waits} cycles for ready"


def test_how_numbers_are_written() -> None:
    g = Graph("g")
    g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8, 4), (2, 1))), low=-100, high=100))
    found = simulate(g, {"x": [[[-1], [24]]]})
    texts = {n: found.show(streams="x", number=n).data.waves[0].beats[0].text for n in ("decimal", "real", "hex")}
    assert texts == {"decimal": "-1 24", "real": "-0.0625 1.5", "hex": "18ff"}


def test_many_lanes_are_cut() -> None:
    g = Graph("g")
    g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (100, 1))), low=0, high=100))
    beat = simulate(g, {"x": np.arange(100).reshape(1, 100, 1)}).show(streams="x").data.waves[0].beats[0]
    assert beat.text == "0 1 2 3 4 5 6 7 …"
    assert beat.full.endswith("62 63 … 100 lanes")


def test_wrong_use(stalling: Simulation) -> None:
    with pytest.raises(EvaluationError, match="no stream comes from 'matvec'; did you mean 'matvec_1'"):
        stalling.show(streams=["matvec"])
    for window in ({"first": -1}, {"cycles": 0}, {"cycles": 1001}):
        with pytest.raises(EvaluationError, match="a window starts at cycle 0 or later and has 1 to 1000 cycles"):
            stalling.show(**window)
    with pytest.raises(EvaluationError, match="must be 'decimal', 'real' or 'hex', got 'binary'"):
        stalling.show(number="binary")


@pytest.mark.parametrize("streams", [12, 13])
def test_of_more_than_twelve_streams_those_at_the_ports_are_shown(streams: int) -> None:
    g = Graph("chain")
    x = g.input("x", Stream(FixedPoint(True, 6), (2, 3)))
    for _ in range(streams - 1):
        x = clip(x, low=-9)
    g.output("y", x)
    recording = run(g, 1).recording
    assert len(recording.streams) == streams
    ends = [(link.source, link.sink) for link in recording.chosen(None)]
    at_ports = [("x", "stream_clip_1"), (f"stream_clip_{streams - 1}", "y")]
    assert set(at_ports) <= set(ends)
    assert len(ends) == (streams if streams == 12 else 2)
    assert [link.sink for link in recording.chosen("y")] == ["y"]


def test_what_comes_later_changes_nothing() -> None:
    graph, x = rectify(), np.ones((2, 2, 3), np.int64)
    found = simulate(graph, {"x": x})
    before = show(found).text
    x[:] = 7
    graph.nodes["act"]["high"] = 0
    assert found.show().text == before


def test_behind_the_end(stalling: Simulation) -> None:
    data = stalling.show(first=stalling.show().data.total + 10, cycles=5).data
    assert [wave.beats for wave in data.waves] == [()] * len(data.waves)
    assert not any(data.runs(wave) for wave in data.waves)


def test_page_and_text(stalling: Simulation) -> None:
    shown = stalling.show(first=30, cycles=40)
    page = Page(shown.document)
    boxes = [attributes for tag, attributes in page.tags if tag == "rect"]
    states = sum(len(shown.data.runs(wave)) for wave in shown.data.waves)
    assert len(boxes) == states + 2  # and those of the legend
    assert sum(tag == "path" and "bus" in str(a.get("class")) for tag, a in page.tags) == sum(
        len(wave.beats) for wave in shown.data.waves
    )
    assert page.text.count("frame ") > 9
    lines = shown.text.splitlines()
    assert lines[0] == f"residual: cycles 30 to 69 of {shown.data.total}"
    assert lines[1].split()[:3] == ["cycle", "30", "31"]
    assert lines[2].split()[:2] == ["x", "valid"]
    assert max(map(len, lines[:-9])) <= 150
    timing = stalling.timing
    told = f"6 frames, latency {timing.empty_latency}, interval {timing.interval:g} cycles"
    assert repr(stalling) == f"<Simulation of 'residual': {told}>"
    assert str(stalling) == stalling.show().text


def test_long_runs_are_quick_and_small() -> None:
    graph = residual()
    found = simulate(graph, random_frames(netlist(graph), 2000, 0))
    started = time.process_time()
    shown = found.show(first=40_000, cycles=100)
    size = len(shown.html)
    assert time.process_time() - started < 1.0  # 0.1 s is usual
    assert size < 200_000
    assert shown.data.total > 60_000


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names(name: str) -> None:
    graph = rectify(name, x=f"{name} x", y=f"{name} y", node=f"{name} node")
    shown = run(graph, 2).show(cycles=20)
    page = Page(shown.document)
    assert len(shown.html) < 40_000
    assert all(line.isprintable() for line in shown.text.splitlines())
    assert max(map(len, shown.text.splitlines())) < 200
    if name == HOSTILE["script"]:
        assert "</svg></style></pre><script>" in page.text


class TestReport:
    def test_equal(self) -> None:
        found = CosimulationReport(True, 2, 6, 10, 0.25)
        assert repr(found) == "<CosimulationReport: equal: values and cycles of 6 beats in 2 frames, 10 cycles, 0.2 s>"
        assert "equal, values and cycles" in Page(found._repr_html_()).text
        assert found.show().text == str(found)

    def test_a_value(self) -> None:
        expected = [(10 + 2 * i, f"{i:04x}") for i in range(30)]
        actual = [(cycle, "dead" if i == 21 else word) for i, (cycle, word) in enumerate(expected)]
        found = CosimulationReport(False, 6, 30, 70, 0.1, _compare({"name": "y", "beats": 5}, expected, actual))
        data = found.show().data
        assert [wave.name for wave in data.waves] == ["expected", "GHDL"]
        assert [[(b.frame, b.beat, b.text) for b in w.beats if b.is_wrong] for w in data.waves] == [
            [(4, 1, "0015")], [(4, 1, "dead")],
        ]  # fmt: skip
        assert len(data.waves[0].beats) == 13
        assert (data.first, data.first + data.cycles) == (43, 70)
        page = Page(found.show().document)
        assert page.classes("wrong") == 2
        assert "not equal: y, frame 4, beat 1: expected 0015 in cycle 52, got dead" in page.text
        assert "≠dead" in found.show().text

    def test_a_beat_that_is_missing_and_one_that_comes_late(self) -> None:
        expected = [(i, "00") for i in range(9)]
        for actual in (expected[:4], [*expected[:4], (5000, "00")], [*expected, (9, "01")], []):
            found = CosimulationReport(False, 1, 9, 9, 0.1, _compare({"name": "y", "beats": 3}, expected, actual))
            assert found.show().data.cycles <= 200
            assert Page(found.show().html).classes("wrong") >= 1

    def test_a_difference_that_nobody_saw(self) -> None:
        from graphrewrite.hdl.ghdl.cosimulation import Difference

        found = CosimulationReport(False, 1, 2, 3, 0.5, Difference("y", 0, 1, "a in cycle 2", "nothing"))
        assert "not equal: y, frame 0, beat 1" in Page(found._repr_html_()).text
