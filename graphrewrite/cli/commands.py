"""The commands: compile, cosimulate, synth and check; the others have modules of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from graphrewrite import __version__
from graphrewrite.cli.diff import diff_command
from graphrewrite.cli.explain import explain_command
from graphrewrite.cli.failures import UNEQUAL, failures_as_exit_codes
from graphrewrite.cli.ghostwrite import ghostwrite_command
from graphrewrite.cli.lower import lower_command
from graphrewrite.cli.optimise import optimise_command
from graphrewrite.cli.option_types import ModelFile, Parallelism, Share, Size, Widths, plugin_option
from graphrewrite.cli.outputs import PAGE, output_option
from graphrewrite.cli.show import show_command
from graphrewrite.cli.terminal import console_for, spinner
from graphrewrite.cli.trace import trace_command
from graphrewrite.hdl.emission.names import identifier

if TYPE_CHECKING:
    from graphrewrite.lowering import Target

__all__ = ["app"]

_CODES = """\b
Exit codes:
  0  done; where GHDL ran, it agrees; of diff: the models are equal
  1  GHDL gives other values or cycles than predicted, a rule is wrong or never fired, or two models differ
  2  the command was used wrongly: no such option, rule or node
  3  the model's file is missing, corrupt or contradicts itself
  4  the model has ops that are not supported
  5  calibration samples or widths do not fit
  6  a part of the network has no hardware
  7  the interval, the latency or the budget cannot be met
  8  the folder cannot be written, or holds no design
  9  GHDL is not installed
  10 a Python package is missing
  11 any other error
  12 GHDL refuses the design
  13 the hardware would come to a halt
  14 not enough memory
  15 Yosys or nextpnr refuses the design
  16 quantising loses more than --max-loss allows
  17 the disk for temporary files is full
  18 nobody reads the output, as behind "| head -1"
  130 interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP
"""


class _Commands(click.Group):
    """Commands whose failures outside of them, in options or in the help, end like those inside."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with failures_as_exit_codes():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with failures_as_exit_codes():
            return super().invoke(ctx)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=_CODES
)
@click.version_option(__version__, prog_name="graphrewrite")
def app() -> None:
    """Take a trained neural network down to VHDL that equals its numpy simulation, bit for bit and cycle for cycle."""


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


@app.command("compile")
@click.argument("model", type=ModelFile())
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for the project; an earlier design there is replaced, other files stay.",
)
@click.option(
    "--target",
    "target_name",
    metavar="hardware|c|PACKAGE.MODULE:NAME",
    default="hardware",
    show_default=True,
    help="What code is written for: VHDL, plain C, or what a target of your own generates.",
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
    metavar="N|NAME=N,…|FILE|auto",
    help="Word width of values and weights, 4 to 16; default: 8, and for c the model's own numbers. By layer: "
    "fc1=6,conv*=8:10,default=8, with weights and results apart by a colon; or a .json file of such a mapping. "
    "auto: as few bits as --max-loss allows.",
)
@click.option(
    "--max-loss",
    type=Share(),
    metavar="SHARE",
    help="Of the test samples, how much quantising may lose: the accuracy that is lost, without labels the share of "
    "predictions that change, of numbers the power of the noise over their variance. Beyond it no hardware is made. "
    "Default: 5%, and for --bits auto 0.5%.",
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
@click.option(
    "--size",
    "sizes",
    type=Size(),
    multiple=True,
    metavar="NAME=N",
    help="For c, a number for a size that the model leaves open, other than that of the batch (may be repeated).",
)
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
    sizes: tuple[tuple[str, int], ...],
    as_json: bool,
    **options: Any,  # the other fields of `Options`
) -> None:
    """Compile MODEL to a VHDL project, or to C.

    MODEL is an ONNX file, a document of a graph or module, or the name of a shipped model: digits or classes. The
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
        chosen = Options(target=target, sizes=dict(sizes), **options)
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


@app.command("cosimulate")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def cosimulate_command(folder: Path, as_json: bool) -> None:
    """Check values and cycles of the design in FOLDER with GHDL.

    Runs its test bench, and compares each beat with the test vectors; nothing in the folder is changed.

    \b
    Example:
      graphrewrite cosimulate build/digits
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite.hdl import cosimulate

        with spinner(console, "cosimulating with GHDL"):
            report = cosimulate(folder)
    click.echo(json.dumps(report.as_dict(), indent=2) if as_json else str(report))
    if not report:
        raise SystemExit(UNEQUAL)


@app.command("synth")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--family", type=click.Choice(["ice40", "ecp5", "xc7"]), default="ecp5", show_default=True, help="What FPGA."
)
@click.option("--whole", is_flag=True, help="All components in one piece; takes longer. Default: each apart, summed.")
@click.option("--clock", is_flag=True, help="Place and route, too, for the clock frequency (ice40 and ecp5).")
@click.option("--verify", is_flag=True, help="Simulate what is synthesised beside the VHDL, and compare every cycle.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def synth_command(folder: Path, family: str, whole: bool, clock: bool, verify: bool, as_json: bool) -> None:
    """Synthesise the design in FOLDER, and compare with the predictions of its components.

    GHDL makes Verilog of the VHDL, Yosys look-up tables, flip-flops, DSP blocks and block memories; nothing in the
    folder is changed.

    \b
    Example:
      graphrewrite synth build/digits --family xc7
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite.cli.synth import print_synthesis
        from graphrewrite.hdl.synthesis import synthesise

        report = synthesise(folder, family=family, whole=whole, clock=clock, verified=verify)
        if as_json:
            click.echo(json.dumps(report.as_dict(), indent=2))
        elif console.is_terminal:
            print_synthesis(report, console)
        else:
            click.echo(str(report))


@app.command("check")
@click.argument("rules", nargs=-1, required=True, metavar="PACKAGE.MODULE:RULES...")
@click.option("--seed", type=int, default=0, show_default=True, help="Which graphs are tried.")
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    help="Graphs for a rule; more where it fires seldom. Default: as the profile of Hypothesis says.",
)
@plugin_option
@output_option("--html", "page", endings=PAGE, text="Write all of it to a file, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def check_command(
    rules: tuple[str, ...],
    seed: int,
    examples: int | None,
    plugins: tuple[str, ...],
    page: Path | None,
    as_json: bool,
) -> None:
    """Test every rule of RULES on generated graphs.

    RULES is a rule, a pass, a pipeline, a function on graphs, or a tuple of them: package.module:NAME; or a module,
    for all that it offers. Each must keep what graphs compute, as far as that was compared. The exit code is 1
    otherwise.

    \b
    Example:
      graphrewrite check graphrewrite.rules:RULES --html report.html
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite.cli.check import as_data, as_page, check_all, print_reports

        reports = check_all(
            rules, seed=seed, examples=examples, progress=lambda name: spinner(console, name), plugins=plugins
        )
        if page is not None:
            as_page(reports).save(page)
        if as_json:
            click.echo(json.dumps(as_data(reports), indent=2))
        else:
            print_reports(reports, console)
    if not all(reports.values()):
        raise SystemExit(UNEQUAL)


for _command in (
    diff_command,
    explain_command,
    ghostwrite_command,
    lower_command,
    optimise_command,
    show_command,
    trace_command,
):
    app.add_command(_command)
