"""What a counterexample shows: columns, values, the first difference, the rule that did it, and a test to paste."""

from __future__ import annotations

import builtins
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from types import ModuleType

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Graph, Pipeline, Rule, Tensor, define_op, op, pass_, rule
from graphrewrite.testing import check, graphs
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.claims import ARGUMENT, DETERMINISTIC, IDEMPOTENT
from graphrewrite.testing.failure.code import array_code, graph_code
from tests.quality import wrong_rules
from tests.quality.families import Planted, planted_in
from tests.support.profiles import some_of


@rule
def swap_difference(x, y):
    """Wrong: a difference does not commute."""
    yield op.sub(x, y)
    return op.neg(op.add(x, y))


@rule
def drop_identity(x):
    """The identity is its operand."""
    yield op.identity(x)
    return x


@rule
def add_nothing(x):
    """Wrong: -0 + 0 is +0."""
    yield op.add(x, 0)
    return x


def halve(graph):
    """Wrong: other types."""
    return Graph.parse(str(graph).replace("f32", "f16"))


@define_op
def thrice(x):
    """Three times the operand."""
    return x * 3


@rule
def thrice_as_sum(x):
    """Wrong: that is twice."""
    yield thrice(x)
    return op.add(x, x)


RULES = (drop_identity, swap_difference)

BEFORE = Graph.parse("""
    graph g
    x = input() : f32[N]
    y = input() : f32[N]
    a = identity(x)
    d = sub(a, y)
    r = relu(d)
    out = output(r)
""")
INPUTS = {"x": np.array([3], np.float32), "y": np.array([1], np.float32)}


def example(rules=swap_difference, before=BEFORE, inputs=INPUTS, **options) -> Counterexample:
    after = rules(before) if callable(rules) else Pipeline(rules)(before)
    return Counterexample(before, after, "output out was 2.0 and became 0.0", inputs, rules, **options)


def pasted(found: Counterexample) -> dict:
    """Run the code that is to be pasted; return its names, the test as `test`."""
    names: dict = {}
    exec(compile(found.code, "pasted", "exec"), names)
    (names["test"],) = [value for name, value in names.items() if name.startswith("test_")]
    return names


def fails(test) -> bool:
    """Whether a test does not pass: a wrong rule may also raise whatever it likes."""
    try:
        test()
    except Exception:
        return True
    return False


class TestText:
    def test_all_of_it(self):
        assert example(seed=7).text(width=120) == EXPECTED

    def test_one_below_the_other_where_it_does_not_fit(self):
        text = example().text(width=60)
        assert BELOW in text
        assert " | " not in text

    def test_the_width_is_the_terminals(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        assert str(example()) == example().text(width=200)
        monkeypatch.setenv("COLUMNS", "40")
        assert str(example()) == example().text(width=40)

    def test_nothing_to_compare(self):
        found = Counterexample(BEFORE, None, "mine failed: no", {}, swap_difference)
        assert "after: there is no graph" in str(found)
        assert found.first_difference is None
        assert "verify(rewrite(before, swap_difference, verify=True))" in found.code

    def test_a_broken_graph_is_shown(self):
        broken = BEFORE.copy()
        del broken.edges["a", "d"]["slots"]
        broken.nodes["r"].clear()
        text = str(Counterexample(BEFORE, broken, "not well formed"))
        assert "d = sub(" in text
        assert Counterexample(BEFORE, broken, "not well formed", INPUTS)._repr_html_()

    def test_plain_digraphs(self):
        before = nx.DiGraph([("a", "b"), (3, ("c", 1))], name="plain")
        before.nodes["a"].update(type="x", sizes=(1,), limits=[np.inf, -0.5], table={"k": np.int8([1])})
        before.edges["a", "b"]["weight"] = 2.5
        found = Counterexample(before, nx.DiGraph([("b", "a")]), "turned round", claim="assert {made} == before")
        assert "turned round" in str(found)
        names: dict = {"nx": nx, "np": np}
        exec(f"before = {graph_code(before)}", names)
        rebuilt = names["before"]
        assert type(rebuilt) is nx.DiGraph
        assert rebuilt.graph == {"name": "plain"}
        assert repr(list(rebuilt.nodes(data=True))) == repr(list(before.nodes(data=True)))
        assert list(rebuilt.edges(data=True)) == list(before.edges(data=True))

    def test_values_by_name(self):
        values = example().values
        assert values["before"]["d"].tolist() == [2.0]
        assert values["after"]["neg_1"].tolist() == [-4.0]

    def test_several_results(self):
        @define_op(results=2, infer=lambda t: (t, t))
        def both(x):
            """The operand, and its negative."""
            return x, -x

        graph = Graph("g")
        _, second = both(graph.input("x", Tensor("f32", ("N",))))
        graph.output("y", second)
        found = Counterexample(graph, graph.copy(), "the same", {"x": np.ones(1, np.float32)})
        assert {name: value.tolist() for name, value in found.values["after"].items()} == {
            "x": [1.0],
            "both_1": [1.0],
            "both_1:1": [-1.0],
            "y": [-1.0],
        }
        assert "both_1 = both(x) : f32[N], f32[N]  # 1.0, -1.0" in str(found)

    def test_it_is_cheap_to_make(self, monkeypatch):
        calls = []
        monkeypatch.setattr("graphrewrite.testing.failure.values.evaluate_nodes", lambda *a, **k: calls.append(a))
        found = example()
        repr(found)
        assert calls == []


EXPECTED = '''\
output out was 2.0 and became 0.0

first difference: `d` was 2.0, and `neg_1`, which stands for it, is -4.0
made by: swap_difference (tests/testing/test_counterexample.py:{LINE})
inputs: x = np.array([3.0], np.float32), y = np.array([1.0], np.float32)
seed: 7

before                            | after
  x = input() : f32[N]      # 3.0 |   x = input() : f32[N]         # 3.0
  y = input() : f32[N]      # 1.0 |   y = input() : f32[N]         # 1.0
  a = identity(x) : f32[N]  # 3.0 |   a = identity(x) : f32[N]     # 3.0
                                  | + add_1 = add(a, y) : f32[N]   # 4.0
- d = sub(a, y) : f32[N]    # 2.0 | + neg_1 = neg(add_1) : f32[N]  # -4.0  <- first difference
- r = relu(d) : f32[N]      # 2.0 | + r = relu(neg_1) : f32[N]     # 0.0
~ out = output(r)           # 2.0 | ~ out = output(r)              # 0.0

a test that fails:

import numpy as np
from tests.testing.test_counterexample import swap_difference
from graphrewrite import Graph, evaluate, rewrite


@np.errstate(all="ignore")
def test_swap_difference():
    before = Graph.parse("""
        graph g
        x = input() : f32[N]
        y = input() : f32[N]
        a = identity(x) : f32[N]
        d = sub(a, y) : f32[N]
        r = relu(d) : f32[N]
        out = output(r)
    """)
    inputs = {"x": np.array([3.0], np.float32), "y": np.array([1.0], np.float32)}
    # Output out was 2.0 and became 0.0.
    # First difference: `d` was 2.0, and `neg_1`, which stands for it, is -4.0.
    after = rewrite(before, swap_difference, verify=True)
    for name, wanted in evaluate(before, inputs).items():
        found = evaluate(after, inputs)[name]
        assert found.dtype == wanted.dtype
        assert str(found.tolist()) == str(wanted.tolist())  # as text: 0.0 is not -0.0, and NaN is NaN
'''.removesuffix("\n").replace("{LINE}", str(swap_difference.line))

BELOW = """\
before
  x = input() : f32[N]      # 3.0
  y = input() : f32[N]      # 1.0
  a = identity(x) : f32[N]  # 3.0
- d = sub(a, y) : f32[N]    # 2.0
- r = relu(d) : f32[N]      # 2.0
~ out = output(r)           # 2.0

after
  x = input() : f32[N]         # 3.0
  y = input() : f32[N]         # 1.0
  a = identity(x) : f32[N]     # 3.0
+ add_1 = add(a, y) : f32[N]   # 4.0
+ neg_1 = neg(add_1) : f32[N]  # -4.0  <- first difference
+ r = relu(neg_1) : f32[N]     # 0.0
~ out = output(r)              # 0.0
"""


class TestFirstDifference:
    def test_what_stands_for_it(self):
        found = example().first_difference
        assert (found.node, found.stands_for) == ("neg_1", "d")
        assert (found.was.tolist(), found.now.tolist()) == ([2.0], [-4.0])
        assert str(found) == "`d` was 2.0, and `neg_1`, which stands for it, is -4.0"

    def test_an_input_may_stand_for_a_node(self):
        graph = Graph.parse(
            "graph g\nx = input() : f32[N]\nc = constant(value=0.0) : f32[]\na = add(x, c)\ny = output(a)"
        )
        found = example(add_nothing, graph, {"x": np.array([-0.0], np.float32)}).first_difference
        assert str(found) == "`a` was 0.0, and `x`, which stands for it, is -0.0"

    def test_the_entry_is_told(self):
        graph = Graph.parse("graph g\nx = input() : f32[N,2]\ny = input() : f32[N,2]\nd = sub(x, y)\no = output(d)")
        inputs = {"x": np.array([[1, 5]], np.float32), "y": np.array([[1, 3]], np.float32)}
        assert str(example(before=graph, inputs=inputs).first_difference) == (
            "`d`[0] was 0.0, and `neg_1`[0], which stands for it, is -2.0"
        )

    def test_a_node_that_cannot_be_evaluated(self):
        @define_op
        def fragile(x):
            """Refuse everything."""
            raise ValueError("no")

        after = BEFORE.copy()
        value = after.add(fragile, [after.value("d")], name="f")
        after.output("more", value)
        found = Counterexample(BEFORE, after, "fails", INPUTS)
        assert str(found.first_difference).startswith("`f` cannot be evaluated")
        assert "cannot be evaluated" in str(found)

    def test_within_a_bound_nothing_differs(self):
        assert example(bound=6.5).first_difference is None

    def test_functions_are_compared_by_what_is_read(self):
        def rebuilt(graph):
            return swap_difference(graph)

        found = example(rebuilt)
        assert str(found.first_difference) == str(example().first_difference)


class TestCulprit:
    def test_file_and_line(self):
        found = example().culprit
        line = swap_difference.line
        assert str(found) == f"swap_difference (tests/testing/test_counterexample.py:{line})"

    def test_the_step_of_a_rule_set(self):
        found = example(RULES)
        assert str(found.culprit).endswith(", in step 2 of 2")
        assert found.culprit.name == "swap_difference"
        assert str(found.first_difference) == "`d` was 2.0, and `neg_1`, which stands for it, is -4.0"

    def test_the_step_of_a_pipeline(self):
        found = example(Pipeline((drop_identity,), (swap_difference,), name="both"))
        assert (found.culprit.name, found.culprit.step, found.culprit.steps) == ("swap_difference", 2, 2)

    def test_a_pass(self):
        @pass_
        def forget(graph):
            """Wrong: forgets a node."""
            for reader in list(graph.succ["d"]):
                slots = graph.edges["d", reader]["slots"]
                graph.add_edge("a", reader, slots=slots)
            graph.remove_node("d")
            return ["d"]

        found = example(forget)
        assert found.culprit.name == "forget"
        assert "test_counterexample.py" in found.culprit.place

    def test_nobody_is_blamed_for_what_is_right(self):
        found = example((drop_identity, add_nothing))
        assert found.culprit is None


class TestCode:
    @pytest.mark.slow
    @pytest.mark.parametrize("planted", some_of(list(planted_in(wrong_rules)), 18), ids=str)
    def test_it_fails_as_told_and_passes_once_the_rule_is_repaired(self, planted: Planted):
        found = check(planted.subject, on=planted.on, seed=0).counterexample
        if found is None:
            pytest.skip("not refuted: see tests/quality")
        names = pasted(found)
        assert fails(names["test"])
        (called,) = {name for name, value in names.items() if value is planted.subject}
        names[called] = pass_(lambda graph: []) if hasattr(planted.subject, "keeps") else Graph.copy
        names["test"]()

    def test_a_rule_that_is_repaired_by_hand(self):
        found = check(swap_difference, seed=0).counterexample
        names = pasted(found)
        with pytest.raises(AssertionError):
            names["test"]()

        @rule
        def repaired(x, y):
            yield op.sub(x, y)
            return op.add(x, op.neg(y))

        names["swap_difference"] = repaired
        names["test"]()

    @pytest.mark.parametrize("mark", ["backend", "implementation"])
    def test_ops_compute_themselves_whatever_nodes_ask_for(self, mark):
        marked = BEFORE.copy()
        marked.nodes["d"][mark] = "fast"
        with pytest.raises(AssertionError):
            pasted(example(before=marked))["test"]()

    def test_own_ops_are_imported(self):
        graph = Graph("g", ops=[thrice])
        graph.output("y", thrice(graph.input("x", Tensor("f32", ("N",)))))
        found = example(thrice_as_sum, graph, {"x": np.array([1], np.float32)})
        assert "ops=[thrice]" in found.code
        assert f"from {__name__} import thrice_as_sum" in found.code
        with pytest.raises(AssertionError):
            pasted(found)["test"]()

    def test_what_cannot_be_imported_is_named(self):
        @rule
        def local(x, y):
            """Wrong."""
            yield op.sub(x, y)
            return op.neg(op.add(x, y))

        found = example(local)
        assert "# local: tests/testing/test_counterexample.py:" in found.code
        names = pasted(found)
        names["local"] = local
        with pytest.raises(AssertionError):
            names["test"]()

    def test_rule_sets(self):
        assert f"from {__name__} import RULES" in example(RULES).code
        assert "RULES = (swap_difference, drop_identity)" in example((swap_difference, drop_identity)).code
        for rules in (RULES, (swap_difference, drop_identity)):
            with pytest.raises(AssertionError):
                pasted(example(rules))["test"]()

    def test_types(self):
        graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
        found = Counterexample(graph, halve(graph), "other types", {}, halve)
        assert "def interface(graph)" in found.code
        with pytest.raises(AssertionError):
            pasted(found)["test"]()

    @pytest.mark.parametrize("claim", [ARGUMENT, DETERMINISTIC, IDEMPOTENT])
    def test_claims_that_hold(self, claim):
        graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
        assert not fails(pasted(Counterexample(graph, graph, "no", {}, drop_identity, claim=claim))["test"])

    def test_a_claim_about_the_argument_fails(self):
        def spoil(graph):
            graph.nodes["r"]["note"] = 1
            return graph.copy()

        found = Counterexample(BEFORE.copy(), None, "changed", {}, spoil, claim=ARGUMENT)
        names = pasted(found)
        names["spoil"] = spoil
        with pytest.raises(AssertionError):
            names["test"]()

    def test_a_claim_that_one_graph_gives_one_graph_fails(self):
        seen = []

        def moody(graph):
            seen.append(1)
            made = graph.copy()
            made.nodes["r"]["note"] = len(seen)
            return made

        names = pasted(Counterexample(BEFORE, None, "two", {}, moody, claim=DETERMINISTIC))
        names["moody"] = moody
        with pytest.raises(AssertionError):
            names["test"]()

    def test_names_with_quotes_and_backslashes(self):
        graph = Graph("g")
        x = graph.input("a\"'\\b", Tensor("f32", ("N",)))
        graph.output('"""', op.sub(graph.input("'''", Tensor("f32", ("N",))), x))
        found = example(before=graph, inputs={name: np.array([i], np.float32) for i, name in enumerate(graph.inputs)})
        with pytest.raises(AssertionError):
            pasted(found)["test"]()

    @pytest.mark.parametrize(
        "array",
        [
            np.array([0.1, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3.4028235e38], np.float32),
            np.array([[0.1], [65504]], np.float16),
            np.array([-np.nan], np.float32),
            np.array([0x7FC00001], np.uint32).view(np.float32).reshape(1, 1),
            np.array(2.5),
            np.array([2**63 - 1, -(2**63)]),
            np.array([2**64 - 1], np.uint64),
            np.array([True, False]),
            np.array([1 + 2j], np.complex64),
            np.zeros((0, 3), np.int8),
            np.zeros((0,), np.float32),
            np.full((30, 30), -0.0, np.float32),
            np.arange(100, dtype=np.int16).reshape(10, 10),
            np.arange(6).reshape(2, 3).T,
        ],
        ids=repr,
    )
    def test_arrays_are_the_same_bit_for_bit(self, array):
        again = eval(array_code(array), {"np": np})
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert again.tobytes() == np.ascontiguousarray(array).tobytes()


class _Tags(HTMLParser):
    """Checks that what is opened is closed, and keeps the tags and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


class TestHtml:
    def test_side_by_side_with_the_difference_ringed(self):
        page = _Tags(example()._repr_html_())
        ringed = [attrs for tag, attrs in page.tags if "ringed" in attrs.get("class", "").split()]
        assert len(ringed) == 2
        assert "neg_1 = neg(add_1) : f32[N]" in "".join(page.text)

    def test_it_asks_for_nothing_from_elsewhere_and_leaves_the_theme_its_colours(self):
        html = example()._repr_html_()
        page = _Tags(html)
        assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe"}
        named = [v for _, attrs in page.tags for k, v in attrs.items() if k in ("src", "href")]
        assert all(v.startswith("data:image/svg+xml;base64,") for v in named)
        outside = html.split("<svg")[0] + html.split("</svg>")[-1]
        assert "url(" not in outside
        assert not re.search(r'style="[^"]*(color|background)', outside)

    def test_hostile_names_are_text(self):
        graph = Graph("</pre><script>")
        x = graph.input("<script>alert(1)</script>", Tensor("f32", ("N",)))
        graph.output("y", op.sub(x, graph.input("b", Tensor("f32", ("N",)))))
        inputs = {name: np.array([i], np.float32) for i, name in enumerate(graph.inputs)}
        found = replace(example(before=graph, inputs=inputs), reason="<script>\x00\u202e")
        page = _Tags(found._repr_html_())
        assert "script" not in {tag for tag, _ in page.tags}
        assert "<script>\\x00\\u202e" in "".join(page.text)

    @pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is missing (Debian: apt-get install graphviz)")
    def test_a_picture_with_values(self):
        pytest.importorskip("pydot")
        found = example()
        assert "<svg" in found._repr_html_()
        scenes = found.picture.scenes
        assert scenes[1].box("neg_1").mark == "different"
        assert scenes[1].box("neg_1").notes[-1] == "= -4.0"
        assert scenes[0].box("d").mark == "different"

    def test_without_a_way_to_draw_the_text_says_so(self, monkeypatch):
        real = builtins.__import__

        def without(name, *args, **options) -> ModuleType:
            if name == "pydot":
                raise ImportError(name)
            return real(name, *args, **options)

        monkeypatch.setattr(builtins, "__import__", without)
        html = example()._repr_html_()
        assert "<svg" not in html
        assert "no picture: " in html
        assert "neg_1" in html


def test_what_is_shown_as_data():
    page = example().page
    assert page.reason == example().reason
    assert page.titles == ("before", "after")
    assert [new.node for _, new in page.pairs if new is not None and new.ringed] == ["neg_1"]
    assert page.given == ""
    assert page.code == example().code
    assert page.drawing.scenes == example().picture.scenes


def test_every_side_may_be_another():
    """A subclass shows other graphs beside each other; the graph that was given stands above them."""

    class Ends(Counterexample):
        @property
        def sides(self):
            return ("one end", self.after), ("the other end", swap_difference(self.after))

        @property
        def notes(self):
            return ("one: d", "other: d")

    found = Ends(BEFORE, swap_difference(BEFORE), "two ends", INPUTS, swap_difference, claim="assert {made}")
    text = found.text(width=150).splitlines()
    assert text[:5] == ["two ends", "", "one: d", "other: d", ""]
    assert text[5] == "before"
    assert any(line.startswith("one end") and "the other end" in line for line in text)
    assert "add_1" in found.page.given or "d = " in found.page.given
    assert "one end" in found._repr_html_()


def test_the_search_says_what_was_tested():
    found = check((drop_identity, swap_difference), on=graphs(containing=swap_difference), seed=3).counterexample
    assert found.seed == 3
    assert found.rules == (drop_identity, swap_difference)
    assert "seed: 3" in str(found)
    assert isinstance(found.rules[0], Rule)


@rule(keeps="assumes")
def drop_root_of_square(x):
    """The root of a square is its number; assumes that this is not negative."""
    yield op.sqrt(op.mul(x, x))
    return x


def test_what_a_rule_assumes_is_said():
    example = check(drop_root_of_square, seed=0).counterexample
    assert example is not None
    said = [note for note in example.notes if "assumes" in note]
    assert said == ["it assumes: The root of a square is its number; assumes that this is not negative."]
    assert "where that does not hold in this graph, pass graphs in which it does: on=..." in example.notes
