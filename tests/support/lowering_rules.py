"""Every rule of the lowerings, by module and name, but for those of scalar additions, whose graphs are large."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from graphrewrite import Rule, lowering
from graphrewrite.hdl import COMPONENTS
from graphrewrite.op import LIBRARY
from graphrewrite.op.transport import enter, leave

__all__ = ["OPS", "RULES"]


ROOMS = ("composite", "gradients", "integer", "preparation", "prequantised", "streaming")


def _found() -> Iterator[tuple[str, Rule]]:
    for info in pkgutil.walk_packages(lowering.__path__, f"{lowering.__name__}."):
        if info.name.split(".")[2] not in ROOMS:
            continue
        for value in vars(importlib.import_module(info.name)).values():
            for member in value if isinstance(value, tuple) else (value,):
                if isinstance(member, Rule) and member.definition.function.__module__ == info.name:
                    yield f"{info.name.removeprefix(f'{lowering.__name__}.')}.{member.name}", member


RULES: dict[str, Rule] = dict(sorted(_found(), key=lambda item: item[0]))
_KINDS = {kind for rule in RULES.values() for kind in rule.definition.root_kinds or ()}
OPS = [
    *(each.vjp for name, each in LIBRARY.items() if f"vjp_{name.replace('.', '_')}" in _KINDS),
    *(component.op for component in COMPONENTS),
    *(enter, leave),
]
"""Ops of their graphs that the library does not name."""
