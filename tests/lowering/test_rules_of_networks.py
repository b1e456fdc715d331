"""Rules of trained models keep values where networks have something for them, one by one: generators seldom draw it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Rule, evaluate, rewrite
from graphrewrite.formats import to_text
from graphrewrite.types import element_dtype
from tests.quality.instances import TRAINED, instances_of

RULES = {rule.name: rule for rule in TRAINED if isinstance(rule, Rule)}
SLOW = {"approach_sum", "approach_sum_steps", "lower_sum", "lower_sum_steps"}
"""They look at all pairs of numbers."""
IDLE = {
    "absorb_addend", "add_whole_bias", "arg_max_of_stored", "arg_max_scaled", "change_zero_point", "clip_distances",
    "compare_counted_sums", "compare_sums", "enter_bipolar", "enter_integers", "enter_sign", "enter_thresholds",
    "leave_reshaped", "look_up_distances", "lower_average_of_stored", "lower_average_of_transposed",
    "lower_mean_of_stored", "lower_rescaled_choice", "lower_rescaled_sum", "lower_rescaling", "lower_scaled_resize",
    "lower_unscaled_matmul", "multiply_distances", "pool_maximum_of_stored", "read_as_integers",
    "rescale_distances", "rescale_first", "swap_comparison", "swap_difference", "swap_quotient",
    "write_comparison_as_sign", "write_inverse_comparison_as_sign",
}  # fmt: skip
"""Rules for which these networks have nothing, or only what is declined: `test_trained_models` and others have it."""


def inputs_of(graph: Graph, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Numbers over the whole range of each input, its ends among them."""
    found = {}
    for name in graph.inputs:
        kind = graph.result_type(name)
        shape = [size if isinstance(size, int) else 6 for size in kind.shape]
        if isinstance(kind.element, FixedPoint):
            low, high = kind.element.minimum, kind.element.maximum
        elif (dtype := element_dtype(kind.element)).kind in "iu":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        else:
            found[name] = (np.rint(random.normal(0, 40, shape)) / 8).astype(dtype)
            continue
        numbers = random.integers(low, high, shape, endpoint=True)
        ends = random.choice([low, high, max(low, min(high, 0))], shape)
        dtype = kind.element.dtype if isinstance(kind.element, FixedPoint) else dtype
        found[name] = np.where(random.random(shape) < 0.2, ends, numbers).astype(dtype)
    return found


def compared(rule: Rule) -> tuple[int, str]:
    """Compare values where a rule's pattern is; return how often it fired, and what it made."""
    random, fired, texts = np.random.default_rng(0), 0, []
    for graph in instances_of(rule):
        made = rewrite(graph, [rule])
        fired += made != graph
        texts.append(to_text(made, whole=True))
        given = inputs_of(graph, random)
        with np.errstate(all="ignore"):
            wanted, found = evaluate(graph, given), evaluate(made, given)
        for name in graph.outputs:
            if rule.keeps == "exact" or wanted[name].dtype.kind != "f":
                np.testing.assert_array_equal(found[name], wanted[name], err_msg=f"{rule.name}\n{graph}\n{made}")
            else:
                np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, atol=1e-5, err_msg=f"{graph}\n{made}")
    return fired, "\n".join(texts)


@pytest.mark.parametrize("name", [name for name in RULES if name not in SLOW])
def test_a_rule_keeps_values(name: str, same_text: Callable[[str], None]) -> None:
    fired, text = compared(RULES[name])
    assert (fired > 0) == (name not in IDLE)
    same_text(text)
