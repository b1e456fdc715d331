"""Test modules for rules, written from the rules: a test each, with a graph on which it fires, ready to be changed."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.text import to_text
from graphrewrite.graph import Graph
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.engine.entry import GraphRewriting
from graphrewrite.rewriting.passes import Pass
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule_sets import Named, NamingError
from graphrewrite.testing.failure.code import graph_code, own_origins, parse_arguments
from graphrewrite.testing.failure.origin import Origin, origin_of
from graphrewrite.testing.properties import check
from graphrewrite.testing.reduction import Case, reduced
from graphrewrite.testing.snapshot import snapshot
from graphrewrite.testing.strategies.digraph_strategy import digraphs
from graphrewrite.testing.strategies.graph_strategy import graphs
from graphrewrite.testing.strategies.inputs import batch_for
from graphrewrite.testing.subject import Subject

__all__ = ["ghostwritten"]

_WIDTH = 88
"""Characters in a line, as formatters have it by default."""
_EXAMPLES = 300
"""Graphs to look at for one on which a rule fires."""


def ghostwritten(rules: Sequence[Named]) -> str:
    """Return a module of tests, one for each rule, that passes as it is.

    A test shows the rule at work on a small graph, and searches others for one on which it goes wrong. That of a rule
    that is wrong is expected to fail, on the graph that shows it, until somebody mends the rule. That of a rule with
    which nothing could be compared is skipped, and says why.

    Raises
    ------
    NamingError
        If there is no name under which a test could import a rule.

    Examples
    --------
    >>> from graphrewrite.rewriting.rule_sets import named
    >>> code = ghostwritten(named(["graphrewrite.rules:drop_identity"]))
    >>> print(code[code.index("    after =") :])
        after = Graph.parse(\"\"\"
            graph generated
            x = input() : f32[N]
            y = output(x)
        \"\"\")
        made = rewrite(before, drop_identity, verify=True)
        assert made == after
        assert_preserves(drop_identity, graphs(containing=drop_identity))
    <BLANKLINE>
    """
    seen = Counter[str]()
    tests, imports = [], []
    for each in rules:
        written = _Written(each)
        seen[written.name] += 1
        number = "" if seen[written.name] == 1 else f"_{seen[written.name]}"
        tests.append(written.test(f"test_{written.name}{number}"))
        imports += written.imports(tests[-1])
    targets = ", ".join(dict.fromkeys(each.target for each in rules))
    head = _docstring(f"Tests of {targets}, begun by graphrewrite ghostwrite.", "")
    return "\n\n\n".join([f"{head}\n\n{_together(imports)}", *tests]) + "\n"


class _Written:
    """A rule with what its test says."""

    def __init__(self, named: Named) -> None:
        self.rule = named.subject
        self.origin = origin_of(self.rule)
        if not self.origin.lines[0].startswith("from "):
            raise NamingError(
                f"{named.target!r}: {named.name!r} is no global of a module, so that a test cannot import it; "
                "give it a name there"
            )
        self.name = self.origin.name.lower()
        self.strategy, self.on = self._strategy()
        self.report = check(self.rule, on=self.on, seed=0)
        self.own: list[Origin] = []

    def _strategy(self) -> tuple[list[str], st.SearchStrategy[Any] | None]:
        """Return the strategy of the graphs on which a rule is tested, as code and itself; none for the default."""
        if isinstance(self.rule, Rule):
            return [f"graphs(containing={self.origin.name})"], graphs(containing=self.rule)
        if isinstance(self.rule, GraphRule):
            return [f"digraphs(containing={self.origin.name})"], digraphs(containing=self.rule)
        return [], None

    def test(self, name: str) -> str:
        """Return the test."""
        said = (inspect.getdoc(self.rule) or "").partition("\n\n")[0] if _has_own_doc(self.rule) else ""
        documentation = _docstring(said or f"Test {self.origin.name}.", "    ")
        return "\n".join([*self._marks(), f"def {name}():", documentation, *self._body()])

    def _marks(self) -> list[str]:
        """Return the decorators, by the verdict."""
        if self.report.counterexample is not None:
            reason = f"reason={_quoted(self.report.counterexample.reason)}"
            return _fitted("@pytest.mark.xfail(", ["strict=True", reason], ")", "")
        if not self.report:
            reason = "; ".join([self.report.verdict, *self.report.advice])
            return _fitted("@pytest.mark.skip(", [f"reason={_quoted(reason)}"], ")", "")
        if self.report.verdict != self.report.asked:
            kind = '"default::graphrewrite.testing.EvidenceWarning"'
            return _fitted("@pytest.mark.filterwarnings(", [kind], ")", "")
        return []

    def _body(self) -> Iterator[str]:
        rule = self.origin.name
        if self.report.counterexample is not None:
            yield from self._graph("before", self.report.counterexample.before)
            yield from _fitted("assert_preserves(", [rule, "before"], ")", "    ")
            return
        example = self._example() if self.report else None
        if example is not None:
            before, after = example
            yield from self._graph("before", before)
            yield from self._graph("after", after)
            verified = ["verify=True"] if isinstance(before, Graph) else []
            is_member = isinstance(self.rule, Rule | GraphRewriting | Pass)
            head, operands = ("rewrite(", ["before", rule, *verified]) if is_member else (f"{rule}(", ["before"])
            yield from _fitted(f"made = {head}", operands, ")", "    ")
            yield f"    assert {'made == after' if isinstance(before, Graph) else 'nx.utils.graphs_equal(made, after)'}"
        if self.report and self.report.verdict != self.report.asked:
            for line in self.report.advice:
                yield from textwrap.wrap(line, _WIDTH, initial_indent="    # ", subsequent_indent="    # ")
        yield from _fitted("assert_preserves(", [rule, *self.strategy], ")", "    ")

    def _graph(self, name: str, graph: Any) -> Iterator[str]:
        """Yield the lines that make a graph."""
        if not isinstance(graph, Graph):
            yield from textwrap.indent(f"{name} = {graph_code(graph, name=name)}", "    ").splitlines()
            return
        own = own_origins(graph)
        self.own += own
        text = parse_arguments(graph)
        lines = text.splitlines()
        if own:
            yield f"    {name} = Graph.parse("
            yield f"        {lines[0]}"
            yield from (f"    {line}" for line in lines[1:-1])
            yield f"    {lines[-1]},"
            yield f"        ops=[{', '.join(each.name for each in own)}],"
            yield "    )"
        else:
            yield from f"    {name} = Graph.parse({text})".replace("\n", "\n    ").splitlines()

    def _example(self) -> tuple[Any, Any] | None:
        """Return a small graph on which the rule fires, with the result; None if none is found or has no text."""
        subject = Subject(self.rule)

        def fires(graph: Any) -> bool:
            try:
                done = subject.apply(graph.copy())
            except Exception:  # of a smaller graph, for which the rule was not made
                return False
            return bool(done.fired) and snapshot(done.graph) != snapshot(graph)

        strategy = subject.graphs(subject.names) if self.on is None else self.on
        quick = settings(
            max_examples=_EXAMPLES,
            phases=[Phase.generate],
            database=None,
            derandomize=True,
            deadline=None,
            suppress_health_check=[c for c in HealthCheck if c is not HealthCheck.differing_executors],
        )
        try:
            graph = find(strategy, fires, settings=quick)
        except (NoSuchExample, Unsatisfiable):
            return None
        inputs = batch_for(graph, 0) if isinstance(graph, Graph) else {}
        before = reduced(Case(graph, inputs), lambda case: fires(case.graph)).graph
        after = subject.apply_quickly(before.copy())
        return (before, after) if _has_text(before) and _has_text(after) else None

    def imports(self, test: str) -> list[str]:
        """Return the imports that the test needs."""
        homes = {
            "graphrewrite": ("Graph", "rewrite"),
            "graphrewrite.testing": ("assert_preserves", "digraphs", "graphs"),
        }
        whole = {"pytest": "import pytest", "nx": "import networkx as nx", "np": "import numpy as np"}
        used = set(re.findall(r"(?<![\w.])([A-Za-z_]+)(?=[.(])", test))
        lines = [f"from {home} import {name}" for home, names in homes.items() for name in names if name in used]
        lines += [line for name, line in whole.items() if name in used]
        return [*lines, *(line for origin in (self.origin, *self.own) for line in origin.lines)]


def _has_own_doc(rule: Any) -> bool:
    """Tell whether the documentation is that of the rule, and not of its class."""
    return bool(inspect.getdoc(rule)) and inspect.getdoc(rule) != inspect.getdoc(type(rule))


def _has_text(graph: Any) -> bool:
    """Tell whether the text of a graph makes it again."""
    if not isinstance(graph, Graph):
        return True
    try:
        return bool(Graph.parse(to_text(graph, whole=True), ops=graph.ops.values()) == graph)
    except GraphRewriteError:
        return False


def _quoted(text: str) -> str:
    plain = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    return f'"{plain}"'


def _docstring(text: str, indent: str) -> str:
    """Return a docstring of one line."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")
    return f'{indent}"""{textwrap.shorten(plain, _WIDTH - len(indent) - 6, placeholder=" ...")}"""'


def _fitted(head: str, arguments: list[str], tail: str, indent: str) -> list[str]:
    """Return a call in one line, with its arguments in one line of their own, or with each in its own."""
    inside = ", ".join(arguments)
    if len(f"{indent}{head}{inside}{tail}") <= _WIDTH:
        return [f"{indent}{head}{inside}{tail}"]
    if len(f"{indent}    {inside}") <= _WIDTH or len(arguments) == 1:
        return [f"{indent}{head}", f"{indent}    {inside}", f"{indent}{tail}"]
    lines = [f"{indent}{head}"]
    for each in arguments:
        name, opened, inside = each.partition("(")
        if opened and '"' not in each:
            lines += _fitted(f"{name}(", [inside.removesuffix(")")], "),", f"{indent}    ")
        else:
            lines.append(f"{indent}    {each},")
    return [*lines, f"{indent}{tail}"]


def _together(lines: Iterable[str]) -> str:
    """Return imports, sorted, those from one module as one, and those of a user's modules last."""
    names: dict[str, set[str]] = {}
    whole = {line for line in lines if line.startswith("import ")}
    for line in lines:
        if line.startswith("from "):
            module, _, name = line.removeprefix("from ").partition(" import ")
            names.setdefault(module, set()).add(name)
    groups: tuple[list[str], list[str]] = (sorted(whole), [])
    for module in sorted(names):
        listed = sorted(names[module], key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        one = f"from {module} import {', '.join(listed)}"
        each = ",\n    ".join(listed)
        is_own = module.partition(".")[0] != "graphrewrite"
        groups[is_own].append(one if len(one) <= _WIDTH else f"from {module} import (\n    {each},\n)")
    return "\n\n".join("\n".join(group) for group in groups if group)
