"""Replacements that a rule's function computes: what is the same from match to match is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.op import constant
from graphrewrite.op.levels import BRIDGES, LEVELS
from graphrewrite.rewriting.fused.matching import MatchWriter, NotPlainError
from graphrewrite.rewriting.pattern import Pattern, PatternNode
from graphrewrite.rewriting.rule.guard import guard_of
from graphrewrite.rewriting.rule.outcome import NOTHING, Declined
from graphrewrite.rewriting.rule.replacement import Bound, Known, New, Replay, new_parts
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateNode, TemplateResult
from graphrewrite.types import Tensor

__all__ = ["Computed", "Guards"]

_SHAPES = 32
"""So many shapes of replacements are compiled for a rule; it is left to the general path for others."""

_MISSES = 16
"""After so many matches that were left to the general path in vain, all are if these are most of them."""
_REFUSALS = 128
"""After so many matches that a rule has declined, in whatever graphs, its guard is made."""
_PLAIN = (LEVELS[0].name, *BRIDGES)


class Computed:
    """Runs a rule's function on each match in a graph, and replaces it by a function compiled for such results.

    The *shape* of a result is all of it but attributes, constants and types: ops, and which operand is what. All that
    is unusual is left to the general path, which runs the function again.

    Parameters
    ----------
    match : MatchWriter
        After it has written the match.
    leave : callable
        The general path.
    shapes : dict
        Shapes that have come up, in any graph.
    guards : Guards
        Of the rule, for any graph.
    compiler : callable
        From a template, the general path, which new nodes have attributes, and the lengths of loose arguments, to the
        function that replaces matches.
    declined : list, optional
        Where refusals are kept.
    """

    def __init__(
        self,
        match: MatchWriter,
        rule: Any,
        graph: Graph,
        *,
        leave: Callable[[str], Any],
        shapes: dict[Any, Template],
        guards: Guards,
        compiler: Callable[..., Callable[..., Any]],
        declined: list[Any] | None,
    ) -> None:
        self.rule, self.graph, self.declined = rule, graph, declined
        self.shapes, self.guards, self.compiler = shapes, guards, compiler
        self.matches = 0
        self.general = _Leaving(leave)
        pattern = self.pattern = match.pattern
        position = {name: i for i, name in enumerate(match.arguments)}
        self.images = _getter([position[match.names[id(term)]] for term in pattern.terms])
        self.values = [
            (position[match.names[id(v)]], kind != "attribute", -1 - i)
            for i, (v, kind) in enumerate(zip(pattern.variables, pattern.kinds, strict=True))
        ]
        self.roots = [position[match.names[id(top)]] for top in match.tops]
        self.loose = [position[name] for name in match.loose]
        self.replay = _LooseReplay if self.loose else _Replay
        self.asking = self.replay(graph, pattern, (), (), self.values)
        self.asking.below = True
        self.guard = guards.made if declined is None else None
        self.is_strict = rule.kind != "transformation" or any(op.dialect for n in pattern.nodes for op in n.ops)
        self.replacing: dict[Any, Any] = {}

    def replace(self, *arguments: Any) -> Any:
        """Replace a match; None if it is declined, otherwise as the compiled function, or the general path, returns."""
        node = arguments[0]
        self.matches += 1
        if self.general.misses > _MISSES and 2 * self.general.misses > self.matches:
            return self.general.leave(node)
        if self.guard is not None and self.guard(self.asking, arguments):
            return None
        graph = self.graph
        replay = self.replay(graph, self.pattern, self.images(arguments), arguments, self.values)
        try:
            returned = self.rule.run(replay, node)
            kind = returned.__class__
            if kind is Declined:
                if self.declined is not None:
                    self.declined.append(returned)
                elif self.guard is None:
                    self.guard = self.guards.after_refusal()
                return None
            values = returned if isinstance(returned, tuple) else (returned,)
            is_aligned = len(values) == len(self.roots) and (len(values) > 1 or values is not returned)
            if not is_aligned or any(value is NOTHING for value in values):
                return self.general(node)
            parts = [value if value.__class__ is New else replay.part(value) for value in values]
            for part, index in zip(parts, self.roots, strict=True):
                wanted = graph._node[arguments[index]].get("result")
                if part.type is not wanted and part.type != wanted:
                    return self.general(node)
            new = new_parts(parts)
            shape = None if replay.effects else shape_of(parts, new, replay)
            if shape is None:
                return self.general(node)
            if self.loose:
                shape = *shape, tuple([_length(arguments[i]) for i in self.loose])
            function, is_plain = self.replacing.get(shape) or self.prepare(shape, new)
            if function is None or not (
                (is_plain and are_plain(new)) or self.rule.keeps_levels(graph, replay.images, new)
            ):
                return self.general(node)
        except GraphRewriteError:  # the general path meets it again, and says where
            return self.general(node)
        return function(*arguments, new)

    def prepare(self, shape: Any, new: list[Any]) -> tuple[Callable[..., Any] | None, bool]:
        """Return the function for a shape, compiled unless another graph has needed it; None for the general path.

        With it goes whether the ops of the new nodes are on the least specific level, where their types are.
        """
        function = None
        if shape in self.shapes or len(self.shapes) < _SHAPES:
            template = self.shapes.setdefault(shape, template_of(shape))
            made, _, *lengths = shape
            computed = [has_attributes for _, _, has_attributes, _ in made]
            with suppress(NotPlainError):
                function = self.compiler(template, self.general, computed, *lengths)
                for part in new:
                    if part.__class__ is New:
                        self.graph.adopt(part.op)
        is_plain = not self.is_strict and all(not made.op.dialect and made.op.level in _PLAIN for made in new)
        self.replacing[shape] = function, is_plain
        return self.replacing[shape]  # type: ignore[no-any-return]


class Guards:
    """Makes the guard of a rule, which declines most matches, once the rule has declined so many that this pays.

    Attributes
    ----------
    made : callable, optional
        Of a run and the arguments of a match, tells whether the rule certainly declines it.
    """

    made: Callable[[Replay, Any], bool] | None = None

    def __init__(self, match: MatchWriter, function: Callable[..., Any]) -> None:
        self.match, self.function = match, function
        self.refusals = 0

    def after_refusal(self) -> Callable[[Replay, Any], bool] | None:
        """Return the guard, if it is time for it and there is one."""
        self.refusals += 1
        if self.refusals == _REFUSALS:
            self.made = self._make()
        return self.made

    def _make(self) -> Callable[[Replay, Any], bool] | None:
        match, pattern = self.match, self.match.pattern
        place = {name: i for i, name in enumerate(match.arguments)}
        kinds = zip(pattern.variables, pattern.kinds, strict=True)
        values = {v.name: (match.names[id(v)], kind != "attribute", -1 - i) for i, (v, kind) in enumerate(kinds)}
        terms = {
            term.name: (match.names[id(term)], True, i)
            for i, term in enumerate(pattern.terms)
            if isinstance(term, PatternNode) and term.name is not None and i not in pattern.unpacked
        }
        usable = [{k: v for k, v in known.items() if v[0] not in match.loose} for known in (values, terms)]
        found = guard_of(self.function, *usable)
        if found is None:
            return None
        names, guard = found
        known = usable[0] | usable[1]
        asked = [(place[known[name][0]], *known[name][1:]) for name in names]

        def declines(replay: Replay, arguments: Any) -> bool:
            try:
                return guard(
                    *[Bound(replay, arguments[i], 0, at) if is_value else arguments[i] for i, is_value, at in asked]
                )
            except Exception:  # the rule's function meets it again, and says where
                return False

        return declines


class _Leaving:
    """Leaves a node to the general path, which runs the rule's function again, and counts how often.

    Compiled functions have it, and no way back to what has them.
    """

    def __init__(self, leave: Callable[[str], Any]) -> None:
        self.leave, self.misses = leave, 0

    def __call__(self, node: str) -> Any:
        self.misses += 1
        return self.leave(node)


class _Replay(Replay):
    """A run on a match whose arguments are the first results of nodes, by name, and attributes."""

    def __init__(self, graph: Graph, pattern: Pattern, images: Any, match: Any, values: Any) -> None:
        super().__init__(graph, pattern, images, values)
        self.match = match

    def arguments(self) -> list[Any]:
        match = self.match
        return [Bound(self, match[i], 0, place) if is_value else match[i] for i, is_value, place in self.values]

    @cached_property
    def places(self) -> dict[str, Any]:
        """The nodes of the match and what variables bind, to their places in the pattern.

        A rule may have read an operand off the graph, which then does not know its place.
        """
        found: dict[str, Any] = {}
        for argument in self.arguments():
            for each in argument if isinstance(argument, tuple) else (argument,):
                if each.__class__ is Bound:
                    found[each.node] = each._place
        return found | {image: place for place, image in enumerate(self.images) if image.__class__ is str}


class _LooseReplay(_Replay):
    """A run on a match some of whose arguments are missing, or several."""

    def arguments(self) -> list[Any]:
        found: list[Any] = []
        for index, is_value, place in self.values:
            value = self.match[index]
            if not is_value or value is None:
                found.append(value)
            elif isinstance(value, tuple):
                found.append(tuple([Bound(self, each, 0, (place, i)) for i, each in enumerate(value)]))
            else:
                found.append(Bound(self, value, 0, place))
        return found


def _length(value: Any) -> int | None:
    """Return how many values a loose argument stands for."""
    return None if value is None else len(value) if isinstance(value, tuple) else 1


def are_plain(new: list[Any]) -> bool:
    """Tell whether it takes no look at the types of new nodes to see that they are on the level of their ops."""
    for made in new:
        for kind in (made.type,) if made.__class__ is Known else made.types:
            if kind.__class__ is not Tensor or kind.element.__class__ is not str:
                return False
    return True


def shape_of(parts: list[Any], new: list[Any], replay: _Replay) -> Any:
    """Return the shape of results: that of the new nodes, and what takes the place of each root; None if unusual.

    A new value is the index of its node and that of the result, an old one the place of its term; of several values
    that a variable binds, the place of that, and which of them.
    """
    shape: list[Any] = []
    index: dict[int, int] = {}
    for made in new:
        index[id(made)] = len(shape)
        like = made.like
        if made.stated is not None or made.replay is not replay:
            return None
        if like is not None:
            like = like._place if like.replay is replay else None
            if like.__class__ is not int or like < 0:
                return None
        if made.__class__ is Known:
            shape.append((None, (), False, like))
            continue
        operands = [_read(operand, index, replay) for operand in made.operands]
        if None in operands:
            return None
        shape.append((made.op, tuple(operands), bool(made.attributes), like))
    values = [_read(part, index, replay) for part in parts]
    return None if None in values else (tuple(shape), tuple(values))


def _read(part: Any, index: dict[int, int], replay: _Replay) -> Any:
    """Return where a value comes from."""
    if part.__class__ is Bound:
        if part.result or part.replay is not replay:
            return None
        return replay.places.get(part.node) if part._place is None else part._place
    if part.__class__ is New:
        return index[id(part.first)], part.result
    return (index[id(part)], 0) if part.__class__ is Known else None


def template_of(shape: Any) -> Template:
    """Return a shape as a template."""
    made, values, *_ = shape
    nodes: list[TemplateNode] = []

    def value_of(read: Any) -> Any:
        if not isinstance(read, tuple):
            return Hole(read)
        node, result = read
        if node < 0:
            return Hole(node, result)
        return TemplateResult(nodes[node], result) if result else nodes[node]

    for op, operands, _, like in made:
        nodes.append(TemplateNode(constant if op is None else op, tuple(map(value_of, operands)), {}, {}, like))
    return Template(tuple(nodes), tuple(map(value_of, values)))


def _getter(positions: list[int]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that picks some entries, as a tuple."""
    if len(positions) == 1:
        (only,) = positions
        return lambda entries: (entries[only],)
    return itemgetter(*positions)
