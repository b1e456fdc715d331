"""``graphrewrite optimise``: rewrite a model, compare it with what it was, and write it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrewrite.cli.equality import Compared, compared
from graphrewrite.cli.failures import UNEQUAL, failures_as_exit_codes
from graphrewrite.cli.option_types import ModelFile, plugin_option, target_option
from graphrewrite.cli.outputs import MODEL, output_option
from graphrewrite.cli.terminal import console_for, say, spinner, table_of
from graphrewrite.runtime.plugins import plugin

if TYPE_CHECKING:
    from rich.console import Console

    from graphrewrite import Graph
    from graphrewrite.rewriting.traces import Trace

__all__ = ["optimise_command"]

_REASONS = 2
"""Reasons of a rule to print."""


@click.command("optimise")
@click.argument("model", type=ModelFile())
@output_option("-o", "--output", "output", endings=MODEL, text="The file to write.", required=True)
@target_option("onnx|integer|hardware|c", "onnx", "What the model is for.")
@click.option("--approximate", is_flag=True, help="Results may change by rounding, and of numbers that are not finite.")
@click.option(
    "--rules",
    "rule_names",
    multiple=True,
    metavar="PACKAGE.MODULE:RULES",
    help="Rules, passes, pipelines or functions on graphs instead of those of the target (may be repeated).",
)
@click.option("--graph", "name", metavar="NAME", help="One graph of a module.")
@plugin_option
@click.option(
    "--check",
    "checks",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="On how many generated inputs both are compared; with onnxruntime too, where it is installed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the first of these inputs.")
@click.option("--report", is_flag=True, help="Print what is left, and what each rule declined for which reason, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def optimise_command(
    model: Path,
    output: Path,
    target_name: str,
    approximate: bool,
    rule_names: tuple[str, ...],
    name: str | None,
    plugins: tuple[str, ...],
    checks: int,
    seed: int,
    report: bool,
    as_json: bool,
) -> None:
    """Rewrite MODEL for a target, check the result, and write it to a file.

    By default the rules are exact: the outputs of both, on generated inputs, have the same bits. Nothing is written if
    they differ by more than the rules allow. MODEL is as for show; the file is ONNX, text or JSON, as its name says.

    \b
    Example:
      graphrewrite optimise digits -o smaller.onnx --approximate --report
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite import load, verify
        from graphrewrite.cli.sources import graph_in, target_named
        from graphrewrite.cli.trace import rule_set, traced

        target = target_named(target_name)
        if rule_names:
            if approximate or target_name != "onnx":
                raise click.UsageError(
                    "--rules replaces the rules of the target: give it without --target, --approximate"
                )
            rules, names = rule_set(rule_names, plugins), rule_names
        else:
            own = [member for each in plugins for member in plugin(each).rules]
            rules, names = target.pipeline(approximate=approximate, also=own), (target_name,)
        graph = graph_in(load(model, plugins=plugins), model, name)
        with spinner(console, "rewriting"):
            found = traced(graph, rules, names)
            verify(found.graph)
        comparison = Compared(None, "outputs were not compared")
        if checks:
            with spinner(console, "comparing"):
                comparison = compared(found, rules, range(seed, seed + checks))
        if comparison.difference is None:
            with spinner(console, f"writing {output}"):
                found.graph.save(output)
        if as_json:
            click.echo(json.dumps(_as_data(found, comparison, output), indent=2))
        else:
            _print(console, found, is_whole=report)
            say(console, comparison.verdict, style="bold red" if comparison.difference is not None else None)
            if comparison.difference is None:
                say(console, f"written: {output}")
    if comparison.difference is not None:
        raise SystemExit(UNEQUAL)


def _as_data(found: Trace, comparison: Compared, output: Path) -> dict[str, Any]:
    return {
        "before": len(found.before),
        "after": len(found.graph),
        "sizes": {title: list(pair) for title, *pair in _sizes(found)},
        "rules": found.counts,
        "left": _left(found.graph),
        "declined": {name: dict(each.declined) for name, each in found.profile.items() if each.declined},
        "equal": comparison.is_equal,
        "compared": comparison.verdict,
        "file": str(output) if comparison.difference is None else None,
    }


def _sizes(found: Trace) -> list[tuple[str, int, int]]:
    """What is counted of the graphs before and after."""
    from graphrewrite.summary import peak_memory, summary

    graphs = found.before, found.graph
    before, after = (summary(graph).graphs[0] for graph in graphs)
    memory = [peak_memory(graph) for graph in graphs]
    return [
        ("operations", before.operations, after.operations),
        ("parameters", before.parameters, after.parameters),
        ("multiply-accumulates", before.multiply_accumulates, after.multiply_accumulates),
        ("peak memory, bytes", memory[0], memory[1]),
    ]


def _left(graph: Graph) -> dict[str, int]:
    """The ops of a graph, with their numbers."""
    kinds = Counter(graph.nodes[node]["type"] for node in graph)
    return {kind: count for kind, count in kinds.most_common() if kind not in ("input", "output", "constant")}


def _print(console: Console, found: Trace, *, is_whole: bool) -> None:
    """Print tables of what became less, and of the rules that did it."""
    sizes = table_of(("for one sample", "before", "after"), numeric=("before", "after"))
    for title, before, after in _sizes(found):
        sizes.add_row(title, f"{before:,}", f"{after:,}")
    console.print(sizes)
    if found.counts:
        table = table_of(("rule", "steps"), numeric=("steps",))
        for rule, count in found.counts.items():
            table.add_row(rule, str(count))
        console.print(table)
    if is_whole:
        say(console, "left: " + ", ".join(f"{count} {kind}" for kind, count in _left(found.graph).items()))
        for name, each in found.profile.items():
            for reason, count in each.declined.most_common(_REASONS):
                say(console, f"{name} declined {count} times: {reason}")
    say(console, found.headline)
