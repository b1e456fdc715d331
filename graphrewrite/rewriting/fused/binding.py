"""A fused rule, from its source to a function on the dictionaries of one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.rewriting.fused.computed import Computed, Guards
from graphrewrite.rewriting.fused.editing import EditWriter, node_of, operands_of
from graphrewrite.rewriting.fused.matching import MatchWriter, NotPlainError
from graphrewrite.rewriting.fused.record import bindings
from graphrewrite.rewriting.match import Candidates, Match
from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateNode, TemplateResult
from graphrewrite.runtime.generated_code import compile_function

__all__ = ["Finder", "Fused", "Step", "Surroundings", "find", "fuse"]

_REMEMBERED = 4096
"""So many combinations of types a fused rule tells by their identity."""

Step = Callable[[str], Any]
"""From a node to None, where nothing matches; to what the general path returns; to a record, or True."""


@dataclass(frozen=True)
class Surroundings:
    """The parts of the engine that a fused rule needs.

    Attributes
    ----------
    general : callable
        The general path: tries the rule at a node, and applies it with all that follows.
    later, pending : callable, dict
        Of `graphrewrite.graph.provenance.Provenance`.
    push : callable
        Queues a node, near another one.
    roots : frozenset of str
        Types of new nodes to queue.
    above : callable, optional
        Queues what new readers of a value may have enabled.
    is_awaited : callable
        Whether anything is to be queued above a new node of some type.
    released : callable, optional
        Queues what a value that lost a reader may have enabled.
    mode : {"bare", "journal", "full"}
        As for `graphrewrite.rewriting.fused.editing.EditWriter.write`.
    note : callable, optional
        Takes what a step tells in mode "journal".
    candidates : Candidates
        Nodes at which further roots may be.
    declined : list, optional
        Where refusals of the last node are kept, if somebody wants to know them.
    """

    general: Callable[[str], Any]
    later: Callable[..., None]
    pending: dict[str, Any]
    push: Callable[[str, str], None]
    roots: frozenset[str]
    above: Callable[..., None] | None
    is_awaited: Callable[[str], bool]
    released: Callable[..., None] | None
    mode: str
    note: Callable[[tuple[Any, ...]], None] | None
    candidates: Candidates
    declined: list[Any] | None = None

    def wakes(self, new: TemplateNode | None) -> bool:
        """Tell whether what reads a new node, or an old one that stands in, may have to be queued."""
        return self.above is not None and (new is None or self.is_awaited(new.op.name))


class Finder:
    """The function that finds the matches of a pattern at a node, generated for all graphs.

    Parameters
    ----------
    match : MatchWriter
        Before it has written the match.
    """

    def __init__(self, match: MatchWriter) -> None:
        self.match = match
        self.code = compile_function(match.write(), str(match.pattern))
        self.place = {name: i for i, name in enumerate(match.arguments)}

    def bind(
        self, graph: Graph, candidates: Candidates, replace: Callable[..., Any], general: Callable[[str], Any]
    ) -> Step:
        """Return the function that hands each match at a node of a graph to another, until that returns anything.

        At a node that is unusual it returns what the function for the general path does.
        """
        scope = {
            **_tables(graph),
            "general": general,
            "replace": replace,
            "readers": candidates.of,
            "readers_above": candidates.above,
            **self.match.known,
        }
        exec(self.code, scope)
        step: Step = scope.pop("step")  # without a cycle, which would keep the graph until the next collection
        return step

    def match_of(self, rule: Any, arguments: Sequence[Any]) -> Match:
        """Return a match as that of a rule."""
        names, pattern = self.match.names, self.match.pattern
        images = [arguments[self.place[names[id(term)]]] for term in pattern.terms]
        bound = [arguments[self.place[names[id(variable)]]] for variable in pattern.variables]
        return Match(rule, tuple(images), bindings(pattern, bound))


class Fused:
    """The functions of a rule, generated when they are first needed, for all graphs.

    Parameters
    ----------
    finder : Finder
        Finds matches.
    template : Template, optional
        The replacement; None where the rule's function has to run on each match.
    """

    def __init__(self, finder: Finder, template: Template | None) -> None:
        self.finder, self.match, self.template = finder, finder.match, template
        self.shapes: dict[Any, Template] = {}
        self.guards: Guards | None = None
        self._code: dict[Any, tuple[CodeType, dict[str, Any]]] = {}
        if template is not None:
            self.code(template, "bare")

    def code(self, template: Template, mode: str, *computed: Any) -> tuple[CodeType, dict[str, Any]]:
        """Return the function that replaces a match by a template, and the objects that it names."""
        key = id(template), mode
        if key not in self._code:
            writer = EditWriter(self.match, template, *computed)
            self._code[key] = compile_function(writer.write(mode), str(self.match.pattern)), writer.known
        return self._code[key]

    @property
    def sets_attributes(self) -> bool:
        """Whether new nodes may have attributes."""
        templates = self.shapes.values() if self.template is None else (self.template,)
        return any(new.op.attributes or new.op.any_attributes for template in templates for new in template.nodes)

    def bind(self, rule: Any, graph: Graph, around: Surroundings) -> Step:
        """Return the function that rewrites the first match at a node of a graph."""
        if self.template is not None:
            replacing = self.replacing(self.template, rule, graph, around)
        else:
            replacing = self.computed(rule, graph, around).replace
        return self.finder.bind(graph, around.candidates, replacing, around.general)

    def computed(self, rule: Any, graph: Graph, around: Surroundings) -> Computed:
        """Return the object that runs the rule's function on matches in a graph."""

        def compiler(template: Template, general: Callable[[str], Any], *computed: Any) -> Callable[..., Any]:
            return self.replacing(template, rule, graph, replace(around, general=general), *computed)

        if self.guards is None:
            self.guards = Guards(self.match, rule.definition.function)
        return Computed(
            self.match,
            rule,
            graph,
            leave=around.general,
            shapes=self.shapes,
            guards=self.guards,
            compiler=compiler,
            declined=around.declined,
        )

    def replacing(
        self, template: Template, rule: Any, graph: Graph, around: Surroundings, *computed: Any
    ) -> Callable[..., Any]:
        """Return the function that replaces a match in a graph; ``computed`` are the last arguments of `EditWriter`."""
        source, known = self.code(template, around.mode, *computed)
        types: dict[tuple[int, ...], tuple[Any, ...]] = {}
        scope: dict[str, Any] = {
            "rule": rule,
            "note": around.note,
            **_tables(graph),
            "fresh": graph._fresh,
            "general": around.general,
            "join": _joiner(graph),
            "types": types,
            "typed": _typer(graph, template, types),
            "pending": around.pending,
            "later": around.later,
            "push": around.push,
            "roots": around.roots,
            "above": around.above,
            **{f"wakes{i}": around.wakes(node_of(value)) for i, value in enumerate(template.values)},
            "released": around.released,
            "drops": around.released is not None,
            **known,
        }
        exec(source, scope)
        replacing: Callable[..., Any] = scope.pop("replace")
        return replacing


def find(pattern: Pattern, shared: str, entry: int, *, may_decline: bool = True) -> Finder | None:
    """Return the function that finds matches with one of the roots at a node; None where that is left to the search."""
    try:
        return Finder(MatchWriter(pattern, shared, entry, may_decline=may_decline))
    except NotPlainError:
        return None


def fuse(finder: Finder, template: Template | None) -> Fused | None:
    """Return the functions of a rule; None where its replacement is left to the general path."""
    try:
        return Fused(finder, template)
    except NotPlainError:
        return None


def _tables(graph: Graph) -> dict[str, Any]:
    return {
        "graph": graph,
        "node": graph._node,
        "pred": graph._pred,
        "succ": graph._succ,
        "attributes": graph.attributes,
    }


def _typer(graph: Graph, template: Template, cache: dict[tuple[int, ...], tuple[Any, ...]]) -> Callable[..., Any]:
    """Return what finds the types of new nodes; None where they do not fit, which the general path complains about."""
    read = [v for v in [*operands_of(template), *template.values] if isinstance(v, Hole)]
    positions = list(dict.fromkeys((v.place, v.element) for v in read))

    def typed(kinds: tuple[Any, ...], wanted: tuple[Any, ...], attributes: tuple[Any, ...] | None = None) -> Any:
        if any(kind is None or isinstance(kind, tuple) for kind in (*kinds, *wanted)):
            return None
        at: dict[Any, Any] = dict(zip(positions, kinds, strict=True))

        def type_of(value: Any) -> Any:
            if isinstance(value, Hole):
                return at[value.place, value.element]
            return at[id(value.node)][value.index] if isinstance(value, TemplateResult) else at[id(value)][0]

        new_types = []
        try:
            for i, new in enumerate(template.nodes):
                own = new.attributes if attributes is None else attributes[i]
                types = at[id(new)] = new.op.result_types(tuple(map(type_of, new.operands)), own)
                new_types.append(types[0] if len(types) == 1 else types)
                if any(kind.unknowns for kind in types):  # which may have to get numbers
                    return None
        except GraphRewriteError:
            return None
        if any(type_of(value) != kind for value, kind in zip(template.values, wanted, strict=True)):
            return None
        for new in template.nodes:
            graph.adopt(new.op)
        entry = (*new_types, kinds, wanted)  # which are kept alive, and so are their identities
        if attributes is None:
            if len(cache) >= _REMEMBERED:
                cache.clear()
            cache[(*map(id, kinds), *map(id, wanted))] = entry
        return entry

    return typed


def _joiner(graph: Graph) -> Callable[..., None]:
    """Return what links a new node that reads a value at several slots."""
    succ = graph._succ

    def join(sources: dict[str, Any], name: str, operands: tuple[str, ...], read: tuple[Any, ...]) -> None:
        slots: dict[str, tuple[tuple[int, int], ...]] = {}
        for source, its in zip(operands, read, strict=True):
            slots[source] = (*slots.get(source, ()), *its)
        for source, its in slots.items():
            sources[source] = succ[source][name] = {"slots": its}

    return join
