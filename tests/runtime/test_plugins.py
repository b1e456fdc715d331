"""Plugins: found among installed packages by their entry points, when they are asked for and not before."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, plugin
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats import load, read_text, save, write_text
from graphrewrite.hdl import COMPONENTS, emit
from graphrewrite.lowering import LoweringError, from_onnx, to_stream
from graphrewrite.runtime.plugins import PluginError
from tests.support.cli_commands import done, refused

SOURCE = '''
"""Signals, as a package offers them."""

from pathlib import Path

from graphrewrite import Dialect, FixedPoint, Tensor, define_op, rule
from graphrewrite.lowering import Entry
from graphrewrite.lowering.streaming.bridge import leave
from tests.support.own_components import absolute, component

signals = Dialect("sig", levels=("signal",), above="integer")


@define_op(dialect=signals)
def invert(x):
    return -x


@define_op(
    dialect=signals, infer=lambda x: Tensor(FixedPoint(False, x.element.width, x.element.fraction), x.shape, x.layout)
)
def magnitude(x):
    return abs(x)


@rule
def drop_inversions(x):
    """Twice inverted is the signal."""
    yield invert(invert(x))
    return x


@rule(kind="lowering")
def map_magnitude(x):
    """A magnitude is a component."""
    yield magnitude(leave(x))
    return leave(absolute(x))


ABSOLUTE = component(Path(__file__).parent)
IMPORTERS = (Entry("Invert", invert),)
'''

ENTRY_POINTS = """
[graphrewrite.ops]
sig = made_for_plugins:signals
broken = made_for_plugins:gone

[graphrewrite.rules]
sig = made_for_plugins:drop_inversions

[graphrewrite.importers]
sig = made_for_plugins:IMPORTERS

[graphrewrite.components]
sig = made_for_plugins:ABSOLUTE

[graphrewrite.lowerings]
sig = made_for_plugins:map_magnitude
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a package that offers signals."""
    folder = tmp_path / "site"
    about = folder / "made_for_plugins-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: made-for-plugins\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "made_for_plugins.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "made_for_plugins", raising=False)
    return folder


def doubled() -> Graph:
    sig = plugin("sig").ops[0]
    graph = Graph("doubled", ops=[sig])
    x = graph.input("x", Tensor("f32", ("N",)))
    graph.output("y", sig.invert(sig.invert(sig.invert(x))))
    return graph


def test_files_are_read_with_them(installed, tmp_path):
    found = plugin("sig")
    assert "made_for_plugins" not in sys.modules  # nothing is imported before a part is read
    graph = doubled()
    assert [each.name for each in (*found.rules, *found.lowerings)] == ["drop_inversions", "map_magnitude"]
    save(graph, tmp_path / "g.json")
    write_text(graph, tmp_path / "g.txt")
    for read, file in ((load, "g.json"), (read_text, "g.txt")):
        assert read(tmp_path / file, plugins=["sig"]) == graph
        assert read(tmp_path / file, plugins="sig") == graph
        with pytest.raises(GraphRewriteError, match="dialect 'sig', which is missing"):
            read(tmp_path / file)


def test_onnx_and_hardware(installed):
    node = helper.make_node("Invert", ["x"], ["y"])
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", ports[:1], ports[1:]))
    graph = from_onnx(model, plugins=["sig"], batch=None)
    assert evaluate(graph, np.float32([1, 2]))["y"].tolist() == [-1, -2]
    (sig,) = plugin("sig").ops
    integer = Graph("g", ops=[sig])
    x = op.to_fixed(integer.input("x", Tensor("f32", ("N", 3))), element=FixedPoint(True, 8))
    integer.output("y", op.from_fixed(sig.magnitude(x), fraction=0))
    stream = to_stream(integer, plugins=["sig"])
    assert [stream.nodes[name]["type"] for name in stream.in_order()] == ["input", "absolute", "output"]
    design = emit(stream, components=(*COMPONENTS, *plugin("sig").components))
    assert "components/absolute.vhd" in design.files
    with pytest.raises(LoweringError, match="magnitude_1"):
        to_stream(integer)


def test_commands_take_them(installed, tmp_path):
    save(doubled(), tmp_path / "g.json")
    assert "sig.invert(x)" in done("show", tmp_path / "g.json", "--plugin", "sig").stdout
    assert "invert_1" in done("show", tmp_path / "g.json", "--plugin", "sig", "--level", "signal").stdout
    refused(3, "dialect 'sig', which is missing", "show", tmp_path / "g.json")
    refused(2, "offers a plugin 'sgi'; did you mean 'sig'", "show", tmp_path / "g.json", "--plugin", "sgi")
    done("optimise", tmp_path / "g.json", "-o", tmp_path / "h.json", "--plugin", "sig")
    assert sum(data["type"] == "sig.invert" for data in load(tmp_path / "h.json", plugins="sig").nodes.values()) == 1
    assert "drop_inversions" in done("trace", tmp_path / "g.json", "--plugin", "sig", "--rules", "sig").stdout
    assert "preserved" in done("check", "sig", "--plugin", "sig", "--examples", 5).stdout


def test_what_is_not_there_is_named(installed):
    with pytest.raises(PluginError, match=r"did you mean 'sig'\?; there are broken, sig"):
        plugin("sigg")
    with pytest.raises(PluginError, match=r"'broken' offers 'made_for_plugins:gone' in graphrewrite.ops, which cannot"):
        _ = plugin("broken").ops
