"""Text files of graphs, with large arrays in a separate `.npz`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import networkx as nx
import numpy as np

from graphrewrite.errors import SerialError
from graphrewrite.formats.archive import Collected, arrays_beside, write_archive
from graphrewrite.formats.files import LIMIT, beside, read_utf8, replaced
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.stored_ops import difference, given_ops_in, reference
from graphrewrite.formats.text.array_printer import LARGE, whole_array
from graphrewrite.formats.text.graph_parser import read
from graphrewrite.formats.text.graph_printer import text_in
from graphrewrite.formats.text.literal_printer import Form
from graphrewrite.graph import Graph
from graphrewrite.op.given_ops import GivenOps, OpOrDialect
from graphrewrite.op.op import Op
from graphrewrite.runtime.plugins import offered

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["read_text", "write_text"]

_COMMENTS = re.compile(r"\A(?:#[^\r\n]*(?:\r\n|\r|\n|\Z))*")
_DIALECT = re.compile(r"# dialect: (\w+) version ([0-9]{1,9})")
_OP = re.compile(r"# op: (\S+) (\{.*\})")
_ARRAYS = re.compile(r"# arrays: sha256 ([0-9a-f]{64})\Z")


def write_text(thing: nx.DiGraph | Module, path: str | PathLike[str]) -> None:
    r"""Write the text form of a graph or module to a file, and large arrays to a separate file.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        Any graph.
    path : path
        The text file; arrays go to an ``.npz`` beside it, whose name is the file's with a part of the digest of the
        arrays. Existing files are replaced as by `graphrewrite.formats.save`.

    Raises
    ------
    GraphError
        If a value cannot be printed such that it can be parsed.
    SerialError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> graph = Graph("g")
    >>> _ = graph.output("y", graph.constant(np.arange(100)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(graph, Path(folder) / "g.txt")
    ...     print((Path(folder) / "g.txt").read_text().partition("\n")[2])
    ...     read_text(Path(folder) / "g.txt") == graph
    graph g
    constant_1 = constant(value=@'array_1') : i64[100]
    y = output(constant_1)
    <BLANKLINE>
    True
    """
    target = Path(path)
    collected = Collected()

    def put(array: np.ndarray, typed: bool) -> str:
        return f"@'{collected.add(array)}'" if array.size > LARGE else whole_array(array, typed)

    written = _head(given_ops_in(thing)) + text_in(thing, Form(put, strict=True)) + "\n"

    def write(stream: BinaryIO, digest: str) -> None:
        stream.write(f"# arrays: sha256 {digest}\n{written}".encode() if digest else written.encode())

    replaced(target, write, partial(write_archive, arrays=collected.arrays) if collected.arrays else None)


def _head(ops: Mapping[str, Op]) -> str:
    """Return the lines that say of which form the ops are that a reader must be given."""
    versions = {op.dialect.name: op.dialect.version for op in ops.values() if op.dialect is not None}
    lines = [f"# dialect: {name} version {version}\n" for name, version in versions.items()]
    for name, op in ops.items():
        stored = {key: value for key, value in reference(op).items() if key != "version"}
        lines.append(f"# op: {name} {json.dumps(stored)}\n")
    return "".join(lines)


def _check_ops(stored: Mapping[str, str], given: GivenOps, versions: Mapping[str, int], path: Path) -> None:
    """Raise if a given op is not what it was; one of an earlier version of its dialect is upgraded instead."""
    for name, text in stored.items():
        op = given.ops.get(name)
        if op is None or (op.dialect is not None and versions.get(op.dialect.name) != op.dialect.version):
            continue
        try:
            signature = json.loads(text)
            changed = difference(op, list(map(str, signature["operands"])), dict(signature["attributes"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SerialError(f"the line '# op: {name}' holds no signature", path=path.name) from error
        if changed:
            raise SerialError(f"ops.{name}: {changed}", path=path.name)


def read_text(
    path: str | PathLike[str],
    *,
    ops: Iterable[OpOrDialect] = (),
    plugins: Iterable[str] = (),
    limit: int = LIMIT,
) -> Graph | Module:
    """Read a graph or module from a file that `write_text` has written.

    Parameters
    ----------
    path : path
        The text file, which need not be trusted: no other file than its file of arrays is read.
    ops : iterable of Op and Dialect
        Ops that are not in the library.
    plugins : iterable of str
        Names of plugins whose ops are known, too; see `graphrewrite.plugin`.
    limit : int
        Maximum size of each file, in bytes.

    Raises
    ------
    ParseError
        With line, column and the expected syntax.
    SerialError
        If a file cannot be read, or the file of arrays was not written with the text.
    """
    source, ops = Path(path), (*ops, *offered(plugins, "ops"))
    text = read_utf8(source, limit=limit)
    head = _COMMENTS.findall(text)[0].splitlines()
    versions = {found[1]: int(found[2]) for found in map(_DIALECT.match, head) if found}
    _check_ops({found[1]: found[2] for found in map(_OP.match, head) if found}, GivenOps.of(ops), versions, source)
    digest_line = _ARRAYS.match(head[0]) if head else None
    if digest_line is None:
        return read(text, ops=ops, versions=versions)
    where = JsonPath() / beside(source, digest_line[1]).name  # a text has no key to name
    with arrays_beside(source, digest_line[1], where, limit=limit) as archive:
        arrays = {name: archive.get(name, where) for name in archive.names}
    return read(text, ops=ops, arrays=arrays, versions=versions)
