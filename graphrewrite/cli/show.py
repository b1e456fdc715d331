"""``graphrewrite show``: look at a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click

from graphrewrite.cli.failures import failures_as_exit_codes, wrong_usage
from graphrewrite.cli.option_types import ModelFile, plugin_option
from graphrewrite.cli.outputs import PAGE, PICTURE, output_option
from graphrewrite.cli.terminal import console_for, say

__all__ = ["show_command"]


@click.command("show")
@click.argument("model", type=ModelFile())
@output_option(
    "-o", "--output", "output", endings=PICTURE, text="A file for the picture: .svg, .html, .dot, .png; or .txt."
)
@click.option("--around", multiple=True, metavar="NODE", help="Only what is near a node (may be repeated).")
@click.option("--depth", type=click.IntRange(min=0), help="How many steps around it. Default: 2, of a search 1.")
@click.option("--between", nargs=2, metavar="NODE NODE", help="Only the paths from one node to another.")
@click.option("--search", metavar="TEXT", help="Only nodes with this in their name, op or attributes.")
@click.option("--level", metavar="nn|integer|stream|…", help="Only nodes of a level.")
@click.option("--graph", "name", metavar="NAME", help="One graph of a module.")
@click.option("--direction", type=click.Choice(["TB", "LR"]), help="Draw from top to bottom, or from left to right.")
@click.option(
    "--max-nodes", type=click.IntRange(min=1), default=200, show_default=True, help="Of more, the summary is shown."
)
@plugin_option
def show_command(
    model: Path,
    output: Path | None,
    around: tuple[str, ...],
    depth: int | None,
    between: tuple[str, str] | None,
    search: str | None,
    level: str | None,
    name: str | None,
    direction: str | None,
    max_nodes: int,
    plugins: tuple[str, ...],
) -> None:
    """Show MODEL: a tree in a terminal, text in a pipe, a picture in a file.

    MODEL is a file of ONNX (.onnx) or TensorFlow Lite (.tflite), the text form of a graph or module (.txt, .graph), its
    JSON (.json), or the name of a shipped model: digits or classes.

    \b
    Example:
      graphrewrite show digits --around /conv2/Conv --depth 3 -o part.svg
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    with failures_as_exit_codes():
        from graphrewrite import Graph, Module, load
        from graphrewrite.cli.sources import graph_in
        from graphrewrite.cli.tree import tree_of
        from graphrewrite.view import show
        from graphrewrite.view.scene.part import part_of
        from graphrewrite.view.written import PictureError

        read = load(model, plugins=plugins)
        asked = {"around": list(around) or None, "depth": depth, "between": between or None, "search": search}
        part: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
        with wrong_usage():
            shown = graph_in(read, model, name) if name is not None or level is not None or part else read
            if level is not None:  # a search by predicate, with the word of --search inside it
                part.update(search=_at_level(shown, level, search), depth=depth or 0)
            options: dict[str, Any] = {
                "max_nodes": max_nodes,
                **({} if direction is None else {"direction": direction}),
            }
            picture = show(shown, **part, **options)
            text = str(picture)
            if picture.data.summaries and isinstance(shown, Graph):
                hint = _how_to_see_a_part(shown, max_nodes)
                if output is not None and output.suffix not in PAGE:
                    raise PictureError(hint)
                text = text.replace(picture.data.hints[-1], hint)
        if output is not None:
            picture.save(output)
            return
        console = console_for()
        if not console.is_terminal or not picture.scenes:
            click.echo(text)
            return
        chosen = None if isinstance(shown, Module) else part_of(shown, **part)
        console.print(tree_of(shown, None if chosen is None else chosen.nodes), highlight=False, soft_wrap=True)
        for hint in picture.data.hints:
            say(console, hint, style="dim")


def _how_to_see_a_part(graph: Any, max_nodes: int) -> str:
    """Return a command that draws a part of a graph that is too large."""
    names = list(graph)
    middle = quote(str(names[len(names) // 2]))
    return (
        f"these are more nodes than --max-nodes {max_nodes}, so that the summary is all that is shown; to see a part: "
        f"--around {middle} --depth 2, --between NODE NODE, --search TEXT"
    )


def _at_level(graph: Any, level: str, search: str | None) -> Any:
    """Return a predicate for nodes of a level that contain a word."""
    from graphrewrite.errors import GraphError
    from graphrewrite.op import find_op
    from graphrewrite.rewriting.rule.levels import level_of

    word = (search or "").casefold()

    def is_meant(name: Any, data: Mapping[str, Any]) -> bool:
        found = level_of(find_op(data.get("type", ""), graph.ops), data.get("result"))
        has_word = not word or any(word in f"{key}={value}".casefold() for key, value in {"name": name, **data}.items())
        return found is not None and level in (found.name, str(found)) and has_word

    if not any(is_meant(name, data) for name, data in graph.nodes(data=True)):
        raise GraphError(f"no node of the graph is of level {level!r}{f' and holds {search!r}' if word else ''}")
    return is_meant
