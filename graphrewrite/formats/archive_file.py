"""Graphs and modules in one archive: a `.npz` with their arrays, and their JSON beside these."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx

from graphrewrite.formats.archive import Archive, Collected, write_archive
from graphrewrite.formats.files import LIMIT, contents, opened, replaced
from graphrewrite.formats.json.decode import Decoder
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.json_file import laid_out, parsed
from graphrewrite.graph import Graph
from graphrewrite.op.given_ops import OpOrDialect
from graphrewrite.runtime.gc_pause import gc_paused

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["load", "save"]


def save(thing: nx.DiGraph | Module, path: str | PathLike[str]) -> None:
    """Write a graph or module to an archive, of which `numpy.load` reads the arrays, too."""
    collected = Collected()
    document = laid_out(to_dict(thing, put=collected.put))
    replaced(Path(path), lambda stream, _: write_archive(stream, collected.arrays, document))


@gc_paused()
def load(path: str | PathLike[str], *, ops: Iterable[OpOrDialect] = (), limit: int = LIMIT) -> Graph | Module:
    """Read a graph or module from an archive; its arrays are mapped to memory."""
    source = Path(path)
    where = JsonPath() / source.name
    with opened(source, limit=limit) as (stream, size):
        archive = Archive(stream, contents(stream, size), where)
        return from_dict(parsed(archive.document(where), source), ops=ops, decoder=Decoder(archive.get))
