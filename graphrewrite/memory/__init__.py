"""Memory: programs over regions, as text and with a plan; where spans of memory lie whose lives are known."""

from graphrewrite.memory.allocator import Allocator, spans_of
from graphrewrite.memory.placement import Placement, Usage, place
from graphrewrite.memory.plan import MemoryPlan, Room, plan_memory
from graphrewrite.memory.program.parser import parse_program
from graphrewrite.memory.program.printer import to_program
from graphrewrite.memory.span import Span

__all__ = [
    "Allocator",
    "MemoryPlan",
    "Placement",
    "Room",
    "Span",
    "Usage",
    "parse_program",
    "place",
    "plan_memory",
    "spans_of",
    "to_program",
]


def __dir__() -> list[str]:
    return sorted(__all__)
