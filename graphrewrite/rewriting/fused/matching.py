"""The first half of a fused rule: Python source that finds the first match of a conjunctive pattern at a node.

It reads the dictionaries of the graph as they almost always are: edges with slots only, every operand the first
result of its node, every inner node read by its parents in the pattern alone. At anything else it says
``return general(n0)``, and the general path handles that node: unusual cases are slow, never wrong.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import one_slot
from graphrewrite.rewriting.fused.source import Source
from graphrewrite.rewriting.match.results import MatchedValue
from graphrewrite.rewriting.pattern import (
    Application,
    Literal,
    Pattern,
    PatternNode,
    Rest,
    Variable,
    Where,
    identical,
    same,
    top_of,
    walk,
)

__all__ = ["MatchWriter", "NotPlainError"]

_MOST_LOOPS = 12
"""Python nests twenty blocks; a pattern with more commutative nodes is left to the general path."""
_MOST_NODES = 200
_IN_ORDER = [{"slots": one_slot(index)} for index in range(4)]
"""The data of edges from the operands of most nodes."""


class NotPlainError(Exception):
    """The rule is left to the general path."""


class MatchWriter(Source):
    """Writes the source of a function that matches a pattern with one of its roots at ``n0``.

    Parameters
    ----------
    pattern : Pattern
        A plain one (`graphrewrite.rewriting.rule.template.is_conjunctive`); its roots have values in common.
    shared : {"refuse", "keep"}
        Whether an inner node may have other readers.
    entry : int
        Which root.
    may_decline : bool
        Whether a match may be declined, and the next one is to be found.

    Attributes
    ----------
    sources : dict
        Name of a matched node to the names of its operands.
    arguments : list of str
        The names of all that a match consists of, that root first.
    loose : dict
        The names of those that may be None, for an operand that is missing, or stand for a tuple of names.
    """

    failing = "return None"

    def __init__(self, pattern: Pattern, shared: str, entry: int, *, may_decline: bool) -> None:
        super().__init__(pattern)
        self.shared, self.entry, self.may_decline = shared, entry, may_decline
        self.known.update(in_order=in_order, same=same, identical=identical, any_same=any_same)
        self.known.update(MatchedValue=MatchedValue, application=application)
        self.tops = [top_of(root) for root in pattern.roots]
        self.order = [self.tops[entry], *(top for i, top in enumerate(self.tops) if i != entry)]
        self.sources: dict[str, list[str]] = {}
        self.count = 0
        self.matched: list[PatternNode] = []
        self.asked: dict[tuple[int, str], str] = {}  # attributes with a predicate
        self.loose: dict[str, None] = {}
        uses = Counter(id(term) for node in pattern.nodes for term in node.operands)
        self.repeated = {key for key, count in uses.items() if count > 1}
        self._check()

    def _check(self) -> None:
        loops = sum(len(n.loose) > 1 or any(op.commutative for op in n.ops) for n in self.pattern.nodes)
        if loops + len(self.tops) > _MOST_LOOPS or len(self.pattern.nodes) > _MOST_NODES:
            raise NotPlainError
        for node in self.pattern.nodes:
            if len(node.loose) > 2 or (len(node.loose) == 2 and node.loose[1] != node.loose[0] + 2):
                raise NotPlainError  # two are around one operand
            # Of a commutative op, only all operands together are loose: in the order in which they stand.
            is_loose = bool(node.loose or node.optional or any(op.variadic for op in node.ops))
            if is_loose and len(node.loose) < len(node.operands) and any(op.commutative for op in node.ops):
                raise NotPlainError
            # Two operands that are bound to nothing: both orders are one match, which the search tells only once.
            if any(op.commutative for op in node.ops) and all(
                isinstance(t, Literal | Where) for t in node.operands[:2]
            ):
                raise NotPlainError

    # ------------------------------------------------------------------ writing

    def new(self, stem: str) -> str:
        """Return a name that is not used yet."""
        self.count += 1
        return f"{stem}{self.count}"

    def edge(self, index: int) -> str:
        """Return the name of the data of an edge that is one operand and nothing else, such as a predicate."""
        self.known[f"E{index}"] = {"slots": one_slot(index)}
        return f"E{index}"

    # ------------------------------------------------------------------ the pattern

    def write(self) -> str:
        """Return the source: a function that hands each match to ``replace``, until that tells what became of it."""
        first, *others = self.order
        self.names[id(first)] = "n0"
        self.matched.append(first)
        self.node(first, "n0")
        for top in others:
            self.next_root(top)
        found = ["n0", *(self.names[id(t)] for t in self.pattern.terms)]
        found += [name for sources in self.sources.values() for name in sources]
        found += [self.names[id(v)] for v in self.pattern.variables]  # the values of attributes are bound as well
        self.arguments = list(dict.fromkeys(found))
        self.separate_roots()
        self.conditions()
        found_by = f"replace({', '.join(self.arguments)})"
        if self.depth == 1:
            self.line(f"return {found_by}")
        else:
            self.line(f"outcome = {found_by}")
            self.line("if outcome is not None: return outcome")
        return "\n".join(["def step(n0):", *self.lines])

    def next_root(self, top: PatternNode) -> None:
        """Write where another root may be: above what is matched already."""
        if id(top) in self.names:
            return
        # As the search does: breadth-first down to the nearest term that is bound, from there up, by name.
        distance, below = 1, list(top.operands)
        while (bound := next(filter(self.is_bound, below), None)) is None:
            distance, below = distance + 1, [t for n in below if isinstance(n, PatternNode) for t in n.operands]
            if not below:
                raise NotPlainError  # it may be anywhere
        value, name, kinds = self.names[id(bound)], self.new("r"), self.let(top.kinds)
        found = f"readers({value}, {kinds})" if distance == 1 else f"readers_above({value}, {distance}, {kinds})"
        self.line(f"for {name} in {found}:")
        self.depth += 1
        self.meet(top, name)
        self.node(top, name)

    def is_bound(self, term: Any) -> bool:
        """Tell whether a term is bound to one value by now, whatever the match."""
        return id(term) in self.names and self.names[id(term)] not in self.loose

    def separate_roots(self) -> None:
        """Write that what a root reads is no other root, unless the pattern says so."""
        for top in self.tops if len(self.tops) > 1 else ():
            own = set(map(id, walk(top)))
            for node in (n for n in self.matched if id(n) not in own):
                for term, source in zip(node.operands, self.sources[self.names[id(node)]], strict=True):
                    if isinstance(term, Rest) and id(term.variable) not in own:
                        self.line(f"if {self.names[id(top)]} in {source}: return general(n0)")
                    elif not isinstance(term, PatternNode | Literal | Rest) and id(term) not in own:
                        self.line(f"if {source} == {self.names[id(top)]}: return general(n0)")

    def node(self, term: PatternNode, name: str) -> None:
        """Write what must hold of a node, and of all below it."""
        self.attributes(term, name)
        is_loose = term.loose or term.optional
        sources = self.decode_loose(term, name) if is_loose else self.decode(term, name)
        self.sources[name] = sources
        if self.is_loop(term, len(sources)):
            a, b = sources[:2]
            is_free = f"{a} != {b}"
            if not all(op.commutative for op in term.ops):
                commutative = self.let(frozenset(op.name for op in term.ops if op.commutative))
                is_free += f" and node[{name}]['type'] in {commutative}"
            self.line(f"for {a}, {b} in (({a}, {b}), ({b}, {a})) if {is_free} else (({a}, {b}),):")
            self.depth += 1
        pairs = list(zip(term.operands, sources, strict=True))
        # Types first: they are cheap to compare, and most attempts end here.
        below = [(t, s) for t, s in pairs if isinstance(t, PatternNode) and self.is_new(t, s)]
        for t, s in pairs:
            if isinstance(t, Variable):
                self.bind(t, s)
            elif isinstance(t, Rest):
                self.bind_all(t.variable, s)
            elif isinstance(t, Literal):
                data = self.new("d")
                self.line(f"{data} = node[{s}]")
                self.line(
                    f"if {data}.get('type') != 'constant' or not {self.let(t.admits)}({data}['value']): {self.stop}"
                )
        for t, s in below:
            self.node(t, s)

    def is_loop(self, term: PatternNode, count: int) -> bool:
        """Tell whether the order of the first two operands can make a difference to whether a match is found."""
        if count < 2 or not any(op.commutative for op in term.ops):
            return False
        if self.may_decline:
            return True
        return not all(
            isinstance(t, Variable) and not t.constant and t.condition is None and id(t) not in self.repeated
            for t in term.operands[:2]
        )

    def decode_loose(self, term: PatternNode, name: str) -> list[str]:
        """Write how operands are read of which some may be missing, or stand for any number; return their names."""
        count, least = len(term.operands), len(term.operands) - term.optional
        found = [self.new("s") for _ in range(count)]
        listed = ", ".join(found)
        self.line(f"e = in_order(pred[{name}])")
        self.line("if e is None: return general(n0)")
        if any(isinstance(t, PatternNode) for t in term.operands):  # which a variable may bind as well
            self.line(f"if len(e) != len(pred[{name}]): return general(n0)")
        if len(term.loose) == 2:
            first, last = term.loose
            behind = count - last - 1
            values, turn = self.new("v"), self.new("i")  # which the next turn of the loop reads again
            self.line(f"{values} = e")
            self.line(f"for {turn} in range({first}, len({values}) - {behind}):")
            self.depth += 1
            self.line(
                f"{listed}, = *{values}[:{first}], (*{values}[{first}:{turn}],), {values}[{turn}], "
                f"(*{values}[{turn} + 1:len({values}) - {behind}],), *{values}[len({values}) - {behind}:]"
            )
        elif term.loose:
            (at,) = term.loose
            behind = count - at - 1
            self.line(f"if len(e) < {count - 1}: {self.stop}")
            self.line(f"{listed}, = *e[:{at}], (*e[{at}:len(e) - {behind}],), *e[len(e) - {behind}:]")
        else:
            self.line(f"if not {least} <= len(e) <= {count}: {self.stop}")
            self.line(f"{listed}, = (*e, {'None, ' * term.optional})[:{count}]")
        return found

    def decode(self, term: PatternNode, name: str) -> list[str]:
        """Write how the operands of a node are read from its edges; return their names."""
        count = len(term.operands)
        if not count:
            self.line(f"if pred[{name}]: return general(n0)")
            return []
        found = [self.new("s") for _ in range(count)]
        listed, sources = ", ".join(found), self.new("p")
        self.line(f"{sources} = pred[{name}]")
        # Other than most: another number of operands, or one of them at several slots.
        self.line(f"if len({sources}) != {count}:")
        self.line(f"    e = in_order({sources})")
        self.line("    if e is None: return general(n0)")
        self.line(f"    if len(e) != {count}: {self.stop}")
        if len({isinstance(t, PatternNode) for t in term.operands}) > 1:
            self.line("    return general(n0)")  # a matched node may be bound by a variable as well
        else:
            self.line(f"    {listed}, = e")
        self.line("else:")
        self.depth += 1
        if count == 1:
            self.line(f"({found[0]}, e), = {sources}.items()")
            self.line(f"if e != {self.edge(0)}: return general(n0)")
        elif count == 2:
            first, second = self.edge(0), self.edge(1)
            self.line(f"({found[0]}, e), ({found[1]}, f) = {sources}.items()")
            self.line(f"if e == {first}:")
            self.line(f"    if f != {second}: return general(n0)")
            self.line(f"elif e == {second} and f == {first}: {found[0]}, {found[1]} = {found[1]}, {found[0]}")
            self.line("else: return general(n0)")
        else:
            edges = self.let([{"slots": one_slot(i)} for i in range(count)])
            self.line(f"{listed}, = {sources}")
            self.line(f"if [*{sources}.values()] != {edges}:")
            self.line(f"    e = in_order({sources})")
            self.line(f"    if e is None or len(e) != {count}: return general(n0)")
            self.line(f"    {listed}, = e")
        self.depth -= 1
        return found

    def is_new(self, term: PatternNode, name: str) -> bool:
        """Write that a node is what a pattern node needs; tell whether it is met for the first time."""
        known = self.names.get(id(term))
        if known is not None:
            self.line(f"if {name} != {known}: {self.stop}")
            return False
        kinds = term.kinds
        kind = f"!= {min(kinds)!r}" if len(kinds) == 1 else f"not in {self.let(kinds)}"
        self.line(f"if node[{name}].get('type') {kind}: {self.stop}")
        if self.shared == "refuse" and not any(term is top for top in self.tops):
            # A reader beyond the parents may be another node of the match, if it has that many.
            parents, others = len(self.parents[id(term)]), self.pattern.most_readers(term)
            self.line(f"if len(succ[{name}]) != {parents}:")
            self.line(f"    if len(succ[{name}]) > {others} or len(succ[{name}]) < {parents}: {self.stop}")
            if others > parents:
                self.line("    return general(n0)")
        self.meet(term, name)
        return True

    def meet(self, term: PatternNode, name: str) -> None:
        """Write that a node is not matched by two."""
        for other in self.matched:
            if other.kinds & term.kinds:
                self.line(f"if {name} == {self.names[id(other)]}: {self.stop}")
        self.names[id(term)] = name
        self.matched.append(term)

    def bind(self, variable: Variable, name: str) -> None:
        """Write how a variable is bound, or compared with what it binds."""
        known = self.names.setdefault(id(variable), name)
        is_there = f"{name} is not None and " if variable.optional else ""
        if variable.optional:
            self.loose.setdefault(known)
        if known != name:
            self.line(f"if {name} != {known}: {self.stop}")
        elif variable.constant:
            self.line(f"if {is_there}node[{name}].get('type') != 'constant': {self.stop}")

    def bind_all(self, variable: Variable, name: str) -> None:
        """Write how a variable is bound to several values, or compared with what it binds."""
        known = self.names.setdefault(id(variable), name)
        self.loose.setdefault(known)
        if known != name:
            self.line(f"if {name} != {known}: {self.stop}")
        elif variable.constant:
            self.line(f"if any([node[v].get('type') != 'constant' for v in {name}]): {self.stop}")

    def attributes(self, term: PatternNode, name: str) -> None:
        """Write what must hold of the attributes of a node."""
        if term.is_open:
            stop = "return general(n0)" if id(term) in self.pattern.whole else self.stop
            self.line(f"if graph.op({name}).number_of_results(attributes({name})) != 1: {stop}")
        if not term.attributes:
            return
        data = self.new("d")
        several = len(term.ops) > 1 or bool(term.ops[0].forms)  # defaults depend on the op, or on operands
        self.line(f"{data} = attributes({name})" if several else f"{data} = node[{name}]")
        for key, wanted in term.attributes.items():
            default = inspect.Parameter.empty if several else term.ops[0].attributes[key]
            found = self.new("a")
            if default is inspect.Parameter.empty:
                self.line(f"if {key!r} not in {data}: {self.stop}")
                self.line(f"{found} = {data}[{key!r}]")
            else:
                self.line(f"{found} = {data}.get({key!r}, {self.let(default)})")
            if isinstance(wanted, Variable):
                known = self.names.setdefault(id(wanted), found)
                if known != found:
                    self.line(f"if not identical({found}, {known}): {self.stop}")
                elif wanted.condition is not None:
                    self.asked[id(term), key] = found
            elif isinstance(wanted, Where):
                self.asked[id(term), key] = found
            elif isinstance(wanted, set | frozenset | range):
                self.line(f"if not any_same({found}, {self.let(wanted)}): {self.stop}")
            else:
                self.line(f"if not same({self.let(wanted)}, {found}): {self.stop}")

    # ------------------------------------------------------------------ conditions

    def conditions(self) -> None:
        """Write the calls of predicates, once all else fits, in the order of the search.

        What one raises is left to the general path, which says where.
        """
        calls: list[str] = []
        done: set[int] = set()
        work: list[tuple[Any, str]] = [(top, self.names[id(top)]) for top in reversed(self.order)]
        while work:
            term, name = work.pop()
            if id(term) in done:
                continue
            if isinstance(term, PatternNode):
                done.add(id(term))
                name = self.names[id(term)]
                calls += [self.call_of(term, name, key) for key in term.attributes if (id(term), key) in self.asked]
                work += reversed(list(zip(term.operands, self.sources[name], strict=True)))
            elif isinstance(term, Where):
                calls.append(self.call(term, name))
            elif isinstance(term, Variable) and term.condition is not None:
                done.add(id(term))
                call = self.call(term.condition, name)
                calls.append(f"({name} is None or {call})" if term.optional else call)
            elif isinstance(term, Rest) and term.variable.condition is not None and id(term.variable) not in done:
                done.add(id(term.variable))
                calls.append(f"all({self.call(term.variable.condition, 'v')} for v in {name})")
        if calls:
            self.line("try:")
            self.line(f"    if not ({' and '.join(calls)}): {self.stop}")
            self.line("except Exception: return general(n0)")

    def call(self, condition: Where, name: str) -> str:
        """Return the call of the predicate of a value."""
        return f"{self.let(condition.predicate)}(MatchedValue(graph, {name}))"

    def call_of(self, term: PatternNode, name: str, key: str) -> str:
        """Return the call of the predicate of an attribute."""
        wanted = term.attributes[key]
        condition: Any = wanted.condition if isinstance(wanted, Variable) else wanted
        argument = f"application(graph, {name})" if condition.of_node else self.asked[id(term), key]
        return f"{self.let(condition.predicate)}({argument})"


def application(graph: Graph, name: str) -> Application:
    """Return what a node applies to what."""
    types = tuple(graph.result_type(*operand) for operand in graph.operands(name))
    return Application(graph.op(name), types, graph.attributes(name))


def any_same(value: Any, wanted: Collection[Any]) -> bool:
    """Tell whether an attribute has one of some values."""
    return any(same(value, each) for each in wanted)


def in_order(sources: dict[str, Any]) -> list[str] | None:
    """Return the operands of a node in order, from its edges; None where one is unusual."""
    edges = [*sources.values()]
    if edges == _IN_ORDER[: len(edges)]:
        return [*sources]
    found: dict[Any, str] = {}
    count = 0
    try:
        for source, data in sources.items():
            slots = data["slots"]
            if len(data) != 1 or not slots:
                return None
            for index, result in slots:
                if result:
                    return None
                found[index] = source
                count += 1
        return [found[index] for index in range(count)]
    except (KeyError, TypeError, ValueError):
        return None
