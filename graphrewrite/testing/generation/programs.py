"""Programs over memory: written instruction by instruction, in few regions that are used again and again."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.graph import Graph
from graphrewrite.memory import parse_program
from graphrewrite.testing.generation.demand import Pick

__all__ = ["COMPUTING", "MOVING", "program", "program_text"]

MOVING = ("concat", "slice", "split", "reshape", "flatten", "squeeze", "unsqueeze", "identity", "transpose")
"""Ops that move entries: of what a lowering makes of them, most need not be moved."""
COMPUTING = ("relu", "add", "neg", "mul")
_LARGE, _SMALL, _COLUMN, _FLAT = (4, 3), (2, 3), (4, 1), (12,)
_REGIONS = {"x": _LARGE, "s": _LARGE, "y": _LARGE, "z": _SMALL, "a": _LARGE, "b": _LARGE, "c": _SMALL, "d": _SMALL}
_REGIONS |= {"e": _COLUMN}
_INSTRUCTIONS = ("relu", "neg", "add", "copy", "insert", "extract", "constant_of_shape")
_PARTS = ((_LARGE, _SMALL), (_LARGE, _COLUMN), (_SMALL, _SMALL))
"""Shapes of a region and of a part of it."""
_VIEWS, _MOST = 4, 9


def program(pick: Pick) -> Graph:
    """Return a program of which every value that is read was written before.

    Examples
    --------
    >>> print(program(lambda options: options[0]).nodes["y"]["type"])
    output
    """
    return parse_program(program_text(pick))


def program_text(pick: Pick) -> str:
    """Return the text of such a program."""
    return _Writing(pick).text()


class _Writing:
    """A program that is being written.

    Attributes
    ----------
    names : dict
        Regions and views: the region, the first entry there, and the shape.
    done : set
        Entries of regions that are written.
    """

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.names: dict[str, tuple[str, int, tuple[int, ...]]] = {n: (n, 0, shape) for n, shape in _REGIONS.items()}
        self.lines = [f"{n} = alloc : {_type(_REGIONS[n])}" for n in "abcde"]
        self.done = {(n, entry) for n in "xs" for entry in range(12)}

    def text(self) -> str:
        """Return the program."""
        for number in range(self.pick(range(_VIEWS + 1))):
            self.view(f"v{number}")
        for _ in range(self.pick(range(1, _MOST + 1))):
            self.step(self.pick(_INSTRUCTIONS))
        if not self.entries("y") <= self.done:
            self.lines.append(f"copy @out y, @in {self.some(_LARGE, reads=True)}")
        if not self.entries("z") <= self.done:
            self.lines.append("constant_of_shape @out z, shape=[2, 3], value=1.0")
        declared = [f"@in x : {_type(_LARGE)}", f"@inout s -> t : {_type(_LARGE)}"]
        declared += [f"@out {n} : {_type(_REGIONS[n])}" for n in "yz"]
        return "\n".join(["program p", "declare {", *declared, "}", "program {", *self.lines, "}"])

    def view(self, name: str) -> None:
        """Add a view of some entries of a region."""
        root = self.pick([n for n in _REGIONS if _REGIONS[n] == _LARGE])
        shape = self.pick((_SMALL, _FLAT, (6,), _LARGE))
        offset = self.pick([at for at in (0, 3, 6, 1) if at + _count(shape) <= _count(_LARGE)])
        self.lines.append(f"{name} = view @in {root}, offset={offset} : {_type(shape)}")
        self.names[name] = root, offset, shape

    def entries(self, name: str) -> set[tuple[str, int]]:
        """Return what a region or a view is made of."""
        root, offset, shape = self.names[name]
        return {(root, offset + entry) for entry in range(_count(shape))}

    def some(self, shape: tuple[int, ...] | None, *, reads: bool) -> str | None:
        """Return a region or a view that may be read or written, of a shape or of any; None if there is none."""
        fits = [
            name
            for name, (root, _, own) in self.names.items()
            if shape in (None, own) and (self.entries(name) <= self.done if reads else root != "x")
        ]
        return self.pick(fits) if fits else None

    def step(self, kind: str) -> None:
        """Add an instruction, if it finds something to read."""
        out = self.some(None, reads=False)
        assert out is not None  # a program may write most of its regions
        shape = self.names[out][2]
        if kind == "constant_of_shape":
            self.lines.append(f"{kind} @out {out}, shape={list(shape)}, value={self.pick(range(4))}.0")
            self.done |= self.entries(out)
        elif kind in ("insert", "extract"):
            self.part(kind)
        elif (first := self.some(shape, reads=True)) is not None:
            read = [first, *([self.some(shape, reads=True) or first] if kind == "add" else [])]
            if any(self.names[each] != self.names[out] and self.entries(each) & self.entries(out) for each in read):
                return  # which reads what it writes over, and not entry by entry
            self.lines.append(f"{kind} @out {out}, {', '.join(f'@in {each}' for each in read)}")
            self.done |= self.entries(out)

    def part(self, kind: str) -> None:
        """Add an instruction that writes a part of a region, or reads one."""
        large, small = self.pick(_PARTS)
        target = self.some(large if kind == "insert" else small, reads=False)
        source = self.some(small if kind == "insert" else large, reads=True)
        if target is None or source is None or self.names[target][0] == self.names[source][0]:
            return
        starts = [self.pick(range(whole - part + 1)) for whole, part in zip(large, small, strict=True)]
        mark = "@inout" if kind == "insert" else "@out"
        self.lines.append(f"{kind} {mark} {target}, @in {source}, starts={starts}")
        if kind == "extract":
            self.done |= self.entries(target)
            return
        root, offset, _ = self.names[target]
        rows = ((starts[0] + i) * large[1] + starts[1] + j for i in range(small[0]) for j in range(small[1]))
        self.done |= {(root, offset + entry) for entry in rows}


def _count(shape: Sequence[int]) -> int:
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def _type(shape: Sequence[int]) -> str:
    return f"f32[{','.join(map(str, shape))}]"
