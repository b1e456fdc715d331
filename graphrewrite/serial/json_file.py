"""Graphs and modules in JSON files, arrays inline or in an `.npz` beside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from graphrewrite.errors import SerialError
from graphrewrite.garbage import uncollected
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.serial.archive import Archive, Collected, archive_of
from graphrewrite.serial.decode import Decoder, Refused, check_keys, mapping, text
from graphrewrite.serial.decode_graph import from_dict
from graphrewrite.serial.encode_graph import to_dict
from graphrewrite.serial.files import LIMIT, beside, digest_of, opened, replaced
from graphrewrite.serial.place import Place

if TYPE_CHECKING:
    from graphrewrite.module import Module

__all__ = ["load", "save"]

_DIGITS = 4000
"""Longer integers are written another way."""
_LISTED = frozenset({"nodes", "edges", "ops", "constants", "placeholders"})
"""What has one member a line."""


def save(thing: nx.DiGraph | Module, path: str | PathLike[str], *, arrays: Literal["inline", "npz"] = "inline") -> None:
    r"""Write a graph or module to a JSON file.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        Any graph.
    path : path
        Where to. What is there is replaced at once, when all is written.
    arrays : {"inline", "npz"}
        Whether arrays stand in the JSON, or in a file beside it whose name is that of the JSON with ``.npz`` behind it.

    Raises
    ------
    SerialError
        If something cannot be stored, or the file not be written; what was there is there still.

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
        raise SerialError(f"arrays are stored 'inline' or as 'npz', not {arrays!r}")
    collected = Collected()
    data = to_dict(thing, put=collected.put)
    archive = archive_of(collected.arrays)
    data["arrays"] = {"sha256": hashlib.sha256(archive).hexdigest()}
    replaced({beside(target): archive, target: _written(data)})


def _written(data: dict[str, Any]) -> bytes:
    return f"{_laid_out(data)}\n".encode("ascii")


def _laid_out(data: dict[str, Any], indent: str = " ") -> str:
    """The JSON of a graph or module: one node a line."""
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


@uncollected()
def load(path: str | PathLike[str], *, ops: Iterable[Op] = (), limit: int = LIMIT) -> Graph | Module:
    """Read a graph or module from a file that `save` has written.

    The file may come from anywhere: nothing in it is executed, no other file is read than the one of arrays beside it,
    and what it declares is not larger than what it is made of.

    Parameters
    ----------
    path : path
        The JSON file.
    ops : iterable of Op
        Ops beside the library's, where the graph has nodes of them.
    limit : int
        Bytes that the file, and the file of arrays, may have.

    Returns
    -------
    Graph or Module

    Raises
    ------
    SerialError
        With the path of the place where something is wrong, such as ``nodes.conv_1.weight``.

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
    with opened(source, limit=limit) as (stream, _):
        document = stream.read()
    data = mapping(_parsed(document, source.name), Place())
    if "arrays" not in data:
        return from_dict(data, ops=ops)
    place = Place() / "arrays"
    beside_it = mapping(data.pop("arrays"), place)
    check_keys(beside_it, ("sha256",), place)
    wanted = text(beside_it.get("sha256"), place / "sha256")
    with opened(beside(source), limit=limit, follow=False) as (stream, size):
        if digest_of(stream) != wanted:
            place.fail(f"{beside(source).name} is not the file that was saved with {source.name}")
        return from_dict(data, ops=ops, decoder=Decoder(Archive(stream, size, place).get))


def _parsed(document: bytes, name: str) -> Any:
    try:
        decoded = document.decode("utf-8")
        try:
            return json.loads(decoded, object_pairs_hook=_object, parse_constant=_constant)
        except json.JSONDecodeError:
            raise
        except ValueError:  # Python refuses very long integers: again, slower, to find where it is
            return json.loads(decoded, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise SerialError(
            f"line {error.lineno}, column {error.colno}: expected JSON: {error.msg}", path=name
        ) from error
    except UnicodeDecodeError as error:
        raise SerialError(f"expected text in UTF-8, and byte {error.start} is none", path=name) from error
    except RecursionError as error:
        raise SerialError("nests too deep", path=name) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found[key] = Refused("this key stands twice in its object")
            seen.add(key)
    return found


def _constant(word: str) -> Refused:
    return Refused(f"{word} is no JSON; it is written as {{'$float': …}}")


def _integer(word: str) -> int | Refused:
    return int(word) if len(word) <= _DIGITS else Refused("the integer is too long; it is written as {'$int': '0x…'}")
