"""``graphrewrite optimise``: rewrite a model, compare it with what it was, and write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrewrite.cli.failures import UNEQUAL, failures_as_exit_codes
from graphrewrite.cli.option_types import ModelFile, plugin_option
from graphrewrite.cli.outputs import MODEL, output_option
from graphrewrite.cli.terminal import console_for, say, spinner, table_of

if TYPE_CHECKING:
    from graphrewrite import Graph
    from graphrewrite.testing.subject import Transformation

__all__ = ["optimise_command"]


@click.command("optimise")
@click.argument("model", type=ModelFile())
@output_option("-o", "--output", "output", endings=MODEL, text="The file to write.", required=True)
@click.option(
    "--rules",
    "targets",
    multiple=True,
    metavar="PACKAGE.MODULE:RULES",
    help="Rules, passes, pipelines or functions on graphs (may be repeated). Default: graphrewrite.rules:RULES, which "
    "are exact.",
)
@click.option("--fold", is_flag=True, help="With graphrewrite.rules:FOLDING, too: results change by float rounding.")
@click.option("--graph", "name", metavar="NAME", help="One graph of a module.")
@plugin_option
@click.option("--check/--no-check", default=True, help="Whether to compare the outputs before and after.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the samples on which they are compared.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def optimise_command(
    model: Path,
    output: Path,
    targets: tuple[str, ...],
    fold: bool,
    name: str | None,
    plugins: tuple[str, ...],
    check: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Rewrite MODEL by rules, check the result, and write it to a file.

    The outputs of both are compared on generated samples: bit for bit if all rules are exact, else within rounding.
    Nothing is written if they differ. MODEL is as for show; the file is ONNX, text or JSON, as its name says.

    \b
    Example:
      graphrewrite optimise digits -o smaller.onnx --fold
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite import verify
        from graphrewrite.cli.sources import graph_in, read_model
        from graphrewrite.cli.trace import default_targets, rule_set, traced

        targets = targets or default_targets(plugins)
        rules = rule_set((*targets, "graphrewrite.rules:FOLDING") if fold else targets, plugins)
        graph = graph_in(read_model(model, plugins), model, name)
        with spinner(console, "rewriting"):
            found = traced(graph, rules, targets)
            verify(found.graph)
        difference, verdict = None, "outputs were not compared"
        if check:
            with spinner(console, "comparing"):
                difference, verdict = _compared(found.before, found.graph, rules, seed)
        if difference is None:
            with spinner(console, f"writing {output}"):
                found.graph.save(output)
        if as_json:
            data = {
                "before": len(found.before),
                "after": len(found.graph),
                "rules": found.counts,
                "equal": None if verdict.startswith("outputs were not") else difference is None,
                "compared": verdict,
                "file": str(output) if difference is None else None,
            }
            click.echo(json.dumps(data, indent=2))
        else:
            if found.counts:
                table = table_of(("rule", "steps"), numeric=("steps",))
                for rule, count in found.counts.items():
                    table.add_row(rule, str(count))
                console.print(table)
            say(console, found.headline)
            say(console, verdict, style="bold red" if difference is not None else None)
            if difference is None:
                say(console, f"written: {output}")
    if difference is not None:
        raise SystemExit(UNEQUAL)


def _compared(before: Graph, after: Graph, rules: Transformation, seed: int) -> tuple[str | None, str]:
    """Compare the outputs of two graphs on samples; return the difference, if there is one, and what to say."""
    from graphrewrite.errors import UnknownOpError
    from graphrewrite.testing.comparison import NoVerdictError, difference
    from graphrewrite.testing.strategies.inputs import batch_for
    from graphrewrite.testing.subject import Subject

    exact = Subject(rules).keeps == "exact"
    inputs = batch_for(before, seed, moderate=not exact)
    try:
        found = difference(before, after, inputs, keeps="exact" if exact else "rounding", tolerance=None)
    except (NoVerdictError, UnknownOpError) as error:
        return None, f"outputs were not compared: the model cannot be evaluated ({error})"
    shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items())
    if found is not None:
        return found.reason, f"the outputs differ, and nothing is written: {found.reason}; inputs {shapes}, seed {seed}"
    how = "equal bit for bit" if exact else "equal within rounding"
    return None, f"{how}: {', '.join(before.outputs)}, on generated {shapes or 'nothing, for there is no input'}"
