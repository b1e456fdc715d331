"""Parsing of the text form of a graph, with nested graphs, or of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import networkx as nx
import numpy as np

from graphrewrite.errors import ParseError, did_you_mean
from graphrewrite.formats.stored_ops import upgraded
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.graph_builder import constant_of, fill
from graphrewrite.formats.text.line_parser import Header, NodeLine, read_header, read_line
from graphrewrite.formats.text.literal_parser import BodyName
from graphrewrite.formats.text.nesting import inner_first
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import LIBRARY
from graphrewrite.op.dialect import Dialect
from graphrewrite.op.given_ops import GivenOps, OpOrDialect
from graphrewrite.op.op import Op
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.types import OwnType

__all__ = ["parse", "parse_module", "read"]

_NEW_LINE = re.compile(r"\r\n|\r|\n")


@dataclass
class _Section:
    """A header and its lines."""

    header: Header
    lines: list[NodeLine] = field(default_factory=list)


def parse(text: str, *, ops: Iterable[OpOrDialect] = ()) -> Graph:
    r"""Parse the text form of a graph.

    Parameters
    ----------
    text : str
        A text that `to_text` has printed; ``#`` starts a comment.
    ops : iterable of Op and Dialect
        Ops that are not in the library.

    Raises
    ------
    ParseError
        With line, column and the expected syntax.

    Examples
    --------
    >>> print(parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    graph g
    x = input() : f32[N]
    r = relu(x) : f32[N]
    y = output(r)
    """
    graph = read(text, ops=ops)
    if isinstance(graph, Graph):
        return graph
    raise ParseError("line 1, column 1: expected 'graph …', got a module; read it with Module.parse")


def parse_module(text: str, *, ops: Iterable[OpOrDialect] = ()) -> Module:
    r"""Parse the text form of a module.

    Parameters
    ----------
    text : str
        A text that `to_text` has printed.
    ops : iterable of Op and Dialect
        Ops that are not in the library.

    Raises
    ------
    ParseError
        With line, column and the expected syntax.

    Examples
    --------
    >>> module = parse_module("module net\n\ngraph main\nx = input() : f32[N]\ny = output(x)")
    >>> module["main"].inputs
    ('x',)
    """
    module = read(text, ops=ops)
    if isinstance(module, Graph):
        raise ParseError("line 1, column 1: expected 'module …', got a graph; read it with Graph.parse")
    return module


@gc_paused()
def read(
    text: str,
    *,
    ops: Iterable[OpOrDialect] = (),
    arrays: Mapping[str, np.ndarray] | None = None,
    versions: Mapping[str, int] | None = None,
) -> Graph | Module:
    r"""Parse a graph, or a module if the text starts with ``module``; `arrays` holds the arrays of ``@'name'``.

    `versions` are those of the dialects with which the text was written, where they are known.

    Examples
    --------
    >>> c = read("graph g\nc = constant(value=@'w') : f32[2]", arrays={"w": np.float32([1, 2])})
    >>> c.nodes["c"]["value"]
    array([1., 2.], dtype=float32)
    """
    if not isinstance(text, str):
        raise ParseError(f"line 1, column 1: expected a text, got {type(text).__name__}")
    given = GivenOps.of(ops)
    sections = _sections(text, arrays or {}, given.types)
    _upgrade(sections, given.dialects, versions or {})
    if sections[0].header.word == "module":
        return _module(sections, given.ops)
    return _graph(sections, given.ops)


def _upgrade(sections: Iterable[_Section], dialects: Mapping[str, Dialect], versions: Mapping[str, int]) -> None:
    """Convert lines of ops that were written with an earlier version of their dialect."""
    old = {name: number for name, number in versions.items() if name in dialects and dialects[name].version != number}
    for line in (line for section in sections for line in section.lines if old):
        name, dot, _ = str(line.kind).partition(".")
        if dot and name in old:
            with line.cursor.reporting(line.columns["kind"]):
                data = upgraded({"type": line.kind, **line.attributes}, dialects[name], old[name])
            line.kind, line.attributes = data.pop("type"), data


def _sections(text: str, arrays: Mapping[str, np.ndarray], types: Mapping[str, type[OwnType]]) -> list[_Section]:
    sections: list[_Section] = []
    for number, source in enumerate(_NEW_LINE.split(text), start=1):
        cursor = Cursor(source, number, arrays, types)
        if cursor.is_at_end:
            continue
        header = read_header(cursor)
        if header is not None:
            if header.word == "module" and sections:
                cursor.fail("'module' is allowed in the first line only: a text is one module", at=0)
            sections.append(_Section(header))
            continue
        cursor.at = 0
        cursor.skip()
        if not sections:
            sections.append(_Section(Header(Cursor("graph", number), "graph")))
        sections[-1].lines.append(read_line(cursor))
    return sections or [_Section(Header(Cursor("graph", 1), "graph"))]


def _by_name(sections: Iterable[_Section]) -> dict[str, _Section]:
    by_name: dict[str, _Section] = {}
    for section in sections:
        name = section.header.name
        if not name:
            section.header.cursor.fail("one of several graphs needs a name, as in 'graph block'", at=0)
        if name in by_name:
            section.header.cursor.fail(f"another graph has the name {name!r}; rename one of them", at=0)
        by_name[name] = section
    return by_name


def _used(section: _Section, sections: Mapping[str, _Section], *, raw: bool = False) -> list[str]:
    """Return the names of the graphs that nodes of a section are; `raw` includes raw nodes."""
    kinds = {line.kind for line in section.lines if line.kind is not None and (raw or not line.is_raw)}
    return sorted(k for k in kinds if k in sections and k not in LIBRARY and sections[k].header.word == "graph")


def _held(section: _Section, sections: Mapping[str, _Section]) -> list[str]:
    """Return the names of the bodies that nodes of a section have as attributes."""
    held = dict[str, None]()
    for line in section.lines:
        for key, name in (*line.attributes.items(), *line.annotations.items()):
            if not isinstance(name, BodyName):
                continue
            if name not in sections or sections[name].header.word != "body":
                bodies = [other for other, each in sections.items() if each.header.word == "body"]
                line.cursor.fail(
                    f"there is no body {name!r}{did_you_mean(name, bodies)}", at=line.columns.get(("attribute", key))
                )
            held[str(name)] = None
    return list(held)


def _inner_first(roots: Iterable[str], sections: Mapping[str, _Section], *, raw: bool = False) -> list[str]:
    """Return the names of graphs, nested ones first."""
    return inner_first(
        roots,
        lambda name: [*_used(sections[name], sections, raw=raw), *_held(sections[name], sections)],
        lambda name, message: sections[name].header.cursor.fail(message, at=0),
    )


def _graph(sections: list[_Section], ops: Mapping[str, Op]) -> Graph:
    """Return a graph with its nested graphs, whose sections follow."""
    first, *rest = sections
    if first.header.word == "body":
        first.header.cursor.fail("a body comes after the graph that holds it; write 'graph …'", at=0)
    inner = _by_name(rest)
    library: dict[str, Graph] = {}
    bodies: dict[str, Graph] = {}
    # Every further section must be a nested graph, perhaps of a raw node.
    for name in _inner_first([*_used(first, inner, raw=True), *_held(first, inner)], inner, raw=True):
        own = (library if inner[name].header.word == "graph" else bodies).setdefault(name, Graph())
        _build(own, name, inner[name], _with_graphs(ops, library, library), bodies)
    for name, section in inner.items():
        if name not in library and name not in bodies:
            hint = "start the text with a line 'module …' if it contains several graphs"
            section.header.cursor.fail(f"the graph {name!r} is not nested in {first.header.name!r}; {hint}", at=0)
    graph = Graph()
    _build(graph, None, first, _with_graphs(ops, library, library), bodies)
    return graph


def _with_graphs(ops: Mapping[str, Op], names: Iterable[str], library: Mapping[str, Graph]) -> dict[str, Op]:
    return {**ops, **{name: GraphOp(name, library) for name in names if name not in LIBRARY}}


def _build(
    graph: Graph,
    name: str | None,
    section: _Section,
    ops: Mapping[str, Op],
    bodies: Mapping[str, Graph],
    shared: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Fill a graph; its name is that in the library, unless an attribute sets another one."""
    header = section.header
    graph.graph.clear()
    if header.name is not None:
        graph.graph["name"] = header.name
    graph.graph.update(header.attributes)
    if name is not None and "name" in header.attributes and header.attributes["name"] is None:
        del graph.graph["name"]
    for line in section.lines:
        line.columns.setdefault("kind", 0)
        for written in (line.attributes, line.annotations):
            written.update({key: bodies[name] for key, name in written.items() if isinstance(name, BodyName)})
    fill(graph, section.lines, ops, shared)
    if header.word == "body":
        nx.freeze(graph)


def _module(sections: list[_Section], ops: Mapping[str, Op]) -> Module:
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
    bodies: dict[str, Graph] = {}
    for name, section in inner.items():
        with section.header.cursor.reporting(at=0):
            if section.header.word == "graph":
                module.add_graph(name)
    for name in _inner_first(inner, inner):
        graphs = {kind: module.op(kind) for kind in _used(inner[name], inner)}
        own = module[name] if inner[name].header.word == "graph" else bodies.setdefault(name, Graph())
        _build(own, name, inner[name], {**ops, **graphs}, bodies, module.constants)
    return module


def _share(module: Module, line: NodeLine) -> None:
    """Add a constant or placeholder to a module."""
    at = line.columns["kind"]
    others = (line.is_raw, line.operands, line.controls, line.others, line.annotations)
    if line.kind not in ("constant", "placeholder") or any(others):
        hint = did_you_mean(str(line.kind), ["constant", "placeholder"])
        line.cursor.fail(f"expected a constant or placeholder of the module, or a line 'graph …'{hint}", at=at)
    with line.cursor.reporting(at):
        if line.kind == "constant":
            data = constant_of(line, {})
            module.constant(line.name, data["value"], data["result"])
        elif line.types is None or len(line.types) != 1:
            line.cursor.fail("a placeholder needs a type, as in 'x = placeholder() : f32[N]'", at=at)
        else:
            module.placeholder(line.name, line.types[0])
