"""The work list against its meaning: of all that waits, the node comes next that stands first."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.rewriting.engine.work_list import WorkList

START = ("a", "b", "c", "d")
STEPS = st.lists(st.none() | st.tuples(st.sampled_from("abcdefghi"), st.sampled_from("abcdefgz")), max_size=40)
"""Take a node, or push one near another: known ones, new ones, and one that nobody has ever seen."""


class Plain:
    """What a work list means: nodes that wait, and where each stands."""

    def __init__(self, nodes: Any) -> None:
        self.stands = {node: (i, 0) for i, node in enumerate(nodes)}
        self.waiting = set(nodes)
        self.born = 0

    def push(self, node: Any, near: Any) -> None:
        if node not in self.stands:
            self.born += 1
            self.stands[node] = (self.stands.get(near, (len(START),))[0], self.born)
        self.waiting.add(node)

    def pop(self) -> Any:
        if not self.waiting:
            return None
        first = min(self.waiting, key=self.stands.__getitem__)
        self.waiting.remove(first)
        return first


@given(STEPS)
def test_what_waits_comes_in_the_order_in_which_it_stands(steps):
    work, plain = WorkList(START), Plain(START)
    for step in [*steps, *[None] * 10]:
        if step is None:
            assert work.pop() == plain.pop()
        else:
            work.push(*step)
            plain.push(*step)
    assert work.pop() is None


def test_new_nodes_stand_in_the_order_in_which_they_were_born():
    work = WorkList(["a", "b"])
    assert work.pop() == "a"
    for node in ("second", "third", "fourth"):
        work.push(node, near="a")
    work.push("fifth", near="third")
    assert [work.pop() for _ in range(6)] == ["second", "third", "fourth", "fifth", "b", None]


def test_near_a_node_that_was_never_there_is_behind_all():
    work = WorkList(["a", "b"])
    work.push("new", near="gone")
    work.push("newer")
    assert [work.pop() for _ in range(5)] == ["a", "b", "new", "newer", None]


def test_a_node_waits_once():
    work = WorkList(["a", "b"])
    work.push("b", near="a")
    assert [work.pop(), work.pop()] == ["a", "b"]
    work.push("a", near="b")
    work.push("a", near="b")
    assert [work.pop(), work.pop()] == ["a", None]


def test_nodes_are_told_apart_as_keys_are_and_never_compared():
    nodes = [3, "a", ("b", 1), None.__class__]
    work = WorkList(nodes)
    taken = [work.pop() for _ in nodes]
    for node in reversed(nodes):
        work.push(node)
    assert taken == nodes == [work.pop() for _ in nodes]
