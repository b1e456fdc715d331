"""Every component over its parameter space: GHDL and numpy give the same values in the same cycles."""

from pathlib import Path

import numpy as np
import pytest

from graphrewrite.hdl.checking import check, check_component
from graphrewrite.hdl.checking.comparison import compare
from graphrewrite.hdl.checking.simulation import simulate_cases
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.errors import SimulatorError
from graphrewrite.hdl.ghdl import simulator as ghdl
from tests.hdl.configurations import BY_NAME, cases, configurations_of
from tests.support.hdl_bench import SHARED, TEMPLATES, netlist

NAMES = list(BY_NAME)


@pytest.mark.ghdl
@pytest.mark.parametrize("name", NAMES)
def test_values_and_cycles_equal_those_of_ghdl(name: str, hdl_seed: int, hdl_count: int) -> None:
    found = configurations_of(name)
    corners = list(found.corners())
    report = check_component(BY_NAME[name], found.draw, corners=corners, count=hdl_count, seed=hdl_seed, timeout=None)
    print(report)
    assert report.configurations == len(corners) + hdl_count


@pytest.mark.parametrize("name", NAMES)
def test_each_component_has_configurations_and_corner_cases(name: str) -> None:
    assert next(configurations_of(name).corners()).results


def test_a_component_without_configurations_is_told_what_to_write() -> None:
    with pytest.raises(
        AssertionError, match=r"nothing has no configurations; write tests/hdl/configurations/nothing.py"
    ):
        configurations_of("nothing")


def test_the_seed_decides_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_check", lambda *_: None)

    def drawn(seed: int) -> list[int]:
        numbers = []

        def draw(rng: np.random.Generator) -> Site:
            numbers.append(int(rng.integers(1 << 30)))
            return configurations_of("fifo").draw(rng)

        assert check_component(BY_NAME["fifo"], draw, count=3, seed=seed).configurations == 3
        return numbers

    assert drawn(1) == drawn(1)
    assert set(drawn(1)).isdisjoint(drawn(2))


@pytest.mark.slow
@pytest.mark.ghdl
@pytest.mark.parametrize("name", NAMES)
def test_the_synthesised_netlist_does_the_same(name: str, tmp_path: Path, hdl_seed: int, hdl_count: int) -> None:
    # Each takes a synthesis: four or five of the corner cases and of the random ones; each has its turn with some seed.
    drawn = cases(name, count=12, seed=hdl_seed)
    if hdl_count <= 100:
        step = len(drawn) // 4
        drawn = drawn[hdl_seed % step :: step]
    files = [netlist(number, case, tmp_path) for number, case in enumerate(drawn)]
    seen = simulate_cases(drawn, entities=[file.stem for file in files], extra=files)
    for number, case in enumerate(drawn):
        difference = compare(case, seen[number])
        assert difference is None, f"seed {hdl_seed}, configuration {number}, {case}: {difference}"


@pytest.mark.ghdl
@pytest.mark.parametrize(("name", "width"), [("lookup", 6), ("maximum", 32)], ids=["few ones", "a wide tree"])
def test_what_the_synthesis_lost_once_survives(name: str, width: int, tmp_path: Path) -> None:
    (case,) = [case for case in cases(name, count=0) if case.site.operands[0].element.width == width]
    file = netlist(0, case, tmp_path)
    (seen,) = simulate_cases([case], entities=[file.stem], extra=[file])
    assert compare(case, seen) is None


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
    with pytest.raises(SimulatorError, match=rf"here: {fault}, run 1, cycle \d+"):
        ghdl.run([TEMPLATES / "stream_checker.vhd", bench], "faulty", stop_time="60ns")
