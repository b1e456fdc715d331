"""The second half of a fused rule: Python source that replaces what was matched, straight in the dictionaries.

All that can be refused is refused before the first change, by a way out to ``general(n0)``. The changes are those that
`graphrewrite.rewriting.engine.plan` plans and `graphrewrite.graph.edit` carries out, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphrewrite.graph.provenance import SHORT
from graphrewrite.op import constant
from graphrewrite.op.reserved_keys import STRUCTURAL
from graphrewrite.rewriting.fused.matching import MatchWriter, NotPlainError, slot
from graphrewrite.rewriting.fused.record import joined
from graphrewrite.rewriting.match.compiled import Source
from graphrewrite.rewriting.pattern import PatternNode
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateNode

__all__ = ["EditWriter"]


class EditWriter(Source):
    """Writes the source of a function ``replace(…)``: it replaces one match.

    The function returns what ``general(n0)`` returns where that did the work, and otherwise the parts of a
    `graphrewrite.rewriting.fused.record.Record` or, where none is wanted, True.

    Parameters
    ----------
    match : MatchWriter
        After it has written the match.
    template : Template
        The replacement.
    computed : sequence of bool, optional
        Where a rule's function has run on the match: which new nodes have attributes. The function takes the new parts
        as a last argument then. Otherwise the template says all.
    """

    def __init__(self, match: MatchWriter, template: Template, computed: Sequence[bool] | None = None) -> None:
        super().__init__(match.pattern)
        self.names, self.sources, self.matched, self.root = match.names, match.sources, match.matched, match.root
        self.template, self.computed, self.arguments = template, computed, match.arguments
        (self.value,) = template.values
        self.made: dict[int, str] = {id(new): f"f{i}" for i, new in enumerate(template.nodes)}
        holes = [v for v in [*self.operands_of(template), self.value] if id(v) not in self.made]
        if not all(isinstance(hole, Hole) for hole in holes):
            raise NotPlainError  # a number, which becomes a constant
        # Matched nodes that the replacement reads stay, and so does what they read.
        kept = [self.pattern.terms[hole.place] for hole in holes if hole.place >= 0]
        if self.root in kept:
            raise NotPlainError
        self.may_stay = bool(kept) or match.shared == "keep"

    @staticmethod
    def operands_of(template: Template) -> list[Any]:
        """Return all operands of the new nodes."""
        return [operand for new in template.nodes for operand in new.operands]

    def name(self, value: Any) -> str:
        """Return the name of the node that a value of the template is."""
        if not isinstance(value, Hole):
            return self.made[id(value)]
        terms = self.pattern.terms
        return self.names[id(terms[value.place] if value.place >= 0 else self.pattern.variables[-1 - value.place])]

    def slots(self, index: int) -> str:
        """Return the name of the slots of an edge."""
        self.known[f"S{index}"] = slot(index)
        return f"S{index}"

    def write(self, mode: str) -> str:
        """Return the source.

        Parameters
        ----------
        mode : {"bare", "journal", "full"}
            Whether the function notes of each step what is needed to take it back, or returns all that is to be known.
        """
        recorded = mode == "full"
        nodes = [self.names[id(term)] for term in self.pattern.terms]
        read = [v for v in [*self.operands_of(self.template), self.value] if isinstance(v, Hole)]
        self.read = list(dict.fromkeys(map(self.name, read)))
        for name in dict.fromkeys([*nodes, *self.read]):
            self.line(f"d_{name} = node[{name}]")
        self.refuse_annotated()
        self.refuse_edges()
        types = self.types() if self.computed is None else [f"new[{i}].type" for i in range(len(self.computed))]
        spared = self.spared(nodes)
        self.origin(nodes)
        self.add(nodes, types, recorded)
        self.unlink(nodes)
        self.move(nodes, recorded)
        self.remove(nodes, spared, mode)
        new = [] if self.computed is None else ["new"]
        return "\n".join([f"def replace({', '.join([*self.arguments, *new])}):", *self.lines])

    # ------------------------------------------------------------------ what can be refused

    def types(self) -> list[str]:
        """Write what the types of the new nodes are; return their names."""
        self.line("w = d_n0.get('result')")
        for new in self.template.nodes:
            if all(isinstance(v, Hole) for v in new.operands):  # an op on constants alone is computed
                tests = [f"d_{name}['type'] == 'constant'" for name in dict.fromkeys(map(self.name, new.operands))]
                self.line(f"if {' and '.join(tests)}: return general(n0)")
        kinds = [f"t_{name}" for name in self.read]
        for kind, name in zip(kinds, self.read, strict=True):
            self.line(f"{kind} = d_{name}.get('result')")
        listed = "".join(f"{kind}, " for kind in kinds)
        if any(new.captured or new.like is not None for new in self.template.nodes):
            attributes = "".join(f"{self.attributes_of(new, i)}, " for i, new in enumerate(self.template.nodes))
            self.line(f"t = typed(({listed}), w, ({attributes}))")
        else:
            ids = "".join(f"id({kind}), " for kind in kinds)
            self.line(f"t = types.get(({ids}id(w)))")
            self.line(f"if t is None: t = typed(({listed}), w)")
        self.line("if t is None: return general(n0)")
        return [f"t[{i}]" for i in range(len(self.template.nodes))]

    def refuse_annotated(self) -> None:
        """Write that nodes whose annotations, or names, go to others are left to the general path."""
        # One that only changes levels passes on those of what it reads; an old node that stands in keeps names of all.
        is_root = isinstance(self.value, TemplateNode) and not any(op.level == "bridge" for op in self.root.ops)
        heirs = [self.names[id(term)] for term in ([self.root] if is_root else self.matched)]
        heirs += [self.names[id(self.pattern.terms[new.like])] for new in self.template.nodes if new.like is not None]
        for name in dict.fromkeys(heirs):
            own = {op.name: STRUCTURAL.union(op.attributes) for op in self.term_of(name).ops}
            keys = self.let(*own.values()) if len(own) == 1 else f"{self.let(own)}[d_{name}['type']]"
            self.line(f"if not {keys}.issuperset(d_{name}): return general(n0)")

    def refuse_edges(self) -> None:
        """Write that edges with more than slots, of control or with data of their own, are left to the general path."""
        self.line("readers = succ[n0]")
        self.line("if sum(map(len, readers.values())) != len(readers): return general(n0)")
        if isinstance(self.value, Hole):
            self.line(f"known = succ[{self.name(self.value)}]")
            self.line("if any([u in known and len(known[u]) != 1 for u in readers]): return general(n0)")

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

    def spared(self, nodes: list[str]) -> list[str]:
        """Write a look at the constants that may go with the match; return the names of what they may be."""
        used = set(map(self.name, self.operands_of(self.template)))
        found = []
        for name in nodes:
            for term, source in zip(self.term_of(name).operands, self.sources[name], strict=True):
                if (
                    source not in used
                    and not isinstance(term, PatternNode)
                    and source == self.names.get(id(term), source)
                ):
                    found.append(source)
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
            f"*(d_{name}.get('origin') or ({name},))"
            for name, level in zip(nodes, levels, strict=True)
            if level != {True}  # an op that only changes levels carries none
        ]
        listed = f"({''.join(f'{part}, ' for part in parts)})"
        self.line(f"o = {listed}")
        if len(parts) > 1:
            self.line("if len({*o}) < len(o): o = tuple(dict.fromkeys(o))")
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
            for index, edge in enumerate(edges):
                self.line(f"{edge} = {{'slots': {self.slots(index)}}}")
            pairs = ", ".join(f"{source}: {edge}" for source, edge in zip(sources, edges, strict=True))
            self.line(f"p = pred[{f}] = {{{pairs}}}")
            links = [f"succ[{source}][{f}] = {edge}" for source, edge in zip(sources, edges, strict=True)]
            if not sources:
                pass
            elif len(sources) > 1:
                self.line(f"if len(p) == {len(sources)}:")
                for link in links:
                    self.line(f"    {link}")
                self.line(f"else: join(p, {f}, ({', '.join(sources)}))")
            else:
                self.line(links[0])
            if new is not self.value:
                self.line(f"succ[{f}] = {{}}")
        if self.template.nodes:
            fresh = "".join(f"{f}, " for f in self.made.values())
            listed, data = "".join(f"{n}, " for n in nodes), "".join(f"d_{n}, " for n in nodes)
            self.line(f"if late: later(({fresh}), ({listed}), ({data}))")

    def unlink(self, nodes: list[str]) -> None:
        """Write that what the match has read loses these readers, as far as that is certain."""
        for name in ["n0"] if self.may_stay else nodes:
            for term, source in zip(self.term_of(name).operands, self.sources[name], strict=True):
                if self.may_stay or not isinstance(term, PatternNode):
                    self.line(f"del succ[{source}][{name}]")

    def move(self, nodes: list[str], recorded: bool) -> None:
        """Write that the readers of the root read its replacement."""
        target = self.name(self.value)
        self.known["joined"] = joined
        if isinstance(self.value, Hole):  # which may have readers among them
            self.line("del succ[n0]")
            self.line("old = {}")
            self.line("for u, e in readers.items():")
            self.line("    q = pred[u]")
            self.line("    del q[n0]")
            self.line("    if u in known:")
            self.line("        old[u] = known[u]")
            self.line(f"        q[{target}] = known[u] = joined(known[u], e)")
            self.line(f"    else: q[{target}] = known[u] = e")
        else:
            self.line(f"succ[{target}] = succ.pop(n0)")
            self.line("for u, e in readers.items():")
            self.line("    q = pred[u]")
            self.line("    del q[n0]")
            self.line(f"    q[{target}] = e")
        if recorded:
            self.line("moved = [(u, e.copy()) for u, e in readers.items()]")

    def remove(self, nodes: list[str], spared: list[str], mode: str) -> None:
        """Write the removal of the matched nodes, the reports of it, and the nodes to be looked at again."""
        is_noted = mode != "bare"
        order = ["n0", *(n for n in reversed(nodes) if n != "n0")]
        if self.may_stay:
            self.line("lost = [(n0, d_n0, pred[n0])]" if is_noted else "")
            self.line("del node[n0], pred[n0]")
            for name in order[1:]:
                self.line(f"if not succ[{name}]:")
                for source in self.sources[name]:
                    self.line(f"    del succ[{source}][{name}]")
                if is_noted:
                    self.line(f"    lost.append(({name}, d_{name}, pred[{name}]))")
                self.line(f"    del node[{name}], pred[{name}], succ[{name}]")
        else:
            if is_noted:
                self.line(f"lost = ({''.join(f'({n}, d_{n}, pred[{n}]), ' for n in order)})")
            left = [f"node[{n}], pred[{n}]" for n in nodes] + [f"succ[{n}]" for n in order[1:]]
            self.line(f"del {', '.join(left)}")
        if is_noted:
            self.line("gone = ()")
        for name in spared:
            self.line(f"if {name} in node and not succ[{name}] and node[{name}].get('type') == 'constant':")
            if is_noted:
                self.line(f"    gone = (*gone, ({name}, node[{name}]))")
            self.line(f"    del node[{name}], pred[{name}], succ[{name}]")
        for i, new in enumerate(self.template.nodes):
            self.line(f"if {new.op.name!r} in roots: push(f{i}, n0)")
        target = self.name(self.value)
        left = [n for n in spared if n in {self.names.get(id(v)) for v in self.pattern.variables}]
        left += [target] if isinstance(self.value, Hole) else []
        left += order[1:] if self.may_stay else []
        self.line(f"if wakes and readers: above({target}, readers, n0)")
        for name in dict.fromkeys(left):
            self.line(f"if drops: released({name}, n0)")
        if mode == "bare":
            self.line("return True")
            return

        def listed(names: Iterable[str]) -> str:
            return f"({''.join(f'{name}, ' for name in names)})"

        is_new = not isinstance(self.value, Hole)
        moved = "moved" if mode == "full" else "None" if is_new else "list(readers.items())"
        parts = [
            "rule",
            "template",
            listed(self.made.values()),
            listed(nodes),
            "lost",
            listed(f"d_{f}" for f in self.made.values() if mode == "full"),
            moved,
            "None" if is_new else "old",
            "gone",
            listed(self.names[id(v)] for v in self.pattern.variables),
        ]
        if mode == "full":
            self.line(f"return {', '.join(parts)}")
        else:
            self.line(f"note(({', '.join(parts)}))")
            self.line("return True")
