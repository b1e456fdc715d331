"""Components after GHDL's own synthesis, in place of what they were made of."""

import re
from pathlib import Path

from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.emission.entity import ports, source_of
from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.ghdl import simulator as ghdl

TEMPLATES = Path(__file__).parents[2] / "hdl" / "templates"
SHARED = [TEMPLATES / f"{name}.vhd" for name in ("lanes", "stream_buffer", "accumulator", "matrix_steps")]


def netlist(number: int, case: Case, folder: Path) -> Path:
    """Synthesise a case with GHDL; return the file of the resulting entity ``netlist_<number>``."""
    top = f"netlist_{number}"
    declared, wires = ["clk, rst : in std_logic"], ["clk => clk", "rst => rst"]
    for name, stream, is_input in ports(case.site):
        there, back = ("in", "out") if is_input else ("out", "in")
        declared.append(f"{name}_payload : {there} std_logic_vector({stream.payload_width - 1} downto 0)")
        declared += [f"{name}_valid : {there} std_logic", f"{name}_ready : {back} std_logic"]
        wires += [f"{name}_{part} => {name}_{part}" for part in ("payload", "valid", "ready")]
    values = case.component.generics(case.site)
    generics = ",\n      ".join(f"{name} => {literal(value, indent=6)}" for name, value in values.items())
    component, wrapper = folder / f"{case.component.entity}.vhd", folder / f"wrapper_{number}.vhd"
    component.write_text(source_of(case.component))
    wrapper.write_text(
        "library ieee;\nuse ieee.std_logic_1164.all;\n"
        f"entity {top} is\n  port ({'; '.join(declared)});\nend entity;\n"
        f"architecture rtl of {top} is\nbegin\n  dut : entity work.{case.component.entity}\n"
        f"    generic map ({generics})\n    port map ({', '.join(wires)});\nend architecture;\n"
    )
    text = ghdl.synthesise([*SHARED, component, wrapper], top)
    for name, stream, _ in ports(case.site):
        if stream.payload_width == 1:  # GHDL 2.0 converts a bit to a vector, which is not VHDL
            text = re.sub(rf"\b{name}_payload <= std_u?logic_vector\((wrap_\w+)\)", rf"{name}_payload(0) <= \1", text)
    text = re.sub(r"\b((?:un)?signed)'\('([01])'\)", r"\1'(0 => '\2')", text)  # nor is a bit a vector in brackets
    # Between two delta cycles an address may lie beyond a memory whose depth is no power of two.
    text = re.sub(r"\b(n\d+)\(to_integer \(unsigned \((\w+)\)\)\)", r"\1(to_integer(unsigned(\2)) mod \1'length)", text)
    for entity in sorted(set(re.findall(r"^entity (\w+) is", text, re.MULTILINE)) - {top}):
        text = re.sub(rf"\b{entity}\b", f"{top}_{entity}", text)
    path = folder / f"{top}.vhd"
    path.write_text(text)
    return path
