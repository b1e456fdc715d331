"""A hardware design as a page: its instances with their origins, its ports, its files."""

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
_MEMORY = {"arena": "memory", "tables": "constants"}
"""What a design in C takes."""
_MOST_GENERIC = 200
"""Letters of the value of a generic that are shown."""


@dataclass(frozen=True)
class Part:
    """An instance.

    Attributes
    ----------
    name, entity : str
        The instance, and its component.
    anchor, code, source : str
        Anchors of its row, of its section in the top level, and of the component's file; empty where not shown.
    node : str
        Its node in the stream graph.
    origin : tuple of str
        The nodes of the model that it comes from.
    streams : str
        Its operands and results.
    generics : tuple of (str, str)
        Names and values.
    latency, steps, occupation : str
        Cycles from a step to its result, steps a frame, and the share of cycles in which it is busy.
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
    """A piece of a file: its code, its own anchor, and its instance, with the anchor of that row."""

    code: str
    anchor: str = ""
    instance: str = ""
    back: str = ""


@dataclass(frozen=True)
class SourceFile:
    """A VHDL file: path, anchor, lines, the sections that are shown, and its instances, with their anchors."""

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
    subtitle : str
        Latency, interval and the number of instances; of C what memory it takes.
    ports : Table
    parts : tuple of Part
    totals : tuple of int
        The costs of all parts.
    layers : tuple of Layer
    files : tuple of SourceFile
    others : Table
        Files that are no VHDL, or no C where the design is in C.
    """

    name: str
    subtitle: str
    ports: Table
    parts: tuple[Part, ...]
    totals: tuple[int, ...]
    layers: tuple[Layer, ...]
    files: tuple[SourceFile, ...]
    others: Table


def show_project(design: Design) -> Display:
    """Return the page of a design: instances with their origins and costs, and the VHDL; or the C."""
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
    prefix = f"gr-{digest[:10]}"  # anchors stay unique where a notebook shows several designs
    components = list(description.get("components", ()))
    is_c = description.get("language") == "c"
    endings = (".c", ".h") if is_c else (".vhd",)
    anchors = {path: f"{prefix}-f{index}" for index, path in enumerate(p for p in files if p.endswith(endings))}
    top = f"{name}{endings[0]}"
    sections = dict(_sections(files.get(top, ""), [str(each["instance"]) for each in components], prefix))
    parts = tuple(
        _part(each, f"{prefix}-i{index}", sections, anchors.get(f"components/{each['entity']}.vhd", ""))
        for index, each in enumerate(components)
    )
    # The same relation the other way round: from a node of the model to its instances.
    layers: dict[str, list[tuple[str, str]]] = {}
    for part in parts:
        for layer in part.origin:
            layers.setdefault(layer, []).append((part.name, part.anchor))
    facts = [f"{word} {plain(description[word], 40)} cycles" for word in ("latency", "interval") if word in description]
    if is_c:
        facts = [f"{description[word]:,} bytes of {what}" for word, what in _MEMORY.items()]
    else:
        facts.append(f"{len(parts)} instance{'s' if len(parts) != 1 else ''}")
    others = tuple((path, f"{len(text.splitlines()):,}") for path, text in files.items() if path not in anchors)
    data = DesignPage(
        name,
        ", ".join(facts),
        _ports(description),
        parts,
        tuple(sum(part.costs[i] for part in parts) for i in range(len(_COSTS))),
        tuple(Layer(layer, tuple(instances)) for layer, instances in layers.items()),
        tuple(_files(files, anchors, parts, top, sections)),
        Table(("other file", "lines"), others, frozenset({1})),
    )
    return Display(data, _text(data, files), template="design.html", title=f"{name}: design")


def _part(entry: Mapping[str, Any], anchor: str, sections: Mapping[str, Section], source: str) -> Part:
    name, costs = str(entry["instance"]), entry.get("resources", {})
    sides = (entry.get("streams_in", ()), entry.get("streams_out", ()))
    streams = [" + ".join(str(stream).removeprefix("stream ") for stream in side) for side in sides]
    return Part(
        name=name,
        entity=str(entry["entity"]),
        anchor=anchor,
        code=sections[name].anchor if name in sections else "",
        source=source,
        node=str(entry.get("node", "")),
        origin=tuple(map(str, entry.get("origin", ()))),
        streams=" → ".join(streams),
        generics=tuple((str(k), shortened(str(v), _MOST_GENERIC)) for k, v in entry.get("generics", {}).items()),
        latency=str(entry.get("latency", "")),
        steps=str(entry.get("steps", "")),
        occupation=f"{100 * entry['occupation']:.0f} %" if "occupation" in entry else "",
        costs=tuple(int(costs.get(word, 0)) for word in _COSTS),
    )


def _ports(description: Mapping[str, Any]) -> Table:
    rows = []
    if description.get("language") == "c":
        for port in description["ports"]:
            frame = f"{port['element']}[{','.join(map(str, port['shape']))}]"
            rows.append((port["name"], port["direction"], frame, f"{port['type']} {port['variable']}[]"))
        return Table(("port", "", "a frame", "parameter"), tuple(rows), frozenset())
    for port in description.get("ports", ()):
        form, shape = port["format"], ",".join(map(str, port["shape"]))
        frame = f"{'s' if form['signed'] else 'u'}{form['width']}f{form['fraction']}[{shape}]"
        widths = (str(port[key]) for key in ("beats", "lanes", "payload_width"))
        rows.append((port["name"], port["direction"], frame, *widths))
    return Table(("port", "", "a frame", "beats", "lanes", "bits a beat"), tuple(rows), frozenset({3, 4, 5}))


def _sections(text: str, instances: list[str], prefix: str) -> Iterator[tuple[str, Section]]:
    """Yield the pieces of the top level by instance, from the comment above each; the text before the first as ""."""
    starts = []
    for index, name in enumerate(instances):
        found = re.search(rf"^(?:[ \t]*--[^\n]*\n)?[ \t]*{re.escape(name)} : entity\b", text, re.MULTILINE)
        if found:
            starts.append((found.start(), index, name))
    starts.sort()
    ends = [*(start for start, _, _ in starts[1:]), *[len(text)] * bool(starts)]
    yield "", Section(text[: starts[0][0]] if starts else text)
    for (start, index, name), end in zip(starts, ends, strict=True):
        yield name, Section(text[start:end].rstrip("\n"), f"{prefix}-t{index}", name, f"{prefix}-i{index}")


def _files(
    files: Mapping[str, str],
    anchors: Mapping[str, str],
    parts: tuple[Part, ...],
    top: str,
    sections: Mapping[str, Section],
) -> Iterator[SourceFile]:
    budget = _ALL
    # The top level first, test benches last: where the budget ends, they are cut.
    order = sorted(anchors, key=lambda path: (path != top, path.split("/", 1)[0] == "testbench"))
    for path in order:
        text = files[path]
        pieces = tuple(sections.values()) if path == top else (Section(text.rstrip("\n")),)
        limit = min(_LONG, budget)
        if len(text) > limit:  # the sections of instances keep their anchors, without code
            empty = (Section("", s.anchor, s.instance, s.back) for s in pieces[1:])
            pieces = (Section(_cut(text, limit)), *empty)
        budget -= sum(len(piece.code) for piece in pieces)
        users = tuple((part.name, part.anchor) for part in parts if part.source == anchors[path])
        yield SourceFile(path, anchors[path], len(text.splitlines()), pieces, users)


def _cut(text: str, most: int) -> str:
    """Return whole lines of a long text, from its beginning and its end."""
    lines = text.split("\n")
    head, tail = _fitting(lines, most // 2), _fitting(lines[::-1], most // 2)
    left = len(lines) - head - tail
    return "\n".join([*lines[:head], f"-- … {left:,} lines are not shown …", *lines[len(lines) - tail :]])


def _fitting(lines: list[str], most: int) -> int:
    """Return the number of first lines that fit into a number of characters."""
    return sum(total <= most for total in accumulate(len(line) + 1 for line in lines))


def _text(data: DesignPage, files: Mapping[str, str]) -> str:
    lines = [f"{plain(data.name)}: {data.subtitle}"]
    if data.ports.rows:
        lines.append(data.ports.text())
    if data.parts:
        rows = []
        for part in data.parts:
            words = (part.name, ", ".join(part.origin) or part.node, part.streams)
            rows.append((*words, part.steps, part.latency, part.occupation, *map("{:,}".format, part.costs)))
        rows.append(("all", *[""] * 5, *map("{:,}".format, data.totals)))
        columns = ("instance", "from", "streams", "steps", "latency", "occupied", "mult", "add", "reg bits", "mem bits")
        lines.append(Table(columns, tuple(rows), frozenset(range(3, 10))).text())
    lines.append(f"files: {', '.join(map(plain, files))}")
    return "\n".join(lines)
