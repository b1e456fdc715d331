"""Which block of the network each component of a design stands in."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from graphrewrite.hdl.netlist import Netlist
from graphrewrite.hdl.timing.network import Link
from graphrewrite.hierarchy.blocks import innermost

__all__ = ["CONNECTING", "Placement", "around", "place"]

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
        By component, origins of it that stand in other blocks: a rewrite has fused it across a border.
    """

    of: dict[str, str]
    astray: dict[str, tuple[str, ...]]


def place(net: Netlist) -> Placement:
    """Return where the components of a netlist stand: in the block of the origin that they are called after."""
    kinds = {node: instance.component.op.name for node, instance in net.instances.items()}
    if not net.blocks:
        return Placement(dict.fromkeys(kinds, ""), {})
    into: dict[str, list[Link]] = {node: [] for node in kinds}
    out_of: dict[str, list[Link]] = {node: [] for node in kinds}
    for link in net.network.links:
        if link.sink in into:
            into[link.sink].append(link)
        if link.source in out_of:
            out_of[link.source].append(link)
    connecting = {node for node, kind in kinds.items() if kind in CONNECTING}
    of = {node: innermost(net.instances[node].origin[0], net.blocks) for node in kinds if node not in connecting}

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
            of[node] = here if own and len(own) < len(places) else _common(places, net.blocks)
    for node, kind in kinds.items():
        if kind in _WIRES:
            before = into[node][0].source
            of[node] = _common([of.get(before, ""), *ends(node)], net.blocks)
    return Placement(of, {node: found for node in of if (found := _astray(net, node, of[node]))})


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


def _common(paths: Iterable[str], blocks: Collection[str]) -> str:
    """Return the innermost block that contains several."""
    first, *others = (around(path, blocks) for path in paths)
    return next(path for path in first if all(path in other for other in others))


def _astray(net: Netlist, node: str, path: str) -> tuple[str, ...]:
    """Return the origins of a component that stand neither in its block nor in one within."""
    origin: Iterable[str] = net.instances[node].origin if net.blocks else ()
    if net.instances[node].component.op.name in CONNECTING:
        return ()
    return tuple(o for o in origin if path not in around(innermost(o, net.blocks), net.blocks))
