"""Sensitivity of layers: what a network loses where one layer alone has few bits, and where it alone has many."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from graphrewrite import Graph, Module
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.errors import QuantisationError, QuantisationWarning
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.quantisation.agreement import Reference
from graphrewrite.lowering.quantisation.calibration import Widths, layer_names
from graphrewrite.lowering.quantisation.fixed_point_network import in_fixed_point
from graphrewrite.lowering.quantisation.format_choice import Method
from graphrewrite.lowering.quantisation.output_noise import relative_noise, scores
from graphrewrite.lowering.quantisation.preparation import prepared
from graphrewrite.lowering.quantisation.value_profile import Ranges
from graphrewrite.runtime.display import Displayed
from graphrewrite.runtime.progress import progress

__all__ = ["LayerSensitivity", "Sensitivity", "sensitivity"]

_MOST = 16
"""The widest words: they stand for floats."""


@dataclass(frozen=True)
class LayerSensitivity:
    """What one layer costs.

    Attributes
    ----------
    layer : str
        Its name, as in the parameter ``bits`` of `quantise`.
    alone : float
        The loss if this layer alone has few bits, and all others have 16.
    alone_noise : float
        The noise of the outputs then, as a share of their variance: it tells layers apart that lose no prediction.
    kept : float
        The loss if all layers have few bits, and this one alone has 16.
    kept_noise : float
        The noise of the outputs then.
    """

    layer: str
    alone: float
    alone_noise: float
    kept: float
    kept_noise: float


@dataclass(frozen=True)
class Sensitivity(Displayed, shown_by="sensitivity_table.show_sensitivity"):
    """What each layer of a network costs, the greatest noise first.

    Attributes
    ----------
    bits : int
        The few bits.
    samples : int
        Number of samples it was measured on.
    loss, noise : float
        If all layers have few bits.
    least_loss, least_noise : float
        If all layers have 16: what no width of a layer can mend.
    layers : tuple of LayerSensitivity
    """

    bits: int
    samples: int
    loss: float
    noise: float
    least_loss: float
    least_noise: float
    layers: tuple[LayerSensitivity, ...]

    def __str__(self) -> str:
        return str(self.show())

    def as_dict(self) -> dict[str, Any]:
        """Return primitive data."""
        return asdict(self)


def sensitivity(
    graph: Graph | Module,
    samples: Any,
    *,
    bits: int = 4,
    test: Any = None,
    labels: Any = None,
    layers: Iterable[str] | None = None,
    ranges: Method = "mse",
    per_channel: bool = False,
    implementations: Library | None = None,
) -> Sensitivity:
    r"""Return how much each layer of a network loses by few bits.

    A layer is quantised with its weights, its result and all that `quantise` does to make up for it, except that
    channels are not scaled. The network is quantised and evaluated twice for each layer, and twice more.

    Parameters
    ----------
    graph : Graph or Module
        A float network, as for `quantise`.
    samples : ndarray or mapping of str to ndarray
        Calibration samples.
    bits : int
        The few bits, 4 to 15.
    test : ndarray or mapping of str to ndarray, optional
        Samples on which the loss is measured; the calibration samples if not given.
    labels : array-like or mapping of str to array-like, optional
        What is right for these, as for `Reference`.
    layers : iterable of str, optional
        Names or patterns of the layers to look at, where there are many; all if not given.
    ranges, per_channel, implementations
        As for `quantise`.

    Raises
    ------
    QuantisationError
        As for `quantise`; or if no layer has such a name.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f64", ("N", 2)))
    >>> h = op.relu(op.linear(x, np.array([[0.5, -0.25], [0.3, 0.7]]), np.zeros(2)))
    >>> _ = g.output("y", op.linear(h, np.array([[8.0, 0.01], [0.1, 0.2]]), np.zeros(2)))
    >>> found = sensitivity(g, np.random.default_rng(0).normal(size=(200, 2)))
    >>> [each.layer for each in found.layers], found.noise > found.layers[0].alone_noise > found.least_noise
    (['x', 'linear_1', 'linear_2'], True)
    """
    if bits not in range(4, _MOST):
        raise QuantisationError(f"bits are {bits!r}; give a whole number from 4 to {_MOST - 1}, which all layers get")
    folded, inputs = prepared(graph, samples, implementations=implementations)
    folded = without_predicates(folded)
    names = layer_names(folded)
    patterns = None if layers is None else [layers] if isinstance(layers, str) else list(layers)
    chosen = [name for name in names if patterns is None or any(fnmatchcase(name, each) for each in patterns)]
    if not chosen:
        raise QuantisationError(f"there is no layer {', '.join(patterns or ())}; layers are {', '.join(names)}")
    measured: Mapping[str, Any] = inputs
    if test is not None:
        measured = test if isinstance(test, Mapping) else dict.fromkeys(folded.inputs[:1], test)
    reference = Reference(folded, measured, labels)
    wanted = scores(folded, measured)

    def lost(widths: dict[str, int]) -> tuple[float, float]:
        with warnings.catch_warnings():  # of widths that are tried only
            warnings.simplefilter("ignore", QuantisationWarning)
            fixed = in_fixed_point(
                folded,
                inputs,
                Widths(folded, widths),
                per_channel=per_channel,
                equalise=False,
                ranges=Ranges(ranges),
            )
        loss = reference.loss(evaluate(fixed, measured, implementations=None))
        return loss, relative_noise(wanted, scores(fixed, measured))

    found = []
    least, most = lost({"default": _MOST}), lost({"default": bits})
    with progress(chosen, "measure layers") as shown:
        for name in shown:
            alone, kept = lost({name: bits, "default": _MOST}), lost({name: _MOST, "default": bits})
            found.append(LayerSensitivity(name, *alone, *kept))
    found.sort(key=lambda each: -each.alone_noise)
    count = len(next(iter(reference.outputs.values()), ()))
    return Sensitivity(bits, count, *most, *least, tuple(found))
