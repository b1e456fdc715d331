"""Random rules that can be fused, as source text, and graphs in which they match."""

from __future__ import annotations

import random
from typing import Any

from graphrewrite import Graph, Tensor
from tests.support.pairs import Planter
from tests.support.sources import OWN_OPS, rule_of

__all__ = ["FusedRules", "PlainWriter"]

UNARY = ("op.neg({})", "op.relu({})", "op.abs({})", "scale({})", "scale({}, by={by})", "(op.neg | op.abs)({})")
TESTS = ("not v.is_constant", "v.op_name in ('neg', 'add', 'input')", "v.readers > 1", "v.shape == (3,)")
PAIRED = ("op.add({}, {})", "op.mul({}, {})", "op.maximum({}, {})", "op.sub({}, {})", "(op.sub | op.add)({}, {})")
THREE = ("op.fma({}, {}, {})", "affine({}, {}, {})")
LOOSE = ("affine({}, {}, {optional})", "pack(*{rest})", "pack({}, *{rest}, {})", "pack(*{rest}, {})", "blend(*{rest})")


class PlainWriter:
    """Writes one rule: ops, variables and literals above the yield, ops on what was bound below it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}
        self.attributes: list[str] = []
        self.inner: list[str] = []
        self.roots: list[str] = []
        self.optional: dict[str, str] = {}
        self.rests: dict[str, str] = {}

    def write(self, name: str) -> str:
        """Return the source of a rule."""
        rng = self.rng
        self.lines.append(f"root = {self.node(rng.choice((1, 1, 2, 2, 3)))}")
        self.roots = ["root"]
        if rng.random() < 0.35:  # another root, which may read the first one
            readable = [*self.inner, *rng.choice(([], [], ["root", "root"]))]
            inner, self.inner = self.inner, readable
            self.lines.append(f"other = {self.node(rng.choice((1, 2, 2)))}")
            self.inner = [*inner, *(n for n in self.inner if n.startswith("n") and n not in inner)]
            self.roots = rng.choice((["root", "other"], ["other", "root"]))
        values = list(self.variables)
        if not values:  # a rule of literals alone replaces nothing by anything
            return PlainWriter(rng).write(name)
        computed = bool(self.optional or self.rests) or rng.random() < 0.5
        replacement = self.computed(values) if computed else self.replacement(values)
        body = [*self.lines, f"yield {', '.join(self.roots)}", *replacement]
        parameters = ", ".join(n + kind for n, kind in (self.variables | self.rests).items())
        more = "".join(f", {n}" for n in self.attributes)
        more += "".join(f", {n}{kind} = None" for n, kind in self.optional.items())
        shared = "(shared='keep')" if computed and rng.random() < 0.4 else ""
        return "\n".join([f"@rule{shared}", f"def {name}({parameters}{more}):", *(f"    {line}" for line in body)])

    def node(self, depth: int) -> str:
        """An op on operands, as an expression."""
        rng = self.rng
        form = rng.choice(rng.choice((UNARY, UNARY, PAIRED, PAIRED, PAIRED, THREE, LOOSE)))
        operands = [self.operand(depth - 1) for _ in range(form.count("{}"))]
        optional = self.loose(self.optional, "uvw") if "{optional}" in form else ""
        rest = self.loose(self.rests, "rst") if "{rest}" in form else ""
        by = self.attribute() if "{by}" in form else ""
        return form.format(*operands, by=by, optional=optional, rest=rest)

    def loose(self, names: dict[str, str], letters: str) -> str:
        """A variable for an operand that may be missing, or for any number of them."""
        if names and (len(names) == len(letters) or self.rng.random() < 0.3):
            return self.rng.choice(list(names))
        name = letters[len(names)]
        names[name] = self.rng.choice(("", "", "", ": Constant", f": rule.where(lambda v: {TESTS[0]}, 'it fits')"))
        return name

    def operand(self, depth: int) -> str:
        """What stands at a slot: something new, or what has been named already."""
        rng = self.rng
        if depth > 0 and rng.random() > 0.3:
            if self.inner and rng.random() < 0.25:
                return rng.choice(self.inner)
            expression = self.node(depth)
            if rng.random() < 0.5:
                return expression
            self.inner.append(f"n{len(self.inner)}")
            self.lines.append(f"{self.inner[-1]} = {expression}")
            return self.inner[-1]
        if rng.random() > 0.92:
            return rng.choice(("0", "1", "2", f"rule.where(lambda v: {rng.choice(TESTS)}, 'it fits')"))
        if self.variables and rng.random() < 0.4:
            return rng.choice(list(self.variables))
        name = "abcdefghijklmnopqrstuvwxyz"[len(self.variables)]
        condition = f": rule.where(lambda v: {rng.choice(TESTS)}, 'it fits')" if rng.random() < 0.15 else ""
        self.variables[name] = ": Constant" if rng.random() < 0.15 else condition
        return name

    def attribute(self) -> str:
        """What an attribute must be: one of some numbers, or whatever it is."""
        if self.rng.random() < 0.5:
            return self.rng.choice(
                ("1", "2", "3", "{1, 2}", "range(2, 5)", "rule.where(lambda k: k < 3, 'it is small')")
            )
        if not self.attributes or self.rng.random() < 0.3:
            self.attributes.append(f"k{len(self.attributes)}")
            return self.attributes[-1]
        return self.rng.choice(self.attributes)

    def replacement(self, values: list[str]) -> list[str]:
        """Lines below the yield."""
        rng = self.rng
        made: list[str] = []
        lines = []
        for i in range(rng.choice((0, 1, 1, 2, 2, 3))):
            forms = (
                "op.neg({})",
                "op.exp({})",
                "op.add({}, {})",
                "op.mul({}, {})",
                "op.sub({}, {})",
                "op.fma({}, {}, {})",
            )
            form = rng.choice((*forms, "scale({}, by={by})", "scale({}, by=2)", "halves({})"))
            operands = [rng.choice([*values, *made[-2:]]) for _ in range(form.count("{}"))]
            by = rng.choice(self.attributes or ["3"])
            new = [f"m{i}", f"o{i}"] if form == "halves({})" else [f"m{i}"]
            lines.append(f"{', '.join(new)} = {form.format(*operands, by=by)}")
            made += rng.sample(new, len(new))
        returned = [*rng.choices(values, k=2), *made][-len(self.roots) :]
        return [*lines, f"return {', '.join(returned)}"]

    def computed(self, values: list[str]) -> list[str]:
        """Lines below the yield that look at the match: refusals, constants, matched nodes, several results."""
        rng = self.rng
        readable = [*values, *self.inner]
        readable += [f"({n} or {values[0]})" for n in self.optional] + [f"pack(*{n}, {values[0]})" for n in self.rests]
        readable += [f"({n} or ({values[0]},))[-1]" for n in self.rests] + [
            f"affine({values[0]}, {values[0]}, {n})" for n in self.optional
        ]
        tests = ("{}.is_constant", "{}.op_name in ('neg', 'add', 'input')", "{}.readers > 1", "{}.shape == ()")
        test = rng.choice(tests).format(rng.choice([*values, *self.inner]))
        other = rng.choice(
            ("rule.decline('no')", rng.choice(readable), "np.ones(3, np.float32)", "op.exp(root.type and a)")
        )
        other = other if "decline" in other else ", ".join([other] * len(self.roots))
        lines = [f"if {test}: return {other}"] if rng.random() < 0.8 else ["if root.shape == (7,): return root"]
        if rng.random() < 0.3:
            lines.append("half = np.full(root.shape, 0.5, np.float32)")
            readable += ["half", "half"]
        return [*lines, *self.replacement(readable)]


class FusedRules:
    """Some rules and a graph; the same for the same seed."""

    def __init__(self, rng: random.Random, count: int = 4, size: int = 24) -> None:
        self.sources = [PlainWriter(rng).write(f"r{i}") for i in range(count)]
        self.rules = tuple(map(rule_of, self.sources))
        planter = Planter(rng)
        planter.graph = Graph("g", ops=OWN_OPS)
        for name in "xz":
            planter.graph.input(name, Tensor("f32", (3,)))
        names = [o.name for found in self.rules for n in found.pattern.nodes for o in n.ops]
        while len(planter.graph) < size:
            if rng.random() < 0.6:
                planter.plant(rng.choice(self.rules).pattern)
            else:
                planter.noise(names)
        self.graph = planter.finish()
        if rng.random() < 0.3:
            for _, _, data in self.graph.edges(data=True):
                data.update(rng.choice(({}, {}, {"weight": 1}, {"weight": 2}, {"kind": "reset"})))

    def __str__(self) -> str:
        return "\n\n".join([*self.sources, str(self.graph)])

    @property
    def fused(self) -> list[Any]:
        """Rules that have a fast way."""
        return [found for found in self.rules if found.definition.fused() is not None]
