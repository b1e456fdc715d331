"""The contents of ``design.json``: ports, formats, instances, timing, resources."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.hdl.component import Resources
from graphrewrite.hdl.emission.vectors import Vectors
from graphrewrite.hdl.netlist import Instance, Netlist
from graphrewrite.hdl.simulation.simulation import predict

__all__ = ["describe", "version"]

_STEADY = 64  # frames after which a design's timing is described: by then its buffers have filled


def describe(
    net: Netlist,
    vectors: Vectors,
    *,
    top: str,
    sources: Sequence[str],
    ports: Mapping[str, str],
    instances: Mapping[str, str],
    generics: Mapping[str, Sequence[Mapping[str, str]]],
) -> dict[str, Any]:
    """Return the description of a design."""
    timing = predict(net, _STEADY)
    total = Resources()
    for instance in net.instances.values():
        total = total.plus(instance.resources)
    streams = [(n, s, "in") for n, s in net.inputs.items()] + [(n, s, "out") for n, s in net.outputs.items()]
    return {
        "generator": "graphrewrite",
        "version": version(),
        "name": top,
        "model": net.name,
        "sources": list(sources),
        "testbench": "testbench",
        "ports": [
            {
                "name": ports[name],
                "model_name": name,
                "direction": direction,
                "shape": list(stream.shape),
                "lanes": stream.lanes,
                "folds": stream.folds,
                "beats": stream.beats,
                "payload_width": stream.payload_width,
                "format": {
                    "signed": stream.element.signed,
                    "width": stream.element.width,
                    "fraction": stream.element.fraction,
                },
            }
            for name, stream, direction in streams
        ],
        "latency": timing.empty_latency,
        "interval": _plain(timing.interval),
        "frames": vectors.frames,
        "resources": _sums(total),
        "components": [
            {
                "instance": instances[node],
                **_component(instance, generics[node]),
                "occupation": round(float(timing.occupation[node]), 4),
                "steps": (schedule := net.network.components[node]).steps,
                "latency": schedule.latency,
                "capacity": list(schedule.capacity),
                "high_water": [timing.high_water[node, port] for port in range(len(instance.site.results))],
            }
            for node, instance in net.instances.items()
        ],
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
