"""Write a graph as C."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor, rewrite
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.type_inference import declared_types
from graphrewrite.hdl import Design
from graphrewrite.hdl.emission.description import version
from graphrewrite.hdl.emission.design import FORMAT
from graphrewrite.hdl.emission.rendering import renderer
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.lowering.c.along import ALONG
from graphrewrite.lowering.c.arrays import Array, literal
from graphrewrite.lowering.c.control import CONTROL, bodies_of
from graphrewrite.lowering.c.elementwise import ELEMENTWISE
from graphrewrite.lowering.c.identifiers import c_comment, name_table
from graphrewrite.lowering.c.integers import INTEGERS
from graphrewrite.lowering.c.kernel import Kernel
from graphrewrite.lowering.c.moves import MOVES
from graphrewrite.lowering.c.pools import POOLS
from graphrewrite.lowering.c.products import PRODUCTS
from graphrewrite.lowering.c.program import Program
from graphrewrite.lowering.c.qonnx import QONNX
from graphrewrite.lowering.c.resizing import RESIZING
from graphrewrite.lowering.c.searching import SEARCHING
from graphrewrite.lowering.composite import LOWER_COMPOSITE, lowered_ops
from graphrewrite.lowering.errors import LoweringError, UnsupportedOpsError
from graphrewrite.lowering.memory import lower_to_memory
from graphrewrite.lowering.memory.repetition import settle_repetition
from graphrewrite.lowering.memory.states import expose_states
from graphrewrite.rules import eliminate_dead_nodes, eliminate_independent_nodes
from graphrewrite.rules.memory import MEMORY_RULES
from graphrewrite.types import OBJECT, TEXT, Dimension, Type, symbols

__all__ = ["C_OPS", "KERNELS", "to_c"]

KERNELS: Mapping[str, Kernel] = {
    **ELEMENTWISE,
    **INTEGERS,
    **QONNX,
    **ALONG,
    **SEARCHING,
    **PRODUCTS,
    **POOLS,
    **RESIZING,
    **MOVES,
}
"""How each op is written in C."""

C_OPS = frozenset({*KERNELS, *CONTROL})
"""The ops that C has."""

_STAYING = frozenset({"input", "output", "constant"})
_WIDTH = 100
"""Characters of a line of a table."""


def to_c(graph: Graph, *, name: str | None = None, sizes: Mapping[str, int] | None = None) -> Design:
    """Return a graph as C99: one file with its header, and a program that runs it on frames of the standard input.

    There is no allocation: constants are tables, and values between steps share one static region, whose size the
    lives of the values decide. Each step names its node. Whole numbers have the same bits as by `evaluate`, and real
    numbers are rounded in another order.

    Parameters
    ----------
    graph : Graph
        A graph of real numbers, of integers, or both. Composite ops that C lacks are written by others. A program over
        memory, as `lower_to_memory` gives, is written as it is, with regions placed anew.
    name : str, optional
        Of the function and the files, made a legal identifier; the graph's name where not given.
    sizes : mapping of str to int, optional
        Numbers for its symbolic sizes; one that is the first axis of an input, its batch, is 1 where not given.

    Returns
    -------
    Design
        The files ``<name>.c``, ``<name>.h`` and ``main.c``; its `description` says what the ports are.

    Raises
    ------
    UnsupportedOpsError
        If nodes cannot be written in C, or sizes are open; names all of them, with reasons.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse('''graph tiny
    ... x = input() : f32[N,3]
    ... a = relu(x)
    ... b = mul(a, a)
    ... y = output(b)''')
    >>> print(to_c(g).files["tiny.c"].partition("void ")[2])
    tiny(const float x[3], float y[3])
    {
        /* a = relu(x) : f32[1,3] */
        for (int32_t i0 = 0; i0 < 3; ++i0) {
            const float v0 = x[i0];
            y[i0] = v0 < 0 ? 0 : v0;
        }
    <BLANKLINE>
        /* b = mul(a, a) : f32[1,3] */
        for (int32_t i0 = 0; i0 < 3; ++i0) {
            const float v0 = y[i0];
            const float v1 = y[i0];
            y[i0] = v0 * v1;
        }
    }
    <BLANKLINE>
    """
    flat = flatten(as_graph(graph, "that can be written in C"))
    given = {**dict.fromkeys(_batch(flat), 1), **(sizes or {})}
    sized = flat.with_sizes(given) if given else flat
    if opened := _open_sizes(sized):
        asked = ", ".join(f"{size!r}: ..." for size in opened)
        raise UnsupportedOpsError(f"C has arrays of known sizes only; give numbers for sizes={{{asked}}}")
    is_program = any(sized.op(node).level == "memory" for node in sized)
    graph = _without_places(sized) if is_program else _over_memory(sized)
    names = name_table()
    own = names.give(name or graph.name or "network")
    reset = names.give(f"{own} reset")
    program = Program.of(graph, KERNELS, names)
    if program.refused:
        raise _refusal(program.refused)
    return _design(own, reset, program, graph)


def _without_places(graph: Graph) -> Graph:
    """Return a program without the places that its text may say: C has places of its own."""
    free = graph.copy()
    for data in free.nodes.values():
        data.pop("at", None)
    for node, key, body in graph.bodies():
        free.nodes[node][key] = _without_places(body).as_body()
    return free


def _over_memory(graph: Graph) -> Graph:
    """Return a program over memory whose ops C has, in as few regions and copies as rules find."""
    graph = graph.copy()
    try:
        expose_states(graph)
    except LoweringError as error:
        found = [node for node in graph.in_order() if graph.op(node).step is not None]
        others = [each for each in _without_kernel(graph) if not each.endswith(tuple(f"({node})" for node in found))]
        raise _refusal([str(error), *others]) from None
    settle_repetition(graph)
    members = [member for member in LOWER_COMPOSITE if not lowered_ops(member) & C_OPS]
    lowered = rewrite(graph, (*members, eliminate_dead_nodes, eliminate_independent_nodes))
    if refused := _without_kernel(lowered):
        raise _refusal(refused)
    try:
        program = lower_to_memory(lowered)
    except LoweringError as error:
        raise _refusal([str(error)]) from None
    return rewrite(program, MEMORY_RULES)


def _refusal(refused: list[str]) -> UnsupportedOpsError:
    return UnsupportedOpsError(
        f"{len(refused)} node{'s' if len(refused) > 1 else ''} cannot be written in C: {', '.join(refused)}; replace "
        "them by rules first, by ops in graphrewrite.lowering.C.ops and types that C has"
    )


def _without_kernel(graph: Graph) -> list[str]:
    """The nodes whose ops or results have no C, of those that memory knows; the others have reasons of their own."""
    found = _lacking(graph)
    return found + [f"{each} in {name!r}" for name, body in bodies_of(graph) for each in _lacking(body)]


def _lacking(graph: Graph) -> list[str]:
    refused = []
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        others = [each for each in declared_types(graph, node) or () if not _is_in_memory(each)]
        if kind not in C_OPS and kind not in _STAYING:
            refused.append(f"{kind} ({node})")
        elif others:
            refused.append(f"{kind} ({node}: C has no type for {others[0]})")
        elif openly := [each for each in declared_types(graph, node) or () if each.unknowns]:
            refused.append(f"{kind} ({node}: it gives {openly[0]}, whose size only the run decides)")
    return refused


def _is_in_memory(kind: Type) -> bool:
    return isinstance(kind, Tensor) and kind.element not in (TEXT, OBJECT)


def _batch(graph: Graph) -> list[str]:
    """The names of sizes that are the first axis of an input, of which frames are computed one by one."""
    kinds = [graph.result_type(name) for name in graph.inputs]
    first: list[Dimension] = [kind.shape[0] for kind in kinds if isinstance(kind, Tensor) and kind.shape]
    return sorted({str(size) for size in first if isinstance(size, str) and symbols(size) == (str(size),)})


def _open_sizes(graph: Graph) -> list[str]:
    """The names in the sizes of inputs for which there are no numbers."""
    kinds = [graph.result_type(name) for name in graph.inputs]
    sizes = [size for kind in kinds if isinstance(kind, Tensor) for size in kind.shape if isinstance(size, str)]
    return sorted({name for size in sizes for name in symbols(size)})


def _design(name: str, reset: str, program: Program, graph: Graph) -> Design:
    lines = [line for step in program.steps for line in step.lines if not line.lstrip().startswith("/*")]
    words = set(re.findall(r"\w+", "\n".join(lines)))
    functions = _functions(words)
    tables = [table for table in program.tables.values() if table.name in words]
    states = [_state(graph, variable, array) for variable, array in program.states.items()]
    hidden = {*program.states, *(program.variables[each] for each in program.states)}
    ports = [_port(graph, program, port, array) for port, array in program.ports.items() if port not in hidden]
    buffers = [
        f"{array.type} *const {array.name} = ({array.type} *)(void *)(arena.bytes + {offset});"
        for array, offset in program.buffers.values()
        if array.name in words
    ]
    own = [port for port in ports if port["is_own"]]
    unread = [f"(void){port['variable']};" for port in own if port["variable"] not in words]
    about = {
        "name": name,
        "file": name,
        "guard": name.upper(),
        "title": c_comment(graph.name or name),
        "version": version(),
        "parameters": ", ".join(port["parameter"] for port in own) or "void",
        "arguments": ", ".join(port["variable"] for port in own),
        "states": states,
        "reset": reset,
        "arena": program.plan.size,
        "table_bytes": sum(np.asarray(table.value).nbytes for table in tables),
        "ports": ports,
        "takes": any(port["is_input"] for port in ports),
    }
    steps = [{"comment": step.comment, "lines": step.scoped()} for step in program.steps]
    render = renderer(_template, "C files")
    files = {
        f"{name}.c": render(
            "source.c.j2",
            **about,
            functions=functions,
            tables=[_table(table) for table in tables],
            buffers=[*buffers, *unread],
            steps=steps,
        ),
        f"{name}.h": render("header.h.j2", **about),
        "main.c": render("main.c.j2", **about),
    }
    written = ("name", "variable", "direction", "element", "shape", "type")
    description = {
        "generator": "graphrewrite",
        "version": version(),
        "format": FORMAT,
        "language": "c",
        "name": name,
        "arena": program.plan.size,
        "arena_bound": program.plan.bound,
        "tables": about["table_bytes"],
        "ports": [{key: port[key] for key in written} for port in ports],
        "states": [{key: state[key] for key in ("name", "next", *written[1:2], *written[3:])} for state in states],
        "steps": [{"node": step.node, "origin": list(graph.origin(step.node))} for step in program.steps],
    }
    files["design.json"] = json.dumps(description, indent=2) + "\n"
    return Design(name, files, description)


def _state(graph: Graph, name: str, array: Array) -> dict[str, Any]:
    """Return what is said of a variable that is kept between frames."""
    data, count = graph.nodes[name], max(array.size, 1)
    first = np.broadcast_to(np.asarray(data.get("initial", 0)).astype(array.dtype), array.shape)
    numbers = [literal(number, array.dtype) for number in first.ravel()] or ["0"]
    is_even = len(set(numbers)) == 1
    return {
        "name": name,
        "next": data["next"],
        "variable": array.name,
        "element": str(graph.result_type(name).element),
        "shape": list(array.shape),
        "type": array.type,
        "count": count,
        "comment": c_comment(f"{name}: {graph.result_type(name)}"),
        "number": numbers[0] if is_even else None,
        "lines": [] if is_even else _wrapped(numbers),
    }


def _port(graph: Graph, program: Program, name: str, array: Array) -> dict[str, Any]:
    is_input = name in graph.inputs
    is_variable = name in program.variables
    is_own = is_input or graph.nodes[name].get("region") is None
    after = f", afterwards {c_comment(str(program.variables[name]))}" if is_variable else ""
    kind = graph.result_type(*((name, 0) if is_input else graph.operands(name)[0]))
    count = max(array.size, 1)
    return {
        "name": name,
        "label": c_comment(name) if array.name == name else f"{array.name} ({c_comment(name)})",
        "comment": c_comment(str(kind)) + after,
        "variable": array.name,
        "is_input": is_input,
        "direction": "in" if is_input else "out",
        "element": str(kind.element),
        "shape": list(array.shape),
        "type": array.type,
        "count": count,
        "is_own": is_own,
        "parameter": f"{'const ' * (is_input and not is_variable)}{array.type} {array.name}[{count}]",
    }


def _table(table: Array) -> dict[str, Any]:
    numbers = np.asarray(table.value).ravel()
    texts = [literal(number, table.dtype) for number in numbers] or ["0"]
    shape = ", ".join(map(str, table.shape))
    return {
        "name": table.name,
        "type": table.type,
        "count": max(len(numbers), 1),
        "lines": _wrapped(texts),
        "comment": f"{table.name} [{shape}]",
    }


def _wrapped(texts: list[str]) -> list[str]:
    """Return the lines of a list of numbers."""
    lines, line = list[str](), ""
    for text in texts:
        if len(line) + len(text) + 2 > _WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += f"{text}, "
    return [*lines, line.rstrip(" ,")]


# ---------------------------------------------------------------------- templates


def _template(name: str) -> str:
    return resources.files("graphrewrite.lowering").joinpath("c", "templates", name).read_text(encoding="utf-8")


@cache
def _library() -> dict[str, str]:
    """The C functions that steps may call, by name, in the order in which they call each other."""
    conversions = []
    for sign in ("int", "uint"):
        for bits in (8, 16, 32, 64):
            ends = np.iinfo(f"{sign}{bits}")
            low = "-1.0" if sign == "uint" else literal(float(ends.min), np.dtype(np.float64))
            high = literal(float(ends.max) if bits < 64 else float(2 ** (bits - (sign == "int"))), np.dtype(np.float64))
            first = literal(ends.min, ends.dtype)
            conversions.append((f"{sign}{bits}", low, high, first, literal(ends.max, ends.dtype)))
    text = renderer(_template, "C files")("functions.c", conversions=conversions)
    found = re.findall(r"/\*.*?^}", text.partition("\n\n")[2], re.DOTALL | re.MULTILINE)
    return {re.findall(r"^static \w+ (\w+)\(", each, re.MULTILINE)[0]: each for each in found}


def _functions(words: set[str]) -> list[str]:
    """The functions that are called, and those that these call."""
    library, needed = _library(), set[str]()
    for name in reversed(list(library)):
        if name in words or any(re.search(rf"\b{name}\(", library[each]) for each in needed):
            needed.add(name)
    return [text for name, text in library.items() if name in needed]
