"""Mutants of modules: they are made of every kind, each differs from its original, and tests are found for them."""

from __future__ import annotations

import ast
import gc
import os
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphrewrite.lowering.prequantised.movement import move_scale
from tests.quality.equivalent_module_mutants import EQUIVALENT
from tests.quality.figures import module_mutation, mutant_runs
from tests.quality.figures.module_mutation import TESTS, LinesOfTests
from tests.quality.figures.places import SECONDS, UNFINISHED
from tests.quality.module_mutants import MODULE_OPERATORS, ModuleMutant, mutants_of_module

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "hdl" / "timing" / "events.py"
MODULES = sorted(path for package in ("hdl", "lowering") for path in (ROOT / package).rglob("*.py"))


@cache
def mutants(path: Path = EXAMPLE) -> list[ModuleMutant]:
    return list(mutants_of_module(path, ROOT))


def test_faults_of_every_kind_are_planted_under_names_of_their_own() -> None:
    made = [*mutants(), *mutants(ROOT / "lowering" / "prequantised" / "layers.py")]
    assert {mutant.operator for mutant in made} == set(MODULE_OPERATORS)
    assert max(Counter(mutant.name for mutant in made).values()) == 1


@pytest.mark.parametrize("mutant", mutants()[::40], ids=lambda mutant: mutant.name)
def test_a_mutant_differs_in_one_function_and_moves_no_other(mutant: ModuleMutant) -> None:
    before, after = ast.parse(EXAMPLE.read_text(encoding="utf-8")), ast.parse(mutant.source)
    changed = [
        (getattr(old, "name", ""), old.lineno)
        for a, b in zip(before.body, after.body, strict=True)
        for old, new in zip(parts(a), parts(b), strict=True)
        if ast.dump(old) != ast.dump(new)
    ]
    assert [line for _, line in changed] == [mutant.first]
    for a, b in zip(before.body, after.body, strict=True):
        assert a.lineno == b.lineno


def test_what_no_value_depends_on_is_left_as_it_is(tmp_path: Path) -> None:
    source = """def f(x: int | None):
    if x != floor(x) or floor(x) == 3:
        raise ValueError(1 + 2)
    return decline("no", at=x)
"""
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    made = [mutant.name.removeprefix("m: f: ") for mutant in mutants_of_module(tmp_path / "m.py", tmp_path)]
    assert [name for name in made if name.startswith("replace op")] == ["replace op: ceil for floor"]
    assert not any("1" in name or "no," in name for name in made)


def parts(statement: ast.stmt) -> list[ast.stmt]:
    """A statement, or the members of a class."""
    return statement.body if isinstance(statement, ast.ClassDef) else [statement]


def test_the_quickest_tests_of_the_faulty_lines_are_tried_as_long_as_there_is_time() -> None:
    assert [place for place in TESTS if not (ROOT / place).exists()] == []
    path = EXAMPLE.relative_to(ROOT)
    seconds = {"long": SECONDS - 2.5, "short": 1.0, "medium": 2.0, "elsewhere": 0.5}
    lines = {path.as_posix(): {"7": ["", "long", "medium"], "8": ["failed", "short"], "9": ["elsewhere"]}}
    known = LinesOfTests(seconds, lines)
    assert known.running(path, range(7, 9)) == ["short", "medium"]
    assert known.running(path) == ["elsewhere", "short", "medium"]
    assert [known.is_imported(path, [line]) for line in (7, 8, 10)] == [True, False, False]


def test_what_they_do_not_find_is_tried_with_tests_of_the_rule_further_cases_and_those_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = mutants(ROOT / "lowering" / "streaming" / "channelwise.py")[0]
    rules = [
        f"{module_mutation.OF_RULES[0]}::test_it[lowering.streaming.{name}]" for name in ("layers.f", "channelwise.f")
    ]
    rules.append(f"{module_mutation.OF_RULES[1]}::test_it[{mutant.function}]")
    beside = ["tests/a.py::other", "tests/a.py::tried[1]", "tests/a.py::tried[2]", "tests/b.py::far"]

    def collect(*arguments: str) -> None:
        assert "tests/a.py" in arguments
        (tmp_path / "tests.log").write_text("\n".join([*rules, *beside]), encoding="utf-8")

    monkeypatch.setattr(module_mutation, "BUILD", tmp_path)
    monkeypatch.setattr(module_mutation, "_pytest", collect)
    found = module_mutation._further({mutant: ["tests/a.py::tried[1]"]})
    assert found == {mutant: [*rules[:0:-1], "tests/a.py::tried[2]", "tests/a.py::other"]}


def test_tests_that_are_out_of_time_do_not_say_that_a_mutant_survives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(*, item: SimpleNamespace, nextitem: SimpleNamespace | None) -> None:
        ran.append(item.nodeid)

    config = SimpleNamespace(hook=SimpleNamespace(pytest_runtest_protocol=run))
    items = [SimpleNamespace(nodeid=name, config=config) for name in ("a", "b", "c")]
    monkeypatch.setattr(mutant_runs, "process_time", iter([0.0, 1.0, 4.0, 6.0]).__next__)
    session = SimpleNamespace(testsfailed=0)
    assert mutant_runs._first_failure(session, items, 5.0) == UNFINISHED  # type: ignore[arg-type]
    assert ran == ["a", "b"]


def test_what_takes_too_long_in_further_tests_is_unfinished_and_counts_as_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, found = mutants()[:2]
    known = LinesOfTests({}, {EXAMPLE.relative_to(ROOT).as_posix(): {str(line): ["near"] for line in range(999)}})
    verdicts = iter([{slow.name: UNFINISHED, found.name: UNFINISHED}, {slow.name: "timeout", found.name: "far"}])
    monkeypatch.setattr(module_mutation, "lines_of_tests", lambda: known)
    monkeypatch.setattr(module_mutation, "_tried", lambda *_: next(verdicts))
    monkeypatch.setattr(module_mutation, "_further", lambda left: {mutant: ["far"] for mutant in left})
    told = module_mutation.verdicts_of([slow, found], 1)
    assert told == {slow.name: UNFINISHED, found.name: "far"}
    assert [name for name, test in told.items() if test in module_mutation.SURVIVES] == [slow.name]


def test_a_fault_shows_in_the_lines_of_its_statement() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    for mutant in mutants():
        assert mutant.first <= mutant.lines.start < mutant.lines.stop <= mutant.last + 1
        if mutant.operator == "negate condition":
            assert any(
                word in lines[line - 1] for line in mutant.lines for word in ("if", "==", "<", ">", " in ", " is ")
            )


def test_what_is_known_as_equivalent_is_still_made() -> None:
    """What changed since is to be looked at again: run ``make quality PARTS=mutation``."""
    named = [name for names in EQUIVALENT.values() for name in names]
    assert len(named) == len(set(named))
    files = {name.partition(": ")[0] for name in named}
    made = {mutant.name for file in files for mutant in mutants(ROOT / f"{file}.py")}
    assert set(named) <= made


ROWS = """def row(factor):
    def compute(x):
        return x * factor + 1

    return compute


def twice(x):
    return x * 2


TABLE = {"double": row(2), "triple": row(3)}
"""


def test_functions_that_others_made_at_the_import_are_changed_as_well(tmp_path: Path) -> None:
    """Rows of a table are made once; what reads other variables than before has to be imported."""
    path = tmp_path / "rows.py"
    path.write_text(ROWS, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(ROWS, str(path), "exec"), space)
    functions = mutant_runs._functions()
    found = {}
    for mutant in mutants_of_module(path, tmp_path):
        one = {"path": str(path), "file": str(path), "source": mutant.source, "function": mutant.function}
        code = [(each, each.__code__) for places in functions.values() for each in places if each.__globals__ is space]
        is_planted = mutant_runs._plant(one | {"first": mutant.first}, functions, [])
        values = [row(5) for row in space["TABLE"].values()] + [space["row"](4)(5), space["twice"](5)]
        found[mutant.name.removeprefix("rows: ")] = values if is_planted else None
        for each, before in code:
            each.__code__ = before
    assert found["row: off by one: 2 for 1"] == [12, 17, 22, 10]
    assert found["row: replace op: another sign in x * factor"] == [3.5, 5 / 3 + 1, 2.25, 10]
    assert found["twice: off by one: 3 for 2"] == [11, 16, 21, 15]
    one |= {"source": ROWS.replace("x * factor", "x"), "function": "row", "first": 1}
    assert not mutant_runs._plant(one, functions, [])


def test_the_pattern_of_a_rule_is_that_of_its_mutant() -> None:
    path = ROOT / "lowering" / "prequantised" / "movement.py"
    mutant = next(each for each in mutants(path) if each.name.endswith("move_scale: off by one: 1 for 0"))
    gc.unfreeze()  # what was imported is frozen in our runs
    kept = mutant_runs._kept()
    before, state, code = str(move_scale.pattern), dict(vars(move_scale)), move_scale.function.__code__
    one = {"path": os.path.realpath(path), "file": str(path), "source": mutant.source, "function": mutant.function}
    try:
        assert mutant_runs._plant(one | {"first": mutant.first}, mutant_runs._functions(), kept)
        assert str(move_scale.pattern) == before.replace("fraction=0", "fraction=1") != before
    finally:
        move_scale.function.__code__ = code
        vars(move_scale).update(state)
        for each in kept:
            if hasattr(each, "cache_clear"):
                each.cache_clear()
