"""Wrong rules made automatically: the source of a rule of the library with one small fault.

A mutant is made of the syntax tree of a rule's function, or of a function of the same module that it calls, by one of
`OPERATORS`. The rule is then read again, under the same name and with the same options.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import FunctionType
from typing import Any

from graphrewrite import Pass, Rule
from graphrewrite.op import LIBRARY

__all__ = ["OPERATORS", "UNSEEN", "Edit", "Mutant", "all_mutants", "mutants_of"]

Edit = tuple[str, Callable[[], None]]
"""What a fault is, in words, and what makes it in the tree."""

_SIBLINGS = {
    "add": "sub",
    "sub": "add",
    "mul": "div",
    "div": "mul",
    "maximum": "minimum",
    "relu": "abs",
    "max_pool": "average_pool",
    "quantise": "identity",
    "integer_add": "add",
    "max": "min",
    "min": "max",
    "floor": "ceil",
    "ceil": "floor",
}
_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
    ast.Mod: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
_COMPARISONS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """A rule or pass with one fault.

    Attributes
    ----------
    name : str
        Rule, operator, line within the function and what changed: stable as long as the rule's source is.
    source : str
        Of the function that was changed.
    make : callable
        Returns the rule or pass; raises what reading it raises.
    """

    name: str
    source: str
    make: Callable[[], Rule | Pass]


def _swap_operands(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and _is_op(node) and not _commutes(node):
        for i, (a, b) in enumerate(zip(node.args, node.args[1:], strict=False)):
            if isinstance(a, ast.Starred) or isinstance(b, ast.Starred) or ast.dump(a) == ast.dump(b):
                continue

            def swap(i: int = i) -> None:
                node.args[i], node.args[i + 1] = node.args[i + 1], node.args[i]

            yield f"{ast.unparse(a)} and {ast.unparse(b)} swapped in {ast.unparse(node.func)}", swap
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.LShift | ast.MatMult):

        def turn() -> None:
            node.left, node.right = node.right, node.left

        yield f"{ast.unparse(node)} turned round", turn


def _replace_op(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        sibling = _SIBLINGS.get(name)
        if sibling:

            def rename() -> None:
                setattr(called, "attr" if isinstance(called, ast.Attribute) else "id", sibling)

            yield f"{sibling} for {ast.unparse(called)}", rename
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:

        def change() -> None:
            node.op = _ARITHMETIC[type(node.op)]()

        yield f"another sign in {ast.unparse(node)}", change


def _drop_guard(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.If) and _declines(node.body[-1]) and not node.orelse:

        def pass_over() -> None:
            node.test = ast.Constant(False)

        yield f"no guard {ast.unparse(node.test)}", pass_over
    if isinstance(node, ast.IfExp) and (_is_decline(node.orelse) or _is_decline(node.body)):

        def always() -> None:
            node.test = ast.Constant(_is_decline(node.orelse))

        yield f"no guard {ast.unparse(node.test)}", always
    if isinstance(node, ast.BoolOp):
        for i, part in enumerate(node.values):

            def drop(i: int = i) -> None:
                del node.values[i]
                node.values.append(ast.Constant(isinstance(node.op, ast.And)))

            yield f"no {ast.unparse(part)} in a condition", drop


def _negate_condition(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare):

        def negate() -> None:
            node.test = ast.UnaryOp(ast.Not(), node.test)

        yield f"not {ast.unparse(node.test)}", negate
    if isinstance(node, ast.Compare) and len(node.ops) == 1:

        def turn() -> None:
            node.ops = [_COMPARISONS[type(node.ops[0])]()]

        yield f"the opposite of {ast.unparse(node)}", turn


def _off_by_one(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and type(node.value) is int:

        def more() -> None:
            node.value += 1

        yield f"{node.value + 1} for {node.value}", more


def _change_sign(node: ast.AST) -> Iterator[Edit]:
    if (
        isinstance(node, ast.keyword)
        and isinstance(node.value, ast.Constant)
        and type(node.value.value) in (int, float)
    ):
        literal = node.value

        def turn() -> None:
            literal.value = -literal.value

        if literal.value:
            yield f"minus in {ast.unparse(node)}", turn
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):

        def lose() -> None:
            node.op = ast.UAdd()

        yield f"no minus in {ast.unparse(node)}", lose


UNSEEN = frozenset({"strict", "origin", "at", "encoding"})
"""What a keyword says that no value depends on: a check by Python, where a node comes from, where a refusal points; and
how texts are written on systems whose own way is not UTF-8."""


def _drop_attribute(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Call):
        for i, keyword in enumerate(node.keywords):
            if keyword.arg in UNSEEN:
                continue

            def drop(i: int = i) -> None:
                del node.keywords[i]

            yield f"no {ast.unparse(keyword)} in {ast.unparse(node.func)}", drop


def _drop_operand(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and _is_op(node) and len(node.args) > 1:

        def drop() -> None:
            del node.args[-1]

        yield f"no {ast.unparse(node.args[-1])} in {ast.unparse(node.func)}", drop


OPERATORS: dict[str, Callable[[ast.AST], Iterator[Edit]]] = {
    "swap operands": _swap_operands,
    "replace op": _replace_op,
    "drop guard": _drop_guard,
    "negate condition": _negate_condition,
    "off by one": _off_by_one,
    "change sign": _change_sign,
    "drop attribute": _drop_attribute,
    "drop operand": _drop_operand,
}
"""What goes wrong in a rule, each with the places of a tree where it can."""


def _is_op(call: ast.Call) -> bool:
    """Tell whether a call makes a node: ``op.conv(…)``, ``layer.op(…)``, or a component of its own name."""
    called = call.func
    if isinstance(called, ast.Attribute):
        return called.attr == "op" or (isinstance(called.value, ast.Name) and called.value.id == "op")
    return isinstance(called, ast.BinOp) or (isinstance(called, ast.Name) and called.id in _COMPONENTS)


_COMPONENTS = frozenset({"add", "argmax", "clip", "matvec", "maximum", "requantise", "reshape", "window"})


def _commutes(call: ast.Call) -> bool:
    called = call.func
    return isinstance(called, ast.Attribute) and called.attr in LIBRARY and LIBRARY[called.attr].commutative


def _declines(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) and _is_decline(statement.value)


def _is_decline(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and "decline" in ast.unparse(node.func)


@cache
def _tree(function: FunctionType) -> ast.FunctionDef:
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(found, ast.FunctionDef)
    found.decorator_list = []
    return _read(ast.unparse(found))


def _read(source: str) -> ast.FunctionDef:
    """Return a tree of its own, whose parts come in the order of those of every other tree of this source."""
    (found,) = ast.parse(source).body
    assert isinstance(found, ast.FunctionDef)
    return found


def _places(tree: ast.FunctionDef) -> Iterator[tuple[int, ast.AST]]:
    """Every part of a function's body but what only says why."""
    body = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    inside = {id(part) for statement in body for part in ast.walk(statement)}
    said: set[int] = set()
    for index, node in enumerate(ast.walk(tree)):
        if _is_decline(node):
            said.update(id(part) for part in ast.walk(node) if part is not node)
        if id(node) in inside and id(node) not in said:
            yield index, node


def _helpers(function: FunctionType) -> dict[str, FunctionType]:
    """The function, and those of its module that it calls, directly or not."""
    found, open_ = {}, [function]
    while open_:
        one = open_.pop()
        found[one.__name__] = one
        known = (one.__globals__.get(name) for name in one.__code__.co_names)
        open_ += [
            f
            for f in known
            if isinstance(f, FunctionType) and f.__module__ == function.__module__ and f.__name__ not in found
        ]
    return found


def all_mutants(members: Iterable[Rule | Pass]) -> Iterator[Mutant]:
    """Yield the mutants of several rules, those of a function that several of them call once, for the first of them."""
    done: set[FunctionType] = set()
    for member in members:
        yield from mutants_of(member, without=done)
        done.update(_helpers(member.function).values())


def mutants_of(member: Rule | Pass, *, without: Collection[FunctionType] = ()) -> Iterator[Mutant]:
    """Yield every rule or pass that differs from one of the library by one fault.

    Parameters
    ----------
    member : Rule or Pass
        Of the library.
    without : collection of function, optional
        Functions that stay as they are.

    Yields
    ------
    Mutant
    """
    functions = _helpers(member.function)
    seen: dict[str, int] = {}
    for part, function in functions.items():
        if function in without:
            continue
        original = ast.unparse(_tree(function))
        for index, node in _places(_tree(function)):
            for operator, edits in OPERATORS.items():
                for number, (what, _) in enumerate(edits(node)):
                    tree = _read(original)
                    again = next(islice(ast.walk(tree), index, None))
                    list(edits(again))[number][1]()
                    source = ast.unparse(ast.fix_missing_locations(tree))
                    if source == original:
                        continue
                    name = f"{member.name}: {operator}: {what}" + (f" (in {part})" if part != member.name else "")
                    seen[name] = seen.get(name, 0) + 1
                    name += f" #{seen[name]}" if seen[name] > 1 else ""
                    yield Mutant(name, source, _maker(member, functions, part, source))


def _maker(member: Rule | Pass, functions: dict[str, FunctionType], part: str, source: str) -> Callable[[], Any]:
    def make() -> Rule | Pass:
        original = functions[member.function.__name__]
        names = dict(original.__globals__)
        for name, function in functions.items():  # all of them, for each must see the changed one
            text = source if name == part else ast.unparse(_tree(function))
            exec(compile(text, f"<mutant of {part}>", "exec"), names)
        changed = names[original.__name__]
        changed.__module__, changed.__doc__ = original.__module__, original.__doc__
        if isinstance(member, Pass):
            return Pass(member.name, changed, member.keeps, member.__doc__, member.kind, member.kinds)
        return Rule(changed, keeps=member.keeps, shared=member.shared, kind=member.kind)

    return make
