"""Graphs and modules in JSON files, with arrays inline or in a separate `.npz`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import networkx as nx

from graphrewrite.errors import SerialError
from graphrewrite.formats.archive import Collected, arrays_beside, write_archive
from graphrewrite.formats.files import LIMIT, contents, opened, replaced, utf8
from graphrewrite.formats.json.decode import Decoder, Refused, check_keys, mapping, text
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json.inline_arrays import with_arrays, without_arrays
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.graph import Graph
from graphrewrite.op.given_ops import OpOrDialect
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.runtime.plugins import offered

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["load", "save"]

_DIGITS = 4000
"""Longer integers are written in base 16."""
_LISTED = frozenset({"nodes", "edges", "ops", "constants", "placeholders"})
"""Entries that are written with one member per line."""


def save(thing: nx.DiGraph | Module, path: str | PathLike[str], *, arrays: Literal["inline", "npz"] = "inline") -> None:
    r"""Write a graph or module to a JSON file.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        Any graph.
    path : path
        The JSON file. After an interruption, a kill, a full disk or a power failure, the old graph can be read from it,
        or the new one.
    arrays : {"inline", "npz"}
        Whether arrays are stored in the JSON, a third larger than they are, or in an ``.npz`` beside it, which is
        faster, and mapped to memory when it is loaded: the choice for large models. Its name is the file's with a part
        of the digest of the arrays, as in ``net.json.e3b0c44298fc1c14.npz``; keep the two together.

    Raises
    ------
    SerialError
        If a value cannot be stored or the file cannot be written; existing files are unchanged.

    Examples
    --------
    >>> import tempfile
    >>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(graph, Path(folder) / "g.json")
    ...     load(Path(folder) / "g.json") == graph
    True
    """
    if arrays not in ("inline", "npz"):
        raise SerialError(f"arrays must be 'inline' or 'npz', got {arrays!r}")
    collected = Collected()
    data = to_dict(thing, put=collected.put)

    def write(stream: BinaryIO, digest: str) -> None:
        document = _laid_out({**data, "arrays": {"sha256": digest}} if digest else data)
        stream.writelines([document.encode("ascii")] if digest else with_arrays(document, collected.arrays))
        stream.write(b"\n")

    replaced(Path(path), write, partial(write_archive, arrays=collected.arrays) if arrays == "npz" else None)


def _laid_out(data: dict[str, Any], indent: str = " ") -> str:
    """Return the JSON of a graph or module, one node per line."""
    lines = []
    for key, value in data.items():
        if key in ("graphs", "bodies"):
            inside = [f"{indent} {_compact(k)}: {_laid_out(each, indent + '  ')}" for k, each in value.items()]
        elif key in _LISTED:
            inside = [f"{indent} {_compact(k)}: {_compact(each)}" for k, each in value.items()]
        else:
            lines.append(f"{indent}{_compact(key)}: {_compact(value)}")
            continue
        lines.append(f"{indent}{_compact(key)}: {{\n" + ",\n".join(inside) + f"\n{indent}}}")
    return "{\n" + ",\n".join(lines) + f"\n{indent[:-1]}}}"


_compact = json.JSONEncoder(allow_nan=False).encode


@gc_paused()
def load(
    path: str | PathLike[str],
    *,
    ops: Iterable[OpOrDialect] = (),
    plugins: Iterable[str] = (),
    limit: int = LIMIT,
) -> Graph | Module:
    """Read a graph or module from a file that `save` has written.

    The file need not be trusted: nothing in it is executed, no other file than its file of arrays is read, and memory
    is bounded by the sizes of the files.

    Parameters
    ----------
    path : path
        The JSON file.
    ops : iterable of Op and Dialect
        Ops of the graph that are not in the library.
    plugins : iterable of str
        Names of plugins whose ops are known, too; see `graphrewrite.plugin`.
    limit : int
        Maximum size of the file, and of the file of arrays, in bytes.

    Raises
    ------
    SerialError
        With the path of the error, such as ``nodes.conv_1.weight``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "g.json").write_text("{")
    ...     load(Path(folder) / "g.json")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: g.json: line 1, column 2: expected JSON: ...
    """
    source, ops = Path(path), (*ops, *offered(plugins, "ops"))
    with opened(source, limit=limit) as (stream, size):
        document = contents(stream, size)
    kept, pieces = without_arrays(document)
    try:
        data = mapping(_parsed(utf8(kept, source), source.name), JsonPath())
    except SerialError:
        if pieces:  # lines and columns are those of the whole document
            _parsed(utf8(document[:], source), source.name)
        raise
    if "arrays" not in data:
        return from_dict(data, ops=ops, decoder=Decoder(pieces=pieces))
    where = JsonPath() / "arrays"
    arrays = mapping(data.pop("arrays"), where)
    check_keys(arrays, ("sha256",), where)
    digest = text(arrays.get("sha256"), where / "sha256")
    with arrays_beside(source, digest, where, limit=limit) as archive:
        return from_dict(data, ops=ops, decoder=Decoder(archive.get, pieces))


def _parsed(document: str, name: str) -> Any:
    try:
        try:
            return json.loads(document, object_pairs_hook=_object, parse_constant=_constant)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer is too long for Python: parse again, slower, to locate it
            return json.loads(document, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise SerialError(
            f"line {error.lineno}, column {error.colno}: expected JSON: {error.msg}", path=name
        ) from error
    except RecursionError as error:
        raise SerialError("nests too deep", path=name) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    merged = dict(pairs)
    if len(merged) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                merged[key] = Refused("this key is duplicated in its object")
            seen.add(key)
    return merged


def _constant(word: str) -> Refused:
    return Refused(f"{word} is not valid JSON; write it as {{'$float': …}}")


def _integer(word: str) -> int | Refused:
    return int(word) if len(word) <= _DIGITS else Refused("the integer is too long; write it as {'$int': '0x…'}")
