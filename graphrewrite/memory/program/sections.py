"""Sections of the text of a program: its own lines, then those of the programs that its instructions run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from graphrewrite.errors import did_you_mean
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.literal_parser import read_name
from graphrewrite.graph import Graph

__all__ = ["PROGRAM", "Sections"]

PROGRAM = re.compile(r"program\b")


@dataclass
class Sections:
    """The programs of a text by name, each of which is read when it is needed first.

    Attributes
    ----------
    first : list of Cursor
        Lines of the program itself.
    end : Cursor
        The end of the text.
    read : callable
        Returns the graph of some lines.
    """

    first: list[Cursor]
    end: Cursor
    read: Callable[[list[Cursor]], Graph]
    lines: dict[str, list[Cursor]] = field(default_factory=dict)
    found: dict[str, Graph | None] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, read: Callable[[Sections, list[Cursor]], Graph]) -> Sections:
        r"""Split a text.

        Examples
        --------
        >>> sections = Sections.of("program g\nx\n\nprogram step\ny", lambda *_: Graph())
        >>> len(sections.first), list(sections.lines)
        (2, ['step'])
        """
        every = text.splitlines()
        lines = [cursor for number, line in enumerate(every, 1) if not (cursor := Cursor(line, number)).is_at_end]
        starts = [i for i, line in enumerate(lines) if i and _is_header(line)]
        parts = [lines[a:b] for a, b in zip([0, *starts], [*starts, len(lines)], strict=True)]
        sections = cls(parts[0], Cursor("", len(every) + 1), lambda own: read(sections, own))
        for part in parts[1:]:
            head = Cursor(part[0].text, part[0].number)
            head.take(PROGRAM)
            if head.is_at_end:
                head.fail("a program that another one runs has a name; write 'program name'")
            at, name = head.at, read_name(head)
            if name in sections.lines:
                head.fail(f"there are two programs {name!r}; give one of them another name", at=at)
            sections.lines[name] = part
        return sections

    def body(self, name: str, cursor: Cursor, at: int) -> Graph:
        """Return the program of a name, which an instruction runs."""
        if name not in self.lines:
            cursor.fail(
                f"there is no program {name!r}{did_you_mean(name, self.lines)}; write it behind this one", at=at
            )
        if name not in self.found:
            self.found[name] = None
            self.found[name] = self.read(self.lines[name]).as_body()
        found = self.found[name]
        return cursor.fail(f"the program {name!r} runs itself; write a loop", at=at) if found is None else found

    def finish(self) -> None:
        """Raise if no instruction runs a program."""
        for name, lines in self.lines.items():
            if name not in self.found:
                lines[0].fail(f"no instruction runs the program {name!r}; remove it, or write body=body({name})", at=0)


def _is_header(line: Cursor) -> bool:
    return line.sees("program") and not line.text.rstrip().endswith(("{", "}"))
