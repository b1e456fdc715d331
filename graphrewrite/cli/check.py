"""Test rules by name: a table for people, one JSON object for machines, a page to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from graphrewrite.cli.sources import rules_named
from graphrewrite.cli.terminal import say, table_of
from graphrewrite.testing import Report, check
from graphrewrite.testing.failure.page import ReportsPage
from graphrewrite.view.display import Display

__all__ = ["as_data", "as_page", "check_all", "print_reports"]

Progress = Callable[[str], AbstractContextManager[Any]]
_STYLES = {"refuted": "bold red", "never fired": "bold yellow", "not compared": "bold yellow"}
"""Of verdicts that are bad."""
_PROFILE = "graphrewrite check"


def check_all(
    targets: tuple[str, ...], *, seed: int, examples: int | None, progress: Progress, plugins: tuple[str, ...] = ()
) -> dict[str, Report]:
    """Test the rules that some names denote."""
    reports = {}
    with _examples(examples):
        for each in rules_named(targets, plugins):
            with progress(each.name):
                reports[f"{each.target}::{each.name}"] = check(each.subject, seed=seed)
    return reports


@contextmanager
def _examples(count: int | None) -> Iterator[None]:
    """Let Hypothesis try so many examples, until the end of the block."""
    if count is None:
        yield
        return
    from hypothesis import settings  # if it is missing, graphrewrite.testing has said so

    before = settings.get_current_profile_name()
    settings.register_profile(_PROFILE, settings(), max_examples=count)
    settings.load_profile(_PROFILE)
    try:
        yield
    finally:
        settings.load_profile(before)


def as_data(reports: Mapping[str, Report]) -> dict[str, Any]:
    """Return reports as primitive data."""
    return {
        "good": all(reports.values()),
        "rules": {
            name: {
                "verdict": report.verdict,
                "graphs": report.graphs,
                "fired": dict(report.fired),
                "compared": {member: found.judged for member, found in report.evidence.items()},
                "seed": report.seed,
                "reason": report.counterexample.reason if report.counterexample else " ".join(report.advice) or None,
                "test": report.counterexample.code if report.counterexample else None,
            }
            for name, report in reports.items()
        },
    }


def print_reports(reports: Mapping[str, Report], console: Console) -> None:
    """Print the counterexamples, and a table of all rules."""
    for name, report in reports.items():
        if not report:
            console.rule(name, characters="-", align="left")
            say(console, report.counterexample.text(width=console.width) if report.counterexample else report)
            console.print()
        elif report.verdict != report.asked:
            say(console, "\n".join((report.headline, *report.advice)))
            console.print()
    columns = ("rule", "verdict", "graphs", "fired", "compared")
    table = table_of(columns, numeric=columns[2:])
    for name, report in reports.items():
        table.add_row(
            Text(name),
            Text(
                report.verdict,
                style=_STYLES.get(report.verdict, "green" if report.verdict == report.asked else "yellow"),
            ),
            str(report.graphs),
            str(max(report.fired.values(), default=0)),
            str(max((found.judged for found in report.evidence.values()), default=0)),
        )
    console.print(table)
    # Reports of one run share a seed.
    seeds = sorted({report.seed for report in reports.values() if report.seed is not None})
    seed = f", seed {seeds[0]}" if seeds else ""
    say(console, f"{_sum(reports)} hold as far as they were tested{seed}")


def _sum(reports: Mapping[str, Report]) -> str:
    thin = sum(bool(report) and report.verdict != report.asked for report in reports.values())
    return f"{sum(map(bool, reports.values()))} of {len(reports)}{f' ({thin} weakly)' if thin else ''}"


def as_page(reports: Mapping[str, Report]) -> Display:
    """Return reports as a page."""
    # Failures come first.
    order = sorted(reports, key=lambda name: bool(reports[name]))
    page = ReportsPage(
        f"{_sum(reports)} rules hold as far as they were tested", tuple((name, reports[name].page) for name in order)
    )
    text = "\n\n".join(f"{name}\n{reports[name]}" for name in order)
    return Display(page, f"{page.headline}\n\n{text}", template="reports.html", title="rules")
