"""Every component over its parameter space: GHDL and numpy give the same values in the same cycles."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from graphrewrite.hdl import ghdl
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.errors import SimulatorError
from tests.hdl.bench import SHARED, TEMPLATES, TOOLS, Case, netlist, simulate
from tests.hdl.configurations import RANDOM, SEED, cases

NAMES = [component.entity for component in COMPONENTS]


def assert_equal(drawn: Sequence[Case], entities: Sequence[str], extra: Sequence[Path], folder: Path) -> None:
    for number, (case, seen) in enumerate(zip(drawn, simulate(drawn, folder, entities, extra), strict=True)):
        for port, (got, wanted) in enumerate(zip(seen, case.expected(), strict=True)):
            assert got == wanted, f"seed {SEED}, case {number}, output {port}: {case}"


@pytest.mark.ghdl
@pytest.mark.parametrize("name", NAMES)
def test_values_and_cycles_equal_those_of_ghdl(name: str, tmp_path: Path) -> None:
    drawn = cases(name)
    print(f"seed {SEED}: {len(drawn)} configurations of {name}")
    assert len(drawn) > RANDOM
    assert_equal(drawn, (), (), tmp_path)


@pytest.mark.slow
@pytest.mark.ghdl
@pytest.mark.parametrize("name", NAMES)
def test_the_synthesised_netlist_does_the_same(name: str, tmp_path: Path) -> None:
    drawn = cases(name, count=6)
    files = [netlist(number, case, tmp_path) for number, case in enumerate(drawn)]
    assert_equal(drawn, [file.stem for file in files], files, tmp_path)


@pytest.mark.ghdl
@pytest.mark.parametrize("template", sorted(path.name for path in TEMPLATES.glob("*.vhd")))
def test_each_template_analyses_alone_without_warnings(template: str, tmp_path: Path) -> None:
    # Entities are bound when a design is elaborated or named directly: the shared ones come first.
    if template != SHARED[0].name:
        ghdl.analyse([path for path in SHARED if path.name != template], tmp_path)
    assert ghdl.analyse([TEMPLATES / template], tmp_path) == ""


def test_each_component_has_a_template_of_its_name() -> None:
    for component in COMPONENTS:
        assert (TEMPLATES / component.template).is_file()
        assert component.op.level == "stream"


FAULTS = {
    "valid fell before the transfer": ("valid <= '1' when cycle = 5 else '0';", 'payload <= x"11";', "ready <= '0';"),
    "the payload changed before the transfer": (
        "valid <= '1' when cycle > 4 else '0';",
        'payload <= x"11" when cycle < 7 else x"12";',
        "ready <= '1' when cycle > 8 else '0';",
    ),
    "the payload holds a metavalue": (
        "valid <= '1' when cycle > 4 else '0';",
        'payload <= "0000000X";',
        "ready <= '1';",
    ),
    "valid is neither 0 nor 1": (
        "valid <= '1' when cycle > 9 else 'U' when cycle > 3 else '0';",
        'payload <= x"11";',
        "ready <= '1';",
    ),
    "ready is neither 0 nor 1": ("valid <= '0';", 'payload <= x"11";', "ready <= 'X';"),
    "valid in the cycle after a reset edge": ("valid <= '1';", 'payload <= x"11";', "ready <= '1';"),
}
FAULTY = """library ieee;
use ieee.std_logic_1164.all;

entity faulty is
end entity;

architecture simulation of faulty is
  signal clk, rst : std_logic := '1';
  signal valid, ready : std_logic;
  signal payload : std_logic_vector(7 downto 0);
  signal cycle : natural := 0;
begin
  clk <= not clk after 1 ns;
  rst <= '0' after 4 ns;
  cycle <= cycle + 1 when rising_edge(clk);
  BODY
  check : entity work.stream_checker
    generic map (NAME => "here", WIDTH => 8)
    port map (clk => clk, rst => rst, payload => payload, valid => valid, ready => ready);
end architecture;
"""


@pytest.mark.ghdl
@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_stops_at(fault: str, tmp_path: Path) -> None:
    bench = tmp_path / "faulty.vhd"
    bench.write_text(FAULTY.replace("BODY", "\n  ".join(FAULTS[fault])))
    with pytest.raises(SimulatorError, match=f"here: {fault}"):
        ghdl.run([TOOLS[0], bench], "faulty", stop_time="60ns")
