"""Two designs in one VHDL library, designs in libraries of their own, the scripts that add a design to a project."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from graphrewrite.hdl import Design, DesignError, cosimulate, emit
from graphrewrite.hdl.ghdl.simulator import analyse, find_ghdl
from graphrewrite.lowering import quantise, to_integer, to_stream
from tests.support.designs import rectify

LIMITS = ("--ieee-asserts=disable-at-0", "--max-stack-alloc=0")


def trained(seed: int, name: str, library: str = "work") -> Design:
    """Networks of equal node names and other weights."""
    random = np.random.default_rng(seed)
    g = Graph("net")
    x = g.input("x", Tensor("f32", ("N", 4)))
    h = op.relu(op.linear(x, *(random.normal(size=s).astype(np.float32) for s in ((5, 4), (5,)))))
    g.output("y", op.linear(h, *(random.normal(size=s).astype(np.float32) for s in ((3, 5), (3,)))))
    samples = random.normal(size=(30, 4)).astype(np.float32)
    return emit(to_stream(to_integer(quantise(g, {"x": samples}))), name=name, library=library, frames=4)


@pytest.mark.ghdl
def test_two_designs_in_one_library_are_as_predicted(tmp_path: Path) -> None:
    designs = {name: trained(seed, name) for seed, name in enumerate(("left", "right"))}
    roms = [{p for p in d.files if p.startswith("rom/")} for d in designs.values()]
    assert roms[0]
    assert not roms[0] & roms[1]
    # Equal files once: VHDL holds a unit for outdated as soon as an entity that it uses is analysed again.
    files: dict[str, Path] = {}
    for name, design in designs.items():
        folder = design.write(tmp_path / name)
        for path in (folder / "compile_order.txt").read_text().split():
            other = files.setdefault(path, folder / path)
            assert other.read_text() == design.files[path]
    (tmp_path / "lib").mkdir()
    assert analyse(files.values(), tmp_path / "lib", "shared") == ""
    for name, design in designs.items():
        options = ("--std=08", "--work=shared", f"--workdir={tmp_path / 'lib'}")
        bench = design.description["testbench"]
        run = [str(find_ghdl()), "--elab-run", *options, bench, *LIMITS]
        done = subprocess.run(run, cwd=tmp_path / name, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "PASS: 4 frames, values and cycles as predicted" in done.stdout + done.stderr


@pytest.mark.ghdl
def test_a_library_each_keeps_components_of_one_name_apart(tmp_path: Path) -> None:
    designs = [trained(1, "net", library) for library in ("first", "second")]
    assert all(cosimulate(design) for design in designs)
    options = ("--std=08", f"--workdir={tmp_path}", f"-P{tmp_path}")
    for design, library in zip(designs, ("first", "second"), strict=True):
        folder = design.write(tmp_path / library)
        analyse([folder / path for path in design.description["sources"]], tmp_path, library)
    # The template of each README, beside the other.
    templates = [re.search(r"^    net_i : .*?\);$", d.files["README.md"], re.MULTILINE | re.DOTALL)[0] for d in designs]
    signals = "".join(
        f"  signal {port['name']}_payload : std_logic_vector({port['payload_width'] - 1} downto 0);\n"
        f"  signal {port['name']}_valid, {port['name']}_ready : std_logic;\n"
        for port in designs[0].description["ports"]
    )
    (tmp_path / "both.vhd").write_text(
        "library ieee, first, second; use ieee.std_logic_1164.all;\nentity both is end entity;\n"
        f"architecture a of both is\n  signal clk, rst : std_logic;\n{signals}begin\n{templates[0]}\n"
        f"{templates[1].replace('net_i', 'other_i')}\nend architecture;\n"
    )
    for command in (["-a", *options, "both.vhd"], ["--elab-run", *options, "both", "--stop-time=1ns"]):
        subprocess.run([str(find_ghdl()), *command], cwd=tmp_path, check=True, capture_output=True, timeout=60)


@pytest.mark.ghdl
@pytest.mark.parametrize("library", ["work", "mine"])
def test_the_commands_of_the_readme_run(tmp_path: Path, library: str) -> None:
    folder = trained(3, "net", library).write(tmp_path / "design")
    _, _, text = (folder / "README.md").read_text().partition("### GHDL")
    commands = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    given = [command for command in commands if command.split()[0] in ("mkdir", "ghdl", "sed")]
    assert len(given) == 7
    script = "set -e\n" + "\n".join(given)
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "PASS: 4 frames" in done.stdout + done.stderr
    verilog = (folder / "net.v").read_text()
    assert "module net" in verilog
    assert not re.search('= "[01XZ]+"', verilog)


@pytest.mark.parametrize("library", ["ieee", "std", "My", "a-b", "", "9", "../x"])
def test_a_library_has_a_legal_name(library: str) -> None:
    with pytest.raises(DesignError, match=r"is no name of a VHDL library; '[a-z][a-z0-9_]*' would be one"):
        emit(rectify(), library=library)


def test_names_of_one_s_own_begin_with_the_design_s() -> None:
    design = trained(0, "Näme x")
    assert design.name == "name_x"
    own = [Path(p).stem for p in design.description["sources"] if not p.startswith("components/")]
    assert all(name.startswith("name_x") for name in [*own, design.description["testbench"]])


@pytest.mark.parametrize("library", ["work", "mine"])
@pytest.mark.parametrize("is_project", [True, False])
def test_the_script_for_vivado_adds_every_source(tmp_path: Path, library: str, is_project: bool) -> None:
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("tclsh is not installed")
    design = trained(0, "net", library)
    folder = design.write(tmp_path / "a folder")
    (tmp_path / "vivado.tcl").write_text(f"""
        proc get_projects {{args}} {{ return {{{"project_1" if is_project else ""}}} }}
        proc get_files {{args}} {{ return $args }}
        foreach name {{add_files read_vhdl set_property}} {{ proc $name args "puts \\[list $name {{*}}\\$args\\]" }}
        source {{{folder / "add_files.tcl"}}}
    """)
    done = subprocess.run([tclsh, tmp_path / "vivado.tcl"], capture_output=True, text=True, check=True, timeout=60)
    first, *rest = done.stdout.splitlines()
    sources = [f"{folder.resolve() / path}" for path in design.description["sources"]]
    assert [source in first for source in sources] == [True] * len(sources)
    assert ("-vhdl2008" in first) is not is_project
    assert sum("file_type {VHDL 2008}" in line for line in rest) == len(sources) * is_project
    assert sum("library mine" in line for line in rest) == len(sources) * (is_project and library == "mine")
    assert ("-library mine" in first) is (not is_project and library == "mine")


def test_the_file_for_quartus_names_every_source() -> None:
    design = trained(0, "net", "mine")
    lines = [line for line in design.files["add_files.qip"].splitlines() if not line.startswith("#")]
    assert [re.search(r"qip_path\) ([\w/.]+)\] -hdl_version VHDL_2008 -library mine$", line)[1] for line in lines] == (
        design.description["sources"]
    )
