"""From a graph of values to a program over memory: every node computes into a region of its own."""

from __future__ import annotations

from collections.abc import Mapping

from graphrewrite import Graph, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.graph.type_inference import declared_types, infer
from graphrewrite.hierarchy.graph_sizes import replace_sizes
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.memory.bodies import RUNNING, programs_of
from graphrewrite.lowering.memory.repetition import settle_repetition
from graphrewrite.lowering.memory.states import expose_states
from graphrewrite.op.body import Body
from graphrewrite.op.reserved_keys import OF_THE_OP, attributes_in
from graphrewrite.rules import inline
from graphrewrite.types import OBJECT, TEXT, Type, symbols

__all__ = ["lower_to_memory"]

_STAYS = frozenset({"input", "output", "constant"})


def lower_to_memory(
    graph: Graph, *, sizes: Mapping[str, int] | None = None, inout: Mapping[str, str] | None = None
) -> Graph:
    """Return the program of a graph: regions are allocated, and every op computes into one.

    Constants are regions that nothing writes, and so are inputs, except those that an output shares: variables. What
    registers, delays and counters keep becomes a variable, with the value ``initial`` before the first run, and so do
    inputs with the annotation ``next``, the output that follows them, as those of streaming models have it. Nested
    graphs are expanded first; those that a `cond`, `loop` or `scan` runs become programs of their own.

    Parameters
    ----------
    graph : Graph
        A graph of the level ``nn`` or ``integer``.
    sizes : mapping of str to int, optional
        Numbers for symbolic sizes, without which memory has no plan.
    inout : mapping of str to str, optional
        Inputs that are variables: each with the output that has its value afterwards, in the same region.

    Returns
    -------
    Graph
        Of the level ``memory``; it gives the same bits. Nodes keep their names, annotations and predicates.

    Raises
    ------
    LoweringError
        If a value has no size that is known before the graph runs, or a node carries a stream, or has an effect beside
        its result.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[2,4]
    ... r = relu(x)
    ... y = output(r)''')
    >>> print(lower_to_memory(g))
    graph g
    x = input() : f32[2,4]
    r_region = alloc(element='f32', shape=[2, 4]) : f32[2,4]
    r = into(r_region, x, of='relu') : f32[2,4]
    y = output(r)
    """
    lowered = inline(graph)
    lowered = lowered.copy() if lowered is graph else lowered
    if sizes:
        replace_sizes(lowered, _checked(graph, sizes))
        infer(lowered)
    expose_states(lowered)
    settle_repetition(lowered)
    for node in lowered.in_order():
        op, data = lowered.op(node), lowered.nodes[node]
        if data["type"] in _STAYS or op.level == "memory":
            continue
        own = attributes_in(data, op)
        kinds = declared_types(lowered, node) or ()
        _check(lowered, node, kinds)
        if not kinds:
            continue  # an effect alone, which writes nothing
        programs = programs_of(lowered, node, lower_to_memory) if data["type"] in RUNNING else {}
        for source in lowered.pred[node]:
            edge = lowered.edges[source, node]
            edge["slots"] = tuple((slot + len(kinds), result) for slot, result in edge.get("slots", ()))
        for key in (*own, *(key for key in OF_THE_OP if key in data)):
            del data[key]
        own = {key: value for key, value in own.items() if key not in programs}
        data.update({"type": "into", "of": op.name})
        data.update({"attributes": own} if own else {})
        data.update({"outs": len(kinds)} if len(kinds) > 1 else {})
        data.update(programs)
        for index, kind in enumerate(kinds):
            region = _allocated(lowered, node, f"{node}_region" + (f"_{index}" if index else ""), kind)
            lowered.add_edge(region, node, slots=((index, 0),))
    _give_outputs_regions(lowered, _shared(lowered, {**_variables(lowered), **(inout or {})}))
    return lowered


def _variables(graph: Graph) -> dict[str, str]:
    """Return the inputs that say which output has their next value, of the same type."""
    found = {}
    for name in graph.inputs:
        after = graph.nodes[name].get("next")
        if after in graph.outputs and graph.result_type(name) == graph.result_type(*graph.operands(after)[0]):
            found[name] = after
    return found


def _checked(graph: Graph, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Return numbers for sizes, which inputs have."""
    named = {n for name in graph.inputs for size in graph.result_type(name).shape for n in symbols(size)}
    for name, number in sizes.items():
        if name not in named:
            raise LoweringError(f"sizes names {name!r}, which no input has{did_you_mean(name, sorted(named))}")
        if number < 0:
            raise LoweringError(f"the size {name!r} is a number that is not negative, got {number!r}")
    return sizes


def _check(graph: Graph, node: str, kinds: tuple[Type, ...]) -> None:
    op = graph.op(node)
    if op.level in ("stream", "generic"):
        what = "carries a stream" if op.level == "stream" else "is unknown"
        raise LoweringError(
            f"{op.name} {what}, which no program over memory does; lower the graph without it", node=node
        )
    if op.level == "structure" or op.step is not None:
        raise LoweringError(
            f"{op.name} keeps a state that only it knows; make that an input with the annotation next=, and an output",
            node=node,
        )
    own = attributes_in(graph.nodes[node], op)
    if op.name not in RUNNING and any(isinstance(each, Body) for each in own.values()):
        raise LoweringError(
            f"{op.name} runs graphs of its own, whose memory no plan knows; write it by {', '.join(sorted(RUNNING))}",
            node=node,
        )
    for kind in kinds:
        if not isinstance(kind, Tensor) or kind.element in (OBJECT, TEXT):
            raise LoweringError(
                f"gives {kind}, which has no fixed size in memory; cut the graph so that only tensors of numbers are "
                "computed",
                node=node,
            )
        if kind.unknowns:
            loop = op.name in ("loop", "cond")
            remedy = (
                "a loop of a constant number of iterations, and branches of equal types, have one that is known"
                if loop
                else "fold it, or cut the graph before it"
            )
            raise LoweringError(f"gives {kind}, whose size only the run decides; {remedy}", node=node)
    if kinds and op.has_effects(own):
        raise LoweringError(f"{op.name} has an effect and a result; write the effect as a node of its own", node=node)


def _allocated(graph: Graph, node: str, name: str, kind: Type) -> str:
    """Add a region for a value of a node."""
    assert isinstance(kind, Tensor)
    name = _free(graph, name)
    layout = {} if kind.layout is None else {"layout": kind.layout}
    graph.add_node(name)
    graph.nodes[name].update(
        {"type": "alloc", "element": kind.element, "shape": kind.shape, **layout, "result": kind},
        origin=graph.origin(node),
    )
    return name


def _free(graph: Graph, name: str) -> str:
    return name if name not in graph else graph.fresh(name)


def _save(graph: Graph, output: str, value: Operand) -> None:
    """Copy what a variable becomes that another one is, which may be overwritten first."""
    kind = graph.result_type(*value)
    region = _allocated(graph, output, f"{output}_before_region", kind)
    copy = _free(graph, f"{output}_before")
    graph.add_node(copy)
    graph.nodes[copy].update({"type": "copy", "result": kind}, origin=graph.origin(output))
    graph.add_edge(region, copy, slots=((0, 0),))
    graph.add_edge(value.node, copy, slots=((1, value.result),))
    move_slot(graph, output, 0, Operand(copy))


def _shared(graph: Graph, inout: Mapping[str, str]) -> dict[str, str]:
    """Mark the outputs that share the region of an input; return them with it."""
    for given, result in inout.items():
        for name, names, what in ((given, graph.inputs, "input"), (result, graph.outputs, "output")):
            if name not in names:
                raise LoweringError(f"inout names {name!r}, which is no {what}{did_you_mean(name, names)}")
        kinds = graph.result_type(given), graph.result_type(*graph.operands(result)[0])
        if kinds[0] != kinds[1]:
            raise LoweringError(
                f"the input {given!r} is {kinds[0]}, and its value afterwards {kinds[1]}; convert one to the "
                "type of the other",
                node=result,
            )
        graph.nodes[result]["region"] = given
    return {result: given for given, result in inout.items()}


def _give_outputs_regions(graph: Graph, shared: Mapping[str, str]) -> None:
    """Copy values of outputs that lie in no region of their own: inputs, constants, values of other outputs."""
    for output, variable in shared.items():
        (value,) = graph.operands(output)
        if value.node in shared.values() and value.node != variable:
            _save(graph, output, value)
    taken: set[Operand] = set()
    for output in sorted(graph.outputs, key=lambda name: name in shared):
        (value,) = graph.operands(output)
        if output not in shared and value not in taken and graph.nodes[value.node]["type"] not in ("input", "constant"):
            taken.add(value)
            continue
        copy = _free(graph, f"{output}_value")
        graph.add_node(copy)
        kind = graph.result_type(*value)
        graph.nodes[copy].update({"type": "copy", "result": kind}, origin=graph.origin(output))
        region = shared.get(output) or _allocated(graph, output, f"{output}_region", kind)
        slots = {region: ((0, 0),)}
        slots[value.node] = (*slots.get(value.node, ()), (1, value.result))
        for source, each in slots.items():
            graph.add_edge(source, copy, slots=each)
        graph.remove_edge(value.node, output)
        graph.add_edge(copy, output, slots=((0, 0),))
        if output in shared:  # what reads the variable as it was comes before
            for reader in sorted({each.node for each in graph.readers(region)} - {copy}):
                graph.add_control(reader, copy, "overwrite")
