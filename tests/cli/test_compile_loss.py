"""`graphrewrite compile`: what is measured fits the task, and what quantising loses is no secret."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphrewrite.models import path
from tests.support.cli_commands import done, refused, run, sample, save
from tests.support.learnt_networks import learnt
from tests.support.lowering_networks import mlp, model, weights


@pytest.fixture(autouse=True)
def _no_ghdl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def compiled(file: Path, out: Path, *options: object) -> dict[str, Any]:
    return json.loads(done("compile", file, "-o", out, "--json", "--parallelism", "folded", *options).stdout)


def saved(folder: Path, name: str, *, labelled: bool = True) -> Path:
    made = learnt(name)
    labels = {f"test_{output}": wanted for output, wanted in made.wanted.items()}
    return save(folder, made.model, calibration_x=made.calibration, test_x=made.test, **labels if labelled else {})


def cancelling(folder: Path) -> Path:
    """Two channels that are almost equal, and their difference a hundred times."""
    row = weights(1, 4, seed=2)
    constants = {"a": np.vstack([row, 1.01 * row]), "b": np.full(2, 0.5, "f4"), "c": np.array([[100, -100]], "f4")}
    nodes = [
        helper.make_node("Gemm", ["x", "a", "b"], ["h"], name="fc1", transB=1),
        helper.make_node("Relu", ["h"], ["r"], name="relu1"),
        helper.make_node("Gemm", ["r", "c"], ["y"], name="fc2", transB=1),
    ]
    return save(folder, model(nodes, constants, input_shape=("N", 4)), calibration_x=sample(80, 4))


def joined(folder: Path, **arrays: np.ndarray) -> Path:
    """Two inputs, two outputs."""
    nodes = [
        helper.make_node("Concat", ["left", "right"], ["both"], axis=1),
        helper.make_node("Gemm", ["both", "w"], ["scores"], name="fc1", transB=1),
        helper.make_node("Gemm", ["both", "v"], ["logit"], name="fc2", transB=1),
    ]
    tensors = [numpy_helper.from_array(weights(3, 5), "w"), numpy_helper.from_array(weights(1, 5, seed=1), "v")]
    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", s]) for n, s in (("left", 2), ("right", 3))]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("scores", "logit")]
    proto = helper.make_model(
        helper.make_graph(nodes, "joined", given, results, tensors),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    return save(folder, onnx.shape_inference.infer_shapes(proto), **arrays)


SIDES = {"left": sample(40, 2), "right": sample(40, 3, seed=12)}


class TestKinds:
    def test_one_sigmoid_decides(self, tmp_path: Path, out: Path) -> None:
        found = compiled(saved(tmp_path, "cancer"), out)
        assert [(row["output"], row["kind"]) for row in found["levels"]] == [("y", "decisions")] * 4
        assert found["levels"][0]["accuracy"] > 0.95
        assert found["levels"][3]["accuracy"] > 0.95
        assert found["levels"][3]["equal predictions"] > 0.98
        assert found["held_out"]
        assert found["findings"] == []

    def test_numbers_have_errors(self, tmp_path: Path, out: Path) -> None:
        text = done("compile", saved(tmp_path, "friedman"), "-o", out, "--parallelism", "folded").stdout
        assert "R²" in text
        assert "signal to noise" in text
        assert "predictions" not in text
        assert "integer and stream level: equal, bit for bit; float and stream level: noise of 0." in text

    def test_several_inputs_and_outputs(self, tmp_path: Path, out: Path) -> None:
        tests = {f"test_{name}": array[::-1] for name, array in SIDES.items()}
        labels = {"test_scores": np.arange(40) % 3, "test_logit": np.arange(40) % 2}
        calibration = {f"calibration_{name}": array for name, array in SIDES.items()}
        found = compiled(joined(tmp_path, **calibration, **tests, **labels), out)
        assert [row["kind"] for row in found["levels"][:2]] == ["classes", "decisions"]
        # The weights are chance, and that is said.
        assert any("always saying the same" in each["text"] for each in found["findings"])

    def test_many_classes_have_a_best_five(self, tmp_path: Path, out: Path) -> None:
        file = save(tmp_path, mlp(outputs=12), calibration_x=sample(60, 4))
        assert "top 5" in done("compile", file, "-o", out, "--parallelism", "folded").stdout


class TestLimit:
    def test_beyond_it_there_is_no_hardware(self, tmp_path: Path, out: Path) -> None:
        file = cancelling(tmp_path)
        told = refused(16, "loses more than 5%.*: noise of .* of the variance", "compile", file, "-o", out, "--bits", 4)
        assert "--bits fc" in told
        assert "--force" in told
        assert not out.exists()
        found = compiled(file, out, "--bits", 4, "--force")
        assert any("--force makes hardware of it" in note for note in found["notes"])
        assert {each["layer"] for each in found["findings"]} <= {"fc1", "fc2"}
        text = done("compile", file, "-o", out, "--bits", 4, "--max-loss", "100%").stdout
        assert "warning: fc" in text

    def test_of_a_search_that_finds_nothing(self, tmp_path: Path, out: Path) -> None:
        file = cancelling(tmp_path)
        refused(16, "even 16 bits lose .*", "compile", file, "-o", out, "--bits", "auto", "--max-loss", "0")

    def test_it_is_what_the_option_says(self, tmp_path: Path, out: Path) -> None:
        file = saved(tmp_path, "friedman")
        refused(16, r"more than 0.001%.*give more bits \(--bits 10\)", "compile", file, "-o", out, "--max-loss", "1e-5")

    @pytest.mark.parametrize("share", ["5", "-1%", "much", "", "nan"])
    def test_no_share(self, tmp_path: Path, out: Path, share: str) -> None:
        assert run("compile", save(tmp_path), "-o", out, "--max-loss", share).exit_code == 2


class TestWidths:
    def test_by_layer(self, tmp_path: Path, out: Path) -> None:
        found = compiled(save(tmp_path), out, "--bits", "fc1=6:9, fc2=7,default=10")
        assert found["bits"] == {"fc1": [6, 9], "fc2": 7, "default": 10}
        by_file = tmp_path / "widths.json"
        by_file.write_text('{"fc*": [6, 9], "default": 10}')
        assert compiled(save(tmp_path), out, "--bits", by_file)["bits"] == {"fc*": [6, 9], "default": 10}

    def test_searched(self, tmp_path: Path, out: Path) -> None:
        file = saved(tmp_path, "cancer")
        found = compiled(file, out, "--bits", "auto", "--max-loss", "2%")
        assert set(found["bits"]) == {"x", "gemm1", "gemm3", "gemm5"}
        text = done("compile", file, "-o", out, "--bits", "auto").stdout
        assert "widths: x=" in text

    def test_searched_behind_ops_of_the_host(self, tmp_path: Path, out: Path) -> None:
        nodes = [
            helper.make_node("CumSum", ["x", "axis"], ["c"], name="sum"),
            helper.make_node("Gemm", ["c", "w"], ["y"], name="fc1", transB=1),
        ]
        constants = {"w": weights(3, 4), "axis": np.array(1, np.int64)}
        arrays = {"calibration_x": sample(60, 4), "test_x": sample(40, 4, seed=3), "test_y": np.arange(40) % 3}
        file = save(tmp_path, model(nodes, constants, input_shape=("N", 4)), **arrays)
        found = compiled(file, out, "--bits", "auto", "--host", "sum")
        assert "fc1" in found["bits"]

    @pytest.mark.parametrize(
        "text", ["3", "17", "fc1=3", "fc1=6:7:8", "fc1", "fc1=", "fc1=6,fc1=7", "", "6.5", "none.json", "bad.json"]
    )
    def test_no_widths(self, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        (tmp_path / "bad.json").write_text("[8]")
        monkeypatch.chdir(tmp_path)
        result = run("compile", save(tmp_path), "-o", out, "--bits", text)
        assert result.exit_code == 2, result.output

    def test_unknown_layers(self, tmp_path: Path, out: Path) -> None:
        refused(5, "'fc3'.*did you mean 'fc", "compile", save(tmp_path), "-o", out, "--bits", "fc3=6")


class TestSamples:
    @pytest.mark.parametrize(
        ("arrays", "told"),
        [
            ({"calibration_x": sample(6, 4)}, "6 calibration samples are few for 4 features; give 10 or more"),
            ({"calibration_x": np.ones((30, 4), "f4")}, "all calibration samples are alike"),
            ({"calibration_x": sample(30, 4) * [1, 0, 1, 1]}, "1 of 4 features are constant"),
            ({"calibration_x": sample(30, 4) * [1, 0, 1, 1], "test_x": sample(30, 4)}, "1 of 4 channels are constant"),
            ({"calibration_x": sample(30, 4), "test_x": 255 * sample(30, 4)}, "255 times as large"),
            ({"calibration_x": sample(30, 4), "test_x": sample(30, 4) + 2}, "beyond the range"),
            ({"calibration_x": sample(30, 4), "labels": np.zeros(30)}, "not used.*labels; .* in test_y"),
        ],
    )
    def test_weak_ones_are_said(self, tmp_path: Path, out: Path, arrays: dict[str, np.ndarray], told: str) -> None:
        result = run("compile", save(tmp_path, **arrays), "-o", out, "--force", "--parallelism", "folded")
        assert result.exit_code == 0, result.output
        assert re.search(rf"^(warning: x: |note: ).*{told}", result.stdout, re.MULTILINE), result.stdout

    def test_the_shipped_networks_have_strong_ones(self, out: Path) -> None:
        found = compiled(path("classes"), out, "--frames", 2)
        assert found["findings"] == []
        assert found["levels"][0]["accuracy"] > 0.95

    def test_absent_arrays(self, tmp_path: Path, out: Path) -> None:
        file = joined(tmp_path, a=SIDES["left"], b=SIDES["right"])
        refused(
            5,
            r"holds a \[40, 2\], b \[40, 3\], but no 'left'; give left f32\[N,2\], right f32\[N,3\]; .*test_left, "
            "test_right, with what is right in test_scores, test_logit",
            *("compile", file, "-o", out),
        )
        file = joined(tmp_path, left=SIDES["left"], right=SIDES["right"][:39])
        refused(5, "40 of 'left', 39 of 'right'; give as many", "compile", file, "-o", out)
        file = joined(tmp_path, **SIDES, **{f"test_{n}": a for n, a in SIDES.items()}, test_y=np.zeros(40))
        refused(5, "test_y .*several; call it one of test_scores, test_logit", "compile", file, "-o", out)
