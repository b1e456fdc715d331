"""Generated Python source of one function about a pattern."""

from __future__ import annotations

from typing import Any

from graphrewrite.rewriting.pattern import Pattern, PatternNode

__all__ = ["Source"]


class Source:
    """The source of one function, line by line.

    Attributes
    ----------
    lines : list of str
        The lines so far.
    known : dict
        Objects of the function's namespace.
    names : dict
        Identity of a term of the pattern to its name in the source.
    depth : int
        Level of indentation.
    parents : dict
        Identity of a pattern node to those of the nodes that read it.
    failing : str
        The statement for a mismatch outside of the loops.
    """

    failing = "return"

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.lines: list[str] = []
        self.known: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.depth = 1
        self.parents: dict[int, set[int]] = {}
        for node in pattern.nodes:
            for term in node.operands:
                if isinstance(term, PatternNode):
                    self.parents.setdefault(id(term), set()).add(id(node))

    @property
    def stop(self) -> str:
        """The statement for a mismatch: the next order of a loop, or the end."""
        return "continue" if self.depth > 1 else self.failing

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    def let(self, value: Any) -> str:
        """Give an object a name that the source can use."""
        name = f"k{len(self.known)}"
        self.known[name] = value
        return name
