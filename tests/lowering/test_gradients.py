"""Each gradient, written as other ops, is the difference quotient: a few graphs of every one of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from graphrewrite import evaluate, rewrite
from graphrewrite.errors import EvaluationError
from graphrewrite.lowering import gradients
from graphrewrite.testing import inputs_for
from tests.support.derivatives import derivatives

USUAL = settings(
    deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
FAMILIES = [name for name in gradients.__all__ if name != "GRADIENTS"]


def written(member, count: int) -> bool:
    """Compare what a rule writes with what it is for, of some graphs; tell whether nothing is left of one of them."""
    fired = []

    @settings(USUAL, max_examples=count)
    @given(st.data())
    def compare(data):
        graph = data.draw(derivatives(member))
        inputs = data.draw(inputs_for(graph, moderate=True))
        made = rewrite(graph, [member])
        try:
            want = evaluate(graph, inputs)["y"]
        except EvaluationError:  # a kink
            assume(False)
        got = evaluate(made, inputs)["y"]
        scale = np.abs(want[np.isfinite(want)]).max(initial=1)
        same = np.isclose(got, want, rtol=1e-3, atol=1e-4 * scale) | ~np.isfinite(want)
        assert same.all(), f"{member.name}: {got} for {want}\n{graph}"
        fired.append(not any(str(made.nodes[node]["type"]).startswith("vjp_") for node in made))

    compare()
    return any(fired)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_difference_quotients(family):
    found = getattr(gradients, family)
    count = 2 if len(found) > 20 else max(3, 8 // len(found))
    assert [member.name for member in found if not (written(member, count) or written(member, 30))] == []
