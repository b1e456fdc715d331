"""What commands read: models from files of any form, rules by name."""

from __future__ import annotations

from pathlib import Path

from graphrewrite import Graph, Module, Rule
from graphrewrite.errors import UnknownGraphError, did_you_mean
from graphrewrite.graph_rule import GraphRule
from graphrewrite.lowering import ModelError, from_onnx
from graphrewrite.naming import Named, NamingError, named
from graphrewrite.op.op import Op
from graphrewrite.serial import load, read_text

__all__ = ["graph_in", "read_model", "rule_named", "rules_named"]

_TEXT = (".txt", ".graph")
_FORMS = (".onnx", *_TEXT, ".json")
_SHOWN = 8
"""Names that an error lists."""


def read_model(path: Path) -> Graph | Module:
    """Read a model: ONNX, the text form, or JSON, as its file's name says.

    Parameters
    ----------
    path : Path
        Ends in .onnx, in .txt or .graph for the text form, or in .json.

    Returns
    -------
    Graph or Module

    Raises
    ------
    ModelError
        If there is no such file, or its name ends otherwise.
    ParseError, SerialError
        If the file holds no graph.
    """
    ending = path.suffix.lower()
    if ending not in _FORMS:
        raise ModelError(f"{path.name!r} is no model: its name ends in {', '.join(_FORMS[:-1])} or {_FORMS[-1]}")
    if not path.exists():
        near = [p.name for p in path.parent.glob("*") if p.suffix.lower() in _FORMS]
        raise ModelError(f"there is no file {str(path)!r}{did_you_mean(path.name, near)}")
    if ending == ".onnx":
        return from_onnx(path)
    return read_text(path, ops=_ops()) if ending in _TEXT else load(path, ops=_ops())


def graph_in(model: Graph | Module, path: Path, name: str | None = None) -> Graph:
    """Return the graph of a model, or the one of its graphs that is named.

    Parameters
    ----------
    model : Graph or Module
        What `read_model` gave.
    path : Path
        Where it was read.
    name : str, optional
        Of the graph, where the model is a module of several.

    Returns
    -------
    Graph

    Raises
    ------
    UnknownGraphError
        If a module has several graphs and none is named, or none of that name.
    """
    graphs = dict(model.items()) if isinstance(model, Module) else {model.name: model}
    if name is None and len(graphs) == 1:
        return next(iter(graphs.values()))
    if name in graphs:
        return graphs[name]
    shown = f"{', '.join(map(repr, list(graphs)[:_SHOWN]))}{' …' if len(graphs) > _SHOWN else ''}" or "none"
    if name is None:
        raise UnknownGraphError(f"{path.name!r} is a module of several graphs; choose one by --graph: {shown}")
    raise UnknownGraphError(f"{path.name!r} has no graph {name!r}{did_you_mean(name, graphs)}; its graphs: {shown}")


def rules_named(targets: tuple[str, ...]) -> list[Named]:
    """Return the rules, passes and pipelines that some names stand for, looked for in the current folder as well.

    Parameters
    ----------
    targets : tuple of str
        As for `graphrewrite.naming.named`.

    Returns
    -------
    list of Named

    Raises
    ------
    NamingError
        If a name leads to nothing of this kind.
    """
    return named(targets, folder=Path.cwd())


def rule_named(target: str) -> Rule | GraphRule:
    """Return the one rule that a name stands for.

    Parameters
    ----------
    target : str
        ``package.module:rule``.

    Returns
    -------
    Rule or GraphRule

    Raises
    ------
    NamingError
        If it stands for several, or for something else than a rule.
    """
    found = rules_named((target,))
    rules = [each.subject for each in found if isinstance(each.subject, Rule | GraphRule)]
    if len(found) == 1 and rules:
        return rules[0]
    if not rules:
        raise NamingError(f"{target!r} is no rule; a pass or a pipeline has no pattern that could fail to match")
    names = list(dict.fromkeys(rule.name for rule in rules))
    shown = f"{', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}"
    raise NamingError(f"{target!r} stands for {len(found)} rules; name one of them: {shown}")


def _ops() -> tuple[Op, ...]:
    """What files may hold beside the library's ops: those of hardware, and those between levels."""
    from graphrewrite.hdl import COMPONENTS
    from graphrewrite.lowering.bridge import enter, leave

    return (*(component.op for component in COMPONENTS), enter, leave)
