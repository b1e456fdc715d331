"""The commands: cosimulate, synth and check; the others have modules of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from graphrewrite import __version__
from graphrewrite.cli.compiling import compile_command
from graphrewrite.cli.diff import diff_command
from graphrewrite.cli.explain import explain_command
from graphrewrite.cli.failures import UNEQUAL, failures_as_exit_codes
from graphrewrite.cli.ghostwrite import ghostwrite_command
from graphrewrite.cli.lower import lower_command
from graphrewrite.cli.optimise import optimise_command
from graphrewrite.cli.option_types import plugin_option
from graphrewrite.cli.outputs import PAGE, output_option
from graphrewrite.cli.profiling import profile_command
from graphrewrite.cli.show import show_command
from graphrewrite.cli.terminal import console_for, spinner
from graphrewrite.cli.trace import trace_command

__all__ = ["app"]

_CODES = """\b
Exit codes:
  0  done; where GHDL ran, it agrees; of diff: the models are equal
  1  GHDL or C gives other values or cycles than predicted, a rule is wrong or never fired, or two models differ
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
    compile_command,
    diff_command,
    explain_command,
    ghostwrite_command,
    lower_command,
    optimise_command,
    profile_command,
    show_command,
    trace_command,
):
    app.add_command(_command)
