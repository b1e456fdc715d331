"""Files of exported programs: what would run code is refused; PyTorch is not needed for that."""

import json
import zipfile

import pytest

from graphrewrite import load
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.torch.archive import check_archive

WEIGHTS, CONSTANTS = "data/weights/model_weights_config.json", "data/constants/model_constants_config.json"
SIZE = "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))"
NODE = {"target": "torch.ops.aten.relu.default", "inputs": [], "outputs": []}
PLAIN = {
    "models/model.json": {"nodes": [NODE, {**NODE, "target": "_operator.mul"}], "expr_str": SIZE},
    WEIGHTS: {"config": {"w": {"path_name": "weight_0", "use_pickle": False}}},
    CONSTANTS: {"config": {}},
}


def _written(path, changes):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**PLAIN, **changes}.items():
            archive.writestr(name if name.startswith("/") else f"m/{name}", json.dumps(content))
    return path


def test_a_plain_program_passes(tmp_path):
    assert check_archive(_written(tmp_path / "m.pt2", {})) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"models/model.json": {"nodes": [{**NODE, "target": "torch.hub.load"}]}}, "torch.hub.load"),
        ({"models/model.json": {"nodes": [{**NODE, "target": "_operator.__call__"}]}}, "no op of PyTorch"),
        ({"models/model.json": {"expr_str": "__import__('os').system('x')"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "Symbol('s', positive=print(1))"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "print(1)"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "9**9**9**9"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "s.real"}}, "no arithmetic"),
        ({"models/model.json": {"range_constraints": {"exit()": {}}}}, "no symbol"),
        ({"models/model.json": {"in_spec": json.dumps([1, {"context": json.dumps({"__enum__": True})}])}}, "__enum__"),
        ({"models/model.json": {"a": {"default_factory_module": "os"}}}, "would import"),
        (
            {WEIGHTS: {"config": {"w": {"path_name": "weight_0", "use_pickle": True}}}},
            "'w'",
        ),
        (
            {CONSTANTS: {"config": {"c": {"path_name": "custom_obj_0", "use_pickle": False}}}},
            "custom_obj_0",
        ),
        ({"../../out.json": {}}, "outside of its folder"),
        ({"models/serialized_exported_program.json": {}}, "2.8 or earlier"),
    ],
)
def test_what_would_run_code_is_refused(tmp_path, changes, reason):
    path = _written(tmp_path / "m.bin", changes)
    with pytest.raises(ModelError, match=reason):
        check_archive(path)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 and no more", b"text"])
def test_damaged_files_are_refused(tmp_path, content):
    path = tmp_path / "m.pt2"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"PyTorch is not installed|m\.pt2"):
        load(path)
