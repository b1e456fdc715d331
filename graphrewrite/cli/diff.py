"""``graphrewrite diff``: what differs between two models."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from graphrewrite.cli.failures import UNEQUAL, failures_as_exit_codes, wrong_usage
from graphrewrite.cli.option_types import ModelFile, plugin_option
from graphrewrite.cli.outputs import PICTURE, output_option
from graphrewrite.cli.terminal import console_for

__all__ = ["diff_command"]

_STYLES = {"+": "green", "-": "red", "~": "yellow", ">": "blue"}


@click.command("diff")
@click.argument("before", type=ModelFile())
@click.argument("after", type=ModelFile())
@plugin_option
@output_option(
    "-o", "--output", "output", endings=PICTURE, text="A file for the comparison: .html, .svg, .dot, .png; or .txt."
)
def diff_command(before: Path, after: Path, plugins: tuple[str, ...], output: Path | None) -> None:
    """Compare two models node by node: - removed, + inserted, ~ changed, > reads others.

    BEFORE and AFTER are as for show. The exit code is 0 if they are equal, and 1 if they differ.

    \b
    Example:
      graphrewrite diff digits smaller.onnx -o difference.html
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    with failures_as_exit_codes():
        from graphrewrite import diff, load

        models = load(before, plugins=plugins), load(after, plugins=plugins)
        with wrong_usage():
            found = diff(*models)
        if output is not None:
            found.show().save(output)
        console = console_for()
        for line in str(found).split("\n"):
            if console.is_terminal:
                console.print(Text(line, style=_STYLES.get(line.lstrip()[:1], "")), soft_wrap=True)
            else:
                click.echo(line)
    if found:
        raise SystemExit(UNEQUAL)
