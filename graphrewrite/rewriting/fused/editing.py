"""The second half of a fused rule: Python source that replaces what was matched, straight in the dictionaries.

All that can be refused is refused before the first change, by a way out to ``general(n0)``. The changes are those that
`graphrewrite.rewriting.engine.plan` plans and `graphrewrite.graph.edit` carries out, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite.graph.dataflow import one_slot
from graphrewrite.graph.provenance import SHORT
from graphrewrite.op import constant
from graphrewrite.op.reserved_keys import STRUCTURAL
from graphrewrite.rewriting.engine.parts import waits_in_circle
from graphrewrite.rewriting.fused.matching import MatchWriter, NotPlainError
from graphrewrite.rewriting.fused.record import Layout, joined, of_result
from graphrewrite.rewriting.fused.source import Source
from graphrewrite.rewriting.pattern import Literal, PatternNode, Rest, Variable, walk
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateNode, TemplateResult

__all__ = ["EditWriter", "node_of", "operands_of"]


class EditWriter(Source):
    """Writes the source of a function ``replace(…)``: it replaces one match.

    The function returns what ``general(n0)`` returns where that did the work, and otherwise what a
    `graphrewrite.rewriting.fused.record.Record` is made of or, where none is wanted, True.

    Parameters
    ----------
    match : MatchWriter
        After it has written the match.
    template : Template
        The replacement.
    computed : sequence of bool, optional
        Where a rule's function has run on the match: which new nodes have attributes. The function takes the new parts
        as a last argument then. Otherwise the template says all.
    lengths : sequence, optional
        How many values the loose arguments of the match stand for; None for one that is missing.
    """

    def __init__(
        self,
        match: MatchWriter,
        template: Template,
        computed: Sequence[bool] | None = None,
        lengths: Sequence[int | None] = (),
    ) -> None:
        super().__init__(match.pattern)
        self.names, self.matched, self.tops = match.names, match.matched, match.tops
        self.operands = self.read_by(match, dict(zip(match.loose, lengths, strict=True)))
        self.template, self.computed, self.arguments = template, computed, match.arguments
        self.made: dict[int, str] = {id(new): f"f{i}" for i, new in enumerate(template.nodes)}
        holes = [v for v in [*operands_of(template), *template.values] if node_of(v) is None]
        # Matched nodes that the replacement reads stay, and so does what they read.
        kept = [term for term in map(self.term, holes) if isinstance(term, PatternNode)]
        self.may_stay = bool(kept) or match.shared == "keep"
        read = [t for n in self.matched for t in n.operands] if self.may_stay else []
        if any(top in kept or any(t is top for t in read) for top in self.tops):
            raise NotPlainError
        self.roots = [self.names[id(top)] for top in self.tops]
        # Where one new node takes the place of one root, it takes over all of its readers as they are.
        (value, *others) = template.values
        self.succeeds = not others and isinstance(value, TemplateNode)

    def read_by(self, match: MatchWriter, lengths: dict[str, int | None]) -> dict[str, list[tuple[Any, str]]]:
        """Return what each matched node reads: terms of the pattern, each with the name of its match."""
        for variable, kind in zip(self.pattern.variables, self.pattern.kinds, strict=True):
            if kind == "values":
                name = match.names[id(variable)]
                elements = "".join(f"{name}_{i}, " for i in range(lengths[name] or 0))
                self.line(f"{elements or '()'} = {name}")
        found: dict[str, list[tuple[Any, str]]] = {}
        for name, sources in match.sources.items():
            pairs = found[name] = []
            for term, source in zip(self.term_of(name).operands, sources, strict=True):
                if isinstance(term, Rest):
                    known = match.names[id(term.variable)]
                    pairs += [(term.variable, f"{known}_{i}") for i in range(lengths[known] or 0)]
                elif not (isinstance(term, Variable) and term.optional and lengths[match.names[id(term)]] is None):
                    pairs.append((term, match.names.get(id(term), source)))
        return found

    def name(self, value: Any) -> str:
        """Return the name of the node that a value of the template is."""
        new = node_of(value)
        if new is not None:
            return self.made[id(new)]
        name = self.names[id(self.term(value))]
        return name if value.element is None else f"{name}_{value.element}"

    def slots(self, index: int, value: Any) -> str:
        """Return the name of the slots of an edge from a value."""
        result = value.index if isinstance(value, TemplateResult) else 0
        name = f"S{index}_{result}" if result else f"S{index}"
        self.known[name] = one_slot(index, result)
        return name

    def write(self, mode: str) -> str:
        """Return the source.

        Parameters
        ----------
        mode : {"bare", "journal", "full"}
            Whether the function notes of each step what is needed to take it back, or returns all that is to be known.
        """
        recorded = mode == "full"
        nodes = [self.names[id(term)] for term in self.pattern.terms]
        read = [v for v in [*operands_of(self.template), *self.template.values] if isinstance(v, Hole)]
        self.read = list(dict.fromkeys(map(self.name, read)))
        for name in dict.fromkeys([*nodes, *self.read]):
            self.line(f"d_{name} = node[{name}]")
        self.refuse_annotated()
        self.refuse_edges()
        self.refuse_bound()
        self.refuse_cycles(nodes)
        types = self.types() if self.computed is None else self.types_of_parts()
        spared = self.spared(nodes)
        self.origin(nodes)
        self.add(nodes, types, recorded)
        self.unlink(nodes)
        self.move(recorded)
        self.remove(nodes, spared, mode)
        new = [] if self.computed is None else ["new"]
        return "\n".join([f"def replace({', '.join([*self.arguments, *new])}):", *self.lines])

    # ------------------------------------------------------------------ what can be refused

    def types(self) -> list[str]:
        """Write what the types of the new nodes are; return their names."""
        wanted = [f"w{i}" for i in range(len(self.roots))]
        for kind, root in zip(wanted, self.roots, strict=True):
            self.line(f"{kind} = d_{root}.get('result')")
        for new in self.template.nodes:
            if all(isinstance(v, Hole) for v in new.operands):  # an op on constants alone is computed
                tests = [f"d_{name}['type'] == 'constant'" for name in dict.fromkeys(map(self.name, new.operands))]
                self.line(f"if {' and '.join(tests)}: return general(n0)")
        kinds = [f"t_{name}" for name in self.read]
        for kind, name in zip(kinds, self.read, strict=True):
            self.line(f"{kind} = d_{name}.get('result')")
        listed, asked = "".join(f"{kind}, " for kind in kinds), "".join(f"{kind}, " for kind in wanted)
        if any(new.captured or new.like is not None for new in self.template.nodes):
            attributes = "".join(f"{self.attributes_of(new, i)}, " for i, new in enumerate(self.template.nodes))
            self.line(f"t = typed(({listed}), ({asked}), ({attributes}))")
        else:
            # From match to match they are mostly the same.
            found = {f"l{i}": kind for i, kind in enumerate([*kinds, *wanted])}
            self.known.update(dict.fromkeys([*found, "t"]))
            self.line(f"global t, {', '.join(found)}")
            self.line(f"if {' or '.join(f'{kind} is not {last}' for last, kind in found.items())}:")
            self.line(f"    {', '.join(found)}, = {', '.join(found.values())},")
            self.line(f"    t = types.get(({''.join(f'id({kind}), ' for kind in found.values())}))")
            self.line(f"if t is None: t = typed(({listed}), ({asked}))")
        self.line("if t is None: return general(n0)")
        return [f"t[{i}]" for i in range(len(self.template.nodes))]

    def types_of_parts(self) -> list[str]:
        """Return where the types of the new parts stand."""
        return [
            f"new[{i}].type"
            if new.op.results == 1
            else f"new[{i}].type if len(new[{i}].types) == 1 else new[{i}].types"
            for i, new in enumerate(self.template.nodes)
        ]

    def refuse_annotated(self) -> None:
        """Write that nodes whose annotations, or names, go to others are left to the general path."""
        # One that only changes levels passes on those of what it reads; an old node that stands in keeps names of all.
        is_plain = not any(isinstance(value, Hole) for value in self.template.values)
        is_plain = is_plain and not any(op.level == "bridge" for top in self.tops for op in top.ops)
        heirs = [self.names[id(term)] for term in (self.tops if is_plain else self.matched)]
        heirs += [self.names[id(self.pattern.terms[new.like])] for new in self.template.nodes if new.like is not None]
        for name in dict.fromkeys(heirs):
            own = {op.name: STRUCTURAL.union(op.attributes) for op in self.term_of(name).ops}
            keys = self.let(*own.values()) if len(own) == 1 else f"{self.let(own)}[d_{name}['type']]"
            self.line(f"if not {keys}.issuperset(d_{name}): return general(n0)")

    def refuse_edges(self) -> None:
        """Write that edges with more than slots, of control or with data of their own, are left to the general path."""
        for i, (root, value) in enumerate(zip(self.roots, self.template.values, strict=True)):
            self.line(f"readers{i} = succ[{root}]")
            self.line(f"for e in readers{i}.values():")
            self.line("    if len(e) != 1: return general(n0)")
            if isinstance(value, Hole):
                self.line(f"known = succ[{self.name(value)}]")
                self.line(f"if any([u in known and len(known[u]) != 1 for u in readers{i}]): return general(n0)")

    def refuse_bound(self) -> None:
        """Write that an inner node that may stay, and is bound by a variable above it, is left to the general path."""
        for term in self.matched if self.may_stay else ():
            own = set(map(id, walk(term)))
            others = [n for n in self.matched if id(n) not in own and term not in self.tops]
            pairs = [pair for n in others for pair in self.operands[self.names[id(n)]]]
            bound = {source for t, source in pairs if not isinstance(t, PatternNode | Literal) and id(t) not in own}
            if bound:
                self.line(
                    f"if {self.names[id(term)]} in ({''.join(f'{b}, ' for b in sorted(bound))}): return general(n0)"
                )

    def refuse_cycles(self, nodes: list[str]) -> None:
        """Write that a replacement that could read what depends on it is left to the general path."""
        # All that a root reads is above no root that it is below; for other values, that has to be looked for.
        own = [set(map(id, walk(top))) for top in self.tops]
        leaves = [self.leaves(value) for value in self.template.values]
        if any(id(self.term(hole)) not in ids for holes in leaves for hole in holes for ids in own):
            read = "".join(f"{{{', '.join(map(self.name, holes))}}}, " if holes else "(), " for holes in leaves)
            roots, matched = "".join(f"{root}, " for root in self.roots), "".join(f"{name}, " for name in nodes)
            self.known["waits_in_circle"] = waits_in_circle
            self.line(f"if waits_in_circle(graph, ({matched}), ({roots}), ({read})): return general(n0)")

    def leaves(self, value: Any) -> list[Hole]:
        """Return what a value of the template is computed from."""
        found: dict[int, Any] = {}
        work = [value]
        while work:
            part = work.pop()
            new = node_of(part)
            if id(new or part) not in found:
                found[id(new or part)] = part
                work += new.operands if new is not None else ()
        return [part for part in found.values() if isinstance(part, Hole)]

    def term(self, hole: Hole) -> Any:
        """Return the term of the pattern whose match a hole takes."""
        return self.pattern.terms[hole.place] if hole.place >= 0 else self.pattern.variables[-1 - hole.place]

    def attributes_of(self, new: TemplateNode, index: int) -> str:
        """Write the attributes of a new node; return their name."""
        parts = []
        if new.like is not None:
            keys, like = self.let(tuple(new.op.attributes)), self.names[id(self.pattern.terms[new.like])]
            parts.append(f"**{{k: d_{like}[k] for k in {keys} if k in d_{like}}}")
        parts += [f"**{self.let(new.attributes)}"] if new.attributes else []
        parts += [f"{k!r}: {self.names[id(self.pattern.variables[place])]}" for k, place in new.captured.items()]
        self.line(f"a_{index} = {{{', '.join(parts)}}}")
        return f"a_{index}"

    def spared(self, nodes: list[str]) -> dict[str, bool]:
        """Write a look at the constants that may go with the match.

        Return the names of what they may be, and whether each is a constant for certain.
        """
        used = set(map(self.name, operands_of(self.template)))
        found: dict[str, bool] = {}
        for name in nodes:
            for term, source in self.operands[name]:
                if source not in used and not isinstance(term, PatternNode):
                    found[source] = isinstance(term, Literal)
        for source in found:  # a constant has no operands; whatever this is, it is nothing for straight lines
            self.line(f"if pred[{source}] and node[{source}].get('type') == 'constant': return general(n0)")
        return found

    def term_of(self, name: str) -> PatternNode:
        """Return the pattern node that a matched node is."""
        return next(t for t in self.matched if self.names[id(t)] == name)

    # ------------------------------------------------------------------ the changes

    def origin(self, nodes: list[str]) -> None:
        """Write where the new nodes come from: known at once where it is short, else found at the end."""
        if not self.template.nodes:
            return
        levels = [{op.level == "bridge" for op in self.term_of(name).ops} for name in nodes]
        parts = [
            f"*(d_{name}.get('origin') or ({name},)), "
            for name, level in zip(nodes, levels, strict=True)
            if level != {True}  # an op that only changes levels carries none
        ]
        self.line(f"o = ({''.join(parts)})")
        if len(parts) > 1:
            self.line("if len(o) != 2 or o[0] == o[1]: o = tuple(dict.fromkeys(o))")
        pending = " or ".join(f"{name} in pending" for name in nodes)
        mixed = any(len(level) > 1 for level in levels)
        self.line(f"late = {'True' if mixed else f'not 0 < len(o) < {SHORT} or (pending and ({pending}))'}")
        self.line("if late: o = ()")

    def add(self, nodes: list[str], types: list[str], recorded: bool) -> None:
        """Write the new nodes and their operands."""
        for i, new in enumerate(self.template.nodes):
            f, stem = f"f{i}", new.op.stem
            self.line(f"k = fresh[{stem!r}] + 1")
            self.line(f"{f} = f'{stem}_{{k}}'")
            self.line(f"while {f} in node:")
            self.line("    k += 1")
            self.line(f"    {f} = f'{stem}_{{k}}'")
            self.line(f"fresh[{stem!r}] = k")
            origin = "()" if new.op.level == "bridge" else "o"
            attributes = ""
            if self.computed is not None and new.op is constant:
                attributes = f", 'value': new[{i}].value"
            elif self.computed is not None:
                attributes = f", **{self.let(new.op.stored)}(new[{i}].attributes)" if self.computed[i] else ""
            elif new.captured or new.like is not None:
                attributes = f", **{self.let(new.op.stored)}(a_{i})"
            elif new.attributes:
                attributes = f", **{self.let(new.op.stored(new.attributes))}"
            self.line(f"node[{f}] = {{'type': {new.op.name!r}{attributes}, 'result': {types[i]}, 'origin': {origin}}}")
            if recorded:
                self.line(f"d_{f} = node[{f}].copy()")
            sources = [self.name(operand) for operand in new.operands]
            edges = [f"x{index}" for index in range(len(sources))]
            slots = [self.slots(index, operand) for index, operand in enumerate(new.operands)]
            for edge, its in zip(edges, slots, strict=True):
                self.line(f"{edge} = {{'slots': {its}}}")
            pairs = ", ".join(f"{source}: {edge}" for source, edge in zip(sources, edges, strict=True))
            self.line(f"p = pred[{f}] = {{{pairs}}}")
            links = [f"succ[{source}][{f}] = {edge}" for source, edge in zip(sources, edges, strict=True)]
            if not sources:
                pass
            elif len(sources) > 1:
                self.line(f"if len(p) == {len(sources)}:")
                for link in links:
                    self.line(f"    {link}")
                self.line(f"else: join(p, {f}, ({', '.join(sources)}), ({', '.join(slots)}))")
            else:
                self.line(links[0])
            if not (self.succeeds and new is self.template.values[0]):
                self.line(f"succ[{f}] = {{}}")
        if self.template.nodes:
            fresh = "".join(f"{f}, " for f in self.made.values())
            listed, data = "".join(f"{n}, " for n in nodes), "".join(f"d_{n}, " for n in nodes)
            self.line(f"if late: later(({fresh}), ({listed}), ({data}))")

    def unlink(self, nodes: list[str]) -> None:
        """Write that what the match has read loses these readers, as far as that is certain."""
        for name in self.roots if self.may_stay else nodes:
            tops = {id(top) for top in self.tops}
            read = [(t, s) for t, s in self.operands[name] if not isinstance(t, PatternNode) or id(t) in tops]
            self.cut(name, self.operands[name] if self.may_stay else read)

    def cut(self, name: str, read: list[tuple[Any, str]]) -> None:
        """Write that a node no longer reads some values, of which one may stand at several slots."""
        sources = dict.fromkeys(source for _, source in read)
        for source in sources:
            self.line(f"del succ[{source}][{name}]" if len(sources) == 1 else f"succ[{source}].pop({name}, None)")

    def move(self, recorded: bool) -> None:
        """Write that the readers of the roots read their replacements."""
        self.known.update(joined=joined, of_result=of_result)
        if self.succeeds:
            target = self.name(self.template.values[0])
            self.line(f"succ[{target}] = succ.pop(n0)")
            if recorded:
                self.line("moved0 = []")
            self.line("for u, e in readers0.items():")
            self.line("    q = pred[u]")
            self.line("    del q[n0]")
            self.line(f"    q[{target}] = e")
            if recorded:
                self.line("    moved0.append((u, e.copy()))")
            return
        several = len(self.roots) > 1
        self.line("old = {}")  # edges that get more slots; None for new ones, which another root may come upon
        for i, (root, value) in enumerate(zip(self.roots, self.template.values, strict=True)):
            target = self.name(value)
            self.line(f"del succ[{root}]")
            self.line(f"known = succ[{target}]")
            if recorded:
                self.line(f"moved{i} = [(u, e.copy()) for u, e in readers{i}.items()]")
            self.line(f"for u, e in readers{i}.items():")
            self.line("    q = pred[u]")
            self.line(f"    del q[{root}]")
            if isinstance(value, TemplateResult):
                self.line(f"    e = of_result(e, {value.index})")
            self.line("    if u in known:")
            self.line(f"        old.setdefault(({target}, u), known[u])")
            self.line(f"        q[{target}] = known[u] = joined(known[u], e)")
            self.line("    else:")
            self.line(f"        q[{target}] = known[u] = e")
            if several:
                self.line(f"        old[{target}, u] = None")

    def remove(self, nodes: list[str], spared: dict[str, bool], mode: str) -> None:
        """Write the removal of the matched nodes, the reports of it, and the nodes to be looked at again."""
        is_noted = mode != "bare"
        order = list(reversed(nodes))
        inner = [name for name in order if name not in self.roots]
        if self.may_stay:
            listed_roots = "".join(f"({n}, d_{n}, pred[{n}]), " for n in order if n in self.roots)
            self.line(f"lost = [{listed_roots}]" if is_noted else "")
            self.line(f"del {', '.join(f'node[{n}], pred[{n}]' for n in self.roots)}")
            for name in inner:
                self.line(f"if not succ[{name}]:")
                self.depth += 1
                self.cut(name, self.operands[name])
                self.depth -= 1
                if is_noted:
                    self.line(f"    lost.append(({name}, d_{name}, pred[{name}]))")
                self.line(f"    del node[{name}], pred[{name}], succ[{name}]")
        else:
            if is_noted:
                self.line("; ".join(f"p_{n} = pred[{n}]" for n in order))
            left = [f"node[{n}], pred[{n}]" for n in nodes] + [f"succ[{n}]" for n in inner]
            self.line(f"del {', '.join(left)}")
        if is_noted and spared:
            self.line("gone = ()")
        for name in spared:
            self.line(f"if {name} in node and not succ[{name}] and node[{name}].get('type') == 'constant':")
            if is_noted:
                self.line(f"    gone = (*gone, ({name}, node[{name}]))")
            self.line(f"    del node[{name}], pred[{name}], succ[{name}]")
        for i, new in enumerate(self.template.nodes):
            self.line(f"if {new.op.name!r} in roots: push(f{i}, n0)")
        for i, value in enumerate(self.template.values):
            self.line(f"if wakes{i} and readers{i}: above({self.name(value)}, readers{i}, n0)")
        left = [name for name, is_constant in spared.items() if not is_constant]
        left += [self.name(value) for value in self.template.values if isinstance(value, Hole)]
        left += inner if self.may_stay else []
        for name in dict.fromkeys(left):
            self.line(f"if drops: released({name}, n0)")
        if mode == "bare":
            self.line("return True")
            return

        bound = [self.names[id(v)] for v in self.pattern.variables]
        lost = ["lost"] if self.may_stay else [each for n in order for each in (f"d_{n}", f"p_{n}")]
        added = [f"d_{f}" for f in self.made.values()] if mode == "full" else []
        moved = [f"moved{i}" if mode == "full" else f"[*readers{i}.items()]" for i in range(len(self.roots))]
        if self.succeeds and mode != "full":
            moved = []
        old, gone = [] if self.succeeds else ["old"], ["gone"] if spared else []
        parts = [list(self.made.values()), nodes, bound, lost, added, moved, old, gone]
        layout = self.let(Layout(self.template, *map(len, parts)))
        told = ", ".join(["rule", layout, *(name for names in parts for name in names)])
        if mode == "full":
            self.line(f"return {told}")
        else:
            self.line(f"note(({told}))")
            self.line("return True")


def operands_of(template: Template) -> list[Any]:
    """Return all operands of the new nodes."""
    return [operand for new in template.nodes for operand in new.operands]


def node_of(value: Any) -> TemplateNode | None:
    """Return the new node that gives a value of a template; None where it is none."""
    value = value.node if isinstance(value, TemplateResult) else value
    return value if isinstance(value, TemplateNode) else None
