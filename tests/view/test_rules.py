"""Rules and rule sets as displays: what their cards say, how they are counted, and that nothing in them is run."""

from __future__ import annotations

import builtins
import time

import networkx as nx
import pytest

from graphrewrite import Graph, Pipeline, op, pass_, rule, show
from graphrewrite.errors import GraphError
from graphrewrite.lowering.composite import LOWER_COMPOSITE
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rules import FOLDING, RULES, drop_identity, inline, merge_clips
from graphrewrite.view.rules.card import cards_of
from graphrewrite.view.source import place_of, written_source
from graphrewrite.view.written import PictureError
from tests.support.hostile_names import HOSTILE, Page

GRAPH = Graph.parse("graph shop\nx = input() : f32[N]\na = identity(x)\nb = identity(a)\ny = output(b)")


@rule(keeps="rounding", shared="keep")
def fuse(x, c: rule.Constant, d):
    """x·c + d is one fused multiply-add.

    It rounds once.
    """
    total = op.add(op.mul(x, c), d)
    yield total
    if total.type.element == "f64":
        return rule.decline("it is double", at=total)
    return op.fma(x, c, d)


@rule
def computed(x, c: rule.Constant):
    yield op.mul(x, c)
    return op.mul(x, int(c.value))


@pass_
def tidy(graph):
    """Tidy up."""
    return []


def digraph_rule(**options):
    graph = nx.DiGraph([("s", "x"), ("x", "e")])
    return from_graphs(graph, nx.DiGraph([("s", "e")]), name="skip", interface=["s", "e"], **options)


class TestCard:
    def test_of_a_rule(self):
        (card,) = cards_of([fuse])
        assert (card.name, card.kind, card.keeps, card.level, card.family) == (
            "fuse", "transformation", "rounding", "nn", "test_rules",
        )  # fmt: skip
        assert card.doc == ("x·c + d is one fused multiply-add.", "It rounds once.")
        assert card.kept == "keeps values up to the rounding of floats"
        assert card.notes == (
            "declines: it is double",
            "an inner node that something else reads stays for that reader",
        )
        assert card.place == f"tests/view/test_rules.py:{fuse.line}"
        assert card.source.startswith('@rule(keeps="rounding"')
        before, after = card.drawing.scenes
        assert (before.title, after.title) == ("pattern", "⇒ replacement (sketch)")
        for name in "xcd":
            assert before.box(name).look == after.box(name).look, "an interface has one colour on both sides"
        assert "declines" not in [box.kind for box in before.boxes], "that is told in words below"

    def test_of_a_replacement_that_is_computed(self):
        (card,) = cards_of([computed])
        assert [scene.title for scene in card.drawing.scenes] == ["pattern"]
        assert card.computed == "return op.mul(x, int(c.value))"

    def test_of_a_rule_over_digraphs(self):
        made = digraph_rule(induced=True)
        (card,) = cards_of([made])
        assert (card.kind, card.level, card.family) == ("rule over digraphs", "", "")
        assert card.notes == ("requires: no other edges between them",)
        assert "from_graphs(" in card.source
        assert len(card.drawing.scenes) == 2

    def test_of_passes_and_functions(self):
        cards = cards_of([tidy, inline, len])
        assert [card.kind for card in cards] == ["pass", "rule", "function"]
        assert [card.drawing for card in cards] == [None] * 3
        assert cards[0].doc == ("Tidy up.",)
        assert written_source(len) == place_of(len) == ""

    def test_places_reveal_no_folders(self):
        names: dict[str, object] = {}
        exec(compile("def mine(graph): return graph", "/home/me/secret/rules/mine.py", "exec"), names)
        assert place_of(names["mine"]) == "rules/mine.py:1"


class TestRule:
    def test_page(self):
        page = Page(show(fuse)._repr_html_())
        for told in ("x·c + d is one fused", "declines: it is double", "test_rules.py:", "rounding"):
            assert told in page.text
        assert "op.fma(x, c, d)" in "".join(page.words)
        assert sum(tag == "svg" for tag, _ in page.tags) == 2

    def test_what_a_notebook_asks_for_is_that_page(self):
        assert fuse._repr_html_() == show(fuse)._repr_html_()
        made = digraph_rule()
        assert made._repr_html_() == show(made)._repr_html_()
        assert repr(fuse) == "<rule fuse>"

    def test_text_is_pattern_and_conditions(self):
        assert str(show(fuse)).splitlines()[0] == str(fuse)

    @pytest.mark.parametrize("ending", ["html", "txt", "svg", "dot"])
    def test_files(self, ending, tmp_path):
        assert show(fuse).save(tmp_path / f"fuse.{ending}").read_text(encoding="utf-8")

    def test_a_file_of_another_kind_is_refused(self, tmp_path):
        with pytest.raises(PictureError, match=r"\.svg, \.png or \.dot"):
            show(fuse).save(tmp_path / "fuse.pdf")

    def test_matches_in_a_graph(self):
        assert show(drop_identity, on=GRAPH).data.matches == "2 matches"

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_texts_are_text(self, name):
        text = HOSTILE[name]

        @rule
        def hostile(x):
            yield op.pad(op.add(x, rule.where(lambda value: True, text)), mode=text)
            return rule.decline("no", at=x)

        hostile.__doc__ = f"{text}\n\n{text}"
        hostile.file = hostile.name = text
        page = Page(show(hostile)._repr_html_())
        gallery = Page(show([hostile])._repr_html_())
        Page(show([hostile]).document)
        if name == "script":
            assert "<script>alert(1)</script>" in page.text
            assert "<script>alert(1)</script>" in gallery.text


class TestRuleSet:
    def test_counts(self):
        data = show((fuse, computed, tidy, digraph_rule())).data
        assert data.title == "4 rules and passes"
        assert dict(data.counts) == {
            "kind": (("transformation", 2), ("pass", 1), ("rule over digraphs", 1)),
            "keeps": (("exact", 3), ("rounding", 1)),
            "level": (("nn", 2),),
            "family": (("test_rules", 3),),
        }

    def test_a_card_for_each_with_an_anchor(self):
        shown = show(RULES[:5])
        page = Page(shown._repr_html_())
        anchors = {attributes["href"][1:] for tag, attributes in page.tags if tag == "a"}
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert anchors == set(ids)
        assert len(ids) == len(set(ids)) == 5 == len(shown.data.cards)
        for member in RULES[:5]:
            assert member.name in page.text

    def test_matches_now(self):
        shown = show((drop_identity, merge_clips, tidy, inline), on=GRAPH)
        assert [card.matches for card in shown.data.cards] == ["2 matches", "no match", "", "no match"]
        assert shown.data.graph == "shop"
        assert "2 matches" in str(shown)

    def test_a_rule_that_fails_says_so(self):
        @rule
        def failing(x):
            yield op.identity(x)
            return 1 / 0

        assert "division by zero" in show((failing,), on=GRAPH).data.cards[0].matches

    def test_a_pipeline_has_phases(self):
        made = Pipeline(FOLDING, tidy, Pipeline((fuse,), name="inner"), name="all")
        shown = show(made)
        assert shown.data.title.startswith("pipeline all: ")
        assert [phase.title for phase in shown.data.phases] == [
            "phase 1 of 3, until none of them matches",
            "phase 2 of 3",
            "phase 3 of 3: inner, until none of them matches",
        ]
        assert [card.name for _, card in shown.data.phases[1].entries] == ["tidy"]
        assert made._repr_html_() == shown._repr_html_()

    def test_a_pass(self):
        assert show(tidy).data.title == "pass tidy"
        assert "Tidy up." in Page(tidy._repr_html_()).text

    @pytest.mark.parametrize("given", [(), [], Pipeline()])
    def test_nothing_is_refused(self, given):
        with pytest.raises(GraphError, match="empty"):
            show(given)

    def test_what_is_no_rule_is_refused_by_name(self):
        with pytest.raises(GraphError, match=r"^'abc' is no rule, pass or function"):
            show((fuse, "abc"))

    def test_many_rules_are_drawn_within_seconds(self):
        many = (*RULES, *LOWER_COMPOSITE)
        start = time.perf_counter()
        html = show(many)._repr_html_()
        assert time.perf_counter() - start < 8  # 1 s where nothing else runs
        assert html.count("<svg") >= 79

    def test_without_graphviz_the_words_are_there(self, monkeypatch):
        monkeypatch.setattr("graphrewrite.view.layout.drawing.render_svgs", _missing)
        page = Page(show((fuse,))._repr_html_())
        assert "pip install" in page.text
        assert "x·c + d is one fused" in page.text

    @pytest.mark.parametrize("missing", ["jinja2", "pygments"])
    def test_without_a_package_the_text_is_there(self, missing, monkeypatch):
        from graphrewrite.view.highlight import _lexer
        from graphrewrite.view.page import environment

        real = builtins.__import__

        def without(name, *args, **options):
            if name.partition(".")[0] == missing:
                raise ImportError(name)
            return real(name, *args, **options)

        for cached in (environment, _lexer):
            cached.cache_clear()
        monkeypatch.setattr(builtins, "__import__", without)
        try:
            html = show((fuse,))._repr_html_()
        finally:
            monkeypatch.undo()
            for cached in (environment, _lexer):
                cached.cache_clear()
        assert "fused multiply-add" in html
        assert ("pip install" in html) == (missing == "jinja2")


def _missing(*_, **__):
    from graphrewrite.errors import MissingDependencyError

    raise MissingDependencyError("pip install it")
