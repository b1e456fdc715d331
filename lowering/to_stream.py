"""Lower an integer network to streaming hardware components, by rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphrewrite import Constant, Graph, decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.window import window
from graphrewrite.lowering.bridge import enter, leave
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.host import forget_names_of_axes, partition
from graphrewrite.lowering.parallelism import fold
from graphrewrite.lowering.record import recorded
from graphrewrite.op.fixed import limits
from graphrewrite.op.pooling import has_window_in_border
from graphrewrite.rules import eliminate_dead_nodes, merge_equal_nodes
from graphrewrite.trace import Step
from graphrewrite.wiring import rewire

__all__ = ["LOWER_TO_STREAM", "to_stream"]


def _too_wide(*values):
    """Why no lane holds one of some values, or None."""
    wide = [v.type.element for v in values if v.type.element.width > LANE_BITS]
    return f"a lane has at most {LANE_BITS} bits, and {wide[0]} has {wide[0].width}" if wide else None


def _plane(shape, count=2):
    """Sizes of the spatial axes, or None where there are not that many."""
    return shape[2:] if len(shape) == 2 + count else None


@rule(shared="keep", kind="lowering")
def map_linear(x, w: Constant, b: Constant):
    """A fully-connected layer is a matrix times the lanes of the one beat of a frame."""
    layer = op.integer_linear(leave(x), w, b)
    yield layer
    if reason := _too_wide(x, layer):
        return decline(reason, at=layer)
    return leave(matvec(x, weights=w.value, bias=b.value, element=layer.element))


@rule(shared="keep", kind="lowering")
def map_conv(x, w: Constant, b: Constant):
    """A convolution is a matrix times the lanes of a sliding window; groups and dilation are zeros in the matrix."""
    conv = op.integer_conv(leave(x), w, b)
    yield conv
    if reason := _too_wide(x, conv):
        return decline(reason, at=conv)
    if _plane(conv.shape) is None:
        return decline("only convolutions over two axes have a component", at=conv)
    dense, pads = _within_pads(_dense(w.value, conv.groups, conv.dilations), conv.pads)
    outputs, _, *kernel = dense.shape
    windows = x
    if kernel != [1, 1] or any(pads) or tuple(conv.strides) != (1, 1):
        windows = window(x, kernel=tuple(kernel), strides=conv.strides, pads=pads)
    matrix = dense.transpose(0, 2, 3, 1).reshape(outputs, -1)
    return leave(matvec(windows, weights=matrix, bias=b.value, element=conv.element))


def _dense(w, groups, dilations):
    """The same convolution without groups and dilation: weights that are not there are zero."""
    outputs, inner, *kernel = w.shape
    spread = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    dense = np.zeros((outputs, inner * groups, *spread), np.int64)
    taps = tuple(slice(None, None, d) for d in dilations)
    for g in range(groups):
        rows = slice(g * outputs // groups, (g + 1) * outputs // groups)
        dense[(rows, slice(g * inner, (g + 1) * inner), *taps)] = w[rows]
    return dense


def _within_pads(w, pads):
    """The same convolution with a first window that reaches into the image: zero weights below and to the right."""
    top, left, bottom, right = pads
    rows, columns = max(0, top + 1 - w.shape[2]), max(0, left + 1 - w.shape[3])
    return np.pad(w, ((0, 0), (0, 0), (0, rows), (0, columns))), (top, left, bottom + rows, right + columns)


@rule(shared="keep", kind="lowering")
def map_max_pool(x):
    """A pooling is the greatest lane of a sliding window, channel by channel; the border holds the least mantissa."""
    pool = op.max_pool(leave(x))
    yield pool
    if reason := _too_wide(x):
        return decline(reason, at=pool)
    if _plane(pool.shape) is None:
        return decline("only pooling over two axes has a component", at=pool)
    if pool.ceil_mode or set(pool.dilations) != {1}:
        return decline("only windows without gaps that stay within the border have a component", at=pool)
    if has_window_in_border(x.shape[1:], pool.kernel, pool.strides, pool.pads):
        return decline("a window lies wholly in the border", at=pool)
    taps = int(np.prod(pool.kernel))
    windows = window(x, kernel=pool.kernel, strides=pool.strides, pads=pool.pads, fill=x.type.element.minimum)
    return leave(maximum(windows, groups=taps))


@rule(shared="keep", kind="lowering")
def map_requantise(x):
    """A shift with rounding and saturation is done lane by lane."""
    narrow = op.requantise(leave(x))
    yield narrow
    if reason := _too_wide(x):
        return decline(reason, at=narrow)
    if narrow.element.width > 31:
        return decline(
            f"its result of {narrow.element.width} bits is wider than the 31 that the component gives", at=narrow
        )
    low, high = limits(narrow.element, narrow.low, narrow.high)
    if low > high:
        return decline(f"its limits {narrow.low} to {narrow.high} leave no number", at=narrow)
    bounds = {"low": None if narrow.low is None else low, "high": None if narrow.high is None else high}
    return leave(requantise(x, shift=narrow.shift, element=narrow.element, **bounds))


@rule(shared="keep", kind="lowering")
def map_relu(x):
    """Rectifying is limiting from below at zero."""
    rectified = op.relu(leave(x))
    yield rectified
    if reason := _too_wide(x):
        return decline(reason, at=rectified)
    return leave(clip(x, low=0, high=x.type.element.maximum))


@rule(shared="keep", kind="lowering")
def map_clip(x):
    """Limiting is done lane by lane."""
    limited = op.clip(leave(x))
    yield limited
    if reason := _too_wide(x):
        return decline(reason, at=limited)
    element = x.type.element
    low = element.minimum if limited.low is None else max(int(limited.low), element.minimum)
    high = element.maximum if limited.high is None else min(int(limited.high), element.maximum)
    if low > high:
        return decline(f"its limits {limited.low} to {limited.high} leave no number of {element}", at=limited)
    return leave(clip(x, low=low, high=high))


@rule(shared="keep", kind="lowering")
def map_reshape(x):
    """A reshape collects the beats of a frame and gives them in the new order."""
    shaped = op.reshape(leave(x))
    yield shaped
    if reason := _too_wide(x):
        return decline(reason, at=shaped)
    if not isinstance(shaped.shape[0], str):
        return decline("the batch is not symbolic", at=shaped)
    if len(shaped.shape) < 2:
        return decline("a stream needs channels, and only the batch is left", at=shaped)
    return leave(reshape(x, shape=tuple(shaped.shape[1:])))


@rule(shared="keep", kind="lowering")
def map_transpose(x):
    """A transpose between one channel and many positions, or the reverse, is a reshape."""
    moved = op.transpose(leave(x))
    yield moved
    if reason := _too_wide(x):
        return decline(reason, at=moved)
    long = [p for p in moved.perm if _size(x, p) != 1]
    if long != sorted(long) or moved.perm[0] != 0:
        return decline("axes longer than 1 change their order, for which there is no component", at=moved)
    return leave(reshape(x, shape=tuple(moved.shape[1:])))


def _size(x, axis):
    """The size of an axis of the tensor that a stream carries; the batch counts as long."""
    return 2 if axis == 0 else x.shape[axis - 1]


@rule(shared="keep", kind="lowering")
def map_add(x, y):
    """A sum of two streams takes a beat of each."""
    total = op.integer_add(leave(x), leave(y))
    yield total
    if reason := _too_wide(x, y, total):
        return decline(reason, at=total)
    if x.shape != y.shape:
        return decline("one operand broadcasts, and beats are added one by one", at=total)
    return leave(add(x, y, shifts=total.shifts, element=total.element))


@rule(shared="keep", kind="lowering")
def map_doubling(x):
    """A sum of a stream with itself, whose pattern needs one operand twice."""
    given = leave(x)
    total = op.integer_add(given, given)
    yield total
    if reason := _too_wide(x, total):
        return decline(reason, at=total)
    return leave(add(x, x, shifts=total.shifts, element=total.element))


@rule(shared="keep", kind="lowering")
def map_arg_max(x):
    """The first greatest lane of a beat."""
    place = op.arg_max(leave(x))
    yield place
    if reason := _too_wide(x):
        return decline(reason, at=place)
    if place.axis not in (1, -1) or not place.keep_dims or len(x.shape) != 1:
        return decline("only the place of the greatest channel of a vector has a component, keeping the axis", at=place)
    if place.select_last_index:
        return decline("of equal channels its component takes the first", at=place)
    return leave(argmax(x, element=place.type.element))


LOWER_TO_STREAM = (
    map_linear,
    map_conv,
    map_max_pool,
    map_requantise,
    map_relu,
    map_clip,
    map_reshape,
    map_transpose,
    map_add,
    map_doubling,
    map_arg_max,
)
"""From integer tensors to components on streams."""


@pass_
def drop_bridges(graph: Graph) -> list[str]:
    """Let inputs and outputs carry streams, where tensors enter or leave only to cross the boundary."""
    gone = []
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if kind == "enter":
            source = graph.operands(node)[0].node
            graph.nodes[source]["result"] = graph.result_type(node)
            rewire(graph, node, Operand(source))
        elif kind == "leave" and all(graph.nodes[r]["type"] == "output" for r in graph.successors(node)):
            rewire(graph, node, graph.operands(node)[0])
        else:
            continue
        graph.remove_node(node)
        gone.append(node)
    return gone


def to_stream(
    graph: Graph,
    *,
    parallelism: str | int | Mapping[str, str | int] = "full",
    max_multipliers: int | None = None,
    steps: list[Step] | None = None,
) -> Graph:
    """Return the hardware of an integer network: components connected by streams.

    Parameters
    ----------
    graph : Graph
        What `to_integer` gives. Conversions at its inputs and outputs stay with the host (see `partition`).
    parallelism : "full", "folded", int or mapping
        ``"full"`` unrolls every layer, ``"folded"`` gives each layer one multiplier, a number gives each layer at most
        that many; a mapping says it for layers by the name of their origin, with ``"default"`` for the rest.
    max_multipliers : int, optional
        For all layers together, spent where it shortens the interval between frames.
    steps : list of Step, optional
        Collects what each rule did.

    Returns
    -------
    Graph
        Level ``stream``, with forks where a stream has several readers, and first-in-first-out buffers where branches
        meet.

    Raises
    ------
    LoweringError
        Naming every node that has no component, and why.
    ParallelismError
        If the budget cannot be met, with the smallest that can.

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
    stream_clip_1 = stream_clip(x, high=127, low=0) : stream s8f4[3]
    y = output(stream_clip_1)
    """
    core = partition(graph).core
    forget_names_of_axes(core)
    for name in core.inputs:
        if core.succ[name]:
            entered = enter(core.value(name))
            rewire(core, name, Operand(entered.node))
            left = leave(entered)
            rewire(core, entered.node, Operand(left.node))
            if left.type != core.result_type(name):
                raise LoweringError(
                    f"its batch has the fixed size {core.result_type(name).shape[0]}; import the model with a "
                    "free batch",
                    node=name,
                )
    lowered = recorded(core, (*LOWER_TO_STREAM, eliminate_dead_nodes, merge_equal_nodes), steps)
    _refuse_rest(lowered)
    folded = fold(drop_bridges(lowered), parallelism=parallelism, max_multipliers=max_multipliers)
    return insert_fifos(insert_forks(folded))


def _refuse_rest(graph: Graph) -> None:
    left = []
    for node in graph.in_order():
        if graph.op(node).level not in ("stream", "bridge", "structure"):
            reasons = [
                r.explain(graph, at=node)
                for r in LOWER_TO_STREAM
                if graph.nodes[node]["type"] in (r.definition.root_kinds or ())
            ]
            why = reasons[0] if reasons else f"no component computes {graph.nodes[node]['type']}"
            left.append(f"{', '.join(graph.origin(node))}: {why}")
    if left:
        raise LoweringError(f"{len(left)} nodes have no hardware: " + "; ".join(left))
