"""Refute what computes other values, or means something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.testing.adversarial import NoGradientError, worst_inputs
from graphrewrite.testing.applying import VALUES, Refuted
from graphrewrite.testing.comparison import NoVerdictError, difference, moderated
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.claims import IN_FORMAT, SAME_EFFECTS
from graphrewrite.testing.findings import Findings
from graphrewrite.testing.meaning import Meaning, NoMeaningError

__all__ = ["check_meaning", "check_values", "check_worst"]

_KINDS = (VALUES, f"{VALUES}, signs of zeros", f"{VALUES}, special")
"""Kinds of refutations, by `graphrewrite.testing.comparison.OutputDifference.kind`."""


def check_meaning(meaning: Meaning, graph: Any, after: Any) -> tuple[str, str]:
    """Refute a result of another meaning; return the meaning as text, or else why the graph has none."""
    try:
        was, change = meaning.compared(graph, after)
    except NoMeaningError as failure:
        return "", str(failure)
    if change:
        raise Refuted(Counterexample(graph, after, change, meaning=meaning), "meaning")
    return was, ""


def check_values(graph: Graph, after: Graph, inputs: Mapping[str, Any], *, keeps: str, tolerance: float | None) -> str:
    """Refute a result that computes other values; return why the graph cannot be evaluated, if it cannot."""
    failure = ""
    for batch in (inputs, moderated(inputs)):
        try:
            differing = difference(graph, after, batch, keeps=keeps, tolerance=tolerance)
        except NoVerdictError as reason:
            failure = failure or str(reason)
            continue
        if differing is not None:
            claimed = {IN_FORMAT: "formats", SAME_EFFECTS: "effects"}
            kind = claimed.get(differing.claim, _KINDS[differing.kind])
            raise Refuted(differing.between(graph, after), kind)
        return ""
    return failure


def check_worst(
    found: Findings, graph: Graph, after: Graph, inputs: Mapping[str, Any], *, keeps: str, tolerance: float | None
) -> None:
    """Refute a result that computes other values on inputs that are looked for; note whether they could be."""
    try:
        worst, alone = worst_inputs(graph, after, inputs)
    except NoGradientError as reason:
        found.without_gradient[str(reason)] += 1
        return
    found.attacked += 1
    for batch in (worst, alone):  # alone within a bound of its own
        try:
            check_values(graph, after, batch, keeps=keeps, tolerance=tolerance)
        except Refuted as refuted:
            refuted.inputs = batch
            raise
