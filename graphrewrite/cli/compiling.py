"""``graphrewrite compile``: a model down to VHDL, to C, or to what a target of one's own generates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from graphrewrite.cli.failures import UNEQUAL, failures_as_exit_codes
from graphrewrite.cli.option_types import (
    ModelFile,
    Parallelism,
    RangeChoice,
    Share,
    Widths,
    plugin_option,
    size_option,
    target_option,
)
from graphrewrite.cli.terminal import console_for, spinner
from graphrewrite.hdl.emission.names import identifier

if TYPE_CHECKING:
    from graphrewrite.lowering import Target

__all__ = ["compile_command"]


def _library(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value != "work" and value != identifier(value):
        raise click.BadParameter(f"{value!r} is no name for a VHDL library; {identifier(value)!r} would be one")
    return value


_FOR_HARDWARE = frozenset(
    {
        *("parallelism", "max_multipliers", "max_memory_bits", "interval", "latency", "stages", "shift_add", "head"),
        *("host", "library"),
    }
)
"""Options of compile that are for hardware only."""
_FOR_PROGRAMS = frozenset({"sizes"})
"""Options of compile that are for programs only."""


def _check_options(ctx: click.Context, names: frozenset[str], target: Target) -> None:
    """Raise if options were given that mean nothing for a target."""
    given = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name in names and ctx.get_parameter_source(parameter.name) == ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)} means nothing for the target {target.name}; leave it out")


class _Names(click.ParamType["tuple[str, ...]"]):
    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        return tuple(part for part in value.split(",") if part) if isinstance(value, str) else value


@click.command("compile")
@click.argument("model", type=ModelFile())
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for the project; an earlier design there is replaced, other files stay.",
)
@target_option(
    "hardware|c", "hardware", "What code is written for: VHDL, plain C, or what a target of your own generates."
)
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    help="Samples (.npz: calibration_x, and test_x and test_y if there are; with several inputs or outputs their names "
    "instead of x and calibration_x, or y). Default: the .npz beside the model.",
)
@click.option(
    "--bits",
    type=Widths(),
    metavar="N|NAME=N,…|FILE|auto|learnt",
    help="Word width of values and weights, 4 to 16, with --finetune from 2 on, and inputs at least 8 unless they are "
    "named; default: 8, and for c the model's own numbers. By layer: "
    "fc1=6,conv*=8:10,default=8, with weights and results apart by a colon; or a .json file of such a mapping. "
    "auto: as few bits as --max-loss allows, with --finetune the best that cost no more than --budget. "
    "learnt: with --finetune, begun so and learnt.",
)
@click.option(
    "--ranges",
    type=RangeChoice(),
    metavar="mse|minmax|percentile|entropy|P",
    default="mse",
    show_default=True,
    help="How the range of each value is chosen: by the least squared error, by its ends, so that 0.01 % of the "
    "samples are beyond it, by the least divergence; a number is another percentile, as 99.9.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ranges of values by a profile that `graphrewrite profile` gathered, from more samples than are here, or that "
    "was edited.",
)
@click.option(
    "--finetune",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Train the network on with the rounding of its hardware, from 2 bits on, before it is quantised: an .npz file "
    "with train_x and train_y, classes from 0 or numbers; with several inputs train_ before their names.",
)
@click.option(
    "--budget",
    type=click.FloatRange(2, 8),
    metavar="N",
    help="With --finetune and --bits auto or learnt: the widths, 2 to 8, cost no more than N bits everywhere. "
    "Default: 4.",
)
@click.option(
    "--max-loss",
    type=Share(),
    metavar="SHARE",
    help="Of the test samples, how much quantising may lose: the accuracy that is lost, without labels the share of "
    "predictions that change, of numbers the power of the noise over their variance. Beyond it no hardware is made. "
    "Default: 5%, and for --bits auto without --finetune 0.5%.",
)
@click.option("--force", is_flag=True, help="Make hardware whatever quantising loses.")
@click.option("--per-channel", is_flag=True, help="A binary point for each output channel of the weights.")
@click.option(
    "--approximate",
    is_flag=True,
    help="Straight lines for functions of more than 12 bits, within a bound that the report says. Default: exact, or "
    "an error.",
)
@click.option(
    "--parallelism",
    type=Parallelism(),
    metavar="full|folded|N",
    default="full",
    show_default=True,
    help="Every layer unrolled, one multiplier a layer, or at most N.",
)
@click.option(
    "--max-multipliers",
    type=click.IntRange(min=1),
    help="Multipliers in all; spent where they shorten the time between images.",
)
@click.option(
    "--max-memory-bits", type=click.IntRange(min=1), help="Bits of memory in all, for weights, windows and buffers."
)
@click.option(
    "--interval", type=click.IntRange(min=1), help="Cycles between images that are wanted; with few multipliers."
)
@click.option(
    "--latency",
    type=click.IntRange(min=1),
    help="Cycles from an image's first beat to its result's last that are wanted; with few multipliers.",
)
@click.option(
    "--stages",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Pipeline stages within each computation: a faster clock, a longer latency.",
)
@size_option("For c, a number for a size that the model leaves open, other than that of the batch (may be repeated).")
@click.option("--shift-add", is_flag=True, help="Unrolled layers by shared shifts and additions, without multipliers.")
@click.option(
    "--head",
    type=click.Choice(["auto", "class", "scores", "softmax"]),
    default="auto",
    show_default=True,
    help="What the hardware gives: auto makes a closing softmax the class; softmax computes it, within a stated bound.",
)
@click.option(
    "--host",
    type=_Names(),
    metavar="NODE,...",
    default=(),
    help="Ops that the host computes, with all before or all behind them; 'list' says where the network can be cut.",
)
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Images that GHDL runs, with random stalls on both sides.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random stalls.")
@click.option(
    "--name",
    help="Of the top entity or the function; begins the names of all that is the design's own. Default: the model's.",
)
@click.option(
    "--library",
    default="work",
    show_default=True,
    callback=_library,
    help="VHDL library that the design's scripts compile into: one each for designs that must not meet.",
)
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def compile_command(
    model: Path,
    folder: Path,
    calibration: Path | None,
    target_name: str,
    as_json: bool,
    **options: Any,  # the other fields of `Options`
) -> None:
    """Compile MODEL to a VHDL project, or to C.

    MODEL is a file of ONNX or TensorFlow, a document, or the name of a shipped model: digits or classes. The
    network is cleaned up by rules, quantised with the calibration samples, lowered to integers and to streaming
    hardware. All levels are compared on the test samples. The VHDL has a self-checking test bench, which runs in GHDL
    where that is installed. With --target c the network is optimised and written as a C function, in float or, with
    --bits, in integers; where there is a C compiler it is run, and compared with the network.

    \b
    Example:
      graphrewrite compile digits -o build/digits --max-multipliers 300
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite.cli.host_ops import cut_lines
        from graphrewrite.cli.pipeline import Options, compile_model
        from graphrewrite.cli.programs import compile_program, print_program
        from graphrewrite.cli.report import as_data, print_report
        from graphrewrite.cli.sources import generating_target

        if options["host"] == ("list",):
            click.echo("\n".join(cut_lines(model, options["plugins"])))
            return
        target = generating_target(target_name)
        _check_options(
            click.get_current_context(), _FOR_PROGRAMS if target.level == "stream" else _FOR_HARDWARE, target
        )
        from graphrewrite.cli.finetuning import check_finetuning

        check_finetuning(options)
        chosen = Options(target=target, **options)
        if chosen.target.level != "stream":
            program = compile_program(
                model, folder, calibration=calibration, options=chosen, progress=lambda name: spinner(console, name)
            )
            if as_json:
                click.echo(json.dumps(program.as_dict(), indent=2))
            else:
                print_program(program, console)
            if not program:
                raise SystemExit(UNEQUAL)
            return
        compiled = compile_model(
            model,
            folder,
            calibration=calibration,
            options=chosen,
            progress=lambda name: spinner(console, name),
        )
        if as_json:
            click.echo(json.dumps(as_data(compiled), indent=2))
        else:
            print_report(compiled, console)
    if not compiled:
        raise SystemExit(UNEQUAL)
