"""Random networks of components: every op reads a value that is there already, often one that is read elsewhere too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph, Operand, Value
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.hdl import DeadlockError, predict
from graphrewrite.hdl.arithmetic.adder_network import network as network_of_adders
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.lowering.shift_add import adders_of
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import BY_NAME

WIDE = FixedPoint(True, 40)
"""Holds every sum and product of what a network carries, which is narrowed after each op."""
_NARROW = 10
_NUMBERS = 150  # of a frame: what grows beyond is not attached
INSERTED = {"fork", "fifo"}
"""Components that stand where streams have several readers, or branches meet."""


class Growing:
    """A graph, and what may be read in it."""

    def __init__(self, random: np.random.Generator, graph: Graph) -> None:
        self.random, self.graph = random, graph
        self.values: list[Value] = []
        self.kinds: list[str] = []
        for i in range(int(random.integers(1, 3))):
            element = FixedPoint(bool(random.integers(2)), int(random.integers(1, 9)))
            shape = (
                int(random.choice([1, 2, 3, 4, 6])),
                *(int(n) for n in random.integers(2, 6, random.choice([0, 1, 2, 2]))),
            )
            lanes = self.divisor(shape[0])
            self.values.append(graph.input(f"x{i}", Stream(element, shape, lanes)))

    def divisor(self, total: int) -> int:
        return int(self.random.choice([d for d in range(1, total + 1) if total % d == 0]))

    def below(self, most: int) -> int:
        """A number from 0 on, less than ``most``."""
        return int(self.random.integers(most))

    def integers(self, reach: int, shape: tuple[int, ...]) -> np.ndarray:
        return self.random.integers(-reach, reach, shape, endpoint=True)

    def partner(self, x: Value) -> Value:
        """A value of the same shape, its lanes made equal; often x itself."""
        found = self.values[self.below(len(self.values))]
        same = [v for v in (found, *self.values) if v.type.shape == x.type.shape]
        return self.refolded(same[0] if self.below(4) else same[self.below(len(same))], x.type.lanes)

    def refolded(self, x: Value, lanes: int) -> Value:
        if max(lanes, x.type.lanes) % min(lanes, x.type.lanes):
            x = self.add("refold", x, lanes=1)
        return x if x.type.lanes == lanes else self.add("refold", x, lanes=lanes)

    def add(self, name: str, *operands: Value, **attributes: object) -> Value:
        op: Op = BY_NAME[name].op
        return self.graph.add(op, list(operands), attributes, origin=(name,))

    def grow(self, layers: int, wanted: str) -> None:
        """Attach components: as often as asked for, to values that they can read; one that is wanted among them."""
        names = [*GROWTH, *["window"] * 3]
        while len(self.kinds) < layers:
            name = wanted if wanted not in self.kinds and self.below(2) else names[self.below(len(names))]
            x = self.values[-1 - min(self.below(len(self.values)), self.below(len(self.values)))]
            before = set(self.graph)
            with suppress(TypeMismatchError):
                made = GROWTH[name](self, x)
                results = [self.narrow(v) for v in (made if isinstance(made, tuple) else (made,))]
                if all(v.type.channels * v.type.positions <= _NUMBERS for v in results):
                    self.values += results
                    self.kinds.append(name)
                    continue
            self.graph.remove_nodes_from(set(self.graph) - before)

    def narrow(self, x: Value) -> Value:
        if x.type.element.width <= _NARROW:
            return x
        shifts = self.random.integers(0, max(1, x.type.element.width - 26), x.type.channels)
        shift = tuple(shifts.tolist()) if self.below(2) else int(shifts[0])
        return self.add("requantise", x, shift=shift, element=FixedPoint(bool(self.below(2)), 6))

    def finish(self) -> None:
        """Make outputs of all values that nobody reads."""
        unread = [v for v in self.values if all(r.result != v.result for r in self.graph.readers(v.node))]
        for number, value in enumerate(unread):
            self.graph.output(f"y{number}", value)


def _window(g: Growing, x: Value) -> Value:
    sizes = x.type.shape[1:]
    pads = tuple(int(p) for p in g.random.integers(0, 2, 2 * len(sizes)))
    reach = zip(sizes, pads, pads[len(sizes) :], strict=False)
    kernel = tuple(int(g.random.integers(a + 1, max(a + 1, min(3, n + a + b)) + 1)) for n, a, b in reach)
    strides = tuple(int(s) for s in g.random.integers(1, 3, len(sizes)))
    return g.add("window", x, kernel=kernel, strides=strides, pads=pads, fill=x.type.element.minimum)


def _matvec(g: Growing, x: Value) -> Value:
    over = "frame" if g.below(4) == 0 else "position"
    outputs, inputs = int(g.random.choice([1, 2, 3, 4])), x.type.channels * (x.type.positions if over == "frame" else 1)
    weights, bias = g.integers(7, (outputs, inputs)), g.integers(20, (outputs,))
    stages = 1 + g.below(3)
    return g.add(
        "matvec", x, weights=weights, bias=bias, element=WIDE, lanes=g.divisor(outputs), over=over, stages=stages
    )


def _clip(g: Growing, x: Value) -> Value:
    low, high = sorted(g.random.integers(x.type.element.minimum, x.type.element.maximum, 2, endpoint=True).tolist())
    return g.add("clip", x, low=low, high=high)


def _reshape(g: Growing, x: Value) -> Value:
    channels = g.divisor(x.type.channels * x.type.positions)
    rest = x.type.channels * x.type.positions // channels
    return g.add("reshape", x, shape=(channels, rest), lanes=g.divisor(channels))


def _concat(g: Growing, x: Value) -> Value:
    other = g.partner(x)
    if other.type.element != x.type.element:
        other = g.add("requantise", other, shift=0, element=x.type.element)
    return g.add("concat", x, other, axis=1 + g.below(len(x.type.shape)))


def _interpolate(g: Growing, x: Value) -> Value:
    rest = max(1, x.type.element.width - 2)
    segments = 1 << max(1, x.type.element.width - rest)
    base, slope = g.integers(99, (segments,)), g.integers(9, (segments,))
    return g.add("interpolate", x, base=base, slope=slope, rest=rest, shift=1, low=x.type.element.minimum, element=WIDE)


def _constant(g: Growing, x: Value) -> Value:
    value, element = g.integers(7, x.type.shape), FixedPoint(True, 5)
    return g.add("add", x, g.add("constant", value=value, element=element, lanes=x.type.lanes), element=WIDE)


def _pads(g: Growing, x: Value) -> tuple[int, ...]:
    return tuple(int(n) for n in g.random.integers(0, 2, 2 * len(x.type.shape[1:])))


def _index(x: Value) -> FixedPoint:
    return FixedPoint(False, max(1, (x.type.channels - 1).bit_length()))


def _adder_graph(g: Growing, x: Value) -> Value:
    x, last = g.refolded(x, x.type.channels), x.type.channels - 1
    adders = np.array([[0, last, g.below(3), 0, g.below(2)], [last + 1, last, 0, 1, 0]])
    outputs = np.array([[last + 1, 0, 1], [last + 2, 1, -1]])
    return g.add("adder_graph", x, adders=adders, outputs=outputs, bias=g.integers(9, (2,)), element=WIDE)


def _shift_add(g: Growing, x: Value) -> Value:
    """A layer whose products, sums, rounding and limits became one network of shared additions."""
    x, rows, element = g.refolded(x, x.type.channels), 1 + g.below(4), FixedPoint(bool(g.below(2)), 6)
    adders, outputs = adders_of(g.integers(15, (rows, x.type.channels)), x.type.element)
    given = {"adders": adders, "outputs": outputs, "bias": g.integers(9, (rows,)), "element": element}
    shifts, low = g.random.integers(0, 6, rows).tolist(), element.minimum + g.below(9)
    given |= {"shift": shifts if g.below(2) else shifts[0], "low": low if g.below(2) else None, "offset": g.below(2)}
    levels = network_of_adders(adders, outputs, x.type.channels, x.type.element).levels
    rounding = str(g.random.choice(["half_even", "half_up", "down"]))
    return g.add("adder_graph", x, **given, rounding=rounding, stages=1 + g.below(max(1, levels)))


def _popcount(g: Growing, x: Value) -> Value:
    """A count of agreements, perhaps group by group: a beat holds a part of a group, or several whole ones."""
    groups, rows = g.divisor(x.type.channels), 1 + g.below(3)
    columns, together = x.type.channels // groups, g.divisor(groups) if g.below(2) else 1
    lanes = (together * columns, together * rows) if together > 1 else (g.divisor(columns), g.divisor(rows))
    signs = g.refolded(g.add("requantise", x, shift=1, element=FixedPoint(False, 1)), lanes[0])
    weights, bias = 2 * g.random.integers(0, 2, (groups * rows, columns)) - 1, g.integers(9, (groups * rows,))
    given = {"weights": weights, "bias": bias, "element": FixedPoint(True, 20), "groups": groups}
    return g.add("popcount", signs, **given, lanes=lanes[1])


def _softmax(g: Growing, x: Value) -> Value:
    if x.type.channels > 12:
        raise TypeMismatchError("a division for every channel of a wide one takes GHDL a minute")
    return g.add("softmax", x, table=np.array([255, 94, 35, 13, 5, 2, 1, 0]), shift=0, element=FixedPoint(False, 9, 8))


GROWTH: dict[str, Callable[[Growing, Value], Value | tuple[Value, ...]]] = {
    "accumulate": lambda g, x: g.add("accumulate", x, kind="sum", element=WIDE, keepdims=bool(g.below(2))),
    "add": lambda g, x: g.add("add", x, g.partner(x), shifts=(g.below(3), g.below(3)), element=WIDE),
    "adder_graph": _adder_graph,
    "affine": lambda g, x: g.add(
        "affine", x, gain=g.integers(9, x.type.shape[:1]), bias=g.integers(99, x.type.shape[:1]), element=WIDE
    ),
    "argmax": lambda g, x: g.add("argmax", x, element=_index(x)),
    "clip": _clip,
    "concat": _concat,
    "constant": _constant,
    "delay": lambda g, x: g.add("delay", x, positions=1 + g.below(max(1, x.type.positions - 1)), initial=0),
    "interpolate": _interpolate,
    "lookup": lambda g, x: g.add("lookup", x, table=g.integers(60, (40,)), low=-20, element=FixedPoint(True, 8)),
    "matvec": _matvec,
    "maximum": lambda g, x: g.add("maximum", x, groups=g.divisor(x.type.channels)),
    "multiply": lambda g, x: g.add("multiply", x, g.partner(x), element=WIDE, stages=1 + g.below(2)),
    "pad": lambda g, x: g.add("pad", x, pads=_pads(g, x), fill=x.type.element.maximum),
    "shift_add": _shift_add,
    "select_lanes": lambda g, x: g.add("select_lanes", x, order=g.random.permutation(x.type.channels).tolist()),
    "popcount": _popcount,
    "refold": lambda g, x: g.refolded(x, g.divisor(x.type.channels)),
    "register": lambda g, x: g.add("register", x),
    "repeat": lambda g, x: g.add("repeat", x, factors=tuple(1 + g.below(2) for _ in x.type.shape[1:])),
    "requantise": lambda g, x: g.add("requantise", x, shift=g.below(6) - 2, element=FixedPoint(True, 7)),
    "reshape": _reshape,
    "softmax": _softmax,
    "split": lambda g, x: g.add("split", x, at=1 + g.below(max(1, x.type.channels - 1))),
    "threshold": lambda g, x: g.add(
        "threshold", x, levels=np.sort(g.integers(40, (1, 7))), element=FixedPoint(False, 3)
    ),
    "total": lambda g, x: g.add("total", x, groups=g.divisor(x.type.channels), element=WIDE),
    "window": _window,
}
"""How each component is attached to a value, by the name of its module; one that cannot read the value declines.

Shift-and-add layers are no component of their own: networks of adders as the lowering makes them, rounding included.
"""


def network(seed: int, number: int, *, fifos: bool = True) -> tuple[Graph, list[str]]:
    """A network and the kinds of components that were attached; how many, and one of them, is by its number."""
    random = np.random.default_rng([seed, number])
    found = Growing(random, Graph(f"network_{number}"))
    found.grow(4 + number % 17, list(GROWTH)[number % len(GROWTH)])
    found.finish()
    graph = insert_forks(found.graph)
    return (insert_fifos(graph) if fifos else graph), found.kinds


def with_other_stores(graph: Graph, seed: int, number: int) -> Graph:
    """The network with fifos of other depths, and with more of them, as far as it does not deadlock."""
    random = np.random.default_rng([seed, number, 1])
    new = graph.copy()
    inner = [n for n in graph if graph.nodes[n]["type"] not in ("input", "output")]
    for node in inner:
        kind, depth = graph.nodes[node]["type"], int(random.choice([1, 2, 3, 8]))
        if kind == "fifo":
            changed = new.copy()
            changed.nodes[node]["depth"] = max(1, graph.nodes[node]["depth"] - depth) if random.integers(4) else depth
            new = changed if _runs(changed) else new
        elif random.integers(4) == 0:
            reader = graph.readers(node)[0]
            made = new.add(fifo, [new.value(node, reader.result)], {"depth": depth}, origin=("fifo",))
            move_slot(new, reader.node, reader.slot, Operand(made.node))
    return new


def _runs(graph: Graph) -> bool:
    try:
        predict(graph, 1)
    except DeadlockError:
        return False
    return True
