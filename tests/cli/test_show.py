"""`graphrewrite show`, `explain` and `diff`: text in a pipe, colour in a terminal, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from graphrewrite import Graph, Module, Tensor, op
from graphrewrite.cli.commands import app
from graphrewrite.cli.tree import tree_of
from graphrewrite.formats.json_file import save
from graphrewrite.formats.text_file import write_text
from graphrewrite.hierarchy.graph_ops import graph_op
from tests.support.cli_commands import done, refused, run
from tests.support.hostile_names import HOSTILE, Page
from tests.support.tflite_networks import network

TEXT = "graph g\nx = input() : f32[N,4]\na = relu(x) : f32[N,4]\nb = relu(a) : f32[N,4]\ny = output(b)"
OTHER = TEXT.replace("b = relu", "b = neg")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.graph").write_text(TEXT, encoding="utf-8")
    (tmp_path / "h.txt").write_text(OTHER, encoding="utf-8")
    return tmp_path


@pytest.fixture
def terminal(monkeypatch):
    """Make commands believe that somebody looks at a screen."""

    def console(**options):
        return Console(force_terminal=True, width=100, color_system="standard")

    for name in ("show", "explain", "diff"):
        monkeypatch.setattr(f"graphrewrite.cli.{name}.console_for", console)


class TestModels:
    def test_text_in_a_pipe_is_the_text_form(self, folder):
        assert done("show", "g.graph").stdout == f"{TEXT}\n"

    def test_json(self, folder):
        save(Graph.parse(TEXT), folder / "g.json", arrays="npz")
        assert done("show", "g.json").stdout == f"{TEXT}\n"

    def test_onnx(self):
        from graphrewrite.models import path

        assert "/conv1/Conv" in done("show", path("digits")).stdout

    def test_ops_of_hardware_and_between_levels_are_known(self, folder):
        from graphrewrite import FixedPoint
        from graphrewrite.lowering.streaming.bridge import enter, leave

        graph = Graph("g")
        graph.output("y", leave(enter(graph.input("x", Tensor(FixedPoint(True, 8), ("N", 3))))))
        write_text(graph, folder / "levels.txt")
        assert "enter(x)" in done("show", "levels.txt").stdout

    @pytest.mark.parametrize(
        ("name", "content", "told"),
        [
            ("no.graph", None, "no file 'no.graph'; did you mean 'g.graph'"),
            (
                "g.pdf",
                "any text",
                "ends in .onnx, .tflite, .pt2, .keras, .h5, .pb, .pbtxt, .txt, .graph, .json or .npz",
            ),
            ("bad.txt", "graph g\nx = quark()", "line 2"),
            ("bad.json", "{", "expected JSON"),
            ("bad.onnx", "nothing", "bad.onnx"),
        ],
    )
    def test_what_is_no_model_is_refused(self, folder, name, content, told):
        if content is not None:
            (folder / name).write_text(content, encoding="utf-8")
        refused(3, told, "show", name)

    def test_a_graph_of_a_module(self, folder):
        module = Module("m")
        module["one"], module["two"] = Graph.parse(TEXT), Graph.parse(OTHER)
        write_text(module, folder / "m.txt")
        assert "neg(a)" in done("show", "m.txt", "--graph", "two").stdout
        assert "relu(a)" in done("show", "m.txt").stdout
        refused(2, "choose one by --graph: 'one', 'two'", "show", "m.txt", "--around", "a")
        refused(2, "no graph 'twoo'; did you mean 'two'", "show", "m.txt", "--graph", "twoo")
        refused(2, "a graph and a module cannot be compared", "diff", "m.txt", "g.graph")


class TestShow:
    @pytest.mark.parametrize(
        ("options", "nodes"),
        [
            (["--around", "b", "--depth", "1"], ["a", "b", "y"]),
            (["--around", "x", "--around", "y", "--depth", "0"], ["x", "y"]),
            (["--between", "a", "b"], ["a", "b"]),
            (["--search", "RELU", "--depth", "0"], ["a", "b"]),
            (["--level", "nn"], ["a", "b"]),
            (["--level", "nn", "--search", "a"], ["a", "b"]),
        ],
    )
    def test_parts(self, folder, options, nodes):
        lines = done("show", "g.graph", *options).stdout.splitlines()
        assert [line.partition(" = ")[0] for line in lines if " = " in line] == nodes

    @pytest.mark.parametrize("ending", ["svg", "html", "dot", "txt"])
    def test_files(self, folder, ending):
        assert done("show", "g.graph", "-o", f"g.{ending}").stdout == ""
        assert "relu" in (folder / f"g.{ending}").read_text(encoding="utf-8")

    def test_png(self, folder):
        done("show", "g.graph", "-o", "g.png")
        assert (folder / "g.png").read_bytes().startswith(b"\x89PNG")

    def test_a_file_that_cannot_be_is_refused_first(self, folder):
        for name, told in (("g.pdf", "does not end in"), ("none/g.svg", "there is no folder")):
            result = run("show", "missing.graph", "-o", name)
            assert (result.exit_code, told in result.stderr) == (2, True), result.stderr

    def test_options_that_lead_nowhere_are_wrong_usage(self, folder):
        refused(2, "'q': is not in the graph", "show", "g.graph", "--around", "q")
        refused(2, "no path leads from 'b' to 'a'", "show", "g.graph", "--between", "b", "a")
        refused(2, "two parts", "show", "g.graph", "--around", "a", "--search", "b")
        refused(2, "no node of the graph is of level 'stream'", "show", "g.graph", "--level", "stream")
        refused(2, "'nn' and holds 'q'", "show", "g.graph", "--level", "nn", "--search", "q")
        refused(2, "--max-nodes 3.*--around [xaby] --depth", "show", "g.graph", "--max-nodes", "3", "-o", "g.svg")

    def test_of_what_is_too_large_options_are_told_that_show_a_part(self, folder):
        *_, hint = done("show", "g.graph", "--max-nodes", "3").stdout.splitlines()
        assert "--around" in hint
        assert "show(" not in hint
        assert done("show", "g.graph", "--max-nodes", "3", "-o", "g.html").stdout == ""

    def test_a_terminal_gets_a_tree_in_colour(self, folder, terminal):
        shown = done("show", "g.graph").stdout
        assert "├── " in shown
        assert "\x1b[" in shown
        assert "└── " not in done("show", "g.graph", "--max-nodes", "2").stdout, "of more nodes, the summary"
        part = done("show", "g.graph", "--around", "b", "--depth", "0").stdout
        assert part.count("── ") == 1

    def test_graphs_that_are_nodes_are_branches(self):
        inner = Graph.parse(TEXT.replace("graph g", "graph block"))
        graph = Graph("outer")
        graph.output("y", graph_op(inner)(graph.input("x", Tensor("f32", ("N", 4)))))
        tree = tree_of(graph)
        (branch,) = [child for child in tree.children if child.children]
        assert [leaf.label.plain.partition(" = ")[0] for leaf in branch.children] == ["x", "a", "b", "y"]

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_names(self, folder, terminal, name):
        graph = Graph(HOSTILE[name])
        graph.output("y", op.relu(graph.input(f"\x1b[31m[red]{HOSTILE[name]}", Tensor("f32", ("N",)))))
        save(graph, folder / "hostile.json")
        shown = done("show", "hostile.json").stdout
        assert "\x1b[31m[red]" not in shown
        assert "[red]" in shown, "markup of rich is text"
        done("show", "hostile.json", "-o", "hostile.html")
        Page((folder / "hostile.html").read_text(encoding="utf-8"))


class TestExplain:
    RULE = ("--rule", "graphrewrite.rules:drop_repeated_relu")

    def test_the_sentence(self, folder):
        assert done("explain", "g.graph", *self.RULE, "--at", "b").stdout.startswith(
            "drop_repeated_relu matches at 'b'"
        )
        told = done("explain", "g.graph", *self.RULE, "--at", "a").stdout
        assert told == "drop_repeated_relu does not match at 'a': 'x' is input, and the pattern needs relu.\n"

    def test_a_page(self, folder):
        done("explain", "g.graph", *self.RULE, "--at", "a", "-o", "why.html")
        page = Page((folder / "why.html").read_text(encoding="utf-8"))
        assert "the pattern needs relu" in page.text
        assert sum(tag == "svg" for tag, _ in page.tags) >= 2

    def test_colour(self, folder, terminal):
        assert "\x1b[31m" in done("explain", "g.graph", *self.RULE, "--at", "a").stdout
        assert "\x1b[32m" in done("explain", "g.graph", *self.RULE, "--at", "b").stdout

    def test_a_rule_of_ones_own(self, folder):
        source = "from graphrewrite import op, rule\n@rule\ndef mine(x):\n    yield op.relu(x)\n    return x\n"
        (folder / "rules_of_a_user.py").write_text(source, encoding="utf-8")
        told = done("explain", "g.graph", "--rule", "rules_of_a_user:mine", "--at", "b").stdout
        assert told.startswith("mine matches at 'b'")

    @pytest.mark.parametrize(
        ("rule", "at", "told"),
        [
            ("graphrewrite.rules:drop_identiti", "a", "did you mean 'drop_identity'"),
            ("graphrewrite.rules:RULES", "a", "stands for [0-9]+ rules; name one of them: drop_dropout"),
            ("graphrewrite.rules:eliminate_dead_nodes", "a", "is no rule; a pass"),
            ("graphrewrite.rules:drop_identity", "bb", "node 'bb': is not in the graph; did you mean 'b'"),
        ],
    )
    def test_names_that_lead_nowhere(self, folder, rule, at, told):
        refused(2, told, "explain", "g.graph", "--rule", rule, "--at", at)


class TestDiff:
    def test_equal_is_zero(self, folder):
        assert done("diff", "g.graph", "g.graph").stdout == "no difference\n"

    def test_different_is_one(self, folder):
        result = run("diff", "g.graph", "h.txt", "-o", "d.html")
        assert (result.exit_code, result.stderr) == (1, "")
        assert result.stdout.splitlines()[:2] == ["~ b = relu(a) : f32[N,4]", "~   -> b = neg(a) : f32[N,4]    (type)"]
        assert "1 changed" in Page((folder / "d.html").read_text(encoding="utf-8")).text

    def test_a_missing_file_is_another_code(self, folder):
        refused(3, "no file", "diff", "g.graph", "missing.txt")

    def test_colour(self, folder, terminal):
        assert "\x1b[33m" in run("diff", "g.graph", "h.txt").stdout


def test_the_codes_are_told():
    told = done("--help").stdout
    assert "of diff: the models are equal" in told
    for name in ("show", "explain", "diff"):
        assert name in app.commands
        assert "Example:" in done(name, "--help").stdout


THIN = """
from graphrewrite import decline, define_op, op, rule


@rule
def rare(x):
    yield op.neg(op.neg(x))
    return op.identity(x) if x.node == "x4" else decline("another input")


@define_op(infer=lambda x: x)
def stubborn(x):
    raise ValueError("no value")


@rule
def blind(x):
    yield op.neg(stubborn(x))
    return op.identity(stubborn(x))


RULES = (rare, blind)
"""


def test_a_report_is_a_page(tmp_path: Path):
    page = tmp_path / "report.html"
    result = done("check", "graphrewrite.rules:drop_identity", "--examples", "5", "--html", page, "--json")
    assert json.loads(result.stdout)["good"]
    assert "1 of 1 rules hold" in Page(page.read_text(encoding="utf-8")).text
    wrong = run("check", "graphrewrite.rules:drop_identity", "--html", tmp_path / "report.pdf")
    assert wrong.exit_code == 2
    assert "does not end in .html or .txt" in wrong.stderr


def test_verdicts_on_little_are_told(tmp_path: Path, monkeypatch):
    (tmp_path / "thin_rules.py").write_text(THIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    asked = ("check", "thin_rules:RULES", "--examples", "25", "--seed", "6")
    result = run(*asked)
    assert result.exit_code == 1
    assert "rare: weak: preserved in " in result.stdout
    assert "blind: not compared in " in result.stdout
    assert "1 of 2 (1 weakly) hold as far as they were tested" in result.stdout
    (told,) = json.loads(run("check", "thin_rules:blind", *asked[2:], "--json").stdout)["rules"].values()
    assert told["verdict"] == "not compared"
    assert told["compared"] == {"blind": 0}
    assert "no value" in told["reason"]


@pytest.mark.parametrize("name", ["net.tflite", "net.bin", "net.onnx"])
def test_tensorflow_lite_is_known_by_its_content(tmp_path, name):
    (tmp_path / name).write_bytes(network())
    assert "Identity = output(fixed_point_softmax_1)" in done("show", tmp_path / name).output


def test_what_is_no_tensorflow_lite_says_so(tmp_path):
    (tmp_path / "net.tflite").write_bytes(b"PK and so on")
    refused(3, r"net\.tflite' is no TensorFlow Lite model", "show", tmp_path / "net.tflite")
    (tmp_path / "net.tflite").write_bytes(network()[:300])
    refused(3, r"net\.tflite' is corrupt", "show", tmp_path / "net.tflite")
