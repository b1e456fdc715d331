"""Memory: where spans of memory lie whose lives are known."""

from graphrewrite.memory.placement import Placement, Usage, place
from graphrewrite.memory.plan import MemoryPlan, Room, plan_memory
from graphrewrite.memory.span import Span

__all__ = ["MemoryPlan", "Placement", "Room", "Span", "Usage", "place", "plan_memory"]


def __dir__() -> list[str]:
    return sorted(__all__)
