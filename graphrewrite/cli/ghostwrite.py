"""``graphrewrite ghostwrite``: begin a test module for rules."""

from __future__ import annotations

from pathlib import Path

import click

from graphrewrite.cli.failures import failures_as_exit_codes
from graphrewrite.cli.option_types import plugin_option
from graphrewrite.cli.outputs import CODE, output_option
from graphrewrite.cli.terminal import console_for, spinner

__all__ = ["ghostwrite_command"]


@click.command("ghostwrite")
@click.argument("rules", nargs=-1, required=True, metavar="PACKAGE.MODULE:RULES...")
@plugin_option
@output_option("-o", "--output", "output", endings=CODE, text="A file for the tests, which must not be there yet.")
def ghostwrite_command(rules: tuple[str, ...], plugins: tuple[str, ...], output: Path | None) -> None:
    """Write a test module for RULES, to begin with.

    Each test shows a rule at work on a small graph that was found, and searches others for one on which it goes wrong.
    A rule that is wrong has a test that is expected to fail. RULES is as for check.

    \b
    Example:
      graphrewrite ghostwrite graphrewrite.rules:drop_identity -o test_rules.py
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    with failures_as_exit_codes():
        from graphrewrite.cli.sources import rules_named
        from graphrewrite.testing.ghostwriting import ghostwritten

        if output is not None and output.exists():
            raise click.BadParameter(
                f"there is a file {str(output)!r} already; tests that somebody changed are not lost"
            )
        named = rules_named(rules, plugins)
        with spinner(console_for(stderr=True), f"writing {len(named)} tests"):
            code = ghostwritten(named)
        if output is None:
            click.echo(code, nl=False)
        else:
            output.write_text(code, encoding="utf-8")
