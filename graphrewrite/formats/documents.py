"""Documents: graphs and modules in files of the form that their names say."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import networkx as nx

from graphrewrite.errors import SerialError
from graphrewrite.formats import archive_file, json_file
from graphrewrite.formats.files import LIMIT, opened
from graphrewrite.formats.text_file import read_text, write_text
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.methods import ENDINGS, ModuleMethods
from graphrewrite.op.given_ops import OpOrDialect
from graphrewrite.runtime.plugins import offered

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["TEXTS", "load", "save"]

_TEXT = (".txt", ".graph")
TEXTS = (b"graph ", b"graph\n", b"module ", b"# dialect: ", b"# op: ", b"# arrays: ")
"""How a text begins."""
_PROGRAM = b"program "
"""How the text of a program over memory begins."""
_ARCHIVE = b"PK\3\4"
"""How an archive begins."""


def save(thing: nx.DiGraph | Module, path: str | PathLike[str], *, arrays: Literal["inline", "npz"] = "inline") -> None:
    r"""Write a graph or module to a file, in the form that the ending of its name says.

    Documents, which `load` reads: ``.json``; ``.txt`` or ``.graph``, the text form; ``.npz``, one archive of JSON and
    arrays. Pictures: ``.html``, ``.svg``, ``.png`` and ``.dot``. Of one graph, ``.onnx``, and of one at the stream
    level ``.vhd``: all its VHDL in one file, without the test bench (`graphrewrite.hdl.emit` has the whole project).

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        Any graph.
    path : path
        The file. After an interruption, a kill, a full disk or a power failure, it is the old one, or the new one.
    arrays : {"inline", "npz"}
        Whether arrays are stored in the JSON, a third larger than they are, or in an ``.npz`` beside it, which is
        faster, and mapped to memory when it is loaded. Its name is the file's with a part of the digest of the arrays,
        as in ``net.json.e3b0c44298fc1c14.npz``; keep the two together. The other forms know best where arrays go.

    Raises
    ------
    SerialError
        If the name has another ending, a value cannot be stored, or the file cannot be written; existing files are
        unchanged.
    GraphRewriteError
        If the graph is none that the form has, such as one with ops that ONNX lacks.

    Examples
    --------
    >>> import tempfile
    >>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("g.json", "g.npz", "g.txt"):
    ...         save(graph, Path(folder) / name)
    ...         print(load(Path(folder) / name) == graph)
    True
    True
    True
    >>> save(graph, "g.jsn")
    Traceback (most recent call last):
    graphrewrite.errors.SerialError: g.jsn: its name must end in .json, .npz, .txt, .graph, .html, .svg, .png, .dot, ...
    """
    ending = Path(path).suffix.lower()
    if arrays != "inline" and ending != ".json":
        raise SerialError(f"arrays={arrays!r} is for files that end in .json", path=Path(path).name)
    if ending == ".json":
        json_file.save(thing, path, arrays=arrays)
    elif ending == ".npz":
        archive_file.save(thing, path)
    elif ending in _TEXT:
        write_text(thing, path)
    else:  # written by what stands above this room
        whole = thing if isinstance(thing, ModuleMethods) else as_graph(thing, "that can be saved")
        whole.save(path)


def load(
    path: str | PathLike[str],
    *,
    ops: Iterable[OpOrDialect] = (),
    plugins: Iterable[str] = (),
    limit: int = LIMIT,
) -> Graph | Module:
    """Read a graph or module from a document that `save` has written, whatever its file is called.

    The file need not be trusted: nothing in it is executed, no other file than its file of arrays is read, and memory
    is bounded by the sizes of the files.

    Parameters
    ----------
    path : path
        The file.
    ops : iterable of Op and Dialect
        Ops of the graph that are not in the library.
    plugins : iterable of str
        Names of plugins whose ops are known, too; see `graphrewrite.plugin`.
    limit : int
        Maximum size of the file, and of the file of arrays, in bytes.

    Raises
    ------
    SerialError
        With the path of the error, such as ``nodes.conv_1.weight``; or if the file is no document.
    ParseError
        If it is a text that cannot be parsed.
    """
    source, ops = Path(path), (*ops, *offered(plugins, "ops"))
    ending = source.suffix.lower()
    with opened(source, limit=limit) as (stream, _):
        head = stream.read(max(map(len, (_ARCHIVE, *TEXTS))))
    is_json = head.lstrip()[:1] == b"{"  # earlier versions wrote it whatever the ending
    if head.startswith(_ARCHIVE) or (ending == ".npz" and not is_json):
        return archive_file.load(source, ops=ops, limit=limit)
    if is_json or ending == ".json":
        return json_file.load(source, ops=ops, limit=limit)
    if head.startswith(_PROGRAM):
        raise SerialError(
            "it is a program over memory, which graphrewrite.memory.parse_program reads from its text", path=source.name
        )
    if ending in _TEXT or head.startswith(TEXTS):
        return read_text(source, ops=ops, limit=limit)
    onnx = "; graphrewrite.lowering.from_onnx reads it" if ending == ".onnx" else ""
    what = f"what ends in {ending} is written only" if ending in ENDINGS and not onnx else "it is no document"
    raise SerialError(f"{what}{onnx}; documents end in .json, .npz, .txt or .graph", path=source.name)
