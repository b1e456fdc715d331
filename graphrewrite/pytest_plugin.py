"""``pytest --check-rules package.module:RULES``: every rule is tested, without a test file.

pytest loads this module wherever the package is installed, so that nothing is imported here before it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from graphrewrite.rewriting.rule_sets import Named
    from graphrewrite.testing.report import Report

__all__ = ["RuleItem", "RuleSet"]

_FOLDER = ".graphrewrite"
_TARGETS = pytest.StashKey[list["Named"]]()
_ALONE = pytest.StashKey[bool]()
_ALONE_KEY = "check_rules_alone"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("graphrewrite", "rewrite rules (graphrewrite)")
    group.addoption(
        "--check-rules",
        action="append",
        default=[],
        metavar="package.module:RULES",
        help="test every rule of a tuple, or of a module; without paths, nothing else is collected (may be repeated)",
    )
    group.addoption(
        "--check-rules-output",
        metavar="FOLDER",
        help=f"where pictures of failures are saved (default: {_FOLDER} in the root folder)",
    )
    parser.addini("check_rules", "rules that every run tests beside what it collects", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Import the rules to test, so that a wrong name ends the run before anything else."""
    asked: list[str] = config.getoption("check_rules")
    targets = [*asked, *config.getini("check_rules")]
    if not targets:
        return
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    typed = any(str(word).partition("=")[0] == "--check-rules" for word in config.invocation_params.args)
    alone = typed and config.args_source is not pytest.Config.ArgsSource.ARGS
    config.stash[_ALONE] = alone if worker is None else worker[_ALONE_KEY]
    try:
        import graphrewrite.testing  # noqa: F401  # asked for before anything is collected
        from graphrewrite.rewriting.rule_sets import NamingError, named
    except Exception as error:  # hypothesis is missing
        raise pytest.UsageError(f"--check-rules: {error}") from None
    try:
        config.stash[_TARGETS] = named(targets, folder=Path(config.invocation_params.dir))
    except NamingError as error:
        raise pytest.UsageError(f"--check-rules: {error}") from error.__cause__


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass on to a process of pytest-xdist, which has other arguments than the run, whether only rules are tested."""
    node.workerinput[_ALONE_KEY] = node.config.stash.get(_ALONE, False)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the rules that are tested."""
    targets = config.stash.get(_TARGETS, None)
    if targets is None:
        return None
    names = ", ".join(dict.fromkeys(each.target for each in targets))
    return f"check-rules: {len(targets)} of {names}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the rule sets to the items of the session, or replace these."""
    report = yield
    targets = collector.config.stash.get(_TARGETS, None)
    if isinstance(collector, pytest.Session) and targets is not None and report.outcome == "passed":
        sets: list[pytest.Item | pytest.Collector] = [
            RuleSet.from_parent(collector, name=target, nodeid=target, members=list(members))
            for target, members in groupby(targets, key=lambda each: each.target)
        ]
        report.result = sets if collector.config.stash[_ALONE] else [*report.result, *sets]
    return report


class RuleSet(pytest.Collector):
    """The rules that a name leads to."""

    def __init__(self, *, members: list[Named], **options: Any) -> None:
        super().__init__(**options)
        self.members = members

    def collect(self) -> Iterator[RuleItem]:
        """Yield an item for each of them."""
        for member in self.members:
            yield RuleItem.from_parent(self, name=member.name, subject=member.subject)


class RuleItem(pytest.Item):
    """The test of one rule."""

    def __init__(self, *, subject: Any, **options: Any) -> None:
        super().__init__(**options)
        self.subject = subject

    @property
    def picture(self) -> Path:
        """The file for a picture of a failure."""
        chosen = self.config.getoption("check_rules_output")
        folder = Path(self.config.invocation_params.dir, chosen) if chosen else self.config.rootpath / _FOLDER
        return folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', self.nodeid)}.svg"

    def runtest(self) -> None:
        """Test the rule."""
        from graphrewrite.testing.properties import check
        from graphrewrite.testing.search import warn_of

        with suppress(OSError):  # the picture of an earlier run; writing the new one reports any error
            self.picture.unlink()
        report = check(self.subject)
        self.user_properties += [("verdict", report.verdict), ("graphs", report.graphs), ("seed", report.seed)]
        self.add_report_section("call", "check-rules", f"{report}\n" if report else "")
        if not report:
            raise RuleFailure(report)
        warn_of(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show a counterexample as it shows itself, and where its picture is."""
        if not isinstance(excinfo.value, RuleFailure):
            return super().repr_failure(excinfo, style)
        report = excinfo.value.report
        if report.counterexample is None:
            return str(report)
        return f"{report}\n\n{self._draw(report)}"

    def _draw(self, report: Report) -> str:
        from graphrewrite.testing.failure.drawing import write_svg

        assert report.counterexample is not None
        path = self.picture
        if reason := write_svg(report.counterexample.picture, path):
            return reason
        ignore = path.parent / ".gitignore"
        if path.parent.name == _FOLDER and not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        shown = path.relative_to(self.config.rootpath) if path.is_relative_to(self.config.rootpath) else path
        return f"picture: {shown}"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where the rule is written, for reports."""
        return self.path, None, self.nodeid


class RuleFailure(AssertionError):
    """The report of a rule that is wrong or was never tested."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.headline)
        self.report = report
