"""Names in a rule's function that are misspelt or used too early are reported when the rule is written."""

from __future__ import annotations

import builtins
import textwrap

import pytest

from graphrewrite import decline, op, rule
from graphrewrite.errors import RuleError
from tests.rewriting.test_template import written

HEAD = "def r(x):\n  n = op.relu(x)\n  yield n\n"


def body(lines: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(lines).strip("\n"), "  ")


@pytest.mark.parametrize(
    ("lines", "name", "line"),
    [
        ("y, = map(scaled, [x])\nscaled = op.neg\nreturn y", "scaled", 5),
        ("y = op.neg(z)\nz = op.abs(y)\nreturn z", "z", 5),
        ("total += 1\nreturn op.neg(x)", "total", 5),
        ("if n.readers:\n  return op.neg(y)\ny = x\nreturn op.abs(y)", "y", 6),
        ("for i in range(3):\n  x = op.add(x, y)\ny = 1\nreturn x", "y", 6),
        ("while y:\n  pass\ny = 1\nreturn x", "y", 5),
        ("try:\n  z = y\n  y = 1\nexcept ValueError:\n  y = 2\nreturn op.add(x, y)", "y", 6),
        ("with open(y) as y:\n  pass\nreturn x", "y", 5),
        ("f = lambda: later\nz = later\nlater = x\nreturn f()", "later", 6),
        ("def inner(a):\n  b = c\n  c = a\n  return b\nreturn inner(x)", "c", 6),
        ("if (z := y) and (y := 1):\n  return z\nreturn x", "y", 5),
        ("match z:\n  case z:\n    return z\nreturn x", "z", 5),
    ],
)  # fmt: skip
def test_a_name_that_is_used_before_its_assignment_is_reported(lines, name, line):
    with pytest.raises(RuleError, match=rf"rule 'r' \(my_rules.py:1\): uses '{name}' in line {line}, before it is as"):
        written(body(lines))


@pytest.mark.parametrize(
    "lines",
    [
        "if n.readers:\n  y = 1\nelse:\n  y = 2\nreturn op.add(x, y)",
        "if n.readers:\n  y = 1\nreturn op.add(x, y)",
        "for i in range(3):\n  if i:\n    x = op.add(x, y)\n  y = i\nreturn x",
        "while True:\n  if n.readers:\n    break\n  n = x\nreturn op.neg(n)",
        "y = None\nwhile y is None:\n  if y:\n    z = w\n  w = y = 1\nreturn x",
        "try:\n  y = 1 / x.readers\nexcept ZeroDivisionError:\n  y = 2\nreturn op.add(x, y)",
        "try:\n  y = 1\n  1 / 0\nexcept ValueError as e:\n  return decline(f'{e} {y}')\nfinally:\n  z = 2\nreturn x",
        "while 1:\n  try:\n    if n.readers > 3:\n      return op.add(x, y)\n    y = 1\n  except KeyError:\n    pass",
        "if (y := n.readers) > 1 and y:\n  return op.neg(x)\nreturn op.add(x, y)",
        "def twice(a):\n  return once(once(a))\ndef once(a):\n  return op.neg(a)\nreturn twice(x)",
        "f = lambda: y\ny = x\nreturn f()",
        "def start():\n  nonlocal y\n  y = x\nstart()\nz = y\ny = 1\nreturn z",
        "xs = [y for y in [x] if (z := y)]\nreturn op.add(z, xs[0])",
        "xs = {k: v for k, v in {1: x}.items()}\nk = 1\nreturn xs[k]",
        "y = [i for i in [1] for j in [i] if j]\ni = j = 0\nreturn op.add(x, y[i + j])",
        "for a, *b in [[x, n]]:\n  pass\nreturn op.neg(a)",
        "import math\nreturn op.mul(x, math.pi)",
        "with open(__file__) as f:\n  y = f\nreturn op.neg(x) if y else x",
        "y = 1\ndel y\ny = 2\nreturn op.add(x, y)",
        "match [x, n]:\n  case [a, b] if a:\n    return op.add(a, b)\n  case c:\n    return op.neg(c)",
        "y = x and z if (z := n.readers) else x\nreturn op.neg(y)",
        "return op.neg(x) if n.readers else op.abs(x)\ny = z\nz = 1",
        "class Pair:\n  a = 1\n  b = a\nreturn op.add(x, Pair.b)",
        "def some(*rest, key=0, **more):\n  yield from rest\n  yield from more or [key]\nreturn next(some(x))",
    ],
)  # fmt: skip
def test_whatever_may_have_a_value_is_no_mistake(lines):
    assert written(body(lines)).name == "r"


def test_a_helper_may_stand_below_the_rule_that_names_it():
    source = "@rule\ndef r(scale):\n  yield op.relu(scale)\n  y, = map(scaled, [scale])\n  return y\n"
    names = {"rule": rule, "op": op, "decline": decline}
    exec(compile(source + "def scaled(x): return op.neg(x)", "my_rules.py", "exec"), names)
    with pytest.raises(RuleError, match=r"does not know the name 'scaled'; did you mean 'scale'\?"):
        exec(compile(source, "my_rules.py", "exec"), {"rule": rule, "op": op})
    assert not hasattr(builtins, "scaled")


# ---------------------------------------------------------------------- what a negation alone binds

DENIED = "def r(x, y, k):\n  n, other = op.relu(x), op.clip(op.neg(y), low=k)\n  yield n, ~other\n"


def denied(lines: str) -> str:
    return DENIED + textwrap.indent(lines, "  ")


@pytest.mark.parametrize(
    ("lines", "name", "line"),
    [
        ("return op.add(x, y)", "y", 5),
        ("return op.clip(x, low=k)", "k", 5),
        ("z = op.neg(x)\nreturn op.add(z, other)", "other", 6),
        ("if n.readers:\n  y = x\nreturn op.neg(y)", "y", 7),
        ("return [y for _ in [x]][0]", "y", 5),
        ("later = lambda: y\nreturn later()", "y", 5),
        ("y = op.neg(y)\nreturn y", "y", 5),
    ],
)
def test_a_name_that_only_a_negation_binds_is_reported(lines, name, line):
    with pytest.raises(RuleError, match=rf"uses '{name}' in line {line}, below its yield, and only ~clip\(neg\(y\), "):
        written(denied(lines))


@pytest.mark.parametrize(
    "lines",
    [
        "return op.neg(x)",
        "y = x\nreturn op.neg(y)",
        "for y in [x]:\n  pass\nother = k = x\nreturn op.add(op.neg(other), k)",
    ],
)
def test_a_name_that_a_negation_binds_may_have_another_value_below(lines):
    assert written(denied(lines)).name == "r"


def test_a_name_that_is_matched_too_has_a_value():
    assert written("def r(x, y):\n  yield op.sub(x, ~op.neg(y) | y), ~op.add(x, y)\n  return op.neg(y)").name == "r"
    assert written("def r(x, k):\n  yield op.clip(x, low=k), ~op.clip(x, high=k)\n  return op.mul(x, k)").name == "r"
