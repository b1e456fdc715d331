"""Many configured components in one VHDL test bench, and what they should do by the definition of the schedule."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphrewrite.hdl import ghdl
from graphrewrite.hdl.component import Component, Site
from graphrewrite.hdl.generic import literal
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.types import Stream

HERE = Path(__file__).parent
TEMPLATES = HERE.parents[1] / "hdl" / "templates"
SHARED = [TEMPLATES / "lanes.vhd", TEMPLATES / "stream_buffer.vhd"]
TOOLS = [TEMPLATES / "stream_checker.vhd", TEMPLATES / "stream_source.vhd", HERE / "stream_sink.vhd"]

Beat = tuple[int, int]
"""The cycle of a transfer, and the payload."""


@dataclass(frozen=True)
class Case:
    """One configuration of a component, with the frames that it gets and the stall patterns around it."""

    component: Component
    site: Site
    inputs: tuple[np.ndarray, ...]
    sources: tuple[np.ndarray, ...]
    sinks: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        given = ", ".join(map(str, self.site.operands))
        attributes = {
            k: np.asarray(v).tolist() if isinstance(v, np.ndarray) else v for k, v in self.site.attributes.items()
        }
        return f"{self.component.op.name}({given}; {attributes}) -> {', '.join(map(str, self.site.results))}"

    def ports(self) -> list[tuple[str, Stream, bool]]:
        results = self.site.results
        ends = ["z"] if len(results) == 1 else [f"z{q}" for q in range(len(results))]
        return [
            *((name, stream, True) for name, stream in zip("xy", self.site.operands, strict=False)),
            *((name, stream, False) for name, stream in zip(ends, results, strict=True)),
        ]

    def expected(self) -> list[list[Beat]]:
        """Values by the op's function, cycles by the recurrence."""
        following = tuple(np.concatenate([frames, np.zeros_like(frames[:1])]) for frames in self.inputs)
        values = self.component.op(*following, **self.site.attributes)
        outputs = values if len(self.site.results) > 1 else (values,)
        cycles = predict(self.component.schedule(self.site), len(self.inputs[0]), self.sources, self.sinks)
        return [
            list(zip(at, payloads(stream, output)[: len(at)], strict=True))
            for at, stream, output in zip(cycles, self.site.results, outputs, strict=True)
        ]


def payloads(stream: Stream, values: np.ndarray) -> list[int]:
    """Pack each beat of a batch into one number."""
    beats = stream.to_beats(values).reshape(-1, stream.lanes).tolist()
    width = stream.element.width
    mask = (1 << width) - 1
    return [sum((number & mask) << (lane * width) for lane, number in enumerate(beat)) for beat in beats]


def predict(
    schedule: Schedule, frames: int, sources: Sequence[np.ndarray], sinks: Sequence[np.ndarray]
) -> list[list[int]]:
    """Return the cycle in which each beat leaves each output: the definition, step by step.

    After the last frame the component goes on to the first step that takes a beat of the next.
    """
    taken = [-1] * len(schedule.takes)
    left: list[list[int]] = [[] for _ in schedule.gives]
    takes = [set(port.tolist()) for port in schedule.takes]
    gives = [set(port.tolist()) for port in schedule.gives]
    at = -1
    for j in range(frames * schedule.steps + min(min(port) for port in takes)):
        step = j % schedule.steps
        at += 1
        for p, port in enumerate(takes):
            if step in port:
                at = max(at, _open(sources[p], max(taken[p] + 1, 1)))
        for q, port in enumerate(gives):
            beat = len(left[q]) - schedule.capacity[q]
            if step in port and beat >= 0:
                at = max(at, left[q][beat] + 1)
        for p, port in enumerate(takes):
            if step in port:
                taken[p] = at
        for q, port in enumerate(gives):
            if step in port:
                left[q].append(_open(sinks[q], max(at + schedule.latency, left[q][-1] + 1 if left[q] else 0)))
    return left


def _open(gate: np.ndarray, cycle: int) -> int:
    while not gate[cycle % len(gate)]:
        cycle += 1
    return cycle


def simulate(
    cases: Sequence[Case], folder: Path, entities: Sequence[str] = (), extra: Iterable[Path] = ()
) -> list[list[list[Beat]]]:
    """Run all cases in one simulation; return the beats that left each output of each.

    ``entities`` names entities without generics to be run in place of the components; ``extra`` holds their files.
    """
    text, last = [], 0
    for number, case in enumerate(cases):
        for (name, stream, is_input), values in zip(case.ports(), case.inputs, strict=False):
            assert is_input
            lines = (f"{payload:0{(stream.payload_width + 3) // 4}x}\n" for payload in payloads(stream, values))
            (folder / f"case_{number}_{name}.txt").write_text("".join(lines))
        text.append(_instance(number, case, entities[number] if entities else ""))
        last = max(last, *(beats[-1][0] for beats in case.expected()))
    bench = folder / "bench.vhd"
    bench.write_text(_BENCH.replace("BODY", "\n".join(text)))
    templates = [] if entities else sorted({TEMPLATES / case.component.template for case in cases})
    sources = [*SHARED, *templates, *extra, *TOOLS, bench]
    ghdl.run(sources, "bench", folder=folder, stop_time=f"{2 * (last + 40)}ns", timeout=300)
    return [
        [_log(folder / f"case_{number}_{name}.txt") for name, _, is_input in case.ports() if not is_input]
        for number, case in enumerate(cases)
    ]


def _log(path: Path) -> list[Beat]:
    words = (line.split() for line in path.read_text().splitlines())
    return [(int(cycle), int(payload, 16)) for cycle, payload in words]


_BENCH = """library ieee;
use ieee.std_logic_1164.all;

entity bench is
end entity;

architecture simulation of bench is
  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
begin
  clk <= not clk after 1 ns;
  rst <= '1', '0' after 6 ns;

BODY
end architecture;
"""


def _instance(number: int, case: Case, entity: str) -> str:
    """Return a block with one component, its sources, its sinks, and a checker at each port."""
    signals, parts, wires = [], [], ["clk => clk", "rst => rst"]
    gates = iter([*case.sources, *case.sinks])
    for name, stream, is_input in case.ports():
        width = stream.payload_width
        signals.append(f"    signal {name}_payload : std_logic_vector({width - 1} downto 0);")
        signals.append(f"    signal {name}_valid, {name}_ready : std_logic;")
        wires += [f"{name}_{part} => {name}_{part}" for part in ("payload", "valid", "ready")]
        tool, side = ("stream_source", "z") if is_input else ("stream_sink", "x")
        own = ", ".join(f"{side}_{part} => {name}_{part}" for part in ("payload", "valid", "ready"))
        gate = literal(next(gates), indent=6)
        own = f"port map (clk => clk, rst => rst, {own})"
        seen = ", ".join(f"{part} => {name}_{part}" for part in ("payload", "valid", "ready"))
        label = f"case_{number}_{name}"
        parts += [
            f"    {name}_end : entity work.{tool}",
            f'      generic map (WIDTH => {width}, FILE_NAME => "{label}.txt", GATE => {gate}) {own};',
            f'    {name}_check : entity work.stream_checker generic map (NAME => "{label}", WIDTH => {width})',
            f"      port map (clk => clk, rst => rst, {seen});",
        ]
    generics = "" if entity else f"generic map ({generic_map(case)})"
    dut = [
        f"    dut : entity work.{entity or case.component.entity} {generics}",
        f"      port map ({', '.join(wires)});",
    ]
    return "\n".join([f"  case_{number} : block", *signals, "  begin", *dut, *parts, "  end block;", ""])


def generic_map(case: Case) -> str:
    values = case.component.generics(case.site)
    return ",\n      ".join(f"{name} => {literal(value, indent=6)}" for name, value in values.items())


def netlist(number: int, case: Case, folder: Path) -> Path:
    """Synthesise a case with GHDL; return the file of the resulting entity ``netlist_<number>``."""
    top = f"netlist_{number}"
    ports, wires = ["clk, rst : in std_logic"], ["clk => clk", "rst => rst"]
    for name, stream, is_input in case.ports():
        there, back = ("in", "out") if is_input else ("out", "in")
        ports.append(f"{name}_payload : {there} std_logic_vector({stream.payload_width - 1} downto 0)")
        ports += [f"{name}_valid : {there} std_logic", f"{name}_ready : {back} std_logic"]
        wires += [f"{name}_{part} => {name}_{part}" for part in ("payload", "valid", "ready")]
    wrapper = folder / f"wrapper_{number}.vhd"
    wrapper.write_text(
        f"library ieee;\nuse ieee.std_logic_1164.all;\nentity {top} is\n  port ({'; '.join(ports)});\nend entity;\n"
        f"architecture rtl of {top} is\nbegin\n  dut : entity work.{case.component.entity}\n"
        f"    generic map ({generic_map(case)})\n    port map ({', '.join(wires)});\nend architecture;\n"
    )
    text = ghdl.synthesise([*SHARED, TEMPLATES / case.component.template, wrapper], top)
    for name, stream, _ in case.ports():
        if stream.payload_width == 1:  # GHDL 2.0 converts a bit to a vector, which is not VHDL
            text = re.sub(rf"\b{name}_payload <= std_u?logic_vector\((wrap_\w+)\)", rf"{name}_payload(0) <= \1", text)
    for entity in sorted(set(re.findall(r"^entity (\w+) is", text, re.MULTILINE)) - {top}):
        text = re.sub(rf"\b{entity}\b", f"{top}_{entity}", text)
    path = folder / f"{top}.vhd"
    path.write_text(text)
    return path
