"""``graphrewrite explain``: why a rule does or does not apply at a node."""

from __future__ import annotations

from pathlib import Path

import click

from graphrewrite.cli.failures import failures_as_exit_codes, wrong_usage
from graphrewrite.cli.option_types import ModelFile, plugin_option
from graphrewrite.cli.outputs import PICTURE, output_option
from graphrewrite.cli.terminal import console_for, say

__all__ = ["explain_command"]


@click.command("explain")
@click.argument("model", type=ModelFile())
@click.option("--rule", "target", required=True, metavar="PACKAGE.MODULE:RULE", help="The rule.")
@click.option("--at", required=True, metavar="NODE", help="The node that should be the root of its pattern.")
@click.option("--graph", "name", metavar="NAME", help="One graph of a module.")
@plugin_option
@output_option(
    "-o", "--output", "output", endings=PICTURE, text="A file for the picture: .html, .svg, .dot, .png; or .txt."
)
def explain_command(
    model: Path, target: str, at: str, name: str | None, plugins: tuple[str, ...], output: Path | None
) -> None:
    """Say why a rule does or does not apply at a node of MODEL.

    Shows the part of the pattern that fits, and the first obstacle. MODEL is as for show.

    \b
    Example:
      graphrewrite explain digits --rule graphrewrite.rules:fold_batch_norm --at /bn1/BatchNormalization -o why.html
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    with failures_as_exit_codes():
        from graphrewrite import load
        from graphrewrite.cli.sources import graph_in, rule_named

        rule = rule_named(target, plugins)
        read = load(model, plugins=plugins)
        with wrong_usage():
            found = rule.explain(graph_in(read, model, name), at=at)
        if output is not None:
            found.show().save(output)
        console = console_for()
        if console.is_terminal:
            say(console, found, style="green" if found.is_match else "red")
        else:
            click.echo(str(found))
