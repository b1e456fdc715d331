"""Programs over memory: what the verifier finds, what is wrong in a text, and what plans and allocators refuse."""

from __future__ import annotations

import re

import pytest

from graphrewrite import Graph, verify
from graphrewrite.errors import GraphError, ParseError, PlacementError, VerificationError
from graphrewrite.memory import Allocator, parse_program, plan_memory, spans_of, to_program

HEAD = """graph g
x = input() : f32[4]
a = alloc(element='f32', shape=[4]) : f32[4]
"""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        # The old version is read after, or beside, the write.
        (
            "r = into(a, x, of='relu')\nn = into(r, r, of='neg')\nb = alloc(element='f32', shape=[4])\n"
            "s = into(b, n, r, of='add')\ny = output(s)",
            "node 'n': writes over what 'r' writes in the region 'a', which 's' may read later",
        ),
        (
            "r = into(a, x, of='relu')\nn = into(a, x, of='neg')\nb = alloc(element='f32', shape=[4])\n"
            "s = into(b, n, r, of='add')\ny = output(s)",
            "writes over what 'r' writes|writes over what 'n' writes",
        ),
        # What is read is written over at once, and not entry by entry.
        (
            "r = into(a, x, of='relu')\nn = into(r, r, of='softmax')\ny = output(n)",
            "reads the region 'a' while it writes over it",
        ),
        ("r = into(x, x, of='relu')\ny = output(r)", "writes the input 'x', which is only read"),
        (
            "c = constant(value=[1.0, 2.0, 3.0, 4.0]) : f32[4]\nr = into(c, x, of='relu')\ny = output(r)",
            "writes the constant 'c', which is only read",
        ),
        ("r = into(a, a, of='relu')\ny = output(r)", "reads 'a', into which nothing is written"),
        ("y = output(x)", "is 'x' itself; copy it"),
        ("r = into(a, x, of='relu')\ny = output(r)\nz = output(r)", "lies in the same region as the output 'y'"),
        (
            "r = into(a, x, of='relu')\nv = view(r, shape=[2])\ny = output(v)",
            "is a part of the region 'a'; copy it",
        ),
        (
            "r = into(a, x, of='relu')\ny = output(r) {region='x'}",
            "is said to lie in the region of 'x', and lies in that of 'a'",
        ),
    ],
)
def test_the_verifier_finds_what_is_lost_or_must_not_be_written(lines, said):
    graph = Graph.parse(HEAD + lines)
    with pytest.raises(VerificationError, match=said):
        verify(graph)


def test_an_order_makes_it_sound():
    text = HEAD + "r = into(a, x, of='relu')\nb = alloc(element='f32', shape=[4])\nm = into(b, r, of='neg')\n"
    text += "n = into(r, x, of='neg')\ny = output(m)\nz = output(n)"
    graph = Graph.parse(text)
    with pytest.raises(VerificationError, match=r"graph.add_control\('m', 'n', 'overwrite'\)"):
        verify(graph)
    graph.add_control("m", "n", "overwrite")
    verify(graph)


def program(*lines: str, declared: str = "@in x : f32[4]\n@out y : f32[4]") -> str:
    return "\n".join(["program p", "declare {", declared, "}", "program {", *lines, "}"])


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "line 1, column 1", "expected a program"),
        ("program p\ndeclare {\n", "line 3", "expected '}'"),
        (program("relu @out z, @in x"), "line 7, column 11", "nothing declares the region 'z'"),
        (program("relu @out y, @in xx"), "line 7", "did you mean 'x'"),
        (
            program("relu @out a, @in x", "a = alloc : f32[4]"),
            "line 7, column 11",
            "used before line 8, which gives it",
        ),
        ("declare {\n@in x : f32[4]\nprogram {\n}", "line 3, column 1", "or '}' after the last one"),
        (program("rellu @out y, @in x"), "line 7, column 1", "unknown op 'rellu'; did you mean 'relu'"),
        (program("relu @out y @in x"), "line 7, column 13", "expected ','"),
        (program("relu @out x, @in y"), "line 7, column 11", "lies in the input 'x', which is only read"),
        (program("clip @out y, @in x, lo=0"), "line 7, column 1", "has no attribute 'lo'"),
        (program("a = alloc at 3 : f32[4]"), "line 7, column 14", "no multiple of 4; place it at 0 or 4"),
        (program("relu @out y, @in y"), "line 7, column 18", "nothing is written into 'y' before it is read"),
        (program("a = alloc : f32[4]", "a = alloc : f32[4]"), "line 8, column 1", "declared twice"),
        (program(declared="@in x : f32[4]\n@in x : f32[2]"), "line 4", "the region 'x' is declared twice"),
        (
            program("a = alloc : f32[4]", "dealloc @out a", "dealloc @out a"),
            "line 9",
            "is freed twice, first in line 8",
        ),
        (program("a = alloc : f32[4]", "dealloc @out a", "relu @out a, @in x"), "line 9", "used after it was freed"),
        (program("dealloc @out q"), "line 7", "nothing declares the region 'q'"),
        (program("dealloc @out x"), "line 7", "'x' is declared, and not allocated here"),
        (
            program("a = alloc at 0 : f32[4]", "b = alloc at 12 : f32[4]"),
            "line 8, column 14",
            "the bytes 12 to 28 overlap those of 'a', 0 to 16",
        ),
        (program("a = alloc : f32[4000000000,4000000000]"), "line 7, column 1", "less than 2\\*\\*63 bytes"),
        (program("v = view @in x, offset=3 : f32[2]"), "line 7", "the view reaches beyond 'x', which has 4 entries"),
        (program("copy @out y, @in x", "softmax @out y, @in y"), "line 8", "is read while 'y' is written over it"),
        (program("a = alloc : f32[3]", "relu @out a, @in x"), "line 8, column 1", "allocate regions of its types"),
        (program(), "line 4", "nothing is written into the output 'y'"),
        (program("relu @out y, @in x, @wrong z"), "line 7, column 21", "expected @in, @out or @inout"),
        (program("relu @inout y, @in x"), "line 7, column 13", "keeps nothing of what 'y' holds; write '@out y'"),
        (program("v = relu @in x : f32[4]"), "line 7", "only alloc and view name memory"),
        (program(declared="@in x : f32[N]"), "line 3", "a tensor whose sizes are numbers"),
        (program(declared="@const c : f32[2] = [1.0]"), "line 3", "f32\\[2\\]"),
        (program(declared="@inout x = 0 : f32[2]"), "line 3", "expected ':'"),
        (program(declared="@inout x : f32[2] = 0"), "line 3", "a variable with a first value has an output"),
        (program(declared="@inout x -> y : f32[2] = [1, 2, 3]"), "line 3", "the value does not fit"),
        (program("relu at 4 @out y, @in x"), "line 7, column 9", "relu runs no program"),
        (program("scan @out y, @in x, body=body(stp)"), "line 7, column 21", "there is no program 'stp'"),
        (program("copy @out y, @in x") + "\n" + program(), "line 9, column 1", "no instruction runs the program 'p'"),
        (
            program("copy @out y, @in x") + "\nprogram q\ndeclare {\n}\nprogram {\n}\nprogram q",
            "line 14, column 9",
            "there are two programs 'q'",
        ),
    ],
)
def test_a_fault_of_a_text_has_its_place_and_a_remedy(text, place, said):
    with pytest.raises(ParseError, match=said) as caught:
        parse_program(text)
    assert re.match(rf"{place}\b", str(caught.value)), str(caught.value)


def test_places_are_kept_and_may_be_shared_after_one_another():
    text = program(
        "a = alloc at 16 : f32[4]",
        "relu @out a, @in x",
        "b = alloc at 32 : f32[4]",
        "neg @out b, @in a",
        "dealloc @out a",
        "c = alloc at 16 : f32[4]",
        "relu @out c, @in b",
        "neg @out y, @in c",
    )
    graph = parse_program(text)
    plan = plan_memory(graph)
    assert {name: room.offset for name, room in plan.rooms.items()} == {"a": 16, "b": 32, "c": 16}
    assert "b = alloc at 32 : f32[4]" in to_program(graph, plan=plan)


def test_a_plan_has_every_instruction_in_an_order_that_edges_allow():
    graph = Graph.parse(
        HEAD + "r = into(a, x, of='relu')\nb = alloc(element='f32', shape=[4])\nn = into(b, r, of='neg')\ny = output(n)"
    )
    with pytest.raises(GraphError, match="comes before 'r' in the order"):
        plan_memory(graph, ["n", "r"])
    with pytest.raises(GraphError, match="lacks 'n'"):
        plan_memory(graph, ["r"])
    with pytest.raises(PlacementError, match="capacity"):
        plan_memory(graph, capacity=8)


def test_what_has_no_region_has_no_text():
    with pytest.raises(GraphError, match="lower_to_memory"):
        to_program(Graph.parse("graph g\nx = input() : f32[4]\nr = relu(x)\ny = output(r)"))


def test_allocators_and_traces_name_what_is_wrong():
    memory = Allocator(16, align=4)
    memory.allocate("a", 5)
    for call, said in (
        (lambda: memory.allocate("a", 1), "allocated already"),
        (lambda: memory.allocate("b", 12), "no gap of 16"),
        (lambda: memory.free("b"), "did you mean 'a'|nothing is allocated as 'b'"),
        (lambda: memory.evict("b", 12, keep=["a"]), "must stay"),
        (lambda: memory.allocate("b", -1), "not negative"),
        (lambda: spans_of([("free", "a")]), "event 0 frees 'a' without"),
        (lambda: spans_of([("alloc", "a", 1), ("free", "a"), ("free", "a")]), "event 2 frees 'a' twice"),
        (lambda: spans_of([("alloc", "a", 1), ("alloc", "a", 1)]), "event 1 allocates 'a' a second time"),
        (lambda: spans_of([("allocate", "a", 1)]), "did you mean 'alloc'"),
    ):
        with pytest.raises(PlacementError, match=said):
            call()
    assert memory.height == memory.load == 8
