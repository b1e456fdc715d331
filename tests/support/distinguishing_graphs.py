"""Record graphs that tell rules of the lowerings from mutants of them, and name mutants that none tells apart.

``python -m tests.support.distinguishing_graphs ROOM … [--of TESTS]``: graphs of rules in these folders or modules, as
``streaming`` or ``prequantised/layers``, are drawn, are near such graphs, or are cut out of networks that tests lower.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import os
import resource
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from pathlib import Path
from types import FrameType, FunctionType

import numpy as np

from graphrewrite import Graph, Rule, rewrite
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats import to_text
from tests.quality.figures.mutant_runs import codes_in
from tests.quality.module_mutants import ModuleMutant, mutants_of_module
from tests.support.lowering_rules import OPS, RULES
from tests.support.neighbouring_graphs import neighbours
from tests.support.places_of_tests import places_of
from tests.support.record_rewrites import FILE, LONGEST, candidates, compare, with_inputs
from tests.support.recorded_texts import assert_near
from tests.support.traced_lines import Lines

__all__ = ["Place", "add_places", "distinguishing", "places_with_lines"]

ROOT = Path(__file__).parents[2]
_SECONDS = 2.0
"""What a rule may take, of one graph: mutants that loop take longer."""
_MEMORY = 6 << 30


@dataclass(frozen=True, eq=False)
class Place:
    """A graph, by its text, and what a rule makes of it."""

    name: str
    text: str
    graph: Graph
    after: str
    lines: frozenset[tuple[str, int]]


def places_with_lines(texts: dict[str, list[str]]) -> list[Place]:
    """Run rules on graphs; return what they make, and which lines of the lowerings run."""
    found = []
    for name, each in texts.items():
        for text in each:
            graph = Graph.parse(text, ops=OPS)
            try:
                with Lines() as lines, np.errstate(all="ignore"):
                    made = rewrite(graph, [RULES[name]])
            except GraphRewriteError as error:
                print("FAILS", name, error, text, sep="\n")
                continue
            ran = frozenset((os.path.realpath(file), line) for file, _, line in lines.seen)
            found.append(Place(name, text, graph, to_text(made, whole=True), ran))
    return found


def distinguishing(
    rooms: str | tuple[str, ...], places: Iterable[Place], kept: Iterable[Place] = ()
) -> tuple[list[Place], list[str], list[str]]:
    """Return places that tell all mutants of rooms that any can; mutants that none does; and those that none runs."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    chosen, others = [*kept], [*places]
    functions, caches = _functions(), [each for each in gc.get_objects() if _is_cache(each)]
    survivors, not_run = [], []
    for path in sorted((ROOT / "lowering").rglob("*.py")):
        if not path.relative_to(ROOT / "lowering").as_posix().startswith(rooms):
            continue
        real = os.path.realpath(path)
        running = [each for each in (*chosen, *others) if any(file == real for file, _ in each.lines)]
        for mutant in mutants_of_module(path, ROOT):
            lines = {(real, line) for line in mutant.lines}
            fitting = [each for each in running if each.lines & lines]
            fitting.sort(key=lambda each: (each not in chosen, len(each.text)))
            if not fitting:
                not_run.append(mutant.name)
                continue
            with _planted(mutant, functions, caches) as is_planted:
                rules: dict[str, Rule] = {}
                finder = next((each for each in fitting if _differs(each, rules)), None) if is_planted else None
            if finder is None:
                survivors.append(mutant.name)
            elif finder not in chosen:
                chosen.append(finder)
    return chosen, survivors, not_run


def _is_cache(each: object) -> bool:
    return type(each) is _lru_cache_wrapper and str(each.__module__).startswith("graphrewrite.")


def _functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    found: defaultdict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is FunctionType and "lowering" in each.__code__.co_filename:
            code = each.__code__
            found[os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno].append(each)
    return found


@contextmanager
def _planted(
    mutant: ModuleMutant,
    functions: dict[tuple[str, str, int], list[FunctionType]],
    caches: list[_lru_cache_wrapper[object]],
) -> Iterator[bool]:
    """Give functions the code of a mutant for a while; tell whether there are any."""
    tree = compile(mutant.source, str(mutant.path), "exec", dont_inherit=True)
    codes = [c for c in codes_in(tree) if c.co_firstlineno == mutant.first and c.co_name == mutant.function]
    changed = functions.get((os.path.realpath(mutant.path), mutant.function, mutant.first), [])
    before = [(each, each.__code__) for each in changed]
    try:
        for each in changed:
            each.__code__ = codes[0].replace(co_filename=each.__code__.co_filename)
        _forget(caches)
        yield bool(changed)
    finally:
        for each, code in before:
            each.__code__ = code
        _forget(caches)


def _forget(caches: list[_lru_cache_wrapper[object]]) -> None:
    for each in caches:
        each.cache_clear()


def _differs(place: Place, rules: dict[str, Rule]) -> bool:
    """Tell whether a rule, which is read again the first time, makes something else of a graph."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        if place.name not in rules:
            rule = RULES[place.name]
            rules[place.name] = Rule(rule.function, keeps=rule.keeps, shared=rule.shared, kind=rule.kind)
        with np.errstate(all="ignore"):
            found = to_text(rewrite(place.graph, [rules[place.name]]), whole=True)
        if found != place.after:
            assert_near(found, place.after)
    except Exception:  # whatever it is, the rule raises nothing
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return False


def add_places(places: Iterable[Place]) -> None:
    """Record what rules make of graphs, after values before and after have been compared."""
    told = json.loads(lzma.decompress(FILE.read_bytes()))
    for place in places:
        pair = [place.text, "" if place.after == place.text else place.after]
        if pair in told.setdefault(place.name, []):
            continue
        try:
            if place.after != place.text:
                for graph, inputs in with_inputs([place.text]):
                    compare(place.name, RULES[place.name], graph, Graph.parse(place.after, ops=OPS), inputs)
        except (AssertionError, GraphRewriteError) as error:
            print("WRONG", place.name, error, place.text, sep="\n")
            continue
        told[place.name].append(pair)
    FILE.write_bytes(lzma.compress(json.dumps(dict(sorted(told.items()))).encode()))


def main() -> None:
    """Add to what is recorded of rules of some rooms, and name the mutants that are left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="+", metavar="room", help="the beginning of a module's path in lowering")
    parser.add_argument("--of", nargs="+", default=[], metavar="test", help="tests whose networks are looked at")
    parser.add_argument("--near", action="store_true", help="draw none: look only near those that are recorded")
    parser.add_argument("--neighbours", type=int, default=60, help="graphs near those of each rule (%(default)s)")
    asked = parser.parse_args()
    names = [name for name in RULES if name.replace(".", "/").startswith(tuple(asked.rooms))]
    told, found = json.loads(lzma.decompress(FILE.read_bytes())), places_of(asked.of, LONGEST) if asked.of else {}
    before = {name: [text for text, _ in told.get(name, ())] for name in names}
    drawn: dict[str, list[str]] = {name: [] for name in names}
    if not asked.near:
        drawn = {name: [to_text(graph, whole=True) for graph, _ in candidates(name, RULES[name])] for name in names}
    near = {name: neighbours(name, [*before[name], *drawn[name]], asked.neighbours) for name in names}
    new = {
        name: [t for t in dict.fromkeys([*found.get(name, ()), *drawn[name], *near[name]]) if len(t) < LONGEST]
        for name in names
    }
    kept = places_with_lines(before)
    chosen, survivors, not_run = distinguishing(tuple(asked.rooms), places_with_lines(new), kept)
    add_places(chosen[len(kept) :])
    print(f"{len(chosen) - len(kept)} graphs more", "survivors:", *survivors, "run by no graph:", *not_run, sep="\n  ")


if __name__ == "__main__":
    main()
