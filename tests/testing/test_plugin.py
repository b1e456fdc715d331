"""``pytest --check-rules``: as somebody uses it who has rules, and no tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from graphrewrite.rewriting.rule_sets import NamingError, named

pytestmark = pytest.mark.slow

RULES = """

from graphrewrite import Constant, Pipeline, decline, define_op, op, pass_, rule


@rule
def double_negation(x):
    yield op.neg(op.neg(x))
    return x


@rule
def swapped(x, y):
    yield op.sub(x, y)
    return op.neg(op.add(x, y))


@define_op
def thrice(x):
    return 3 * x


@rule
def own(x):
    yield thrice(x)
    return op.add(x, x)


@pass_
def forgetful(graph):
    gone = [name for name, data in graph.nodes.items() if data["type"] == "neg"]
    graph.remove_nodes_from(gone)
    return gone


def lowering(graph):
    made = graph.copy()
    for name in made:
        if made.nodes[name]["type"] == "add":
            made.nodes[name]["type"] = "sub"
    return made


@rule
def rare(x, c: Constant):
    yield op.sub(x, c)
    if c.readers < 2:
        return decline("not today")
    return op.add(x, -c.value)


@define_op(infer=lambda x: x)
def stubborn(x):
    raise ValueError("no value")


@rule
def blind(x):
    yield op.neg(stubborn(x))
    return op.identity(stubborn(x))


RULES = (double_negation, swapped, own)
THIN = (rare, blind)
PIPE = Pipeline((double_negation,), (swapped,), name="pipe")
LATER = (lowering, PIPE, forgetful)
NUMBER = 3
EMPTY = ()
BROKEN = {"a": double_negation, "b": 4}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    """A folder with one module."""
    folder: Path = tmp_path_factory.mktemp("user")
    (folder / "shop.py").write_text(RULES, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | more
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


def pasted_tests(output: str) -> dict[str, str]:
    """The tests that failures print, by name."""
    found = {}
    for part in output.split("a test that fails:\n\n")[1:]:
        code = part.partition("\npicture: ")[0].partition("\nno picture: ")[0]
        found[code.partition("def test_")[2].partition("(")[0]] = code
    return found


def repaired(source: str) -> str:
    for wrong, right in (
        ("op.neg(op.add(x, y))", "op.add(x, op.neg(y))"),
        ("return op.add(x, x)", "return op.add(op.add(x, x), x)"),
        ("gone = [", "gone = [][:0] and ["),
        ('["type"] == "add"', '["type"] == "never"'),
    ):
        assert wrong in source
        source = source.replace(wrong, right)
    return source


@pytest.mark.slow(cases=0)
def test_failures_say_all_and_their_tests_fail_until_the_rules_are_repaired(shop, tmp_path):
    asked = ("--check-rules", "shop:RULES", "--check-rules", "shop:LATER", "--hypothesis-seed", "0")
    done = run(shop, *asked, "--junit-xml", str(tmp_path / "out"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "check-rules: 6 of shop:RULES, shop:LATER\n" in done.stdout
    assert "5 failed, 1 passed" in done.stdout
    assert "swapped: refuted: output y" in done.stdout
    assert "first difference: `sub_1`" in done.stdout
    assert "made by: swapped" in done.stdout
    assert "inputs: x = np.array(" in done.stdout
    assert "forgetful leaves an edge dangling" in done.stdout
    cases = ET.parse(tmp_path / "out").getroot().iter("testcase")
    verdicts = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    assert verdicts["double_negation"] == {"verdict": "preserved", "graphs": "200", "seed": "0"}
    assert verdicts["own"]["verdict"] == "refuted"

    tests = pasted_tests(done.stdout)
    assert sorted(tests) == ["forgetful", "lowering", "own", "pipe", "swapped"]
    for name, code in tests.items():
        (tmp_path / f"test_{name}.py").write_text(code, encoding="utf-8")
    (tmp_path / "shop.py").write_text(RULES, encoding="utf-8")
    wrong = run(tmp_path, "-q", PYTHONPATH=str(tmp_path))
    assert "5 failed" in wrong.stdout, wrong.stdout
    (tmp_path / "shop.py").write_text(repaired(RULES), encoding="utf-8")
    right = run(tmp_path, "-q", PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
    assert "5 passed" in right.stdout, right.stdout


def test_a_picture_is_saved_or_it_says_why_not(shop, tmp_path):
    pytest.importorskip("pydot")
    taken = tmp_path / "taken"
    taken.touch()
    done = run(shop, "--check-rules", "shop:own", "--check-rules-output", str(taken))
    assert done.returncode == 1
    assert "own: refuted: output y" in done.stdout
    assert list(pasted_tests(done.stdout)) == ["own"]
    assert "no picture: " in done.stdout
    assert list(tmp_path.iterdir()) == [taken]


@pytest.mark.slow(cases=0)
def test_what_was_hardly_compared_warns_and_what_was_not_fails(shop):
    done = run(shop, "--check-rules", "shop:THIN", "--hypothesis-seed=1")
    assert "1 failed, 1 passed, 1 warning" in done.stdout
    assert "EvidenceWarning: rare: weak: preserved in " in done.stdout
    assert "blind: not compared in " in done.stdout
    assert "no value" in done.stdout


@pytest.mark.slow(cases=0)
def test_what_pytest_is_asked_for_holds(shop):
    done = run(shop, "--check-rules", "shop:RULES", "-x", "-q", "--no-header")
    assert "1 failed, 1 passed" in done.stdout
    done = run(shop, "--check-rules", "shop:RULES", "-k", "double", "-n", "2")
    assert "1 passed" in done.stdout


def test_rules_are_listed_and_a_wrong_name_is_an_error_of_use(shop):
    done = run(shop, "--check-rules", "shop:RULES", "--collect-only", "-q")
    listed = ["shop:RULES::double_negation", "shop:RULES::swapped", "shop:RULES::own"]
    assert done.stdout.splitlines()[:3] == listed
    done = run(shop, "--check-rules", "shop:RULE")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.strip() == "ERROR: --check-rules: 'shop' has no 'RULE'; did you mean 'RULES'?"


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("shop.py", "'shop.py' is not of the form package.module:RULES; a module is imported: write shop"),
        ("shopp:RULES", "there is no module 'shopp'; did you mean 'shop'?"),
        ("shop.rules:RULES", "'shop' is a module and no package: write shop:rules"),
        ("shop:NUMBER", "'shop:NUMBER' is of type int; name a rule, a pass, a pipeline, "),
        ("shop:EMPTY", "'shop:EMPTY' is empty; name another, or put a rule into it"),
        ("shop:BROKEN", "'shop:BROKEN' is of type int; name a rule"),
        ("shop:Pipeline", "'shop:Pipeline' is the class Pipeline; name a rule"),
        ("shop:RULES.first", "'tuple' has no 'first'"),
        ("json", "'json' offers no rules, passes or pipelines; name one: json:RULES"),
        ("raising", "'raising' cannot be imported: ZeroDivisionError: division by zero (" ),
        ("unwritten", "'unwritten' cannot be imported: SyntaxError: "),
        ("ending", "'ending' cannot be imported: SystemExit: 3 ("),
        ("needing", "'needing' needs the module 'nothing_like_it', which is not installed"),
    ],
)  # fmt: skip
def test_a_name_that_leads_to_nothing_says_what_is_there(shop, target, complaint, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(shop), *sys.path])
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    (shop / "raising.py").write_text("1 / 0", encoding="utf-8")
    (shop / "unwritten.py").write_text("def f(:", encoding="utf-8")
    (shop / "ending.py").write_text("raise SystemExit(3)", encoding="utf-8")
    (shop / "needing.py").write_text("import nothing_like_it", encoding="utf-8")
    with pytest.raises(NamingError) as caught:
        named([target], folder=shop)
    assert str(caught.value).startswith(complaint)


def test_a_module_offers_what_it_makes(shop, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(shop), *sys.path])
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    (shop / "other.py").write_text(
        textwrap.dedent("""
        from graphrewrite import op, rule
        from shop import double_negation

        @rule
        def first(x):
            yield op.neg(x)
            return x

        @rule
        def _hidden(x):
            yield op.neg(x)
            return x
        """),
        encoding="utf-8",
    )
    assert [each.name for each in named(["other"], folder=shop)] == ["first"]
    doubled = named(["shop:RULES", "shop:double_negation", "shop:RULES"], folder=shop)
    assert [(each.target, each.name) for each in doubled][2:] == [
        ("shop:RULES", "own"),
        ("shop:double_negation", "double_negation"),
    ]
