"""A rule's guard: the tests below its yield on which it declines before it does anything else, as a function.

At most nodes that a pattern matches, a rule declines on one of them: it takes less to ask them alone than to run the
rule's function, which is a generator, recalls each term, and tells a reason that nobody reads.
"""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import linecache
import textwrap
import tokenize
from collections.abc import Callable, Collection, Iterator
from types import CodeType
from typing import Any

from graphrewrite.rewriting.rule.bytecode import steps_of
from graphrewrite.rewriting.rule.outcome import decline

__all__ = ["guard_of"]

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def guard_of(
    function: Callable[..., Any], parameters: Collection[str], terms: Collection[str]
) -> tuple[list[str], Callable[..., bool]] | None:
    """Return a function that tells whether a rule certainly declines a match, and the names of what it takes.

    It consists of the statements right below the yield, as far as they are ``if …: return decline(…)``, assignments to
    names, and a last ``return … if … else decline(…)``.

    Parameters
    ----------
    function : callable
        The rule's function.
    parameters, terms : collection of str
        Names of its parameters, and of the terms above its yield, of which the guard may ask.

    Returns
    -------
    tuple or None
        None where there are no such statements, without those that need another name of the function, or where the
        source is not there, or no longer that of the function.
    """
    definition = _source_of(function)
    if definition is None:
        return None
    place = next(i for i, statement in enumerate(definition.body) if _is_yield(statement))
    # A parameter may stand for something else by the yield.
    known = {*terms, *(set(parameters) - _names_in(definition.body[:place], ast.Store))}
    own = {*function.__code__.co_varnames, *function.__code__.co_cellvars, *function.__code__.co_freevars}
    tests: list[ast.stmt] = []
    for test in _tests(definition.body[place + 1 :], function.__globals__):
        if _names_in([test], ast.Load) & own - known - _names_in([*tests, test], ast.Store):
            break
        tests.append(test)
    while tests and isinstance(tests[-1], ast.Assign):  # which nothing reads
        tests.pop()
    if not tests:
        return None
    asked = sorted(_names_in(tests, ast.Load) & known)
    arguments = ast.arguments([], [ast.arg(name) for name in asked], None, [], [], None, [])
    guard = ast.FunctionDef("guard", arguments, [*tests, ast.Return(ast.Constant(False))], [])
    scope: dict[str, Any] = {}
    module = ast.fix_missing_locations(ast.Module([guard], []))
    exec(compile(module, function.__code__.co_filename, "exec", dont_inherit=True), function.__globals__, scope)
    return asked, scope["guard"]


def _source_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return the source of a function; None where it is not there, or is that of another one by now."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    try:  # without `inspect.getsource`, which looks at every module first
        tree = ast.parse(textwrap.dedent("".join(inspect.getblock(lines))))
    except (SyntaxError, tokenize.TokenError):
        return None
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, ast.FunctionDef):
        return None
    compiled = compile(tree, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    own = [each for each in compiled.co_consts if isinstance(each, CodeType) and each.co_name == code.co_name]
    return definition if len(own) == 1 and _steps(own[0]) == _steps(code) else None


def _steps(code: CodeType) -> list[Any]:
    """Return what a function does, step by step, however it calls methods of what its module imports."""
    found: list[Any] = [code.co_varnames, code.co_cellvars, code.co_freevars]
    for step in steps_of(code):
        if step.opname in ("PUSH_NULL", "PRECALL"):
            continue
        value = _steps(step.argval) if isinstance(step.argval, CodeType) else repr(step.argval)
        name = "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname
        found.append((name, None if step.opcode in _JUMPS else value))
    return found


def _is_yield(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield)


def _names_in(statements: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    names = (name for statement in statements for name in ast.walk(statement) if isinstance(name, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}


def _tests(body: list[ast.stmt], scope: dict[str, Any]) -> Iterator[ast.stmt]:
    """Yield the statements of a guard, which return True instead of a refusal."""
    for statement in body:
        match statement:
            case ast.If(test, [ast.Return(value)], []) if _is_refusal(value, scope):
                yield _if(test)
            case ast.Assign([ast.Name() | ast.Tuple()]):
                yield statement
            case ast.Return(ast.IfExp(test, _, value)) if _is_refusal(value, scope):
                yield _if(ast.UnaryOp(ast.Not(), test))
                return
            case ast.Return(ast.IfExp(test, value, _)) if _is_refusal(value, scope):
                yield _if(test)
                return
            case _:
                return


def _if(test: ast.expr) -> ast.If:
    return ast.If(test, [ast.Return(ast.Constant(True))], [])


def _is_refusal(value: ast.expr | None, scope: dict[str, Any]) -> bool:
    """Tell whether an expression is a call of `decline`."""
    match value:
        case ast.Call(ast.Name(name)):
            return scope.get(name) is decline
        case ast.Call(ast.Attribute(ast.Name(name), "decline")):
            return getattr(scope.get(name), "decline", None) is decline
    return False
