"""The VHDL project: the same bytes in every run, analysed by GHDL without a word, complete or not there at all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from graphrewrite import Graph
from graphrewrite.hdl import NetlistError, emit
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.emission import replacement
from graphrewrite.hdl.emission.description import _plain
from graphrewrite.hdl.emission.design import Design, read_description
from graphrewrite.hdl.emission.manifest import manifest_of
from graphrewrite.hdl.errors import DesignError
from graphrewrite.hdl.ghdl import simulator as ghdl
from graphrewrite.hdl.netlist import netlist
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import BYTE, rectify, residual
from tests.support.hdl_bench import TEMPLATES

DIGEST = """
import hashlib
from graphrewrite.hdl import emit
from tests.support.hdl_bench import TEMPLATES
from tests.support.designs import residual
print(hashlib.sha256(repr(sorted(emit(residual()).files.items())).encode()).hexdigest())
"""
HOSTILE = [
    "signal",
    "SIGNAL",
    "../../x",
    'a"b',
    "it's",
    "line\nbreak -- end architecture;",
    "名前",
    "n" * 300,
    "x_fork_0",
    "",
]


@pytest.fixture(scope="module")
def design() -> Design:
    return emit(residual(), frames=3)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class TestBytes:
    @pytest.mark.slow(cases=0)
    def test_equal_for_every_hash_seed(self) -> None:
        found = set()
        for seed in ("0", "1", "4242"):
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            done = subprocess.run(
                [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
            )
            found.add(done.stdout)
        assert len(found) == 1

    def test_equal_on_repeated_calls_that_leave_the_graph_alone(self, design: Design) -> None:
        graph = residual()
        before = graph.copy()
        assert emit(graph, frames=3) == emit(graph, frames=3) == design
        assert graph == before

    def test_another_seed_changes_vectors_only(self, design: Design) -> None:
        other = emit(residual(), frames=3, seed=1)
        changed = {path for path, text in design.files.items() if text != other.files[path]}
        assert changed
        assert all(path.startswith(("vectors/", "testbench/")) for path in changed)

    def test_no_date_and_no_absolute_path(self, design: Design, tmp_path: Path) -> None:
        design.write(tmp_path / "here")
        for path, content in snapshot(tmp_path / "here").items():
            text = content.decode()
            assert not re.search(r"\b(19|20)\d\d-\d\d-\d\d|\b\d\d:\d\d:\d\d\b", text), path
            assert not re.search(r"(^|[\s\"'(])(/(home|root|tmp|work|usr|Users)\b|[A-Z]:\\)", text), path
            assert str(tmp_path) not in text
            assert "\r" not in text
            assert text.endswith("\n")
            assert text.isascii()


class TestDescription:
    """What programs read."""

    @pytest.mark.parametrize("make", [rectify, residual])
    def test_its_schema_holds(self, make: Callable[[], Graph]) -> None:
        design = emit(make())
        schema = json.loads(design.files["design.schema.json"])
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(design.description, schema, jsonschema.Draft202012Validator)
        assert json.loads(design.files["design.json"]) == design.description
        for part in (design.description, *design.description["ports"]):
            known = schema["properties"] if part is design.description else schema["$defs"]["port"]["properties"]
            assert set(part) - {"$schema"} == set(known)
        wrong = {**design.description, "ports": [{**design.description["ports"][0], "scale": "2"}] * 2}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema, jsonschema.Draft202012Validator)

    def test_the_example_of_the_order_is_where_the_beats_are(self) -> None:
        design = emit(residual())
        for port, stream in zip(design.description["ports"], streams_of(residual()), strict=True):
            numbers = [int(n) for n in re.findall(r"\d+", port["order"])]
            index, (beat, lane) = numbers[: len(stream.shape)], numbers[len(stream.shape) :][:2]
            frame = np.zeros((1, *stream.shape), np.int64)
            frame[0, *index] = 1
            assert np.argwhere(stream.to_beats(frame)[0]).tolist() == [[beat, lane]]

    def test_forms_that_come_are_refused_and_older_ones_read(self, tmp_path: Path) -> None:
        design = emit(rectify())
        for form, is_known in ((None, True), (2, True), (3, False), ("x", False)):
            description = {key: value for key, value in design.description.items() if key not in ("format", "library")}
            text = json.dumps(description | ({} if form is None else {"format": form}))
            (tmp_path / "design.json").write_text(text)
            if is_known:
                assert read_description(tmp_path)["name"] == "rectify"
            else:
                with pytest.raises(DesignError, match="reads forms up to 2; use the one that wrote it"):
                    read_description(tmp_path)


def streams_of(graph: Graph) -> list[Stream]:
    net = netlist(graph)
    return [*net.inputs.values(), *net.outputs.values()]


class TestText:
    def test_compile_order_holds_every_source_once(self, design: Design) -> None:
        order = design.files["compile_order.txt"].splitlines()
        assert sorted(order) == sorted(path for path in design.files if path.endswith(".vhd"))
        assert design.description["sources"] == [path for path in order if not path.startswith("testbench/")]
        assert order[-1] == "testbench/residual_testbench.vhd"

    def test_each_instance_names_its_origin(self, design: Design) -> None:
        lines = design.files["residual.vhd"].splitlines()
        for part in design.description["components"]:
            at = lines.index(f"  {part['instance']} : entity work.{part['entity']}")
            assert lines[at - 1] == f"  -- {part['node']}, from {', '.join(part['origin'])}"

    def test_one_file_a_kind_and_long_constants_apart(self, design: Design) -> None:
        components = {path for path in design.files if path.startswith("components/")}
        kinds = ["add", "fifo", "fork", "lanes", "matvec", "refold", "requantise", "stream_buffer", "window"]
        kinds = sorted([*kinds, "accumulator", "matrix_steps"])  # parts of matvec
        assert components == {f"components/{kind}.vhd" for kind in kinds}
        for path in components:  # which analyse alone, see test_components.py
            assert design.files[path] == (TEMPLATES / Path(path).name).read_text()
        assert [path for path in design.files if path.startswith("rom/")] == ["rom/residual_rom_sum_matvec.vhd"]

    def test_indented_by_two_and_no_trailing_spaces(self, design: Design) -> None:
        for path, text in design.files.items():
            if path.endswith(".vhd"):
                assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
                assert "\t" not in text
        body = design.files["residual.vhd"].splitlines()
        assert all((len(line) - len(line.lstrip())) % 2 == 0 for line in body)

    def test_readme_names_every_port_and_file(self, design: Design) -> None:
        readme = design.files["README.md"]
        for port in design.description["ports"]:
            assert f"`{port['name']}`" in readme
        assert "graphrewrite cosimulate ." in readme

    def test_description(self, design: Design) -> None:
        found = json.loads(design.files["design.json"])
        assert found == design.description
        assert found["generator"] == "graphrewrite"
        assert found["name"] == design.name == "residual"
        assert found["frames"] == 3
        assert isinstance(found["latency"], int)
        assert found["latency"] > 0
        assert found["interval"] > 16
        assert [(p["name"], p["direction"], p["shape"]) for p in found["ports"]] == [
            ("x", "in", [2, 4, 4]),
            ("y", "out", [2, 4, 4]),
        ]
        for port in found["ports"]:
            assert port["payload_width"] == port["lanes"] * port["format"]["width"]
            assert port["beats"] == np.prod(port["shape"][1:])
        names = ["multipliers", "adders", "registers", "memory_bits"]
        assert list(found["resources"]) == names
        for name in names:
            assert found["resources"][name] == sum(part["resources"][name] for part in found["components"])
        assert all(0 < part["occupation"] <= 1 for part in found["components"])

    def test_fewer_lanes_than_channels(self) -> None:
        g = Graph("folded")
        g.output("y", refold(clip(g.input("x", Stream(BYTE, (6, 4), 2)), low=0), lanes=6))
        found = emit(g, frames=2)
        x, y = found.description["ports"]
        assert [x[key] for key in ("shape", "lanes", "folds", "beats", "payload_width")] == [[6, 4], 2, 3, 12, 16]
        assert [y[key] for key in ("shape", "lanes", "folds", "beats", "payload_width")] == [[6, 4], 6, 1, 4, 48]
        top, readme = found.files["folded.vhd"], found.files["README.md"]
        assert "-- x: stream s8f0[6,4] 2 lanes, 12 beats of 2 lanes, 3 a position" in top
        assert "-- y: stream s8f0[6,4], 4 beats of 6 lanes\n" in top
        assert "`x` has 3 beats a position." in readme
        assert "A position is one beat: its channels are the lanes." not in readme
        assert [len(found.files[f"vectors/{port}.txt"].splitlines()) for port in "xy"] == [24, 8]

    def test_name_given(self) -> None:
        assert emit(rectify(), name="End").name == "end_n"
        assert emit(rectify("../../x")).name == "x"
        assert emit(rectify("matvec")).name == "matvec"
        assert emit(rectify("clip")).name == "clip_2"

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_names_stay_inside(self, name: str) -> None:
        graph = rectify(name, x=f"in {name}", y=f"out {name}", node=f"node {name}")
        found = emit(graph, frames=1)
        for path in found.files:
            assert re.fullmatch(r"[A-Za-z0-9_./]+", path)
            assert ".." not in path
            assert not path.startswith("/")
        top = found.files[f"{found.name}.vhd"]
        assert top.isascii()
        assert top.count("end architecture;") == top.count("\nend architecture;") + top.count("-- end architecture;")


def test_an_interval_has_two_digits_where_it_is_not_whole() -> None:
    assert [_plain(number) for number in (7.0, 31 / 3, 0.5)] == [7, 10.33, 0.5]
    assert isinstance(_plain(7.0), int)


class TestRefusal:
    def test_foreign_op(self) -> None:
        g = Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ny = output(r)")
        with pytest.raises(NetlistError, match=r"'r': is relu.*to_stream"):
            emit(g)

    def test_two_readers_and_none(self) -> None:
        g = Graph("g")
        x = g.input("x", Stream(BYTE, (2, 3)))
        g.output("y", clip(x, low=0, high=3))
        g.output("z", clip(x, low=0, high=5))
        with pytest.raises(NetlistError, match="'x': its stream 0 has 2 readers; insert a fork"):
            emit(g)
        g = Graph("g")
        a, _ = fork(g.input("x", Stream(BYTE, (2, 3))))
        g.output("y", a)
        with pytest.raises(NetlistError, match="its stream 1 has no reader; drop it"):
            emit(g)


class TestWrite:
    def test_files_are_written(self, design: Design, tmp_path: Path) -> None:
        assert design.write(tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
        files = {**design.files, "manifest.sha256": manifest_of(design.files)}
        assert snapshot(tmp_path / "new" / "folder") == {p: t.encode() for p, t in files.items()}
        assert [p.name for p in (tmp_path / "new").iterdir()] == ["folder"]
        assert read_description(tmp_path / "new" / "folder") == design.description

    def test_an_earlier_design_is_replaced(self, design: Design, tmp_path: Path) -> None:
        emit(rectify()).write(tmp_path / "d")
        (tmp_path / "d" / "note.txt").write_text("mine")
        design.write(tmp_path / "d")
        assert set(snapshot(tmp_path / "d")) == {*design.files, "manifest.sha256", "note.txt"}
        assert [p.name for p in tmp_path.iterdir()] == ["d"]

    def test_an_empty_folder_is_filled(self, design: Design, tmp_path: Path) -> None:
        (tmp_path / "d").mkdir()
        design.write(tmp_path / "d")
        assert set(snapshot(tmp_path / "d")) == {*design.files, "manifest.sha256"}

    @pytest.mark.parametrize("mark", [None, "not json", '{"generator": "other"}', "[]"])
    def test_a_foreign_folder_is_left_alone(self, design: Design, tmp_path: Path, mark: str | None) -> None:
        (tmp_path / "a.txt").write_text("mine")
        if mark is not None:
            (tmp_path / "design.json").write_text(mark)
        before = snapshot(tmp_path)
        with pytest.raises(DesignError, match=r"holds 'a.txt' and no design.*choose a new or empty folder"):
            design.write(tmp_path)
        assert snapshot(tmp_path) == before

    def test_a_file_is_left_alone(self, design: Design, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("mine")
        for target in ("a", "a/b", "a/b/c"):
            with pytest.raises(DesignError, match="choose a"):
                design.write(tmp_path / target)
        assert snapshot(tmp_path) == {"a": b"mine"}

    def test_a_name_too_long(self, design: Design, tmp_path: Path) -> None:
        with pytest.raises(DesignError, match="choose a"):
            design.write(tmp_path / ("d" * 300))
        assert snapshot(tmp_path) == {}

    def test_the_current_folder_is_not_replaced(
        self, design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        for target in (".", tmp_path / "below"):
            with pytest.raises(DesignError, match="holds the current folder"):
                design.write(target)

    def test_what_a_link_leads_to_is_replaced(self, design: Design, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "there")
        design.write(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert set(snapshot(tmp_path / "there")) == {*design.files, "manifest.sha256"}

    def test_a_link_that_leads_nowhere_is_no_folder(self, design: Design, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "nowhere")
        with pytest.raises(DesignError, match=r"link' is no folder"):
            design.write(tmp_path / "link")
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
    @pytest.mark.parametrize("at", [0, 5, -1])
    def test_an_interrupt_while_writing_leaves_the_old_design(
        self,
        design: Design,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        error: type[BaseException] | OSError,
        at: int,
    ) -> None:
        emit(rectify()).write(tmp_path / "d")
        before = snapshot(tmp_path / "d")
        victim = list(design.files)[at].split("/")[-1]
        original = Path.write_text

        def write(self: Path, *args: str, **options: str) -> int:
            if self.name == victim:
                raise error
            return original(self, *args, **options)

        monkeypatch.setattr(Path, "write_text", write)
        expected = DesignError if isinstance(error, OSError) else error
        with pytest.raises(expected):
            design.write(tmp_path / "d")
        assert snapshot(tmp_path / "d") == before
        assert [p.name for p in tmp_path.iterdir()] == ["d"]

    @pytest.mark.parametrize("at", [0, 1])
    @pytest.mark.parametrize("after", [False, True])
    def test_an_interrupt_while_folders_are_swapped_leaves_one_of_the_two(
        self, design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, after: bool
    ) -> None:
        earlier = emit(rectify())
        earlier.write(tmp_path / "d")
        original, calls = Path.rename, []

        def rename(self: Path, target: Path) -> Path:
            calls.append(self)
            if len(calls) - 1 == at and not after:
                raise KeyboardInterrupt
            found = original(self, target)
            if len(calls) - 1 == at:
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(replacement, "exchange", lambda *_: False)  # a system that cannot swap them
        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            design.write(tmp_path / "d")
        wanted = design if (at, after) == (1, True) else earlier
        assert set(snapshot(tmp_path / "d")) == {*wanted.files, "manifest.sha256"}
        assert [p.name for p in tmp_path.iterdir()] == ["d"]


@pytest.mark.ghdl
class TestAnalysis:
    def test_the_project_analyses_in_its_order_without_a_word(self, design: Design, tmp_path: Path) -> None:
        folder = design.write(tmp_path / "d")
        (tmp_path / "work").mkdir()
        order = [folder / line for line in design.files["compile_order.txt"].splitlines()]
        assert ghdl.analyse(order, tmp_path / "work") == ""

    def test_hostile_names_analyse_without_a_word(self, tmp_path: Path) -> None:
        graph = residual("end", ("signal", "SIGNAL", "../../x", 'a"b\n-- ', "n" * 300))
        folder = emit(graph, frames=1).write(tmp_path / "d")
        (tmp_path / "work").mkdir()
        order = [folder / line for line in (folder / "compile_order.txt").read_text().splitlines()]
        assert ghdl.analyse(order, tmp_path / "work") == ""

    def test_ports_that_look_like_branches(self, tmp_path: Path) -> None:
        # A fork's own streams are numbered: their names must not meet a port's.
        g = Graph("g")
        x = g.input("act_fork_0", Stream(FixedPoint(False, 4), (1, 3)))
        a, b = g.add(fork, [x], {}, origin=("act",))
        c, d = g.add(fork, [b], {}, origin=("act",))
        for name, value in {"act_fork_1": a, "act_fork": c, "act_fork_2_0": d}.items():
            g.output(name, g.add(clip, [value], {"low": 0, "high": 9}, origin=("act",)))
        folder = emit(g, frames=1).write(tmp_path / "d")
        (tmp_path / "work").mkdir()
        order = [folder / line for line in (folder / "compile_order.txt").read_text().splitlines()]
        assert ghdl.analyse(order, tmp_path / "work") == ""
