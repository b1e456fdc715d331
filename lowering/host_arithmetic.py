"""Encodings of a design's ports: what the host's parts do to the numbers beside the hardware, as plain arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Graph, Tensor, evaluate
from graphrewrite.graph import Value
from graphrewrite.hdl.port_encoding import Encoding, Step
from graphrewrite.lowering.host_partition import Partition
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.types import element_dtype, integer_limits

__all__ = ["port_encodings"]

_MOVING = ("transpose", "reshape", "flatten", "squeeze", "unsqueeze", "name_axes", "identity")
_ARITHMETIC = {"div": "divide", "mul": "multiply", "add": "add", "sub": "subtract"}
_UNARY = {"neg": "negative", "floor": "floor", "ceil": "ceil"}
_ROUNDING = {"floor": "down", "ceil": "up"}
_NUMBERS = frozenset({"f32", "f64", *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))})
_EXACT = 53  # bits of a mantissa that are exact in the host's floats
_LISTED = 4096  # constants, one for each number, beyond which a port's arithmetic is no short description
_PROBES = 1 << 16  # numbers that are compared, or a few frames


def port_encodings(parts: Partition) -> dict[str, Encoding]:
    """Return what the integers at each port of the hardware stand for.

    The host's arithmetic beside a port is described as far as it is data movement, products, sums and roundings with
    constants; ops beyond are named. Each description has been compared with the host's own ops, on numbers over the
    port's range, bit for bit.

    Parameters
    ----------
    parts : Partition
        Of the integer network.

    Returns
    -------
    dict of str to Encoding
        By input and output of the core. A port of more than 53 bits has none.

    Examples
    --------
    >>> from graphrewrite.lowering import partition
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... half = constant(value=0.5) : f32[]
    ... s = div(x, half)
    ... f = to_fixed(s, element=s8f0)
    ... r = relu(f)
    ... z = from_fixed(r, fraction=4)
    ... y = output(z)''')
    >>> encodings = port_encodings(partition(g))
    >>> encodings["x"].scale, encodings["y"].scale, encodings["x"].encode([[0.25, 0.75, -999]]).tolist()
    ((0.5,), (0.0625,), [[0, 2, -128]])
    """
    found: dict[str, Encoding | None] = {}
    for name, end in zip(parts.core.inputs, parts.before.outputs, strict=True):
        found[name] = _of_input(parts, name, end)
    for name, start in zip(parts.core.outputs, parts.after.inputs, strict=True):
        found[name] = _of_output(parts, name, start)
    return {name: encoding for name, encoding in found.items() if encoding is not None}


def _of_input(parts: Partition, name: str, end: str) -> Encoding | None:
    graph, kind = parts.before, _tensor(parts.core, name)
    if kind is None:
        return None
    chain = [graph.operands(end)[0].node]  # the node `to_fixed`
    while (links := _links_above(graph, chain[0])) and _tensor(graph, _source(graph, links)):
        chain = [*links, *chain]
    for first in range(len(chain)):
        nodes = chain[first:]
        source = _source(graph, nodes)
        if _tensor(graph, source) is None:
            continue
        above = [] if graph.nodes[source]["type"] == "input" else [*graph.upstream(source), source]
        inputs = [n for n in graph.inputs if n == source or n in above]
        encoding = _Chain(graph, nodes, source).encoding(
            kind,
            " and ".join(inputs) if inputs else source,
            _kinds(graph, above),
            is_input=True,
            signs=_signs(parts, name),
        )
        if encoding is not None:
            return encoding
    return None


def _of_output(parts: Partition, name: str, start: str) -> Encoding | None:
    graph, kind = parts.after, _tensor(parts.after, start)
    if kind is None:
        return None
    chain = [start]
    while len(readers := graph.readers(chain[-1])) == 1 and _continues(graph, chain[-1], readers[0].node):
        chain.append(readers[0].node)
    for last in range(len(chain), 0, -1):
        end = chain[last - 1]
        if last > 1 and _tensor(graph, end) is None:
            continue
        below = [n for n in graph.in_order() if n in graph.downstream(end)]
        direct = [parts.outputs[graph.outputs.index(r.node)] for r in graph.readers(end) if r.node in graph.outputs]
        served = [o for o, n in zip(parts.outputs, graph.outputs, strict=True) if n in below]
        encoding = _Chain(graph, chain[1:last], start).encoding(
            kind,
            (direct or [" and ".join(served)])[0],
            _kinds(graph, below),
            is_input=False,
            meaning=_meaning(parts, name),
        )
        if encoding is not None:
            return encoding
    return None


def _tensor(graph: Graph, node: str) -> Tensor | None:
    """The type of a node, where numpy holds its numbers as they are, and its sizes are known but for the batch."""
    kind = graph.result_type(node)
    if not isinstance(kind, Tensor) or not kind.shape[1:] or not all(isinstance(d, int) for d in kind.shape[1:]):
        return None
    if isinstance(kind.element, FixedPoint):
        return kind if kind.element.width <= _EXACT else None
    return kind if kind.element in _NUMBERS else None


def _kinds(graph: Graph, nodes: Sequence[str]) -> tuple[str, ...]:
    plain = ("input", "output", "constant")
    chosen = [n for n in graph.in_order() if n in nodes]
    return tuple(dict.fromkeys(kind for n in chosen if (kind := graph.nodes[n]["type"]) not in plain))


def _signs(parts: Partition, name: str) -> bool:
    """Tell whether the core reads bits as -1 and 1."""
    readers = [parts.core.nodes[r.node] for r in parts.core.readers(name)]
    return all(d["type"] == "rescale" and (d["multiplier"], d.get("addend")) == (2, -1) for d in readers)


def _meaning(parts: Partition, name: str) -> str:
    """What the core computes last, where that has a name of its own."""
    core = parts.core
    node = core.operands(name)[0].node
    while core.nodes[node]["type"] in _MOVING:
        node = core.operands(node)[0].node
    if core.nodes[node]["type"] == "arg_max":
        scores = core.result_type(core.operands(node)[0].node)
        axis = core.attributes(node).get("axis", 1)
        many = f" of {scores.shape[axis]} scores" if isinstance(scores, Tensor) else ""
        return f"the class: the place of the greatest{many}"
    return "probabilities" if core.nodes[node]["type"] == "integer_softmax" else ""


# ---------------------------------------------------------------------- the nodes of a chain


def _variable(graph: Graph, node: str) -> list[str]:
    """The operands of a node that are no constants."""
    return [o.node for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant"]


def _source(graph: Graph, nodes: Sequence[str]) -> str:
    return _variable(graph, nodes[0])[0]


def _links_above(graph: Graph, node: str) -> list[str]:
    """The nodes that compute a node's operand, if they are part of a port's arithmetic: one, or the two of a sign."""
    (above,) = _variable(graph, node)
    if graph.nodes[above]["type"] == "where":
        return _sign(graph, above)
    return [above] if _is_plain(graph, above) else []


def _sign(graph: Graph, node: str) -> list[str]:
    """The nodes of ``where(x >= 0, 1, 0)``."""
    test, *ends = (o.node for o in graph.operands(node))
    numbers = [graph.nodes[n].get("value") for n in ends]
    if graph.nodes[test]["type"] != "greater_or_equal" or any(v is None or v.size != 1 for v in numbers):
        return []
    left, right = (o.node for o in graph.operands(test))
    limit = graph.nodes[right].get("value")
    if (
        limit is None
        or graph.nodes[left]["type"] == "constant"
        or np.any(limit)
        or [v.item() for v in numbers] != [1, 0]
    ):
        return []
    return [test, node]


def _is_plain(graph: Graph, node: str) -> bool:
    """Tell whether an op moves numbers, or computes each with constants by arithmetic that IEEE 754 defines."""
    kind, variable = graph.nodes[node]["type"], _variable(graph, node)
    if len(variable) != 1:
        return False
    if kind in _ARITHMETIC and graph.result_type(node).element not in ("f32", "f64"):
        return False
    if kind in ("div", "sub"):
        return graph.operands(node)[0].node == variable[0]
    return kind in (*_MOVING, *_ARITHMETIC, *_UNARY, "cast", "from_fixed", "quantize_linear", "dequantize_linear")


def _continues(graph: Graph, node: str, reader: str) -> bool:
    return _is_plain(graph, reader) and _variable(graph, reader) == [node] and _tensor(graph, reader) is not None


class _Chain:
    """Nodes of the host, each the only one that reads the one before, between numbers and integers."""

    def __init__(self, graph: Graph, nodes: Sequence[str], source: str) -> None:
        self.graph, self.nodes, self.source = graph, list(nodes), source
        self.kinds = [graph.nodes[n]["type"] for n in nodes]

    def encoding(
        self,
        port: Tensor,
        tensor: str,
        host: tuple[str, ...],
        *,
        is_input: bool,
        signs: bool = False,
        meaning: str = "",
    ) -> Encoding | None:
        """Return the encoding, if it does what the nodes do; the port's type is ``port``."""
        element = port.element
        assert isinstance(element, FixedPoint)
        ends = [self.graph.result_type(n) for n in (self.source, self.nodes[-1] if self.nodes else self.source)]
        numbers = ends[0] if is_input else ends[1]
        assert isinstance(numbers, Tensor)
        moved = self._steps()
        if moved is None:
            return None
        steps, places = moved
        gather = _loops(places)
        shape, port_shape = (tuple(d for d in t.shape[1:] if isinstance(d, int)) for t in (numbers, port))
        # Constants lie beside the numbers that a chain starts with; steps run in the order of the port.
        order = places if is_input else np.arange(len(places))
        known = [
            Step(function, dtype, () if table is None else _short(table[order], port_shape[0]))
            for function, dtype, table in steps
        ]
        if is_input and np.dtype(known[-1].dtype if known else element_dtype(numbers.element)).kind in "iu":
            known.append(Step("positive", "float64"))  # whole numbers of a model are limited like others
        if gather is None or any(len(step.constant) > max(_LISTED, port_shape[0]) for step in known):
            return None
        low, high = element.minimum, element.maximum
        if is_input:
            limit = self.graph.attributes(self.nodes[-1])
            low, high = limits(element, limit["low"], limit["high"])
        scale, zero = _line(known, is_input=is_input)
        rounding = next((_ROUNDING[k] for k in reversed(self.kinds) if k in _ROUNDING), "half to even")
        if "where" in self.kinds:
            meaning, rounding = "bits: 1 for numbers from 0 on, 0 for those below", "comparison with 0"
            if signs:
                meaning, scale, zero = "bits of signs: 1 is +1, for numbers from 0 on, and 0 is -1", (2.0,), (0.5,)
        stored = element_dtype("f64" if isinstance(numbers.element, FixedPoint) else numbers.element)
        if not self.nodes:  # integers that several ops of the host read
            known, scale, zero = [*_power(-element.fraction, "f64")], (element.step,), (0.0,)
        encoding = Encoding(
            tensor,
            str(stored),
            shape,
            port_shape,
            low,
            high,
            tuple(known),
            gather,
            scale,
            zero,
            rounding,
            meaning,
            host,
        )
        return encoding if self._agrees(encoding, numbers, is_input=is_input) else None

    # ------------------------------------------------------------------ translation

    def _steps(self) -> tuple[list[tuple[str, str, np.ndarray | None]], np.ndarray] | None:
        """The arithmetic, each constant beside each number of the source, and the source's place of each result."""
        start = self.graph.result_type(self.source)
        assert isinstance(start, Tensor)
        sizes = [d for d in start.shape[1:] if isinstance(d, int)]
        places = np.arange(int(np.prod(sizes))).reshape(1, *sizes)
        steps: list[tuple[str, str, np.ndarray | None]] = []
        for node, kind in zip(self.nodes, self.kinds, strict=True):
            if kind in _MOVING:
                moved = self._moved(node, places)
                if moved is None:
                    return None
                places = moved
                continue
            for function, dtype, *constants in self._arithmetic(node, kind):
                table = None
                if constants:
                    if np.broadcast_shapes(np.shape(constants[0]), places.shape) != places.shape:
                        return None
                    if not np.isfinite(constants[0]).all():
                        return None
                    table = np.empty(places.size)
                    table[places.ravel()] = np.broadcast_to(constants[0], places.shape).ravel()
                steps.append((function, dtype, table))
        return steps, places.ravel()

    def _moved(self, node: str, places: np.ndarray) -> np.ndarray | None:
        source = self.graph.result_type(_variable(self.graph, node)[0])
        assert isinstance(source, Tensor)
        part = Graph(ops=self.graph.ops.values())
        x = part.input("x", Tensor("i64", source.shape, source.layout))
        part.output("y", self._copied(part, node, {_variable(self.graph, node)[0]: x}))
        moved: np.ndarray = evaluate(part, {"x": places})["y"]
        return moved if moved.shape[0] == 1 and moved.size == places.size else None

    def _copied(self, part: Graph, node: str, values: dict[str, Value]) -> Value:
        graph = self.graph
        for operand in graph.operands(node):
            if operand.node not in values:
                values[operand.node] = part.constant(
                    graph.nodes[operand.node]["value"], type=graph.result_type(operand.node)
                )
        data = graph.nodes[node]
        attributes = {k: v for k, v in data.items() if k in graph.op(node).attributes}
        copied = part.add(graph.op(node), [values[o.node] for o in graph.operands(node)], attributes)
        assert isinstance(copied, Value)
        return copied

    def _arithmetic(self, node: str, kind: str) -> Iterator[tuple[Any, ...]]:
        """The functions of numpy that an op consists of."""
        graph, attributes = self.graph, self.graph.attributes(node)
        result = graph.result_type(node)
        assert isinstance(result, Tensor)
        dtype = "int64" if isinstance(result.element, FixedPoint) else str(element_dtype(result.element))
        constants = [graph.nodes[o.node]["value"] for o in graph.operands(node) if o.node not in _variable(graph, node)]
        if kind == "to_fixed":
            yield from _power(attributes["element"].fraction, "f64", division=True)
        elif kind == "from_fixed":
            yield from _power(attributes["fraction"], "f64")
            yield "positive", dtype
        elif kind == "greater_or_equal":
            yield "greater_equal", str(constants[0].dtype), 0
        elif kind == "where":
            yield "positive", dtype
        elif kind in ("quantize_linear", "dequantize_linear"):
            yield from self._stored(node, kind, constants, attributes, result)
        elif kind in _ARITHMETIC:
            yield _ARITHMETIC[kind], dtype, constants[0]
        else:
            yield _UNARY.get(kind, "positive"), dtype

    def _stored(
        self, node: str, kind: str, constants: list[np.ndarray], attributes: dict[str, Any], result: Tensor
    ) -> Iterator[tuple[Any, ...]]:
        """Quotients of a scale, rounded and shifted by a zero point; or the other way round."""
        rank, axis = len(result.shape), attributes["axis"]
        scale, zero = (
            values.reshape(())
            if values.size == 1
            else values.reshape([-1 if i == axis % rank else 1 for i in range(rank)])
            for values in (constants[0], constants[1] if len(constants) > 1 else np.zeros(1))
        )
        if kind == "dequantize_linear":
            yield from (("subtract", "float64", zero), ("multiply", str(scale.dtype), scale))
            yield "positive", str(element_dtype(result.element))
            return
        low, high = integer_limits(str(result.element)) or (0, 0)
        yield from (("divide", str(scale.dtype), scale), ("rint", str(scale.dtype)), ("add", "float64", zero))
        yield from (("maximum", "float64", low), ("minimum", "float64", high))
        yield "positive", str(element_dtype(result.element))

    # ------------------------------------------------------------------ comparison

    def _agrees(self, encoding: Encoding, numbers: Tensor, *, is_input: bool) -> bool:
        """Tell whether an encoding gives what the nodes give: for integers and numbers over its range and beyond."""
        random = np.random.default_rng(0)
        shape = encoding.port_shape
        frames = min(64, 3 + _PROBES // int(np.prod(shape)))
        whole = random.integers(encoding.low, encoding.high, (frames, *shape), endpoint=True)
        whole[0], whole[1] = encoding.low, encoding.high
        source = self.graph.result_type(self.source)
        assert isinstance(source, Tensor)
        part = Graph(ops=self.graph.ops.values())
        value = part.input("x", source)
        values = {self.source: value}
        for node in self.nodes:
            value = values[node] = self._copied(part, node, dict(values))
        part.output("y", value)
        if not is_input:
            if not self.nodes:
                return True
            return _same(evaluate(part, {"x": whole})["y"], encoding.decode(whole))
        # Numbers that integers stand for, those half-way between two of them, some that are near, and some far away.
        wide = random.standard_normal((frames, *encoding.shape)) * 10.0 ** random.integers(-3, 6, (frames, 1)).reshape(
            -1, *[1] * len(encoding.shape)
        )
        probes = [wide]
        if encoding.scale:
            flat = whole.reshape(frames, shape[0], -1)
            scale, zero = (
                np.asarray(v).reshape(-1, 1) if len(v) in (1, shape[0]) else np.reshape(v, (shape[0], -1))
                for v in (encoding.scale, encoding.zero_point)
            )
            places = np.argsort(encoding.places())
            for shift in (0.0, 0.5, 0.3):
                exact = (flat + shift - zero) * scale
                probes.append(exact.reshape(frames, -1)[:, places].reshape(frames, *encoding.shape))
        x = np.concatenate(probes)
        if np.dtype(encoding.element).kind in "iu":
            info = np.iinfo(encoding.element)
            x = np.clip(np.rint(x), max(info.min, -(2**52)), min(info.max, 2**52))
        x = x.astype(encoding.element)
        return _same(evaluate(part, {"x": x})["y"], encoding.encode(x))


def _same(wanted: np.ndarray, found: np.ndarray) -> bool:
    return np.array_equal(wanted, found) and wanted.shape == found.shape


def _power(fraction: int, element: str, *, division: bool = False) -> Iterator[Any]:
    """The step between a mantissa and its value; none where they are equal."""
    if fraction:
        yield Step("divide" if division else "multiply", str(element_dtype(element)), (2.0**-fraction,))


def _loops(places: np.ndarray) -> tuple[tuple[int, int], ...] | None:
    """Return nested loops that visit places in their order, ``()`` for that of counting; None if there are none."""
    if np.array_equal(places, np.arange(len(places))):
        return ()
    loops: list[tuple[int, int]] = []
    while len(places) > 1:
        stride = int(places[1] - places[0])
        for size in range(len(places), 1, -1):
            rows = places.reshape(-1, size) if len(places) % size == 0 else None
            if rows is not None and (rows - rows[:, :1] == stride * np.arange(size)).all():
                break
        else:
            return None
        loops.insert(0, (size, stride))
        places = rows[:, 0]
    return tuple(loops) if not places[0] else None


def _short(table: np.ndarray, channels: int) -> tuple[float, ...]:
    """Return a constant for each number of a port as one for all or one for each channel, where these are equal."""
    if not table.size:
        return ()
    rows = table.reshape(channels, -1)
    if (rows == rows[:, :1]).all():
        rows = rows[:1, :1] if (rows == rows[0, 0]).all() else rows[:, :1]
    return tuple(rows.ravel().astype(np.float64).tolist())


def _line(steps: Sequence[Step], *, is_input: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return scales and zero points of steps that are a straight line but for their rounding; else nothing."""
    count = max((len(s.constant) for s in steps), default=1) or 1
    slopes, offsets = [Fraction(1)] * count, [Fraction(0)] * count
    for step in steps:
        if step.function == "negative":
            step = Step("multiply", step.dtype, (-1.0,))
        constants = [Fraction(c) for c in step.constant] * (count if len(step.constant) == 1 else 1)
        for k, c in enumerate(constants):
            if step.function in ("multiply", "divide"):
                if not c:
                    return (), ()
                factor = c if step.function == "multiply" else 1 / c
                slopes[k], offsets[k] = slopes[k] * factor, offsets[k] * factor
            elif step.function in ("add", "subtract"):
                offsets[k] += c if step.function == "add" else -c
            elif step.function == "greater_equal":
                return (), ()
    scales = [1 / a for a in slopes] if is_input else slopes
    zeros = offsets if is_input else [-b / a for a, b in zip(slopes, offsets, strict=True)]
    return _floats(scales), _floats(zeros)


def _floats(numbers: Sequence[Fraction]) -> tuple[float, ...]:
    values = tuple(map(float, numbers))
    return values[:1] if len({*values}) == 1 else values
