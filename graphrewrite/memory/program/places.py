"""Places that the text of a program states: bytes of regions, and of what runs programs of its own."""

from __future__ import annotations

from collections.abc import Container

from graphrewrite.memory.program.lines import Instruction

__all__ = ["Places"]


class Places:
    """The bytes that are taken.

    Attributes
    ----------
    after : dict of str to list of str
        What was in the same place before, by name.
    """

    def __init__(self) -> None:
        self.after: dict[str, list[str]] = {}
        self._taken: list[tuple[str, int, int]] = []

    def put(self, line: Instruction, name: str, size: int, grain: int, freed: Container[str]) -> None:
        """Note the place of an instruction; raise if it overlaps one that is not free again, or lies between grains."""
        assert line.place is not None
        at, stop = line.place, line.place + size
        if at % grain:
            low = at // grain * grain
            line.cursor.fail(
                f"the byte {at} is no multiple of {grain}; place it at {low} or {low + grain}", at=line.columns["place"]
            )
        overlapping = [each for each in self._taken if at < each[2] and each[1] < stop]
        for other, start, end in overlapping:
            if other not in freed:
                line.cursor.fail(
                    f"the bytes {at} to {stop} overlap those of {other!r}, {start} to {end}; free that before, or "
                    "place one elsewhere",
                    at=line.columns["place"],
                )
        self.after[name] = [other for other, *_ in overlapping]
        self._taken.append((name, at, stop))
