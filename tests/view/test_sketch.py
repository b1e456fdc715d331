"""Every form of the pattern language has a picture, and the replacement beside it."""

from __future__ import annotations

import shutil

import networkx as nx
import pytest

from graphrewrite import Constant, op, rule
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.view import rule_picture, show, to_svg
from graphrewrite.view.colour import HIGHLIGHTS
from graphrewrite.view.rules.conditions import conditions_of
from tests.support import rule_forms as forms
from tests.support.rule_combinations import COMBINATIONS

drawn = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is missing (Debian: apt-get install graphviz)")


def lines(scene):
    """What a scene shows: for each box what is in it, and where its arrows come from."""
    found = []
    for index, box in enumerate(scene.boxes):
        head = " ".join(part for part in (box.name, box.kind and f"[{box.kind}]", box.mark and f"<{box.mark}>") if part)
        arrows = [a for a in scene.arrows if a.destination == index]
        sources = ", ".join(
            (scene.boxes[a.source].name or f"[{scene.boxes[a.source].kind}]")
            + (f".{a.result}" if scene.boxes[a.source].results > 1 else "")
            for a in arrows
        )
        notes = "".join(f"; {note}" for note in (*box.notes, *box.code))
        found.append(f"{head}({sources}){notes}")
    return found


BEFORE = {
    forms.several_ops: ["x()", "w()", "layer [linear | matmul](x, w)", "[relu](layer)", "replaced([relu])"],
    forms.any_of_them: ["*xs(); any number", "inner [any op](*xs)", "[identity](inner)", "replaced([identity])"],
    forms.variadic: [
        "*xs(); any number",
        "y()",
        "[identity](y)",
        "*zs(); any number",
        "joined [concat](*xs, [identity], *zs)",
        "replaced(joined)",
    ],
    forms.optional_bias: [
        "x()",
        "w()",
        "b <optional>()",
        "[linear](x, w, b)",
        "[neg]([linear])",
        "[neg]([neg])",
        "replaced([neg])",
    ],
    forms.literal_set: [
        "x()",
        "product [mul](x); y: -1 or 1",
        "[abs](product)",
        "replaced([abs])",
        "[declines](); · the factor broadcasts the other operand",
    ],
    forms.either_operand: [
        "x()",
        "[neg](x)",
        "[identity](x)",
        "[either]([neg], [identity], x)",
        "[abs]([either])",
        "replaced([abs])",
    ],
    forms.options_with_variables_of_their_own: [
        "x()",
        "[relu](x)",
        "y()",
        "[neg](y)",
        "[either]([relu], [neg])",
        "[abs]([either])",
        "replaced([abs])",
    ],
    forms.shapes_of_values: [
        "x(); a matrix of f32",
        "[transpose](x); perm = [1, 0]",
        "[transpose]([transpose]); perm = [1, 0]",
        "replaced([transpose])",
    ],
    forms.anonymous_condition: [
        "x()",
        "size [relu](x)",
        "most [maximum](size); y: a constant below zero",
        "replaced(most)",
        "[declines](); · the limit broadcasts the other operand",
    ],
    forms.attributes_that_fit: [
        "x()",
        "pool [max_pool](x); kernel: one pixel; strides = s; pads = [0, 0] or [0, 0, 0, 0]",
        "replaced(pool)",
        "[declines](); · it leaves out pixels, for its strides; are\N{NO-BREAK SPACE}…",
    ],
    forms.chain: ["x()", "[relu](x); 2 or more, each on top of the last", "replaced([relu])"],
    forms.chain_with_variables: [
        "x()",
        "c(); one for each",
        "run [sub](x, c); 2 or more, each on top of the last",
        "replaced(run)",
    ],
    forms.chain_of_pairs: [
        "x()",
        "run [unit](x); one or more, each on top of the last; neg(identity(_))",
        "replaced(run)",
    ],
    forms.group: ["x()", "relus [relu](x); every reader, at least 2", "replaced(relus); each"],
    forms.group_with_variables: [
        "x()",
        "w(); one for each",
        "differences [sub](x, w); every reader, at least 2",
        "replaced(differences); each",
    ],
    forms.results_of_one: ["x(); of f32", "[signs](x)", "replaced 1([signs].0)", "replaced 2([signs].1)"],
    forms.result_read: ["x()", "[signs](x)", "[neg]([signs].1)", "replaced([neg])"],
    forms.two_components: ["x()", "y()", "[sub](x, y)", "replaced 1([sub])", "[relu](x)", "replaced 2([relu])"],
    forms.operand_that_is_not: [
        "x()",
        "y()",
        "w()",
        "[matmul] <forbidden>(y, w)",
        "[sub](x, [matmul])",
        "replaced([sub])",
    ],
    forms.nowhere: ["x()", "[neg](x)", "inner [neg]([neg])", "replaced(inner)", "[softmax] <forbidden>(inner)"],
    forms.narrowed: ["x()", "c(); a constant", "[add](x, c)", "[add]([add], c)", "replaced([add])"],
}

AFTER = {
    forms.several_ops: ["x()", "w()", "[linear | matmul](x, w)", "[maximum]([linear | matmul]); y: 0"],
    forms.any_of_them: ["*xs(); any number", "[any op](*xs)"],
    forms.variadic: ["*xs(); any number", "y()", "*zs(); any number", "[concat](*xs, y, *zs)"],
    forms.optional_bias: ["x()", "w()", "b <optional>()", "[linear](x, w, b)"],
    forms.chain_with_variables: ["x()", "c(); one for each", "[sub](x, c)"],
    forms.group: ["x()", "[relu](x)"],
    forms.group_with_variables: ["x()", "w(); one for each", "[neg](w)", "[add](x, [neg])"],
    forms.operand_that_is_not: [
        "x()",
        "y()",
        "w()",
        "[matmul] <forbidden>(y, w)",
        "[neg]([matmul])",
        "[add](x, [neg])",
    ],
}


def test_every_form_is_here():
    assert {each.name for each in forms.FORMS} <= {each.name for each in BEFORE} | {
        "literal_range",
        "condition_on_a_constant",
    }


@pytest.mark.parametrize("form", BEFORE, ids=lambda form: form.name)
def test_the_pattern_shows(form):
    assert lines(rule_picture(form).scenes[0]) == BEFORE[form]


@pytest.mark.parametrize("form", AFTER, ids=lambda form: form.name)
def test_the_replacement_shows(form):
    assert [line for line in lines(rule_picture(form).scenes[1]) if not line.startswith("replacement")] == AFTER[form]


@drawn
@pytest.mark.parametrize("direction", ["TB", "LR"])
@pytest.mark.parametrize("form", [*forms.FORMS, *COMBINATIONS], ids=lambda form: form.name)
def test_every_form_is_laid_out(form, direction):
    assert to_svg(form, direction=direction).startswith("<svg")


def test_variables_have_one_colour_on_both_sides():
    before, after = rule_picture(forms.group_with_variables).scenes
    for name in ("x", "w"):
        assert before.box(name).look == after.box(name).look
    assert before.box("x").look != before.box("w").look


def test_what_may_be_missing_is_dashed_and_so_is_what_must_not_be_there():
    assert HIGHLIGHTS["optional"].dashed
    assert HIGHLIGHTS["forbidden"].dashed
    assert HIGHLIGHTS["forbidden"].word == "must not be there"
    assert '"rounded,filled,dashed"' in rule_picture(forms.nowhere).dot.to_string()


def test_conditions_are_told_in_words():
    assert conditions_of(forms.attributes_that_fit) == (
        "requires kernel: one pixel",
        "declines: it leaves out pixels, for its strides are …",
    )
    assert conditions_of(forms.shapes_of_values) == ("requires x: a matrix of f32",)
    assert conditions_of(forms.anonymous_condition)[0] == "requires: a constant below zero"
    assert repr(show(forms.shapes_of_values)).splitlines()[1:] == ["  requires x: a matrix of f32"]


def test_a_captured_attribute_with_a_condition():
    @rule
    def drop(x, p: rule.where(lambda p: list(p) == sorted(p), "in order")):
        yield op.transpose(x, perm=p)
        return x

    assert lines(rule_picture(drop).scenes[0])[1] == "[transpose](x); perm = p: in order"
    assert conditions_of(drop) == ("requires p: in order",)


def test_many_values_are_cut_short():
    @rule
    def scale(x):
        yield op.mul(x, range(2, 100))
        return x

    assert lines(rule_picture(scale).scenes[0])[1] == "[mul](x); y: 2, 3, 4, 5, 6, 7 or\N{NO-BREAK SPACE}…"


def test_operands_that_are_no_nodes():
    @rule
    def odd(x, y):
        kept = op.sub(~(x | y), ~op.relu(x))
        yield op.add(kept, op.mul(y, 0 | op.neg(x)))
        return kept

    assert lines(rule_picture(odd).scenes[0])[:-1] == [
        "x()",
        "y()",
        "[either](x, y)",
        "[not] <forbidden>([either])",
        "[relu] <forbidden>(x)",
        "kept [sub]([not], [relu])",
        "[neg](x)",
        "[either]([neg]); first: 0",
        "[mul](y, [either])",
        "[add](kept, [mul])",
    ]


def test_a_replacement_that_is_nothing():
    @rule
    def forget(x):
        """Nodes that nobody reads."""
        yield op.relu(x)
        return rule.nothing

    before, after = rule_picture(forget).scenes
    assert lines(after) == ["replacement(); nothing"]
    assert before.boxes


def test_a_replacement_of_both_results():
    @rule
    def again(x):
        pair = forms.signs(op.neg(x))
        yield pair
        return forms.signs(x)

    before, after = rule_picture(again).scenes
    assert lines(before)[-1] == "replaced(pair.0, pair.1)"
    assert lines(after) == ["x()", "[signs](x)", "replacement 1([signs].0)", "replacement 2([signs].1)"]


def test_a_replacement_that_asks_what_was_taken():
    @rule
    def either(x):
        negated = op.neg(x)
        yield op.abs(negated | x)
        if negated:
            return op.abs(op.identity(x))
        return op.abs(x)

    _, after = rule_picture(either).scenes
    assert after.title == "⇒ replacement (sketch)"
    assert lines(after)[:-1] == ["x()", "[abs](x)"]


def test_an_optional_operand_that_must_be_missing():
    @rule
    def bare(x, w, b=None):
        yield op.linear(x, w, b)
        if b is not None:
            return rule.decline("it has a bias")
        return op.matmul(x, op.transpose(w))

    assert lines(rule_picture(bare).scenes[1])[:-1] == ["x()", "w()", "[transpose](w)", "[matmul](x, [transpose])"]


def test_an_op_below_the_yield_that_is_only_known_in_a_match():
    @rule
    def branch(x, c: Constant):
        layer = (op.add | op.sub)(x, c)
        yield op.neg(layer)
        if layer.op is op.sub:
            return op.sub(c, x)
        return layer.op(op.neg(x), -c.value)

    assert "[add | sub]([neg]); y: computed" in lines(rule_picture(branch).scenes[1])


# ---------------------------------------------------------------------- rules over digraphs


def digraph(edges, **types):
    graph = nx.DiGraph(edges)
    for name, kind in types.items():
        graph.nodes[name]["type"] = kind
    return graph


def fuse(**options):
    return from_graphs(
        digraph([("s", "m"), ("m", "a"), ("a", "e")], m="mul", a={"add", "sub"}),
        digraph([("s", "f"), ("f", "e")], f="fma"),
        name="fuse",
        interface=["s"],
        groups=["e"],
        **options,
    )


def test_a_graph_rule_shows_both_graphs():
    before, after = rule_picture(fuse()).scenes
    assert lines(before) == [
        "s()",
        "m [mul] <removed>(s)",
        "a [add | sub] <removed>(m)",
        "*e(a); all that are connected",
    ]
    assert lines(after) == ["s()", "f [fma] <added>(s)", "*e(f); all that are connected"]
    for name in ("s", "*e"):
        assert before.box(name).look == after.box(name).look


def test_a_graph_rule_shows_what_must_not_be_there_and_conditions():
    absent = digraph([("m", "t")], t="tap")
    loop = digraph([("a", "m")])
    made = fuse(without=[absent, loop], induced=True, condition=rule.where(lambda match: True, "s is large"))
    before, _ = rule_picture(made).scenes
    assert "t [tap] <forbidden>(m)" in lines(before)
    assert "m [mul] <removed>(s, a)" in lines(before)
    assert [a.mark for a in before.arrows] == ["", "", "", "forbidden", "forbidden"]
    assert lines(before)[-1] == "[where](); · no other edges between them; · s is large"
    assert 'style="dashed"' in rule_picture(made).dot.to_string()


def test_a_graph_rule_with_a_function_shows_its_source():
    def longer(match):
        if not match["m"]:
            return rule.decline("no attributes")
        return digraph([("s", "f")])

    made = from_graphs(digraph([("s", "m")], m="mul"), longer, name="computed", interface=["s"])
    before, after = rule_picture(made).scenes
    assert after.boxes[0].code[0] == "def longer(match):"
    assert lines(before)[-1] == "[declines](); · no attributes"
    assert repr(show(made)).startswith("computed: ")


@drawn
def test_a_graph_rule_is_laid_out_and_its_match_marked():
    made = fuse()
    assert to_svg(made).startswith("<svg")
    graph = digraph([("x", "m1"), ("m1", "a1"), ("a1", "y")], m1="mul", a1="add")
    marked = {box.name for box in show(graph, highlight=made.find(graph)[0]).scenes[0].boxes if box.mark}
    assert marked == {"x", "m1", "a1", "y"}
