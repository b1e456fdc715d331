"""Files of exported programs: what would run code is refused; PyTorch is not needed for that."""

import json
import zipfile

import pytest

from graphrewrite import load
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.torch.archive import checked_archive

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
    with zipfile.ZipFile(checked_archive(_written(tmp_path / "m.pt2", {}))) as checked:
        assert checked.namelist() == [f"m/{name}" for name in PLAIN]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"models/model.json": {"nodes": [{**NODE, "target": "torch.hub.load"}]}}, "torch.hub.load"),
        ({"models/model.json": {"nodes": [{**NODE, "target": "_operator.__call__"}]}}, "no op of PyTorch"),
        ({"models/model.json": {"expr_str": "__import__('os').system('x')"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "Symbol('s', positive=print(1))"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "print(1)"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "9**9**9**9"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "((9**9)**9)**9"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "Pow(Pow(s, Integer(50)), Integer(2))"}}, "no arithmetic"),
        ({"models/model.json": {"expr_str": "s.real"}}, "no arithmetic"),
        ({"data/aotinductor/m/m.so": {}}, "may load it as a library"),
        ({"Models/model.json": {}}, "members of one name"),
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
        ({WEIGHTS: {"config": {"w": {"path_name": "weight_0"}}}}, "'w' is stored as a pickle"),
        ({WEIGHTS: {"conf": {}}}, "does not say where weights are"),
        ({CONSTANTS: {"config": {"c": 3}}}, "does not say where weights are"),
        ({"models/model.json": {"range_constraints": 7}}, "no symbol"),
        ({"../../out.json": {}}, "outside of its folder"),
        ({"models/serialized_exported_program.json": {}}, "2.8 or earlier"),
    ],
)
def test_what_would_run_code_is_refused(tmp_path, changes, reason):
    path = _written(tmp_path / "m.bin", changes)
    with pytest.raises(ModelError, match=reason):
        checked_archive(path)


def test_compressed_members_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/models/model.json", json.dumps(PLAIN["models/model.json"]))
    with pytest.raises(ModelError, match="it is compressed"):
        checked_archive(tmp_path / "m.pt2")


@pytest.mark.parametrize("content", [b"", b"PK\3\4 and no more", b"text"])
def test_damaged_files_are_refused(tmp_path, content):
    path = tmp_path / "m.pt2"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"PyTorch is not installed|m\.pt2"):
        load(path)


def test_sizes_that_no_file_holds(tmp_path):
    path = _written(tmp_path / "m.pt2", {})
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")  # the first entry of the directory: sizes stand 20 bytes on
    for size, told in (((1 << 30).to_bytes(4, "little") * 2, "have"), ((1).to_bytes(4, "little"), "two sizes")):
        changed = bytearray(data)
        changed[at + 20 : at + 20 + len(size)] = size
        path.write_bytes(changed)
        with pytest.raises(ModelError, match=told):
            checked_archive(path)
