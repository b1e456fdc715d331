"""Fine-tuning for hardware: training with the rounding of few bits, and a network in fixed point of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, Module
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.learning.errors import TrainingError
from graphrewrite.learning.optimisers import Adam, Optimiser
from graphrewrite.learning.samples import samples
from graphrewrite.learning.schedules import cosine
from graphrewrite.learning.training import Fit, Interrupted, check_numbers, fit, labelled_by, scores_of
from graphrewrite.lowering.implementations import with_implementations
from graphrewrite.lowering.predicates import with_predicates, without_predicates
from graphrewrite.lowering.quantisation.calibration import Bits, Widths
from graphrewrite.lowering.quantisation.fake_network import FakeNetwork
from graphrewrite.lowering.quantisation.fixed_point_network import with_scaled_channels
from graphrewrite.lowering.quantisation.preparation import prepared
from graphrewrite.lowering.quantisation.quantiser import Choices
from graphrewrite.op import Op

__all__ = ["FineTuned", "finetune"]

_CALIBRATION = 512
"""Samples by which formats are chosen to begin with."""
_LEAST = 2
"""Bits of a width at least."""
_RATE = 4e-3


@dataclass(frozen=True, eq=False, repr=False)
class FineTuned(Fit):
    """What fine-tuning gave.

    Attributes
    ----------
    graph : Graph
        The network in fixed point, for `to_integer`, as `quantise` gives it.
    fake_quantised : Graph
        The network as it was trained, with float weights and ops that round them: it computes the same.
    history : tuple of mapping
        As of `Fit`.
    """

    fake_quantised: Graph


def finetune(
    graph: Graph | Module,
    data: tuple[Any, Any],
    *,
    bits: Bits = 4,
    per_channel: bool = False,
    epochs: int = 10,
    learn_scales: bool = True,
    loss: str | Op | None = None,
    optimiser: Optimiser | None = None,
    batch: int = 32,
    seed: int = 0,
    validation: tuple[Any, Any] | None = None,
    patience: int | None = None,
    augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
    watch: Callable[[Mapping[str, Any]], None] | None = None,
) -> FineTuned:
    """Train a network on with the rounding of its hardware, so that it loses little with few bits.

    Scale and batch norm are folded into weights first. Then every weight, bias and value is rounded as `quantise` and
    `to_integer` round, half to even and saturated, in the binary points that `quantise` would choose; gradients go
    straight through. In the first half of the epochs the binary points are learnt too, in the second they are fixed.

    Parameters
    ----------
    graph : Graph or Module
        A trained network with one output, as for `fit`; what only `quantise` could do is refused as there.
    data : (inputs, targets)
        Samples, as for `fit`; the first 512 choose the binary points to begin with.
    bits : int, or mapping of str to int or pair of int
        Word widths, 2 to 16, as for `quantise`: of layers by name or pattern, of weights and results apart.
    per_channel : bool
        Whether each output channel of a layer's weights has a binary point of its own.
    epochs : int
        How often all samples are seen.
    learn_scales : bool
        Whether binary points are learnt.
    loss, optimiser, batch, seed, validation, patience, augment, watch
        As for `fit`; the optimiser starts anew for the second half.

    Returns
    -------
    FineTuned
        With the network in fixed point.

    Raises
    ------
    TrainingError
        As `fit`, and if no layer has weights.
    QuantisationError
        As `quantise`.
    Interrupted
        By a `KeyboardInterrupt`, with what was reached.

    Examples
    --------
    >>> from graphrewrite import Tensor, evaluate
    >>> from graphrewrite.hierarchy import layers, sequential
    >>> from graphrewrite.lowering import to_integer
    >>> net = sequential(layers.linear(1)).graph(Tensor("f32", ("N", 2)))
    >>> x = np.random.default_rng(0).normal(size=(64, 2))
    >>> tuned = finetune(net, (x, x @ [[0.5], [-0.25]]), bits=3)
    >>> found, again = (evaluate(g, {net.inputs[0]: x}) for g in (tuned.graph, to_integer(tuned.graph)))
    >>> bool((found[net.outputs[0]] == again[net.outputs[0]]).all())
    True
    """
    check_numbers(epochs=epochs, batch=batch, patience=patience)
    flat = flattened(graph)
    given = samples(flat, data, scores_of(flat), labelled=labelled_by(loss))
    seen = {name: array[:_CALIBRATION] for name, array in given.inputs.items()}
    folded, inputs = prepared(flat, seen)
    plain = without_predicates(folded)
    widths = Widths(plain, bits, least=_LEAST)
    _, plain = with_scaled_channels(plain, inputs, widths, per_channel=per_channel, fit=True)
    network = FakeNetwork.of(plain, inputs, widths, per_channel=per_channel)
    if not network.layers:
        raise TrainingError(f"the graph {flat.name!r} has no layer whose weights could be learnt")
    rest: dict[str, Any] = {
        "loss": loss,
        "batch": batch,
        "seed": seed,
        "validation": validation,
        "patience": patience,
        "augment": augment,
        "watch": watch,
    }
    history: tuple[Mapping[str, Any], ...] = ()

    def result(trained: Graph, choices: Choices) -> FineTuned:
        last = FakeNetwork.of(network.learnt(plain, trained), inputs, widths, per_channel=per_channel, choices=choices)
        fixed = with_implementations(with_predicates(last.fixed, folded), flat)
        return FineTuned(fixed, history, last.graph)

    steps = -(-len(given) // batch)
    for part, learns_scales in _parts(epochs, learn_scales=learn_scales):
        scales = (*network.weight_exponents.values(), *network.value_exponents.values()) if learns_scales else ()
        learnt = [name for names in network.layers.values() for name in names]
        way = optimiser or Adam(cosine(_RATE, steps=steps * part))
        try:
            done = fit(network.graph, data, optimiser=way, epochs=part, wrt=[*learnt, *scales], **rest)
        except Interrupted as stop:
            history += stop.fit.history
            raise Interrupted(result(stop.fit.graph, network.choices_in(stop.fit.graph))) from None
        history += done.history
        choices = network.choices_in(done.graph)
        plain = network.learnt(plain, done.graph)
        network = FakeNetwork.of(plain, inputs, widths, per_channel=per_channel, choices=choices)
    return result(network.graph, choices)


def _parts(epochs: int, *, learn_scales: bool) -> list[tuple[int, bool]]:
    """Return so many epochs with learnt scales, and so many without."""
    first = (epochs + 1) // 2 if learn_scales and epochs > 1 else 0
    return [part for part in ((first, True), (epochs - first, False)) if part[0]]
