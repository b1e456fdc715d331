"""The entities of a design: the top level, and one for each nested graph, which its uses share.

Uses of a nested graph share an entity if they consist of the same components, connected in the same way. Whatever else
differs, such as weights, shifts and widths, is a generic of the entity.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.hdl.component import Generic
from graphrewrite.hdl.netlist import Netlist
from graphrewrite.hdl.placement import Placement, around
from graphrewrite.hdl.timing.network import Link

__all__ = ["Key", "Part", "Unit", "Use", "Values", "type_of", "units_of"]

Key = tuple[str, bool]
"""The node of a component, or the path of a block with True: a node may be called like a block."""
Values = Mapping[str, Mapping[str, Generic]]
"""Generics of components, by node."""


@dataclass(frozen=True)
class Part:
    """What stands in an entity: a component by its node, or a block by its path.

    Attributes
    ----------
    name : str
        The node or the path.
    is_block : bool
        Whether it is a block.
    takes, gives : tuple of Link
        What enters and leaves it, port by port.
    """

    name: str
    is_block: bool
    takes: tuple[Link, ...]
    gives: tuple[Link, ...]

    @property
    def key(self) -> Key:
        """What tells it from the other parts."""
        return self.name, self.is_block


@dataclass(frozen=True)
class Use:
    """One use of a nested graph, or the top level.

    Attributes
    ----------
    path : str
        Of the block; empty for the top level.
    parts : tuple of Part
        In an order that all uses of one entity share.
    takes, gives : tuple of Link
        What enters and leaves it, port by port.
    """

    path: str
    parts: tuple[Part, ...]
    takes: tuple[Link, ...]
    gives: tuple[Link, ...]


@dataclass(frozen=True)
class Unit:
    """An entity.

    Attributes
    ----------
    graph : str
        Name of the graph that it is made of.
    uses : list of Use
        The first one names what the entity contains.
    order : list of int
        That of the parts in the first use.
    """

    graph: str
    uses: list[Use]
    order: list[int]


def type_of(value: Generic) -> str:
    """Return the VHDL type of a generic.

    Examples
    --------
    >>> type_of(True), type_of(3), type_of(np.array([1, 2]))
    ('boolean', 'integer', 'integer_vector')
    """
    if isinstance(value, bool | np.bool_):
        return "boolean"
    return "integer" if isinstance(value, int | np.integer) else "integer_vector"


def units_of(net: Netlist, placement: Placement, values: Values) -> list[Unit]:
    """Return the entities of a design, inner ones first and the top level last."""
    inside: dict[str, dict[Key, None]] = {"": {}}
    for node in net.instances:
        key = node, False
        for path in around(placement.of[node], net.blocks):
            inside.setdefault(path, {})[key] = None
            key = path, True
    builder = _Builder(net, values)
    # Deeper blocks first, and of one depth in the order of the netlist.
    for path in sorted(inside, key=lambda path: -len(around(path, net.blocks))):
        builder.add(path, list(inside[path]))
    return builder.units


class _Builder:
    def __init__(self, net: Netlist, values: Values) -> None:
        self.net, self.values = net, values
        self.units: list[Unit] = []
        self.numbers: dict[Hashable, int] = {}
        self.blocks: dict[str, tuple[int, Use]] = {}
        """Number of the unit, and the use, by path."""
        self.takes: dict[str, list[Link]] = {}
        self.gives: dict[str, list[Link]] = {}
        for link in net.network.links:
            self.takes.setdefault(link.sink, []).append(link)
            self.gives.setdefault(link.source, []).append(link)

    def add(self, path: str, keys: Sequence[Key]) -> None:
        """Add a use of a nested graph, whose blocks are there already."""
        parts = [self.part(*key) for key in keys]
        if path:
            parts = self.arranged(path, parts)
        number = {part.key: index for index, part in enumerate(parts)}
        sinks = {link: (number[part.key], port) for part in parts for port, link in enumerate(part.takes)}
        sources = {link: (number[part.key], port) for part in parts for port, link in enumerate(part.gives)}
        takes = tuple(sorted((link for link in sinks if link not in sources), key=sinks.__getitem__))
        gives = tuple(sorted((link for link in sources if link not in sinks), key=sources.__getitem__))
        form: Hashable = (
            self.net.blocks[path].graph if path else "",
            tuple(self.kind(part) for part in parts),
            tuple(sorted((sources[link], sinks[link]) for link in sinks.keys() & sources.keys())),
            tuple(sinks[link] for link in takes),
            tuple(sources[link] for link in gives),
        )
        unit = self.numbers.setdefault(form, len(self.units))
        if unit == len(self.units):
            graph = self.net.blocks[path].graph if path else self.net.name
            self.units.append(Unit(graph, [], [number[key] for key in keys]))
        use = Use(path, tuple(parts[index] for index in self.units[unit].order), takes, gives)
        self.units[unit].uses.append(use)
        self.blocks[path] = unit, use

    def part(self, name: str, is_block: bool) -> Part:
        if is_block:
            use = self.blocks[name][1]
            return Part(name, True, use.takes, use.gives)
        takes = sorted(self.takes.get(name, ()), key=lambda link: link.sink_port)
        gives = sorted(self.gives.get(name, ()), key=lambda link: link.source_port)
        return Part(name, False, tuple(takes), tuple(gives))

    def kind(self, part: Part) -> tuple[Any, ...]:
        """What is equal where two parts are instances of one entity, with generics of the same names."""
        if part.is_block:
            return 1, self.blocks[part.name][0]
        generics = self.values[part.name]
        types = tuple(sorted((name, type_of(value)) for name, value in generics.items()))
        return 0, self.net.instances[part.name].component.entity, types

    def arranged(self, path: str, parts: list[Part]) -> list[Part]:
        """Return parts in an order that depends on their kinds and connections, and where these agree on names."""
        block = self.net.blocks[path]
        sinks = {link: number for number, part in enumerate(parts) for link in part.takes}
        sources = {link: number for number, part in enumerate(parts) for link in part.gives}
        classes = _ranks([self.kind(part) for part in parts])

        def neighbours(links: Iterable[Link], ends: dict[Link, int], port: Callable[[Link], int]) -> tuple[Any, ...]:
            return tuple((classes[ends[link]], port(link)) if link in ends else (-1, 0) for link in links)

        def source_port(link: Link) -> int:
            return parts[sources[link]].gives.index(link)

        def sink_port(link: Link) -> int:
            return parts[sinks[link]].takes.index(link)

        while True:
            finer = _ranks(
                [
                    (
                        classes[number],
                        neighbours(part.takes, sources, source_port),
                        neighbours(part.gives, sinks, sink_port),
                    )
                    for number, part in enumerate(parts)
                ]
            )
            if len({*finer}) == len({*classes}):
                break
            classes = finer

        def names(part: Part) -> list[str]:
            origins = (part.name,) if part.is_block else self.net.instances[part.name].origin
            return sorted(block.inner(origin) for origin in origins if origin.startswith(f"{path}."))

        order = sorted(range(len(parts)), key=lambda number: (classes[number], names(parts[number]), number))
        return [parts[number] for number in order]


def _ranks(keys: Sequence[Any]) -> list[int]:
    """Return the position of each key among the different ones, in their order."""
    rank = {key: number for number, key in enumerate(sorted({*keys}))}
    return [rank[key] for key in keys]
