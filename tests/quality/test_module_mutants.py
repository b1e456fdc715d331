"""Mutants of modules: they are made of every kind, each differs from its original, and tests concern each module."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path, PurePath

import pytest

from tests.quality.equivalent_module_mutants import EQUIVALENT
from tests.quality.figures.concerning import CONCERNING, concerning
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


def parts(statement: ast.stmt) -> list[ast.stmt]:
    """A statement, or the members of a class."""
    return statement.body if isinstance(statement, ast.ClassDef) else [statement]


def test_tests_concern_every_module() -> None:
    assert [place for place in CONCERNING if not (ROOT / place).exists() and not (ROOT / f"{place}.py").exists()] == []
    named = {test for tests in CONCERNING.values() for test in tests}
    assert [test for test in sorted(named) if not (ROOT / test).exists()] == []
    assert all(concerning(PurePath(path.relative_to(ROOT))) for path in MODULES)


def test_what_is_known_as_equivalent_is_still_made() -> None:
    """What changed since is to be looked at again: run ``make quality PARTS=mutation``."""
    named = [name for names in EQUIVALENT.values() for name in names]
    assert len(named) == len(set(named))
    files = {name.partition(": ")[0] for name in named}
    made = {mutant.name for file in files for mutant in mutants(ROOT / f"{file}.py")}
    assert set(named) <= made
