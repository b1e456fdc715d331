"""``graphrewrite lower``: a model as a program over memory, with the place of each region."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrewrite.cli.failures import failures_as_exit_codes
from graphrewrite.cli.option_types import ModelFile, plugin_option, size_option
from graphrewrite.cli.outputs import output_option
from graphrewrite.cli.terminal import console_for, say, spinner

if TYPE_CHECKING:
    from graphrewrite import Graph
    from graphrewrite.memory import MemoryPlan

__all__ = ["lower_command"]

_FILES = (".txt", ".json", ".npz")


def _pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return what options of the form NAME=VALUE say."""
    found: dict[str, str] = {}
    for value in values:
        name, is_pair, other = value.partition("=")
        if not is_pair or not name or not other:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice")
        found[name] = other
    return found


@click.command("lower")
@click.argument("model", type=ModelFile())
@click.option("--to", "level", type=click.Choice(["memory"]), default="memory", show_default=True, help="The level.")
@output_option(
    "-o", "--output", "output", endings=_FILES, text="A file for the program (.txt) or its graph (.json, .npz)."
)
@size_option("A number for a symbolic size (may be repeated). Default: 1 for each.")
@click.option(
    "--inout",
    "variables",
    multiple=True,
    callback=_pairs,
    metavar="INPUT=OUTPUT",
    help="A variable: an input and the output that has its value afterwards (may be repeated).",
)
@click.option("--plain", is_flag=True, help="No rules: each op computes into a region of its own.")
@click.option("--as-given", is_flag=True, help="The order of the graph, not the one that takes little memory.")
@click.option("--align", type=click.IntRange(min=1), default=1, show_default=True, help="Bytes that divide all places.")
@click.option("--capacity", type=click.IntRange(min=0), help="Bytes that there are.")
@click.option("--graph", "name", metavar="NAME", help="One graph of a module.")
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the program.")
def lower_command(
    model: Path,
    level: str,
    output: Path | None,
    sizes: dict[str, int],
    variables: dict[str, str],
    plain: bool,
    as_given: bool,
    align: int,
    capacity: int | None,
    name: str | None,
    plugins: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print MODEL as a program: instructions over regions of memory, and where each lies.

    Constants are computed, regions are shared, instructions ordered and regions placed so that one block of memory is
    small. MODEL is as for show. A file has constants in full, so that it can be read again.

    \b
    Example:
      graphrewrite lower digits --to memory -o digits.txt
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=True)
    with failures_as_exit_codes():
        from graphrewrite import load
        from graphrewrite.cli.sources import graph_in
        from graphrewrite.memory import to_program

        graph = graph_in(load(model, plugins=plugins), model, name)
        with spinner(console, "lowering"):
            program = _lowered(graph, sizes, variables, plain=plain)
        with spinner(console, "placing"):
            plan = _planned(program, as_given=as_given, align=align, capacity=capacity)
        if output is not None and output.suffix.lower() == ".txt":
            output.write_text(to_program(program, plan=plan, whole=True) + "\n", "utf-8")
        elif output is not None:
            program.save(output)
        if as_json:
            click.echo(json.dumps(_as_data(plan, output), indent=2))
            return
        if output is None:
            click.echo(to_program(program, plan=plan))
        say(
            console,
            f"{len(plan.order)} instructions, {len(plan.rooms)} regions in {plan.size:,} bytes"
            + (
                ", as few as this order allows"
                if plan.placement.optimal
                else f"; no fewer than {plan.bound:,} possible"
            ),
        )
        if output is not None:
            say(console, f"written: {output}")


def _lowered(graph: Graph, given: dict[str, int], variables: dict[str, str], *, plain: bool) -> Graph:
    """Return the program of a graph, with numbers for all sizes of its inputs."""
    from graphrewrite import rewrite, verify
    from graphrewrite.lowering import lower_to_memory
    from graphrewrite.rules import MEMORY_RULES, eliminate_dead_nodes, eliminate_independent_nodes
    from graphrewrite.types import symbols

    named = {n for x in graph.inputs for size in graph.result_type(x).shape for n in symbols(size)}
    sizes = {**dict.fromkeys(sorted(named), 1), **given}
    clean = rewrite(graph, [eliminate_independent_nodes, eliminate_dead_nodes])
    program = lower_to_memory(clean, sizes=sizes, inout=variables)
    if not plain:
        program = rewrite(program, MEMORY_RULES)
    verify(program)
    return program


def _planned(program: Graph, *, as_given: bool, align: int, capacity: int | None) -> MemoryPlan:
    from graphrewrite.memory import plan_memory, schedule

    order = None if as_given else schedule(program).order
    return plan_memory(program, order, align=align, capacity=capacity)


def _as_data(plan: MemoryPlan, output: Path | None) -> dict[str, object]:
    return {
        "bytes": plan.size,
        "bound": plan.bound,
        "instructions": list(plan.order),
        "regions": {
            name: {"offset": room.offset, "size": room.size, "begin": room.begin, "end": room.end}
            for name, room in plan.rooms.items()
        },
        "workspaces": {
            name: {"offset": room.offset, "size": room.size, "step": room.begin}
            for name, room in plan.workspaces.items()
        },
        "file": None if output is None else str(output),
    }
