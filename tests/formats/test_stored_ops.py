"""Graphs stored with ops that have changed meanwhile are converted or refused, never read as something else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from graphrewrite import Dialect, FixedPoint, Graph, Tensor, define_op, evaluate, verify
from graphrewrite.errors import GraphRewriteError, SerialError
from graphrewrite.formats import from_dict, load, read_text, save, to_dict, write_text
from graphrewrite.hdl import COMPONENTS
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hierarchy import graph_op
from graphrewrite.op.op import Op
from graphrewrite.types import Stream

F = Tensor("f32", ("N",))


def linear(version: int = 1) -> Dialect:
    """Signals, as they were: the gain is a factor."""
    sig = Dialect("sig", version=version)

    @define_op(dialect=sig)
    def boost(x, *, factor=1.0):
        return x * factor

    return sig


def in_decibels(node: dict[str, Any]) -> dict[str, Any]:
    return {"type": "sig.gain", "db": 20 * math.log10(node.get("factor", 1.0))}


def logarithmic(**options: Any) -> Dialect:
    """Signals as they are: the gain is in decibels, and the op is called otherwise."""
    sig = Dialect("sig", version=2, **options)

    @define_op(dialect=sig)
    def gain(x, *, db=0.0):
        return x * 10 ** (db / 20)

    return sig


def amplifier(sig: Dialect) -> Graph:
    """A graph with a nested graph, so that both have ops of the dialect."""
    inner = Graph("inner")
    inner.output("b", sig.boost(inner.input("a", F), factor=10.0))
    graph = Graph("amplifier")
    graph.output("y", sig.boost(graph_op(inner)(graph.input("x", F)), factor=0.5))
    graph.nodes["boost_1"]["latency"] = 3
    return graph


def stored(graph: Graph, tmp_path: Any) -> list[Any]:
    """Return functions that take ops and read what was stored in each way."""
    save(graph, tmp_path / "g.json")
    write_text(graph, tmp_path / "g.txt")
    data = json.dumps(to_dict(graph))
    return [
        lambda ops: from_dict(json.loads(data), ops=ops),
        lambda ops: load(tmp_path / "g.json", ops=ops),
        lambda ops: read_text(tmp_path / "g.txt", ops=ops),
    ]


def test_earlier_versions_are_converted(tmp_path):
    old = amplifier(linear())
    for read in stored(old, tmp_path):
        now = read([logarithmic(upgrades={1: in_decibels})])
        verify(now)
        assert now.nodes["boost_1"]["type"] == "sig.gain"
        assert now.nodes["boost_1"]["latency"] == 3
        assert evaluate(now, {"x": [1, 2]})["y"] == pytest.approx(evaluate(old, {"x": [1, 2]})["y"])
        for again in stored(now, tmp_path):
            assert again([logarithmic()]) == now


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        (logarithmic(), r"at version 2 and cannot upgrade from 1; give it upgrades=\{1: …\}"),
        (logarithmic(upgrades={1: lambda node: node["gone"]}), "from version 1 of the dialect 'sig': KeyError: 'gone'"),
        (logarithmic(upgrades={1: lambda node: None}), "gives None; return the node's type and attributes"),
        (linear(0), "version 1 of the dialect 'sig', of which version 0 was given; give the newer one"),
    ],
)
def test_versions_that_cannot_be_converted_are_refused(dialect, message, tmp_path):
    for read in stored(amplifier(linear()), tmp_path):
        with pytest.raises(GraphRewriteError, match=message):
            read([dialect])


@define_op(name="gain")
def old_gain(x, y=None, *, factor=1.0, clip=False):
    return x * factor


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (lambda x, y=None, *, db=0.0: x, r"gain\(x, y=None, \*, db=0.0\)"),
        (lambda x, y=None, *, factor=2.0, clip=False: x, r"gain\(x, y=None, \*, factor=2.0, clip=False\)"),
        (lambda y, x=None, *, factor=1.0, clip=False: x, r"gain\(y, x=None, \*, factor=1.0, clip=False\)"),
        (lambda x, y=None, *, factor=1.0, clip=False, rate: x, r"gain\(x, y=None, \*, factor=1.0, clip=False, rate\)"),
        (lambda x, y=None, *, factor=1.0, clip=False, more=0, **_: x, None),
        (lambda x, y=None, *more, factor=1.0, clip=False: x, None),
    ],
)
def test_an_op_of_another_signature_is_refused(function, shown, tmp_path):
    inner = Graph("inner")
    inner.output("b", old_gain(inner.input("a", F)))
    graph = Graph("g")
    graph.output("y", graph_op(inner)(graph.input("x", F)))
    new: Op = define_op(name="gain")(function)
    for read in stored(graph, tmp_path):
        if shown is None:
            assert read([new]).ops["inner"].body.op("gain_1") is new
            continue
        was = r"ops.gain: was stored as gain\(x, y=None, \*, factor=1.0, clip=False\), and is "
        with pytest.raises(SerialError, match=was + shown + "; pass the op as it was"):
            read([new])


@pytest.mark.parametrize("line", ["{}", '{"operands": 1, "attributes": {}}', "{1}"])
def test_a_damaged_text_is_refused(line, tmp_path):
    (tmp_path / "g.txt").write_text(f"# op: gain {line}\ngraph g\nx = input() : f32[N]\ny = output(x)\n")
    with pytest.raises(SerialError, match=r"g\.txt: the line '# op: gain' holds no signature"):
        read_text(tmp_path / "g.txt", ops=[old_gain])


def test_ops_of_hardware_say_where_they_are(tmp_path):
    graph = Graph("g", ops=[clip])
    graph.output("y", clip(graph.input("x", Stream(FixedPoint(True, 8), (2,))), low=0, high=127))
    for read in stored(graph, tmp_path):
        told = (
            r"unknown op 'stream_clip'.*; pass it as ops=\[component.op for component in graphrewrite.hdl.COMPONENTS\]"
        )
        with pytest.raises(GraphRewriteError, match=told):
            read([])
        assert read([component.op for component in COMPONENTS]) == graph


def test_what_was_stored_by_earlier_versions_of_the_library_is_read():
    graph = Graph("g")
    graph.output("y", old_gain(graph.input("x", F), factor=3.0))
    data = to_dict(graph)
    data["ops"]["gain"] = {"kind": "given"}
    assert from_dict(data, ops=[old_gain]) == graph


@pytest.mark.parametrize(
    "wrong", [{"version": "1"}, {"version": 0}, {"operands": 3}, {"operands": [3]}, {"attributes": []}]
)
def test_a_damaged_document_is_refused(wrong):
    data = to_dict(amplifier(linear()))
    data["ops"]["sig.boost"].update(wrong)
    with pytest.raises(SerialError, match=r"^ops.sig.boost|^ops.'sig.boost'"):
        from_dict(data, ops=[linear()])
