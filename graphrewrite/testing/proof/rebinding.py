"""Rebinding of an op's code: the same code, with constructors of numpy that accept symbolic arrays.

Arrays can override numpy's functions (NEP 18), but not constructors such as ``np.asarray``, which make an array of
numbers of any argument. So a function is run with its own code and other globals: ``np`` is numpy with those
constructors exchanged, and helper functions are rebound likewise. Nothing is patched: other threads and other callers
are not affected.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from graphrewrite.op.op import Op
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.testing.proof.array import SymbolicArray, cast_to
from graphrewrite.testing.proof.functions import called, leaves
from graphrewrite.testing.proof.integer import SymbolicInt, extreme, holds_symbol
from graphrewrite.testing.proof.refusal import Untranslatable

__all__ = ["Rebinding"]


def _asarray(array: Any, dtype: Any = None, order: Any = None, **keywords: Any) -> Any:
    if isinstance(array, list | tuple) and any(isinstance(x, SymbolicArray | SymbolicInt) for x in leaves(array)):
        array = np.stack([SymbolicArray.of(_asarray(part)) for part in array])
    if isinstance(array, SymbolicInt):
        array = SymbolicArray.of(array)
    if isinstance(array, SymbolicArray):
        return array if dtype is None else cast_to(array, dtype)
    return np.asarray(array, dtype, order, **keywords)


def _array(array: Any, dtype: Any = None, **keywords: Any) -> Any:
    converted = _asarray(array, dtype)
    if isinstance(converted, SymbolicArray):
        missing = max(int(keywords.get("ndmin", 0)) - converted.ndim, 0)
        return SymbolicArray(converted.entries.copy().reshape((1,) * missing + converted.shape), converted.dtype)
    return np.array(array, dtype, **keywords)


def _take(array: Any, indices: Any, *args: Any, **keywords: Any) -> Any:
    if isinstance(indices, SymbolicArray):  # which numpy would convert
        return called(np.take, (SymbolicArray.of(array), indices, *args), keywords)
    return np.take(array, indices, *args, **keywords)


def _is_scalar(element: Any) -> bool:
    if isinstance(element, SymbolicArray):
        return issubclass(element.stands_for(), np.generic)
    return isinstance(element, SymbolicInt) or np.isscalar(element)


def _filled(make: Callable[..., np.ndarray]) -> Callable[..., SymbolicArray]:
    def fill(*args: Any, **keywords: Any) -> SymbolicArray:
        return SymbolicArray.of(make(*args, **keywords))  # so that unknown numbers can be written into it

    return fill


_EXCHANGED: Mapping[str, Any] = {
    "array": _array,
    "asanyarray": _asarray,
    "asarray": _asarray,
    "ascontiguousarray": _asarray,
    "asfortranarray": _asarray,
    "empty": _filled(np.zeros),
    "full": _filled(np.full),
    "isscalar": _is_scalar,
    "ones": _filled(np.ones),
    "require": _asarray,
    "take": _take,
    "zeros": _filled(np.zeros),
}


class _IntType(type):
    """The type ``int`` as rebound code sees it, which leaves a number that is not known as it is."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1 and not keywords:
            (number,) = arguments
            if isinstance(number, SymbolicInt):
                return number
            if isinstance(number, SymbolicArray) and number.dtype.kind in "iu" and number.size == 1:
                return number.item()
        return int(*arguments, **keywords)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, int)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is int

    __hash__ = type.__hash__


class _Int(int, metaclass=_IntType):
    """Whole numbers."""

    dtype = np.dtype(int)  # what numpy takes it for


def _type_of(value: Any, *rest: Any) -> Any:
    """Return the type of a value as it is without symbols."""
    if type(value) is SymbolicInt and not rest:
        return int
    return type(value, *rest) if type(value) is not SymbolicArray else value.stands_for()


def _refused(what: str) -> Callable[..., Any]:
    """Return a function that numbers which are not known may not enter."""
    function: Callable[..., Any] = getattr(builtins, what)

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        if holds_symbol(arguments):
            raise Untranslatable(f"{what}() of a number that is not known is asked for")
        return function(*arguments, **keywords)

    return refuse


_BUILTINS: Mapping[str, Any] = {
    **vars(builtins),
    **{name: _refused(name) for name in ("dir", "id", "vars")},
    "int": _Int,
    "max": extreme(max, lambda new, best: best.less(new)),
    "min": extreme(min, lambda new, best: new.less(best)),
}
_FOREIGN = frozenset({"numpy", "z3", "networkx"})
_FAITHFUL = frozenset(
    {"math", "operator", "_operator", "itertools", "functools", "_functools", "collections", "copy", "dataclasses"}
    | {"builtins", "types", "typing", "enum", "contextlib"}
)
"""Modules of Python that take a number for what it says that it is; others look at its type, or at its bytes."""


class _World(ModuleType):
    """A module as rebound code sees it."""

    def __init__(self, module: ModuleType, rebinding: Rebinding) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _rebinding=rebinding)

    def __getattr__(self, name: str) -> Any:
        if self._module is np and name in _EXCHANGED:
            return _EXCHANGED[name]
        return self._rebinding(getattr(self._module, name))


class Rebinding:
    """Rebind functions to globals that accept symbolic arrays; each function once.

    Parameters
    ----------
    keeps_ops : bool
        Whether ops stay themselves, as in rules, where they make nodes; in other code they are their functions.

    Examples
    --------
    >>> def double(x):
    ...     return np.asarray(x, np.int64) * 2
    >>> from graphrewrite.testing.proof.number import unknown_number
    >>> Rebinding()(double)(SymbolicArray(unknown_number("a", -128, 127), np.int8))
    <int64[] of numbers that are not known>
    """

    def __init__(self, *, keeps_ops: bool = False) -> None:
        self.keeps_ops = keeps_ops
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._exchanged = {id(getattr(np, name)): stand_in for name, stand_in in _EXCHANGED.items()}

    def __call__(self, value: Any) -> Any:
        """Return a rebound function, op or module, and any other object as it is."""
        if id(value) in self._exchanged:
            return self._exchanged[id(value)]
        if id(value) in self._made:
            return self._made[id(value)]
        rebound = value
        if isinstance(value, Op):
            rebound = value if self.keeps_ops else self(value.function)
        elif isinstance(value, ModuleType):
            is_left = value is not np and _is_foreign(value.__name__) and not _is_looking(value.__name__)
            rebound = value if is_left else _World(value, self)
        elif isinstance(value, FunctionType) and not _is_foreign(value.__module__):
            return self._function(value)
        elif isinstance(value, FunctionType | BuiltinFunctionType) and not _is_faithful(value):
            rebound = _guarded(value, f"{value.__module__}.{value.__name__} is given")
        self._keep(value, rebound)
        return rebound

    def _keep(self, value: Any, rebound: Any) -> None:
        self._made[id(value)] = rebound
        self._kept.append(value)  # keeps its id from being reused

    def _function(self, function: FunctionType) -> Callable[..., Any]:
        reached = [function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__]
        reached += [cell.cell_contents for cell in function.__closure__ or ()]
        reached += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if any(map(_is_out_of_sight, reached)):
            guarded = _guarded(function, f"{function.__name__}, which calls code that is not followed, is given")
            self._keep(function, guarded)
            return guarded
        if _handles_errors(function.__code__):
            # What a symbol cannot do, its value perhaps can: then the error is one of this module.
            guarded = _guarded(function, f"{function.__name__}, which handles errors, is given")
            self._keep(function, guarded)
            return guarded
        # Code that compares types with `is` gets the real ``int``, and types that it may compare.
        asks = any(map(_asks_for_types, _codes(function.__code__)))
        own = {**_BUILTINS, "int": int, "type": _type_of} if asks else dict(_BUILTINS)
        world: dict[str, Any] = {"__name__": function.__module__, "__builtins__": own}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        rebound = FunctionType(function.__code__, world, function.__name__, function.__defaults__, cells)
        rebound.__kwdefaults__ = function.__kwdefaults__
        rebound.__dict__.update(function.__dict__)
        self._keep(function, rebound)  # before its helpers, for recursive functions
        for cell, outer in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self(outer.cell_contents)
        for name in _names(function.__code__):
            if name in function.__globals__:
                world[name] = self(function.__globals__[name])
        return rebound


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield code, and the code of the functions inside of it."""
    yield code
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield from _codes(inner)


def _names(code: CodeType) -> Iterator[str]:
    for each in _codes(code):
        yield from each.co_names


@lru_cache(maxsize=4096)
def _asks_for_types(code: CodeType) -> bool:
    steps = dis.get_instructions(code)
    return "__class__" in code.co_names or any((s.opname, s.argval) == ("LOAD_GLOBAL", "type") for s in steps)


@lru_cache(maxsize=4096)
def _handles_errors(code: CodeType) -> bool:
    """Tell whether code may go on after an error; in ``with np.errstate(...)`` it does not."""
    steps = [step for each in _codes(code) for step in dis.get_instructions(each)]
    silent = sum(step.argval == "errstate" for step in steps)
    return bool(sum(step.opname == "PUSH_EXC_INFO" for step in steps) > silent)


def _is_out_of_sight(value: Any) -> bool:
    """Tell whether a value has code that is not run rebound: a method, a wrapper, or a function in a table.

    Code of this library is trusted to take a symbol for what it stands for.
    """
    if isinstance(value, list | tuple | set | frozenset | Mapping):
        parts = value.values() if isinstance(value, Mapping) else value
        return any(_is_users(part) if isinstance(part, FunctionType) else _is_out_of_sight(part) for part in parts)
    if isinstance(value, FunctionType):
        return hasattr(value, "registry")  # it calls one of others, by the type of what it is given
    inner = getattr(value, "func", getattr(value, "__wrapped__", getattr(value, "__func__", None)))
    if isinstance(inner, FunctionType):
        return _is_users(inner)
    owner = value if isinstance(value, type) else type(value)
    if not _is_users(owner) or isinstance(value, Symbolic | Op):
        return False
    methods = [getattr(m, "__func__", getattr(m, "fget", m)) for base in owner.__mro__ for m in vars(base).values()]
    # Those that `dataclass` and `namedtuple` write ask for nothing.
    return any(isinstance(m, FunctionType) and m.__code__.co_filename != "<string>" and _is_users(m) for m in methods)


def _is_users(value: Any) -> bool:
    module = str(getattr(value, "__module__", None))
    return not _is_foreign(module) and module.partition(".")[0] != "graphrewrite"


def _guarded(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Return a function that raises where it is given a number that is not known."""

    def guard(*arguments: Any, **keywords: Any) -> Any:
        if holds_symbol([*arguments, *keywords.values()]):
            raise Untranslatable(f"{what} a number that is not known")
        return function(*arguments, **keywords)

    return guard


def _is_looking(module: str) -> bool:
    """Tell whether a module of Python looks at the type or the bytes of a number."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top not in _FAITHFUL


def _is_faithful(function: Any) -> bool:
    return not _is_looking(function.__module__ or "builtins")


def _is_foreign(module: str | None) -> bool:
    top = (module or "").partition(".")[0]
    return top in sys.stdlib_module_names or top in _FOREIGN
