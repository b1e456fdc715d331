"""Find patterns in graphs."""

from graphrewrite.match.found import Found, Matched, Obstacle, Several
from graphrewrite.match.match import Match, Root
from graphrewrite.match.search import find_at

__all__ = ["Found", "Match", "Matched", "Obstacle", "Root", "Several", "find_at"]
