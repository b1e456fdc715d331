"""Sharing: the constants and placeholders that the graphs of a module have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.infer import infer
from graphrewrite.module.membership import inner_first
from graphrewrite.module.shared import Shared
from graphrewrite.types import Stream, Tensor, Type, contradiction, element_dtype, element_of, one_object

__all__ = ["Sharing"]


class Sharing:
    """Mixin of modules: constants and placeholders, each with one value or type for all graphs."""

    name: str
    _constants: dict[str, np.ndarray]
    _types: dict[str, Type]

    @property
    def constants(self) -> Mapping[str, np.ndarray]:
        """The arrays that graphs share, by name; they cannot be written to."""
        return MappingProxyType(self._constants)

    @property
    def placeholders(self) -> Mapping[str, Type]:
        """The types of the inputs that graphs share, by name; run time gives their values."""
        return MappingProxyType({name: kind for name, kind in self._types.items() if name not in self._constants})

    def constant(self, name: str, value: Any, type: Type | None = None) -> Shared:
        """Add a constant that graphs share.

        Parameters
        ----------
        name : str
            A name that no constant and no placeholder has.
        value : array-like
            The array, which is copied; mantissas where the type has a number format.
        type : Tensor, optional
            Follows from the array where not given.

        Returns
        -------
        Shared
            ``.on(graph)`` gives its value in a graph.
        """
        self._check_free(name)
        array, kind = frozen(name, value, type)
        self._constants[name], self._types[name] = array, kind
        return Shared(self, name)  # type: ignore[arg-type]  # the mixin of a module

    def placeholder(self, name: str, type: Type) -> Shared:
        """Add an input that graphs share.

        Parameters
        ----------
        name : str
            A name that no constant and no placeholder has.
        type : Tensor or Stream
            What it carries.

        Returns
        -------
        Shared
            ``.on(graph)`` gives its value in a graph.
        """
        self._check_free(name)
        self._types[name] = one_object(type)
        return Shared(self, name)  # type: ignore[arg-type]  # the mixin of a module

    def shared(self, name: str) -> Shared:
        """Return a constant or placeholder, to be used in a graph.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Shared
        """
        self.type_of(name)
        return Shared(self, name)  # type: ignore[arg-type]  # the mixin of a module

    def type_of(self, name: str) -> Type:
        """Return the type of a constant or placeholder.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Tensor or Stream
        """
        if name not in self._types:
            hint = did_you_mean(name, self._types)
            raise GraphError(
                f"the module {self.name!r} has no constant and no placeholder {name!r}{hint}; add it first"
            )
        return self._types[name]

    def set_constant(self, name: str, value: Any, type: Type | None = None) -> None:
        """Change a constant for all graphs, or for none if one of them does not fit.

        Parameters
        ----------
        name : str
            Of a constant.
        value : array-like
            The new array, which is copied.
        type : Tensor, optional
            The old type where it fits the array, else the type of the array. Where it is another one, the types of what
            reads the constant follow.

        Raises
        ------
        TypeMismatchError
            If a graph does not fit the new type; the module is as it was.
        """
        known = self.type_of(name)
        if not isinstance(known, Tensor) or name not in self._constants:
            raise GraphError(f"{name!r} is a placeholder, to which run time gives a value; it has none to be changed")
        if type is None:
            given = value if isinstance(value, np.ndarray) else np.asarray(value, element_dtype(known.element))
            array, kind = frozen(name, given, known if contradiction(known, given) is None else None)
        else:
            array, kind = frozen(name, value, type)
        self._change(name, {"value": array, "result": kind})
        self._constants[name], self._types[name] = array, kind

    def set_placeholder(self, name: str, type: Type) -> None:
        """Change the type of a placeholder for all graphs, or for none if one of them does not fit.

        Parameters
        ----------
        name : str
            Of a placeholder.
        type : Tensor or Stream
            The types of what reads it follow.

        Raises
        ------
        TypeMismatchError
            If a graph does not fit the new type; the module is as it was.
        """
        self.type_of(name)
        if name in self._constants:
            raise GraphError(f"{name!r} is a constant; change it with set_constant")
        self._change(name, {"result": one_object(type)})
        self._types[name] = one_object(type)

    def unshare(self: Any, graph: str, node: str) -> np.ndarray:
        """Give a graph a constant of its own in place of one that it shares, and return its array, to be written to.

        Parameters
        ----------
        graph : str
            Name of a graph.
        node : str
            A constant of it.

        Returns
        -------
        ndarray
            A copy; other graphs do not see what becomes of it.
        """
        found: Graph = self[graph]
        data = found.nodes[found.value(node).node]
        if data.get("type") != "constant":
            raise GraphError(f"is {data.get('type')}, and no constant that could be changed", node=node)
        data["value"] = np.array(data["value"])
        data.pop("shared", None)
        return data["value"]  # type: ignore[no-any-return]  # data holds anything

    def _check_free(self, name: Any) -> None:
        if not isinstance(name, str) or not name:
            raise GraphError(f"a constant or placeholder needs a name, not {name!r}")
        if name in self._types:
            raise GraphError(
                f"the module {self.name!r} has a constant or placeholder {name!r} already; choose another name, or "
                "change that one with set_constant"
            )

    def _change(self: Any, name: str, new: dict[str, Any]) -> None:
        """Change what a constant or placeholder is in every graph, and the types of what follows from it."""
        trial = self.copy()
        for key in inner_first(trial):
            graph = trial[key]
            changed = [n for n, data in graph.nodes(data=True) if data.get("shared") == name]
            for node in changed:
                graph.nodes[node].update(new)
            readers = {reader for node in changed for reader in graph._succ[node]}
            try:
                infer(graph, readers | {n for n, data in graph.nodes(data=True) if data.get("type") in trial})
            except GraphRewriteError as error:
                raise TypeMismatchError(f"{name!r} cannot be {new['result']}: graph {key!r}: {error}") from None
        for key, graph in self.items():
            for node, data in graph.nodes(data=True):
                data.update({k: v for k, v in trial[key].nodes[node].items() if k in ("value", "result")})


def frozen(name: str, value: Any, type: Type | None = None) -> tuple[np.ndarray, Type]:
    """Return a copy of an array that cannot be written to, and its type.

    Parameters
    ----------
    name : str
        What it is called in messages.
    value : array-like
        The array.
    type : Tensor, optional
        Follows from the array where not given.

    Returns
    -------
    array : ndarray
    type : Tensor

    Raises
    ------
    TypeMismatchError
        If the array contradicts the type.
    """
    if isinstance(type, Stream):
        raise TypeMismatchError(f"the constant {name!r} cannot be a {type}; it is one array, a Tensor")
    dtype = None if type is None or isinstance(value, np.ndarray) else element_dtype(type.element)
    try:
        array = np.array(value, dtype)
    except (OverflowError, TypeError, ValueError) as error:
        wanted = "numbers in lists of equal lengths" if type is None else f"numbers of {type}"
        raise TypeMismatchError(f"the constant {name!r} needs {wanted}: {error}") from error
    kind = Tensor(element_of(array.dtype), array.shape) if type is None else type
    wrong = contradiction(kind, array)
    if wrong is not None:
        raise TypeMismatchError(f"the constant {name!r} {wrong}, and is declared {kind}")
    array.setflags(write=False)
    return array, one_object(kind)
