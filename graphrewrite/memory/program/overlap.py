"""What an instruction of a program reads while it writes over it."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.graph.regions import part_offset
from graphrewrite.memory.program.lines import Instruction
from graphrewrite.memory.program.state import Name
from graphrewrite.op.memory.pointwise import may_overwrite
from graphrewrite.op.op import Op

__all__ = ["check_overlap", "written"]


def check_overlap(line: Instruction, op: Op, ins: Sequence[tuple[Name, int]], outs: Sequence[tuple[Name, int]]) -> None:
    """Raise if an instruction reads memory over which it writes, other than entry by entry; with columns."""
    types = [each.type for each, _ in ins]
    for slot, (found, at) in enumerate(ins):
        for other, _ in outs:
            is_same = found[1:3] == other[1:3] and found.end == other.end
            if is_same and (line.kind in ("copy", "insert") or may_overwrite(op, types, other.type, slot)):
                continue
            start, end = written(line, other, found)
            if found.root == other.root and found.offset < end and start < found.end:
                line.cursor.fail(
                    f"{found.name!r} is read while {other.name!r} is written over it, and not entry by entry; "
                    "copy it first",
                    at=at,
                )


def written(line: Instruction, out: Name, x: Name) -> tuple[int, int]:
    """Return which entries of a region an instruction writes: of an insert in one piece, only those."""
    starts = line.attributes.get("starts")
    if line.kind == "insert" and isinstance(starts, tuple | list) and len(starts) == len(out.type.shape):
        at = part_offset(x.type.shape, out.type.shape, starts) if len(x.type.shape) == len(starts) else None
        if isinstance(at, int):
            return out.offset + at, out.offset + at + x.end - x.offset
    return out.offset, out.end
