"""``graphrewrite profile``: what values a model has, and which of its layers need most bits."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrewrite.cli.failures import failures_as_exit_codes
from graphrewrite.cli.option_types import ModelFile, RangeChoice, plugin_option
from graphrewrite.cli.outputs import PAGE, output_option
from graphrewrite.cli.terminal import console_for, say, spinner

if TYPE_CHECKING:
    from graphrewrite import Graph
    from graphrewrite.lowering import ValueProfile

__all__ = ["profile_command"]


class _Range(click.ParamType["tuple[str, tuple[float, float] | None]"]):
    """A range of a value: ``fc1=-2:2``; ``fc1=`` takes it away."""

    name = "NAME=LOW:HIGH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[float, float] | None]:
        """Return the name and the range."""
        if isinstance(value, tuple):
            return value
        name, is_pair, ends = str(value).rpartition("=")
        low, _, high = ends.partition(":")
        if is_pair and name and not ends:
            return name, None
        try:
            return name, (float(low), float(high))
        except ValueError:
            return self.fail(f"{value!r} is no range; write NAME=LOW:HIGH, as fc1=-2:2, or NAME= for none", param, ctx)


@click.command("profile")
@click.argument("model", type=ModelFile())
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@output_option("-o", "--output", "output", endings=(".json",), text="A file for the profile, which may be edited.")
@click.option(
    "--range",
    "given",
    type=_Range(),
    multiple=True,
    metavar="NAME=LOW:HIGH",
    help="A range by hand, which goes before the samples; NAME= takes one away (may be repeated).",
)
@click.option(
    "--bits", type=click.IntRange(4, 16), default=8, show_default=True, help="Word width of the formats that are shown."
)
@click.option(
    "--ranges",
    type=RangeChoice(),
    metavar="mse|minmax|percentile|entropy|P",
    default="mse",
    show_default=True,
    help="How they are chosen; a number is a percentile.",
)
@click.option(
    "--sensitivity",
    "few",
    type=click.IntRange(4, 15),
    metavar="BITS",
    help="Also what each layer loses that alone has so few bits, on the test samples where a file has them; quantises "
    "the network twice for each.",
)
@output_option("--html", "page", endings=PAGE, text="Write what is shown to a file, too.")
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def profile_command(
    model: Path,
    files: tuple[Path, ...],
    output: Path | None,
    given: tuple[tuple[str, tuple[float, float] | None], ...],
    bits: int,
    ranges: str | float,
    few: int | None,
    page: Path | None,
    plugins: tuple[str, ...],
    as_json: bool,
) -> None:
    """Gather the profile of MODEL: the distribution of each value that quantising rounds.

    FILES are samples (.npz, as for compile --calibration), one batch after the other, or profiles of the same model
    (.json), which are added. Default: the .npz beside the model. `compile --profile` quantises by it.

    \b
    Example:
      graphrewrite profile digits -o digits.json --sensitivity 4
    """  # noqa: D301 - click reads the control character \b: do not wrap this paragraph
    console = console_for(stderr=as_json)
    with failures_as_exit_codes():
        from graphrewrite.cli import samples as sample_files
        from graphrewrite.cli.sources import network_in
        from graphrewrite.view.page import document

        graph = network_in(model, plugins)
        beside = sample_files.beside(model)
        sources = files or ((beside,) if beside is not None else ())
        with spinner(console, "gathering"):
            profile = _gathered(graph, sources).with_ranges(dict(given))
        shown = [profile.show(bits=bits, ranges=ranges)]
        found: dict[str, Any] = {
            "model": profile.model,
            "samples": profile.samples,
            "values": {name: _as_data(profile, name, bits, ranges) for name in profile.values},
        }
        if few is not None:
            with spinner(console, "measuring layers"):
                measured = _sensitivity(graph, [*_samples(sources), *_samples([beside])], few, ranges)
            shown.append(measured.show())
            found["sensitivity"] = measured.as_dict()
        if output is not None:
            profile.save(output)
        if page is not None:
            whole = "\n\n".join(map(str, shown)) + "\n"
            if page.suffix.lower() == ".html":
                whole = document(f"{profile.model}: profile", "".join(each.html for each in shown))
            page.write_text(whole, "utf-8")
        if as_json:
            click.echo(json.dumps(found, indent=2))
            return
        click.echo("\n\n".join(map(str, shown)))
        for path in filter(None, (output, page)):
            say(console, f"written: {path}")


def _gathered(graph: Graph, sources: tuple[Path, ...]) -> ValueProfile:
    from graphrewrite.cli import samples as sample_files
    from graphrewrite.lowering import QuantisationError, ValueProfile, profile_values
    from graphrewrite.lowering.prequantised.quantisers import is_quantised
    from graphrewrite.lowering.quantisation.preparation import prepared_network
    from graphrewrite.lowering.quantisation.profile_gathering import check_profile

    profiles = [ValueProfile.load(path) for path in sources if path.suffix.lower() == ".json"]
    for each in profiles:
        check_profile(prepared_network(graph), each)
    if is_quantised(graph):
        raise QuantisationError("the model is quantised already, and its grids are kept: profiles are for float models")
    if not sources:
        raise QuantisationError(
            "there are no samples; name .npz files behind the model, whose array 'calibration_x' holds inputs, "
            "batch first"
        )
    if others := _samples(sources):
        profiles.append(profile_values(graph, (sample_files.load(path, graph).calibration for path in others)))
    return reduce(add, profiles)


def _samples(sources: Iterable[Path | None]) -> list[Path]:
    """The files that hold samples rather than profiles."""
    return [path for path in sources if path is not None and path.suffix.lower() != ".json"]


def _as_data(profile: ValueProfile, name: str, bits: int, ranges: str | float) -> dict[str, Any]:
    values = profile.values[name]
    return {
        "low": values.low,
        "high": values.high,
        "zeros": values.zeros,
        "count": values.count,
        "range": profile.ranges.get(name),
        "format": str(profile.format(name, bits, ranges)),
    }


def _sensitivity(graph: Graph, sources: list[Path], bits: int, ranges: str | float) -> Any:
    from graphrewrite.cli import samples as sample_files
    from graphrewrite.lowering import sensitivity

    samples = sample_files.load(next(iter(sources), None), graph)
    test = dict(samples.test)
    return sensitivity(
        graph, samples.calibration, bits=bits, test=test, labels=dict(samples.labels) or None, ranges=ranges
    )
