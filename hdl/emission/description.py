"""The contents of ``design.json``: ports, formats, instances, timing, resources."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.hdl.component import Resources
from graphrewrite.hdl.emission.design import FORMAT
from graphrewrite.hdl.emission.hierarchy import Hierarchy
from graphrewrite.hdl.emission.vectors import Vectors
from graphrewrite.hdl.netlist import Instance, Netlist
from graphrewrite.hdl.port_encoding import Encoding
from graphrewrite.hdl.simulation.simulation import predict
from graphrewrite.types import Stream

__all__ = ["describe", "version"]

_STEADY = 64  # frames after which a design's timing is described: by then its buffers have filled


def describe(
    net: Netlist,
    vectors: Vectors,
    *,
    top: str,
    library: str,
    testbench: str,
    sources: Sequence[str],
    ports: Mapping[str, str],
    encodings: Mapping[str, Encoding],
    hierarchy: Hierarchy,
) -> dict[str, Any]:
    """Return the description of a design."""
    timing = predict(net, _STEADY)
    total = Resources()
    for instance in net.instances.values():
        total = total.plus(instance.resources)
    instances = hierarchy.instances()
    streams = [(n, s, "in") for n, s in net.inputs.items()] + [(n, s, "out") for n, s in net.outputs.items()]
    return {
        "$schema": "./design.schema.json",
        "generator": "graphrewrite",
        "format": FORMAT,
        "version": version(),
        "name": top,
        "library": library,
        "model": net.name,
        "sources": list(sources),
        "testbench": testbench,
        "ports": [
            {
                "name": ports[name],
                "model_name": name,
                "direction": direction,
                "shape": list(stream.shape),
                "layout": "channels first, positions in raster order",
                "lanes": stream.lanes,
                "folds": stream.folds,
                "beats": stream.beats,
                "order": order_of(stream),
                "payload_width": stream.payload_width,
                "format": {
                    "signed": stream.element.signed,
                    "width": stream.element.width,
                    "fraction": stream.element.fraction,
                },
                **_numbers(stream, encodings.get(name)),
            }
            for name, stream, direction in streams
        ],
        "latency": timing.empty_latency,
        "interval": _plain(timing.interval),
        "frames": vectors.frames,
        "resources": _sums(total),
        "blocks": hierarchy.blocks(),
        "components": [
            {
                "instance": instances[node],
                **_component(instance, hierarchy.generics(node)),
                "occupation": round(float(timing.occupation[node]), 4),
                "steps": (schedule := net.network.components[node]).steps,
                "latency": schedule.latency,
                "capacity": list(schedule.capacity),
                "high_water": [timing.high_water[node, port] for port in range(len(instance.site.results))],
            }
            for node, instance in net.instances.items()
        ],
    }


def order_of(stream: Stream) -> str:
    """Return where one element of a frame travels, as an example of the order of beats.

    Examples
    --------
    >>> from graphrewrite.types import FixedPoint
    >>> order_of(Stream(FixedPoint(True, 8), (6, 4, 5), lanes=2))
    'element [5, 0, 1] travels in beat 5, lane 1, bits 15 to 8'
    """
    channel, position = stream.channels - 1, min(1, stream.positions - 1)
    place, index = position, list[int]()
    for size in reversed(stream.shape[1:]):
        place, at = divmod(place, size)
        index.insert(0, at)
    lane, width = channel % stream.lanes, stream.element.width
    beat = position * stream.folds + channel // stream.lanes
    bits = f"bits {(lane + 1) * width - 1} to {lane * width}" if width > 1 else f"bit {lane}"
    return f"element {[channel, *index]} travels in beat {beat}, lane {lane}, {bits}"


def _numbers(stream: Stream, encoding: Encoding | None) -> dict[str, Any]:
    """What the integers of a port stand for; nothing is said that is not known."""
    element = {"bits": stream.element.width, "signed": stream.element.signed}
    if encoding is None:
        limits = {"minimum": stream.element.minimum, "maximum": stream.element.maximum}
        unknown = {"scale": None, "zero_point": None, "rounding": None, "meaning": "", "numbers": None, "host": None}
        return {"element": {**element, **limits}, **unknown}
    return {
        "element": {**element, "minimum": encoding.low, "maximum": encoding.high},
        "scale": list(encoding.scale) or None,
        "zero_point": list(encoding.zero_point) or None,
        "rounding": encoding.rounding,
        "meaning": encoding.meaning,
        "numbers": {"name": encoding.tensor, "shape": list(encoding.shape), "element": encoding.element},
        "host": list(encoding.host),
    }


def _component(instance: Instance, generics: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    return {
        "entity": instance.component.entity,
        "node": instance.node,
        "origin": list(instance.origin),
        "streams_in": [str(s) for s in instance.site.operands],
        "streams_out": [str(s) for s in instance.site.results],
        "generics": {generic["name"]: " ".join(generic["value"].split()) for generic in generics},
        "resources": {**_sums(instance.resources), "pieces": [list(p) for p in instance.resources.pieces]},
    }


def _sums(resources: Resources) -> dict[str, int]:
    return {name: number for name, number in resources._asdict().items() if name != "pieces"}


def _plain(number: float) -> int | float:
    """Return a whole number as such, others to two digits."""
    return int(number) if number == int(number) else round(number, 2)


def version() -> str:
    """Return the version of this package, which is written into what it makes."""
    from graphrewrite import __version__  # the package imports its public names first

    return __version__
