"""Whether rules end: every planted set that does not is refuted by a small graph, and no other."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, op, rule, rules
from graphrewrite.errors import RuleError
from graphrewrite.rewriting.passes import Pipeline
from graphrewrite.testing import assert_terminates
from tests.support.profiles import fewer_examples, some_of, some_seeds
from tests.support.rule_endings import ENDLESS, RIGHT, drop_double_negation, message_of, relu_before_itself, size_in

pytestmark = pytest.mark.slow

SLOW = ("doubles", "grows beside others", "attribute", "sprouts")
"""Those that go on to the limit."""


@pytest.mark.parametrize("case", ENDLESS)
def test_rules_without_end_are_refuted_by_a_small_graph(case):
    tested, told, smallest = ENDLESS[case]
    for seed in some_seeds()[: 1 if case in SLOW else None]:
        message = message_of(assert_terminates, tested, seed=seed)
        assert told in message.splitlines()[0]
        assert size_in(message) <= smallest + 1, message


@pytest.mark.parametrize("case", RIGHT)
def test_rules_that_end_are_left_alone(case):
    tested, options = RIGHT[case]
    assert_terminates(tested, **options)


@pytest.mark.slow(cases=0)
@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # few graphs for each rule
def test_the_rules_of_the_library_end():
    # Choices between graphs are drawn for the pass alone, and slices that fit each other seldom among many rules.
    with fewer_examples():
        assert_terminates(
            some_of([each for each in rules.RULES if each not in (rules.choose_branch, rules.concat_of_slices)], 4)
        )


def test_a_failure_names_the_rules_that_go_round_and_holds_a_test():
    message = message_of(assert_terminates, [*ENDLESS["through a third"][0], drop_double_negation], seed=0)
    assert message.startswith(
        "4 rules: refuted: sigmoid_as_tanh, tanh_as_relu and relu_of_negation_as_sigmoid go round: after 3 steps"
    )
    names: dict[str, object] = {}
    exec(message.partition("a test that fails:")[2], names)
    with pytest.raises(AssertionError, match="go round"):
        names["test_rules"]()


def test_what_grows_is_shown_after_a_few_steps():
    message = message_of(assert_terminates, relu_before_itself, steps=50, seed=0)
    assert "it grows without end, from 3 to 54 nodes: after 50 steps rules still match" in message
    assert "relu_before_itself fired 51 times" in message or "fired relu_before_itself 51 times" in message
    assert message.count("relu_4 = relu(") == 1


def test_some_steps_are_allowed():
    @rule
    def shorten(x, s):
        yield op.reshape(x, shape=s)
        return x if x.shape == s else rule.decline("it changes the shape")

    with pytest.raises(RuleError, match="0 are none"):
        assert_terminates(shorten, steps=0)


def test_any_order_counts():
    """The engine comes to an end, for the rule that stands first wins; another order does not."""

    @rule
    def finish(x):
        yield op.sigmoid(x)
        return op.abs(x)

    @rule
    def there(x):
        yield op.sigmoid(x)
        return op.tanh(x)

    @rule
    def back(x):
        yield op.tanh(x)
        return op.sigmoid(x)

    assert "there and back go round" in message_of(assert_terminates, [finish, there, back], seed=0)


def test_each_phase_of_a_pipeline_is_tested():
    done = Pipeline((drop_double_negation,), (relu_before_itself,), name="both")
    assert "both: refuted: it grows without end" in message_of(assert_terminates, done, steps=60)


def test_a_function_ends_when_it_returns():
    def clean(graph):
        return drop_double_negation(graph)

    def spin(graph):
        return relu_before_itself(graph)

    twice = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\nr = relu(b)\ny = output(r)")
    assert_terminates(clean, on=twice)
    assert "spin failed" in message_of(assert_terminates, spin, on=twice)
