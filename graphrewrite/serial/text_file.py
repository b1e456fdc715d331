"""The text form in a file, large arrays in an `.npz` beside."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from graphrewrite.errors import SerialError
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.parse import read
from graphrewrite.serial.archive import Archive, Collected, archive_of
from graphrewrite.serial.files import LIMIT, beside, digest_of, opened, replaced
from graphrewrite.serial.place import Place
from graphrewrite.text.array import LARGE, whole_array
from graphrewrite.text.literal import Form
from graphrewrite.text.printed import text_in

if TYPE_CHECKING:
    from graphrewrite.module import Module

__all__ = ["read_text", "write_text"]

_ARRAYS = re.compile(r"# arrays: sha256 ([0-9a-f]{64})\Z")


def write_text(thing: nx.DiGraph | Module, path: str | PathLike[str]) -> None:
    r"""Write the text form of a graph or module to a file, and large arrays to one beside it.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        Any graph.
    path : path
        Where to; the arrays go to the file of this name with ``.npz`` behind it. What is there is replaced at once,
        when all is written.

    Raises
    ------
    GraphError
        If something has no text that could be read again.
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

    written = text_in(thing, Form(put, strict=True)) + "\n"
    if not collected.arrays:
        replaced({target: written.encode()})
        return
    archive = archive_of(collected.arrays)
    digest = hashlib.sha256(archive).hexdigest()
    replaced({beside(target): archive, target: f"# arrays: sha256 {digest}\n{written}".encode()})


def read_text(path: str | PathLike[str], *, ops: Iterable[Op] = (), limit: int = LIMIT) -> Graph | Module:
    """Read a graph or module from a file that `write_text` has written; see there.

    Parameters
    ----------
    path : path
        The text file. It may come from anywhere: no other file is read than the one of arrays beside it.
    ops : iterable of Op
        Ops beside the library's.
    limit : int
        Bytes that each of both files may have.

    Returns
    -------
    Graph or Module

    Raises
    ------
    ParseError
        With line, column, and what was expected there.
    SerialError
        If a file cannot be read, or the file of arrays is not the one that was written with the text.
    """
    source = Path(path)
    with opened(source, limit=limit) as (stream, _):
        data = stream.read()
    try:
        written = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SerialError(f"expected text in UTF-8, and byte {error.start} is none", path=source.name) from error
    wanted = _ARRAYS.match(written.partition("\n")[0].rstrip("\r"))
    if wanted is None:
        return read(written, ops=ops)
    place = Place() / beside(source).name
    with opened(beside(source), limit=limit, follow=False) as (stream, size):
        if digest_of(stream) != wanted[1]:
            place.fail(f"this is not the file that was written with {source.name}")
        archive = Archive(stream, size, place)
        return read(written, ops=ops, arrays={name: archive.get(name, place) for name in archive.names})
