"""Write a stream graph as a VHDL project."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphrewrite.graph import Graph
from graphrewrite.hdl.component import Component
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.emission.description import describe, version
from graphrewrite.hdl.emission.design import Design
from graphrewrite.hdl.emission.entity import SHARED, check_entity, sources_of, template
from graphrewrite.hdl.emission.hierarchy import Hierarchy
from graphrewrite.hdl.emission.host_code import HostPort, host_files, port_of
from graphrewrite.hdl.emission.names import NameTable, comment, identifier
from graphrewrite.hdl.emission.rendering import renderer
from graphrewrite.hdl.emission.vectors import Vectors, make_vectors, payloads
from graphrewrite.hdl.errors import ComponentError, DesignError
from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.netlist import Netlist, netlist, stream_graph, with_passed
from graphrewrite.hdl.port_encoding import Encoding
from graphrewrite.hdl.simulation.simulation import Gates, check_encodings
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.types import Stream

__all__ = ["emit"]

_BENCH_FILES = ("stream_source", "stream_checker", "vector_sink")
_FIXED_NAMES = (*SHARED, "testbench", "dut", "judge", *_BENCH_FILES)


def emit(
    graph: Graph,
    *,
    name: str | None = None,
    library: str = "work",
    encodings: Mapping[str, Encoding] | None = None,
    inputs: Mapping[str, ArrayLike] | None = None,
    gates: Gates | None = None,
    frames: int = 20,
    seed: int = 0,
    components: tuple[Component, ...] = COMPONENTS,
    implementations: Library | None = None,
) -> Design:
    """Return the VHDL project of a stream graph, with a self-checking test bench.

    The project depends on the graph and the arguments only, byte for byte.

    Parameters
    ----------
    graph : Graph
        What ``to_stream`` gives.
    name : str, optional
        Of the top entity, made a legal identifier; the graph's name where not given. Files that are the design's own
        have names that begin with it: several designs of one version of this package can share a VHDL library.
    library : str
        VHDL library that the scripts and the test bench compile into; the design itself refers to none by name.
    encodings : mapping of str to Encoding, optional
        What the integers of ports stand for, as ``lowering.port_encodings`` says; else mantissas of their formats.
    inputs : mapping of str to array of int, optional
        Frames for the test bench, as mantissas; random ones where not given.
    gates : mapping of str to sequence of 0 and 1, optional
        Stall patterns for the test bench; random ones where not given.
    frames, seed : int
        How many random frames, and which.
    components : tuple of Component
        What nodes may be: ``(*COMPONENTS, yours)`` with components of your own, whose VHDL is copied into the design.
    implementations : mapping of str to Graph, Op or Component, optional
        Where names that nodes have in their annotation ``implementation`` are looked up first; then come the module of
        the graph, and the components by their op or entity. Components that are passed here count among them.

    Raises
    ------
    NetlistError
        If the graph is no network of components, or an encoding fits no port.
    DesignError
        If the library has no legal name.
    ComponentError
        If the VHDL of a component cannot be read, or has other generics or ports than its description.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import clip
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("rectify")
    >>> _ = g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (2, 5))), low=0, high=127))
    >>> design = emit(g)
    >>> design.files["compile_order.txt"].split()[:4]
    ['components/lanes.vhd', 'components/stream_buffer.vhd', 'components/clip.vhd', 'rectify.vhd']
    """
    components = with_passed(components, implementations)
    graph = stream_graph(graph, components, implementations)
    net = netlist(graph, components)
    if library != identifier(library) and library != "work":
        raise DesignError(f"library={library!r} is no name of a VHDL library; {identifier(library)!r} would be one")
    known = check_encodings({**net.inputs, **net.outputs}, encodings or {})
    vectors = make_vectors(graph, net, inputs, gates, frames, seed, components)
    return _Emitter(net, name or graph.name or "design", library, known, vectors).design()


class _Emitter:
    def __init__(
        self, net: Netlist, name: str, library: str, encodings: Mapping[str, Encoding], vectors: Vectors
    ) -> None:
        self.net, self.vectors, self.library, self.encodings = net, vectors, library, encodings
        parts = {i.component.entity: i.component for i in net.instances.values()}
        self.entities = dict(sorted(parts.items()))
        for entity, component in self.entities.items():
            if entity.lower() in _FIXED_NAMES:
                raise ComponentError(
                    f"the entity {entity} of {component.op.name} has the same name as one of every design; rename it"
                )
        for instance in net.instances.values():
            check_entity(instance.component, instance.site)
        self.sources = sources_of(self.entities.values())
        files = NameTable([*_FIXED_NAMES, *self.sources])
        self.top = files.give(name)
        self.bench = files.give(f"{self.top} testbench")
        self.hierarchy = Hierarchy(net, self.top, reserved=[*_FIXED_NAMES, *self.sources], file=files.give)
        links = self.hierarchy.top.ports.items()
        ends = {end: name for link, name in links for end in (link.source, link.sink)}
        self.ports = {port: ends[port] for port in (*net.inputs, *net.outputs)}

    # ------------------------------------------------------------------ the project

    def design(self) -> Design:
        render = renderer(template, "VHDL files")
        files: dict[str, str] = {}
        for entity, text in self.sources.items():
            files[f"components/{entity}.vhd"] = text
        for structure in self.hierarchy.structures:
            for key, package in structure.packages.items():
                files[f"rom/{package}.vhd"] = render(
                    "rom.vhd.j2", name=package, comment=structure.comments[key], constants=structure.constants(key)
                )
            folder = "" if structure.name == self.top else "blocks/"
            files[f"{folder}{structure.name}.vhd"] = render(
                "structure.vhd.j2", **structure.context(), version=version()
            )
        # In the order of analysis: VHDL wants an entity before what instantiates it.
        sources = list(files)
        for entity in _BENCH_FILES:
            files[f"testbench/{entity}.vhd"] = template(f"{entity}.vhd")
        files[f"testbench/{self.bench}.vhd"] = render("testbench.vhd.j2", **self.testbench())
        files.update(self.vector_files())
        files["compile_order.txt"] = "".join(f"{path}\n" for path in files if path.endswith(".vhd"))
        description = describe(
            self.net,
            self.vectors,
            top=self.top,
            library=self.library,
            testbench=self.bench,
            sources=sources,
            ports=self.ports,
            encodings=self.encodings,
            hierarchy=self.hierarchy,
        )
        for extension in ("tcl", "qip"):
            files[f"add_files.{extension}"] = render(f"add_files.{extension}.j2", **description)
        files.update(host_files(render, self.top, self.host_ports()))
        files["README.md"] = render("README.md.j2", **description, comment=comment)
        files["design.schema.json"] = template("design.schema.json")
        files["design.json"] = json.dumps(description, indent=2) + "\n"
        return Design(self.top, files, description)

    def streams(self) -> Iterator[tuple[str, Stream, bool]]:
        yield from ((name, stream, True) for name, stream in self.net.inputs.items())
        yield from ((name, stream, False) for name, stream in self.net.outputs.items())

    def port(self, name: str, stream: Stream, is_input: bool) -> dict[str, Any]:
        return {
            "name": self.ports[name],
            "is_input": is_input,
            "width": stream.payload_width,
        }

    # ------------------------------------------------------------------ the test bench

    def testbench(self) -> dict[str, Any]:
        ports = [
            {**self.port(name, stream, is_input), "gate": literal(np.array(self.vectors.gates[name]), indent=8)}
            for name, stream, is_input in self.streams()
        ]
        last = max(int(self.vectors.expected.cycles[name].max()) for name in self.net.outputs)
        # A beat too many would come within a frame's time of the last one that is due.
        grace = max(s.steps for s in self.net.network.components.values()) + 100
        return {
            "name": self.bench,
            "top": self.top,
            "frames": self.vectors.frames,
            "ports": ports,
            "last_cycle": last + grace,
            "grace": grace,
        }

    # ------------------------------------------------------------------ the host

    def host_ports(self) -> list[HostPort]:
        return [
            HostPort(port_of(self.ports[name], stream, self.encodings.get(name)), is_input)
            for name, stream, is_input in self.streams()
        ]

    def vector_files(self) -> dict[str, str]:
        files = {}
        for name, stream in self.net.inputs.items():
            files[f"vectors/{self.ports[name]}.txt"] = "".join(
                f"{word}\n" for word in payloads(stream, self.vectors.inputs[name])
            )
        for name, stream in self.net.outputs.items():
            words = payloads(stream, self.vectors.expected.values[name])
            cycles = self.vectors.expected.cycles[name].ravel().tolist()
            files[f"vectors/{self.ports[name]}.txt"] = "".join(f"{c} {w}\n" for c, w in zip(cycles, words, strict=True))
        return files
