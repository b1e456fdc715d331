"""Fully unrolled matrix products in hardware as networks of adders."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from graphrewrite import Graph, Tensor, decline, rewrite, rule
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.adder_network import network
from graphrewrite.hdl.components.adder_graph import adder_graph
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.lowering.shift_add.ops import linear_sums
from graphrewrite.lowering.shift_add.shared_sums import SHARE_SUMS
from graphrewrite.types import FixedPoint

__all__ = ["UNROLL_SHIFT_ADD", "adders_of", "scalar_graph"]


def scalar_graph(weights: np.ndarray, element: FixedPoint) -> Graph:
    """Return a constant matrix product as a graph of scalars, on which `SHARE_SUMS` works.

    Examples
    --------
    >>> from graphrewrite.lowering.shift_add import SHARE_SUMS
    >>> g = scalar_graph(np.array([[1, 2], [3, 6]]), FixedPoint(False, 4))
    >>> print(rewrite(g, SHARE_SUMS))
    graph sums
    x_0 = input() : u4f0[N]
    x_1 = input() : u4f0[N]
    shifted_sum_1 = shifted_sum(x_0, x_1, shifts=[0, 1]) : u6f0[N]
    shifted_sum_2 = shifted_sum(shifted_sum_1, shifted_sum_1, shifts=[0, 2], subtract=True) : s9f0[N]
    linear_sums_4 = linear_sums(shifted_sum_1, shifted_sum_2, matrix=i64[[1, 0], [0, -1]], element=s9f0) : s9f0[N,2]
    z = output(linear_sums_4)
    """
    matrix = np.asarray(weights, np.int64)
    whole = FixedPoint(element.signed, element.width)
    most = int(np.abs(matrix).sum(axis=1).max()) * max(whole.maximum, -whole.minimum)
    graph = Graph("sums")
    xs = [graph.input(f"x_{i}", Tensor(whole, ("N",))) for i in range(matrix.shape[1])]
    graph.output("z", linear_sums(*xs, matrix=matrix, element=FixedPoint.holding(-most, most)))
    return graph


def adders_of(weights: np.ndarray, element: FixedPoint) -> tuple[np.ndarray, np.ndarray]:
    """Return the network of shared additions of a matrix, as the attributes of `adder_graph`.

    Examples
    --------
    >>> adders, outputs = adders_of(np.array([[1, 2], [3, 6]]), FixedPoint(False, 4))
    >>> adders.tolist(), outputs.tolist()
    ([[0, 1, 0, 1, 0], [2, 2, 0, 2, 1]], [[2, 0, 1], [3, 0, -1]])
    """
    matrix = np.ascontiguousarray(weights, np.int64)
    return _adders_of(matrix.tobytes(), matrix.shape, element)


@lru_cache(maxsize=64)
def _adders_of(weights: bytes, shape: tuple[int, int], element: FixedPoint) -> tuple[np.ndarray, np.ndarray]:
    graph = rewrite(scalar_graph(np.frombuffer(weights, np.int64).reshape(shape), element), SHARE_SUMS)
    numbers = {name: i for i, name in enumerate(graph.inputs)}
    adders = []
    for name in graph.in_order():
        if graph.nodes[name]["type"] == "shifted_sum":
            x, y = (numbers[operand.node] for operand in graph.operands(name))
            attributes = graph.attributes(name)
            numbers[name] = len(numbers)
            adders.append((x, y, *attributes["shifts"], int(attributes["subtract"])))
    (sums,) = (operand.node for operand in graph.operands(graph.outputs[0]))
    matrix, read = np.asarray(graph.nodes[sums]["matrix"]), graph.operands(sums)
    outputs = np.zeros((shape[0], 3), np.int64)
    for row, column in zip(*(at.tolist() for at in np.nonzero(matrix)), strict=True):
        entry = int(matrix[row, column])
        outputs[row] = numbers[read[column].node], abs(entry).bit_length() - 1, np.sign(entry)
    return np.array(adders, np.int64).reshape(-1, 5), outputs


@rule(shared="keep")
def unroll_as_adders(x):
    """A matrix product whose rows and columns are all worked on in one cycle is a network of shared additions."""
    product = matvec(x)
    yield product
    weights = np.asarray(product.weights)
    gathers = product.over == "frame" and len(x.shape) > 1
    if product.groups != 1 or gathers or x.type.folds > 1 or product.type.folds > 1:
        return decline("only products of all channels with all rows in one step become a network of adders", at=product)
    adders, outputs = adders_of(weights, x.type.element)
    levels = network(adders, outputs, x.type.channels, x.type.element).levels
    attributes = {"bias": product.bias, "element": product.element, "stages": min(product.stages, levels)}
    return adder_graph(x, adders=adders, outputs=outputs, **attributes)


@rule
def fuse_requantise_into_adders(x):
    """Sums of a network of adders are rounded and limited where they arise: a half and an offset join the bias."""
    sums = adder_graph(x)
    narrow = requantise(sums)
    yield narrow
    if sums.shift is not None:
        return decline("the sums are rounded already", at=sums)
    network_of = {"adders": sums.adders, "outputs": sums.outputs, "bias": sums.bias}
    limits = {"low": narrow.low, "high": narrow.high, "offset": narrow.offset, "rounding": narrow.rounding}
    attributes = {**network_of, **limits, "shift": narrow.shift, "element": narrow.element}
    # Without limits, rounding has no use for a pipeline stage of its own.
    reason = ""
    for stages in {sums.stages + narrow.stages - 1: None, sums.stages: None}:
        try:
            adder_graph.infer(x.type, **attributes, stages=stages)
        except TypeMismatchError as error:
            reason = str(error)
        else:
            return adder_graph(x, **attributes, stages=stages)
    return decline(reason, at=narrow)


UNROLL_SHIFT_ADD = (unroll_as_adders, fuse_requantise_into_adders)
"""From unrolled matrix products to networks of adders: opt-in, worthwhile where multipliers are scarce."""
