"""Rewriting of bodies: the graphs among the attributes of nodes, by the rules of the graph around them."""

from __future__ import annotations

from collections.abc import Callable

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.type_inference import infer
from graphrewrite.rewriting.engine.journal import Journal

__all__ = ["BodyRewriting"]


class BodyRewriting:
    """The pass that rewrites bodies; each one once, as it comes up.

    Parameters
    ----------
    rewritten : callable
        Returns a body with the rules applied.
    journal : Journal, optional
        Notes the old bodies, of a graph that is rewritten in place.
    """

    name = "rewrite_bodies"

    def __init__(self, rewritten: Callable[[Graph], Graph], journal: Journal | None) -> None:
        self.rewritten, self.journal = rewritten, journal
        self.done: dict[int, tuple[Graph, Graph]] = {}  # the body is kept, so that its identity is

    def is_needed(self, graph: Graph) -> bool:
        """Tell whether there is a body that has not come up yet."""
        return any(id(body) not in self.done for _, _, body in graph.bodies())

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Put rewritten bodies in place of others; return the nodes that have them."""
        changed = []
        for node, key, body in list(graph.bodies()):
            new = self.result_of(node, key, body)
            if new is not body:
                if self.journal is not None:
                    self.journal.bodies.append((node, key, body))
                graph._node[node][key] = new
                changed.append(node)
        if changed:
            infer(graph, changed)  # a size that was unknown may be known now
        return changed

    def result_of(self, node: str, key: str, body: Graph) -> Graph:
        """Return a rewritten body, or itself where nothing has changed or its inputs and outputs have."""
        if id(body) not in self.done:
            try:
                new = self.rewritten(body)
            except GraphRewriteError as error:
                error.add_note(f"in the {key} of {node!r}")
                raise
            is_kept = (new.inputs, new.input_types, new.outputs) == (body.inputs, body.input_types, body.outputs)
            result = new.as_body() if is_kept and new != body else body
            self.done[id(body)] = body, result
            self.done[id(result)] = result, result
        return self.done[id(body)][1]
