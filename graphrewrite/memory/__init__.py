"""Memory: in which order steps run, and where spans of memory lie whose lives are known."""

from graphrewrite.memory.graph_steps import schedule
from graphrewrite.memory.ordering import Schedule, order
from graphrewrite.memory.placement import Placement, Usage, place
from graphrewrite.memory.plan import MemoryPlan, Room, plan_memory
from graphrewrite.memory.span import Span
from graphrewrite.memory.step import Step

__all__ = [
    "MemoryPlan",
    "Placement",
    "Room",
    "Schedule",
    "Span",
    "Step",
    "Usage",
    "order",
    "place",
    "plan_memory",
    "schedule",
]


def __dir__() -> list[str]:
    return sorted(__all__)
