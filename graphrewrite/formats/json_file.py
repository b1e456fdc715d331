"""Graphs and modules in JSON files, with arrays inline or in a separate `.npz`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from graphrewrite.errors import SerialError
from graphrewrite.formats.archive import Collected, archive_of, arrays_beside
from graphrewrite.formats.files import LIMIT, beside, read_utf8, replaced
from graphrewrite.formats.json.decode import Decoder, Refused, check_keys, mapping, text
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.runtime.gc_pause import gc_paused

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
        The JSON file; an existing file is replaced atomically.
    arrays : {"inline", "npz"}
        Whether arrays are stored in the JSON, or in a separate file, named as the JSON with ``.npz`` appended.

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
    target = Path(path)
    if arrays == "inline":
        replaced({target: _written(to_dict(thing))})
        return
    if arrays != "npz":
        raise SerialError(f"arrays must be 'inline' or 'npz', got {arrays!r}")
    collected = Collected()
    data = to_dict(thing, put=collected.put)
    archive = archive_of(collected.arrays)
    data["arrays"] = {"sha256": hashlib.sha256(archive).hexdigest()}
    replaced({beside(target): archive, target: _written(data)})


def _written(data: dict[str, Any]) -> bytes:
    return f"{_laid_out(data)}\n".encode("ascii")


def _laid_out(data: dict[str, Any], indent: str = " ") -> str:
    """Return the JSON of a graph or module, one node per line."""
    lines = []
    for key, value in data.items():
        if key == "graphs":
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
def load(path: str | PathLike[str], *, ops: Iterable[Op] = (), limit: int = LIMIT) -> Graph | Module:
    """Read a graph or module from a file that `save` has written.

    The file need not be trusted: nothing in it is executed, no other file than its file of arrays is read, and memory
    is bounded by the sizes of the files.

    Parameters
    ----------
    path : path
        The JSON file.
    ops : iterable of Op
        Ops of the graph that are not in the library.
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
    source = Path(path)
    data = mapping(_parsed(read_utf8(source, limit=limit), source.name), JsonPath())
    if "arrays" not in data:
        return from_dict(data, ops=ops)
    where = JsonPath() / "arrays"
    arrays = mapping(data.pop("arrays"), where)
    check_keys(arrays, ("sha256",), where)
    digest = text(arrays.get("sha256"), where / "sha256")
    with arrays_beside(source, digest, where, limit=limit) as archive:
        return from_dict(data, ops=ops, decoder=Decoder(archive.get))


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
