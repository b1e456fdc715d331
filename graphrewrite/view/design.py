"""A hardware design as a page: its instances and what they come from, its ports, its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Any

from graphrewrite.hdl.emission.design import Design
from graphrewrite.view.display import Display
from graphrewrite.view.plain import plain, shortened
from graphrewrite.view.table import Table

__all__ = ["DesignPage", "Layer", "Part", "Section", "SourceFile", "show_design"]

_LONG, _ALL = 60_000, 300_000
"""Letters of one file, and of all files, that are shown; a longer file is shown without its middle."""
_COSTS = ("multipliers", "adders", "registers", "memory_bits")
_MOST_GENERIC = 200
"""Letters of the value of a generic that are shown."""


@dataclass(frozen=True)
class Part:
    """An instance.

    Attributes
    ----------
    name, entity : str
        The instance, and the component that it is of.
    anchor, code, source : str
        Where its row is, its place in the top level, and the file of the component; empty where that is not shown.
    node : str
        Its node in the stream graph.
    origin : tuple of str
        The nodes of the model that it comes from.
    streams : str
        What it takes and gives.
    generics : tuple of (str, str)
        Names and values.
    latency, steps, occupation : str
        Cycles from a step to its result, steps a frame, and how much of its time it has something to do.
    costs : tuple of int
        Multipliers, adders, bits of registers and of memories.
    """

    name: str
    entity: str
    anchor: str
    code: str
    source: str
    node: str
    origin: tuple[str, ...]
    streams: str
    generics: tuple[tuple[str, str], ...]
    latency: str
    steps: str
    occupation: str
    costs: tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """A node of the model, and the instances that come from it: names and anchors."""

    name: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Section:
    """A piece of a file: its code, its own anchor, and the instance whose it is, with the anchor of that row."""

    code: str
    anchor: str = ""
    instance: str = ""
    back: str = ""


@dataclass(frozen=True)
class SourceFile:
    """A VHDL file: path, anchor, lines, what it is shown of, and the instances that use it, with their anchors."""

    path: str
    anchor: str
    lines: int
    sections: tuple[Section, ...]
    users: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DesignPage:
    """Data of the display of a design.

    Attributes
    ----------
    name : str
        Of the top entity.
    told : str
        Latency, interval and how much there is.
    ports : Table
    parts : tuple of Part
    totals : tuple of int
        The costs of all parts.
    layers : tuple of Layer
    files : tuple of SourceFile
    others : Table
        Files that are no VHDL.
    """

    name: str
    told: str
    ports: Table
    parts: tuple[Part, ...]
    totals: tuple[int, ...]
    layers: tuple[Layer, ...]
    files: tuple[SourceFile, ...]
    others: Table


def show_project(design: Design) -> Display:
    """Return the page of a design: instances, what they come from, what they cost, and the VHDL."""
    return show_design(design.name, design.files, design.description)


def show_design(name: str, files: Mapping[str, str], description: Mapping[str, Any]) -> Display:
    """Return a page of a design.

    Examples
    --------
    >>> shown = show_design("top", {"top.vhd": "entity top is", "vectors/x.txt": "00"}, {"interval": 4})
    >>> shown
    top: interval 4 cycles, 0 instances
    files: top.vhd, vectors/x.txt
    >>> shown.data.files[0].sections[0].code
    'entity top is'
    """
    digest = sha256("\0".join([name, *files, *files.values()]).encode("utf-8", "surrogatepass")).hexdigest()
    place = f"gr-{digest[:10]}"
    components = list(description.get("components", ()))
    anchors = {path: f"{place}-f{index}" for index, path in enumerate(p for p in files if p.endswith(".vhd"))}
    top = f"{name}.vhd"
    sections = dict(_sections(files.get(top, ""), [str(each["instance"]) for each in components], place))
    parts = tuple(
        _part(each, f"{place}-i{index}", sections, anchors.get(f"components/{each['entity']}.vhd", ""))
        for index, each in enumerate(components)
    )
    layers: dict[str, list[tuple[str, str]]] = {}
    for part in parts:
        for layer in part.origin:
            layers.setdefault(layer, []).append((part.name, part.anchor))
    told = [f"{word} {plain(description[word], 40)} cycles" for word in ("latency", "interval") if word in description]
    told.append(f"{len(parts)} instance{'s' if len(parts) != 1 else ''}")
    others = tuple((path, f"{len(text.splitlines()):,}") for path, text in files.items() if path not in anchors)
    data = DesignPage(
        name,
        ", ".join(told),
        _ports(description),
        parts,
        tuple(sum(part.costs[i] for part in parts) for i in range(len(_COSTS))),
        tuple(Layer(layer, tuple(found)) for layer, found in layers.items()),
        tuple(_files(files, anchors, parts, top, sections)),
        Table(("other file", "lines"), others, frozenset({1})),
    )
    return Display(data, _text(data, files), template="design.html", title=f"{name}: design")


def _part(found: Mapping[str, Any], anchor: str, sections: Mapping[str, Section], source: str) -> Part:
    name, costs = str(found["instance"]), found.get("resources", {})
    streams = [
        " + ".join(str(s).removeprefix("stream ") for s in found.get(w, ())) for w in ("streams_in", "streams_out")
    ]
    return Part(
        name=name,
        entity=str(found["entity"]),
        anchor=anchor,
        code=sections[name].anchor if name in sections else "",
        source=source,
        node=str(found.get("node", "")),
        origin=tuple(map(str, found.get("origin", ()))),
        streams=" → ".join(streams),
        generics=tuple((str(k), shortened(str(v), _MOST_GENERIC)) for k, v in found.get("generics", {}).items()),
        latency=str(found.get("latency", "")),
        steps=str(found.get("steps", "")),
        occupation=f"{100 * found['occupation']:.0f} %" if "occupation" in found else "",
        costs=tuple(int(costs.get(word, 0)) for word in _COSTS),
    )


def _ports(description: Mapping[str, Any]) -> Table:
    rows = []
    for port in description.get("ports", ()):
        form = port["format"]
        told = f"{'s' if form['signed'] else 'u'}{form['width']}f{form['fraction']}"
        shape = ",".join(map(str, port["shape"]))
        rows.append(
            (
                port["name"],
                port["direction"],
                f"{told}[{shape}]",
                *(str(port[k]) for k in ("beats", "lanes", "payload_width")),
            )
        )
    return Table(("port", "", "a frame", "beats", "lanes", "bits a beat"), tuple(rows), frozenset({3, 4, 5}))


def _sections(text: str, instances: list[str], place: str) -> Iterator[tuple[str, Section]]:
    """The pieces of the top level by instance, from the comment above each; what is before and behind as ""."""
    starts = []
    for index, name in enumerate(instances):
        found = re.search(rf"^(?:[ \t]*--[^\n]*\n)?[ \t]*{re.escape(name)} : entity\b", text, re.MULTILINE)
        if found:
            starts.append((found.start(), index, name))
    starts.sort()
    ends = [*(start for start, _, _ in starts[1:]), *[len(text)] * bool(starts)]
    yield "", Section(text[: starts[0][0]] if starts else text)
    for (start, index, name), end in zip(starts, ends, strict=True):
        yield name, Section(text[start:end].rstrip("\n"), f"{place}-t{index}", name, f"{place}-i{index}")


def _files(
    files: Mapping[str, str],
    anchors: Mapping[str, str],
    parts: tuple[Part, ...],
    top: str,
    sections: Mapping[str, Section],
) -> Iterator[SourceFile]:
    room = _ALL
    order = sorted(anchors, key=lambda path: (path != top, path.split("/", 1)[0] == "testbench"))
    for path in order:
        text = files[path]
        pieces = tuple(sections.values()) if path == top else (Section(text.rstrip("\n")),)
        if len(text) > min(_LONG, room):
            pieces = (
                Section(_cut(text, min(_LONG, room))),
                *(Section("", s.anchor, s.instance, s.back) for s in pieces[1:]),
            )
        room -= sum(len(piece.code) for piece in pieces)
        users = tuple((part.name, part.anchor) for part in parts if part.source == anchors[path])
        yield SourceFile(path, anchors[path], len(text.splitlines()), pieces, users)


def _cut(text: str, most: int) -> str:
    """Whole lines of a text that is too long, from its beginning and its end."""
    lines = text.split("\n")
    head, tail = _fitting(lines, most // 2), _fitting(lines[::-1], most // 2)
    left = len(lines) - head - tail
    return "\n".join([*lines[:head], f"-- … {left:,} lines are not shown …", *lines[len(lines) - tail :]])


def _fitting(lines: list[str], most: int) -> int:
    """Return the number of first lines that fit into a number of characters."""
    return sum(total <= most for total in accumulate(len(line) + 1 for line in lines))


def _text(data: DesignPage, files: Mapping[str, str]) -> str:
    told = [f"{plain(data.name)}: {data.told}"]
    if data.ports.rows:
        told.append(_plain_table(data.ports).text())
    if data.parts:
        rows = [
            (
                *(
                    part.name,
                    ", ".join(part.origin) or part.node,
                    part.streams,
                    part.steps,
                    part.latency,
                    part.occupation,
                ),
                *map("{:,}".format, part.costs),
            )
            for part in data.parts
        ]
        rows.append(("all", *[""] * 5, *map("{:,}".format, data.totals)))
        columns = ("instance", "from", "streams", "steps", "latency", "occupied", "mult", "add", "reg bits", "mem bits")
        told.append(_plain_table(Table(columns, tuple(rows), frozenset(range(3, 10)))).text())
    told.append(f"files: {', '.join(map(plain, files))}")
    return "\n".join(told)


def _plain_table(table: Table) -> Table:
    rows = tuple(tuple(plain(cell, 60) for cell in row) for row in table.rows)
    return Table(table.columns, rows, table.numeric)
