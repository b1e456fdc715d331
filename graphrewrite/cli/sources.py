"""Models in files of any format, and rules by name."""

from __future__ import annotations

from pathlib import Path

from graphrewrite import Graph, Module, Rule, load
from graphrewrite.errors import UnknownGraphError, did_you_mean
from graphrewrite.hierarchy.blocks import main_graph
from graphrewrite.lowering import TARGETS, ModelError, Target
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.rule_sets import Named, NamingError, attribute_named, named
from graphrewrite.runtime.plugins import plugin
from graphrewrite.types import Stream

__all__ = ["generating_target", "graph_in", "network_in", "rule_named", "rules_named", "target_named"]

_SHOWN = 8
"""Names that an error lists."""


def network_in(path: Path, plugins: tuple[str, ...] = ()) -> Graph:
    """Return the network in the file of a model; of a module its main graph."""
    graph = main_graph(load(path, plugins=plugins))
    if any(isinstance(kind, Stream) for kind in graph.input_types):
        raise ModelError(f"{path.name!r} is hardware already; in Python, graphrewrite.hdl.emit(graph) makes its design")
    return graph


def graph_in(model: Graph | Module, path: Path, name: str | None = None) -> Graph:
    """Return the graph of a model, or the one of its graphs that is named."""
    graphs = dict(model.items()) if isinstance(model, Module) else {model.name: model}
    if name is None and len(graphs) == 1:
        return next(iter(graphs.values()))
    if name in graphs:
        return graphs[name]
    shown = f"{', '.join(map(repr, list(graphs)[:_SHOWN]))}{' …' if len(graphs) > _SHOWN else ''}" or "none"
    if name is None:
        raise UnknownGraphError(f"{path.name!r} is a module of several graphs; choose one by --graph: {shown}")
    raise UnknownGraphError(f"{path.name!r} has no graph {name!r}{did_you_mean(name, graphs)}; its graphs: {shown}")


def rules_named(targets: tuple[str, ...], plugins: tuple[str, ...] = ()) -> list[Named]:
    """Return the rules, passes and pipelines that names denote: of modules, in the current folder too, and plugins."""
    own = {name: (*plugin(name).rules, *plugin(name).lowerings) for name in plugins}
    return named(targets, folder=Path.cwd(), sets=own)


def rule_named(target: str, plugins: tuple[str, ...] = ()) -> Rule | GraphRule:
    """Return the one rule that a name denotes."""
    found = rules_named((target,), plugins)
    rules = [each.subject for each in found if isinstance(each.subject, Rule | GraphRule)]
    if len(found) == 1 and rules:
        return rules[0]
    if not rules:
        raise NamingError(f"{target!r} is no rule; a pass or a pipeline has no pattern that could fail to match")
    names = list(dict.fromkeys(rule.name for rule in rules))
    shown = f"{', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}"
    raise NamingError(f"{target!r} stands for {len(found)} rules; name one of them: {shown}")


def target_named(name: str) -> Target:
    """Return the target that a name denotes: one of the library, or of a module."""
    if name in TARGETS:
        return TARGETS[name]
    if ":" not in name:
        raise NamingError(
            f"there is no target {name!r}{did_you_mean(name, TARGETS)}; there is: {', '.join(TARGETS)}; "
            "write package.module:NAME for yours"
        )
    found = attribute_named(name, folder=Path.cwd())
    if not isinstance(found, Target):
        raise NamingError(f"{name!r} is a {type(found).__name__}, no graphrewrite.lowering.Target")
    return found


def generating_target(name: str) -> Target:
    """Return the target that a name denotes, if code is written for it."""
    target = target_named(name)
    if target.generate is None:
        known = ", ".join(sorted(key for key, each in TARGETS.items() if each.generate is not None))
        raise NamingError(
            f"no code is written for the target {name!r}, which has no `generate`; choose {known}, or "
            "package.module:NAME of one that has"
        )
    return target
