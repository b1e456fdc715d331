"""Every test can fail: it asserts something, itself or by a function of the tests that it calls, and no tautology."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import indent

import pytest

ROOT = Path(__file__).parents[1]
DEMANDS = {"raises", "warns", "fail"}
"""Functions of pytest that fail a test."""
BLOCKS = DEMANDS - {"fail"}
"""Those that ask something of the block below `with`, or of a function that they are given."""
SOUND = {"verify"}
"""Functions of the library that raise where something is wrong, besides those that begin with ``assert_``."""

CAUGHT = {"AssertionError", "Exception", "BaseException"}
"""What a failed assertion is, so that whoever catches it hides the failure."""
PURE = ("abs", "all", "any", "bool", "dict", "float", "int", "isinstance", "len", "list", "max", "min", "set", "str")
PURE = {name: getattr(builtins, name) for name in (*PURE, "range", "sorted", "sum", "tuple", "type")}
"""Functions of Python that give the same for the same constants."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Part = Function | ast.Assign | ast.AnnAssign
"""A function, or a table of functions."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def outermost(path: Path) -> dict[Function, Function]:
    """The functions of a file to those that they are inside of, or to themselves."""
    found: dict[Function, Function] = {}
    for outer in ast.walk(tree_of(path)):  # from the outside to the inside
        if isinstance(outer, Function) and outer not in found:
            found.update((inner, outer) for inner in ast.walk(outer) if isinstance(inner, Function))
    return found


@cache
def parts_of(path: Path) -> dict[str, list[Part]]:
    """Functions, methods, classes and variables of a file by name; a class stands for its methods.

    Functions inside others are left out: they have a name there only.
    """
    found: dict[str, list[Part]] = {}
    for statement in tree_of(path).body:
        for target in statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(statement)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, Function) and outermost(path)[node] is node:
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            found.setdefault(node.name, []).extend(part for part in node.body if isinstance(part, Function))
    return found


@cache
def imports_of(path: Path) -> dict[str, tuple[Path, str]]:
    """What a file takes from other files of the tests: the file and the name that it has there."""
    found = {}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tests":
            folder = ROOT.joinpath(*node.module.split("."))
            for alias in node.names:
                module = folder / f"{alias.name}.py"
                inside = folder.with_suffix(".py") if folder.with_suffix(".py").exists() else folder / "__init__.py"
                found[alias.asname or alias.name] = (module, "") if module.exists() else (inside, alias.name)
    return found


def run_by(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs, and can fail a test, whenever a node does: functions inside it run when they are named."""
    yield node
    for part in parts_run_by(node):
        if not isinstance(part, Function):
            yield from run_by(part)


def parts_run_by(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node, but for blocks that never run or whose failures are caught."""
    for name, value in ast.iter_fields(node):
        if name in left_out_of(node):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part
            if isinstance(part, ast.Return | ast.Raise | ast.Continue | ast.Break):  # what follows never runs
                break


def left_out_of(node: ast.AST) -> set[str]:
    if isinstance(node, ast.If | ast.While):
        if constant := value_of(node.test):
            return {"orelse"} if constant[0] else {"body"}
    elif isinstance(node, ast.For) and (constant := value_of(node.iter)) is not None and not constant[0]:
        return {"body"}
    elif isinstance(node, ast.With | ast.AsyncWith):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        if any(name_of(call.func) == "suppress" and any(map(catches, call.args)) for call in calls):
            return {"body"}
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and name_of(node.value.func) in BLOCKS:
        return {"value"} if len(node.value.args) < 2 else set()  # neither a block nor a function to call
    elif isinstance(node, ast.Try) and any(catches(h.type) and not tells(h) for h in node.handlers):
        return {"body"}
    return set()


def catches(type_: ast.expr | None) -> bool:
    """Tell whether an exception that is caught may be a failed assertion."""
    if isinstance(type_, ast.Tuple):
        return any(map(catches, type_.elts))
    return type_ is None or name_of(type_) in CAUGHT


def tells(handler: ast.ExceptHandler) -> bool:
    """Tell whether what is caught still fails the test, as itself or as another error."""
    return demands(handler) or any(isinstance(node, ast.Raise) for node in run_by(handler))


def name_of(node: ast.AST | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def called_by(path: Path, part: Part) -> Iterator[tuple[Path, Part]]:
    """Functions of the tests that a function names, with their files, and fixtures that it asks for."""
    local, taken = parts_of(path), imports_of(path)
    around = outermost(path)[part] if isinstance(part, Function) else part
    inner = {node.name: node for node in ast.walk(around) if isinstance(node, Function) and node is not around}
    for argument in part.args.args if isinstance(part, Function) else ():
        for file in (path, *(folder / "conftest.py" for folder in path.parents if folder.is_relative_to(ROOT))):
            if file.exists() and argument.arg in parts_of(file):
                yield from ((file, found) for found in parts_of(file)[argument.arg])
                break
    for node in run_by(part):
        if isinstance(node, ast.Name | ast.Attribute):
            name = name_of(node)
            owner = name_of(node.value) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
            if owner in taken:
                yield from ((taken[owner][0], found) for found in parts_of(taken[owner][0]).get(name, ()))
            elif name in inner:
                yield path, inner[name]
            elif name in local:
                yield from ((path, found) for found in local[name])
            elif name in taken:
                file, name = taken[name]
                yield from ((file, found) for found in parts_of(file).get(name, ()))


@cache
def demands(part: ast.AST) -> bool:
    """Tell whether the own text of a function, or of a part of one, can fail a test."""
    for node in run_by(part):
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Raise) and is_failure(node)):
            return True
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            ends_well = any(k.arg == "check" and is_always_so(k.value) for k in node.keywords)  # a program that is run
            if name in DEMANDS | SOUND or name.startswith("assert_") or ends_well:
                return True
    return False


def is_failure(node: ast.Raise) -> bool:
    """Tell whether an error says that something is wrong with the library: others say how a function is to be used."""
    return name_of(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) == "AssertionError"


def asserts(path: Path, function: Function) -> bool:
    """Tell whether a function, or one that it calls, can fail a test."""
    open_: list[tuple[Path, Part]] = [(path, function)]
    seen = set[Part]()
    while open_:
        file, each = open_.pop()
        if demands(each):
            return True
        if each not in seen:
            seen.add(each)
            open_ += called_by(file, each)
    return False


def tautologies(tree: ast.AST) -> Iterator[ast.Assert]:
    """Yield assertions that hold whatever the library does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and any(is_always_so(part) for part in conjuncts(node.test)):
            yield node


def conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def is_always_so(test: ast.expr) -> bool:
    if constant := value_of(test):
        return bool(constant[0])
    if isinstance(test, ast.BoolOp):
        return any(map(is_always_so, test.values))
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        # Calls and subscripts may give another thing each time, which is what is asked then.
        return any(
            ast.dump(a) == ast.dump(b) and not any(isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(a))
            for a, b in pairwise(sides)
        ) or (isinstance(test.ops[0], ast.GtE) and is_length(test.left) and is_zero(test.comparators[0]))
    if isinstance(test, ast.Call) and name_of(test.func) == "all":
        each = test.args[0] if test.args else None
        return isinstance(each, ast.GeneratorExp) and (is_always_so(each.elt) or asks_for_pairs(each))
    return isinstance(test, ast.Tuple | ast.List | ast.JoinedStr | ast.Lambda)


def value_of(test: ast.expr) -> tuple[object] | None:
    """The value of an expression of constants only, in a tuple; None for others."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    bound = {node.id for node in ast.walk(test) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if names - bound - set(PURE) or any(isinstance(node, ast.Lambda) for node in ast.walk(test)):
        return None
    try:
        return (eval(compile(ast.Expression(test), "", "eval"), {"__builtins__": PURE}),)
    except Exception:  # it fails the test
        return None


def asks_for_pairs(each: ast.GeneratorExp) -> bool:
    """Tell whether an edge of a graph, or an item of a dictionary, is asked whether it has two parts."""
    source, test = each.generators[0].iter, each.elt
    name = name_of(source.func if isinstance(source, ast.Call) and not source.args else source)
    return name in ("edges", "items") and ast.unparse(test) == f"len({ast.unparse(each.generators[0].target)}) == 2"


def is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def files() -> list[Path]:
    return sorted((ROOT / "tests").rglob("test_*.py"))


def test_every_test_asserts_something() -> None:
    idle = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in files()
        for function in ast.walk(tree_of(path))
        if isinstance(function, Function) and function.name.startswith("test_") and not asserts(path, function)
    ]
    assert idle == []


def test_no_assertion_holds_whatever_happens() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{each.lineno}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for each in tautologies(tree_of(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    "test",
    [
        *["True", "x == x", "(x, y)", "x or True", "a.b is a.b", "x and y == y", "len(x) >= 0", "f'{x}'", "x < y == y"],
        *["not ()", "not None", "1 == 1.0", "bool(1)", "x and 2", "[] is not None", "len('ab') == 2", "True or f(x)"],
        *["all(x for x in [])", "all(True for _ in x)", "all(x == x for x in y)", "isinstance(1, int)"],
        *["all(len(e) == 2 for e in g.edges)", "all(len(item) == 2 for item in g.values.items())"],
    ],
)
def test_tautologies_are_noticed(test: str) -> None:
    assert list(tautologies(ast.parse(f"assert {test}")))


@pytest.mark.parametrize(
    "test",
    [
        *["False", "f(x) == f(x)", "x == y == z", "x or y", "len(x) >= 1", "None", "1 == 2", "bool(x)", "a.all()"],
        *["all(x for x in y)", "all(len(e) == 3 for e in g.edges)", "all(len(e) == 2 for e in x)", "int('x')"],
    ],
)
def test_others_are_left_alone(test: str) -> None:
    assert not list(tautologies(ast.parse(f"assert {test}")))


IDLE = {
    "a function without one": "f()",
    "one that is inside and never called": "def g(): assert f()",
    "one that calls itself": "def g():\n  assert f()\n  g()",
    "one of a class that is never made": "class G:\n  def g(self): assert f()",
    "nothing to go through": "for x in []: assert x",
    "nothing to do": "while False: assert f()",
    "never so": "if 0: assert f()\nelse: f()",
    "too late": "return f()\nassert f()",
    "suppressed": "with open(f()), contextlib.suppress(AssertionError): assert f()",
    "suppressed with others": "with suppress(Exception): assert f()",
    "caught": "try: assert f()\nexcept AssertionError: pass",
    "caught with others": "try: assert f()\nexcept (ValueError, Exception) as error: print(error)",
    "caught with all": "try: pytest.fail()\nexcept: pass",
    "an error of nothing": "pytest.raises(ValueError)\nf()",
    "a helper that refuses what it is given": "refusing()",
    "an error that is expected": "try: refusing()\nexcept ValueError: pass",
}
DEMANDING = {
    "by an assertion": "assert f()",
    "by a helper": "h()",
    "by a failure of its own": "if f(): raise AssertionError",
    "by a fixture": "own(1)",
    "by an error": "with pytest.raises(ValueError): f()",
    "by an error of a function": "pytest.raises(ValueError, f)",
    "by one that is inside": "def g(): assert f()\nrun(g)",
    "by one whose name another has": "def f(): assert h\nf()",
    "by one of a class that is made": "class G:\n  def g(self): assert f()\nrun(G())",
    "after others": "for x in []: assert x\nelse: assert f()",
    "unless it is so": "if 0: f()\nelse: assert f()",
    "before the end": "assert f()\nreturn",
    "suppressed otherwise": "with suppress(ValueError): assert f()",
    "caught and told": "try: assert f()\nexcept AssertionError as e: raise ValueError from e",
    "in the end": "try: f()\nexcept Exception: pass\nelse: assert f()",
}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_tests_without_an_assertion_are_noticed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "test_it.py"
    tests = [*IDLE.values(), *DEMANDING.values()]
    path.write_text(
        "\n".join(f"{kind} test_{i}({'own' * ('own' in body)}):\n{indent(body, ' ')}" for i, body in enumerate(tests))
        + "\ndef f(): return f\n"
        "def h(): f() and checked()\n"
        "def own(): return checked\n"
        "def refusing(): raise ValueError(f)\n"
        "def checked(): assert f()\n"
    )
    found = [asserts(path, function) for name, (function, *_) in parts_of(path).items() if "test" in name]
    wanted = dict.fromkeys(IDLE, False) | dict.fromkeys(DEMANDING, True)
    assert dict(zip((*IDLE, *DEMANDING), found, strict=True)) == wanted
