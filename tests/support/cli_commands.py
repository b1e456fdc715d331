"""Run the command line inside the test's process, and judge how it ended."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result

from graphrewrite.cli.commands import app
from tests.support.lowering_networks import mlp


def run(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="graphrewrite", env=environment)


def done(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result


def refused(code: int, told: str, *arguments: object) -> str:
    """Ended with a code, and one short line that says what is wrong and what to do."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert re.fullmatch(r"graphrewrite: [^\n]{10,500}\n", result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert re.search(told, result.stderr), result.stderr
    return result.stderr


def save(folder: Path, proto: onnx.ModelProto | None = None, **samples: np.ndarray) -> Path:
    """Put a model into a folder, with its calibration samples beside it."""
    file = folder / "net.onnx"
    file.write_bytes((proto or mlp()).SerializeToString())
    np.savez(folder / "net.npz", **(samples or {"calibration_x": sample(30, 4)}))
    return file


def own_module(name: str, source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a module of somebody's own into what becomes the current folder."""
    (folder / f"{name}.py").write_text(source)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def sample(*shape: int, seed: int = 11) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))
    }
