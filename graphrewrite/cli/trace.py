"""``graphrewrite trace``: every step of a rewrite."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from graphrewrite.cli.failures import failures_as_exit_codes
from graphrewrite.cli.option_types import ModelFile, plugin_option
from graphrewrite.cli.outputs import PAGE, output_option
from graphrewrite.cli.terminal import console_for, spinner, table_of
from graphrewrite.rewriting.profile import HEAD

if TYPE_CHECKING:
    from graphrewrite import Graph
    from graphrewrite.rewriting.rule_sets import Named
    from graphrewrite.rewriting.traces import Trace

__all__ = ["default_targets", "rule_set", "trace_command", "traced"]

_STYLES = {"-": "red", "+": "green", "~": "yellow"}


@click.command("trace")
@click.argument("model", type=ModelFile())
@click.option(
    "--rules",
    "targets",
    multiple=True,
    metavar="PACKAGE.MODULE:RULES",
    help="Rules, passes, pipelines or functions on graphs (may be repeated). Default: graphrewrite.rules:RULES.",
)
@click.option("--graph", "name", metavar="NAME", help="One graph of a module.")
@plugin_option
@output_option("-o", "--output", "output", endings=PAGE, text="A file for the rewrite viewer: .html; or .txt.")
def trace_command(
    model: Path, targets: tuple[str, ...], name: str | None, plugins: tuple[str, ...], output: Path | None
) -> None:
    """Rewrite MODEL, and show each step.

    With -o trace.html, writes the rewrite viewer: a page to step through, that needs no network and no server.
    Otherwise prints the steps, and what each rule did. MODEL is as for show.

    \b
    Example:
      graphrewrite trace digits --rules graphrewrite.rules:FOLDING -o trace.html
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    with failures_as_exit_codes():
        from graphrewrite import load
        from graphrewrite.cli.sources import graph_in

        rules = rule_set(targets, plugins)
        graph = graph_in(load(model, plugins=plugins), model, name)
        console = console_for()
        with spinner(console, "rewriting"):
            found = traced(graph, rules, targets)
        if output is not None:
            with spinner(console, f"writing {output}"):
                found.save(output)
            click.echo(f"{found.headline}: {output}")
        elif console.is_terminal:
            _print(found, console)
        else:
            click.echo(f"{found}\n\n{found.profile}")


def default_targets(plugins: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the rules that apply where none are given: the library's, and those of plugins."""
    from graphrewrite.runtime.plugins import plugin

    return ("graphrewrite.rules:RULES", *(name for name in plugins if plugin(name).rules))


def rule_set(targets: tuple[str, ...], plugins: tuple[str, ...] = ()) -> Any:
    """Return one rule set of rules and passes; a pipeline of phases where there are pipelines or functions, too."""
    from graphrewrite import Pass, Pipeline
    from graphrewrite.cli.sources import rules_named

    found = rules_named(targets or default_targets(plugins), plugins)
    # Runs of rules and passes become one set each, without duplicates, and apply until nothing changes.
    phases: list[Any] = []

    def is_member(each: Named) -> bool:
        return isinstance(each.subject, Pass) or hasattr(each.subject, "matches_at")

    for is_set, group in groupby(found, key=is_member):
        subjects = [each.subject for each in group]
        phases += [tuple({id(subject): subject for subject in subjects}.values())] if is_set else subjects
    return phases[0] if len(phases) == 1 and isinstance(phases[0], tuple) else Pipeline(*phases)


def traced(graph: Graph, rules: Any, targets: tuple[str, ...]) -> Trace:
    """Rewrite a graph; an error of a user's function names the function and the line."""
    from graphrewrite import trace
    from graphrewrite.errors import GraphRewriteError, RewriteError

    try:
        return trace(graph, rules)
    except (GraphRewriteError, MemoryError):
        raise
    except Exception as error:  # passes and functions of users may raise anything
        at = extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RewriteError(f"{' '.join(targets)}: {reason} ({at.filename}:{at.lineno})") from error


def _print(found: Trace, console: Console) -> None:
    console.print(Text(found.headline, style="bold"))
    for number, step in enumerate(found.steps, start=1):
        head, *lines = str(step).split("\n")
        console.print(Text.assemble((f"{number}. ", "dim"), (head, "bold")), soft_wrap=True)
        for line in lines:
            console.print(Text(f"   {line}", style=_STYLES.get(line[:1], "")), soft_wrap=True)
    table = table_of(HEAD, numeric=HEAD[1:])
    for row in found.profile.rows:
        if row[1]:
            table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table)
    for name, profile in found.profile.items():
        for reason, count in profile.declined.most_common():
            console.print(Text(f"{name} declined {count} times: {reason}", style="yellow"), soft_wrap=True)
