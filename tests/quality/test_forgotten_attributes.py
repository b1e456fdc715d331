"""For each attribute of each op the rule that forgets it: wrong, and found where attributes leave what they are."""

from __future__ import annotations

import inspect

import pytest

from graphrewrite import Rule, decline, rule
from graphrewrite.op import LIBRARY
from graphrewrite.testing import check
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow

WITHOUT_EFFECT = {
    "dropout.ratio": "nothing is left out when a network is evaluated",
    "integer_interpolate.bound": "it says how near a lowering came",
    "integer_softmax.bound": "it says how near a lowering came",
    "rescale.bound": "it says how near a lowering came",
    "qlinear_conv.element": "the zero point has it",
    "qlinear_matmul.element": "the zero point has it",
    "top_k.sorted": "results are in order either way",
    "transfer.backend": "where a value lies does not change it",
}
"""Attributes that no value depends on."""
NOT_REACHED = {"reshape.allow_zero": "values without entries are drawn, but hardly ever with another axis of size 0"}
FORGOTTEN = [
    f"{name}.{key}"
    for name, op in LIBRARY.items()
    if op.level != "memory" and op.operands and op.results  # of others, attributes say how many there are
    for key, default in op.attributes.items()
    if default is not inspect.Parameter.empty and f"{name}.{key}" not in {*WITHOUT_EFFECT, *NOT_REACHED}
]


def forgetful(case: str) -> Rule:
    """The rule that leaves an attribute as it is by default."""
    name, key = case.split(".")
    op = LIBRARY[name]
    default = op.attributes[key]

    @rule
    def forgets(xs):
        """Forget an attribute."""
        node = op(*xs)
        yield node
        if repr(getattr(node, key)) == repr(default):
            return decline("it is as by default")
        return op(*xs, like=node, **{key: default})

    return forgets


@pytest.mark.parametrize("case", some_of(FORGOTTEN, 60))
def test_a_forgotten_attribute_is_found(case: str) -> None:
    # A rare value may be missed by one seed.
    reports = (check(forgetful(case), seed=seed) for seed in (0, 1, 2))
    assert any(report.verdict == "refuted" for report in reports)


@pytest.mark.thorough
@pytest.mark.parametrize("case", WITHOUT_EFFECT)
def test_what_has_no_effect_may_be_forgotten(case: str) -> None:
    assert check(forgetful(case), seed=0).verdict in ("preserved", "weak")
