"""Views follow the graph: what a rewrite puts in the place of a member takes its place in the view."""

from graphrewrite.following.following import Following, followed

__all__ = ["Following", "followed"]
