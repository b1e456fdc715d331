"""Memory: where spans of memory lie whose lives are known."""

from graphrewrite.memory.placement import Placement, Usage, place
from graphrewrite.memory.span import Span

__all__ = ["Placement", "Span", "Usage", "place"]


def __dir__() -> list[str]:
    return sorted(__all__)
