"""Wrong modules made automatically: a module's source with one small fault in one of its functions.

Faults are those of `tests.quality.mutants`, and a few of what rules seldom have. Unlike mutmut, which leaves functions
with decorators alone, they are planted in rules, properties and ops as well.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from tests.quality.mutants import OPERATORS, UNSEEN, Edit

__all__ = ["ModuleMutant", "mutants_of_module"]

_BOUNDARIES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def _shift_boundary(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _BOUNDARIES:

        def shift() -> None:
            node.ops = [_BOUNDARIES[type(node.ops[0])]()]

        yield f"another boundary in {ast.unparse(node)}", shift


def _turn_truth(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and type(node.value) is bool:

        def turn() -> None:
            node.value = not node.value

        yield f"{not node.value} for {node.value}", turn
    if isinstance(node, ast.BoolOp):

        def other() -> None:
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()

        yield f"the other junction in {ast.unparse(node)}", other


def _drop_statement(node: ast.AST) -> Iterator[Edit]:
    for block in ("body", "orelse"):
        statements = getattr(node, block, None)
        if not isinstance(statements, list):
            continue
        for i, statement in enumerate(statements):
            is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if is_call or isinstance(statement, ast.AugAssign | ast.Continue | ast.Break):

                def drop(i: int = i, statements: list[ast.stmt] = statements) -> None:
                    statements[i] = ast.Pass()

                yield f"no {ast.unparse(statement)}", drop


MODULE_OPERATORS: dict[str, Callable[[ast.AST], Iterator[Edit]]] = {
    **OPERATORS,
    "shift boundary": _shift_boundary,
    "turn truth": _turn_truth,
    "drop statement": _drop_statement,
}
_SHOWN = ("__repr__", "_repr_html_", "_repr_mimebundle_", "__str__", "show")
"""Functions that only show something."""


@dataclass(frozen=True)
class ModuleMutant:
    """A module with one fault.

    Attributes
    ----------
    path : Path
        Of the module.
    name : str
        Module, function, operator and what changed: stable as long as the function's source is.
    function : str
        The function that is changed.
    first, last : int
        The lines of the function.
    lines : range
        Those of the statement that is changed, without the statements in it: a test that runs none finds nothing.
    index, operator, number : int, str, int
        Which part of the function's tree is changed, by what.
    """

    path: Path
    name: str
    function: str
    first: int
    last: int
    lines: range
    index: int
    operator: str
    number: int

    @cached_property
    def source(self) -> str:
        """The module's source with the fault, all other functions on the lines on which they were."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        function = next(f for f in functions(ast.parse("\n".join(lines))) if _first(f) == self.first)
        node = next(islice(ast.walk(function), self.index, None))
        list(MODULE_OPERATORS[self.operator](node))[self.number][1]()
        changed = _text(function).splitlines()
        room = self.last - self.first + 1
        lines[self.first - 1 : self.last] = [*changed, *[""] * (room - len(changed))]
        return "\n".join(lines) + "\n"


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield functions and methods that stand in no other function."""
    for statement in tree.body:
        for node in (statement, *(statement.body if isinstance(statement, ast.ClassDef) else ())):
            if isinstance(node, ast.FunctionDef) and node.name not in _SHOWN:
                yield node


def mutants_of_module(path: Path, root: Path) -> Iterator[ModuleMutant]:
    """Yield every mutant of a module, by place.

    Parameters
    ----------
    path : Path
        Of the module.
    root : Path
        Its name is the path from there.

    Yields
    ------
    ModuleMutant
    """
    module = path.relative_to(root).with_suffix("").as_posix()
    seen: dict[str, int] = {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners = {id(f): c.name + "." for c in tree.body if isinstance(c, ast.ClassDef) for f in c.body}
    for function in functions(tree):
        original = _text(function)
        statements = _statements(function)
        for index, node in _places(function):
            for operator, edits in MODULE_OPERATORS.items():
                for number, (what, _) in enumerate(edits(node)):
                    name = f"{module}: {owners.get(id(function), '')}{function.name}: {operator}: {what}"
                    seen[name] = seen.get(name, 0) + 1
                    name += f" #{seen[name]}" if seen[name] > 1 else ""
                    last = function.end_lineno or function.lineno
                    lines = _lines(node, statements[id(node)], operator)
                    yield ModuleMutant(
                        path, name, function.name, _first(function), last, lines, index, operator, number
                    )
        assert _text(function) == original, "finding faults plants none"


def _first(function: ast.FunctionDef) -> int:
    return min(function.lineno, *(d.lineno for d in function.decorator_list), function.lineno)


def _statements(function: ast.FunctionDef) -> dict[int, ast.AST]:
    """The innermost statement, or case of a match, around each part of a function."""
    found: dict[int, ast.AST] = {}
    for node in ast.walk(function):  # outer ones come first
        if isinstance(node, ast.stmt | ast.match_case | ast.ExceptHandler):
            found.update((id(part), node) for part in ast.walk(node))
    return found


def _lines(node: ast.AST, statement: ast.AST, operator: str) -> range:
    """The lines that run where a fault shows: those of a statement up to the first one in it, or of a whole block."""
    if operator == "drop statement":
        blocks: list[ast.stmt] = [*node.body, *getattr(node, "orelse", ())]  # type: ignore[attr-defined]
        return range(blocks[0].lineno, (blocks[-1].end_lineno or 0) + 1)
    body = getattr(statement, "body", None)
    if isinstance(statement, ast.match_case):
        return range(statement.pattern.lineno, body[0].lineno + 1)
    first = statement.lineno  # type: ignore[attr-defined]
    return range(first, max(first + 1, body[0].lineno) if body else statement.end_lineno + 1)  # type: ignore[attr-defined]


def _text(function: ast.FunctionDef) -> str:
    return textwrap.indent(ast.unparse(ast.fix_missing_locations(function)), " " * function.col_offset)


def _left_over(node: ast.Call) -> Iterator[ast.expr]:
    """The 1 of each -1 in ``array.reshape(…)``: numpy takes any negative number for the size that is left."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "reshape" and ast.unparse(node.func.value) != "op":
        for size in (part for each in node.args for part in (each.elts if isinstance(each, ast.Tuple) else [each])):
            if isinstance(size, ast.UnaryOp) and isinstance(size.op, ast.USub):
                yield size.operand


def _roundings(node: ast.Compare) -> Iterator[ast.expr]:
    """The call in ``x == floor(x)``: a number is the least whole one above it where it is the greatest below it."""
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        for call, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            is_rounding = isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in ("floor", "ceil")
            if is_rounding and [ast.dump(each) for each in call.args] == [ast.dump(other)]:
                yield call


def _places(function: ast.FunctionDef) -> Iterator[tuple[int, ast.AST]]:
    """Every part of a function's body but what is only said: docstrings, reasons, errors, types; and what is alike."""
    said: set[int] = set()
    inside = {id(part) for statement in function.body for part in ast.walk(statement)}
    for node in ast.walk(function):
        told: list[ast.AST | None] = []
        if isinstance(node, ast.Raise):
            told = [node.exc]
        elif isinstance(node, ast.AnnAssign | ast.arg):
            told = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            told = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.JoinedStr):
            told = [node]
        elif isinstance(node, ast.Call) and "decline" in ast.unparse(node.func):
            told = [*node.args, *node.keywords]
        elif isinstance(node, ast.Call):
            told = [*_left_over(node)]
        elif isinstance(node, ast.Assert):
            told = [node]
        elif isinstance(node, ast.keyword) and node.arg in UNSEEN:
            told = [node.value]
        elif isinstance(node, ast.With):
            told = [item.context_expr for item in node.items]
        if isinstance(node, ast.Compare):
            said.update(map(id, _roundings(node)))
        said.update(id(part) for each in told if each is not None for part in ast.walk(each))
    for index, node in enumerate(ast.walk(function)):
        if (id(node) in inside or node is function) and id(node) not in said:
            yield index, node
