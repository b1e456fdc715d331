"""Files of exported programs: what would run code is refused; PyTorch is not needed for that."""

import json
import re
import sys
import zipfile
from types import SimpleNamespace

import pytest

from graphrewrite import load
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.torch.archive import _is_expression, checked_archive, is_exported_program

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


@pytest.mark.parametrize(
    ("text", "arithmetic"),
    [
        *(
            (text, True)
            for text in ("3", "2.5", "True", "s77", " s0 + 1 ", "-s", "s // 2 % 3", "s < 4", "s == 4 or t > 2")
        ),
        *((f"{name}(s, t)", True) for name in ("Max", "FloorDiv", "torch.utils._sympy.functions.FloorDiv")),
        *((text, True) for text in ("Symbol('s')", "Symbol('s', integer=True, positive=True)", "Pow(s, 2)", "s ** 2")),
        *(
            (text, True)
            for text in ("s ** 99", "Pow(s, Integer(-1))", "(s ** 9) ** 11", "s << 3", "Abs(Pow(s, Integer(2)))")
        ),
        *(
            (text, False)
            for text in ("s ** 100", "(s ** 10) ** 10", "s ** t", "Pow(s)", "Pow(s, 2, 3)", "2 ** (s ** 2)")
        ),
        *((text, False) for text in ("'s'", "b's'", "None", "...", "s.t", "s[0]", "[s]", "(s, t)", "s if t else u")),
        *((text, False) for text in ("f(s)", "Max(s, key=t)", "Max(f(s))", "Max(s.t)", "Symbol('s t')")),
        *(
            (text, False)
            for text in ("Symbol('s', odd=True)", "Symbol('s', integer=f())", "torch.Max(s)", "a + f(b)", "f(a) + b")
        ),
        *(
            (text, False)
            for text in ("-f(a)", "f(a) < b", "a < f(b)", "a and f(b)", "f(a) ** 2", "s = 3", "s +", "__s", "", "s\n;t")
        ),
        *((each, False) for each in (3, None, ["s"], "s\0")),
        ("s" + " " * 9999, True),
        ("s" + " " * 10000, False),
        ("(" * 400 + "s" + ")" * 400, False),
    ],
)
def test_what_is_arithmetic_of_sizes(text, arithmetic):
    assert _is_expression(text) == arithmetic


def test_what_is_an_exported_program():
    for names, found in (
        (["m/models/a.json"], True),
        (["m/x", "m/models/a.json"], True),
        (["serialized_exported_program.json", "x"], True),
        (["m/models/b/a.json"], False),
        (["models/a.json"], False),
        ([], False),
    ):
        assert is_exported_program(names) == found


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ({"a": [[{"expr_str": "f()"}]]}, "no arithmetic"),
        ({"a": json.dumps({"b": json.dumps([{"expr_str": "f()"}])})}, "no arithmetic"),
        ({"a": json.dumps(json.dumps({"expr_str": "f()"}))}, "no arithmetic"),
        ({"range_constraints": ["s", "f()"]}, "no symbol"),
        ({"range_constraints": "s.t"}, "no symbol"),
        ({"a": [{"b": {"nodes": [{"target": "os.system", "inputs": 1, "outputs": 2}]}}]}, "it calls 'os.system'"),
        ({"a": {**NODE, "target": "f", "more": 1}}, "it calls 'f'"),
        ({"a": {**NODE, "b": {**NODE, "target": "f"}}}, "it calls 'f'"),
        ({"__enum__": 1}, "would import a module"),
    ],
)
def test_descriptions_are_looked_through_to_their_ends(tmp_path, description, reason):
    with pytest.raises(ModelError, match=reason):
        checked_archive(_written(tmp_path / "m.pt2", {"models/model.json": description}))


def nested(depth):
    found = {"expr_str": "s"}
    for _ in range(depth):
        found = [found]
    return found


def test_descriptions_have_a_depth(tmp_path):
    checked_archive(_written(tmp_path / "m.pt2", {"models/model.json": nested(199)}))
    with pytest.raises(ModelError, match="is nested too deeply"):
        checked_archive(_written(tmp_path / "n.pt2", {"models/model.json": nested(200)}))
    inside = nested(150)
    for _ in range(51):
        inside = {"a": inside}
    with pytest.raises(ModelError, match="is nested too deeply"):
        checked_archive(_written(tmp_path / "o.pt2", {"models/model.json": inside}))


def test_plain_members_pass(tmp_path):
    more = {"target": "torch.hub.load", "inputs": []}  # no node, which has outputs
    changes = {
        "models/model.json": {"a": more, "b": "[no json", "c": "s", "range_constraints": {"s77": {}, "t + 1": 0}}
    }
    changes["data/sample_inputs/x.pt"] = None
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**PLAIN, **changes}.items():
            archive.writestr(f"m/{name}", b"" if content is None else json.dumps(content))
    with zipfile.ZipFile(checked_archive(path)) as checked, zipfile.ZipFile(path) as before:
        assert {name: checked.read(name) for name in checked.namelist()} == {
            n: before.read(n) for n in before.namelist()
        }


@pytest.mark.parametrize("error", ["", f"{'a pickle of an object ' * 9}\nand more"])
def test_examples_that_would_run_code(tmp_path, monkeypatch, error):
    def load(content, *, weights_only):
        assert (content.read(), weights_only) == (b"data", True)
        raise KeyError if not error else ValueError(error)

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(load=load))
    with zipfile.ZipFile(tmp_path / "m.pt2", "w") as archive:
        archive.writestr("m/models/model.json", json.dumps(PLAIN["models/model.json"]))
        archive.writestr("m/data/sample_inputs/x.pt", b"data")
    told = error.splitlines()[0][:120] if error else "KeyError"
    with pytest.raises(ModelError, match=re.escape(f"reading them would run code ({told});")):
        checked_archive(tmp_path / "m.pt2")
