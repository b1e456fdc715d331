"""A strategy of well-typed graphs, with an instance of a pattern where asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from random import Random

from hypothesis import strategies as st

from graphrewrite.graph import Graph, Value
from graphrewrite.lowering import lower_to_memory
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.generation.beside_values import annotate, annotate_all, order
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.exploring import Telling, explored, explored_together
from graphrewrite.testing.generation.instance import NoInstanceError, feasible_kinds, plan_instance
from graphrewrite.testing.generation.kinds import SIZES
from graphrewrite.testing.generation.palette import few_ops, usual_ops
from graphrewrite.testing.generation.programs import COMPUTING, MOVING, program
from graphrewrite.testing.generation.relating import relate
from graphrewrite.testing.generation.richness import plainness
from graphrewrite.testing.generation.steering import mentioned_by, near, steer
from graphrewrite.testing.generation.tables import CONTINUOUS, DEFAULT_OPS
from graphrewrite.testing.mentioning import Mentioned
from graphrewrite.testing.strategies.picking import Choices, by_choices, made_by_choices
from graphrewrite.testing.strategies.sending import made_by_call
from graphrewrite.testing.strategies.shown import as_code
from graphrewrite.types import Dimension, Element

__all__ = ["GraphsOfRules", "graphs", "graphs_about", "programs"]


@made_by_call
def graphs(
    *,
    ops: Iterable[Op | str] | None = None,
    containing: Rule | Pattern | None = None,
    every_type: bool = False,
    open_sizes: bool = False,
) -> st.SearchStrategy[Graph]:
    """Return a strategy of well-typed graphs.

    They have several inputs and outputs, shared values, repeated operands, constants, dead and independent nodes.
    Shrinks to few nodes of the first op, sizes of 1, and constants of ones. Hypothesis prints them as code.

    Parameters
    ----------
    ops : iterable of Op or str, optional
        What their nodes may be; the ops of float networks where not given. With ``"constant"`` there are more of these,
        of which many are equal but for a sign of zero or the shape.
    containing : Rule or Pattern, optional
        Every graph has an instance of this pattern, in one of the ways in which it can be read: each op and each option
        in turn, optional operands there or not, none to three values for ``*xs``, chains and groups of several sizes.
        Sometimes inner nodes have readers outside of it; of a rule that refuses those, never in all instances.
    every_type : bool
        Whether values may be of any element type that the ops take, and in any layout. Else they are of the types that
        most graphs hold: float 32 and 64, integers of 8, 32 and 64 bits, fixed point, and, where the ops ask for them,
        bool and quantised numbers.
    open_sizes : bool
        Whether any size of an input may be symbolic, an expression of several names as well; else that of the batch.
        Not for graphs that contain a pattern.

    Raises
    ------
    NoInstanceError
        If no such graph was found, with what hinders it.

    Examples
    --------
    >>> from hypothesis import find
    >>> graph = find(graphs(ops=["add"]), lambda g: any(len(set(g.operands(n))) < len(g.operands(n)) for n in g))
    >>> graph.operands("add_1")
    (Operand(node='x', result=0), Operand(node='x', result=0))
    """
    chosen = tuple(LIBRARY[o] if isinstance(o, str) else o for o in (DEFAULT_OPS if ops is None else ops))
    if containing is None:
        make = _of_all if ops is None else partial(_plain, chosen)
        return _strategy(partial(make, every_type=every_type, open_sizes=open_sizes))
    around = [o for o in chosen if ops is not None or o.name in CONTINUOUS]
    site = _Surroundings(containing, around, every_type=every_type)
    return _strategy(partial(_around, (site,), every_type=every_type))


def graphs_about(
    named: Sequence[Op], chief: Sequence[Op], keys: Sequence[str] = (), elements: Sequence[Element] = ()
) -> st.SearchStrategy[Graph]:
    """Return a strategy of graphs for code that looks at whole graphs: its ops, often in a relation to each other.

    Parameters
    ----------
    named : sequence of Op
        Ops that the code mentions: half of the nodes are of these, or all.
    chief : sequence of Op
        Those that it is about.
    keys : sequence of str
        Annotations that it reads.
    elements : sequence of Element
        Element types that it mentions.
    """
    usual = [LIBRARY[name] for name in DEFAULT_OPS]
    found: list[Op] = []
    for those in (named, chief):
        found += [*those] * max(1, len(found) // len(those)) if those else []
    whole = [*usual, *found * -(-len(usual) // len(found))] if found else usual
    reading = [op for op in found if op.operands]
    related = [op for op in chief or named if op.operands]
    narrow = found if reading else whole
    return _strategy(partial(_about, tuple(whole), tuple(narrow), tuple(related), tuple(keys), tuple(elements)))


def programs() -> st.SearchStrategy[Graph]:
    """Return a strategy of programs over memory: what graphs are lowered to, and others that use few regions."""
    return _strategy(_program)


class GraphsOfRules:
    """Graphs on which several of some rules may fire; what all of them do is explored together.

    Parameters
    ----------
    rules : iterable of Rule
        Of which there may be no graphs.

    Examples
    --------
    >>> from hypothesis import find
    >>> from graphrewrite.rules import drop_abs, drop_identity
    >>> of_rules = GraphsOfRules([drop_abs, drop_identity])
    >>> both = {"abs", "identity"}
    >>> graph = find(of_rules.containing(of_rules.rules), lambda g: both <= {g.nodes[n]["type"] for n in g})
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        around = [LIBRARY[name] for name in DEFAULT_OPS if name in CONTINUOUS]
        self._sites: dict[Rule, _Surroundings] = {}
        for rule in rules:
            with suppress(NoInstanceError):
                self._sites[rule] = _Surroundings(rule, around, told=partial(self._told, rule))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those that have instances."""
        return tuple(self._sites)

    def containing(self, rules: Iterable[Rule]) -> st.SearchStrategy[Graph]:
        """Return a strategy of graphs with instances of some of the rules."""
        return _strategy(partial(_around, tuple(self._sites[rule] for rule in rules), every_type=False))

    @cached_property
    def _found(self) -> dict[Rule, Telling]:
        return dict(zip(self.rules, explored_together(self.rules), strict=True))

    def _told(self, rule: Rule) -> Telling:
        return self._found[rule]


def _nothing() -> Telling:
    return Telling((), seldom=False)


class _Surroundings:
    """What is put around the instances of a pattern.

    Parameters
    ----------
    told : callable, optional
        Gives what was found of the rule, when it is first asked for; by default it is explored alone.
    """

    def __init__(
        self,
        containing: Rule | Pattern,
        ops: Sequence[Op],
        *,
        every_type: bool = False,
        told: Callable[[], Telling] | None = None,
    ) -> None:
        pattern = containing.pattern if isinstance(containing, Rule) else containing
        if not isinstance(pattern, Pattern):
            raise NoInstanceError(f"{containing!r} has no pattern of ops; pass a strategy of your own, on=...")
        feasible_kinds(pattern)  # says at once if there is no instance
        self.pattern, self.every_type = pattern, every_type
        self.rule = containing if isinstance(containing, Rule) else None
        alone = _nothing if self.rule is None else partial(explored, self.rule, every_type=every_type)
        self.told = told or alone
        self.mentioned = mentioned_by(containing) if isinstance(containing, Rule) else Mentioned()
        # What must not be there is not put there.
        unwanted = [node.kinds for node in pattern.forbidden]
        self.ops = [op for op in ops if all(kinds and op.name not in kinds for kinds in unwanted)]
        # A rule that refuses nodes with readers outside of the match still finds one instance without.
        self.spoils_first = not isinstance(containing, Rule) or containing.shared != "refuse"

    def instance(self, builder: Builder, *, spoiled: bool) -> list[Value]:
        """Add an instance: of a rule that seldom fires mostly one near to those where it does.

        Of any other rule it often is one of several, in which least does nothing.
        """
        found = self.told()
        if bool(found.plans) and builder.pick((True, True, found.seldom, False)):
            plan = near(
                builder.pick(found.plans),
                builder.pick,
                moderate=self.mentioned.moderate,
                every_type=self.every_type,
                of_floats=not self.mentioned.elements,
            )
        else:
            drawn = builder.pick((1, 2, 3))
            made = [plan_instance(self.pattern, builder.pick, every_type=self.every_type) for _ in range(drawn)]
            plan = min(made, key=plainness)
        if self.rule is not None and builder.chance(3):
            plan = steer(plan, builder.pick, self.mentioned)
        return builder.build(plan, spoiled=spoiled)

    def __repr__(self) -> str:
        return f"containing {self.pattern}"


_MOST = 14
_RECORD = 48
_ENDS = 16
_DRAWN = _ENDS + _MOST * _RECORD
"""All choices of a graph: those of its outputs, and a record for each node. A record that begins with a small number is
no node, so that zeros are nodes less."""
_CHOSEN = 3 * _ENDS
"""Bytes for what a graph is made of, and what it has beside that."""
_ONE_IN_6, _ONE_IN_12 = (*[False] * 5, True), (*[False] * 11, True)
_RELATED = (False, True)
_EVEN = (2, 4, 6)
"""Sizes of which half can be taken."""
_ABSENT = 128
_INSTANCES, _OF_SEVERAL = (1, 2, 1, 2), (2, 3, 4, 3)
"""Of a pattern in a graph, and of those of several rules: two cost much less than two graphs."""
_BATCHES: tuple[Dimension, ...] = ("N", "N", "N", 2, 1, 3)


def _strategy(make: Callable[[Choices], Graph]) -> st.SearchStrategy[Graph]:
    return made_by_choices(as_code(by_choices(make)), make)


def _plain(ops: tuple[Op, ...], pick: Choices, *, every_type: bool, open_sizes: bool) -> Graph:
    drawn = pick.draw(_DRAWN)
    pick.begin(drawn[:1])
    builder = Builder(pick, ops, pick(_BATCHES), every_type=every_type, open_sizes=open_sizes)
    return _built(builder, pick, drawn)


def _of_all(pick: Choices, *, every_type: bool, open_sizes: bool) -> Graph:
    """Graphs of the usual ops, and as many with some of all ops; a few of either have what most graphs have not."""
    whole = pick.draw(_CHOSEN + _DRAWN)
    chosen, drawn = whole[:_CHOSEN], whole[_CHOSEN:]
    pick.begin(chosen[:_ENDS])
    is_usual = pick((True, False))
    ops = usual_ops() if is_usual else few_ops(pick)
    builder = Builder(
        pick,
        ops,
        pick(_BATCHES),
        every_type=every_type or (not is_usual and pick(_ONE_IN_6)),
        open_sizes=open_sizes,
        sparingly=True,
        sizes=(1, 2, 0) if pick(_ONE_IN_12) else SIZES,
    )
    graph = _built(builder, pick, drawn, nests=pick(_ONE_IN_12))
    pick.begin(chosen[_ENDS:])
    for change in (annotate, order):
        if pick(_ONE_IN_12):
            change(graph, pick)
    return graph


def _about(
    ops: tuple[Op, ...],
    narrow: tuple[Op, ...],
    related: tuple[Op, ...],
    keys: tuple[str, ...],
    elements: tuple[Element, ...],
    pick: Choices,
) -> Graph:
    """Graphs of the usual ops and those of some code, or of those alone, often in a relation to each other."""
    drawn = pick.draw(_CHOSEN + _DRAWN)
    chosen, drawn = drawn[:_CHOSEN], drawn[_CHOSEN:]
    pick.begin(chosen[:_ENDS])
    chosen_ops = pick((ops, narrow))
    builder = Builder(pick, chosen_ops, pick(_BATCHES), sparingly=pick((False, True)), sizes=pick((SIZES, _EVEN)))
    graph = _built(builder, pick, drawn, related=related, elements=elements)
    pick.begin(chosen[_ENDS:])
    annotate_all(graph, keys, Choices(Random(pick(range(256))).randbytes))
    return graph


def _program(pick: Choices) -> Graph:
    if pick((True, False)):
        return program(pick)
    graph = _plain(_OF_PROGRAMS, pick, every_type=False, open_sizes=False)
    return lower_to_memory(graph)


_OF_PROGRAMS = tuple(LIBRARY[name] for name in (*MOVING, *COMPUTING))


def _built(
    builder: Builder,
    pick: Choices,
    drawn: bytes,
    *,
    nests: bool = False,
    related: Sequence[Op] = (),
    elements: Sequence[Element] = (),
) -> Graph:
    """A graph with a node for each record that says so, and perhaps one with a graph inside, or with related nodes."""
    for start in range(_ENDS, len(drawn), _RECORD):
        if drawn[start] >= _ABSENT:
            pick.begin(drawn[start + 1 : start + _RECORD])
            if bool(related) and pick(_RELATED):
                relate(builder, related, elements)
            else:
                builder.nest() if nests else builder.step()
            nests = False
    pick.begin(drawn[1:_ENDS])
    return builder.finish([])


def _around(sites: tuple[_Surroundings, ...], pick: Choices, *, every_type: bool) -> Graph:
    site = pick(sites)
    builder = Builder(pick, site.ops, every_type=every_type, known=site.mentioned.limits)
    if site.ops:
        for _ in range(pick(range(3))):
            builder.step()
    wanted = []
    there: set[_Surroundings] = set()
    for _ in range(pick(_INSTANCES if len(sites) == 1 else _OF_SEVERAL)):
        for root in site.instance(builder, spoiled=site.spoils_first or site in there):
            builder.offer(root)
            wanted.append(builder.read(root) if pick((False, True)) else root)
            if pick((False, False, True)):
                wanted.append(builder.read(root))
        there.add(site)
        site = pick(sites)
    return builder.finish(wanted)
