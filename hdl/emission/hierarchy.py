"""The hierarchy of a design: its entities, and in which of them each component is an instance."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from graphrewrite.hdl.emission.entity import defaults_of
from graphrewrite.hdl.emission.structure import Parameter, Structure
from graphrewrite.hdl.emission.units import Key, Use, units_of
from graphrewrite.hdl.netlist import Netlist
from graphrewrite.hdl.placement import around, place

__all__ = ["Hierarchy"]


class Hierarchy:
    """The entities of a design, inner ones first and the top level last.

    Parameters
    ----------
    net : Netlist
        The whole design.
    top : str
        Identifier of the top level, with which those of the others begin.
    reserved : collection of str
        Identifiers that nothing may have.
    file : callable
        Gives a name of a file that is not taken.
    """

    def __init__(self, net: Netlist, top: str, *, reserved: Collection[str], file: Callable[[str], str]) -> None:
        self.net, self.placement = net, place(net)
        self.values = {node: instance.component.generics(instance.site) for node, instance in net.instances.items()}
        for node, values in self.values.items():
            # What only some uses of a block give, such as upper bits, others give as well.
            if self.placement.of[node]:
                own = {name.upper() for name in values}
                defaults = defaults_of(net.instances[node].component)
                self.values[node] = {**values, **{name: v for name, v in defaults.items() if name not in own}}
        units = units_of(net, self.placement, self.values)
        named = [(unit, top if not unit.uses[0].path else file(f"{top} {unit.graph}")) for unit in units]
        self.structures: list[Structure] = []
        self.of: dict[str, tuple[Structure, Use]] = {}
        """The entity and the use, by path."""
        for unit, name in named:
            inner = {path: structure for path, (structure, _) in self.of.items()}
            taken = [*reserved, *(other for _, other in named)]
            self.structures.append(Structure(net, unit, name, inner, self.values, reserved=taken, file=file))
            self.of |= {use.path: (self.structures[-1], use) for use in unit.uses}
        self.firsts = {
            (path, part.key): first.key
            for path, (structure, use) in self.of.items()
            for part, first in zip(use.parts, structure.use.parts, strict=True)
        }
        """By use and part, the part of the first use that corresponds to it."""

    @property
    def top(self) -> Structure:
        """The top level."""
        return self.structures[-1]

    def label(self, path: str, key: Key) -> str:
        """Return the name of an instance, after those of the blocks that it stands in."""
        structure, _ = self.of[path]
        own = f"{structure.labels[self.firsts[path, key]]}_i"
        return own if not path else f"{self.label(around(path, self.net.blocks)[1], (path, True))}.{own}"

    def instances(self) -> dict[str, str]:
        """Return the names of the components' instances, by node."""
        return {node: self.label(self.placement.of[node], (node, False)) for node in self.net.instances}

    def generics(self, node: str) -> list[dict[str, str]]:
        """Return what a component's instance gets, wherever in the hierarchy that is said."""
        path = self.placement.of[node]
        return [{"name": name, "value": self._text(path, (node, False), name)} for name in self.values[node]]

    def _text(self, path: str, key: Key, generic: str) -> str:
        structure, _ = self.of[path]
        first = self.firsts[path, key]
        value = structure.generics[first][generic]
        if isinstance(value, Parameter):
            return self._text(around(path, self.net.blocks)[1], (path, True), value.name)
        return structure.text(first, generic)

    def blocks(self) -> list[dict[str, Any]]:
        """Return for each use of a nested graph its instance, and what became of its border."""
        return [
            {
                "path": path,
                "graph": block.graph,
                "origin": list(block.origin),
                "entity": self.of[path][0].name if path in self.of else None,
                "instance": self.label(around(path, self.net.blocks)[1], (path, True)) if path in self.of else None,
                "notes": list(self._notes(path)),
            }
            for path, block in self.net.blocks.items()
        ]

    def _notes(self, path: str) -> Iterator[str]:
        """Yield where the hierarchy differs from that of the network."""
        for node, origins in self.placement.astray.items():
            is_inside = path in around(self.placement.of[node], self.net.blocks)
            crossing = [o for o in origins if o.startswith(f"{path}.") is not is_inside]
            if crossing:
                where = "also" if is_inside else "outside,"
                yield f"{node} {where} computes {', '.join(crossing)}, which a rewrite has fused with it"
        if path not in self.of:
            yield "no component is left in it"
            return
        graph = self.net.blocks[path].graph
        first = next(each for each in self.structures if each.unit.graph == graph)
        if (own := self.of[path][0]) is not first:
            more, fewer = (own.entities - first.entities, first.entities - own.entities)
            counts = [f"{n} more {entity}" for entity, n in sorted(more.items())]
            counts += [f"{n} fewer {entity}" for entity, n in sorted(fewer.items())]
            what = f"it has {', '.join(counts)}" if counts else "its components are connected in another way"
            yield f"it shares no entity with {first.use.path}: {what}"
