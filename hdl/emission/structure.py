"""An entity made of instances: its names and generics, and what its template needs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.hdl.component import Generic
from graphrewrite.hdl.emission.names import NameTable, comment, telling
from graphrewrite.hdl.emission.units import Key, Part, Unit, Use, Values, type_of
from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.netlist import Netlist
from graphrewrite.hdl.placement import CONNECTING
from graphrewrite.hdl.timing.network import Link

__all__ = ["Parameter", "Structure"]

_INLINE = 8  # constants longer than this stand in a package of their own


@dataclass(frozen=True)
class Parameter:
    """A generic of an entity: what differs between its uses.

    Attributes
    ----------
    name : str
        In capital letters.
    values : mapping of str to Generic
        By the path of the use.
    """

    name: str
    values: Mapping[str, Generic]

    @property
    def type(self) -> str:
        """Its VHDL type."""
        return type_of(next(iter(self.values.values())))


class Structure:
    """An entity of a design: the top level, or that of a nested graph.

    Parameters
    ----------
    net : Netlist
        The whole design.
    unit : Unit
        Its parts.
    name : str
        Its identifier.
    inner : mapping of str to Structure
        The entities of blocks, by path.
    values : mapping of str to mapping of str to bool, int or array of int
        The generics of components.
    reserved : collection of str
        Identifiers that nothing in it may have.
    file : callable
        Gives a name of a file that is not taken.
    """

    def __init__(
        self,
        net: Netlist,
        unit: Unit,
        name: str,
        inner: Mapping[str, "Structure"],
        values: Values,
        *,
        reserved: Collection[str],
        file: Callable[[str], str],
    ) -> None:
        self.net, self.unit, self.name, self.inner = net, unit, name, inner
        self.use, self.streams = unit.uses[0], net.streams
        self.takers = {link: part for part in self.use.parts for link in part.takes}
        self.givers = {link: part for part in self.use.parts for link in part.gives}
        self.names = NameTable(["clk", "rst", name, *reserved])
        self.ports = {link: self.names.give(port) for link, port in self._wanted_ports()}
        self.origins = {part.key: self._origins_of(part) for part in self.use.parts}
        stems = telling({part.name: self.origins[part.key] for part in self.use.parts if not part.is_block})
        self.labels = {
            part.key: self.names.give(
                self._inside(part.name) if part.is_block else f"{stems[part.name]} {self._entity_of(part)}"
            )
            for part in self.use.parts
        }
        self.signals = dict(self.ports)
        for part in self.use.parts:
            for index, link in enumerate(part.gives):
                if link not in self.signals:
                    label = self.labels[part.key]
                    self.signals[link] = label if len(part.gives) == 1 else self.names.give(f"{label} {index}")
        self.parameters: list[Parameter] = []
        self.widths = {
            links[0]: self._shared(
                {use.path: self.streams[link].payload_width for use, link in zip(unit.uses, links, strict=True)},
                f"{self.signals[links[0]]} width",
            )
            for links in zip(*map(_links, unit.uses), strict=True)
        }
        self.generics = {
            part.key: {
                generic: self._shared(
                    {use.path: self._value(use.parts[number], generic, values) for use in unit.uses},
                    f"{self.labels[part.key]} {generic}",
                )
                for generic in self._generics_of(part, values)
            }
            for number, part in enumerate(self.use.parts)
        }
        self.comments = {part.key: self._comment(part) for part in self.use.parts}
        # The design's name first: packages of several designs in one library differ.
        self.packages = {key: file(f"{name} rom {self.labels[key]}") for key in self.labels if self._long(key)}

    @property
    def entities(self) -> Counter[str]:
        """How many instances it has of each entity."""
        return Counter(map(self._entity_of, self.use.parts))

    # ------------------------------------------------------------------ names

    def _inside(self, name: str) -> str:
        """Return a path or an origin as it is called within the graph of the entity."""
        return self.net.blocks[self.use.path].inner(name) if self.use.path else name

    def _wanted_ports(self) -> Iterator[tuple[Link, str]]:
        """Yield the streams at the border, with the names of the graph's inputs and outputs."""
        if not self.use.path:
            ends = {link.source: link for link in self.use.takes} | {link.sink: link for link in self.use.gives}
            yield from ((ends[port], port) for port in (*self.net.inputs, *self.net.outputs))
            return
        block = self.net.blocks[self.use.path]
        for link in self.use.takes:
            readers = [self._inside(o) for part in self._readers(link) for o in self._own_origins(part)]
            found = {name: sum(_is_in(o, nodes) for o in readers) for name, nodes in block.inputs.items()}
            yield link, max(found, key=found.__getitem__, default="x")
        for link in self.use.gives:
            giver = self.givers[link]
            while self._is_connecting(giver) and giver.takes[0] in self.givers:
                giver = self.givers[giver.takes[0]]
            origins = [self._inside(o) for o in self._own_origins(giver)]
            found = {name: any(_is_in(o, [node]) for o in origins) for name, node in block.outputs.items()}
            yield link, max(found, key=found.__getitem__, default="y")

    def _readers(self, link: Link) -> list[Part]:
        """Return what reads a stream, behind connections."""
        found, ahead = [], [link]
        while ahead:
            part = self.takers.get(ahead.pop())
            if part is not None and self._is_connecting(part):
                ahead += part.gives
            elif part is not None:
                found.append(part)
        return found

    def _is_connecting(self, part: Part) -> bool:
        return not part.is_block and self.net.instances[part.name].component.op.name in CONNECTING

    def _own_origins(self, part: Part) -> tuple[str, ...]:
        return (part.name,) if part.is_block else self.net.instances[part.name].origin

    def _origins_of(self, part: Part) -> tuple[str, ...]:
        """Return where a part comes from, as it is called within the graph; for a connection what it carries."""
        origins = self.net.blocks[part.name].origin if part.is_block else self.net.instances[part.name].origin
        if not self.use.path or part.is_block:
            return origins
        if not self._is_connecting(part):
            return tuple(self._inside(o) for o in origins if o.startswith(f"{self.use.path}."))
        link = part.takes[0]
        return (self.ports[link],) if link in self.ports else self._origins_of(self.givers[link])

    def _entity_of(self, part: Part) -> str:
        return self.inner[part.name].name if part.is_block else self.net.instances[part.name].component.entity

    def _comment(self, part: Part) -> str:
        """Return which node a part is, back to the imported model."""
        origins = ", ".join(self.origins[part.key])
        if part.is_block:
            return comment(f"{self._inside(part.name)}, a use of {self.net.blocks[part.name].graph}, from {origins}")
        return comment(f"{part.name}, from {origins}" if not self.use.path else f"from {origins}")

    # ------------------------------------------------------------------ generics

    def _generics_of(self, part: Part, values: Values) -> list[str]:
        return [p.name for p in self.inner[part.name].parameters] if part.is_block else list(values[part.name])

    def _value(self, part: Part, generic: str, values: Values) -> Generic:
        if not part.is_block:
            return values[part.name][generic]
        return next(p for p in self.inner[part.name].parameters if p.name == generic).values[part.name]

    def _shared(self, values: Mapping[str, Generic], name: str) -> Generic | Parameter:
        """Return the value that all uses have, or a new parameter for those that differ."""
        first, *others = values.values()
        if all(np.array_equal(first, other) for other in others):
            return first
        self.parameters.append(Parameter(self.names.give(name).upper(), values))
        return self.parameters[-1]

    def _long(self, key: Key) -> list[str]:
        """Names of the generics that stand in a package: read-only memories, which would bury the instance."""
        values = self.generics[key].items()
        return [name for name, value in values if isinstance(value, np.ndarray) and value.size > _INLINE]

    def _constant_name(self, key: Key, generic: str) -> str:
        return f"{self.packages[key]}_{generic.lower()}"

    def constants(self, key: Key) -> list[dict[str, Any]]:
        """Return the contents of a part's package."""
        found = {
            name: value for name in self._long(key) if not isinstance(value := self.generics[key][name], Parameter)
        }
        return [
            {"name": self._constant_name(key, name), "size": np.size(value), "value": literal(value, indent=4)}
            for name, value in found.items()
        ]

    def text(self, key: Key, generic: str) -> str:
        """Return what the instance of a part gives to a generic."""
        value = self.generics[key][generic]
        if isinstance(value, Parameter):
            return value.name
        return self._constant_name(key, generic) if generic in self._long(key) else literal(value, indent=8)

    # ------------------------------------------------------------------ the text

    def _range(self, link: Link) -> str:
        width = self.widths[link]
        return f"{width.name} - 1 downto 0" if isinstance(width, Parameter) else f"{int(width) - 1} downto 0"

    def _stream(self, link: Link) -> str:
        """Return what a stream carries; of an entity with several uses, in the first."""
        where = f" in {self.use.path}" if len(self.unit.uses) > 1 else ""
        return f"{self.streams[link]}{where}"

    def _formal(self, part: Part) -> Iterator[tuple[str, str]]:
        """Yield the streams of a part: the name in its entity, and the one here."""
        if part.is_block:
            inner = self.inner[part.name]
            names = [inner.ports[link] for link in (*inner.use.takes, *inner.use.gives)]
        else:
            names = [*"xy"[: len(part.takes)]]
            names += ["z"] if len(part.gives) == 1 else [f"z{number}" for number in range(len(part.gives))]
        yield from zip(names, (self.signals[link] for link in (*part.takes, *part.gives)), strict=True)

    def context(self) -> dict[str, Any]:
        """Return what the template needs."""
        entering = {*self.use.takes}
        return {
            "name": self.name,
            "comment": comment(
                self.unit.graph if not self.use.path else f"{self.unit.graph}, a graph of {self.net.name}"
            ),
            "parameters": [{"name": p.name, "type": p.type} for p in self.parameters],
            "packages": list(self.packages.values()),
            "ports": [
                {"name": name, "is_input": link in entering, "range": self._range(link), "comment": self._about(link)}
                for link, name in self.ports.items()
            ],
            "signals": [
                {"name": name, "range": self._range(link), "comment": self._stream(link)}
                for link, name in self.signals.items()
                if link not in self.ports
            ],
            "instances": [
                {
                    "name": f"{self.labels[part.key]}_i",
                    "entity": self._entity_of(part),
                    "comment": self.comments[part.key],
                    "generics": [{"name": n, "value": self.text(part.key, n)} for n in self.generics[part.key]],
                    "streams": list(self._formal(part)),
                }
                for part in self.use.parts
            ],
        }

    def _about(self, link: Link) -> str:
        """Return a comment on a port."""
        stream = self.streams[link]
        beats = f"{stream.beats} beats of {stream.lanes} lanes"
        beats += "" if stream.folds == 1 else f", {stream.folds} a position"
        name = self.ports[link] if self.use.path else link.source if link in self.use.takes else link.sink
        return comment(f"{name}: {self._stream(link)}, {beats}")


def _links(use: Use) -> tuple[Link, ...]:
    """Return the streams of an entity, in an order that all its uses share."""
    return (*use.takes, *(link for part in use.parts for link in part.gives))


def _is_in(origin: str, nodes: Collection[str]) -> bool:
    """Tell whether an origin is one of some nodes, or stands in a block that is."""
    return any(origin == node or origin.startswith(f"{node}.") for node in nodes)
