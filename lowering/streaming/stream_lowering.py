"""Lower an integer network to streaming hardware components, by rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from graphrewrite import Graph, Module, Rule, pass_
from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.component import Component, Site, streams
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.netlist import hardware_names, with_passed
from graphrewrite.hierarchy.blocks import flattened, main_graph
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.errors import MOST_NAMED, LoweringError, ParallelismError, declined_reasons, origins_text
from graphrewrite.lowering.folding.folder import Limits, fold
from graphrewrite.lowering.folding.folding_report import FoldingReport
from graphrewrite.lowering.host_partition import forget_names_of_axes, partition
from graphrewrite.lowering.implementations import check_hardware_is_used
from graphrewrite.lowering.preparation.broadcasting import spread_operand
from graphrewrite.lowering.recorded_steps import recorded
from graphrewrite.lowering.shift_add import UNROLL_SHIFT_ADD
from graphrewrite.lowering.streaming.bridge import enter, leave
from graphrewrite.lowering.streaming.channelwise import MAP_LANES
from graphrewrite.lowering.streaming.constant_sources import MAP_SOURCES
from graphrewrite.lowering.streaming.layers import MAP_LAYERS
from graphrewrite.lowering.streaming.movement import MAP_MOVEMENT, split_channels
from graphrewrite.lowering.streaming.multiplier_free import MAP_COUNTING
from graphrewrite.lowering.streaming.scaling import MAP_SCALING
from graphrewrite.op.op import Op
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import eliminate_dead_nodes, merge_equal_nodes
from graphrewrite.runtime.catalogue import Catalogue
from graphrewrite.runtime.plugins import offered
from graphrewrite.types import Stream, symbols

__all__ = ["LOWER_TO_STREAM", "to_stream"]

LOWER_TO_STREAM = (*MAP_LAYERS, *MAP_LANES, *MAP_SCALING, *MAP_SOURCES, *MAP_MOVEMENT)
"""From integer tensors to components on streams."""

_RULES = Catalogue((*LOWER_TO_STREAM, *MAP_COUNTING))


@pass_
def drop_bridges(graph: Graph) -> list[str]:
    """Make inputs and outputs streams where a tensor only enters or leaves; what leaves and enters again stays one."""
    removed = []
    # Entries first: a value that is entered again has left for its other readers only.
    for kind in ("enter", "leave"):
        for node in [n for n in graph.in_order() if graph.nodes[n]["type"] == kind]:
            source = graph.operands(node)[0]
            if kind == "enter" and graph.nodes[source.node]["type"] == "leave":
                source = graph.operands(source.node)[0]
            elif kind == "enter":
                graph.nodes[source.node]["result"] = graph.result_type(node)
            elif any(graph.nodes[reader]["type"] != "output" for reader in graph.successors(node)):
                continue
            rewire(graph, node, source)
            graph.remove_node(node)
            removed.append(node)
    return removed


def to_stream(
    graph: Graph | Module,
    *,
    parallelism: str | int | Mapping[str, str | int] = "full",
    interval: int | None = None,
    latency: int | None = None,
    max_multipliers: int | None = None,
    max_memory_bits: int | None = None,
    stages: int = 1,
    shift_add: bool = False,
    rules: Sequence[Rule] = _RULES,
    components: tuple[Component, ...] = COMPONENTS,
    implementations: Library | None = None,
    plugins: Iterable[str] = (),
    steps: list[Step] | None = None,
    reports: list[FoldingReport] | None = None,
) -> Graph:
    """Return the hardware of an integer network: components connected by streams.

    Parameters
    ----------
    graph : Graph or Module
        What `to_integer` gives; of a module its main graph. Conversions at its inputs and outputs stay with the host
        (see `partition`). Nested graphs become entities of their own in `hdl.emit`. Hardware computes every sample:
        predicates go, with what only they need.
    parallelism : "full", "folded", int or mapping
        ``"full"`` unrolls every layer, ``"folded"`` gives each layer one multiplier, a number gives each layer at most
        that many; a mapping says it for layers by the name of their origin, with ``"default"`` for the rest. A layer of
        one use of a nested graph is ``"block_1.conv_1"``, one of all uses ``"block.conv_1"``; all uses have one folding
        where nothing else is said.
    interval : int, optional
        Cycles from frame to frame that are wanted: layers get as few multipliers as that needs.
    latency : int, optional
        Cycles from the first beat of a frame to the last of its result that are wanted, as `hdl.predict` measures them:
        layers get few multipliers within that. Budgets beside it make the interval as short as they allow.
    max_multipliers, max_memory_bits : int, optional
        For the whole design: the interval is as short as they allow.
    stages : int
        Pipeline stages of each computation, where it is long enough: more give a faster clock and a longer latency.
    shift_add : bool
        Whether products of fully unrolled layers become additions of shifted numbers, with shared subexpressions.
    rules : sequence of Rule
        From ops of the integer level to components, and from components to cheaper ones.
    components : tuple of Component
        What the rules may use: yours beside `COMPONENTS`.
    implementations : mapping of str to Graph, Op or Component, optional
        Where names that nodes have in their annotation ``implementation`` are looked up first; then come the module of
        the graph, and the components by their op or entity. Components that are passed here count among them.
    plugins : iterable of str
        Names of plugins whose components and lowerings are used, too, the lowerings first; see `graphrewrite.plugin`.
    steps : list of Step, optional
        Collects what each rule did.
    reports : list of FoldingReport, optional
        Collects what each layer got, which component is the slowest, and what a shorter interval would cost.

    Returns
    -------
    Graph
        Level ``stream``, with forks where a stream has several readers, and first-in-first-out buffers where branches
        meet.

    Raises
    ------
    ImplementationError
        If an implementation that a node names is missing, or does not fit.
    LoweringError
        Naming every node that has no component, and why.
    ParallelismError
        If the interval, the latency or the budget cannot be met, with the nearest that can.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... f = to_fixed(x, element=s8f4)
    ... r = relu(f)
    ... z = from_fixed(r, fraction=4)
    ... y = output(z)''')
    >>> print(to_stream(g))
    graph g
    x = input() : stream s8f4[3]
    stream_clip_1 = stream_clip(x, low=0, high=127) : stream s8f4[3]
    y = output(stream_clip_1)
    """
    rules = (*offered(plugins, "lowerings"), *rules)
    components = with_passed((*components, *offered(plugins, "components")), implementations)
    _check_numbers(
        stages, interval=interval, latency=latency, max_multipliers=max_multipliers, max_memory_bits=max_memory_bits
    )
    names = hardware_names(main_graph(graph), components, implementations)
    flat = flattened(graph, names)
    check_hardware_is_used(flat)
    core = _with_usual_batch(partition(flat).core)
    forget_names_of_axes(core)
    for name in core.inputs:
        if core.succ[name]:
            entered = enter(core.value(name))
            # Each input becomes leave(enter(input)): the rules move the leave towards the outputs.
            rewire(core, name, Operand(entered.node))
            left = leave(entered)
            rewire(core, entered.node, Operand(left.node))
            if left.type != core.result_type(name):
                raise LoweringError(
                    f"its batch has the fixed size {core.result_type(name).shape[0]}; import the model with a "
                    "free batch",
                    node=name,
                )
    lowered = recorded(core, (spread_operand, *rules, split_channels, eliminate_dead_nodes, merge_equal_nodes), steps)
    _check_lowered(lowered, rules)
    _check_components(lowered, components)
    limits = Limits(interval, max_multipliers, max_memory_bits, latency)

    def finish(folded: Graph, steps: list[Step] | None = None) -> Graph:
        unrolled = recorded(folded, UNROLL_SHIFT_ADD, steps) if shift_add else folded.copy()
        return insert_fifos(insert_forks(_staged(unrolled, stages)), components)

    folded, report = fold(
        drop_bridges(lowered), parallelism=parallelism, limits=limits, components=components, finish=finish
    )
    if reports is not None:
        reports.append(report)
    return finish(folded, steps)


def _with_usual_batch(core: Graph) -> Graph:
    """Return the core with the batch called as that of streams; all other sizes must be numbers."""
    batches: dict[str, str] = {}
    for name in filter(core.succ.get, core.inputs):
        batch, *frame = core.result_type(name).shape or (1,)
        for size in frame:
            if names := symbols(size):
                raise LoweringError(
                    f"the input is {core.result_type(name)}, and a stream of frames needs a number for {names[0]}: "
                    f"call graph.with_sizes({{{names[0]!r}: …}}) before it is quantised",
                    node=name,
                )
        if isinstance(batch, str):
            batches.setdefault(batch, name)
    if len(batches) > 1:
        (one, first), (other, second), *_ = batches.items()
        raise LoweringError(
            f"its batch is {other}, and that of {first!r} is {one}, but all streams carry as many frames: call "
            f"graph.with_sizes({{{other!r}: {one!r}}}) before",
            node=second,
        )
    own = [batch for batch in batches if batch != "N"]
    if own and not own[0].isidentifier():
        raise LoweringError(
            f"its batch is {own[0]}; give the inputs a batch with a name of its own", node=batches[own[0]]
        )
    return core.with_sizes({own[0]: "N"}) if own else core


def _staged(graph: Graph, stages: int) -> Graph:
    """Give each computation so many pipeline stages, or as many as it can use; nothing else changes."""
    if stages < 1:
        raise LoweringError(f"stages={stages!r}: give a number of pipeline stages, from 1")
    for node in graph.in_order() if stages > 1 else ():
        node_op = graph.op(node)
        if "stages" in node_op.attributes:
            operands = streams(*(graph.result_type(o.node, o.result) for o in graph.operands(node)))
            attributes = graph.attributes(node)
            # How many stages a component has use for is known to its type inference only.
            used = 1
            while used < stages and _infers(node_op, operands, {**attributes, "stages": used + 1}):
                used += 1
            graph.nodes[node]["stages"] = used
    return graph


def _infers(component_op: Op, operands: tuple[Stream, ...], attributes: Mapping[str, Any]) -> bool:
    try:
        Site.of(component_op, *operands, **attributes)
    except TypeMismatchError:
        return False
    return True


def _check_numbers(stages: object, **limits: object) -> None:
    if not _is_whole(stages):
        raise LoweringError(f"stages={stages!r}: give a number of pipeline stages, from 1")
    for name, limit in limits.items():
        if limit is not None and not _is_whole(limit):
            raise ParallelismError(f"{name}={limit!r}: give a whole number, from 1")


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _check_components(graph: Graph, components: Sequence[Component]) -> None:
    computed = {component.op.name for component in components}
    for node in graph.in_order():
        node_op = graph.op(node)
        if node_op.level == "stream" and node_op.name not in computed:
            raise LoweringError(
                f"no component computes {node_op.name}; give components=(*COMPONENTS, yours), or leave out the rule "
                "that makes it",
                node=node,
            )


def _check_lowered(graph: Graph, rules: Sequence[Rule]) -> None:
    left = [n for n in graph.in_order() if graph.op(n).level not in ("stream", "bridge", "structure")]
    if not left:
        return
    reasons = [f"{origins_text(graph, n)}: {_reason_of(graph, n, left, rules)}" for n in left[:MOST_NAMED]]
    if len(left) > MOST_NAMED:
        reasons.append(f"and {len(left) - MOST_NAMED} more")
    raise LoweringError(
        f"{len(left)} nodes have no hardware: {'; '.join(reasons)}; replace them by rules, give components of your "
        "own, or leave them to the host"
    )


def _reason_of(graph: Graph, node: str, left: Sequence[str], rules: Sequence[Rule]) -> str:
    """The reason why no rule mapped a node to a component."""
    fitting = [r for r in rules if graph.nodes[node]["type"] in (r.definition.root_kinds or ())]
    # The last of the rules that fit is the most general one.
    if declined := declined_reasons(graph, node, fitting):
        return declined[-1]
    before = [o.node for o in graph.operands(node) if o.node in left]
    if before:
        return f"it reads {origins_text(graph, before[0])}"
    return fitting[0].explain(graph, at=node) if fitting else f"no component computes {graph.nodes[node]['type']}"
