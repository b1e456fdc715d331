"""Programs over memory: lowered from generated graphs, and written instruction by instruction, with regions reused."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, rewrite
from graphrewrite.graph.type_inference import declared_types
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.lowering import lower_to_memory
from graphrewrite.memory import parse_program
from graphrewrite.testing import graphs
from graphrewrite.types import OBJECT, TEXT

MOVING = ("concat", "slice", "split", "reshape", "flatten", "squeeze", "unsqueeze", "identity", "transpose")
COMPUTING = ("relu", "add", "neg", "mul")

_LARGE, _SMALL, _COLUMN, _FLAT = (4, 3), (2, 3), (4, 1), (12,)
_REGIONS = {"x": _LARGE, "s": _LARGE, "y": _LARGE, "z": _SMALL, "a": _LARGE, "b": _LARGE, "c": _SMALL, "d": _SMALL}
_REGIONS |= {"e": _COLUMN}


def has_a_place(graph: Graph) -> bool:
    """Tell whether all values are numbers whose sizes are known before the run, in graphs within nodes, too."""
    parts = [op.body for node in graph if isinstance(op := graph.op(node), GraphOp)]
    if not all(has_a_place(body) for body in [*parts, *(body for _, _, body in graph.bodies())]):
        return False
    kinds = [kind for node in graph for kind in (declared_types(graph, node) or ())]
    return all(isinstance(kind, Tensor) and kind.element not in (TEXT, OBJECT) and not kind.unknowns for kind in kinds)


def lowered(*after: Any, ops: tuple[str, ...] = (*MOVING, *COMPUTING)) -> st.SearchStrategy[Graph]:
    """Programs of generated graphs, after some rules."""
    programs = graphs(ops=ops).filter(has_a_place).map(lower_to_memory)
    return programs.map(partial(rewrite, rules=after)) if after else programs


def written() -> st.SearchStrategy[Graph]:
    """Programs that use few regions again and again, by themselves and by views."""
    return texts().map(parse_program)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Their text: whatever is read was written before."""
    names: dict[str, tuple[str, int, tuple[int, ...]]] = {n: (n, 0, shape) for n, shape in _REGIONS.items()}
    lines = [f"{n} = alloc : {_type(_REGIONS[n])}" for n in "abcde"]
    for number in range(draw(st.integers(0, 4))):
        root = draw(st.sampled_from([n for n in _REGIONS if _REGIONS[n] == _LARGE]))
        shape = draw(st.sampled_from([_SMALL, _FLAT, (6,), _LARGE]))
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        offset = draw(st.sampled_from([at for at in (0, 3, 6, 1) if at + count <= 12]))
        lines.append(f"v{number} = view @in {root}, offset={offset} : {_type(shape)}")
        names[f"v{number}"] = root, offset, shape
    done = {(n, entry) for n in "xs" for entry in range(12)}

    def entries(name: str) -> set[tuple[str, int]]:
        root, offset, shape = names[name]
        return {(root, offset + entry) for entry in range(shape[0] * (shape[1] if len(shape) > 1 else 1))}

    def some(shape: tuple[int, ...] | None, *, reads: bool) -> str | None:
        fits = [
            n
            for n, (root, _, own) in names.items()
            if shape in (None, own) and (entries(n) <= done if reads else root != "x")
        ]
        return draw(st.sampled_from(fits)) if fits else None

    for _ in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["relu", "neg", "add", "copy", "insert", "extract", "constant_of_shape"]))
        out = some(None, reads=False)
        assert out is not None
        shape = names[out][2]
        if kind == "constant_of_shape":
            lines.append(f"{kind} @out {out}, shape={list(shape)}, value={draw(st.integers(0, 3))}.0")
        elif kind in ("insert", "extract"):
            large, small = draw(st.sampled_from([(_LARGE, _SMALL), (_LARGE, _COLUMN), (_SMALL, _SMALL)]))
            target = some(large if kind == "insert" else small, reads=False)
            source = some(small if kind == "insert" else large, reads=True)
            if target is None or source is None:
                continue
            if names[target][0] == names[source][0]:
                continue
            starts = [draw(st.integers(0, w - p)) for w, p in zip(large, small, strict=True)]
            mark = "@inout" if kind == "insert" else "@out"
            lines.append(f"{kind} {mark} {target}, @in {source}, starts={starts}")
            if kind == "insert":
                root, offset, _ = names[target]
                rows = ((starts[0] + i) * large[1] + starts[1] + j for i in range(small[0]) for j in range(small[1]))
                done |= {(root, offset + entry) for entry in rows}
                continue
            out = target
        else:
            first = some(shape, reads=True)
            if first is None:
                continue
            read = [first, *([some(shape, reads=True) or first] if kind == "add" else [])]
            if any(names[each] != names[out] and entries(each) & entries(out) for each in read):
                continue  # which reads what it writes over, and not entry by entry
            lines.append(f"{kind} @out {out}, {', '.join(f'@in {each}' for each in read)}")
        done |= entries(out)
    lines += [
        f"copy @out {n}, @in {some(_REGIONS[n], reads=True) or n}" for n in "yz" if not entries(n) <= done and n == "y"
    ]
    if not entries("z") <= done:
        lines.append("constant_of_shape @out z, shape=[2, 3], value=1.0")
    declared = [f"@in x : {_type(_LARGE)}", f"@inout s -> t : {_type(_LARGE)}"]
    declared += [f"@out {n} : {_type(_REGIONS[n])}" for n in "yz"]
    return "\n".join(["program p", "declare {", *declared, "}", "program {", *lines, "}"])


def _type(shape: tuple[int, ...]) -> str:
    return f"f32[{','.join(map(str, shape))}]"
