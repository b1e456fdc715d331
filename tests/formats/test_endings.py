"""A file holds what its name says, or is not written."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Graph, Module, Tensor, op
from graphrewrite.errors import GraphRewriteError, SerialError
from graphrewrite.formats import load, save
from graphrewrite.hdl.components.clip import clip
from graphrewrite.types import FixedPoint, Stream

DOCUMENTS = (".json", ".npz", ".txt", ".graph")
PICTURES = (".html", ".svg", ".png", ".dot")
BEGINNINGS = {
    ".json": b'{\n "format"',
    ".npz": b"PK\3\4",
    ".txt": b"graph g",
    ".graph": b"graph g",
    ".html": b"<!DOCTYPE html>",
    ".svg": b"<svg",
    ".png": b"\x89PNG",
    ".dot": b"digraph",
    ".onnx": b"\x08",
    ".vhd": b"-- components/",
}
OTHERS = ("", ".gr", ".jsn", ".onx", ".pdf")


def layered() -> Graph:
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    graph.output("y", op.relu(op.mul(x, np.arange(3, dtype=np.float32))))
    return graph


def stream() -> Graph:
    graph = Graph("rectify")
    graph.output("y", clip(graph.input("x", Stream(FixedPoint(True, 8), (2, 5))), low=0, high=127))
    return graph


def module() -> Module:
    made = Module("m")
    made["main"] = layered()
    return made


def plainly(graph: Graph) -> nx.DiGraph:
    plain = nx.DiGraph(name=graph.name)
    plain.add_nodes_from(graph.nodes(data=True))
    plain.add_edges_from(graph.edges(data=True))
    return plain


@pytest.mark.parametrize("ending", BEGINNINGS)
@pytest.mark.parametrize("write", [save, lambda thing, path: thing.save(path)])
def test_a_file_is_what_its_name_says(tmp_path: Path, ending: str, write: Callable[[Any, Path], None]) -> None:
    path = tmp_path / f"g{ending.upper()}"
    graph = stream() if ending == ".vhd" else layered()
    write(graph, path)
    assert path.read_bytes().startswith(BEGINNINGS[ending])
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    if ending in DOCUMENTS:
        found = path.rename(tmp_path / "g") if ending in (".json", ".npz") else path
        assert load(found) == graph
        save(graph, tmp_path / "g.json")  # earlier versions wrote JSON, whatever the ending
        assert load((tmp_path / "g.json").rename(path)) == graph
    else:
        with pytest.raises(SerialError, match=r"documents end in \.json, \.npz, \.txt or \.graph"):
            load(path)


@pytest.mark.parametrize("ending", [".json", ".svg", ".onnx"])
def test_plain_digraphs_have_them_too(tmp_path: Path, ending: str) -> None:
    save(plainly(layered()), tmp_path / f"g{ending}")
    assert (tmp_path / f"g{ending}").read_bytes().startswith(BEGINNINGS[ending])


@pytest.mark.parametrize("ending", [*DOCUMENTS, *PICTURES])
def test_modules_have_the_same_endings(tmp_path: Path, ending: str) -> None:
    made, path = module(), tmp_path / f"m{ending}"
    made.save(path)
    assert ending not in DOCUMENTS or load(path) == made


@pytest.mark.parametrize("ending", [*OTHERS, ".onnx", ".vhd"])
@pytest.mark.parametrize("thing", [layered, module])
def test_other_endings_are_refused(tmp_path: Path, thing: Callable[[], Any], ending: str) -> None:
    if thing is layered and ending == ".onnx":
        pytest.skip("that can be written")
    for write in (thing().save, lambda path: save(thing(), path)):
        with pytest.raises(GraphRewriteError, match=r"its name must end in \.json, .*\.vhd|not a module|to_stream"):
            write(tmp_path / f"g{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_a_file_that_cannot_be_replaced_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / f"g{ending}"
    path.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(GraphRewriteError, match="Permission denied"):
        (stream() if ending == ".vhd" else layered()).save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_archives_are_numpys_and_mapped(tmp_path: Path) -> None:
    graph = Graph("g")
    numbers = np.arange(1 << 19, dtype=np.float32)
    graph.output("y", graph.constant(numbers, name="c"))
    graph.save(tmp_path / "g.npz")
    with np.load(tmp_path / "g.npz") as archive:
        assert np.array_equal(archive["array_1"], numbers)
    assert not load(tmp_path / "g.npz").nodes["c"]["value"].flags.owndata  # type: ignore[union-attr]  # it is a graph


def test_an_archive_of_somebody_elses_is_no_graph(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", w=np.ones(2))
    with pytest.raises(SerialError, match=r"a\.npz.: holds arrays, but no graph: graph\.json is missing"):
        load(tmp_path / "a.npz")


@pytest.mark.ghdl
@pytest.mark.skipif(shutil.which("ghdl") is None, reason="needs GHDL")
def test_the_vhdl_of_one_file_is_analysed(tmp_path: Path) -> None:
    stream().save(tmp_path / "g.vhd")
    for command in (["-a", "--std=08", "g.vhd"], ["-e", "--std=08", "rectify"]):
        subprocess.run(["ghdl", *command], cwd=tmp_path, check=True)


def test_the_text_of_a_program_over_memory_names_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("program own\ndeclare {\n}\nprogram {\n}\n", encoding="utf-8")
    with pytest.raises(SerialError, match=r"^own\.txt: .*graphrewrite\.memory\.parse_program reads"):
        load(path)
