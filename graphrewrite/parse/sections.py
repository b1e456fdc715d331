"""Texts of one graph, of a graph and those that are nodes of it, of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, ParseError, did_you_mean
from graphrewrite.garbage import uncollected
from graphrewrite.given import ops_by_name
from graphrewrite.graph import Graph
from graphrewrite.nested import GraphOp
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.parse.building import constant_of, fill
from graphrewrite.parse.cursor import Cursor
from graphrewrite.parse.line import Header, Line, read_header, read_line
from graphrewrite.parse.nesting import inner_first

if TYPE_CHECKING:
    from graphrewrite.module import Module

__all__ = ["parse", "parse_module", "read"]

_NEW_LINE = re.compile(r"\r\n|\r|\n")


@dataclass
class _Section:
    """A header and the lines below it."""

    header: Header
    lines: list[Line] = field(default_factory=list)


def parse(text: str, *, ops: Iterable[Op] = ()) -> Graph:
    r"""Return the graph that a text form writes.

    Parameters
    ----------
    text : str
        What `to_text` gives; what follows a ``#`` is a comment.
    ops : iterable of Op
        Ops beside the library's.

    Returns
    -------
    Graph

    Raises
    ------
    ParseError
        With line, column, and what was expected there.

    Examples
    --------
    >>> print(parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    graph g
    x = input() : f32[N]
    r = relu(x) : f32[N]
    y = output(r)
    """
    found = read(text, ops=ops)
    if isinstance(found, Graph):
        return found
    raise ParseError("line 1, column 1: expected 'graph …', and this is a module; read it with Module.parse")


def parse_module(text: str, *, ops: Iterable[Op] = ()) -> Module:
    r"""Return the module that a text form writes.

    Parameters
    ----------
    text : str
        What `to_text` gives.
    ops : iterable of Op
        Ops beside the library's.

    Returns
    -------
    Module

    Raises
    ------
    ParseError
        With line, column, and what was expected there.

    Examples
    --------
    >>> module = parse_module("module net\n\ngraph main\nx = input() : f32[N]\ny = output(x)")
    >>> module["main"].inputs
    ('x',)
    """
    found = read(text, ops=ops)
    if isinstance(found, Graph):
        raise ParseError("line 1, column 1: expected 'module …', and this is a graph; read it with Graph.parse")
    return found


@uncollected()
def read(text: str, *, ops: Iterable[Op] = (), arrays: Mapping[str, np.ndarray] | None = None) -> Graph | Module:
    r"""Return what a text form writes: a graph, or a module where its first line says so.

    Parameters
    ----------
    text : str
        What `to_text` gives.
    ops : iterable of Op
        Ops beside the library's.
    arrays : mapping of str to ndarray, optional
        What ``@'name'`` stands for.

    Returns
    -------
    Graph or Module

    Raises
    ------
    ParseError
        With line, column, and what was expected there.

    Examples
    --------
    >>> c = read("graph g\nc = constant(value=@'w') : f32[2]", arrays={"w": np.float32([1, 2])})
    >>> c.nodes["c"]["value"]
    array([1., 2.], dtype=float32)
    """
    if not isinstance(text, str):
        raise ParseError(f"line 1, column 1: expected a text, got {type(text).__name__}")
    known = ops_by_name(ops)
    sections = _sections(text, arrays or {})
    if sections[0].header.word == "module":
        return _module(sections, known)
    return _graph(sections, known)


def _sections(text: str, arrays: Mapping[str, np.ndarray]) -> list[_Section]:
    found: list[_Section] = []
    for number, source in enumerate(_NEW_LINE.split(text), start=1):
        cursor = Cursor(source, number, arrays)
        if cursor.is_at_end:
            continue
        header = read_header(cursor)
        if header is not None:
            if header.word == "module" and found:
                cursor.fail("a text is one module, and this is not its first line", at=0)
            found.append(_Section(header))
            continue
        cursor.at = 0
        cursor.skip()
        if not found:
            found.append(_Section(Header(Cursor("graph", number), "graph")))
        found[-1].lines.append(read_line(cursor))
    return found or [_Section(Header(Cursor("graph", 1), "graph"))]


def _by_name(sections: Iterable[_Section]) -> dict[str, _Section]:
    found: dict[str, _Section] = {}
    for section in sections:
        name = section.header.name
        if not name:
            section.header.cursor.fail("a graph of several needs a name, as in 'graph block'", at=0)
        if name in found:
            section.header.cursor.fail(f"there is a graph {name!r} already; choose another name", at=0)
        found[name] = section
    return found


def _used(section: _Section, known: Mapping[str, Any], *, raw: bool = False) -> list[str]:
    """Names of the graphs that are nodes of a graph; those of nodes that are taken as they are written, if asked."""
    kinds = {line.kind for line in section.lines if line.kind is not None and (raw or not line.is_raw)}
    return sorted(kind for kind in kinds if kind in known and kind not in LIBRARY)


def _inner_first(roots: Iterable[str], known: Mapping[str, _Section], *, raw: bool = False) -> list[str]:
    """Names of graphs, those that are nodes of one before it."""
    return inner_first(
        roots,
        lambda name: _used(known[name], known, raw=raw),
        lambda name, message: known[name].header.cursor.fail(message, at=0),
    )


def _graph(sections: list[_Section], ops: Mapping[str, Op]) -> Graph:
    """A graph, and below it those that are nodes of it."""
    first, *rest = sections
    inner = _by_name(rest)
    library: dict[str, Graph] = {}
    # A graph stands below only if it is a node, be it one that is not as its op makes it.
    for name in _inner_first(_used(first, inner, raw=True), inner, raw=True):
        _build(library.setdefault(name, Graph()), name, inner[name], _with_graphs(ops, library, library))
    for name, section in inner.items():
        if name not in library:
            what = "start the text with a line 'module …' if it is one of several"
            section.header.cursor.fail(f"the graph {name!r} is no node of {first.header.name!r}; {what}", at=0)
    found = Graph()
    _build(found, None, first, _with_graphs(ops, library, library))
    return found


def _with_graphs(ops: Mapping[str, Op], names: Iterable[str], library: Mapping[str, Graph]) -> dict[str, Op]:
    return {**ops, **{name: GraphOp(name, library) for name in names if name not in LIBRARY}}


def _build(
    graph: Graph,
    name: str | None,
    section: _Section,
    ops: Mapping[str, Op],
    shared: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Fill a graph; one in a library is called as there, unless its attributes say another name."""
    header = section.header
    graph.graph.clear()
    if header.name is not None:
        graph.graph["name"] = header.name
    graph.graph.update(header.attributes)
    if name is not None and "name" in header.attributes and header.attributes["name"] is None:
        del graph.graph["name"]
    for line in section.lines:
        line.places.setdefault("kind", 0)
    fill(graph, section.lines, ops, shared)


def _module(sections: list[_Section], ops: Mapping[str, Op]) -> Module:
    from graphrewrite.module import Module  # built on graphs, which are read here

    first, *rest = sections
    inner = _by_name(rest)
    attributes = dict(first.header.attributes)
    module = Module()
    module.name = attributes.pop("name", first.header.name or "")
    if not isinstance(module.name, str):
        first.header.cursor.fail("expected a quoted name", at=0)
    module.attributes.update(attributes)
    for line in first.lines:
        _share(module, line)
    for name, section in inner.items():
        try:
            module.graph(name)
        except GraphRewriteError as error:
            section.header.cursor.fail(str(error), at=0, cause=error)
    for name in _inner_first(inner, inner):
        graphs = {kind: module.op(kind) for kind in _used(inner[name], inner)}
        _build(module[name], name, inner[name], {**ops, **graphs}, module.constants)
    return module


def _share(module: Module, line: Line) -> None:
    """Add a constant or placeholder to a module."""
    at = line.places["kind"]
    if line.kind not in ("constant", "placeholder") or line.is_raw or line.operands or line.controls or line.others:
        hint = did_you_mean(str(line.kind), ["constant", "placeholder"])
        line.cursor.fail(f"expected a constant or placeholder of the module, or a line 'graph …'{hint}", at=at)
    try:
        if line.kind == "constant":
            data = constant_of(line, {})
            module.constant(line.name, data["value"], data["result"])
        elif line.types is None or len(line.types) != 1:
            line.cursor.fail("a placeholder needs a type, as in 'x = placeholder() : f32[N]'", at=at)
        else:
            module.placeholder(line.name, line.types[0])
    except ParseError:
        raise
    except GraphRewriteError as error:
        line.cursor.fail(str(error), at=at, cause=error)
