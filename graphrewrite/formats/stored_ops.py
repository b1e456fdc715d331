"""Stored ops: what a document says of ops that it does not define, so that a change of one is noticed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError, SerialError
from graphrewrite.formats.text.literal_printer import WHOLE, write
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_graphs
from graphrewrite.hierarchy.module import Module
from graphrewrite.op.dialect import Dialect
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Op

__all__ = ["STORED", "check_version", "difference", "given_ops_in", "reference", "upgraded"]

STORED = ("version", "operands", "attributes")
"""What is stored of an op: the version of its dialect, names of operands, attributes with their defaults."""


def reference(op: Op) -> dict[str, Any]:
    """Return what is stored of an op: its signature, and if it is of a dialect the version of that.

    Examples
    --------
    >>> from graphrewrite import define_op
    >>> @define_op
    ... def gain(x, y=None, *more, db=0.0, rate):
    ...     return x
    >>> reference(gain)
    {'operands': ['x', 'y=None', '*more'], 'attributes': {'db': '0.0', 'rate': ''}}
    """
    operands = [name if i < op.required else f"{name}=None" for i, name in enumerate(op.operands)]
    if op.variadic and operands:
        operands[-1] = f"*{op.operands[-1]}"
    version = {} if op.dialect is None else {"version": op.dialect.version}
    return {**version, "operands": operands, "attributes": {key: _text(each) for key, each in op.attributes.items()}}


def _text(default: Any) -> str:
    """Return the text of a default; empty for a required attribute, dots for what has no text."""
    if default is inspect.Parameter.empty:
        return ""
    try:
        return write(default, WHOLE)
    except GraphError:
        return "…"


def difference(op: Op, operands: Sequence[str], attributes: Mapping[str, str]) -> str | None:
    """Return how an op differs from what was stored of it, and what to do; None if stored nodes mean the same.

    Further operands and attributes may have come, if nodes need not have them.

    Examples
    --------
    >>> from graphrewrite import op
    >>> difference(op.relu, ["x"], {"alpha": "0.1"})
    'was stored as relu(x, *, alpha=0.1), and is relu(x); pass the op as it was; ops of a dialect can ...'
    """
    now = reference(op)
    own_operands, own_attributes = now["operands"], now["attributes"]
    more = own_operands[len(operands) :]
    if (
        own_operands[: len(operands)] == list(operands)
        and all(each.startswith("*") or each.endswith("=None") for each in more)
        and all(own_attributes.get(key) == default for key, default in attributes.items())
        and all(default for key, default in own_attributes.items() if key not in attributes)
    ):
        return None
    shown = _shown(op.name, operands, attributes), _shown(op.name, own_operands, own_attributes)
    remedy = "pass the op as it was; ops of a dialect can have versions, and convert graphs of earlier ones"
    if op.dialect is not None:
        version = op.dialect.version
        remedy = f"give the dialect {op.dialect.name!r} the version {version + 1}, and upgrades={{{version}: …}}"
    return f"was stored as {shown[0]}, and is {shown[1]}; {remedy}"


def _shown(name: str, operands: Sequence[str], attributes: Mapping[str, str]) -> str:
    named = [f"{key}={default}" if default else key for key, default in attributes.items()]
    star = ["*"] if named and not any(each.startswith("*") for each in operands) else []
    return f"{name}({', '.join([*operands, *star, *named])})"


def check_version(dialect: Dialect, version: int) -> None:
    """Raise unless what was stored with a version of a dialect can be read.

    Examples
    --------
    >>> check_version(Dialect("sig", version=2), 1)
    Traceback (most recent call last):
    graphrewrite.errors.SerialError: stored with version 1 of the dialect 'sig', which is at version 2 and cannot
    upgrade from 1; give it upgrades={1: …}
    """
    if version > dialect.version:
        raise SerialError(
            f"stored with version {version} of the dialect {dialect.name!r}, of which version {dialect.version} was "
            "given; give the newer one"
        )
    missing = next((each for each in range(version, dialect.version) if each not in dialect.upgrades), None)
    if missing is not None:
        raise SerialError(
            f"stored with version {version} of the dialect {dialect.name!r}, which is at version {dialect.version} "
            f"and cannot upgrade from {missing}; give it upgrades={{{missing}: …}}"
        )


def given_ops_in(thing: nx.DiGraph | Module) -> dict[str, Op]:
    """Return the ops of the nodes of a graph or module, at any depth, that a reader of it must be given.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> given_ops_in(Graph("g"))
    {}
    """
    graphs = [thing] if isinstance(thing, Graph) else [*thing.values()] if isinstance(thing, Module) else []
    used = {
        kind: graph.ops[kind]
        for each in graphs
        for graph in nested_graphs(each)
        for _, kind in graph.nodes(data="type")
        if isinstance(kind, str) and kind in graph.ops and not isinstance(graph.ops[kind], Generic | GraphOp)
    }
    return dict(sorted(used.items()))


def upgraded(data: Mapping[str, Any], dialect: Dialect, version: int) -> dict[str, Any]:
    """Return the type and attributes of a node as the current version of its dialect has them.

    Parameters
    ----------
    data : mapping
        The type and the attributes as a version of the dialect had them, and nothing else.

    Examples
    --------
    >>> sig = Dialect("sig", version=2, upgrades={1: lambda node: {"type": "sig.gain", "factor": node["f"]}})
    >>> upgraded({"type": "sig.boost", "f": 2}, sig, 1)
    {'type': 'sig.gain', 'factor': 2}
    """
    check_version(dialect, version)
    now = dict(data)
    for number in range(version, dialect.version):
        try:
            now = dialect.upgrades[number](now)
        except Exception as error:
            raise SerialError(
                f"cannot be upgraded from version {number} of the dialect {dialect.name!r}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not _is_node(now):
            raise SerialError(
                f"the upgrade from version {number} of the dialect {dialect.name!r} gives {now!r:.60}; return the "
                "node's type and attributes as a dictionary"
            )
    return now


def _is_node(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("type"), str)
