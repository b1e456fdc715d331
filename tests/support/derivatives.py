"""Vector-Jacobian products of single nodes, such as gradient rules are tested on."""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite import Graph, Rule, Tensor, evaluate
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op import LIBRARY
from graphrewrite.op.differentiation import DIFFERENTIABLE
from graphrewrite.op.nn.convolution import spatial_sizes
from graphrewrite.testing import graphs

__all__ = ["are_difference_quotients", "derivatives", "differentiated"]


def differentiated(rule: Rule) -> list[str]:
    """Return the names of the ops that a rule has the gradient of."""
    return sorted(kind.removeprefix("vjp_") for kind in rule.definition.root_kinds or ())


@st.composite
def derivatives(draw: st.DrawFn, rule: Rule) -> Graph:
    """Return graphs of one product of an op that a rule is for, along one of its operands of floats."""
    name = draw(st.sampled_from(differentiated(rule)))
    others = [_windows(name)] if name in WINDOWS else []
    graph = draw(st.one_of(graphs(ops=[name]), *others))
    nodes = [node for node in graph.in_order() if graph.nodes[node]["type"] == name and _floats(graph, node)]
    assume(nodes)
    node = draw(st.sampled_from(nodes))
    made, op, sources = Graph("derivative"), graph.op(node), graph.operands(node)
    types = [graph.result_type(*source) for source in sources]
    results = op.infer(*types, **graph.attributes(node))
    inputs = {
        source: made.input(f"x{i}", graph.result_type(*source)) for i, source in enumerate(dict.fromkeys(sources))
    }
    values = []
    for source in sources:
        data = graph.nodes[source.node]
        is_known = data["type"] == "constant" and draw(st.booleans())
        values.append(made.constant(data["value"], type=graph.result_type(*source)) if is_known else inputs[source])
    own = {"wrt": draw(st.sampled_from(_floats(graph, node))), "of_result": 0}
    attributes = {**graph.attributes(node), **{key: own[key] for key in own if key in op.vjp.attributes}}
    if results[0].unknowns:  # only the op itself gives a gradient of that size: of half the sum of squares
        value = made.add(op, values, graph.attributes(node))
        gradient = value[0] if isinstance(value, tuple) else value
    else:
        gradient = made.input("g", results[0])
    made.output("y", made.add(op.vjp, [gradient, *values], attributes))
    return made


WINDOWS = ("average_pool", "conv", "conv_transpose", "fold", "lp_pool", "max_pool", "max_pool_with_indices")
"""Ops whose windows generated graphs leave small: their attributes are drawn here."""


@st.composite
def _windows(draw: st.DrawFn, name: str) -> Graph:
    """Return graphs of an op with windows: strides, borders, dilations and groups of every kind."""
    rank = draw(st.sampled_from((1, 2, 2)))
    graph, element = Graph("windows"), draw(st.sampled_from(("f32", "f64")))

    def each(*options: int, count: int = rank) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(options)) for _ in range(count))

    kernel, sizes, batch = each(1, 2, 3), each(3, 4, 6, 7), draw(st.sampled_from(("N", 1, 2)))
    attributes: dict[str, Any] = {
        "strides": each(1, 2, 3),
        "pads": tuple(min(p, k - 1) for p, k in zip(each(0, 1, 2, count=2 * rank), kernel * 2, strict=True)),
        "dilations": each(1, 1, 2),
    }
    groups, channels = (draw(st.integers(1, 2)) for _ in range(2))
    shapes: list[tuple[Any, ...]] = [(batch, groups * channels, *sizes)]
    if name.startswith("conv"):
        attributes["groups"] = groups
        outputs = draw(st.integers(1, 2))
        rows = (groups * outputs, channels) if name == "conv" else (groups * channels, outputs)
        shapes += [(*rows, *kernel), (groups * outputs,)][: draw(st.integers(1, 2))]
        if name == "conv_transpose":
            attributes["output_padding"] = tuple(draw(st.integers(0, s - 1)) for s in attributes["strides"])
    else:
        attributes["kernel"] = kernel
    if "pool" in name:
        attributes["ceil_mode"] = draw(st.booleans())
        attributes.update({"count_include_pad": draw(st.booleans())} if name == "average_pool" else {})
        attributes.update({"p": draw(st.integers(1, 3))} if name == "lp_pool" else {})
    try:
        if name == "fold":
            attributes["size"] = sizes
            counts = spatial_sizes(sizes, kernel, attributes["strides"], attributes["pads"], attributes["dilations"])
            shapes = [(batch, channels * prod(kernel), prod(counts))]
        operands = [graph.input(f"x{i}", Tensor(element, shape)) for i, shape in enumerate(shapes)]
        made = graph.add(LIBRARY[name], operands, attributes)
    except TypeMismatchError:  # windows beyond the image
        assume(False)
    graph.output("y", made[0] if isinstance(made, tuple) else made)
    return graph


def _floats(graph: Graph, node: str) -> list[int]:
    """Return the operands along which a node has a gradient."""
    types = [graph.result_type(*source) for source in graph.operands(node)]
    results = graph.op(node).infer(*types, **graph.attributes(node))
    plain = all(isinstance(kind, Tensor) and kind.layout is None for kind in (*types, *results[:1]))
    if not plain or results[0].element not in DIFFERENTIABLE:
        return []
    return [i for i, kind in enumerate(types) if kind.element in DIFFERENTIABLE]


def are_difference_quotients(graph: Graph, made: Graph, inputs: dict[str, np.ndarray]) -> bool:
    """Raise if another graph gives other derivatives; tell whether there are any to compare it with.

    The inputs that are floats become others.
    """
    for least in (None, 1):  # few normal numbers are at a kink; some functions are of greater ones only
        inputs = _normal(inputs, least)
        wanted: dict[str, np.ndarray] = {}
        with suppress(EvaluationError):  # a kink
            wanted = evaluate(graph, inputs)
        if any(np.isfinite(want).any() for want in wanted.values()):
            break
    else:
        return False
    found = evaluate(made, inputs)
    for name, want in wanted.items():
        scale = np.abs(want[np.isfinite(want)]).max(initial=1)
        same = np.isclose(found[name], want, rtol=1e-3, atol=1e-4 * scale) | ~np.isfinite(want)
        assert same.all(), f"{found[name]} for {want}\n{graph}"
    return True


def _normal(inputs: dict[str, np.ndarray], least: float | None) -> dict[str, np.ndarray]:
    """Return other numbers for those that are floats."""
    rng, made = np.random.default_rng(0), dict(inputs)
    for name, array in inputs.items():
        if array.dtype.kind == "f":
            values = 2 * rng.standard_normal(array.shape)
            made[name] = (values if least is None else np.abs(values) + least).astype(array.dtype)
    return made
