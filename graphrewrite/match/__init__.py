"""Find patterns in graphs."""

from graphrewrite.match.found import Found, Matched, Obstacle, Several
from graphrewrite.match.search import find_at

__all__ = ["Found", "Matched", "Obstacle", "Several", "find_at"]
