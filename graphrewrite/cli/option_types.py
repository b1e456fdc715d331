"""Types of arguments and options: models, multipliers, widths by layer, shares; options for plugins, targets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from graphrewrite import models

__all__ = [
    "ModelFile",
    "Parallelism",
    "RangeChoice",
    "Share",
    "Widths",
    "plugin_option",
    "size_option",
    "target_option",
]

_F = TypeVar("_F", bound=Callable[..., Any])

plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="NAME",
    help="What an installed package offers by entry points of that name: ops, rules, lowerings, components, importers "
    "(may be repeated).",
)
"""The option for plugins, which are looked for only where one is named."""


def target_option(known: str, default: str, text: str) -> Callable[[_F], _F]:
    """Return the option for the one target, of which a second one is not silently taken instead."""

    def single(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str:
        if len(set(value)) > 1:
            raise click.BadParameter(f"there are several targets, {' and '.join(dict.fromkeys(value))}; give one")
        return value[0]

    return click.option(
        "--target",
        "target_name",
        multiple=True,
        metavar=f"{known}|PACKAGE.MODULE:NAME",
        default=(default,),
        show_default=True,
        callback=single,
        help=text,
    )


_LEAST, _MOST = 2, 16


class ModelFile(click.ParamType[Path]):
    """A model's file, or the name of a shipped model, which stands for its file."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path of a file, which need not be there."""
        path = Path(value)
        return models.path(path.name) if str(path) in models.NAMES and not path.exists() else path


class Parallelism(click.ParamType["str | int"]):
    """``full``, ``folded`` or a number of multipliers."""

    name = "full|folded|N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return a word or a number."""
        if value in ("full", "folded") or isinstance(value, int):
            return value  # type: ignore[no-any-return]  # one of the two kinds by the test before
        if str(value).isdigit() and int(value) > 0:
            return int(value)
        return self.fail(f"{value!r} is neither 'full', 'folded' nor a number of multipliers from 1", param, ctx)


class RangeChoice(click.ParamType["str | float"]):
    """A way to choose ranges by name, or a percentile."""

    name = "mse|minmax|percentile|entropy|P"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        """Return what `quantise` takes for its parameter ``ranges``."""
        if value in ("mse", "minmax", "percentile", "entropy") or isinstance(value, float):
            return value  # type: ignore[no-any-return]  # one of the two kinds by the test before
        try:
            percentile = float(str(value).removesuffix("%"))
        except ValueError:
            percentile = -1.0
        if not 50 <= percentile <= 100:
            self.fail(f"{value!r} is neither mse, minmax, percentile, entropy nor a percentile, as 99.9", param, ctx)
        return percentile


class Share(click.ParamType[float]):
    """A share, in per cent or as a fraction: ``5%`` or ``0.05``."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a number from 0 to 1."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            return self.fail(f"{text!r} is no share; write 5% or 0.05", param, ctx)
        if not 0 <= share <= 1:
            return self.fail(f"{text} is no share from 0 to 1; in per cent it is {text.removesuffix('%')}%", param, ctx)
        return share


class _Size(click.ParamType["tuple[str, int]"]):
    """A number for a symbolic size: ``height=32``."""

    name = "NAME=N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return the name and the number."""
        if isinstance(value, tuple):
            return value
        name, _, number = str(value).partition("=")
        if not name.strip() or not number.strip().isdecimal():
            return self.fail(f"{value!r} is no size; write NAME=N, as in height=32", param, ctx)
        return name.strip(), int(number)


def size_option(text: str) -> Callable[[_F], _F]:
    """Return the option for numbers of symbolic sizes, none of them given twice."""

    def table(ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, int], ...]) -> dict[str, int]:
        names = [name for name, _ in value]
        for name in names:
            if names.count(name) > 1:
                raise click.BadParameter(f"{name!r} is given twice")
        return dict(value)

    return click.option("--size", "sizes", type=_Size(), multiple=True, metavar="NAME=N", callback=table, help=text)


class Widths(click.ParamType["int | str | dict[str, Any]"]):
    """One width; widths by layer, as a text or a file; or ``auto`` or ``learnt``."""

    name = "N|NAME=N,…|FILE.json|auto|learnt"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str | dict[str, Any]:
        """Return what `quantise` takes for its parameter ``bits``, or ``"auto"`` or ``"learnt"``."""
        if isinstance(value, int | dict) or value in ("auto", "learnt"):
            return value  # type: ignore[no-any-return]  # one of these kinds by the test before
        text = str(value).strip()
        if text.endswith(".json"):
            return self._read(Path(text), param, ctx)
        if "=" not in text and "," not in text and ":" not in text:
            return int(self._width(text, param, ctx))
        table: dict[str, Any] = {}
        for entry in text.split(","):
            name, _, width = entry.strip().rpartition("=")
            name = name.strip() or "default"
            if name in table:
                self.fail(f"{name!r} has two widths in {text!r}", param, ctx)
            pair = [self._width(each, param, ctx) for each in width.split(":")]
            if len(pair) > 2:
                self.fail(f"{entry.strip()!r} has more than two widths; those of weights and of results", param, ctx)
            table[name] = pair[0] if len(pair) == 1 else tuple(pair)
        return table

    def _read(self, path: Path, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            return self.fail(f"{str(path)!r} is no JSON file that can be read ({error})", param, ctx)
        if not isinstance(found, dict) or not found:
            return self.fail(f"{str(path)!r} holds no widths; write {{'fc1': 6, 'conv*': [8, 10]}}", param, ctx)
        table: dict[str, Any] = {}
        for name, width in found.items():
            pair = [self._width(each, param, ctx) for each in (width if isinstance(width, list) else [width])]
            if len(pair) not in (1, 2):
                self.fail(f"the widths of {name!r} are {width}; give one, or two for weights and results", param, ctx)
            table[name] = pair[0] if len(pair) == 1 else tuple(pair)
        return table

    def _width(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip()
        if text.isdecimal() and _LEAST <= int(text) <= _MOST:
            return int(text)
        return self.fail(
            f"{text!r} is no width from {_LEAST} to {_MOST}; write 8, fc1=6,conv*=8:10 for layers by name (weights and "
            "results apart by a colon), a .json file of the same, auto or learnt",
            param,
            ctx,
        )
