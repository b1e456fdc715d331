"""The VHDL test bench that holds many configurations, each with a clock of its own, its sources, sinks and watchers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.emission.entity import check_entity, ports, sources_of, template
from graphrewrite.hdl.emission.vectors import payloads
from graphrewrite.hdl.generics import literal

__all__ = ["write_bench"]

TOOLS = ("bench_clock", "stream_checker", "stream_monitor", "stream_sink", "stream_source")


def write_bench(
    cases: Sequence[Case], folder: Path, entities: Sequence[str] = (), extra: Sequence[Path] = ()
) -> list[Path]:
    """Write a test bench of the entity ``bench`` and all that it reads; return its sources in the order of analysis."""
    if not entities:
        for case in cases:
            check_entity(case.component, case.site)
    components = {} if entities else {case.component.entity: case.component for case in cases}
    files = sources_of(components.values())
    order: list[Path | str] = list(files)
    files.update({name: template(f"{name}.vhd") for name in TOOLS})
    blocks = []
    for number, case in enumerate(cases):
        _write_frames(case, number, folder)
        blocks.append(_block(number, case, entities[number] if entities else ""))
    files["bench"] = _BENCH.replace("BODY", "\n".join(blocks))
    for name, text in files.items():
        (folder / f"{name}.vhd").write_text(text, encoding="utf-8", newline="\n")
    return [p if isinstance(p, Path) else folder / f"{p}.vhd" for p in (*order, *extra, *TOOLS, "bench")]


def _write_frames(case: Case, number: int, folder: Path) -> None:
    for index, (name, stream, takes) in enumerate(ports(case.site)):
        if takes:
            runs = ("".join(f"{word}\n" for word in payloads(stream, run.inputs[index])) for run in case.runs)
            (folder / f"case_{number}_{name}.txt").write_text("\n".join(runs))


_BENCH = """library ieee;
use ieee.std_logic_1164.all;

entity bench is
end entity;

architecture simulation of bench is
begin

BODY
end architecture;
"""


def _block(number: int, case: Case, entity: str) -> str:
    """One configuration: its clock, the component, and at each stream an end, a checker and a monitor."""
    signals, parts, wires = [], [], ["clk => clk", "rst => rst"]
    gates = iter([*case.sources, *case.sinks])
    for name, stream, takes in ports(case.site):
        width, gate = stream.payload_width, literal(np.array(next(gates)), indent=6)
        signals += [
            f"    signal {name}_payload : std_logic_vector({width - 1} downto 0);",
            f"    signal {name}_valid, {name}_ready : std_logic;",
        ]
        wires += [f"{name}_{part} => {name}_{part}" for part in ("payload", "valid", "ready")]
        label = f"case_{number}_{name}"
        stream_ports = ", ".join(f"{part} => {name}_{part}" for part in ("payload", "valid", "ready"))
        if takes:
            source_ports = ", ".join(f"z_{part} => {name}_{part}" for part in ("payload", "valid", "ready"))
            parts += [
                f"    {name}_end : entity work.stream_source",
                f'      generic map (WIDTH => {width}, FILE_NAME => "{label}.txt", GATE => {gate})',
                f"      port map (clk => clk, rst => rst, {source_ports});",
            ]
        else:
            parts += [
                f"    {name}_end : entity work.stream_sink generic map (GATE => {gate})",
                f"      port map (clk => clk, rst => rst, x_ready => {name}_ready);",
            ]
        parts += [
            f'    {name}_check : entity work.stream_checker generic map (NAME => "{label}", WIDTH => {width})',
            f"      port map (clk => clk, rst => rst, {stream_ports});",
            f"    {name}_log : entity work.stream_monitor",
            f'      generic map (WIDTH => {width}, FILE_NAME => "{label}_log.txt")',
            f"      port map (clk => clk, rst => rst, {stream_ports});",
        ]
    resets, cycles = np.array([run.resets for run in case.runs]), np.array(case.cycles)
    clock = [
        "    beat : entity work.bench_clock",
        f"      generic map (RESETS => {literal(resets)}, CYCLES => {literal(cycles)})",
        "      port map (clk => clk, rst => rst);",
    ]
    pairs = [] if entity else [f"{n} => {literal(v, indent=6)}" for n, v in case.component.generics(case.site).items()]
    generics = "generic map (" + ",\n      ".join(pairs) + ")" if pairs else ""
    dut = [
        f"    dut : entity work.{entity or case.component.entity} {generics}",
        f"      port map ({', '.join(wires)});",
    ]
    head = [f"  case_{number} : block", "    signal clk, rst : std_logic;"]
    return "\n".join([*head, *signals, "  begin", *clock, *dut, *parts, "  end block;", ""])
