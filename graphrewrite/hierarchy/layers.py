"""Layers: parts with fresh weights, whose sizes follow from what they read.

A layer is a value: each use of it in a graph makes weights of its own, named after its node, such as ``conv_1.w``. A
layer with a name makes them once in a graph, and shares them from then on. Matrices and kernels are uniform in
``(-a, a)``, ``a = sqrt(6 / (inputs + outputs))`` (Glorot and Bengio 2010), drawn by a generator that the seed and the
name of the weight decide. Gains and variances are 1, all else is 0.

Examples
--------
>>> from graphrewrite import Tensor, op
>>> from graphrewrite.hierarchy import layers, sequential
>>> net = sequential(layers.conv(8, 3), op.relu, op.flatten, layers.linear(10, name="head"))
>>> graph = net.graph(Tensor("f32", ("N", 1, 6, 6)))
>>> print(graph.result_type("conv_1.w"), graph.result_type("head.w"), graph.result_type("head"))
f32[8,1,3,3] f32[10,128] f32[N,10]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hierarchy.layer import Layer, Weight
from graphrewrite.op.library import LIBRARY
from graphrewrite.types import Dimension, Tensor

__all__ = [
    "batch_norm",
    "conv",
    "conv_transpose",
    "embedding",
    "group_norm",
    "gru",
    "layer_norm",
    "linear",
    "lstm",
    "prelu",
    "rnn",
]


def _size(kind: Tensor, axis: int, what: str) -> int:
    """Return the size of an axis, which has to be a number for a weight to be made."""
    try:
        size: Dimension = kind.shape[axis]
    except IndexError:
        raise TypeMismatchError(f"{what} reads {kind}, which has too few axes") from None
    if not isinstance(size, int):
        raise TypeMismatchError(f"{what} reads {kind}; its weights need a number in place of {size!r}")
    return size


def _each(sizes: int | Sequence[int], axes: int) -> tuple[int, ...]:
    return (sizes,) * axes if isinstance(sizes, int) else tuple(sizes)


def _channels(kind: Tensor, what: str) -> int:
    return _size(kind, 1, what)


def _with_bias(weight: Weight, outputs: int, bias: bool) -> dict[str, Weight | None]:
    return {"w": weight, **({"b": Weight((outputs,), 0.0)} if bias else {})}


def conv(
    channels: int,
    kernel: int | Sequence[int],
    *,
    bias: bool = True,
    groups: int = 1,
    name: str | None = None,
    seed: int = 0,
    **attributes: Any,
) -> Layer:
    """Return a convolution.

    Parameters
    ----------
    channels : int
        Output channels; the input channels are those of the value that it reads.
    kernel : int or sequence of int
        Size of the kernel along each axis after batch and channels; a number holds for all of them.
    bias : bool
        Whether it has one.
    groups : int
        Groups of channels.
    name, seed : str, int
        Of its node, and of its weights.
    **attributes
        Further attributes of `op.conv`, such as ``strides`` and ``pads``.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> x = graph.input("x", Tensor("f32", ("N", 3, 8, 8)))
    >>> print(conv(4, 3)(x).type, conv(6, (1, 3), groups=3, bias=False)(x).type)
    f32[N,4,6,6] f32[N,6,8,6]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        inputs, axes = _channels(kind, "conv"), len(kind.shape) - 2
        sizes = _each(kernel, axes)
        taps = int(np.prod(sizes))
        fans = (inputs // groups * taps, channels // groups * taps)
        return _with_bias(Weight((channels, inputs // groups, *sizes), fans=fans), channels, bias)

    return Layer(LIBRARY["conv"], weights, {"groups": groups, **attributes}, name, seed)


def conv_transpose(
    channels: int,
    kernel: int | Sequence[int],
    *,
    bias: bool = True,
    name: str | None = None,
    seed: int = 0,
    **attributes: Any,
) -> Layer:
    """Return a transposed convolution; see `conv`.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(conv_transpose(4, 3)(graph.input("x", Tensor("f32", ("N", 3, 8, 8)))).type)
    f32[N,4,10,10]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        inputs = _channels(kind, "conv_transpose")
        sizes = _each(kernel, len(kind.shape) - 2)
        taps = int(np.prod(sizes))
        return _with_bias(Weight((inputs, channels, *sizes), fans=(inputs * taps, channels * taps)), channels, bias)

    return Layer(LIBRARY["conv_transpose"], weights, attributes, name, seed)


def linear(features: int, *, bias: bool = True, name: str | None = None, seed: int = 0) -> Layer:
    """Return a fully-connected layer.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(linear(4)(graph.input("x", Tensor("f32", ("N", 3)))).type)
    f32[N,4]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        inputs = _size(kind, -1, "linear")
        return _with_bias(Weight((features, inputs), fans=(inputs, features)), features, bias)

    return Layer(LIBRARY["linear"], weights, {}, name, seed)


def batch_norm(*, name: str | None = None, **attributes: Any) -> Layer:
    """Return a batch normalisation: gains and variances of 1, shifts and means of 0, one a channel.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(batch_norm()(graph.input("x", Tensor("f32", ("N", 3, 8)))).type)
    f32[N,3,8]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        shape = (_channels(kind, "batch_norm"),)
        return {"gain": Weight(shape, 1), "shift": Weight(shape, 0), "mean": Weight(shape, 0), "var": Weight(shape, 1)}

    return Layer(LIBRARY["batch_norm"], weights, attributes, name)


def group_norm(groups: int, *, name: str | None = None, **attributes: Any) -> Layer:
    """Return a group normalisation: gains of 1 and shifts of 0, one a channel.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(group_norm(2)(graph.input("x", Tensor("f32", ("N", 4, 8)))).type)
    f32[N,4,8]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        shape = (_channels(kind, "group_norm"),)
        return {"gain": Weight(shape, 1), "shift": Weight(shape, 0)}

    return Layer(LIBRARY["group_norm"], weights, {"groups": groups, **attributes}, name)


def layer_norm(*, axis: int = -1, name: str | None = None, **attributes: Any) -> Layer:
    """Return a layer normalisation over the axes from one on: gains of 1 and shifts of 0.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(layer_norm()(graph.input("x", Tensor("f32", ("N", "seq", 8)))).type)
    f32[N,seq,8]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        first = axis if axis >= 0 else len(kind.shape) + axis
        shape = tuple(_size(kind, i, "layer_norm") for i in range(first, len(kind.shape)))
        return {"gain": Weight(shape, 1), "shift": Weight(shape, 0)}

    return Layer(LIBRARY["layer_norm"], weights, {"axis": axis, **attributes}, name)


def prelu(*, slope: float = 0.25, name: str | None = None) -> Layer:
    """Return a parametric rectifier with one slope a channel.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(prelu()(graph.input("x", Tensor("f32", ("N", 4, 8)))).type)
    f32[N,4,8]
    """

    def weights(kind: Tensor) -> dict[str, Weight | None]:
        return {"slope": Weight((_channels(kind, "prelu"), *(1,) * (len(kind.shape) - 2)), slope)}

    return Layer(LIBRARY["prelu"], weights, {}, name)


def _recurrent(kind: str, gates: int, hidden: int, bias: bool, name: str | None, seed: int, given: Any) -> Layer:
    """Return a recurrent layer whose gates stand in the rows of its weights; its states begin at zero."""
    both = 2 if given.get("direction") == "bidirectional" else 1

    def weights(read: Tensor) -> dict[str, Weight | None]:
        inputs, rows = _size(read, -1, kind), gates * hidden
        w = Weight((both, rows, inputs), fans=(inputs, hidden))
        r = Weight((both, rows, hidden), fans=(hidden, hidden))
        return {"w": w, "r": r, "b": Weight((both, 2 * rows), 0) if bias else None}

    return Layer(LIBRARY[kind], weights, given, name, seed)


def lstm(hidden: int, *, bias: bool = True, name: str | None = None, seed: int = 0, **attributes: Any) -> Layer:
    """Return a layer of long short-term memory; its results are those of `op.lstm`.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(*(y.type for y in lstm(4)(graph.input("x", Tensor("f32", ("seq", "N", 3))))))
    f32[seq,1,N,4] f32[1,N,4] f32[1,N,4]
    """
    return _recurrent("lstm", 4, hidden, bias, name, seed, attributes)


def gru(hidden: int, *, bias: bool = True, name: str | None = None, seed: int = 0, **attributes: Any) -> Layer:
    """Return a layer of gated recurrent units; its results are those of `op.gru`.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(*(y.type for y in gru(4, direction="bidirectional")(graph.input("x", Tensor("f32", (5, "N", 3))))))
    f32[5,2,N,4] f32[2,N,4]
    """
    return _recurrent("gru", 3, hidden, bias, name, seed, attributes)


def rnn(hidden: int, *, bias: bool = True, name: str | None = None, seed: int = 0, **attributes: Any) -> Layer:
    """Return a simple recurrent layer; its results are those of `op.rnn`.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(*(y.type for y in rnn(4, bias=False)(graph.input("x", Tensor("f32", (5, "N", 3))))))
    f32[5,1,N,4] f32[1,N,4]
    """
    return _recurrent("rnn", 1, hidden, bias, name, seed, attributes)


def embedding(entries: int, features: int, *, element: str = "f32", name: str | None = None, seed: int = 0) -> Layer:
    """Return a table of vectors, read by index.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph("g")
    >>> print(embedding(100, 8)(graph.input("tokens", Tensor("i64", ("N", "seq")))).type)
    f32[N,seq,8]
    """
    table = Weight((entries, features), fans=(entries, features))
    return Layer(LIBRARY["gather"], lambda _: {"x": table}, {"axis": 0}, name, seed, element=element, reads=1)
