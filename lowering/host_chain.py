"""A chain of the host's ops beside a port, as steps of plain arithmetic that have been compared with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Graph, Tensor, evaluate
from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Value
from graphrewrite.hdl.port_encoding import Encoding, Step
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.types import element_dtype, integer_limits

__all__ = ["ARITHMETIC", "MOVING", "UNARY", "HostChain", "source_of", "variable_operands"]

MOVING = ("transpose", "reshape", "flatten", "squeeze", "unsqueeze", "name_axes", "identity")
"""Ops that move numbers."""
ARITHMETIC = {"div": "divide", "mul": "multiply", "add": "add", "sub": "subtract"}
"""Ops on a number and a constant, with numpy's names."""
UNARY = {"neg": "negative", "floor": "floor", "ceil": "ceil"}
"""Ops on a number, with numpy's names."""

_ROUNDING = {"floor": "down", "ceil": "up"}
_LISTED = 4096  # constants, one for each number, beyond which a port's arithmetic is no short description
_PROBES = 1 << 16  # numbers that are compared, or a few frames


def variable_operands(graph: Graph, node: str) -> list[str]:
    """Return the operands of a node that are no constants."""
    return [o.node for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant"]


def source_of(graph: Graph, nodes: Sequence[str]) -> str:
    """Return what a chain of nodes reads."""
    return variable_operands(graph, nodes[0])[0]


class HostChain:
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
        try:
            return self._encoding(port, tensor, host, is_input=is_input, signs=signs, meaning=meaning)
        except GraphRewriteError:  # an op that is bound to one batch, say: it is named, and not described
            return None

    def _encoding(
        self, port: Tensor, tensor: str, host: tuple[str, ...], *, is_input: bool, signs: bool, meaning: str
    ) -> Encoding | None:
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
        if is_input and np.dtype(known[-1].dtype if known else element_dtype(numbers.element)).kind in "iub":
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
        if numbers.element == "bool":
            meaning = "a decision: 1 is true, 0 is false"
        stored = element_dtype("f64" if isinstance(numbers.element, FixedPoint) else numbers.element)
        if not self.nodes:  # integers that several ops of the host read
            known, scale, zero = [*_power(element.fraction, "f64")], (element.step,), (0.0,)
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
            if kind in MOVING:
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
        source = self.graph.result_type(variable_operands(self.graph, node)[0])
        assert isinstance(source, Tensor)
        part = Graph(ops=self.graph.ops.values())
        x = part.input("x", Tensor("i64", source.shape, source.layout))
        part.output("y", self._copied(part, node, {variable_operands(self.graph, node)[0]: x}))
        moved: np.ndarray = evaluate(part, {"x": places}, implementations=None)["y"]
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
        constants = [
            graph.nodes[o.node]["value"] for o in graph.operands(node) if o.node not in variable_operands(graph, node)
        ]
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
        elif kind == "cast" and dtype == "bool":
            source = graph.result_type(variable_operands(graph, node)[0])
            assert isinstance(source, Tensor)
            yield "not_equal", str(element_dtype(source.element)), 0
        elif kind in ARITHMETIC:
            yield ARITHMETIC[kind], dtype, constants[0]
        else:
            yield UNARY.get(kind, "positive"), dtype

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
            return _same(evaluate(part, {"x": whole}, implementations=None)["y"], encoding.decode(whole))
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
        return _same(evaluate(part, {"x": x}, implementations=None)["y"], encoding.encode(x))


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
            elif step.function in ("greater_equal", "not_equal"):
                return (), ()
    scales = [1 / a for a in slopes] if is_input else slopes
    zeros = offsets if is_input else [-b / a for a, b in zip(slopes, offsets, strict=True)]
    return _floats(scales), _floats(zeros)


def _floats(numbers: Sequence[Fraction]) -> tuple[float, ...]:
    values = tuple(map(float, numbers))
    return values[:1] if len({*values}) == 1 else values
