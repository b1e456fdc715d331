"""Memory: programs over regions, in which order steps run, and where spans of memory lie whose lives are known."""

from graphrewrite.memory.allocator import Allocator, spans_of
from graphrewrite.memory.graph_steps import schedule
from graphrewrite.memory.ordering import Schedule, order
from graphrewrite.memory.placement import Placement, Usage, place
from graphrewrite.memory.plan import MemoryPlan, Room, plan_memory
from graphrewrite.memory.program.parser import parse_program
from graphrewrite.memory.program.printer import to_program
from graphrewrite.memory.span import Span
from graphrewrite.memory.step import Step

__all__ = [
    "Allocator",
    "MemoryPlan",
    "Placement",
    "Room",
    "Schedule",
    "Span",
    "Step",
    "Usage",
    "order",
    "parse_program",
    "place",
    "plan_memory",
    "schedule",
    "spans_of",
    "to_program",
]


def __dir__() -> list[str]:
    return sorted(__all__)
