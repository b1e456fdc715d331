"""adder_graph: a constant matrix times all channels of each position, as a network of shifts and additions, exact."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.adder_layout import Layout, layout
from graphrewrite.hdl.adder_network import Network, network
from graphrewrite.hdl.component import Component, Generic, Resources, Site, spaced, streams
from graphrewrite.hdl.generic import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.op.integer import exact_matmul
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["ADDER_GRAPH", "adder_graph"]


_BIT = FixedPoint(False, 1)
"""A format for where only the matrix of a network is asked for, which no format changes."""


def _infer(
    x: Type, *, adders: ArrayLike, outputs: ArrayLike, bias: ArrayLike, element: FixedPoint, stages: int = 1
) -> Stream:
    (given,) = streams(x)
    if given.folds > 1:
        raise TypeMismatchError(f"{given} has folded channels, and a network of adders takes all at once; refold it")
    found = network(adders, outputs, given.channels, given.element)
    offset = np.asarray(bias, np.int64)
    if offset.shape != (len(found.weights),):
        raise TypeMismatchError(
            f"bias {offset.shape} does not fit {len(found.weights)} outputs; give one number for each"
        )
    if not 1 <= stages <= found.levels:
        raise TypeMismatchError(f"stages={stages}: this network has use for 1 to {found.levels} ranks of registers")
    ends = found.weights * given.element.minimum, found.weights * given.element.maximum
    low = int((np.minimum(*ends).sum(axis=1) + offset).min())
    high = int((np.maximum(*ends).sum(axis=1) + offset).max())
    if low < element.minimum or high > element.maximum:
        raise TypeMismatchError(
            f"sums of {low} to {high} exceed {element}; give {FixedPoint.holding(low, high, element.fraction)} or wider"
        )
    (result,) = streams(Stream(element, (len(found.weights), *given.shape[1:])))
    return result


def _products(types: Sequence[Any], result: Stream, attributes: Mapping[str, Any]) -> int:
    return entries(result.shape) * int(types[0].channels)


@define_op(level="stream", infer=_infer, cost=_products)
def adder_graph(
    x: NDArray[np.integer],
    *,
    adders: ArrayLike,
    outputs: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return a constant matrix times the channels of every position, plus a bias: without a multiplier.

    Parameters
    ----------
    x : ndarray of int, shape [N, I, *positions]
    adders : array of int, shape [A, 5]
        Two numbers, the shift of each, and 1 where the second is subtracted. Numbers 0 to I - 1 are the channels of x,
        number I + k is what adder k gives.
    outputs : array of int, shape [O, 3]
        Number, shift and sign (-1, 0 or 1) of each row of the result.
    bias : array of int, shape [O]
    element : FixedPoint
        Format that holds every result.
    stages : int
        Ranks of registers; the last holds the results, the others cut the network into parts of equally many adders one
        behind the other.

    Returns
    -------
    ndarray of int, shape [N, O, *positions]

    Examples
    --------
    The rows 5 x + y and -2 y:

    >>> x = np.array([[1, 2], [3, 4]], np.int8)
    >>> adders, outputs = [[0, 0, 0, 2, 0], [2, 1, 0, 0, 0]], [[3, 0, 1], [1, 1, -1]]
    >>> adder_graph(x, adders=adders, outputs=outputs, bias=[0, 10], element=FixedPoint(True, 16)).tolist()
    [[7, 6], [19, 2]]
    """
    inputs = x.shape[1]
    matrix = network(adders, outputs, inputs, _BIT).weights
    rows = np.moveaxis(x.reshape(len(x), inputs, -1), 1, 2)
    sums = exact_matmul(rows.reshape(-1, inputs), matrix.T).astype(np.int64) + np.asarray(bias, np.int64)
    found = np.moveaxis(sums.reshape(len(x), -1, len(matrix)), 1, 2)
    return found.reshape(len(x), len(matrix), *x.shape[2:]).astype(element.dtype)


def _network(site: Site) -> Network:
    x, given = site.operands[0], site.attributes
    return network(given["adders"], given["outputs"], x.channels, x.element)


def _layout(site: Site) -> Layout:
    return layout(_network(site), site.attributes["bias"], site.operands[0].element, site.attributes["stages"])


def _schedule(site: Site) -> Schedule:
    beats = np.arange(site.operands[0].beats)
    return spaced(len(beats), beats, beats, site.attributes["stages"])


def _generics(site: Site) -> dict[str, Generic]:
    x, z, laid = site.operands[0], site.results[0], _layout(site)
    constants = np.array([c % (1 << z.element.width) for c in laid.constants], np.int64)
    return {
        "INPUTS": x.channels,
        "OUTPUTS": z.channels,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "STAGES": site.attributes["stages"],
        "BITS": laid.bits,
        "ADDERS": len(laid.adders),
        "ADDER": _rows(laid.adders),
        "COPIES": len(laid.copies),
        "COPY": _rows(laid.copies),
        "ENDS": _rows(laid.results),
        **long_vector("OFFSET", constants, long=z.element.width > 31),
    }


def _rows(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """All rows one after the other; a vector of VHDL is not empty."""
    return table.ravel() if len(table) else np.zeros(table.shape[1], np.int64)


def _resources(site: Site) -> Resources:
    x, z, found, laid = site.operands[0], site.results[0], _network(site), _layout(site)
    ranks = int(laid.copies[:, 2].sum()) if len(laid.copies) else 0
    stages = site.attributes["stages"]
    pieces = (Piece("add", 1, found.bits), Piece("select", 1, x.payload_width, 2), Piece("logic", 2 * stages + 2, 1))
    registers = x.payload_width + 1 + ranks + z.payload_width + stages
    return Resources(adders=len(laid.adders) + z.channels, registers=registers, pieces=pieces)


ADDER_GRAPH = Component(adder_graph, "adder_graph.vhd", _generics, _schedule, _resources)
"""The component of `adder_graph`."""
