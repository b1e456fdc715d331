"""Which block of the network each component of a design stands in."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from graphrewrite.hdl.netlist import Netlist
from graphrewrite.hdl.timing.network import Link
from graphrewrite.hierarchy.blocks import innermost

__all__ = ["CONNECTING", "Placement", "around", "common", "place", "places_of"]

_FORK, _WIRES = "fork", frozenset({"fifo", "refold"})
CONNECTING = frozenset({_FORK, *_WIRES})
"""Ops that connect others only: their place follows from those, and their origin is that of what they read."""


@dataclass(frozen=True)
class Placement:
    """The blocks that components stand in.

    Attributes
    ----------
    of : dict of str to str
        By component, the path of the innermost block; empty at the top level.
    astray : dict of str to tuple of str
        By component, origins of it that are computed in other blocks only: a rewrite has fused it across a border.
    """

    of: dict[str, str]
    astray: dict[str, tuple[str, ...]]


def places_of(origins: Mapping[str, tuple[str, ...]], blocks: Collection[str]) -> dict[str, str]:
    """Return the block that each component stands in: that of the origin that it is called after.

    Of origins in several blocks only those count that no other component has alone.

    Examples
    --------
    >>> places_of({"product": ("b.linear", "relu"), "sum": ("b.add",), "mean": ("b.add", "mean")}, ["b"])
    {'product': 'b', 'sum': 'b', 'mean': ''}
    """
    if not blocks:
        return dict.fromkeys(origins, "")
    places = {node: {o: innermost(o, blocks) for o in origin} for node, origin in origins.items()}
    known = {o for found in places.values() if len({*found.values()}) == 1 for o in found}
    return {
        node: next((path for o, path in found.items() if o not in known), next(iter(found.values())))
        for node, found in places.items()
    }


def place(net: Netlist) -> Placement:
    """Return where the components of a netlist stand."""
    kinds = {node: instance.component.op.name for node, instance in net.instances.items()}
    into: dict[str, list[Link]] = {node: [] for node in kinds}
    out_of: dict[str, list[Link]] = {node: [] for node in kinds}
    for link in net.network.links:
        if link.sink in into:
            into[link.sink].append(link)
        if link.source in out_of:
            out_of[link.source].append(link)
    connecting = {node for node, kind in kinds.items() if kind in CONNECTING}
    origins = {node: net.instances[node].origin for node in kinds if node not in connecting}
    of = places_of(origins, net.blocks)

    def ends(node: str) -> Iterator[str]:
        """Yield the places of what reads a component, behind wires."""
        for link in out_of[node]:
            if kinds.get(link.sink) in _WIRES:
                yield from ends(link.sink)
            else:
                yield of.get(link.sink, "")

    def source(node: str) -> str:
        """Return the place of what gives the stream that a connection carries."""
        while node in connecting:
            node = into[node][0].source
        return of.get(node, "")

    # Readers first: a stream that only one block reads is divided there, and one of a block that it reads itself too.
    for node in reversed(kinds):
        if kinds[node] == _FORK:
            here, places = source(node), [*ends(node)]
            own = [each for each in places if here in around(each, net.blocks)]
            of[node] = here if own and len(own) < len(places) else common(places, net.blocks)
    for node, kind in kinds.items():
        if kind in _WIRES:
            before = into[node][0].source
            of[node] = common([of.get(before, ""), *ends(node)], net.blocks)
    return Placement(of, _astray(origins, of, net.blocks))


def around(path: str, blocks: Collection[str]) -> list[str]:
    """Return a block and those around it, the top level last.

    Examples
    --------
    >>> around("a.b", ["a", "a.b"])
    ['a.b', 'a', '']
    """
    found = [path]
    while found[-1]:
        found.append(innermost(found[-1], blocks))
    return found


def common(paths: Iterable[str], blocks: Collection[str]) -> str:
    """Return the innermost block that contains several.

    Examples
    --------
    >>> common(["a.b", "a.c"], ["a", "a.b", "a.c"])
    'a'
    """
    first, *others = (around(path, blocks) for path in paths)
    return next(path for path in first if all(path in other for other in others))


def _astray(
    origins: Mapping[str, tuple[str, ...]], of: Mapping[str, str], blocks: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return by component its origins that are computed in other blocks than their own only."""
    at_home = {o for node, origin in origins.items() for o in origin if innermost(o, blocks) == of[node]}
    found = {node: tuple(o for o in origin if o not in at_home) for node, origin in origins.items()}
    return {node: origin for node, origin in found.items() if origin}
