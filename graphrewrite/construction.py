"""The edit of a template as Python source: from the names of a match straight to what changes, without a replay.

It serves the common case: one root, new nodes of one result, no matched node read by the replacement. Whatever else a
match turns out to be, it returns None, and `graphrewrite.plan` does the work. A test holds both ways equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphrewrite.edit import Edit
from graphrewrite.graph import Graph
from graphrewrite.pattern import Literal, Pattern, PatternNode
from graphrewrite.template import Hole, Template, TemplateNode

__all__ = ["Constructor", "compile_template"]

Constructor = Callable[..., Edit | None]
"""From a match, as `graphrewrite.match.compiled` gives it, to the edit; None where this is no common case."""


class _Writer:
    """Writes the source of one constructor."""

    def __init__(self, pattern: Pattern, template: Template) -> None:
        self.pattern, self.template = pattern, template
        self.known: dict[str, Any] = {"Edit": Edit}
        self.lines: list[str] = []
        self.types: dict[int, str] = {}
        self.nodes = [f"n{i}" for i in range(len(pattern.made))]
        self.values = [f"v{i}" for i in range(len(pattern.variables))]

    def line(self, text: str) -> None:
        self.lines.append("    " + text)

    def let(self, value: Any) -> str:
        name = f"k{len(self.known)}"
        self.known[name] = value
        return name

    def read(self, hole: Hole) -> str:
        """Return the name of a bound value, after a look at its type."""
        place = -1 - hole.place
        value, kind = self.values[place], f"t{place}"
        if place not in self.types:
            self.types[place] = kind
            self.line(f"s{place}, r{place} = {value}")
            self.line(f"d{place} = node[s{place}]")
            self.line(f"{kind} = d{place}['result']")
            self.line(f"if type({kind}) is tuple: {kind} = {kind}[r{place}]")
            if len(self.nodes) > 1:  # a matched node that the replacement reads stays, which is for the plan to see to
                self.line(f"if s{place} in matched: return None")
        return kind

    def write(self) -> str | None:
        """Return the source, or None where the template is no common case."""
        (value,) = self.template.values
        if not all(isinstance(v, Hole) and v.place < 0 for n in self.template.nodes for v in n.operands):
            if not all(isinstance(v, TemplateNode) or (isinstance(v, Hole) and v.place < 0) for n in self.template.nodes for v in n.operands):
                return None
        if isinstance(value, Hole) and value.place >= 0:
            return None
        root = self._root()
        self.line(f"matched = ({', '.join(self.nodes)},)")
        made: dict[int, tuple[str, str]] = {}
        for i, new in enumerate(self.template.nodes):
            kinds, certain = [], []
            for operand in new.operands:
                if isinstance(operand, Hole):
                    kinds.append(self.read(operand))
                    certain.append(f"d{-1 - operand.place}['type'] == 'constant'")
                else:
                    kinds.append(made[id(operand)][1])
            if len(certain) == len(new.operands):  # an op on constants alone is computed
                self.line(f"if {' and '.join(dict.fromkeys(certain))}: return None")
            attributes = self._attributes(new, i)
            listed = ", ".join(kinds) + ","
            op = self.let(new.op)
            if attributes is None:
                ids = "".join(f"id({kind}), " for kind in kinds)
                self.line(f"u{i} = {self.let(new.op.at_hand)}.get(({ids}))")
                self.line(f"u{i} = u{i}[0] if u{i} is not None else {op}.plain_types(({listed}))")
            else:
                self.line(f"u{i} = {op}.result_types(({listed}), {attributes})")
            self.line(f"u{i} = u{i}[0]")
            made[id(new)] = (f"f{i}", f"u{i}")
        kind = self.read(value) if isinstance(value, Hole) else made[id(value)][1]
        self.line(f"wanted = node[{root}]['result']")
        self.line(f"if {kind} is not wanted and {kind} != wanted: return None")
        added, linked = [], []
        for i, new in enumerate(self.template.nodes):
            self.line(f"f{i} = fresh({new.op.name!r})")
            stored = f", **{self.let(new.op)}.stored(a{i})" if self._has_attributes(new) else ""
            added.append(f"(f{i}, {{'type': {new.op.name!r}{stored}, 'result': u{i}, 'origin': ()}})")
            linked += self._links(new, i, made)
        self.line(f"linked = [{', '.join(linked)}]")
        repeated = self._repeated(made)
        if repeated:
            self.line(f"if {' or '.join(repeated)}: linked = merged(linked)")
        target = f"s{-1 - value.place}" if isinstance(value, Hole) else made[id(value)][0]
        result = f"r{-1 - value.place}" if isinstance(value, Hole) else "0"
        if isinstance(value, Hole):  # the value may be read by a reader of the root already
            self.line(f"known = succ[{target}]")
            self.line(f"for reader, data in succ[{root}].items():")
            self.line(f"    slots = tuple([(slot, {result}) for slot, _ in data['slots']])")
            self.line("    old = known.get(reader)")
            self.line(f"    linked.append(({target}, reader, {{'slots': slots if old is None else (*old['slots'], *slots)}}))")
        else:
            self.line(f"for reader, data in succ[{root}].items(): linked.append(({target}, reader, data))")
        self.line(f"removed = [{', '.join([root, *(n for n in self.nodes if n != root)])}]")
        self._unread(target)
        self.line(f"return Edit([{', '.join(added)}], linked, [], [], removed, matched)")
        return "\n".join([f"def build({', '.join([*self.nodes, *self.values])}):", *self.lines])

    def _root(self) -> str:
        (root,) = self.pattern.roots
        return self.nodes[next(i for i, term in enumerate(self.pattern.made) if term is root)]

    def _has_attributes(self, new: TemplateNode) -> bool:
        return bool(new.attributes or new.captured or new.like is not None)

    def _attributes(self, new: TemplateNode, index: int) -> str | None:
        """Write the attributes of a new node; return their name."""
        if not self._has_attributes(new):
            return None
        parts = []
        if new.like is not None:
            keys = self.let(tuple(new.op.attributes))
            self.line(f"l{index} = node[{self.nodes[new.like]}]")
            parts.append(f"**{{k: l{index}[k] for k in {keys} if k in l{index}}}")
        parts.append(f"**{self.let(new.attributes)}")
        parts += [f"{k!r}: {self.values[place]}" for k, place in new.captured.items()]
        self.line(f"a{index} = {{{', '.join(parts)}}}")
        return f"a{index}"

    def _links(self, new: TemplateNode, index: int, made: dict[int, tuple[str, str]]) -> list[str]:
        links = []
        for slot, operand in enumerate(new.operands):
            if isinstance(operand, Hole):
                place = -1 - operand.place
                links.append(f"(s{place}, f{index}, {{'slots': (({slot}, r{place}),)}})")
            else:
                links.append(f"({made[id(operand)][0]}, f{index}, {{'slots': (({slot}, 0),)}})")
        return links

    def _repeated(self, made: dict[int, tuple[str, str]]) -> list[str]:
        """The comparisons that tell whether a new node reads one value at several slots."""
        found: dict[str, None] = {}
        for new in self.template.nodes:
            sources = [f"s{-1 - v.place}" if isinstance(v, Hole) else made[id(v)][0] for v in new.operands]
            if len(set(sources)) < len(sources):
                return ["True"]
            bound = [s for s in sources if s.startswith("s")]
            found.update((f"{a} == {b}", None) for i, a in enumerate(bound) for b in bound[:i])
        return list(found)

    def _unread(self, target: str) -> None:
        """Write which constants go because only the match read them."""
        used = {v.place for n in self.template.nodes for v in n.operands if isinstance(v, Hole)}
        used |= {v.place for v in self.template.values if isinstance(v, Hole)}
        loose = [i for i, kind in enumerate(self.pattern.kinds) if kind == "value" and -1 - i not in used]
        literal = any(isinstance(t, Literal) for n in self.pattern.nodes for t in n.operands)
        if not loose and not literal:
            return
        kept = ", ".join([f"s{-1 - place}" for place in sorted(used) if place < 0])
        self.line(f"kept = ({kept}{',' if kept else ''})")
        for name in self.nodes:
            self.line(f"for s in pred[{name}]:")
            self.line("    if node[s]['type'] == 'constant' and s not in kept and s not in removed:")
            self.line("        if all([r in removed for r in succ[s]]): removed.append(s)")


def merged(linked: list[tuple[str, str, dict[str, Any]]]) -> list[tuple[str, str, dict[str, Any]]]:
    """Join edges between the same nodes: a node that reads a value twice has one edge with two slots."""
    if len(linked) == len({(source, destination) for source, destination, _ in linked}):
        return linked
    found: dict[tuple[str, str], tuple[tuple[int, int], ...]] = {}
    for source, destination, data in linked:
        found[source, destination] = (*found.get((source, destination), ()), *data["slots"])
    return [(source, destination, {"slots": slots}) for (source, destination), slots in found.items()]


def compile_template(pattern: Pattern, template: Template) -> Callable[[Graph], Constructor] | None:
    """Return what makes a constructor for a graph, or None where templates are left to the plan.

    Parameters
    ----------
    pattern : Pattern
        A plain one, of one root.
    template : Template
        Its replacement.

    Returns
    -------
    callable or None
    """
    if len(template.values) != 1 or len(pattern.roots) != 1 or not all(isinstance(t, PatternNode) for t in pattern.made):
        return None
    writer = _Writer(pattern, template)
    source = writer.write()
    if source is None:
        return None
    code = compile(source, f"<edit of {pattern}>", "exec")

    def bind(graph: Graph) -> Constructor:
        for new in template.nodes:
            graph.adopt(new.op)
        scope: dict[str, Any] = {
            "node": graph._node,
            "pred": graph._pred,
            "succ": graph._succ,
            "fresh": graph.fresh,
            "merged": merged,
            **writer.known,
        }
        exec(code, scope)
        found: Constructor = scope["build"]
        return found

    return bind
