"""Failures of earlier runs, kept in the database of Hypothesis' profile and tried before anything else."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from types import FunctionType
from typing import Any

import networkx as nx
from hypothesis import Phase, settings

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.json.decode import Decoder
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode import encode
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.graph import Graph
from graphrewrite.op.dialect import Dialect
from graphrewrite.op.given_ops import OpOrDialect
from graphrewrite.op.op import Op
from graphrewrite.testing.reduction import Case
from graphrewrite.testing.subject import Subject

__all__ = ["KnownFailures"]


class KnownFailures:
    """The cases, as JSON, on which a property of a transformation did not hold when it was last tested.

    They are found again under the names of what is tested, not its source, so that a change brings them up, and what is
    mended is forgotten.

    Parameters
    ----------
    on : object
        Where graphs come from: what fails on some graphs says nothing of others.
    asked : str
        The property.
    """

    def __init__(self, subject: Subject, on: Any, asked: str) -> None:
        profile = settings()
        self.functions = [getattr(one, "function", one) for one in _parts(subject)]
        self.database = profile.database if Phase.reuse in profile.phases else None
        told = [asked, *map(_place, self.functions), re.sub(r" at 0x[0-9a-f]+", "", repr(on))]
        self.key = b"graphrewrite." + blake2b("\n".join(told).encode(), digest_size=16).digest()

    def __iter__(self) -> Iterator[Case]:
        """Yield the cases, the smallest first; those that cannot be rebuilt any more are dropped."""
        if self.database is None:
            return
        for entry in sorted(self.database.fetch(self.key), key=lambda entry: (len(entry), entry)):
            case = self._decoded(entry)
            if case is None:
                self.database.delete(self.key, entry)
            else:
                yield case

    def keep(self, case: Case) -> None:
        """Keep a case, if it can be rebuilt from its text."""
        if self.database is not None:
            entry = _encoded(case)
            again = None if entry is None else self._decoded(entry)
            if entry is not None and again is not None and _encoded(again) == entry:
                self.database.save(self.key, entry)

    def forget(self, case: Case) -> None:
        """Drop a case, which shows nothing any more."""
        entry = _encoded(case)
        if self.database is not None and entry is not None:
            self.database.delete(self.key, entry)

    def _decoded(self, entry: bytes) -> Case | None:
        try:
            data = json.loads(entry)
            graph: Any = from_dict(data["graph"], ops=_ops_known_to(self.functions))
            if data["plain"]:
                graph = nx.DiGraph(graph)
            inputs = {name: Decoder().decode(array, JsonPath()) for name, array in data["inputs"].items()}
        except (ValueError, KeyError, TypeError, GraphRewriteError):  # written by another version, or of ops that went
            return None
        return Case(graph, inputs)


def _encoded(case: Case) -> bytes | None:
    try:
        inputs = {name: encode(array, JsonPath()) for name, array in case.inputs.items()}
        data = {"plain": not isinstance(case.graph, Graph), "graph": to_dict(case.graph), "inputs": inputs}
    except (GraphRewriteError, TypeError):  # of values without a form
        return None
    return json.dumps(data).encode()


def _parts(subject: Subject) -> Iterator[Any]:
    """Yield the rules, passes and functions."""
    for stage in subject.stages:
        yield from stage if isinstance(stage, tuple) else (stage,)


def _place(function: Any) -> str:
    """Return module and name of a function, or of a rule that has none."""
    name = getattr(function, "__qualname__", getattr(function, "name", type(function).__qualname__))
    return f"{getattr(function, '__module__', '')}.{name}"


def _ops_known_to(functions: Iterable[Any]) -> list[OpOrDialect]:
    """Return the ops and dialects that functions can name."""
    seen: dict[int, OpOrDialect] = {}
    for function in functions:
        if isinstance(function, FunctionType):
            space = inspect.getclosurevars(function)
            for thing in (*function.__globals__.values(), *space.nonlocals.values()):
                if isinstance(thing, Op | Dialect):
                    seen[id(thing)] = thing
    return list(seen.values())
