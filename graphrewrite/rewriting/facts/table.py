"""Facts of the values of one graph: computed when somebody asks, and kept along edits."""

from __future__ import annotations

import heapq
from typing import Any

from graphrewrite.errors import AnalysisError, GraphError, GraphRewriteError, not_there
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.op import find_op
from graphrewrite.rewriting.facts.analysis import Analysis, AppliedOp, OpFunction

__all__ = ["FactTable"]


class FactTable:
    """What an analysis knows of the values of a graph.

    Attributes
    ----------
    facts : dict
        Node to the facts of its results, of those that somebody has needed.
    heights : dict
        The same nodes to the length of the way to them, which orders what an edit changes.
    """

    def __init__(self, graph: Graph, analysis: Analysis[Any]) -> None:
        self.graph, self.analysis = graph, analysis
        self.facts: dict[str, tuple[Any, ...]] = {}
        self.heights: dict[str, int] = {}

    def of(self, node: str, result: int = 0) -> Any:
        """Return what is known of a result of a node."""
        found = self.facts.get(node)
        if found is None:
            found = self._of_all_below(node)
        try:
            return found[result]
        except IndexError:
            raise GraphError(f"has no result {result} of which anything is known", node=node) from None

    def _of_all_below(self, wanted: str) -> tuple[Any, ...]:
        """Compute the facts of a node, and of all that it needs, without recursion."""
        facts = self.facts
        begun: dict[str, OpFunction | None] = {}
        if wanted not in self.graph._node:
            raise not_there(wanted, self.graph._node)
        work = [wanted]
        while work:
            node = work[-1]
            if node in facts:
                work.pop()
                continue
            if node not in begun:
                begun[node] = self._function_of(node)
                if begun[node] is not None:
                    # On a cycle without a state, which the verifier refuses, what is begun stays unknown.
                    missing = [s for s in self.graph._pred[node] if s not in facts and s not in begun]
                    if missing:
                        work += missing
                        continue
            facts[node] = self._computed(node, begun[node])
            work.pop()
        return facts[wanted]

    def _function_of(self, node: str) -> OpFunction | None:
        """Return the function that gives the facts of a node; None where its type alone does."""
        data = self.graph._node[node]
        op = find_op(data.get("type"), self.graph.ops)
        if op is None or op.stateful or data.get("result") is None:
            return None
        return self.analysis.function_of(op, data)

    def _computed(self, node: str, function: OpFunction | None) -> tuple[Any, ...]:
        """Return the facts of a node from those of its operands, by a function if there is one."""
        graph, analysis = self.graph, self.analysis
        declared = graph._node[node].get("result")
        results = declared if isinstance(declared, tuple) else (graph.result_type(node),)
        if function is None:
            self.heights[node] = 0
            return tuple(map(analysis.unknown, results))
        sources = graph.operands(node)
        known = tuple([self._known(*source) for source in sources])
        self.heights[node] = 1 + max((self.heights.get(s, 0) for s in graph._pred[node]), default=0)
        applied = AppliedOp(graph, node, graph.op(node), known, sources, results)
        try:
            return analysis.checked(function(applied), applied, node)
        except GraphRewriteError:
            raise
        except Exception as error:
            raise AnalysisError(
                f"the function of {applied.op.name!r} in the analysis {analysis.name!r} raised "
                f"{type(error).__name__}: {error}",
                node=node,
            ) from error

    def _known(self, node: str, result: int) -> Any:
        found = self.facts.get(node)
        return self.analysis.unknown(self.graph.result_type(node, result)) if found is None else found[result]

    def follow(self, edit: Edit) -> dict[str, None]:
        """Compute anew what an edit changes, as far as it does; return the nodes of which something else is known now.

        The graph is as it is after the edit.
        """
        facts, changed = self.facts, dict[str, None]()
        if not facts:
            return changed
        for name in edit.removed:
            if facts.pop(name, None) is not None:
                changed[name] = None
                del self.heights[name]
        touched = [reader for _, reader, *_ in edit.linked]
        touched += [reader for _, reader in edit.unlinked]
        touched += [name for name, _ in (*edit.changed, *edit.added)]
        # Operands first, as far as heights tell; what is computed too early is computed again.
        queue = [(self.heights[name], name) for name in dict.fromkeys(touched) if name in facts]
        heapq.heapify(queue)
        while queue:
            _, node = heapq.heappop(queue)
            if queue and queue[0][1] == node:
                continue
            before = facts.pop(node)
            if self._of_all_below(node) != before:
                changed[node] = None
                for reader in self.graph._succ[node]:
                    if reader in facts:
                        heapq.heappush(queue, (self.heights[reader], reader))
        return changed
