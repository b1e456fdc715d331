"""Random rules, as source text."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import numpy as np

from graphrewrite import Constant, op, rule
from graphrewrite.op import define_op

__all__ = ["KINDS", "NAMES", "ORDERED", "OWN_OPS", "PAIRED", "SHAPES", "UNARY", "Writer", "rule_of"]


@define_op(commutative=True)
def blend(*xs):
    """Any number of operands in any order."""
    return sum(xs)


@define_op
def pack(*xs):
    """Any number of operands, whose order matters."""
    return xs[0]


@define_op
def affine(x, w, b=None):
    """The last operand may be missing."""
    return x * w if b is None else x * w + b


@define_op(results=2, infer=lambda x: (x, x))
def halves(x):
    """Two results."""
    return x, x


@define_op(infer=lambda x, **_: x)
def scale(x, *, by=1, axes=(0,), mode="a"):
    """Three attributes."""
    return x * by


OWN_OPS = (blend, pack, affine, halves, scale)
NAMES = {o.name: o for o in OWN_OPS}
UNARY, PAIRED, ORDERED = ("neg", "relu", "abs"), ("add", "mul", "maximum"), ("sub", "minimum")
SHAPES = ((3,), (3,), (3,), (1,), (2, 3))
CONDITIONS = (
    ("lambda v: len(v.shape) == 1", "it is a vector"),
    ("lambda v: v.shape == (3,)", "it has three entries"),
    ("lambda v: not v.is_constant", "it is no constant"),
    ("lambda v: v.type.element == 'f32' and len(v.shape) == 2", "it is a matrix of f32"),
)
NODE_FORMS = (
    "commutative variadic", "optional", "rest", "two rests", "several ops", "any op", "repeated", "attribute equal",
    "attribute captured", "attribute one of", "attribute range", "attribute predicate", "several results",
)  # fmt: skip
OPERAND_FORMS = (
    "literal", "literal set", "literal range", "literal array", "value condition", "either", "without", "diamond",
)  # fmt: skip
RULE_FORMS = ("constant variable", "condition of a variable", "components", "forbidden", "every", "decline")
KINDS = (
    *NODE_FORMS,
    *OPERAND_FORMS,
    *RULE_FORMS,
    "commutative",
    "repeated variable",
    "repeated or none",
    "refuse",
    "keep",
    "duplicate",
)


class Writer:
    """Writes one rule."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.parameters: dict[str, str] = {}
        self.lines: list[str] = []
        self.kinds: Counter[str] = Counter()
        self.tops: list[str] = []  # nodes that nothing reads yet
        self.locals: list[str] = []
        self.counts: Counter[str] = Counter()
        self.negating: set[str] = set()
        self.declining: str | None = None
        features = rng.sample([*NODE_FORMS, *OPERAND_FORMS, *RULE_FORMS], rng.choice((0, 1, 1, 2, 2, 2, 3)))
        self.features = features

    # ------------------------------------------------------------------ names

    def fresh(self, stem: str) -> str:
        self.counts[stem] += 1
        return f"{stem}{self.counts[stem]}"

    def variable(self) -> str:
        name = self.rng.choice("xyz")
        if name in self.parameters:
            self.kinds["repeated variable"] += 1
        elif "constant variable" in self.features and self.rng.random() < 0.6:
            self.parameters[name] = ": Constant"
            self.kinds["constant variable"] += 1
        elif "condition of a variable" in self.features and self.rng.random() < 0.6:
            predicate, reason = self.rng.choice(CONDITIONS)
            self.parameters[name] = f": rule.where({predicate}, {reason!r})"
            self.kinds["condition of a variable"] += 1
        else:
            self.parameters[name] = ""
        return name

    def several(self) -> str:
        name = self.rng.choice(("xs", "ys"))
        self.parameters[name] = ""
        return f"*{name}"

    def keep(self, stem: str, expression: str) -> str:
        name = self.fresh(stem)
        self.lines.append(f"{name} = {expression}")
        self.locals.append(name)
        if "~" in expression or any(re.search(rf"\b{n}\b", expression) for n in self.negating):
            self.negating.add(name)
        self.tops.append(name)
        return name

    def use(self, name: str) -> str:
        if name in self.tops:
            self.tops.remove(name)
        elif name in self.locals:
            self.kinds["diamond"] += 1
        return name

    # ------------------------------------------------------------------ expressions

    def operand(self, *, plain: bool = False) -> str:
        rng = self.rng
        forms = ["node"] * 4 * bool(self.locals) + ["variable"] * 3
        forms += [f for f in self.features if f in OPERAND_FORMS] * 2 * (not plain)
        form = rng.choice(forms)
        usable = [n for n in self.locals if not (plain and n in self.negating)]
        if form == "diamond" and usable:
            return self.use(rng.choice(usable))
        if form == "node" and usable:
            return self.use(rng.choice([t for t in self.tops if t in usable] or usable))
        if form in OPERAND_FORMS and form != "diamond":
            self.kinds[form] += 1
            return self.special(form)
        return self.variable()

    def special(self, form: str) -> str:
        rng = self.rng
        match form:
            case "literal":
                return rng.choice(("0", "1", "2.0"))
            case "literal set":
                return rng.choice(("{0, 1}", "{1, 2}", "frozenset({1})"))
            case "literal range":
                return rng.choice(("range(2)", "range(1, 3)"))
            case "literal array":
                return rng.choice(("np.array([1, 2, 1])", "np.array([[1, 2, 1]])", "np.array([1])"))
            case "value condition":
                predicate, reason = rng.choice(CONDITIONS)
                return f"rule.where({predicate}, {reason!r})"
            case "either":
                options = [self.inner() for _ in range(rng.choice((1, 2)))]
                last = rng.choice((self.variable, lambda: "1", self.inner))()
                options.insert(rng.choice((len(options), len(options), 0)), last)
                if options[0] == "1":
                    options.reverse()
                return self.use(self.keep("e", " | ".join(options)))
        return (
            f"~{rng.choice((self.variable, self.inner, self.inner))()}"  # of what is plain: no negation in a negation
        )

    def inner(self) -> str:
        """A small node in the place of an operand."""
        name = self.rng.choice((*UNARY, *UNARY, *PAIRED, *ORDERED))
        operands = [self.operand(plain=True) for _ in range(1 if name in UNARY else 2)]
        return f"op.{name}({', '.join(self.symbolic(operands))})"

    def symbolic(self, operands: list[str]) -> list[str]:
        """Some operand must be a term: ops of numbers alone compute."""
        if not any(o.startswith(("~", "op.")) or o.lstrip("*") in (*self.locals, *self.parameters) for o in operands):
            operands[0] = self.variable()
        return operands

    def call(self, name: str, operands: list[str], attributes: str = "") -> str:
        self.kinds["commutative"] += name in PAIRED
        where = name if name in NAMES else f"op.{name}"
        return f"{where}({', '.join(self.symbolic(operands))}{attributes})"

    def node(self) -> None:
        rng = self.rng
        chosen = [f for f in self.features if f in NODE_FORMS]
        form = rng.choice([*chosen * 3, "unary", "paired", "ordered", "fma"][: 3 * len(chosen) + 4])
        if form == "fma" and rng.random() < 0.7:
            form = "paired"
        one, two = self.operand, lambda: [self.operand(), self.operand()]
        if form in NODE_FORMS:
            self.kinds[form] += 1
        match form:
            case "unary":
                made = self.call(rng.choice(UNARY), [one()])
            case "paired":
                made = self.call(rng.choice(PAIRED), two())
            case "ordered":
                made = self.call(rng.choice(ORDERED), two())
            case "fma":
                made = self.call("fma", [*two(), one()])
            case "commutative variadic":
                operands = [one() for _ in range(rng.choice((1, 2, 2, 3)))]
                if rng.random() < 0.5:
                    operands.insert(rng.randrange(len(operands) + 1), self.several())
                made = self.call("blend", operands)
            case "optional":
                self.parameters["b"] = "=None"
                made = self.call("affine", [*two(), "b"])
            case "rest":
                operands = [one() for _ in range(rng.choice((0, 1, 1, 2)))]
                operands.insert(rng.randrange(len(operands) + 1), self.several())
                made = self.call("pack", operands)
            case "two rests":
                self.parameters |= {"xs": "", "ys": ""}
                made = self.call("pack", ["*xs", one(), "*ys", *([one()] if rng.random() < 0.3 else [])])
            case "several ops":
                if rng.random() < 0.5:
                    made = (
                        f"({' | '.join('op.' + n for n in rng.sample(UNARY, 2))})({', '.join(self.symbolic([one()]))})"
                    )
                else:
                    names = rng.sample((*PAIRED, *ORDERED), rng.choice((2, 3)))
                    made = f"({' | '.join('op.' + n for n in names)})({', '.join(self.symbolic(two()))})"
            case "any op":
                operands = rng.choice(
                    (lambda: [one()], two, lambda: [self.several()], lambda: [one(), self.several()])
                )()
                made = f"rule.any_op({', '.join(self.symbolic(operands))})"
            case "repeated":
                made = self.repeated()
            case "several results":
                node = self.keep("n", f"halves({self.symbolic([one()])[0]})")
                if rng.random() < 0.7:
                    self.use(node)
                    self.lines.append(f"p{node}, q{node} = {node}")
                    results = [f"p{node}", f"q{node}"]
                    self.negating |= set(results) if node in self.negating else set()
                    rng.shuffle(results)
                    kept = results[: rng.choice((1, 2, 2))]
                    self.locals += kept
                    self.tops += kept
                return
            case _:
                made = self.call("scale", [one()], self.attributes(form))
        self.keep("n", made)

    def attributes(self, form: str) -> str:
        if form == "attribute captured":
            self.parameters["k"] = ""
        return {
            "attribute equal": self.rng.choice((", by=2", ", mode='b'", ", axes=(0, 1)", ", by=1, mode='a'")),
            "attribute captured": self.rng.choice((", by=k", ", axes=k", ", by=k, mode='a'")),
            "attribute one of": self.rng.choice((", by={1, 3}", ", axes={(0,), (1,)}", ", mode=frozenset('bc')")),
            "attribute range": ", by=range(2, 4)",
            "attribute predicate": ", by=rule.where(lambda k: k in (1, 3), 'it is odd')",
        }[form]

    def repeated(self) -> str:
        base = self.symbolic([self.operand()])[0]
        units = ["op.relu", "op.relu", "lambda l: op.neg(l)", "lambda l: op.relu(op.neg(l))",
                 "lambda l, c: op.mul(l, c)", "lambda l, c: op.sub(l, c)", "lambda l: op.mul(l, 2)"]  # fmt: skip
        if self.rng.random() < 0.2:
            name = self.variable()
            units = [f"lambda l: op.sub(l, {name})", f"lambda l: op.mul({name}, l)", "lambda l, j: scale(l, by=j)"]
        elif self.rng.random() < 0.1:
            self.parameters["k"] = ""
            units = ["lambda l: scale(l, by=k)"]
        return f"rule.repeated({base}, {self.rng.choice(units)}, least={self.rng.choice((1, 1, 2))})"

    def perhaps_none(self, line: str, roots: list[str]) -> str:
        """A run that is no root may have no links."""
        run, _, made = line.partition(" = ")
        if not made.startswith("rule.repeated(") or run in roots or self.rng.random() < 0.25:
            return line
        self.kinds["repeated or none"] += 1
        return re.sub(r"least=\d", "least=0", line)

    def every(self) -> str:
        of = self.use(self.rng.choice(self.tops)) if self.tops and self.rng.random() < 0.3 else self.variable()
        units = ["op.relu", "op.neg", f"lambda w: op.mul({of}, w)", f"lambda w: op.sub({of}, w)",
                 f"lambda: op.relu(op.neg({of}))", f"lambda ws: blend({of}, *ws)"]  # fmt: skip
        if self.rng.random() < 0.15:
            units = [f"lambda: op.sub({of}, {self.variable()})"]
        return f"rule.every({of}, {self.rng.choice(units)}, least={self.rng.choice((1, 2, 2))})"

    # ------------------------------------------------------------------ the whole

    def write(self, name: str = "r", *, shrinking: bool = False) -> str:
        """The source of a rule; one that shrinks a graph puts a bound value in the place of all its roots."""
        self.nodes()
        roots = list(self.tops)
        self.lines = [self.perhaps_none(line, roots) for line in self.lines]
        yielded = [*roots, *self.forbidden()]
        text = "\n".join([*self.lines, *yielded])
        names = [n for n in self.parameters if re.search(rf"\b{n}\b", text)]
        names.sort(key=lambda n: self.parameters[n].startswith("="))
        plain = [n for n in names if n in "xyz" and re.search(rf"\b{n}\b", self.present(yielded))]
        body = self.shrinking(roots, plain) if shrinking else self.wrapping(roots, plain)
        shared = self.rng.choice(("refuse", "refuse", "keep", "keep", "refuse" if shrinking else "duplicate"))
        self.kinds[shared] += 1
        head = [f'@rule(shared="{shared}")', f"def {name}({', '.join(n + self.parameters[n] for n in names)}):"]
        inner = [*self.lines, f"yield {', '.join(yielded)}", *body]
        return "\n".join([*head, *("    " + line for line in inner)])

    def present(self, yielded: list[str]) -> str:
        """What is yielded and the lines of all that it names, but for what must not be there: that binds nothing."""
        left, text = list(self.lines), _without_negations(", ".join(yielded))
        while found := [line for line in left if re.search(rf"\b({'|'.join(_names(line))})\b", text)]:
            text += "".join("; " + _without_negations(line.partition(" = ")[2]) for line in found)
            left = [line for line in left if line not in found]
        return text

    def nodes(self) -> None:
        """All that is yielded and must be there."""
        rng = self.rng
        alone = "every" in self.features and rng.random() < 0.6
        if alone and rng.random() < 0.3:
            self.keep("n", self.call("neg", [self.variable()]))
        for _ in range(0 if alone else rng.choice((1, 2, 2, 3, 3, 4))):
            self.node()
            if len(self.tops) > 1 and "components" not in self.features:
                self.keep("n", self.call(rng.choice((*PAIRED, *ORDERED)), [self.use(t) for t in self.tops[:2]]))
        while len(self.tops) > 2 and not all(t.startswith(("p", "q")) for t in self.tops):
            self.keep("n", self.call("maximum", [self.use(t) for t in self.tops[:2]]))
        self.kinds["components"] += len({t.lstrip("pqn") for t in self.tops}) > 1
        if "every" in self.features:
            self.kinds["every"] += 1
            self.locals.remove(self.keep("g", self.every()))

    def forbidden(self) -> list[str]:
        """A node that must not be there."""
        if "forbidden" not in self.features:
            return []
        self.kinds["forbidden"] += 1
        there = [t for t in (*self.tops, *(p for p in self.parameters if p in "xyz")) if t not in self.negating]
        of = self.rng.choice([t for t in there if t[0] != "g"] or ["x"])
        if of == "x":
            self.parameters.setdefault("x", "")
        return [self.rng.choice((f"~op.abs({of})", f"~op.sub({of}, {self.variable()})", f"~op.neg({of})"))]

    def form_of(self, root: str) -> str:
        """What makes a root more than one node with one result."""
        lines = [line for line in self.lines if line.startswith(f"{root} = ")]
        return next(
            (form for line in lines for form in ("halves(", "rule.repeated(", "rule.every(") if form in line), ""
        )

    def wrapping(self, roots: list[str], plain: list[str]) -> list[str]:
        """What stands below the yield: each root goes into a node of its own."""
        if any(self.form_of(r) == "rule.every(" for r in roots):
            return ["return rule.decline('only looked at')"]
        new = {
            "": "op.identity({0})",
            "halves(": "[op.identity(v) for v in {0}]",
            "rule.repeated(": "op.identity({0}.links[-1])",
        }
        returned = f"return {', '.join(new[self.form_of(r)].format(r) for r in roots)}"
        if "decline" not in self.features or not plain:
            return [returned]
        self.kinds["decline"] += 1
        self.declining = plain[0]
        return [
            f"if {plain[0]} and {plain[0]}.is_constant:",
            "    return rule.decline('a constant')",
            returned,
        ]

    def shrinking(self, roots: list[str], plain: list[str]) -> list[str]:
        """What stands below the yield: the first value that is bound, or a small node on it, is put for all roots."""
        made = ["bound", "bound", "op.neg(bound)", "op.mul(bound, bound)", "op.relu(op.neg(bound))"]
        all_of = {"": "{0}", "halves(": "*{0}", "rule.repeated(": "{0}.links[-1]", "rule.every(": "*{0}.nodes"}
        new = {"": "new", "halves(": "[new, new]", "rule.repeated(": "new", "rule.every(": "[new for _ in {0}.nodes]"}
        old = [all_of[self.form_of(r)].format(r) for r in roots]
        return [
            f"bound = next((v for v in [{', '.join(plain)}] if v), None)",
            f"if bound is None or any(n.type != bound.type for n in [{', '.join(old)}]):",
            "    return rule.decline('it does not fit')",
            f"new = {self.rng.choice(made)}",
            f"return {', '.join(new[self.form_of(r)].format(r) for r in roots)}",
        ]


def _names(line: str) -> list[str]:
    return re.findall(r"\w+", line.partition(" = ")[0])


def _without_negations(text: str) -> str:
    return re.sub(r"~(op\.\w+\([^()]*\)|\w+)", "", text)


def rule_of(source: str) -> Any:
    """The rule that a text says."""
    scope = {"rule": rule, "op": op, "np": np, "Constant": Constant, **NAMES}
    before = set(scope)
    exec(compile(source, "generated", "exec", dont_inherit=True), scope)
    return next(scope[name] for name in scope if name not in before and name != "__builtins__")
