"""Rules as tests of pytest: what `--check-rules` collects and what each of these does, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphrewrite import op, rule
from graphrewrite.pytest_plugin import RuleFailure, RuleItem, RuleSet, pytest_report_header
from graphrewrite.rewriting.rule_sets import Named


@rule
def double_negation(x):
    yield op.neg(op.neg(x))
    return x


@rule
def forget_sign(x):
    yield op.neg(x)
    return op.relu(x)


@pytest.fixture
def items(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[RuleItem]:
    """The tests of both rules, whose pictures go into the folder of the test."""
    monkeypatch.setattr(request.config.option, "check_rules_output", str(tmp_path / "pictures"))
    members = [Named("mine:RULES", each.name, each) for each in (double_negation, forget_sign)]
    return list(RuleSet.from_parent(request.session, name="mine:RULES", nodeid="mine:RULES", members=members).collect())


def test_a_rule_is_a_test_of_its_name(items: list[RuleItem]) -> None:
    assert [item.nodeid for item in items] == ["mine:RULES::double_negation", "mine:RULES::forget_sign"]
    assert items[1].reportinfo()[1:] == (None, "mine:RULES::forget_sign")


def test_a_right_rule_passes_and_takes_the_picture_of_an_earlier_failure_away(items: list[RuleItem]) -> None:
    item = items[0]
    item.picture.parent.mkdir()
    item.picture.write_text("of before")
    item.runtest()
    assert not item.picture.exists()
    told: dict[str, Any] = dict(item.user_properties)
    assert told["verdict"] == "preserved"
    assert told["graphs"] > 0


def test_a_wrong_rule_fails_with_its_counterexample_and_a_picture(items: list[RuleItem]) -> None:
    item = items[1]
    with pytest.raises(RuleFailure) as caught:
        item.runtest()
    text = item.repr_failure(caught)
    assert caught.value.report.headline in text
    assert str(caught.value.report.counterexample) in text
    assert item.picture.read_text(encoding="utf-8").lstrip().startswith("<")
    assert text.endswith(f"picture: {item.picture}")


def test_other_errors_are_shown_as_those_of_any_test(items: list[RuleItem]) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    assert "ZeroDivisionError" in str(items[0].repr_failure(caught))


def test_a_run_without_rules_says_nothing_of_them(request: pytest.FixtureRequest) -> None:
    assert pytest_report_header(request.config) is None
