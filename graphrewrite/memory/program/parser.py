"""Parsing of programs: instructions in order become nodes, with the versions of regions that they read and write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.literal_parser import BodyName, read_name
from graphrewrite.graph import Graph, Operand
from graphrewrite.memory.plan import WIDEST, plan_memory
from graphrewrite.memory.program.lines import Declaration, Instruction, read_declaration, read_instruction, region_type
from graphrewrite.memory.program.overlap import check_overlap, written
from graphrewrite.memory.program.places import Places
from graphrewrite.memory.program.sections import PROGRAM, Sections
from graphrewrite.memory.program.state import Name, State
from graphrewrite.op import LIBRARY, find_op
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, element_dtype

__all__ = ["parse_program"]

_NAMED = re.compile(r"\s*(?:@\w+\s+)?([A-Za-z_][\w.]*)\s*(?:->\s*([A-Za-z_][\w.]*)\s*)?[=:]")
"""A line that gives something a name."""
_DECLARE = re.compile(r"declare\b")


def parse_program(text: str, *, ops: Iterable[Op] = ()) -> Graph:
    """Return the graph of the text of a program over memory.

    Parameters
    ----------
    text : str
        As `to_program` prints it. Instructions run one after the other: the graph has control edges of the kind
        ``overwrite`` where nothing else orders two that use the same memory.
    ops : iterable of Op
        Ops that are not the library's.

    Raises
    ------
    ParseError
        With line, column and remedy: for syntax, regions that nobody declares, declares twice, frees twice or uses
        afterwards, reads of what nothing has written, and places that overlap.

    Examples
    --------
    >>> print(parse_program('''program g
    ... declare {
    ...   @in x : f32[4]
    ...   @out y : f32[4]
    ... }
    ... program {
    ...   relu @out y, @in x
    ...   add @out y, @in y, @in x
    ... }'''))
    graph g
    x = input() : f32[4]
    y_region = alloc(element='f32', shape=[4]) : f32[4]
    relu_1 = into(y_region, x, of='relu') : f32[4]
    add_1 = into(relu_1, relu_1, x, of='add') : f32[4]
    y = output(add_1)
    """
    own = list(ops)
    sections = Sections.of(text, lambda sections, lines: _Parser(sections, lines, own).graph())
    graph = sections.read(sections.first)
    sections.finish()
    return graph


class _Parser:
    """One program, while it is read."""

    def __init__(self, sections: Sections, lines: list[Cursor], ops: list[Op]) -> None:
        self.sections, self.lines, self.end = sections, lines, sections.end
        self.result = Graph("", ops=ops)
        self.state = State(self.result)
        found = filter(None, (_NAMED.match(line.text) for line in self.lines))
        self.state.reserved.update(name for match in found for name in match.groups() if name)
        self.names: dict[str, Name] = {}
        self.freed: dict[str, int] = {}
        self.declared: dict[str, Declaration] = {}
        self.read_only: dict[str, str] = {}
        self.places = Places()

    def graph(self) -> Graph:
        at = self._header()
        at = self._section(at, _DECLARE, "declare {", self._declare)
        at = self._section(at, PROGRAM, "program {", self._instruct)
        if at < len(self.lines):
            self.lines[at].fail("expected the end of the program")
        self._outputs()
        return self.result

    def _header(self) -> int:
        if not self.lines:
            self.end.fail("expected a program: 'program name', 'declare {…}' and 'program {…}'")
        cursor = self.lines[0]
        if cursor.sees("program") and not cursor.text.rstrip().endswith("{"):
            cursor.take(PROGRAM)
            if not cursor.is_at_end:
                self.result.graph["name"] = read_name(cursor)
            if not cursor.is_at_end:
                cursor.fail("expected the end of the line")
            return 1
        return 0

    def _section(self, at: int, word: re.Pattern[str], said: str, read: Callable[[Cursor], None]) -> int:
        cursor = self.lines[at] if at < len(self.lines) else self.end
        if not cursor.take(word) or not cursor.takes("{"):
            cursor.fail(f"expected {said!r}")
        if cursor.takes("}"):
            return at + 1
        if not cursor.is_at_end:
            cursor.fail("expected the end of the line")
        for index in range(at + 1, len(self.lines)):
            line = self.lines[index]
            if line.takes("}"):
                if not line.is_at_end:
                    line.fail("expected the end of the line")
                return index + 1
            read(line)
        return self.end.fail(f"expected '}}', which ends {said!r}")

    # ------------------------------------------------------------------ declarations

    def _declare(self, cursor: Cursor) -> None:
        line = read_declaration(cursor)
        for name, column in ((line.name, "name"), (line.after, "after")):
            if name is not None and (name in self.names or name in self.declared):
                cursor.fail(
                    f"the region {name!r} is declared twice; give one of them another name", at=line.columns[column]
                )
        kind = region_type(cursor, line.type, line.columns["name"])
        self.declared[line.name] = line
        if line.mark in ("out", "inout"):
            self.state.ports.update({line.name, line.after or line.name})
        if line.mark == "const":
            with cursor.reporting(line.columns["value"]):
                try:
                    value = (
                        line.value
                        if 0 not in kind.shape
                        else np.zeros(tuple(map(int, kind.shape)), element_dtype(kind.element))
                    )
                    if np.shape(value) != kind.shape:
                        cursor.fail(
                            f"the value has the shape {list(np.shape(value))}, and is declared {kind}",
                            at=line.columns["value"],
                        )
                    self.result.constant(value, name=line.name, type=kind)
                except (TypeError, ValueError) as error:
                    cursor.fail(f"the value does not fit {kind}: {error}", at=line.columns["value"], cause=error)
            self.read_only[line.name] = "constant"
            self._region(line.name, line.name, kind, Operand(line.name))
        elif line.mark == "out":
            root = f"{line.name}_region"
            root = root if root not in self.result and root not in self.state.reserved else self.state.fresh(root)
            self._alloc(root, kind)
            self._region(line.name, root, kind, None)
        else:
            self.result.input(line.name, kind)
            if line.value is not None:
                self._begin(line, kind)
            if line.mark == "in":
                self.read_only[line.name] = "input"
            self._region(line.name, line.name, kind, Operand(line.name))

    def _begin(self, line: Declaration, kind: Tensor) -> None:
        """Note the first value of a variable."""
        try:
            first = np.asarray(line.value).astype(element_dtype(kind.element))
            np.broadcast_to(first, tuple(map(int, kind.shape)))
        except (TypeError, ValueError) as error:
            line.cursor.fail(f"the value does not fit {kind}: {error}", at=line.columns["value"], cause=error)
        if line.after is None:
            line.cursor.fail("a variable with a first value has an output; write '@inout name -> output'")
        self.result.nodes[line.name].update({"initial": line.value, "next": line.after})

    def _alloc(self, name: str, kind: Tensor) -> None:
        layout = {} if kind.layout is None else {"layout": kind.layout}
        self.result.add(LIBRARY["alloc"], [], {"element": kind.element, "shape": kind.shape, **layout}, name=name)

    def _region(self, name: str, root: str, kind: Tensor, value: Operand | None) -> None:
        self.state.add_region(root, value)
        self.names[name] = Name(name, root, 0, kind)

    # ------------------------------------------------------------------ instructions

    def _instruct(self, cursor: Cursor) -> None:
        line = read_instruction(cursor)
        if line.kind == "dealloc":
            self._free(line)
        elif line.type is not None:
            self._name(line)
        else:
            with cursor.reporting(line.columns["kind"]):
                self._compute(line)

    def _known(self, line: Instruction, name: str, column: int) -> Name:
        """Return the memory of a name that is declared, and not free yet."""
        if name not in self.names:
            given = re.compile(rf"\s*{re.escape(name)}\s*=")
            for later in self.lines[self.lines.index(line.cursor) + 1 :]:
                if given.match(later.text):
                    line.cursor.fail(
                        f"the region {name!r} is used before line {later.number}, which gives it memory; move that up",
                        at=column,
                    )
            line.cursor.fail(
                f"nothing declares the region {name!r}{did_you_mean(name, self.names) or '; declare or allocate it'}",
                at=column,
            )
        found = self.names[name]
        if found.root in self.freed:
            line.cursor.fail(
                f"{name!r} is used after it was freed in line {self.freed[found.root]}; free it later", at=column
            )
        return found

    def _name(self, line: Instruction) -> None:
        name, cursor = line.name, line.cursor
        assert name is not None
        if name in self.names or name in self.result:
            cursor.fail(
                f"the region {name!r} is declared twice; give one of them another name", at=line.columns["name"]
            )
        kind = region_type(cursor, line.type, line.columns["name"])
        if line.kind == "alloc":
            if line.operands or line.attributes:
                cursor.fail("an alloc reads nothing; write 'name = alloc : type'", at=line.columns["kind"])
            self._alloc(name, kind)
            self._region(name, name, kind, None)
            if line.place is not None:
                self._put(line, kind)
            self.result.nodes[name].update(line.annotations)
            return
        if len(line.operands) != 1 or line.operands[0][0] != "in" or line.attributes.keys() - {"offset"}:
            cursor.fail("a view is written 'name = view @in region, offset=0 : type'", at=line.columns["kind"])
        within = self._known(line, *line.operands[0][1:])
        offset = line.attributes.get("offset", 0)
        if not isinstance(offset, int) or isinstance(offset, bool) or kind.element != within.type.element:
            cursor.fail(
                f"a view has the element type {within.type.element} of its region, and an offset in entries",
                at=line.columns["kind"],
            )
        found = Name(name, within.root, within.offset + offset, kind)
        if offset < 0 or found.end > within.end:
            cursor.fail(
                f"the view reaches beyond {within.name!r}, which has {within.end - within.offset} entries; "
                "let it begin earlier, or be smaller",
                at=line.columns["kind"],
            )
        self.names[name] = found

    def _put(self, line: Instruction, kind: Tensor) -> None:
        """Note the place of a region; raise if it overlaps another one that is in use."""
        assert line.name is not None
        grain = element_dtype(kind.element).itemsize
        self._put_bytes(line, line.name, self.names[line.name].end * grain, grain)

    def _put_bytes(self, line: Instruction, name: str, size: int, grain: int) -> None:
        self.places.put(line, name, size, grain, self.freed)
        self.result.nodes[name]["at"] = line.place

    def _run(self, line: Instruction, node: str, bodies: Iterable[Graph]) -> None:
        """Note the place of what lives while an instruction runs programs, which is free again afterwards."""
        self._put_bytes(line, node, max(plan_memory(body).size for body in bodies), WIDEST)
        self.state.used[node] = [(node, 0, 0)]
        self.freed[node] = line.cursor.number
        self._come_after(node, node)

    def _come_after(self, node: str, root: str) -> None:
        """Let a node that uses some memory come after what was in the same place before."""
        for other in self.places.after.get(root, ()):
            for earlier, *_ in self.state.used[other]:
                self.state.order(earlier, node)

    def _free(self, line: Instruction) -> None:
        if len(line.operands) != 1 or line.operands[0][0] != "out" or line.attributes:
            line.cursor.fail("a region is freed by 'dealloc @out region'", at=line.columns["kind"])
        _, name, column = line.operands[0]
        if name in self.names and self.names[name].root in self.freed:
            first = self.freed[self.names[name].root]
            line.cursor.fail(f"{name!r} is freed twice, first in line {first}; remove one of them", at=column)
        found = self._known(line, name, column)
        if found.root != name or name in self.declared:
            what = "declared" if name in self.declared else "a view"
            line.cursor.fail(f"{name!r} is {what}, and not allocated here; free what alloc gives", at=column)
        self.freed[name] = line.cursor.number

    def _op(self, line: Instruction) -> Op:
        """Return the op that an instruction computes."""
        kind, known = line.kind, [*LIBRARY, *self.result.ops]
        if kind in ("input", "output", "constant", "into"):
            line.cursor.fail(f"{kind} is no instruction; name what is computed", at=line.columns["kind"])
        op = find_op(kind, self.result.ops)
        if op is None:
            line.cursor.fail(f"unknown op {kind!r}{did_you_mean(kind, known)}", at=line.columns["kind"])
        return op

    def _check_marks(self, line: Instruction, outs: list[tuple[Name, int]]) -> None:
        """Raise if an instruction keeps what it must not, or writes what is only read."""
        kind, fail = line.kind, line.cursor.fail
        if kind == "insert" and any(mark == "out" for mark, *_ in line.operands):
            fail("an insert keeps what is around it; write 'insert @inout region, @in x'", at=line.columns["kind"])
        for mark, name, at in line.operands:
            if mark == "inout" and kind != "insert":
                fail(
                    f"{kind} keeps nothing of what {name!r} holds; write '@out {name}', and '@in {name}' to read it",
                    at=at,
                )
        for found, at in outs:
            if found.root in self.read_only:
                fail(
                    f"{found.name!r} lies in the {self.read_only[found.root]} {found.root!r}, which is only read; "
                    "write into an @out, or into what alloc gives",
                    at=at,
                )

    def _of(self, op: Op, attributes: Mapping[str, Any], reads: list[Operand], outs: int) -> dict[str, Any]:
        """Return the attributes of an `into` that computes an op."""
        op.check(len(reads), attributes)
        given = op.stored(op.settled(op.as_attributes(attributes), [self.result.result_type(*each) for each in reads]))
        bodies = {key: value for key, value in given.items() if isinstance(attributes.get(key), Graph)}
        plain = {key: value for key, value in given.items() if key not in bodies}
        return {
            "of": op.name,
            **({"attributes": plain} if plain else {}),
            **bodies,
            **({"outs": outs} if outs > 1 else {}),
        }

    def _compute(self, line: Instruction) -> None:
        graph, state = self.result, self.state
        outs = [(self._known(line, name, at), at) for mark, name, at in line.operands if mark in ("out", "inout")]
        ins = [(self._known(line, name, at), at) for mark, name, at in line.operands if mark == "in"]
        op = self._op(line)
        self._check_marks(line, outs)
        check_overlap(line, op, ins, outs)
        reads = []
        for found, at in ins:
            if not state.is_written(found):
                line.cursor.fail(f"nothing is written into {found.name!r} before it is read; write it first", at=at)
            reads.append(state.read(found))
        is_insert = line.kind == "insert"
        regions = [
            state.read(found) if is_insert and not state.is_untouched(found) else state.region(found)
            for found, _ in outs
        ]
        bodies = {
            key: self.sections.body(value, line.cursor, line.columns["attributes"])
            for key, value in line.attributes.items()
            if isinstance(value, BodyName)
        }
        if line.place is not None and not bodies:
            line.cursor.fail(
                f"{line.kind} runs no program whose regions have a place; remove it", at=line.columns["place"]
            )
        attributes = {**line.attributes, **bodies}
        if op.level != "memory" and outs:
            op, attributes = LIBRARY["into"], self._of(op, attributes, reads, len(outs))
        node = line.name if line.name is not None else state.fresh(line.kind)
        graph.add(op, [graph.value(*each) for each in (*regions, *reads)], attributes, name=node)
        graph.nodes[node].update(line.annotations)
        for mark, name, at in line.operands:
            if mark == "if":
                graph.set_predicate(node, state.read(self._known(line, name, at)))
        state.note(node)
        for root in dict.fromkeys(each.root for each, _ in (*ins, *outs)):
            self._come_after(node, root)
        if line.place is not None:
            self._run(line, node, bodies.values())
        for found, _ in ins:
            state.use(node, found, writes=False)
        for index, (found, _) in enumerate(outs):
            state.use(node, found, writes=True)
            state.write(found, Operand(node, index), written(line, found, ins[0][0]) if is_insert else None)

    def _outputs(self) -> None:
        graph = self.result
        for line in self.declared.values():
            if line.mark not in ("out", "inout"):
                continue
            name = line.name
            found = self.names[name]
            if not self.state.is_written(found):
                line.cursor.fail(
                    f"nothing is written into the output {name!r}; write it, or leave it out", at=line.columns["name"]
                )
            value = graph.value(*self.state.read(found))
            if line.mark == "out":
                graph.output(name, value)
                continue
            after = line.after if line.after is not None else self.state.fresh(f"{name}_after")
            graph.output(after, value)
            graph.nodes[after]["region"] = name
