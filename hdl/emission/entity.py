"""The entity of a component: its VHDL text, and whether generics and ports are what the description says."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

import numpy as np

from graphrewrite.errors import GraphRewriteError, did_you_mean
from graphrewrite.hdl.component import Component, Generic, Site
from graphrewrite.hdl.errors import ComponentError
from graphrewrite.types import Stream

__all__ = [
    "SHARED",
    "Entity",
    "asked",
    "check_entity",
    "defaults_of",
    "ports",
    "read_entity",
    "source_of",
    "sources_of",
    "template",
]

SHARED = ("lanes", "stream_buffer")
"""Templates that every design holds, in the order of analysis."""

T = TypeVar("T")

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_INSTANCE = re.compile(r"\bentity\s+work\.(\w+)", re.IGNORECASE)
_ENTITY = re.compile(r"\bentity\s+(\w+)\s+is\b(.*?)\bend\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Entity:
    """Generics and ports that a VHDL file declares.

    Attributes
    ----------
    generics : dict of str to str or None
        Names in capital letters, each with its default.
    ports : frozenset of str
        Names in small letters.
    """

    generics: dict[str, str | None]
    ports: frozenset[str]


def _template_file(name: str) -> Traversable:
    return resources.files("graphrewrite.hdl").joinpath("templates", name)


def template(name: str) -> str:
    """Return the text of a file in ``hdl/templates``.

    Examples
    --------
    >>> template("fifo.vhd").splitlines()[0]
    '-- fifo: a first-in first-out store between two parts of different rhythm.'
    """
    return _template_file(name).read_text(encoding="utf-8")


def source_of(component: Component) -> str:
    """Return the VHDL text of a component."""
    try:
        if isinstance(component.template, Path):
            return component.template.read_text(encoding="utf-8")
        return template(component.template)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ComponentError(
            f"the template {str(component.template)!r} of {component.op.name} cannot be read ({reason});"
            " give the pathlib.Path of a VHDL file"
        ) from None


def sources_of(components: Iterable[Component]) -> dict[str, str]:
    """Return the VHDL of components by entity, in the order of analysis: what every design holds, parts, components.

    A part is a template that a component instantiates, directly or through another part.

    Examples
    --------
    >>> from graphrewrite.hdl.components.matvec import MATVEC
    >>> list(sources_of([MATVEC]))
    ['lanes', 'stream_buffer', 'accumulator', 'matrix_steps', 'matvec']
    """
    texts = {component.entity: source_of(component) for component in components}
    parts: dict[str, str] = {}

    def add_parts(text: str) -> None:
        for name in sorted({name.lower() for name in _INSTANCE.findall(_COMMENT.sub("", text))}):
            if name in parts or name in texts or name in SHARED or not _template_file(f"{name}.vhd").is_file():
                continue
            source = template(f"{name}.vhd")
            add_parts(source)
            parts[name] = source

    for text in texts.values():
        add_parts(text)
    return {**{name: template(f"{name}.vhd") for name in SHARED}, **parts, **texts}


@lru_cache(maxsize=64)
def read_entity(text: str, name: str) -> Entity:
    """Return what an entity declares.

    Examples
    --------
    >>> read_entity("entity e is generic (A : positive; B : integer := 3); port (clk : in bit); end entity;", "e")
    Entity(generics={'A': None, 'B': '3'}, ports=frozenset({'clk'}))
    """
    bodies = {part[1].lower(): part[2] for part in _ENTITY.finditer(_COMMENT.sub("", text))}
    if name.lower() not in bodies:
        declared = f"entity {', '.join(bodies)}" if bodies else "no entity"
        raise ComponentError(f"{name}.vhd declares {declared}; name the entity like the file: {name}")
    body = bodies[name.lower()]
    generics = {word.upper(): default for words, default in _declarations(body, "generic") for word in words}
    return Entity(generics, frozenset(word.lower() for words, _ in _declarations(body, "port") for word in words))


def _declarations(body: str, kind: str) -> Iterator[tuple[list[str], str | None]]:
    """The names of each declaration in a generic or port clause, and its default."""
    opening = re.search(rf"\b{kind}\s*\(", body, re.IGNORECASE)
    # Subtypes and defaults have parentheses of their own: a declaration ends at a semicolon outside of them.
    depth, start = 1, opening.end() if opening else len(body)
    for at in range(start, len(body)):
        depth += {"(": 1, ")": -1}.get(body[at], 0)
        if depth == 0 or (depth == 1 and body[at] == ";"):
            names, _, declared = body[start:at].partition(":")
            _, has_default, default = declared.partition(":=")
            yield (
                re.sub(r"\b(constant|signal)\b", "", names, flags=re.IGNORECASE).replace(",", " ").split(),
                default.strip() if has_default else None,
            )
            start = at + 1
        if depth == 0:
            return


def ports(site: Site) -> list[tuple[str, Stream, bool]]:
    """Return the streams of a site: name at the entity, type, and whether the entity takes it.

    Examples
    --------
    >>> from graphrewrite.hdl.components.fork import fork
    >>> from graphrewrite.types import FixedPoint
    >>> [(name, takes) for name, _, takes in ports(Site.of(fork, Stream(FixedPoint(True, 8), (4,))))]
    [('x', True), ('z0', False), ('z1', False)]
    """
    results = site.results
    ends = ["z"] if len(results) == 1 else [f"z{q}" for q in range(len(results))]
    return [
        *((name, stream, True) for name, stream in zip("xy", site.operands, strict=False)),
        *((name, stream, False) for name, stream in zip(ends, results, strict=True)),
    ]


def asked(where: str, what: str, function: Callable[[], T]) -> T:
    """Return what a function of a component's author returns.

    Examples
    --------
    >>> asked("mine", "`generics`", lambda: int("x"))
    Traceback (most recent call last):
    ...
    graphrewrite.hdl.errors.ComponentError: mine: `generics` failed (ValueError: invalid literal ...); correct it
    """
    try:
        return function()
    except GraphRewriteError:
        raise
    except Exception as error:
        raise ComponentError(f"{where}: {what} failed ({type(error).__name__}: {error}); correct it") from error


def defaults_of(component: Component) -> dict[str, Generic]:
    """Return the generics of a component's entity whose defaults are numbers, truth values or vectors of one number.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import CLIP
    >>> defaults_of(CLIP)
    {'LOW_UPPER': 0, 'HIGH_UPPER': 0, 'CAPACITY': 2}
    """
    found: dict[str, Generic] = {}
    for name, default in read_entity(source_of(component), component.entity).generics.items():
        if vector := re.fullmatch(r"\(0 => (-?\d+)\)", default or ""):
            found[name] = np.array([int(vector[1])])
        elif re.fullmatch(r"-?\d+", default or ""):
            found[name] = int(default or 0)
        elif (default or "").lower() in ("true", "false"):
            found[name] = (default or "").lower() == "true"
    return found


def check_entity(component: Component, site: Site) -> None:
    """Raise unless the entity of a component has the generics and the ports of a site."""
    entity = read_entity(source_of(component), component.entity)
    where = f"the entity {component.entity} of {component.op.name}"
    values: object = asked(where, "`generics`", lambda: component.generics(site))
    if not isinstance(values, Mapping):
        raise ComponentError(
            f"{where}: `generics` gives {type(values).__name__}; return a dictionary of values by name"
        )
    for name, value in values.items():
        if not isinstance(name, str) or np.asarray(value).dtype.kind not in "iub":
            raise ComponentError(
                f"{where}: `generics` gives {name!r}: {value!r}; give names, and whole numbers, truth values or lists"
                " of numbers"
            )
    names = {name.upper(): name for name in values}
    for name, written in names.items():
        if name not in entity.generics:
            hint = did_you_mean(name, entity.generics)
            raise ComponentError(
                f"{where} has no generic {written}{hint}; declare it in the VHDL or leave it out of `generics`"
            )
    for name, default in entity.generics.items():
        if name not in names and default is None:
            raise ComponentError(f"{where} needs the generic {name}; return it from `generics` or give it a default")
    expected = ["clk", "rst", *(f"{n}_{part}" for n, _, _ in ports(site) for part in ("payload", "valid", "ready"))]
    for port in expected:
        if port not in entity.ports:
            raise ComponentError(
                f"{where} has no port {port}; streams are x and y, and z (or z0, z1), with _payload, _valid and _ready"
            )
    if unknown := sorted(entity.ports - set(expected)):
        raise ComponentError(
            f"{where} has the port {unknown[0]}, which no stream of {component.op.name} has; drop it, or correct"
            " the operands and results of the op"
        )
