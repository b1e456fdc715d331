"""The matcher of a conjunctive pattern, generated as Python source.

A pattern is conjunctive if it consists of ops, variables and literals, with one root. Its matcher is a generator of
nested loops, one for each commutative node. It finds what `graphrewrite.rewriting.match.search` finds, in the same
order, and gives no reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.rewriting.pattern import Literal, Pattern, PatternNode, Variable, Where, same
from graphrewrite.runtime.generated_code import compile_function

__all__ = ["Matcher", "Source", "compile_pattern", "operands_of"]

Matcher = Callable[[str], Iterator[tuple[Any, ...]]]
"""From a node for the root to the names of the matched nodes and the bindings of the variables, in one tuple."""

_MOST_LOOPS = 12
"""Python nests twenty blocks; a pattern with more commutative nodes is left to the search."""


def operands_of(sources: dict[str, Any]) -> Any:
    """Return the operands of a node from its predecessors, or None where one of them stands at several slots.

    None as well where slots are missing or collide, which `Graph.operands` complains about.
    """
    try:
        if len(sources) == 2:
            (a, first), (b, second) = sources.items()
            ((i, q),), ((j, r),) = first["slots"], second["slots"]
            return ((a, q), (b, r)) if (i, j) == (0, 1) else ((b, r), (a, q)) if (i, j) == (1, 0) else None
        operands: list[Any] = [None] * len(sources)
        for source, data in sources.items():
            ((slot, result),) = data["slots"]
            operands[slot] = (source, result)
    except (KeyError, ValueError, IndexError, TypeError):
        return None
    return None if None in operands else operands


class Source:
    """The source of one function, line by line.

    Attributes
    ----------
    lines : list of str
        The lines so far.
    known : dict
        Objects of the function's namespace.
    names : dict
        Identity of a term of the pattern to its name in the source.
    depth : int
        Level of indentation.
    parents : dict
        Identity of a pattern node to those of the nodes that read it.
    failing : str
        The statement for a mismatch outside of the loops.
    """

    failing = "return"

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.lines: list[str] = []
        self.known: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.depth = 1
        self.parents: dict[int, set[int]] = {}
        for node in pattern.nodes:
            for term in node.operands:
                if isinstance(term, PatternNode):
                    self.parents.setdefault(id(term), set()).add(id(node))

    @property
    def stop(self) -> str:
        """The statement for a mismatch: the next order of a loop, or the end."""
        return "continue" if self.depth > 1 else self.failing

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    def let(self, value: Any) -> str:
        """Give an object a name that the source can use."""
        name = f"k{len(self.known)}"
        self.known[name] = value
        return name


class _Writer(Source):
    """Writes the source of one matcher."""

    def __init__(self, pattern: Pattern, shared: str) -> None:
        super().__init__(pattern)
        self.shared = shared
        self.inside: list[PatternNode] = []

    def node(self, term: PatternNode, name: str) -> None:
        """Write the tests of a node, and of all below it."""
        self.names[id(term)] = name
        self.attributes(term, name)
        self.line(f"o_{name} = operands_of(pred[{name}]) or operands({name})")
        self.line(f"if len(o_{name}) != {len(term.operands)}: {self.stop}")
        count = len(term.operands)
        free = max(op.interchangeable(count) for op in term.ops)
        # A commutative node is a loop over both orders; a node with one operand twice needs no second try.
        operands = f"o_{name}"
        if free == 2:
            self.line(f"a, b = o_{name}" if count == 2 else f"a, b, *_ = o_{name}")
            rest = f", *o_{name}[2:]" if count > 2 else ""
            commutative = frozenset(op.name for op in term.ops if op.commutative)
            condition = "" if len(term.ops) == 1 else f" and node[{name}]['type'] in {self.let(commutative)}"
            self.line(f"for p_{name} in ((a, b{rest}), (b, a{rest})) if a != b{condition} else ((a, b{rest}),):")
            self.depth += 1
            operands = f"p_{name}"
        # Types first: they are cheap to compare, and most attempts end here.
        inner = [(i, t) for i, t in enumerate(term.operands) if isinstance(t, PatternNode)]
        fresh: list[tuple[PatternNode, str]] = []
        for i, below in inner:
            self.line(f"s, r = {operands}[{i}]")
            if id(below) in self.names:  # read a second time: it must be the same node
                self.line(f"if s != {self.names[id(below)]} or r: {self.stop}")
                continue
            kinds = below.kinds
            kind = f"!= {next(iter(kinds))!r}" if len(kinds) == 1 else f"not in {self.let(kinds)}"
            readers = len(self.parents.get(id(below), ()))
            # Readers beyond the pattern's can still be other nodes of the match, but no more than there are.
            most = len(self.pattern.nodes) - 1
            alone = f" or not {readers} <= len(succ[s]) <= {most}" if self.shared == "refuse" else ""
            self.line(f"if r or node[s].get('type') {kind}{alone}: {self.stop}")
            named = f"n{len(self.names)}"
            self.names[id(below)] = named
            # Two pattern nodes match two nodes; only those of a common type can meet.
            for other in self.inside:
                if other.kinds & kinds and id(other) in self.names:
                    self.line(f"if s == {self.names[id(other)]}: {self.stop}")
            self.inside.append(below)
            self.line(f"{named} = s")
            fresh.append((below, named))
        for i, t in enumerate(term.operands):
            if isinstance(t, Variable):
                self.bind(t, f"{operands}[{i}]")
            elif isinstance(t, Literal):
                self.line(f"d = node[{operands}[{i}][0]]")
                self.line(f"if d.get('type') != 'constant' or not {self.let(t.admits)}(d['value']): {self.stop}")
        for below, named in fresh:
            self.node(below, named)

    @property
    def roots(self) -> tuple[Any, ...]:
        return self.pattern.roots

    def bind(self, variable: Variable, value: str) -> None:
        """Write the binding of a variable, or the comparison with its earlier one."""
        bound = self.names.get(id(variable))
        if bound is not None:
            self.line(f"if {value} != {bound}: {self.stop}")
            return
        named = self.names[id(variable)] = f"v{len(self.names)}"
        self.line(f"{named} = {value}")
        if variable.constant:
            self.line(f"if node[{named}[0]].get('type') != 'constant': {self.stop}")

    def attributes(self, term: PatternNode, name: str) -> None:
        """Write the tests of a node's attributes."""
        if term.attributes:
            self.line(f"d = attributes({name})")
        for key, wanted in term.attributes.items():
            self.line(f"if {key!r} not in d: {self.stop}")
            if isinstance(wanted, Variable):
                bound = self.names.get(id(wanted))
                if bound is not None:
                    self.line(f"if not same(d[{key!r}], {bound}): {self.stop}")
                else:
                    named = self.names[id(wanted)] = f"v{len(self.names)}"
                    self.line(f"{named} = d[{key!r}]")
            else:
                self.line(f"if not same(d[{key!r}], {self.let(wanted)}): {self.stop}")

    def write(self) -> str:
        """Return the source of the whole matcher."""
        (root,) = self.roots
        self.inside.append(root)
        self.node(root, "n0")
        nodes = [self.names[id(t)] for t in self.pattern.terms]
        values = [self.names[id(v)] for v in self.pattern.variables]
        # Only now are all matched nodes known: an inner one may have no reader outside of them.
        if self.shared == "refuse":
            for term in self.inside:
                readers = len(self.parents.get(id(term), ()))
                if term is not root and readers < len(nodes) - 1:
                    name = self.names[id(term)]
                    matched = f"{{{', '.join(nodes)}}}"
                    self.line(
                        f"if len(succ[{name}]) > {readers} and not {matched}.issuperset(succ[{name}]): {self.stop}"
                    )
        self.line(f"yield ({', '.join([*nodes, *values])},)")
        return "\n".join(["def find(n0):", *self.lines])


def compile_pattern(pattern: Pattern, shared: str) -> Callable[[Graph], Matcher] | None:
    """Return a function from a graph to its matcher, or None where the pattern is left to the search."""
    swaps = sum(any(op.commutative for op in n.ops) for n in pattern.nodes)
    n_ary = any(op.commutative and op.variadic for n in pattern.nodes for op in n.ops)
    choices = any(isinstance(w, Where | set | frozenset | range) for n in pattern.nodes for w in n.attributes.values())
    conditional = any(v.condition is not None for v in pattern.variables)
    conditional |= any(isinstance(t, Where) or n.loose or n.optional for n in pattern.nodes for t in n.operands)
    if len(pattern.roots) != 1 or swaps > _MOST_LOOPS or n_ary or choices or conditional or len(pattern.nodes) > 200:
        return None
    # Compiled once for each rule; a graph only gives it the dictionaries that it reads.
    writer = _Writer(pattern, shared)
    code = compile_function(writer.write(), str(pattern))

    def bind(graph: Graph) -> Matcher:
        scope: dict[str, Any] = {
            "node": graph._node,
            "pred": graph._pred,
            "succ": graph._succ,
            "operands_of": operands_of,
            "operands": graph.operands,
            "attributes": graph.attributes,
            "same": same,
            **writer.known,
        }
        exec(code, scope)
        matcher: Matcher = scope.pop("find")
        return matcher

    return bind
