"""Networks in fixed point: prepared, quantised in the ways that are asked for, the one of least noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Graph, Module
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.errors import ProfileError
from graphrewrite.lowering.implementations import with_implementations
from graphrewrite.lowering.predicates import with_predicates, without_predicates
from graphrewrite.lowering.quantisation.calibration import Bits, Widths, checked_samples
from graphrewrite.lowering.quantisation.equalisation import equalised
from graphrewrite.lowering.quantisation.format_choice import Method
from graphrewrite.lowering.quantisation.guards import warn_of_lost_layer
from graphrewrite.lowering.quantisation.output_noise import output_noise
from graphrewrite.lowering.quantisation.preparation import prepared_network
from graphrewrite.lowering.quantisation.profile_gathering import check_profile
from graphrewrite.lowering.quantisation.quantiser import Quantiser
from graphrewrite.lowering.quantisation.value_profile import Ranges, ValueProfile
from graphrewrite.rewriting.traces import Step

__all__ = ["in_fixed_point", "quantise", "with_scaled_channels"]


def quantise(
    graph: Graph | Module,
    samples: Any = None,
    *,
    bits: Bits = 8,
    ranges: Method = "mse",
    profile: ValueProfile | None = None,
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
    each elementwise function of one value: a sigmoid, a gelu. Binary points of values are chosen by histograms of the
    samples, or of a profile: by the least squared error, of the function where only that reads the value. The last
    layer keeps the exact sums of its accumulator, up to 31 bits; a sigmoid, tanh or softmax after it is left to the
    host.

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
    samples : ndarray or mapping of str to ndarray, optional
        Calibration inputs, batch first; a mapping by input where there are several. With a profile they may be left
        out: then weights are rounded to nearest.
    bits : int, or mapping of str to int or pair of int
        Word width, 4 to 16; or one a layer by the name of its origin or a pattern of it, as ``"conv*"``, with
        ``"default"`` for the rest; ``"block_1.conv_1"`` is a layer of one use of a nested graph, ``"block.conv_1"``
        of all. A name goes before patterns, and of these the first that fits. A pair gives the
        widths of the layer's weights and of its result.
    ranges : {"mse", "minmax", "percentile", "entropy"} or float
        How the range of a value is chosen: the least squared error; its ends; 0.01 % of the values do, or with
        a number, what is beyond that percentile; the least divergence from the values.
    profile : ValueProfile, optional
        What `profile_values` gathered of the same network: ranges of values come from it, and not from the samples.
        Channels are not scaled then, as it has the values of the network itself.
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
        If samples and profile are missing, the profile is of another network, samples are empty, not finite or of the
        wrong shape, weights are not finite, or widths are out of range.

    Warns
    -----
    QuantisationWarning
        If the quantised results of a layer never vary over the samples, although those of the float network do; or if
        32 samples or more are all alike.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 2)))
    >>> _ = g.output("y", op.linear(x, np.float32([[0.5, -0.25]]), np.float32([0.125])))
    >>> fixed = quantise(g, np.float32([[0.9, -0.7]]))
    >>> [str(fixed.nodes[n]["element"]) for n in fixed if fixed.nodes[n]["type"] == "quantise"]
    ['s8f7', 's15f14']
    """
    if isinstance(samples, ValueProfile):
        raise ProfileError("there is a profile in the place of samples; pass it as profile=...")
    chosen, graph = Ranges(ranges, profile), flattened(graph, implementations or {})
    folded = prepared_network(graph, steps, implementations)
    inputs = {} if samples is None and profile is not None else checked_samples(folded, samples)
    plain = without_predicates(folded)
    if profile is not None:
        check_profile(plain, profile)
    fixed = in_fixed_point(
        plain, inputs, Widths(plain, bits), per_channel=per_channel, equalise=equalise, fit=fit, ranges=chosen
    )
    if inputs:
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
    ranges: Ranges | None = None,
) -> Graph:
    """Return a prepared network in fixed point: of the ways that are asked for, the one of least noise."""
    chosen, found = ranges or Ranges(), []
    # Without samples the noise is not known.
    for own in sorted({False, per_channel}) if inputs else [per_channel]:
        if equalise and chosen.profile is None:
            found.append(with_scaled_channels(folded, inputs, widths, per_channel=own, fit=fit, ranges=chosen)[0])
        else:
            found.append(Quantiser(folded, inputs, widths, own, fit and bool(inputs), ranges=chosen).run())
    return found[0] if len(found) == 1 else min(found, key=partial(output_noise, folded, inputs))


def with_scaled_channels(
    folded: Graph,
    inputs: dict[str, np.ndarray],
    widths: Widths,
    *,
    per_channel: bool,
    fit: bool,
    ranges: Ranges | None = None,
) -> tuple[Graph, Graph]:
    """Return a prepared network in fixed point, channels scaled where that lowers the noise, and the same in floats."""
    made: list[tuple[Graph, Graph]] = []

    def quantised(network: Graph) -> Graph:
        made.append((Quantiser(network, inputs, widths, per_channel, fit, ranges=ranges).run(), network))
        return made[-1][0]

    noise_of = partial(output_noise, folded, inputs)
    best = equalised(folded, inputs, widths, per_channel=per_channel, quantised=quantised, noise=noise_of)
    return next(pair for pair in made if pair[0] is best)
