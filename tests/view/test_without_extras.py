"""Where only networkx and numpy are installed, everything shows its text and says what would draw it."""

from __future__ import annotations

import subprocess
import sys

MISSING = ("jinja2", "markupsafe", "pydot", "pygments", "rich", "click", "hypothesis", "onnx")
SETTING = f"""
import sys
sys.modules.update(dict.fromkeys({MISSING!r}))
import numpy as np
from graphrewrite import Graph, Module, Pipeline, Tensor, diff, evaluation, op, rule, show, trace
from graphrewrite.errors import MissingDependencyError

@rule
def drop_double_negation(x):
    yield op.neg(op.neg(x))
    return x

graph = Graph.parse("graph g\\nx = input() : f32[N,2]\\na = neg(x)\\nb = neg(a)\\ny = output(b)")
found = trace(graph, [drop_double_negation])
shown = dict(
    graph=graph, part=graph.show(around="a"), module=Module("m"), type=Tensor("f32", ("N",)), summary=graph.summary(),
    rule=drop_double_negation, rules=show((drop_double_negation,)), pipeline=Pipeline((drop_double_negation,)),
    explanation=drop_double_negation.explain(graph, at="a"), difference=diff(graph, found.graph), trace=found,
    nothing=trace(graph, []), profile=found.profile, numbers=evaluation(graph, dict(x=np.ones((3, 2), np.float32))),
)
"""
SAVED = """
for name, thing in shown.items():
    html = thing._repr_html_()
    assert html.startswith("<pre>") and "graphrewrite[view]" in html, (name, html[:200])
    display = show(thing)
    try:
        display.save("page.html")
    except MissingDependencyError as error:
        assert "pip install 'graphrewrite[view]'" in str(error), (name, error)
    else:
        raise AssertionError(name)
    assert display.save("text.txt").read_text(encoding="utf-8") == f"{display}\\n", name
    assert len(repr(thing)) < 600 and str(thing), name
print(len(shown))
"""


def test_without_extras_all_is_text_with_a_hint(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SETTING + SAVED],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("14\n", "")
    assert {path.name for path in tmp_path.iterdir()} == {"text.txt"}
