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

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["laid_out", "load", "parsed", "save"]

_DIGITS = 4000
"""Longer integers are written in base 16."""
_LISTED = frozenset({"nodes", "edges", "ops", "constants", "placeholders"})
"""Entries that are written with one member per line."""


def save(thing: nx.DiGraph | Module, path: str | PathLike[str], *, arrays: Literal["inline", "npz"] = "inline") -> None:
    """Write a graph or module to a JSON file, as `graphrewrite.formats.save` does where its name ends in .json."""
    if arrays not in ("inline", "npz"):
        raise SerialError(f"arrays must be 'inline' or 'npz', got {arrays!r}")
    collected = Collected()
    data = to_dict(thing, put=collected.put)

    def write(stream: BinaryIO, digest: str) -> None:
        document = laid_out({**data, "arrays": {"sha256": digest}} if digest else data)
        stream.writelines([document.encode("ascii")] if digest else with_arrays(document, collected.arrays))
        stream.write(b"\n")

    replaced(Path(path), write, partial(write_archive, arrays=collected.arrays) if arrays == "npz" else None)


def laid_out(data: dict[str, Any], indent: str = " ") -> str:
    """Return the JSON of a graph or module, one node per line."""
    lines = []
    for key, value in data.items():
        if key in ("graphs", "bodies"):
            inside = [f"{indent} {_compact(k)}: {laid_out(each, indent + '  ')}" for k, each in value.items()]
        elif key in _LISTED:
            inside = [f"{indent} {_compact(k)}: {_compact(each)}" for k, each in value.items()]
        else:
            lines.append(f"{indent}{_compact(key)}: {_compact(value)}")
            continue
        lines.append(f"{indent}{_compact(key)}: {{\n" + ",\n".join(inside) + f"\n{indent}}}")
    return "{\n" + ",\n".join(lines) + f"\n{indent[:-1]}}}"


_compact = json.JSONEncoder(allow_nan=False).encode


@gc_paused()
def load(path: str | PathLike[str], *, ops: Iterable[OpOrDialect] = (), limit: int = LIMIT) -> Graph | Module:
    """Read a graph or module from a JSON file, and its file of arrays."""
    source = Path(path)
    with opened(source, limit=limit) as (stream, size):
        document = contents(stream, size)
    kept, pieces = without_arrays(document)
    try:
        data = parsed(kept, source)
    except SerialError:
        if pieces:  # lines and columns are those of the whole document
            parsed(document[:], source)
        raise
    if "arrays" not in data:
        return from_dict(data, ops=ops, decoder=Decoder(pieces=pieces))
    where = JsonPath() / "arrays"
    arrays = mapping(data.pop("arrays"), where)
    check_keys(arrays, ("sha256",), where)
    digest = text(arrays.get("sha256"), where / "sha256")
    with arrays_beside(source, digest, where, limit=limit) as archive:
        return from_dict(data, ops=ops, decoder=Decoder(archive.get, pieces))


def parsed(document: bytes, source: Path) -> dict[str, Any]:
    """Return the data of a document."""
    return mapping(_parsed(utf8(document, source), source.name), JsonPath())


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
