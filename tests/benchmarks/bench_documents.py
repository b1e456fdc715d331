"""Texts, JSON, differences and views of large graphs, as multiples of copying or of rewriting the same graph."""

from __future__ import annotations

from graphrewrite import Graph, op, rewrite, rule
from graphrewrite.compare.difference import diff
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.text import to_text
from tests.benchmarks.bench_verify import mixed
from tests.benchmarks.figures import fastest, print_table, scaled

SIZES = scaled((200,), (1_000, 10_000, 30_000))


@rule
def clip_by_abs(x):
    "Every relu becomes another op, which stands for any rule that fires everywhere."
    yield op.relu(x)
    return op.abs(x)


def test_documents_and_views():
    rows = []
    for size in SIZES:
        graph = mixed(size)
        viewed, text, data = graph.copy(), to_text(graph), to_dict(graph)
        nodes = graph.in_order()
        viewed.view("first", nodes[: len(nodes) // 2])
        viewed.view("second", nodes[len(nodes) // 2 :])
        other = graph.copy()
        copied, rewritten, followed, differing, *documents = fastest(
            graph.copy,
            lambda graph=graph: rewrite(graph, [clip_by_abs]),
            lambda viewed=viewed: rewrite(viewed, [clip_by_abs]),
            lambda graph=graph, other=other: diff(graph, other),
            lambda graph=graph: to_text(graph),
            lambda text=text: Graph.parse(text),
            lambda graph=graph: to_dict(graph),
            lambda data=data: from_dict(data),
        )
        ratios = [time / copied for time in (differing, *documents)]
        rows.append((f"{len(graph):,}", copied * 1e3, *ratios, followed / rewritten))
    heads = ("nodes", "copy ms", "diff", "to_text", "parse", "to_dict", "from_dict", "views / plain rewriting")
    print_table("Documents, as multiples of a copy; views, of rewriting", heads, rows)
    assert rows[-1][2] < scaled(1_000, 100), "the difference of two graphs is a matter of seconds"
    assert rows[-1][-1] < scaled(1_000, 15), "views cost a multiple of the rewriting that they follow"
