"""`graphrewrite compile`: the main job, and everything that a user can do wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from graphrewrite import FixedPoint, Graph, Module
from graphrewrite.cli import pipeline
from graphrewrite.hdl import GhdlMissingError
from graphrewrite.hdl.components.clip import clip
from graphrewrite.lowering import from_onnx
from graphrewrite.models import path
from graphrewrite.types import Stream
from tests.support.cli_commands import done, refused, run, sample, save, snapshot
from tests.support.lowering_networks import mlp, model, residual_cnn, weights

MAIN = "from graphrewrite.cli import main; main()"
LEVELS = ["float", "quantised", "integer", "stream"]


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return save(tmp_path / "in")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def _no_ghdl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)


def with_weight(name: str, value: float) -> onnx.ModelProto:
    proto = mlp()
    for tensor in proto.graph.initializer:
        if tensor.name == name:
            array = numpy_helper.to_array(tensor).copy()
            array.flat[0] = value
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    return proto


class TestMainJob:
    def test_digits_for_machines(self, out: Path) -> None:
        result = done("compile", path("digits"), "-o", out, "--max-multipliers", 300, "--json")
        found = json.loads(result.stdout)
        assert [row["level"] for row in found["levels"]] == LEVELS
        accuracy = {row["level"]: row["accuracy"] for row in found["levels"]}
        assert found["test_frames"] >= 360
        assert accuracy["float"] >= 0.97
        assert accuracy["quantised"] == accuracy["integer"] == accuracy["stream"] >= 0.96
        assert found["integer_equals_stream"] is True
        assert found["levels"][0]["equal predictions"] == 1
        assert found["levels"][-1]["equal predictions"] >= 0.98
        assert found["timing"]["latency"] > found["timing"]["interval"] > 63
        assert 200 < found["resources"]["multipliers"] <= 300
        assert set(found["resources"]) == {"multipliers", "adders", "registers", "memory_bits"}
        assert found["rules"]["fold_batch_norm"] == 2
        assert {"design.json", "README.md", "compile_order.txt", "digits.vhd"} <= set(found["files"])
        files = {p for p, content in snapshot(out).items() if content is not None}
        assert files == {*found["files"], "manifest.sha256"}
        assert all(0 <= seconds < 60 for seconds in found["seconds"].values())
        if shutil.which("ghdl"):
            assert found["cosimulation"]["equal"] is True
            assert found["cosimulation"]["frames"] >= 20
        else:
            assert found["cosimulation"] is None

    def test_classes_for_people(self, out: Path) -> None:
        text = done("compile", path("classes"), "-o", out, "--max-multipliers", 64).stdout
        for level in LEVELS:
            assert re.search(rf"{level} +│ +9\d\.\d\d %", text), text
        for words in ("equal, bit for bit", "rules fired (", "hardware", "latency ", "interval ", "files in", " s"):
            assert words in text
        assert "…" not in text
        assert ("GHDL: equal: values and cycles of " in text) == bool(shutil.which("ghdl"))

    @pytest.mark.usefixtures("_no_ghdl")
    def test_the_folder_is_the_same_every_time(self, net: Path, tmp_path: Path) -> None:
        for name in ("a", "b"):
            done("compile", net, "-o", tmp_path / name)
        assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")

    @pytest.mark.slow(cases=0)
    def test_and_for_every_hash_seed(self, tmp_path: Path) -> None:
        file = save(tmp_path, residual_cnn(), calibration_x=sample(20, 1, 6, 6))
        for seed in ("1", "77"):
            environment = {**os.environ, "PATH": "", "PYTHONHASHSEED": seed}
            command = [sys.executable, "-c", MAIN, "compile", str(file), "-o", str(tmp_path / seed)]
            subprocess.run(command, env=environment, capture_output=True, check=True)
        assert snapshot(tmp_path / "1") == snapshot(tmp_path / "77")

    @pytest.mark.usefixtures("_no_ghdl")
    def test_steps_are_shown_on_a_terminal(self, net: Path, out: Path) -> None:
        result = run("compile", net, "-o", out, FORCE_COLOR="1")
        assert result.exit_code == 0
        for name in ("reading the model", "quantising", "writing VHDL", "predicting cycles"):
            assert f" {name}\n" in result.stdout

    @pytest.mark.usefixtures("_no_ghdl")
    @pytest.mark.parametrize(
        ("head", "lanes", "note"),
        [
            ("auto", 1, "replaced by argmax"),
            ("class", 1, "replaced by argmax"),
            ("scores", 3, "left to the host"),
            ("softmax", 3, "of the softmax of its operand"),
        ],
    )
    def test_a_closing_softmax(self, tmp_path: Path, out: Path, head: str, lanes: int, note: str) -> None:
        file = save(tmp_path, mlp(softmax=True))
        found = json.loads(done("compile", file, "-o", out, "--head", head, "--json").stdout)
        assert any(note in line for line in found["notes"])
        assert json.loads((out / "design.json").read_text())["ports"][1]["lanes"] == lanes

    def test_a_head_that_no_output_can_have(self, tmp_path: Path, out: Path) -> None:
        file = save(tmp_path, mlp(outputs=1))
        refused(
            6, r"vector of scores, and there is y: f32\[N,1\]; choose", "compile", file, "-o", out, "--head", "softmax"
        )
        assert not out.exists()

    def test_as_a_program_with_an_old_terminal(self, net: Path, out: Path) -> None:
        environment = {**os.environ, "PATH": "", "PYTHONIOENCODING": "ascii:strict"}
        command = [sys.executable, "-c", MAIN, "compile", str(net), "-o", str(out)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        assert result.stdout.isascii()

    def test_help(self) -> None:
        text = done("--help").stdout
        for code in (*range(19), 130):
            assert re.search(rf"^ +{code} +\w", text, re.MULTILINE)
        assert "compile" in text
        assert "cosimulate" in text
        text = done("compile", "-h").stdout
        for option in ("--calibration", "--bits", "--per-channel", "--parallelism", "--max-multipliers", "--json"):
            assert option in text
        assert "graphrewrite compile digits -o build/digits" in text
        assert done("--version").stdout.startswith("graphrewrite, version ")


@pytest.mark.ghdl
class TestExact:
    """Whatever the choices are, numpy and GHDL agree."""

    @pytest.mark.parametrize("bits", range(4, 17))
    def test_bits(self, net: Path, out: Path, bits: int) -> None:
        extra = ["--per-channel"] if bits % 2 else []
        self.check(net, out, "--bits", bits, "--frames", 3, *extra)

    @pytest.mark.parametrize("parallelism", ["full", "folded", 1, 3, 1000])
    def test_parallelism(self, tmp_path: Path, out: Path, parallelism: object) -> None:
        file = save(tmp_path, residual_cnn(), calibration_x=sample(20, 1, 6, 6))
        self.check(file, out, "--parallelism", parallelism, "--frames", 2, "--per-channel")

    @pytest.mark.parametrize("budget", [2, 7, 10**6])
    def test_budget(self, net: Path, out: Path, budget: int) -> None:
        found = self.check(net, out, "--max-multipliers", budget, "--frames", 2)
        assert found["resources"]["multipliers"] <= budget

    @staticmethod
    def check(*arguments: object) -> dict:
        file, out, *rest = arguments
        found = json.loads(done("compile", file, "-o", out, "--json", *rest).stdout)
        assert found["integer_equals_stream"] is True
        assert found["cosimulation"]["equal"] is True
        return found


def activated(folder: Path) -> Path:
    """A network with a tanh, and a gelu as PyTorch writes it, between layers."""
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="fc1", transB=1),
        helper.make_node("Tanh", ["h"], ["t"], name="bent"),
        helper.make_node("Gemm", ["t", "w", "b"], ["g"], name="fc2", transB=1),
        helper.make_node("Div", ["g", "root"], ["d"]),
        helper.make_node("Erf", ["d"], ["e"]),
        helper.make_node("Add", ["e", "one"], ["a"]),
        helper.make_node("Mul", ["g", "a"], ["m"]),
        helper.make_node("Mul", ["m", "half"], ["n"], name="gelu"),
        helper.make_node("Gemm", ["n", "w", "b"], ["y"], name="fc3", transB=1),
    ]
    scalars = {"root": 2**0.5, "one": 1.0, "half": 0.5}
    constants = {"w": weights(4, 4), "b": weights(4, seed=1)} | {k: np.float32(v) for k, v in scalars.items()}
    return save(folder, model(nodes, constants, input_shape=("N", 4)))


@pytest.mark.ghdl
class TestFunctions:
    def test_tables_are_exact(self, tmp_path: Path, out: Path) -> None:
        found = TestExact.check(activated(tmp_path), out, "--frames", 3)
        assert found["bounds"] == {}
        assert found["rules"]["map_lookup"] == 2

    def test_wide_ones_are_near_when_that_is_wanted(self, tmp_path: Path, out: Path) -> None:
        net = activated(tmp_path)
        refused(6, r"approximate=True \(--approximate\)", "compile", net, "-o", out, "--bits", 14)
        found = TestExact.check(net, out, "--bits", 14, "--approximate", "--frames", 3)
        assert set(found["bounds"].values()) == {1}
        (note,) = (note for note in found["notes"] if "straight lines" in note)
        assert "within 1 unit of the last place" in note
        assert "(bent)" in note


@pytest.mark.ghdl
def test_digits_as_probabilities(out: Path) -> None:
    """The shipped network gives scores; hardware adds a softmax, and GHDL gives the same bits for a few images."""
    found = TestExact.check(path("digits"), out, "--head", "softmax", "--parallelism", 8, "--frames", 3)
    assert found["rules"]["map_softmax"] == 1
    accuracy = {row["level"]: row["accuracy"] for row in found["levels"]}
    assert accuracy["stream"] == accuracy["integer"]
    # Scores that differ by less than the table of exponentials distinguishes have one probability.
    assert abs(accuracy["stream"] - accuracy["quantised"]) <= 0.005
    assert any("probabilities are within 0.0" in note for note in found["notes"])


HOSTILE = [
    "signal",
    "Signal",
    "entity",
    "A_b",
    "a_B",
    "n" * 300,
    "../../x",
    "/etc/passwd",
    'quo"te',
    "it's",
    "line\nbreak",
    "-- comment",
    "näme 名前",
    "\t",
    "matvec",
    "work",
]


@pytest.mark.ghdl
@pytest.mark.parametrize("names", [HOSTILE[i : i + 4] for i in range(0, len(HOSTILE), 4)])
def test_hostile_names_compile_and_cosimulate(tmp_path: Path, out: Path, names: list[str]) -> None:
    first, second, given, result = names
    proto = mlp()
    proto.graph.node[0].name, proto.graph.node[2].name = first, second
    proto.graph.input[0].name = proto.graph.node[0].input[0] = given
    proto.graph.output[0].name = proto.graph.node[2].output[0] = result
    proto.graph.name = first
    found = json.loads(done("compile", save(tmp_path, proto), "-o", out, "--json", "--frames", 2).stdout)
    assert found["cosimulation"]["equal"] is True
    kinds = r"[a-z0-9_/]+\.(vhd|txt|json|py|h|tcl|qip)|README\.md|design\.schema\.json"
    assert all(re.fullmatch(kinds, name) for name in found["files"])
    (module,) = (out / "host").glob("*.py")
    compile(module.read_text(encoding="ascii"), module.name, "exec")
    assert {p.name for p in tmp_path.iterdir()} == {"net.onnx", "net.npz", "out"}


@pytest.mark.usefixtures("_no_ghdl")
@pytest.mark.parametrize("stem", ["entity", "9", "a b", "näme", "n" * 240, "testbench", "it's", "-"])
def test_hostile_file_names(tmp_path: Path, out: Path, stem: str) -> None:
    save(tmp_path).rename(tmp_path / f"{stem}.onnx")
    (tmp_path / "net.npz").rename(tmp_path / f"{stem}.npz")
    done("compile", tmp_path / f"{stem}.onnx", "-o", out)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", json.loads((out / "design.json").read_text())["name"])


@pytest.mark.usefixtures("_no_ghdl")
def test_a_module_in_a_document(tmp_path: Path, out: Path) -> None:
    module = Module("net")
    module["block"] = from_onnx(save(tmp_path))
    ((name, kind),) = zip(module["block"].inputs, module["block"].input_types, strict=True)
    main = module.add_graph("main")
    main.output("y", module.op("block")(main.input(name, kind)))
    module.save(tmp_path / "net.json")
    done("compile", tmp_path / "net.json", "-o", out)
    assert (out / "blocks" / "net_block.vhd").exists()
    stream = Graph("s", ops=[clip])
    stream.output("y", clip(stream.input("x", Stream(FixedPoint(True, 8), (2,))), low=0, high=127))
    stream.save(tmp_path / "stream.json")
    refused(3, "'stream.json' is hardware already", "compile", tmp_path / "stream.json", "-o", out)


@pytest.mark.ghdl
def test_the_design_has_a_name_and_a_library(net: Path, out: Path) -> None:
    found = json.loads(
        done("compile", net, "-o", out, "--name", "My Net", "--library", "parts", "--frames", 2, "--json").stdout
    )
    assert found["cosimulation"]["equal"] is True
    assert "the design is called my_net: VHDL cannot call it 'My Net'" in found["notes"]
    description = json.loads((out / "design.json").read_text())
    assert (description["name"], description["library"]) == ("my_net", "parts")
    assert "entity parts.my_net" in (out / "README.md").read_text()
    (x, y) = description["ports"]
    assert (x["numbers"]["element"], x["host"], y["host"]) == ("float32", [], [])
    assert x["scale"] == [2.0 ** -x["format"]["fraction"]]
    assert json.loads(done("cosimulate", out, "--json").stdout)["equal"] is True
    wrong = run("compile", net, "-o", out, "--library", "Std")
    assert wrong.exit_code == 2
    assert "'Std' is no name for a VHDL library; 'std_n' would be one" in wrong.stderr


class TestModel:
    """3 and 4: what is wrong with a model's file."""

    @pytest.fixture(autouse=True)
    def _untouched(self, out: Path) -> object:
        yield
        assert not out.exists()

    def test_missing(self, net: Path, out: Path) -> None:
        refused(3, "no file .*did you mean 'net.onnx'", "compile", net.with_name("nett.onnx"), "-o", out)
        refused(3, "no file .*check its path", "compile", "nowhere.onnx", "-o", out)
        refused(3, "is a folder", "compile", net.parent, "-o", out)

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"\xff" * 99])
    def test_foreign(self, net: Path, out: Path, content: bytes) -> None:
        net.write_bytes(content)
        refused(3, "net.onnx.*(export it again|download it again|is a picture)", "compile", net, "-o", out)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_truncated(self, net: Path, out: Path, share: float) -> None:
        whole = net.read_bytes()
        net.write_bytes(whole[: int(share * len(whole))])
        refused(3, "net.onnx", "compile", net, "-o", out)

    def test_unsupported_ops_are_all_named(self, tmp_path: Path, out: Path) -> None:
        nodes = [
            helper.make_node("Hardmax", ["x"], ["a"], name="h"),
            helper.make_node("LpNormalization", ["a"], ["y"], name="l"),
        ]
        file = save(tmp_path, model(nodes, {}, input_shape=("N", 4)))
        refused(6, r"2 nodes .*hardmax \(h\), lp_norm \(l\); replace", "compile", file, "-o", out)

    def test_unknown_ops_are_all_named(self, tmp_path: Path, out: Path) -> None:
        nodes = [
            helper.make_node("U", ["x"], ["a"], name="u", domain="com.acme"),
            helper.make_node("V", ["a"], ["y"], name="v", domain="com.acme"),
        ]
        file = save(tmp_path, model(nodes, {}, input_shape=("N", 4), domains=["com.acme"]))
        refused(4, r"2 nodes .*com\.acme\.U \(u\), com\.acme\.V \(v\); replace", "compile", file, "-o", out)

    def test_open_shape(self, tmp_path: Path, out: Path) -> None:
        proto = model([helper.make_node("Relu", ["x"], ["y"])], {}, input_shape=("N", 3, "H", "W"))
        file = save(tmp_path, proto, calibration_x=sample(30, 3, 5, 5))
        refused(6, r"'x'.*needs a number for H: call graph\.with_sizes", "compile", file, "-o", out)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("name", ["w1", "b2"])
    def test_weights_that_are_no_numbers(self, tmp_path: Path, out: Path, name: str, value: float) -> None:
        file = save(tmp_path, with_weight(name, value))
        refused(5, "weights of fc. hold NaN or infinity; train or export", "compile", file, "-o", out)

    def test_weights_out_of_proportion(self, tmp_path: Path, out: Path) -> None:
        file = save(tmp_path, with_weight("b2", 1e38))
        refused(5, r"linear.*needs sums of more than 63 bits.*scale them", "compile", file, "-o", out)

    def test_weights_that_overflow(self, tmp_path: Path, out: Path) -> None:
        proto = mlp()
        for tensor in proto.graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1e25), tensor.name))
        file = save(tmp_path, proto)
        refused(5, r"node 'linear_\d'.*overflows on the calibration samples; scale", "compile", file, "-o", out)

    def test_names_that_are_no_text(self, net: Path, out: Path) -> None:
        whole = net.read_bytes()
        assert whole.count(b"relu1") == 1
        net.write_bytes(whole.replace(b"relu1", b"\xff\xfe\xfd\xfc\xfb"))
        refused(3, "corrupt.*; export it again", "compile", net, "-o", out)

    def test_a_tensor_of_another_size(self, net: Path, out: Path) -> None:
        proto = onnx.load(net)
        proto.graph.initializer[0].dims[0] += 1
        net.write_bytes(proto.SerializeToString())
        refused(3, "export it again|not a valid ONNX model", "compile", net, "-o", out)

    def test_ops_without_hardware(self, tmp_path: Path, out: Path) -> None:
        proto = model([helper.make_node("Hardmax", ["x"], ["y"], name="winner")], {}, input_shape=("N", 4))
        refused(6, r"hardmax \(winner\).*; replace", "compile", save(tmp_path, proto), "-o", out)


class TestSamples:
    """5: what is wrong with calibration samples."""

    @pytest.fixture(autouse=True)
    def _untouched(self, out: Path) -> object:
        yield
        assert not out.exists()

    def test_missing(self, net: Path, out: Path) -> None:
        other = net.with_name("nett.npz")
        refused(5, "no file .*did you mean 'net.npz'", "compile", net, "-o", out, "--calibration", other)
        net.with_suffix(".npz").unlink()
        refused(5, "no calibration samples; pass an .npz", "compile", net, "-o", out)

    @pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 nothing", b"\x93NUMPY\x01\x00\x05\x00{{{{{"])
    def test_foreign(self, net: Path, out: Path, content: bytes) -> None:
        net.with_suffix(".npz").write_bytes(content)
        refused(5, "is no .npz file.*pass an .npz", "compile", net, "-o", out)

    def test_corrupt(self, net: Path, out: Path) -> None:
        file = net.with_suffix(".npz")
        np.savez_compressed(file, calibration_x=sample(99, 4))
        content = bytearray(file.read_bytes())
        content[100:160] = b"\x55" * 60
        file.write_bytes(content)
        refused(5, "is no .npz file", "compile", net, "-o", out)
        file.write_bytes(content[:300])
        refused(5, "is no .npz file", "compile", net, "-o", out)

    @pytest.mark.parametrize(
        ("arrays", "told"),
        [
            ({"calibration_x": sample(0, 4)}, "are empty; give at least one"),
            ({"calibration_x": sample(3, 5)}, r"shape \[3, 5\].*input is f32\[N,4\]"),
            ({"calibration_x": np.float32(3)}, r"shape \[\]"),
            ({"calibration_x": np.full((3, 4), np.nan)}, "NaN.*; remove"),
            ({"calibration_x": np.full((3, 4), 1e300)}, "beyond f32.*; remove"),
            ({"calibration_x": np.full((3, 4), "a")}, "<U1"),
            ({"calibration_x": np.full((3, 4), None)}, "is no .npz file of numbers"),
            ({"calibration_x": np.ones((3, 4), complex)}, "complex128"),
            (
                {"foo": sample(3, 4), "bar": sample(3, 4)},
                r"foo \[3, 4\], bar \[3, 4\], but no 'calibration_x'; give calibration_x f32\[N,4\]; .*test_x",
            ),
            ({"calibration_x": sample(3, 4), "test_x": sample(0, 4)}, "test samples.*empty"),
            ({"calibration_x": sample(3, 4), "test_x": sample(3, 5)}, "test samples do not fit"),
            ({"calibration_x": sample(3, 4), "test_x": np.full((3, 4), np.nan)}, "test samples.*not finite"),
            (
                {"calibration_x": sample(3, 4), "test_x": sample(3, 4), "test_y": np.int64(1)},
                "labels of 'y'.*3 samples",
            ),
            (
                {"calibration_x": sample(3, 4), "test_x": sample(3, 4), "test_y": np.zeros(2)},
                "labels of 'y'.*3 samples",
            ),
        ],
    )
    def test_arrays(self, tmp_path: Path, out: Path, arrays: dict[str, np.ndarray], told: str) -> None:
        refused(5, told, "compile", save(tmp_path, **arrays), "-o", out)


class TestChoices:
    @pytest.mark.parametrize(
        "options",
        [
            ["--bits", "3"],
            ["--bits", "17"],
            ["--bits", "eight"],
            ["--parallelism", "0"],
            ["--parallelism", "some"],
            ["--max-multipliers", "0"],
            ["--frames", "0"],
            ["--head", "tail"],
            ["--nothing"],
        ],
    )
    def test_wrong_usage(self, net: Path, out: Path, options: list[str]) -> None:
        result = run("compile", net, "-o", out, *options)
        assert result.exit_code == 2
        assert options[0] in result.stderr
        assert "--help" in result.stderr
        assert not out.exists()

    def test_no_folder(self, net: Path) -> None:
        assert run("compile", net).exit_code == 2

    def test_too_few_multipliers(self, net: Path, out: Path) -> None:
        refused(7, "the smallest budget is 2", "compile", net, "-o", out, "--max-multipliers", 1)
        assert not out.exists()


@pytest.mark.usefixtures("_no_ghdl")
class TestFolder:
    """8: where the project goes; complete, or as it was."""

    def test_a_foreign_folder(self, net: Path, out: Path) -> None:
        out.mkdir()
        (out / "thesis.tex").write_text("mine")
        refused(8, "holds 'thesis.tex'.*choose a new or empty folder", "compile", net, "-o", out)
        assert snapshot(out) == {"thesis.tex": b"mine"}

    @pytest.mark.parametrize("below", ["", "below", "below/it"])
    def test_a_file(self, net: Path, out: Path, below: str) -> None:
        out.write_text("mine")
        refused(8, "choose a", "compile", net, "-o", out / below)
        assert out.read_text() == "mine"

    def test_where_nothing_can_be_written(self, net: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def mkdtemp(**_: object) -> str:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("graphrewrite.runtime.scratch.tempfile.mkdtemp", mkdtemp)
        refused(8, "Permission denied; choose a folder that you may write", "compile", net, "-o", out)
        assert not out.exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
    def test_a_read_only_folder(self, net: Path, tmp_path: Path) -> None:
        (tmp_path / "locked").mkdir(mode=0o500)
        refused(8, "choose a folder that you may write", "compile", net, "-o", tmp_path / "locked" / "out")

    def test_an_earlier_design_is_replaced(self, net: Path, out: Path, tmp_path: Path) -> None:
        done("compile", net, "-o", out)
        done("compile", net, "-o", tmp_path / "other", "--bits", 5)
        done("compile", net, "-o", out, "--bits", 5)
        assert snapshot(out) == snapshot(tmp_path / "other")

    def test_a_refused_model_leaves_an_earlier_design(self, net: Path, out: Path) -> None:
        done("compile", net, "-o", out)
        before = snapshot(out)
        refused(7, "budget", "compile", net, "-o", out, "--max-multipliers", 1)
        net.write_bytes(b"broken")
        refused(3, "not an ONNX model", "compile", net, "-o", out)
        assert snapshot(out) == before

    @pytest.mark.parametrize("step", ["network_in", "quantised", "to_stream", "port_encodings", "predict"])
    @pytest.mark.parametrize("earlier", [False, True])
    def test_an_interrupt(
        self, net: Path, out: Path, monkeypatch: pytest.MonkeyPatch, step: str, earlier: bool
    ) -> None:
        if earlier:
            done("compile", net, "-o", out)
        before = snapshot(out.parent)

        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(pipeline, step, interrupt)
        refused(130, "interrupted; the output folder is complete or as it was", "compile", net, "-o", out, "--bits", 6)
        assert snapshot(out.parent) == before

    def test_an_interrupt_while_writing(self, net: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        done("compile", net, "-o", out)
        before = snapshot(out.parent)
        original = Path.write_text

        def write(self: Path, *arguments: str, **options: str) -> int:
            if self.name.endswith("testbench.vhd"):
                raise KeyboardInterrupt
            return original(self, *arguments, **options)

        monkeypatch.setattr(Path, "write_text", write)
        refused(130, "interrupted", "compile", net, "-o", out, "--bits", 6)
        assert snapshot(out.parent) == before

    def test_not_enough_memory(self, net: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise MemoryError

        monkeypatch.setattr(pipeline, "quantised", fail)
        refused(14, "not enough memory.*; give fewer", "compile", net, "-o", out)
        assert not out.exists()


def program(folder: Path, text: str) -> dict[str, str]:
    """Put a program called ghdl into a folder; return an environment that finds no other."""
    folder.mkdir()
    file = folder / "ghdl"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
class TestGhdl:
    def test_absent(self, net: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        text = done("compile", net, "-o", out).stdout
        notes = [line for line in text.splitlines() if line.startswith("note: ")]
        assert len(notes) == 1
        assert re.fullmatch(r"note: not cosimulated: GHDL is not installed: .*ghdl-mcode.*", notes[0])
        assert (out / "design.json").is_file()

    def test_interrupted_by_a_signal(self, net: Path, out: Path, tmp_path: Path) -> None:
        environment = program(tmp_path / "bin", "kill -INT $PPID\nsleep 1")
        # Where the tests run in the background, a shell has told them to pass over interrupts.
        heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
        command = [sys.executable, "-c", heeding, "compile", str(net), "-o", str(out)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 130
        assert result.stderr == "graphrewrite: interrupted; the output folder is complete or as it was\n"
        assert (out / "design.json").is_file()

    def test_broken(self, net: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", program(tmp_path / "bin", "echo out of order >&2; exit 1")["PATH"])
        refused(12, "ghdl -a failed.*out of order", "compile", net, "-o", out)
        assert (out / "design.json").is_file()

    def test_a_difference_is_reported(self, net: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from graphrewrite.hdl.ghdl.cosimulation import CosimulationReport, Difference

        report = CosimulationReport(False, 1, 2, 3, 0.1, Difference("y", 0, 1, "0a in cycle 7", "nothing"))
        monkeypatch.setattr(pipeline, "cosimulate", lambda _: report)
        result = run("compile", net, "-o", out)
        assert result.exit_code == 1
        assert "not equal: y, frame 0, beat 1: expected 0a in cycle 7, got nothing" in result.stdout

    def test_missing_in_python(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        from graphrewrite.hdl.ghdl import simulator as ghdl

        with pytest.raises(GhdlMissingError, match="apt-get install"):
            ghdl.analyse([], ".")


@pytest.mark.usefixtures("_no_ghdl")
@pytest.mark.parametrize("shape", [(1, 4), ("N", 4)])
def test_any_batch(tmp_path: Path, out: Path, shape: tuple) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    done("compile", save(tmp_path, model(nodes, {"w": weights(4, 3)}, input_shape=shape)), "-o", out)


def test_a_norm_behind_trained_weights_is_no_part_of_them(tmp_path: Path, out: Path) -> None:
    """What is folded into weights takes them from their grid; the host's part is said."""
    random = np.random.default_rng(0)
    quant = {"domain": "qonnx.custom_op.general", "signed": 1, "narrow": 0, "rounding_mode": "ROUND"}
    parameters = {name: random.uniform(0.5, 1.5, 3).astype(np.float32) for name in ("gain", "shift", "mean", "var")}
    constants = {
        "w": random.integers(-7, 8, (3, 4)).astype(np.float32) / 8, "z": np.float32(0), "bits": np.float32(6),
        "fine": np.float32(0.1), "coarse": np.float32(0.37), **parameters,
    }  # fmt: skip
    nodes = [
        helper.make_node("Quant", ["x", "fine", "z", "bits"], ["q"], name="first", **quant),
        helper.make_node("Gemm", ["q", "w"], ["g"], name="layer", transB=1),
        helper.make_node("BatchNormalization", ["g", *parameters], ["n"], name="norm"),
        helper.make_node("Quant", ["n", "coarse", "z", "bits"], ["r"], name="second", **quant),
        helper.make_node("Exp", ["r"], ["y"], name="last"),
    ]
    proto = model(nodes, constants, input_shape=("N", 4), domains=["qonnx.custom_op.general"])
    file = save(tmp_path, proto, calibration_x=sample(30, 4))
    found = json.loads(done("compile", file, "-o", out, "--json").stdout)
    assert found["integer_equals_stream"]
    assert "the host computes after the hardware: exp" in found["notes"]
