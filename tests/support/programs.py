"""Programs over memory: lowered from generated graphs, and written instruction by instruction, with regions reused."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, rewrite
from graphrewrite.graph.type_inference import declared_types
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.lowering import lower_to_memory
from graphrewrite.memory import parse_program
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.programs import COMPUTING, MOVING, program_text
from graphrewrite.testing.strategies.picking import by_choices
from graphrewrite.types import OBJECT, TEXT


def has_a_place(graph: Graph) -> bool:
    """Tell whether all values are numbers whose sizes are known before the run, in graphs within nodes, too."""
    parts = [op.body for node in graph if isinstance(op := graph.op(node), GraphOp)]
    if not all(has_a_place(body) for body in [*parts, *(body for _, _, body in graph.bodies())]):
        return False
    kinds = [kind for node in graph for kind in (declared_types(graph, node) or ())]
    return all(isinstance(kind, Tensor) and kind.element not in (TEXT, OBJECT) and not kind.unknowns for kind in kinds)


def lowered(*after: Any, ops: tuple[str, ...] = (*MOVING, *COMPUTING)) -> st.SearchStrategy[Graph]:
    """Programs of generated graphs, after some rules."""
    programs = graphs(ops=ops).filter(has_a_place).map(lower_to_memory)
    return programs.map(partial(rewrite, rules=after)) if after else programs


def written() -> st.SearchStrategy[Graph]:
    """Programs that use few regions again and again, by themselves and by views."""
    return texts().map(parse_program)


def texts() -> st.SearchStrategy[str]:
    """Their text: whatever is read was written before."""
    return by_choices(program_text)
