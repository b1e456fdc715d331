"""Quantise a network for a compilation: its widths, what is lost, and whether that is allowed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, Pass, Rule, evaluate
from graphrewrite.cli.samples import Samples
from graphrewrite.lowering import (
    QuantisationError,
    QuantisationLossError,
    QuantisationWarning,
    ValueProfile,
    quantise,
    search_widths,
)
from graphrewrite.lowering.prequantised.quantisers import is_quantised
from graphrewrite.lowering.quantisation.agreement import Agreement, Reference, greatest_loss
from graphrewrite.lowering.quantisation.guards import Finding, findings
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import FOLDING, RULES

if TYPE_CHECKING:
    from graphrewrite.cli.pipeline import Options

__all__ = [
    "LIMIT",
    "SEARCHED",
    "as_text",
    "causes",
    "check_loss",
    "cleaning",
    "loss_text",
    "quantised",
    "refuse_on_quantised",
]

LIMIT = 0.05
"""The loss beyond which no hardware is made, unless another one is given."""
SEARCHED = 0.005
"""The loss that a search of widths may add, unless another one is given."""
_USUAL = 8
"""The width where none is given."""
_SOME_NOISE = 0.01
_NAMED = 2
_MORE = 2
_STRICTER = (1.0, 0.5, 0.25)
"""Shares of the limit with which a search is repeated if the test samples lose more than the calibration samples."""


def cleaning(graph: Graph, options: Options) -> tuple[Rule | Pass, ...]:
    """Return the rules that clean a network up before it is quantised."""
    # Folding into the weights of a quantised model would move them off their grid; norms are trained before it.
    is_kept = is_quantised(graph) or options.finetune is not None
    return RULES if is_kept else (*FOLDING, *RULES)


def quantised(graph: Graph, samples: Samples, options: Options, steps: list[Step]) -> tuple[Graph, Any]:
    """Return a quantised network, trained on where that is asked for, and its widths, which a search may have found."""
    if options.finetune is not None:
        from graphrewrite.cli.finetuning import training_samples
        from graphrewrite.learning import finetune

        bits = _USUAL if options.bits is None else options.bits
        asked: dict[str, Any] = {"bits": bits, "per_channel": options.per_channel, "seed": options.seed}
        if options.budget is not None:
            asked["budget"] = options.budget
        tuned = finetune(graph, training_samples(graph, options.finetune), **asked)
        return tuned.graph, tuned.bits
    widths: Any = _USUAL if options.bits is None else options.bits
    profile = None if options.profile is None else ValueProfile.load(options.profile)
    chosen: dict[str, Any] = {"per_channel": options.per_channel, "ranges": options.ranges, "profile": profile}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuantisationWarning)  # the findings say it, and more
        if isinstance(widths, str):
            widths = _searched(graph, samples, options, chosen)
        return quantise(graph, samples.calibration, bits=widths, steps=steps, **chosen), widths


def refuse_on_quantised(options: Options) -> None:
    """Raise if a network that is quantised already is to get other ranges or to be fine-tuned."""
    asked = {"--finetune": options.finetune is not None, "--profile": options.profile is not None}
    for option in (name for name, is_given in asked.items() if is_given):
        raise QuantisationError(f"the model is quantised already, and its grids are kept: {option} is for float models")


def _searched(graph: Graph, samples: Samples, options: Options, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Widths that keep the limit on the calibration samples, and if these can be found, on the test samples too."""
    limit = SEARCHED if options.max_loss is None else options.max_loss
    for stricter in _STRICTER:
        bits = search_widths(graph, samples.calibration, max_loss=stricter * limit, **chosen)
        fixed = quantise(graph, samples.calibration, bits=bits, **chosen)
        reference = Reference(graph, samples.test, samples.labels or None)
        if samples.held_out is None or reference.loss(evaluate(fixed, samples.test, implementations=None)) <= limit:
            break
    return bits


def check_loss(
    reference: Reference, outputs: Mapping[str, np.ndarray], options: Options, found: Sequence[Finding]
) -> str | None:
    """Raise if a level loses more than is allowed, or return a remark where that is forced."""
    rows, limit = reference.agreement(outputs), options.max_loss
    loss, searched = greatest_loss(rows), isinstance(options.bits, str) and options.finetune is None
    if limit is None:
        limit = SEARCHED if searched else LIMIT
    if loss <= limit:
        return None
    allowed = f"{100 * limit:.4g}%"
    if searched and loss <= LIMIT:  # what was searched for holds on the calibration samples
        kept = f"the {allowed} that the search kept on the calibration samples"
        return f"the test samples lose more than {kept}; give more of these"
    text = f"quantising loses more than {allowed} (--max-loss): {loss_text(rows)}"
    if options.force:
        return f"{text}; --force makes hardware of it"
    width = _USUAL if options.bits is None else options.bits
    more = f" (--bits {width + _MORE})" if isinstance(width, int) else ""
    named = "; ".join(map(str, found[:_NAMED])) or f"give more bits{more}"
    raise QuantisationLossError(f"{text}; {named}; or allow more by --max-loss, or go on by --force")


def causes(graph: Graph, fixed: Graph, inputs: Mapping[str, Any], loss: float) -> tuple[Finding, ...]:
    """Return what formats lost; where nothing is off and yet much is lost, the first layer with some noise."""
    found = findings(graph, fixed, inputs)
    return found or (findings(graph, fixed, inputs, most_noise=_SOME_NOISE)[:1] if loss > LIMIT else ())


def loss_text(rows: Sequence[Agreement]) -> str:
    """Return the loss of the worst output in the words of its kind."""
    row = max(rows, key=lambda each: each.loss)
    where = f"{row.output}: " if len(rows) > 1 else ""
    if row.kind == "numbers":
        ratio = f" ({row.snr:.1f} dB)" if row.snr is not None and np.isfinite(row.snr) else ""
        return f"{where}noise of {row.loss:.2%} of the variance{ratio}"
    if row.accuracy is None:
        return f"{where}{row.loss:.2%} of the predictions differ"
    return f"{where}{100 * row.loss:.2f} points less accuracy" if row.loss else f"{where}no less accuracy"


def as_text(bits: Any) -> str:
    """Return widths as the option ``--bits`` takes them."""
    if not isinstance(bits, Mapping):
        return str(bits)
    return ",".join(f"{name}={':'.join(map(str, np.atleast_1d(width)))}" for name, width in bits.items())
