"""Replacements that a rule's function computes: what is the same from match to match is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.op import constant
from graphrewrite.op.levels import BRIDGES, LEVELS
from graphrewrite.rewriting.fused.matching import MatchWriter, NotPlainError
from graphrewrite.rewriting.rule.replacement import NOTHING, Bound, Declined, Known, New, Replay, new_parts
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateNode
from graphrewrite.types import Tensor

__all__ = ["Computed"]

_SHAPES = 32
"""So many shapes of replacements are compiled for a rule; it is left to the general path for others."""

_MISSES = 16
"""After so many matches that were left to the general path in vain, all are if these are most of them."""
_PLAIN = (LEVELS[0].name, *BRIDGES)
_NEVER: Any = object()


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
    compiler : callable
        From a template, which of its nodes have attributes, and the general path to the function that replaces matches.
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
        compiler: Callable[[Template, Sequence[bool], Callable[[str], Any]], Callable[..., Any]],
        declined: list[Any] | None,
    ) -> None:
        self.rule, self.graph, self.leave, self.declined = rule, graph, leave, declined
        self.shapes, self.compiler = shapes, compiler
        self.matches = self.misses = 0
        position = {name: i for i, name in enumerate(match.arguments)}
        pattern = match.pattern
        self.images = _getter([position[match.names[id(term)]] for term in pattern.terms])
        self.values = [
            (position[match.names[id(v)]], kind == "value")
            for v, kind in zip(pattern.variables, pattern.kinds, strict=True)
        ]
        # Names that a replacement may read: of matched nodes, and of values that are bound.
        self.readable = [(position[match.names[id(term)]], i) for i, term in enumerate(pattern.terms)]
        self.readable += [(index, -1 - i) for i, (index, is_value) in enumerate(self.values) if is_value]
        self.is_strict = rule.kind != "transformation" or any(op.dialect for n in pattern.nodes for op in n.ops)
        self.replacing: dict[Any, Any] = {}

    def general(self, node: str) -> Any:
        """Leave a node to the general path, which runs the rule's function again."""
        self.misses += 1
        return self.leave(node)

    def replace(self, *arguments: Any) -> Any:
        """Replace a match; None if it is declined, otherwise as the compiled function, or the general path, returns."""
        node = arguments[0]
        self.matches += 1
        if self.misses > _MISSES and 2 * self.misses > self.matches:
            return self.leave(node)
        graph, rule = self.graph, self.rule
        values = tuple([Operand(arguments[i], 0) if is_value else arguments[i] for i, is_value in self.values])
        replay = Replay(graph, rule.pattern, self.images(arguments), values)
        try:
            returned = rule.run(replay, node)
            if returned.__class__ is Declined:
                if self.declined is not None:
                    self.declined.append(returned)
                return None
            if isinstance(returned, tuple) or returned is NOTHING:
                return self.general(node)
            part = replay.part(returned)
            wanted = graph._node[node].get("result")
            if part.type is not wanted and part.type != wanted:
                return self.general(node)
            new = new_parts((part,))
            compiled = None if replay.effects else self.compiled(part, new, arguments)
        except GraphRewriteError:  # the general path meets it again, and says where
            return self.general(node)
        return self.general(node) if compiled is None else compiled(*arguments, new)

    def compiled(self, part: Any, new: list[Any], arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return the function that replaces matches by results of such a shape; None where the general path does."""
        shape = self.shape(part, new, arguments)
        if shape is None:
            return None
        found: Any = self.replacing.get(shape)
        if found is None:
            found = self.replacing[shape] = self.prepare(shape, new)
        if found is _NEVER:
            return None
        function: Callable[..., Any] = found
        if not self.is_plain(new) and not self.rule.keeps_levels(self.graph, self.images(arguments), new):
            return None
        return function

    def is_plain(self, new: list[Any]) -> bool:
        """Tell whether it takes no look at types to see that new nodes are on the least specific level."""
        if self.is_strict:
            return False
        for made in new:
            op, kind = made.op, made.type
            if (
                op.dialect
                or op.level not in _PLAIN
                or kind.__class__ is not Tensor
                or kind.element.__class__ is not str
            ):
                return False
        return True

    def shape(self, part: Any, new: list[Any], arguments: tuple[Any, ...]) -> Any:
        """Return the shape of a result; None if it is unusual."""
        place = {arguments[index]: i for index, i in self.readable}
        index: dict[int, int] = {}
        shape: list[Any] = []
        for made in new:
            index[id(made)] = len(shape)
            if made.stated is not None:
                return None
            like = made.like
            if like is not None:
                like = place.get(like, -1)
                if like < 0:
                    return None
            if made.__class__ is Known:
                shape.append((None, (), False, like))
                continue
            if len(made.types) != 1:
                return None
            operands: list[Any] = []
            for operand in made.operands:
                if operand.__class__ is New or operand.__class__ is Known:
                    operands.append((index[id(operand)],))
                else:
                    read, result = operand.operand
                    if result or read not in place:
                        return None
                    operands.append(place[read])
            shape.append((made.op, tuple(operands), bool(made.attributes), like))
        if new and part is new[-1]:
            return tuple(shape)
        if not isinstance(part, Bound) or part.operand[1]:
            return None
        return place.get(part.node)

    def prepare(self, shape: Any, new: list[Any]) -> Any:
        """Return the function for a shape, compiled unless another graph has needed it."""
        if shape not in self.shapes:
            if len(self.shapes) >= _SHAPES:
                return _NEVER
            self.shapes[shape] = template_of(shape)
        computed = [has_attributes for _, _, has_attributes, _ in shape] if isinstance(shape, tuple) else []
        try:
            function = self.compiler(self.shapes[shape], computed, self.general)
        except NotPlainError:
            return _NEVER
        for made in new:
            if made.__class__ is New:
                self.graph.adopt(made.op)
        return function


def template_of(shape: Any) -> Template:
    """Return a shape as a template."""
    if not isinstance(shape, tuple):
        return Template((), (Hole(shape),))
    nodes: list[TemplateNode] = []
    for op, operands, _, like in shape:
        read = tuple(nodes[o[0]] if isinstance(o, tuple) else Hole(o) for o in operands)
        nodes.append(TemplateNode(constant if op is None else op, read, {}, {}, like))
    return Template(tuple(nodes), (nodes[-1],))


def _getter(positions: list[int]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that picks some entries, as a tuple."""
    if len(positions) == 1:
        (only,) = positions
        return lambda entries: (entries[only],)
    return itemgetter(*positions)
