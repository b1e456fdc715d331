"""Find patterns in graphs."""

from graphrewrite.rewriting.match.candidates import Candidates
from graphrewrite.rewriting.match.match import Match, Root
from graphrewrite.rewriting.match.results import Embedding, MatchedValue, Obstacle, UnitMatches
from graphrewrite.rewriting.match.search import find_at

__all__ = ["Candidates", "Embedding", "Match", "MatchedValue", "Obstacle", "Root", "UnitMatches", "find_at"]
