"""Which replacements are kept as data: those that depend on nothing but what stands in the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import Constant, Graph, Tensor, decline, define_op, evaluate, op, rewrite, rule
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.op import Op
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateNode, is_conjunctive, matches_itself
from tests.support.sources import affine, halves, scale

VECTOR = Tensor("f32", (3,))
FACTOR = 2.0
SETTINGS = {"is there": True}


@define_op(stateful=True)
def ticking(a):
    """Gives something else each time."""
    return a


def helper(value: Any) -> Any:
    return op.neg(value)


def written(body: str, **scope: Any) -> Rule:
    """A rule from its source; names that it uses besides ops are given."""
    names = {"rule": rule, "op": op, "Constant": Constant, "decline": decline, "np": np, **scope}
    exec(compile(f"@rule\n{body}", "my_rules.py", "exec"), names)
    found: Rule = names["r"]
    return found


def template_of(found: Rule) -> Template | None:
    return found.definition.template


def drawn(template: Template) -> list[str]:
    """A template in words."""

    def name(value: Any) -> str:
        if isinstance(value, Hole):
            return f"hole {value.place}"
        if isinstance(value, TemplateNode):
            return f"new {template.nodes.index(value)}"
        return repr(value)

    lines = []
    for new in template.nodes:
        more = [f"{k}={v!r}" for k, v in new.attributes.items()] + [f"{k}=<{v}>" for k, v in new.captured.items()]
        more += [f"like <{new.like}>"] if new.like is not None else []
        lines.append(" ".join([new.op.name, *map(name, new.operands), *more]))
    return [*lines, *map(name, template.values)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def r(x):\n  yield op.neg(x)\n  return x", ["hole -1"]),
        ("def r(x, y):\n  yield op.sub(x, y)\n  return y", ["hole -2"]),
        ("def r(x):\n  n = op.neg(x)\n  yield op.abs(n)\n  return n", ["hole 0"]),
        ("def r(x):\n  n = op.neg(x)\n  yield op.abs(n)\n  return op.relu(n)", ["relu hole 0", "new 0"]),
        ("def r(x, y):\n  yield op.sub(x, y)\n  return op.add(y, op.neg(x))",
         ["neg hole -1", "add hole -2 new 0", "new 1"]),
        # What the replacement does not need is not added.
        ("def r(x):\n  yield op.neg(x)\n  op.exp(x)\n  return op.abs(x)", ["abs hole -1", "new 0"]),
        ("def r(x):\n  yield op.neg(x)\n  n = op.abs(x)\n  return op.mul(n, n)",
         ["abs hole -1", "mul new 0 new 0", "new 1"]),
        ("def r(x):\n  yield op.neg(x)\n  return op.sub(0, x)", ["sub 0 hole -1", "new 0"]),
        ("def r(x, w):\n  yield affine(x, w)\n  return affine(w, x, None)", ["affine hole -2 hole -1", "new 0"]),
        ("def r(x, k):\n  yield scale(x, by=k)\n  return scale(op.neg(x), by=k)",
         ["neg hole -1", "scale new 0 by=<1>", "new 1"]),
        ("def r(x, k):\n  yield scale(x, by=k)\n  return scale(op.neg(x), by=k, axes=[1])",
         ["neg hole -1", "scale new 0 axes=(1,) by=<1>", "new 1"]),
        ("def r(x):\n  s = scale(x, by=3)\n  yield op.neg(s)\n  return scale(op.abs(x), like=s)",
         ["abs hole -1", "scale new 0 like <0>", "new 1"]),
        ("def r(x):\n  s = scale(x, by=3)\n  yield op.neg(s)\n  return s.op(op.abs(x))",
         ["abs hole -1", "scale new 0", "new 1"]),
        ("def r(x, y):\n  yield op.neg(x), op.abs(y)\n  return y, op.relu(x)", ["relu hole -1", "hole -2", "new 0"]),
    ],
)  # fmt: skip
def test_a_replacement_is_read_as_it_is_written(body, expected):
    template = template_of(written(body, affine=affine, scale=scale))
    assert template is not None
    assert drawn(template) == expected


@pytest.mark.parametrize(
    "body",
    [
        "def r(x):\n  yield op.neg(x)\n  return op.mul(x, x.shape[0])",
        "def r(x):\n  yield op.neg(x)\n  return op.abs(x) if x else x",
        "def r(x, y):\n  yield op.sub(x, y)\n  return op.abs(x) if x == y else x",
        "def r(x, y):\n  yield op.sub(x, y)\n  return op.abs(x) if x != y else x",
        "def r(x):\n  yield op.neg(x)\n  n = op.abs(x)\n  return n if n else x",
        "def r(x):\n  yield op.neg(x)\n  n = op.abs(x)\n  return n if n.type else x",
        "def r(x):\n  yield op.neg(x)\n  a, b = op.abs(x)\n  return a",
        "def r(x):\n  yield op.neg(x)\n  a, b = x\n  return a",
        "def r(x):\n  yield op.neg(x)\n  return x.op(x)",
        "def r(x):\n  n = (op.neg | op.abs)(x)\n  yield op.relu(n)\n  return n.op(x)",
        "def r(x, k):\n  yield scale(x, by=k)\n  return scale(x, by=k + 1)",
        "def r(x, k):\n  yield scale(x, by=k)\n  return op.neg(x) if k else x",
        "def r(x, k):\n  yield scale(x, by=k)\n  return op.neg(x) if k == 1 else x",
        "def r(x, k):\n  yield scale(x, by=k)\n  return op.mul(x, k)",
        "def r(x, k):\n  yield scale(x, by=k)\n  return scale(x, axes=(k, 0))",
        "def r(x, k):\n  yield scale(x, by=k)\n  return scale(x, axes=[[k]])",
        "def r(x, k):\n  yield scale(x, by=k)\n  return op.abs(x) if k.real else x",
        "def r(x):\n  yield op.neg(x)\n  return scale(x, by=x)",
        "def r(x):\n  yield op.neg(x)\n  return scale(x, axes=(op.abs(x),))",
        "def r(x, k):\n  yield scale(x, by=k)\n  return k",
        "def r(x):\n  yield op.neg(x)\n  return 3.0",
        "def r(x):\n  yield op.neg(x)\n  return rule.nothing",
        "def r(x):\n  yield op.neg(x)\n  return decline('never')",
        "def r(x):\n  yield op.neg(x)\n  return ticking(x)",
        "def r(x):\n  yield op.neg(x)\n  return scale(op.abs(x), like=x)",
        "def r(x):\n  yield op.neg(x)\n  return scale(op.abs(x), like=op.relu(x))",
        "def r(x):\n  yield op.neg(x)\n  return op.mul(x, FACTOR)",
        "def r(x):\n  yield op.neg(x)\n  return helper(x)",
        "def r(x):\n  yield op.neg(x)\n  return op.mul(x, np.float32(2))",
        "def r(x):\n  yield op.neg(x)\n  return op.abs(x) if SETTINGS['is there'] else x",
        "def r(x):\n  yield op.neg(x)\n  return (lambda: x)()",
        "def r(x):\n  yield op.neg(x)\n  import math\n  return x",
        "def r(x):\n  global SEEN\n  yield op.neg(x)\n  SEEN = 1\n  return x",
        "def r(x):\n  global FACTOR\n  yield op.neg(x)\n  del FACTOR\n  return x",
        # Patterns that are not plain.
        "def r(x, b=None):\n  yield affine(x, x, b)\n  return x",
        "def r(xs):\n  yield op.concat(*xs, axis=0)\n  return op.concat(*xs, axis=0)",
        "def r(x):\n  yield rule.any_op(x)\n  return x",
        "def r(x):\n  yield op.neg(x), ~op.abs(x)\n  return x",
        "def r(x):\n  a, b = halves(x)\n  yield op.sub(a, b)\n  return x",
        "def r(x):\n  yield op.abs(op.neg(x) | x)\n  return x",
        "def r(x):\n  yield rule.repeated(x, op.relu)\n  return x",
        "def r(x, y):\n  yield op.sub(x, ~y)\n  return x",
    ],
)
def test_a_replacement_that_a_match_or_the_world_decides_is_no_data(body):
    names = {
        "affine": affine, "scale": scale, "halves": halves, "ticking": ticking,
        "helper": helper, "FACTOR": FACTOR, "SETTINGS": SETTINGS,
    }  # fmt: skip
    found = written(body, **names)
    assert template_of(found) is None
    assert found.definition.depends_on_values
    assert not found.definition.contains_itself


def test_what_a_rule_names_is_looked_up_when_it_is_applied():
    settings = {"factor": 2.0}

    @rule
    def double(x):
        yield op.neg(x)
        return op.mul(x, settings["factor"])

    graph = Graph.parse("graph g\nx = input() : f32[3]\nn = neg(x)\ny = output(n)")
    for settings["factor"] in (2.0, 5.0):
        made = rewrite(graph, [double])
        assert evaluate(made, {"x": np.ones(3, np.float32)})["y"].tolist() == [settings["factor"]] * 3


def test_ops_of_an_enclosing_function_are_closed_and_names_that_are_not_there_yet_are_not():
    inner: Op = op.abs

    @rule
    def known(x):
        yield op.neg(x)
        return inner(x)

    assert template_of(known) is not None

    @rule
    def unknown(x):
        yield op.neg(x)
        return later(x)

    assert template_of(unknown) is None
    later = op.abs
    graph = Graph.parse("graph g\nx = input() : f32[3]\nn = neg(x)\ny = output(n)")
    assert "abs_1" in rewrite(graph, [unknown])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def r(x):\n  yield op.neg(x)\n  return x, x", "yields 1 nodes and returns 2 values; return one for each"),
        ("def r(x, y):\n  yield op.neg(x), op.abs(y)\n  return y", "yields 2 nodes and returns 1 values"),
        ("def r(x):\n  yield op.neg(x)\n  return op.add(x)", "its replacement is wrong: add needs operand 'y'"),
        (
            "def r(x):\n  yield op.neg(x)\n  return op.abs(x, x)",
            "its replacement is wrong: abs takes at most 1 operands",
        ),
        ("def r(x):\n  yield op.neg(x)\n  return scale(x, bye=1)", "its replacement is wrong: .*'bye'"),
    ],
)
def test_a_replacement_that_is_wrong_whatever_the_match_is_refused_at_once(body, message):
    with pytest.raises(RuleError, match=rf"rule 'r' \(my_rules.py:1\): {message}"):
        written(body, scale=scale)


def test_attributes_that_like_gives_need_not_be_complete():
    found = written(
        "def r(x):\n  p = op.max_pool(x, kernel=(2, 2))\n  yield op.relu(p)\n  return op.max_pool(op.relu(x), like=p)"
    )
    template = template_of(found)
    assert template is not None
    assert drawn(template) == ["relu hole -1", "max_pool new 0 like <0>", "new 1"]
    with pytest.raises(RuleError, match=r"its replacement is wrong.*kernel"):
        written("def r(x):\n  yield op.relu(op.max_pool(x, kernel=(2, 2)))\n  return op.max_pool(op.relu(x))")


# ---------------------------------------------------------------------- rules that go round


@pytest.mark.parametrize(
    ("body", "itself"),
    [
        ("def r(x):\n  yield op.neg(x)\n  return op.abs(op.neg(x))", True),
        ("def r(x):\n  yield op.neg(op.abs(x))\n  return op.abs(op.neg(x))", False),
        ("def r(x):\n  yield op.abs(op.abs(x))\n  return op.abs(x)", False),
        ("def r(x):\n  yield op.abs(x)\n  return op.abs(op.abs(x))", True),
        ("def r(x, y):\n  yield op.sub(x, y)\n  return op.neg(op.sub(y, x))", True),
        ("def r(x, y):\n  yield op.sub(x, op.neg(y))\n  return op.sub(op.neg(y), x)", False),
        ("def r(x, y):\n  yield op.add(x, op.neg(y))\n  return op.add(op.neg(y), x)", True),
        ("def r(x):\n  yield op.sub(x, x)\n  return op.sub(op.neg(x), x)", False),
        ("def r(x):\n  yield op.sub(x, x)\n  n = op.neg(x)\n  return op.sub(n, n)", True),
        ("def r(x, c: Constant):\n  yield op.mul(x, c)\n  return op.mul(c, op.neg(x))", True),
        ("def r(x, y, c: Constant):\n  yield op.sub(x, op.mul(c, y))\n  return op.sub(op.mul(c, y), x)", False),
        ("def r(x, c: Constant):\n  yield op.sub(x, c)\n  return op.sub(c, x)", False),
        ("def r(x):\n  yield op.mul(x, 2)\n  return op.mul(op.neg(x), 2)", True),
        ("def r(x):\n  yield op.mul(x, 2)\n  return op.mul(op.neg(x), 3)", False),
        ("def r(x, c: Constant):\n  yield op.sub(x, op.mul(c, 2))\n  return op.sub(x, op.mul(2, c))", True),
        ("def r(x, c: Constant):\n  yield op.sub(op.mul(x, 1), c)\n  return op.sub(op.mul(x, c), c)", False),
        ("def r(x):\n  yield scale(x, by=2)\n  return scale(op.neg(x), by=2)", True),
        ("def r(x):\n  yield scale(x, by=2)\n  return scale(op.neg(x), by=3)", False),
        ("def r(x):\n  yield scale(x, by=1)\n  return scale(op.neg(x))", True),
        ("def r(x):\n  yield op.neg(x)\n  return x", False),
        # What only a match tells may end it.
        ("def r(x, k):\n  yield scale(x, by=k)\n  return scale(op.neg(x), by=k)", False),
        ("def r(x):\n  s = scale(x)\n  yield s\n  return scale(op.neg(x), like=s)", False),
    ],
)
def test_a_pattern_that_is_found_in_its_replacement_is_seen(body, itself):
    found = written(body, scale=scale)
    template = template_of(found)
    assert template is not None
    assert is_conjunctive(found.pattern)
    assert matches_itself(found.pattern, template) == itself == found.definition.contains_itself


def test_a_rule_that_contains_itself_is_refused_where_nothing_ends_it():
    found = written("def r(x):\n  yield op.neg(x)\n  return op.abs(op.neg(x))")
    graph = Graph.parse("graph g\nx = input() : f32[3]\nn = neg(x)\ny = output(n)")
    with pytest.raises(RewriteError, match=r"rule 'r' .*contains its own pattern"):
        rewrite(graph, [found])
