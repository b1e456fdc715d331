"""Fine-tuning for hardware: training with the rounding of few bits, and a network in fixed point of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphrewrite import Graph, Module
from graphrewrite.learning.errors import TrainingError
from graphrewrite.learning.optimisers import Adam, Optimiser
from graphrewrite.learning.pruning import Pruning, check_share
from graphrewrite.learning.schedules import cosine
from graphrewrite.learning.training import VALIDATED, Fit, Interrupted, check_numbers, fit, flat_network, parted
from graphrewrite.learning.widths import Budget, LearntWidths, WithinBudget, chosen_widths
from graphrewrite.lowering.implementations import with_implementations
from graphrewrite.lowering.predicates import with_predicates, without_predicates
from graphrewrite.lowering.quantisation.calibration import Bits, Widths
from graphrewrite.lowering.quantisation.fake_network import FakeNetwork
from graphrewrite.lowering.quantisation.fixed_point_network import with_scaled_channels
from graphrewrite.lowering.quantisation.folded_norms import layers_with_norms, statistics_of
from graphrewrite.lowering.quantisation.preparation import prepared
from graphrewrite.op import Op

__all__ = ["FineTuned", "finetune"]

_CALIBRATION = 512
"""Samples by which formats are chosen to begin with."""
_LEAST = 2
"""Bits of a width at least."""
_OF_INPUTS = 8
"""Bits of inputs at least, where they are not named."""
_RATE = 7e-3
"""Of Adam, falling to zero in each half; few bits need long steps, or no weight reaches the next number."""


@dataclass(frozen=True, eq=False, repr=False)
class FineTuned(Fit):
    """What fine-tuning gave.

    Attributes
    ----------
    graph : Graph
        The network in fixed point, for `to_integer`, as `quantise` gives it.
    fake_quantised : Graph
        The network as it was trained, with float weights and ops that round them: it computes the same.
    bits : int, or mapping of str to int or pair of int
        The widths, those that were chosen too.
    history : tuple of mapping
        As of `Fit`.
    """

    fake_quantised: Graph
    bits: Bits


def finetune(
    graph: Graph | Module,
    data: tuple[Any, Any],
    *,
    bits: Bits | Literal["auto", "learnt"] = 4,
    budget: float = 4,
    per_channel: bool = False,
    sparsity: float = 0,
    epochs: int = 80,
    learn_scales: bool = True,
    distil: bool = True,
    loss: str | Op | None = None,
    optimiser: Optimiser | None = None,
    batch: int = 32,
    seed: int = 0,
    validation: float | tuple[Any, Any] | None = VALIDATED,
    patience: int | None = None,
    augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
    watch: Callable[[Mapping[str, Any]], None] | None = None,
) -> FineTuned:
    """Train a network on with the rounding of its hardware, so that it loses little with few bits.

    Every weight, bias and value is rounded as `quantise` and `to_integer` round, half to even and saturated, in the
    binary points that `quantise` would choose; gradients go straight through. In the first half of the epochs the
    binary points are learnt too, weights pruned, and batch norms behind layers are trained with statistics of each
    batch: weights are scaled by a norm's gain and running deviation before they are rounded. In the second half norms
    are folded, with the statistics that they have then, points and zeros are fixed, and of its epochs the best by the
    loss of validation counts. The float network is the teacher of its own rounded form.

    Parameters
    ----------
    graph : Graph or Module
        A trained network with one output, as for `fit`; what only `quantise` could do is refused as there.
    data : (inputs, targets)
        Samples, as for `fit`; the first 512 choose the binary points to begin with.
    bits : int, or mapping of str to int or pair of int, "auto" or "learnt"
        Word widths, 2 to 16, as for `quantise`: of layers by name or pattern, of weights and results apart; an int is
        that of all layers, the first and the last too. Inputs have at least 8 bits, other than by `quantise`, unless
        they are named: ``{"*": 3}`` is 3 bits everywhere. By "auto" they are chosen from 2 to 8, one by one, by how
        much noise a bit less adds to the outputs. By "learnt" they begin so, and are learnt like binary points.
    budget : float
        For "auto" and "learnt": what widths cost at most, as so many bits everywhere; a product costs the width of its
        weight times that of its value.
    per_channel : bool
        Whether each output channel of a layer's weights has a binary point of its own.
    sparsity : float
        Share of the weights of each layer that becomes zero, from 0 to less than 1: they need nothing in hardware that
        is unrolled.
    epochs : int
        How often all samples are seen.
    learn_scales : bool
        Whether binary points are learnt.
    distil : bool
        Whether half of the loss is the distance to the answers of the float network.
    validation, patience
        As for `fit`, of the second half.
    loss, optimiser, batch, seed, augment, watch
        As for `fit`; the optimiser starts anew for the second half.

    Returns
    -------
    FineTuned
        With the network in fixed point.

    Raises
    ------
    TrainingError
        As `fit`, if no layer has weights, or if the budget or sparsity is out of range.
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
    check_share("sparsity", sparsity)
    flat = flat_network(graph)
    given, held_out = parted(flat, data, loss, validation, seed)
    seen = {name: array[:_CALIBRATION] for name, array in given[0].items()}
    folded, inputs = prepared(flat, seen)
    plain = without_predicates(folded)
    is_flexible = bits == "learnt" and epochs > 1
    if is_flexible and not learn_scales:
        raise TrainingError("widths are learnt with binary points; leave out learn_scales=False, or give bits='auto'")
    begun: dict[str, tuple[int, int]] = {}
    if isinstance(bits, str):
        begun = chosen_widths(plain, inputs, bits, budget=budget, per_channel=per_channel)
    used: Bits = begun if isinstance(bits, str) else _with_inputs(plain, bits)
    widths = Widths(plain, used, least=_LEAST)
    _, plain = with_scaled_channels(plain, inputs, widths, per_channel=per_channel, fit=True)
    norms = statistics_of(plain, layers_with_norms(flat, plain), inputs) if epochs > 1 else {}
    network = FakeNetwork.of(plain, inputs, widths, per_channel=per_channel, norms=norms, is_flexible=is_flexible)
    if not network.layers:
        raise TrainingError(f"the graph {flat.name!r} has no layer whose weights could be learnt")
    rest: dict[str, Any] = {"loss": loss, "batch": batch, "seed": seed, "augment": augment, "watch": watch}
    rest["teacher"] = flat if distil else None
    history: tuple[Mapping[str, Any], ...] = ()
    shares = LearntWidths.of(network, plain, Budget.of(plain, budget), begun) if is_flexible and begun else None

    def rounded(trained: Graph) -> tuple[Bits, Graph, FakeNetwork]:
        """Return the widths, and what was learnt: the prepared network, and it with formats that are fixed."""
        own, choices = used, network.choices_in(trained)
        if shares is not None and network.reaches:
            own, choices = shares.settled(trained)
        learnt = network.learnt(plain, trained)
        made = Widths(learnt, own, least=_LEAST)
        return own, learnt, FakeNetwork.of(learnt, inputs, made, per_channel=per_channel, choices=choices)

    def result(trained: Graph, history: tuple[Mapping[str, Any], ...]) -> FineTuned:
        own, _, last = rounded(trained)
        return FineTuned(with_implementations(with_predicates(last.fixed, folded), flat), history, last.graph, own)

    steps = -(-len(given[1]) // batch)
    done = Fit(network.graph, ())
    try:
        for part, is_first in _parts(epochs):
            learnt = [name for names in network.layers.values() for name in names]
            learnt += [norm.gain for norm in network.norms.values()]
            way = optimiser or Adam(cosine(_RATE, steps=steps * part))
            if is_first and learn_scales:
                learnt += [*network.weight_exponents.values(), *network.value_exponents.values()]
            if is_first and shares is not None:
                learnt += shares.reaches
                way = WithinBudget(way, shares)
            if sparsity:
                of_weights = {weights: sparsity for weights, _ in network.layers.values()}
                way = Pruning(way, of_weights, steps=steps * part if is_first else 0)
            checked = {"validation": None} if is_first else {"validation": held_out, "patience": patience}
            done = fit(network.graph, given, optimiser=way, epochs=part, wrt=learnt, **checked, **rest)
            used, plain, network = rounded(done.graph)
            history, done = history + done.history, Fit(network.graph, ())
    except KeyboardInterrupt as stop:
        done = stop.fit if isinstance(stop, Interrupted) else done
        raise Interrupted(result(done.graph, history + done.history)) from None
    return result(done.graph, history)


def _with_inputs(graph: Graph, bits: Bits) -> Bits:
    """Return widths with those of inputs that they do not name: few bits lose most there, and save one layer only."""
    made, given = Widths(graph, bits, least=_LEAST), bits if isinstance(bits, Mapping) else {"default": bits}
    unnamed = [name for name in graph.inputs if made.named(graph, name) is None]
    return {**given, **{name: max(made.of(graph, name), _OF_INPUTS) for name in unnamed}}


def _parts(epochs: int) -> list[tuple[int, bool]]:
    """Return so many epochs of the first half, and so many of the second."""
    first = (epochs + 1) // 2 if epochs > 1 else 0
    return [part for part in ((first, True), (epochs - first, False)) if part[0]]
