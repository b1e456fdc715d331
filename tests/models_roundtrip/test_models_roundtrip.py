"""Published and freshly exported models through the doors, as a user calls them: no argument but the file.

The scripts `make_*` beside this file made what is in `models/`. `python -m tests.models_roundtrip.table` prints a row
for each.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphrewrite import Graph, rewrite
from graphrewrite.lowering import to_onnx
from graphrewrite.models import path
from graphrewrite.rules import RULES
from tests.models_roundtrip.journey import Journey, JourneyError, journey
from tests.models_roundtrip.light_models import LIGHT, with_random_weights
from tests.models_roundtrip.references import stored_beside
from tests.models_roundtrip.table import FILES, options_of

SHARED = Path(__file__).parents[3] / "shared" / "models"
QUICK = {"light_squeezenet"}
"""Of the light models, those that take less than five seconds."""


def taken(file: Path, folder: Path) -> Journey:
    made = journey(file, folder, **options_of(file))
    print(made.row())
    assert made.numbers > 0
    return made


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_exported_models(file: Path, tmp_path: Path) -> None:
    taken(file, tmp_path)


@pytest.mark.parametrize("name", ["digits", "classes"])
def test_shipped_models(name: str, tmp_path: Path) -> None:
    taken(Path(path(name)), tmp_path)


@pytest.mark.parametrize("name", ["three_layer_keras"])
def test_published_models(name: str, tmp_path: Path) -> None:
    file = SHARED / f"{name}.onnx"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside this checkout")
    taken(file, tmp_path)


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.stem, marks=() if file.stem in QUICK else pytest.mark.thorough)
        for file in sorted(LIGHT.glob("*.onnx"))
    ],
)
def test_light_models(file: Path, tmp_path: Path) -> None:
    given = tmp_path / file.name
    onnx.save(with_random_weights(file), given)
    taken(given, tmp_path)


def test_there_are_as_many_as_promised() -> None:
    assert len(FILES) >= 40


class TestTheComparisonNotices:
    def test_another_number(self, tmp_path: Path) -> None:
        file = FILES[[file.stem for file in FILES].index("qonnx_binary")]
        copy = tmp_path / file.name
        shutil.copy(file, copy)
        with np.load(stored_beside(file)) as arrays:
            stored = dict(arrays)
        stored["output.0"][2, 1] += np.float32(1e-3)
        np.savez(stored_beside(copy), **stored)
        with pytest.raises(JourneyError, match=r"evaluate, as loaded, output 0: 4\.2% of the numbers are off, by"):
            taken(copy, tmp_path)

    @pytest.mark.parametrize(
        ("lose", "told"),
        [
            (lambda graph: rewrite(graph, RULES), "load what was saved, as loaded: another graph"),
            (lambda graph: None, "load what was saved, as loaded: ModelError: there is no file"),
        ],
    )
    def test_what_a_save_loses(self, lose, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def saved(graph: Graph, file: Path) -> None:
            other = lose(graph)
            if other is not None:
                to_onnx(other, file)

        monkeypatch.setattr("tests.models_roundtrip.journey.to_onnx", saved)
        with pytest.raises(JourneyError, match=told):
            taken(Path(path("digits")), tmp_path)
