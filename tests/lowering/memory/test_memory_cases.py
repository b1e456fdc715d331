"""Cases about memory that others published: allocators, programs over memory, orders, parts that lie in one piece."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from graphrewrite import define_op, evaluate, rewrite, verify
from graphrewrite.errors import PlacementError
from graphrewrite.graph.regions import part_offset
from graphrewrite.memory import Allocator, Span, parse_program, place, plan_memory, schedule, spans_of, to_program
from graphrewrite.rules import MEMORY_RULES
from tests.rules.optimisation_cases import _ELEMENTS, CASES, Translation, _array
from tests.support.arena import Arena

pytestmark = pytest.mark.skipif(not CASES, reason="the cases are not part of the project")

ABOUT_MEMORY = {name: case for name, case in CASES.items() if case["kind"] in ("alloc", "ir", "schedule", "predicate")}
OF_FILES = "trace_file"
"""The key of cases with recorded traces, which tests/memory/test_placement.py has."""


# ---------------------------------------------------------------------- allocators


def complaints_of_steps(case):
    memory, said, places = Allocator(case["pool"] or None, align=case["align"]), [], {}
    for word, name, *given in case["steps"]:
        if word == "free":
            memory.free(name)
        elif word == "alloc":
            size, *wanted = given
            expected = wanted[0] if wanted else None
            is_told = isinstance(expected, str) and expected.startswith("=")  # the place of what is free again
            where = places[expected[1:]] if is_told else expected
            try:
                at = memory.allocate(name, size)
            except PlacementError:
                at = "fail"
            if where is not None and at != where:
                said.append(f"{name} at {at} instead of {where}")
        else:
            size, where, more = given
            at, gone = memory.evict(name, size, keep=more.get("keep", ()))
            if (at, list(gone)) != (where, more.get("evicted", [])):
                said.append(f"{name} at {at} instead of {where}, without {gone}")
        places |= {name: memory.offset(name)} if name in memory else {}
    wanted = case["expected"].get("max_usage")
    return [*said, *([f"height {memory.height}"] if wanted not in (None, memory.height) else [])]


def outcome_of_all(case):
    """What `place` makes of all traces of a case, in one memory or one after the other."""
    try:
        known, begun = {}, 0
        for key in sorted(key for key in case if key.startswith("trace")):
            spans = spans_of(case[key])
            if not case.get("reuse", True):  # what was placed before keeps its memory
                last = begun + len(case[key])
                known = {n: Span(s.size, s.begin, last) for n, s in known.items()}
            known |= {n: Span(s.size, s.begin + begun, s.end + begun) for n, s in spans.items()}
            begun += len(case[key])
    except PlacementError:
        return "error"
    try:
        found = place(list(known.values()), align=case["align"], capacity=case["pool"] or None)
    except PlacementError:
        return "fail"
    load = sum(usage.load for usage in found.pools.values())
    return {
        "max_usage": found.height,
        "address": dict(zip(known, found.offsets, strict=True)),
        "efficiency": load / found.height if found.height else 1.0,
    }


def outcome_one_by_one(case):
    memory = Allocator(case["pool"] or None, align=case["align"])
    for word, name, *size in case["trace"]:
        memory.free(name) if word == "free" else memory.allocate(name, *size)
    return {"max_usage": memory.height, "efficiency": memory.load / memory.height}


def complaints_of_allocation(case):
    if "steps" in case:
        return complaints_of_steps(case)
    said = []
    for how, outcome in (("all", outcome_of_all), ("incremental", outcome_one_by_one)):
        wanted = case["expected"].get(how)
        found = None if wanted is None else outcome(case)
        if isinstance(wanted, dict) and isinstance(found, dict):
            found = {key: found[key] for key in wanted}
        if found != wanted:
            said.append(f"{how}: {found} instead of {wanted}")
    return said


# ---------------------------------------------------------------------- programs

OPS = {
    "splat": "constant_of_shape",
    "inserttensor": "insert",
    "extracttensor": "extract",
    "tensorview": "view",
    "deallocactivation": "dealloc",
    "elementadd": "add",
    "elementsub": "sub",
    "elementmul": "mul",
    "elementdiv": "div",
    "elementmax": "maximum",
    "elementmin": "minimum",
    "elementselect": "where",
}
NAMES = {ours: theirs for theirs, ours in OPS.items()}


def numbers(text):
    return [int(each) for each in text.strip("[]").split(",") if each.strip()]


class Source:
    """A program in the notation of the cases, as the text of one of ours."""

    def __init__(self, case):
        self.case = case
        self.shapes = {each["name"]: each["shape"] for each in case["weights"]}
        self.elements = {each["name"]: _ELEMENTS[each["dtype"]] for each in case["weights"]}
        self.roots = {name: name for name in self.shapes}
        self.lines = [self.line(*each) for each in case["program"]]

    def type_of(self, name):
        return f"{self.elements[name]}[{','.join(map(str, self.shapes[name]))}]"

    def line(self, first, *rest):
        word, *given = first.split()
        kind = OPS.get(word, word)
        if kind in ("alloc", "view"):
            name, shape = given[0], numbers(given[1])
            self.shapes[name] = shape
            source = rest[0].split()[1] if rest else name
            self.elements[name] = self.elements.get(source, "f32")
            self.roots[name] = self.roots.get(source, name)
            if kind == "alloc":
                return f"{name} = alloc : {self.type_of(name)}"
            at = numbers(given[3]) if len(given) > 2 else [0]
            whole = self.shapes[source]
            offset = sum(start * math.prod(whole[axis + 1 :]) for axis, start in enumerate(at))
            return f"{name} = view @in {source}, offset={offset} : {self.type_of(name)}"
        if kind == "dealloc":
            return f"dealloc {', '.join(rest)}"
        more = []
        if kind == "constant_of_shape":
            target = rest[0].split()[1]
            more = [f"shape={self.shapes[target]}, value={given[0]}, element='{self.elements[target]}'"]
        elif kind in ("insert", "extract", "transpose"):
            more = [f"{'perm' if kind == 'transpose' else 'starts'}={numbers(given[0])}"]
        return f"{kind} {', '.join([*rest, *more])}"

    def text(self):
        said = [self.declared(each) for each in self.case["weights"]]
        return "\n".join([f"program {self.case['name']}", "declare {", *said, "}", "program {", *self.lines, "}"])

    def declared(self, weight):
        name = weight["name"]
        kind = f"{name} : {self.type_of(name)}"
        if weight["mutability"] == "constant":
            values = _array({"init": {"random": [-1, 1]}, **weight}, np.random.default_rng(0))
            return f"@const {kind} = {values.tolist()}"
        return f"{self.mark(name)} {kind}"

    def mark(self, name):
        """How a program uses a region of the caller: what is not written as a whole first is read from before."""
        uses = [
            (operand.split()[0], operand.split()[1])
            for first, *rest in self.case["program"]
            if first.split()[0] != "tensorview"
            for operand in sorted(rest, key=lambda each: each.startswith("@out"))
            if self.roots[operand.split()[1]] == name
        ]
        if all(mark == "@in" for mark, _ in uses):
            return "@in"
        return "@out" if uses[0] == ("@out", name) else "@inout"


def lines_of(graph):
    """The instructions of a program as it is printed, without what is declared."""
    body = to_program(graph).split("program {\n")[1].splitlines()[:-1]
    return [line.strip() for line in body]


def kind_of(line):
    """The word of the notation for a line."""
    words = line.split()
    kind = words[2] if words[1] == "=" else words[1] if words[0].endswith(":") else words[0]
    return NAMES.get(kind, kind)


def complaints_of_program(case):
    before = parse_program(Source(case).text())
    verify(before)
    after = rewrite(before, MEMORY_RULES, verify=True)
    lines, expected = lines_of(after), case["expected"]
    kinds = Counter(map(kind_of, lines))
    said = []
    if len(lines) > expected.get("instr_count", len(lines)):
        said.append(f"{len(lines)} instructions instead of {expected['instr_count']}")
    if "only_instr" in expected and kinds.keys() - set(expected["only_instr"]):
        said.append(f"{dict(kinds)} and not only {expected['only_instr']}")
    said += [f"{kind} is left" for kind in expected.get("no_instr", ()) if kinds[kind]]
    if "must stay" in expected.get("property", "") and not kinds["copy"]:
        said.append("there is no copy")
    for name, users in expected.get("users_of", {}).items():
        found = Counter(kind_of(line) for line in lines if f"@in {name}" in line.replace(",", " ").replace("  ", " "))
        if found != Counter(user.split()[0] for user in users):
            said.append(f"{name} is read by {dict(found)}")
    random = np.random.default_rng(1)
    given = {n: random.uniform(-2, 2, before.result_type(n).shape).astype(np.float32) for n in before.inputs}
    ours, theirs = evaluate(before, given), evaluate(after, given)
    run = Arena(after, plan_memory(after), given).run()
    said += [
        f"values of {n}" for n in ours if not np.array_equal(ours[n], theirs[n]) or not np.array_equal(ours[n], run[n])
    ]
    return said


# ---------------------------------------------------------------------- orders, and parts


@define_op(results=0, effects=True)
def profile(x):
    """A note of what it reads."""


def complaints_of_order(case):
    plain = [node for node in case["nodes"] if node["op"] not in ("Save", "QuantizationProfile")]
    saved = {node["name"]: node["inputs"][0] for node in case["nodes"] if node["op"] == "Save"}
    outputs = [saved.get(name, name) for name in case["outputs"]]
    made = Translation({**case, "nodes": plain, "outputs": outputs})
    graph, names = made.graph, {}
    for name, value in made.values.items():
        names[value.node] = name
    for node in case["nodes"]:
        if node["op"] == "QuantizationProfile":
            graph.add(profile, [made.values[node["inputs"][0]]], name=node["name"])
            names[node["name"]] = node["name"]
    found, given, said = schedule(graph), schedule(graph, as_given=True), []
    order = [names.get(node, node) for node in found.order]
    expected = case["expected"]
    for a, b in expected.get("order", ()):
        if order.index(a) > order.index(b):
            said.append(f"{b} comes before {a}")
    for a, b in expected.get("immediately_after", ()):
        if order.index(b) != order.index(a) + 1:
            said.append(f"{b} does not follow {a}: {order}")
    sizes = sum(math.prod(each["shape"]) * 4 for each in case["inputs"])
    for key, peak in (("peak_bytes_memory_aware", found.peak), ("peak_bytes_topological", given.peak)):
        if key in expected and peak > expected[key]:
            said.append(f"{key} {peak} of {expected[key]}, inputs {sizes}")
    return said


def counts_of_parts(whole, part, kind):
    """The lines of a program that inserts or extracts a part, before and after."""
    shapes = {"small": part, "large": whole}
    size = {name: f"f32[{','.join(map(str, shape))}]" for name, shape in shapes.items()}
    starts = [0] * len(whole)
    if kind == "insert":
        body = [
            f"small = alloc : {size['small']}",
            f"constant_of_shape @out small, shape={part}, value=1.0",
            f"constant_of_shape @out y, shape={whole}, value=2.0",
            f"insert @inout y, @in small, starts={starts}",
            "dealloc @out small",
        ]
        said = f"@out y : {size['large']}"
    else:
        body = [
            f"large = alloc : {size['large']}",
            f"constant_of_shape @out large, shape={whole}, value=2.0",
            f"extract @out y, @in large, starts={starts}",
            "dealloc @out large",
        ]
        said = f"@out y : {size['small']}"
    program = parse_program("\n".join(["program p", "declare {", said, "}", "program {", *body, "}"]))
    after = rewrite(program, MEMORY_RULES, verify=True)
    assert np.array_equal(evaluate(program, {})["y"], evaluate(after, {})["y"])
    return Counter(kind_of(line) for line in lines_of(after))


def complaints_of_parts(case):
    said = []
    for part, is_contiguous in case["expected"]["table"]:
        whole = case["dest"]
        if (part_offset(part, whole, [0] * len(whole)) is not None) != is_contiguous:
            said.append(f"{part}")
        is_whole = part == whole
        inserted, extracted = counts_of_parts(whole, part, "insert"), counts_of_parts(whole, part, "extract")
        most = 1 if is_whole else 3 if is_contiguous else 5
        if inserted.total() > most or (inserted["inserttensor"] > 0) == is_contiguous:
            said.append(f"insert {part}: {dict(inserted)}")
        if (extracted["extracttensor"] > 0) == is_contiguous:
            said.append(f"extract {part}: {dict(extracted)}")
    return said


COMPLAINTS = {
    "alloc": complaints_of_allocation,
    "ir": complaints_of_program,
    "schedule": complaints_of_order,
    "predicate": complaints_of_parts,
}


@pytest.mark.parametrize("name", [n for n, case in ABOUT_MEMORY.items() if OF_FILES not in case])
def test_a_case_about_memory(name):
    case = ABOUT_MEMORY[name]
    assert not COMPLAINTS[case["kind"]](case)


def test_every_part_of_small_regions_lies_as_it_is_said():
    for whole in itertools.product((1, 2, 3), repeat=3):
        entries = np.arange(math.prod(whole)).reshape(whole)
        for part in itertools.product(*(range(1, size + 1) for size in whole)):
            taken = entries[tuple(map(slice, part))].ravel()
            assert (part_offset(part, whole, (0, 0, 0)) is not None) == (taken[-1] - taken[0] + 1 == len(taken))
