"""Rules by their names: ``package.module:RULES``, the arguments of commands and of the pytest plugin."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphRewriteError, did_you_mean
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.passes import Pass, Pipeline
from graphrewrite.rewriting.rule.declaration import Rule

__all__ = ["Named", "NamingError", "attribute_named", "named"]

_SHOWN = 8
"""Names that an error lists."""


class NamingError(GraphRewriteError):
    """A name denotes no rule, pass or pipeline; the message lists names that do."""


@dataclass(frozen=True)
class Named:
    """A rule, or a pass, pipeline or function, with its name.

    Attributes
    ----------
    target : str
        The name in the argument.
    name : str
        Its own name; of two of one name in a target, the second has a number.
    subject : Rule, GraphRule, Pass, Pipeline or callable
        The rule itself.
    """

    target: str
    name: str
    subject: Any


def named(
    targets: Iterable[str], *, folder: Path | None = None, sets: Mapping[str, Sequence[Any]] | None = None
) -> list[Named]:
    """Return the rules that some names denote, one by one.

    Parameters
    ----------
    targets : iterable of str
        ``package.module:NAME`` of a rule, a pass, a pipeline, a function on graphs, or a tuple or list of them; or
        ``package.module`` for all rules, passes and pipelines that the module defines or exports.
    folder : Path, optional
        Where modules are looked for, too.
    sets : mapping of str to sequence of rules, optional
        Further names, such as those of plugins.

    Raises
    ------
    NamingError
        If a module cannot be imported, or holds no such name, or nothing of this kind.

    Examples
    --------
    >>> [each.name for each in named(["graphrewrite.rules:drop_identity", "graphrewrite.rules:FOLDING"])][:2]
    ['drop_identity', 'gemm_as_linear']
    >>> named(["graphrewrite.rules:RULLES"])
    Traceback (most recent call last):
    ...
    graphrewrite.rewriting.rule_sets.NamingError: 'graphrewrite.rules' has no 'RULLES'; did you mean 'RULES'?
    """
    subjects: list[Named] = []
    own = sets or {}
    for target in dict.fromkeys(targets):
        members = list(_members(own[target], target) if target in own else _denoted(target, folder))
        seen: Counter[str] = Counter()
        for member in members:
            word = _called(member)
            seen[word] += 1
            subjects.append(Named(target, word if seen[word] == 1 else f"{word}-{seen[word]}", member))
    return subjects


def attribute_named(target: str, *, folder: Path | None = None) -> Any:
    """Return what ``package.module:NAME`` denotes.

    Parameters
    ----------
    folder : Path, optional
        Where modules are looked for after all other places.

    Examples
    --------
    >>> attribute_named("graphrewrite.rules:drop_identity").name
    'drop_identity'
    """
    module_name, _, name = target.partition(":")
    return _attribute(_module(module_name, target, folder), name, target)


def _denoted(target: str, folder: Path | None) -> Iterable[Any]:
    """Return the rules of a module, or of one of its names."""
    module_name, _, name = target.partition(":")
    module = _module(module_name, target, folder)
    return _members(_attribute(module, name, target), target) if name else _all(module, target)


def _module(module_name: str, target: str, folder: Path | None) -> ModuleType:
    is_path = module_name.endswith(".py") or "/" in module_name or "\\" in module_name
    if is_path or not all(part.isidentifier() for part in module_name.split(".")):
        hint = ""
        if is_path:
            dotted = ".".join(Path(module_name).with_suffix("").parts)
            hint = f"; a module is imported: write {dotted}{target[len(module_name) :]}"
        raise NamingError(f"{target!r} is not of the form package.module:RULES{hint}")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))  # after all others, so that it hides no installed module
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing and (module_name == missing or module_name.startswith(f"{missing}.")):
            raise NamingError(_not_found(module_name, missing)) from None
        raise NamingError(f"{module_name!r} needs the module {missing!r}, which is not installed") from error
    except (Exception, SystemExit) as error:  # user code may raise anything
        message, at = str(error), traceback.extract_tb(error.__traceback__)[-1]
        location = f"{at.filename}:{at.lineno}"
        if isinstance(error, SyntaxError):  # of the module, or of one that it imports
            message, location = error.msg, f"{error.filename}:{error.lineno}"
        reason = f"{type(error).__name__}: {message} ({location})"
        raise NamingError(f"{module_name!r} cannot be imported: {reason}") from error


def _not_found(module_name: str, missing: str) -> str:
    parent, _, last = missing.rpartition(".")
    if parent in sys.modules:
        paths = getattr(sys.modules[parent], "__path__", None)
        if paths is None:
            return f"{parent!r} is a module and no package: write {parent}:{module_name[len(parent) + 1 :]}"
    else:
        paths = sys.path
    # An empty entry of the path is the current folder.
    folders = [Path(path or ".") for path in paths]
    entries = (entry for folder in folders if folder.is_dir() for entry in folder.iterdir())
    near = {p.stem for p in entries if p.suffix == ".py" or (p.is_dir() and p.name.isidentifier())}
    return f"there is no module {missing!r}{did_you_mean(last, near - sys.stdlib_module_names)}"


def _attribute(module: ModuleType, name: str, target: str) -> Any:
    thing: Any = module
    for part in name.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            holder = getattr(thing, "__name__", type(thing).__name__)
            names = [word for word in dir(thing) if not word.startswith("_")]
            hint = did_you_mean(part, names)
            if not hint and isinstance(thing, ModuleType):
                rules = sorted(word for word in names if _is_subject(getattr(thing, word, None)))
                more = " …" if len(rules) > _SHOWN else ""
                hint = f"; there is: {', '.join(rules[:_SHOWN])}{more}" if rules else ""
            raise NamingError(f"{holder!r} has no {part!r}{hint}") from None
    return thing


def _members(thing: Any, target: str) -> Iterable[Any]:
    """Return the rules of a set; a pipeline counts as one, for its phases depend on each other."""
    if isinstance(thing, Rule | GraphRule | Pass | Pipeline):
        return (thing,)
    if isinstance(thing, ModuleType):
        return _all(thing, target)
    if isinstance(thing, tuple | list | set | frozenset | dict):
        values = list(thing.values()) if isinstance(thing, dict) else list(thing)
        members = [member for value in values for member in _members(value, target)]
        if isinstance(thing, set | frozenset):
            members.sort(key=_called)  # sets have no stable order
        if not members:
            raise NamingError(f"{target!r} is empty; name another, or put a rule into it")
        return members
    if callable(thing) and not isinstance(thing, type | nx.Graph):
        return (thing,)
    kind = f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
    raise NamingError(
        f"{target!r} is {kind}; name a rule, a pass, a pipeline, a function on graphs, or a tuple of them"
    )


def _is_subject(thing: Any) -> bool:
    if isinstance(thing, tuple | list):
        return bool(thing) and all(_is_subject(member) for member in thing)
    return isinstance(thing, Rule | GraphRule | Pass | Pipeline)


def _all(module: ModuleType, target: str) -> Iterable[Any]:
    """Return the rules, passes and pipelines of a module, alone or in tuples: those in `__all__`, or its own."""
    offered = getattr(module, "__all__", None)
    subjects: dict[int, Any] = {}
    for name, thing in vars(module).items():
        if name.startswith("_") or not _is_subject(thing) or (offered is not None and name not in offered):
            continue
        if offered is None and not _is_made_in(thing, module):
            continue
        for member in _members(thing, target):
            subjects.setdefault(id(member), member)
    if not subjects:
        name = module.__name__
        raise NamingError(f"{name!r} offers no rules, passes or pipelines; name one: {name}:RULES")
    return subjects.values()


def _is_made_in(thing: Any, module: ModuleType) -> bool:
    """Tell whether a rule or a pass is defined in a module rather than imported; tuples count as its own."""
    function = getattr(thing, "function", None)
    return function is None or getattr(function, "__module__", None) == module.__name__


def _called(thing: Any) -> str:
    return str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__)
