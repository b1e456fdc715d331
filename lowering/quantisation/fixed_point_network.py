"""Networks in fixed point: prepared, quantised in the ways that are asked for, the one of least noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Graph, Module
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.composite.products import LOWER_SUMS
from graphrewrite.lowering.exchange.generic_nodes import refuse_unknown
from graphrewrite.lowering.implementations import with_implementations
from graphrewrite.lowering.predicates import with_predicates, without_predicates
from graphrewrite.lowering.preparation.broadcasting import spread_operand
from graphrewrite.lowering.preparation.position_means import BY_WINDOWS, POOL_POSITIONS, write_conv_transpose_by_blocks
from graphrewrite.lowering.preparation.signs import scale_rows_before_sign
from graphrewrite.lowering.prequantised.signs import COMPARISONS_AS_SIGNS
from graphrewrite.lowering.prequantised.transposes import SINK_TRANSPOSES
from graphrewrite.lowering.quantisation.calibration import Bits, Widths, check_weights, checked_samples
from graphrewrite.lowering.quantisation.equalisation import equalised
from graphrewrite.lowering.quantisation.guards import warn_of_lost_layer
from graphrewrite.lowering.quantisation.output_noise import output_noise
from graphrewrite.lowering.quantisation.quantiser import Quantiser
from graphrewrite.lowering.recorded_steps import recorded
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import FOLDING, RULES

__all__ = ["PREPARE", "in_fixed_point", "prepared", "quantise", "with_scaled_channels"]


def quantise(
    graph: Graph | Module,
    samples: Any,
    *,
    bits: Bits = 8,
    per_channel: bool = False,
    equalise: bool = True,
    fit: bool = True,
    implementations: Library | None = None,
    steps: list[Step] | None = None,
) -> Graph:
    """Return the network in fixed point, still written in floats: every value lies on the grid of a format.

    Scale and batch norm are folded into weights first; what scales an input and cannot be folded is left to the host.
    Then each input and each layer (with the relu or clip after it) is followed by one ``quantise`` node, the only place
    that rounds, half to even, and saturates; weights and biases are rounded to grids of their own. So is the result of
    each elementwise function of one value: a sigmoid, a gelu. Binary points are chosen by the least squared error over
    the samples, of the function where only that reads the value. The last layer keeps the exact sums of its
    accumulator, up to 31 bits; a sigmoid, tanh or softmax after it is left to the host.

    Each weight is rounded up or down so that the sums of its layer stay near on the samples, and with 16 samples or
    more, their mean error goes into the bias: this costs no hardware.

    Nested graphs are quantised where they are used, each use with the binary points and roundings that suit it best;
    the result is flat, and remembers them for `to_stream` and `hdl.emit`.

    Predicates stay on the nodes that stand for theirs, and what computes them as it is; their inputs need no samples.
    Those that are computed of a layer's results go, and all is computed.

    Parameters
    ----------
    graph : Graph or Module
        A float network of the level ``nn``; of a module its main graph.
    samples : ndarray or mapping of str to ndarray
        Calibration inputs, batch first; a mapping by input where there are several.
    bits : int, or mapping of str to int or pair of int
        Word width, 4 to 16; or one a layer by the name of its origin or a pattern of it, as ``"conv*"``, with
        ``"default"`` for the rest; ``"block_1.conv_1"`` is a layer of one use of a nested graph, ``"block.conv_1"``
        of all. A name goes before patterns, and of these the first that fits. A pair gives the
        widths of the layer's weights and of its result.
    per_channel : bool
        Whether each output channel of a layer's weights may have a binary point of its own: it does where the outputs
        have less noise on the samples by it.
    equalise : bool
        Whether channels that share a format may be scaled to share its range, those of an input by the host, where that
        lowers the noise on the samples. Values between layers are then multiples of those in floats.
    fit : bool
        Whether to fit weights and biases to the samples; else each weight is rounded to nearest.
    implementations : mapping of str to Graph, Op or Component, optional
        Where names that nodes have in their annotation ``implementation`` are looked up first, then in the module of
        the graph; what they name is quantised in their place. Names of hardware stay on their nodes, for `to_stream`.
    steps : list of Step, optional
        Collects what each rule did.

    Raises
    ------
    ImplementationError
        If an implementation that a node names is missing, does not fit, or would be lost.
    UnsupportedOpsError
        If there are generic nodes; names all of them.
    QuantisationError
        If samples are missing, empty, not finite or of the wrong shape, weights are not finite, or widths are out of
        range.

    Warns
    -----
    QuantisationWarning
        If the quantised results of a layer never vary over the samples, although those of the float network do; or if
        32 samples or more are all alike.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 2)))
    >>> _ = g.output("y", op.linear(x, np.float32([[0.5, -0.25]]), np.float32([0.125])))
    >>> fixed = quantise(g, np.float32([[0.9, -0.7]]))
    >>> [str(fixed.nodes[n]["element"]) for n in fixed if fixed.nodes[n]["type"] == "quantise"]
    ['s8f7', 's15f14']
    """
    graph = flattened(graph, implementations or {})
    folded, inputs = prepared(graph, samples, steps, implementations)
    plain = without_predicates(folded)
    fixed = in_fixed_point(plain, inputs, Widths(plain, bits), per_channel=per_channel, equalise=equalise, fit=fit)
    warn_of_lost_layer(graph, plain, fixed, inputs)
    return with_implementations(with_predicates(fixed, folded), graph)


def in_fixed_point(
    folded: Graph,
    inputs: dict[str, np.ndarray],
    widths: Widths,
    *,
    per_channel: bool,
    equalise: bool = True,
    fit: bool = True,
) -> Graph:
    """Return a prepared network in fixed point: of the ways that are asked for, the one of least noise."""
    found, noise_of = [], partial(output_noise, folded, inputs)
    for own in sorted({False, per_channel}):
        if equalise:
            found.append(with_scaled_channels(folded, inputs, widths, per_channel=own, fit=fit)[0])
        else:
            found.append(Quantiser(folded, inputs, widths, own, fit).run())
    return found[0] if len(found) == 1 else min(found, key=noise_of)


def with_scaled_channels(
    folded: Graph, inputs: dict[str, np.ndarray], widths: Widths, *, per_channel: bool, fit: bool
) -> tuple[Graph, Graph]:
    """Return a prepared network in fixed point, channels scaled where that lowers the noise, and the same in floats."""
    made: list[tuple[Graph, Graph]] = []

    def quantised(network: Graph) -> Graph:
        made.append((Quantiser(network, inputs, widths, per_channel, fit).run(), network))
        return made[-1][0]

    noise_of = partial(output_noise, folded, inputs)
    best = equalised(folded, inputs, widths, per_channel=per_channel, quantised=quantised, noise=noise_of)
    return next(pair for pair in made if pair[0] is best)


def prepared(
    graph: Graph | Module,
    samples: Any,
    steps: list[Step] | None = None,
    implementations: Library | None = None,
) -> tuple[Graph, dict[str, np.ndarray]]:
    """Return a network with all that can be folded into its layers, and checked samples by input."""
    graph = flattened(graph, implementations or {})  # a name that nobody has must not pass for the op
    refuse_unknown(without_predicates(graph))
    folded = recorded(graph, (*PREPARE, *FOLDING, *RULES), steps)
    inputs = checked_samples(folded, samples)
    check_weights(without_predicates(folded))
    return folded, inputs


PREPARE = (
    *SINK_TRANSPOSES,
    *POOL_POSITIONS,
    *BY_WINDOWS,
    write_conv_transpose_by_blocks,
    *COMPARISONS_AS_SIGNS,
    scale_rows_before_sign,
    spread_operand,
    *LOWER_SUMS,
)
"""Rules that write a network by layers and functions that are quantised."""
