"""adder_graph: a constant matrix times all channels of each position, as a network of shifts and additions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.adder_layout import Layout, layout
from graphrewrite.hdl.arithmetic.adder_network import Network, network
from graphrewrite.hdl.arithmetic.adder_results import Finish, RowEnd, row_ends
from graphrewrite.hdl.arithmetic.channelwise import bounds, check_range
from graphrewrite.hdl.component import Component, Generic, Resources, Site, spaced, streams
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.generics import long_integer, long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.op.integer.arithmetic import exact_matmul
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["ADDER_GRAPH", "adder_graph"]


_BIT = FixedPoint(False, 1)
"""A format for where only the matrix of a network is asked for, which no format changes."""
_WIDE = FixedPoint(True, 62)
_MOST_BITS = 48
_ROUNDINGS = ("half_even", "half_up", "down")


def _infer(
    x: Type,
    *,
    adders: ArrayLike,
    outputs: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    shift: int | Sequence[int] | None,
    stages: int,
    **rounded: Any,
) -> Stream:
    (stream,) = streams(x)
    if stream.folds > 1:
        raise TypeMismatchError(f"{stream} has folded channels, and a network of adders takes all at once; refold it")
    net, terms = network(adders, outputs, stream.channels, stream.element), np.asarray(bias, np.int64)
    rows = len(net.weights)
    if terms.shape != (rows,):
        raise TypeMismatchError(f"bias {terms.shape} does not fit {rows} outputs; give one number for each")
    (result,) = streams(Stream(element, (rows, *stream.shape[1:])))
    if shift is not None:
        # The checks of a requantise of its own, for sums of any width that there may be.
        requantise.infer(Stream(FixedPoint(True, _MOST_BITS), result.shape), shift=shift, element=element, **rounded)
        if np.min(shift) < 0 or rounded["rounding"] not in _ROUNDINGS:
            raise TypeMismatchError(
                f"shift {np.min(shift)}, rounding {rounded['rounding']!r}: a network of adders shifts to the right and "
                f"rounds {', '.join(_ROUNDINGS[:-1])} or {_ROUNDINGS[-1]}; give a requantise of its own"
            )
    elif rounded != {"low": None, "high": None, "offset": 0, "rounding": "half_even"}:
        raise TypeMismatchError("limits, an offset or a rounding of sums that are not shifted; give shift=0")
    low_sums, high_sums = _sums(net, terms, stream.element)
    if shift is None:
        check_range("sums", int(low_sums.min()), int(high_sums.max()), element)
    ends = _ends(net, stream.element, rows, {"bias": bias, "element": element, "shift": shift, **rounded})
    if max(end.bits for end in ends) > _MOST_BITS:
        raise TypeMismatchError(f"sums of more than {_MOST_BITS} bits; give smaller weights or shift less")
    levels = net.levels + _limited(ends)
    if not 1 <= stages <= levels:
        raise TypeMismatchError(f"stages={stages}: this network has use for 1 to {levels} pipeline stages")
    return result


def _sums(net: Network, bias: NDArray[np.int64], element: FixedPoint) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and the greatest sum of each row."""
    ends = net.weights * element.minimum, net.weights * element.maximum
    return np.minimum(*ends).sum(axis=1) + bias, np.maximum(*ends).sum(axis=1) + bias


def _ends(net: Network, x: FixedPoint, rows: int, attributes: Mapping[str, Any]) -> list[RowEnd]:
    """The end of each row."""
    sums, finish = _sums(net, np.asarray(attributes["bias"], np.int64), x), None
    results = sums
    if attributes["shift"] is not None:
        how = {name: attributes[name] for name in ("shift", "offset", "rounding")}
        # Rounding is monotone: of the ends of the sums it gives those of the results.
        low, high = requantise(np.stack(sums), element=_WIDE, **how)
        results = low, high
        limits = bounds(attributes["element"], attributes["low"], attributes["high"])
        places = np.broadcast_to(attributes["shift"], rows).tolist()
        finish = Finish(places, *limits, attributes["offset"], attributes["rounding"])
    return row_ends(sums, results, finish)


def _limited(ends: Sequence[RowEnd]) -> bool:
    return any(end.limits or end.tie for end in ends)


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
    shift: int | Sequence[int] | None = None,
    low: int | None = None,
    high: int | None = None,
    offset: int = 0,
    rounding: str = "half_even",
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return a constant matrix times the channels of every position, plus a bias: without a multiplier.

    Given a shift, the sums are divided by ``2**shift``, rounded and limited, as by `requantise`.

    Parameters
    ----------
    adders : array of int, shape [A, 5]
        Two numbers, the shift of each, and 1 where the second is subtracted. Numbers 0 to I - 1 are the channels of x,
        number I + k is what adder k gives.
    stages : int
        Pipeline stages; the last ends with the results, the others split the network into parts of equally many adders
        in series. Limits count as an adder.

    Examples
    --------
    The rows 5 x + y and -2 y:

    >>> x = np.array([[1, 2], [3, 4]], np.int8)
    >>> adders, outputs = [[0, 0, 0, 2, 0], [2, 1, 0, 0, 0]], [[3, 0, 1], [1, 1, -1]]
    >>> adder_graph(x, adders=adders, outputs=outputs, bias=[0, 10], element=FixedPoint(True, 16)).tolist()
    [[7, 6], [19, 2]]
    >>> unsigned = {"element": FixedPoint(False, 3), "shift": 1}
    >>> adder_graph(x, adders=adders, outputs=outputs, bias=[0, 10], **unsigned).tolist()
    [[4, 3], [7, 1]]
    """
    inputs = x.shape[1]
    matrix = network(adders, outputs, inputs, _BIT).weights
    rows = np.moveaxis(x.reshape(len(x), inputs, -1), 1, 2)
    sums = exact_matmul(rows.reshape(-1, inputs), matrix.T).astype(np.int64) + np.asarray(bias, np.int64)
    sums = np.moveaxis(sums.reshape(len(x), -1, len(matrix)), 1, 2).reshape(len(x), len(matrix), *x.shape[2:])
    if shift is None:
        return sums.astype(element.dtype)
    how = {"low": low, "high": high, "offset": offset, "rounding": rounding}
    return np.asarray(requantise(sums, shift=shift, element=element, **how))


def _network(site: Site) -> Network:
    x, attributes = site.operands[0], site.attributes
    return network(attributes["adders"], attributes["outputs"], x.channels, x.element)


def _laid(site: Site) -> tuple[Layout, list[RowEnd]]:
    x, net, attributes = site.operands[0].element, _network(site), site.attributes
    ends = _ends(net, x, len(net.weights), attributes)
    # What rounding adds is constant, and costs nothing as a part of the bias.
    bias = np.asarray(attributes["bias"], np.int64) + [end.added for end in ends]
    return layout(net, bias, x, attributes["stages"], limited=_limited(ends)), ends


def _schedule(site: Site) -> Schedule:
    beats = np.arange(site.operands[0].beats)
    return spaced(len(beats), beats, beats, site.attributes["stages"])


def _generics(site: Site) -> dict[str, Generic]:
    x, z, (laid, ends), attributes = site.operands[0], site.results[0], _laid(site), site.attributes
    # Sums are formed modulo their width: a negative constant is a great one.
    constants = np.array([c % (1 << end.bits) for c, end in zip(laid.constants, ends, strict=True)], np.int64)
    low, high = bounds(z.element, attributes["low"], attributes["high"])
    return {
        "INPUTS": x.channels,
        "OUTPUTS": z.channels,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "STAGES": attributes["stages"],
        "LAST_RANK": laid.last_rank,
        "BITS": laid.bits,
        "ADDERS": len(laid.adders),
        "ADDER": _rows(laid.adders),
        "COPIES": len(laid.copies),
        "COPY": _rows(laid.copies),
        "ENDS": _rows(np.column_stack([laid.results, [end.row for end in ends]])),
        **long_vector("OFFSET", constants, long=max(end.bits for end in ends) > 31),
        **long_integer("LEAST", low),
        **long_integer("SPAN", high - low),
    }


def _rows(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """All rows one after the other; a vector of VHDL is not empty."""
    return table.ravel() if len(table) else np.zeros(table.shape[1], np.int64)


def _resources(site: Site) -> Resources:
    x, z, net, (laid, ends) = site.operands[0], site.results[0], _network(site), _laid(site)
    stage_registers = int(laid.copies[:, 2].sum()) if len(laid.copies) else 0
    stages = site.attributes["stages"]
    limits = sum((z.element.width if end.limits else 0) + bool(end.tie) for end in ends)
    sums = sum(end.bits - end.places for end in ends) if laid.last_rank else 0
    pieces = (
        *(Piece("add", count, width) for width, count in sorted(net.overlaps.items())),
        *(Piece("increment", count, width) for width, count in sorted(Counter(end.bits for end in ends).items())),
        Piece("invert", 1, net.inverted),
        Piece("select", 1, x.payload_width, 2),
        Piece("logic", 2 * stages + 2 + limits, 1),
    )
    registers = x.payload_width + 1 + stage_registers + sums + z.payload_width + stages
    return Resources(adders=len(laid.adders) + z.channels, registers=registers, pieces=pieces)


ADDER_GRAPH = Component(adder_graph, "adder_graph.vhd", _generics, _schedule, _resources)
"""The component of `adder_graph`."""
