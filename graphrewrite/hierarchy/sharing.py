"""Sharing: constants and placeholders that the graphs of a module have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.type_inference import infer
from graphrewrite.hierarchy.membership import inner_first
from graphrewrite.hierarchy.shared import Shared, frozen
from graphrewrite.types import Element, Tensor, Type, contradiction, element_dtype, one_object

__all__ = ["Sharing"]


class Sharing:
    """Mixin of modules: constants and placeholders with one value or type for all graphs."""

    name: str
    _constants: dict[str, np.ndarray]
    _types: dict[str, Type]

    @property
    def constants(self) -> Mapping[str, np.ndarray]:
        """The read-only arrays that graphs share, by name."""
        return MappingProxyType(self._constants)

    @property
    def placeholders(self) -> Mapping[str, Type]:
        """The types of the inputs that graphs share, by name."""
        return MappingProxyType({name: kind for name, kind in self._types.items() if name not in self._constants})

    @property
    def storage(self) -> Mapping[str, str]:
        """The storage of what graphs share, by name: "constant", or "mutable" where run time gives the value."""
        return MappingProxyType({name: self.shared(name).storage for name in self._types})

    def constant(self, name: str, value: Any, type: Type | Element | None = None) -> Shared:
        """Add a constant that graphs share.

        Parameters
        ----------
        name : str
            A name that no constant or placeholder has.
        value : array-like
            The array, which is copied; mantissas if the type has a number format.
        type : Tensor or element type, optional
            Derived from the array if not given.

        Returns
        -------
        Shared
            ``.on(graph)`` returns its value in a graph.
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
            A name that no constant or placeholder has.
        type : Tensor or Stream
            The type of the input.

        Returns
        -------
        Shared
            ``.on(graph)`` returns its value in a graph.
        """
        self._check_free(name)
        self._types[name] = one_object(type)
        return Shared(self, name)  # type: ignore[arg-type]  # the mixin of a module

    def shared(self, name: str) -> Shared:
        """Return a constant or placeholder by its name.

        Parameters
        ----------
        name : str
            Its name.
        """
        self.type_of(name)
        return Shared(self, name)  # type: ignore[arg-type]  # the mixin of a module

    def type_of(self, name: str) -> Type:
        """Return the type of a constant or placeholder.

        Parameters
        ----------
        name : str
            Its name.
        """
        if name not in self._types:
            hint = did_you_mean(name, self._types)
            raise GraphError(f"the module {self.name!r} has no constant or placeholder {name!r}{hint}; add it first")
        return self._types[name]

    def set_constant(self, name: str, value: Any, type: Type | None = None) -> None:
        """Change a constant for all graphs, or for none if type inference fails in one of them.

        Parameters
        ----------
        name : str
            Name of a constant.
        value : array-like
            The new array, which is copied.
        type : Tensor, optional
            By default the old type if it fits the array, else the type of the array. Types of downstream nodes are
            inferred again if it changes.

        Raises
        ------
        TypeMismatchError
            If type inference fails in a graph; the module is unchanged.
        """
        old = self.type_of(name)
        if not isinstance(old, Tensor) or name not in self._constants:
            raise GraphError(
                f"{name!r} is a placeholder, which gets its value at run time; set_placeholder sets its type"
            )
        if type is None:
            new = value if isinstance(value, np.ndarray) else np.asarray(value, element_dtype(old.element))
            array, kind = frozen(name, new, old if contradiction(old, new) is None else None)
        else:
            array, kind = frozen(name, value, type)
        self._change(name, {"value": array, "result": kind})
        self._constants[name], self._types[name] = array, kind

    def set_placeholder(self, name: str, type: Type) -> None:
        """Change the type of a placeholder for all graphs, or for none if type inference fails in one of them.

        Parameters
        ----------
        name : str
            Name of a placeholder.
        type : Tensor or Stream
            Types of downstream nodes are inferred again.

        Raises
        ------
        TypeMismatchError
            If type inference fails in a graph; the module is unchanged.
        """
        self.type_of(name)
        if name in self._constants:
            raise GraphError(f"{name!r} is a constant; change it with set_constant")
        self._change(name, {"result": one_object(type)})
        self._types[name] = one_object(type)

    def unshare(self: Any, graph: str, node: str, value: Any = None) -> np.ndarray:
        """Replace a shared constant in one graph by one of its own, and return its read-only array.

        Parameters
        ----------
        graph : str
            Name of a graph.
        node : str
            A constant of it.
        value : array-like, optional
            The new array, of the same type; the shared one where not given.
        """
        owner: Graph = self[graph]
        data = owner.nodes[owner.value(node).node]
        if data.get("type") != "constant":
            raise GraphError(f"is of type {data.get('type')!r}, not a constant", node=node)
        if value is not None:
            data["value"] = frozen(node, value, data["result"])[0]
        data.pop("shared", None)
        return data["value"]  # type: ignore[no-any-return]  # data holds anything

    def _check_free(self, name: Any) -> None:
        if not isinstance(name, str) or not name:
            raise GraphError(f"names of constants and placeholders are non-empty strings, got {name!r}")
        if name in self._types:
            raise GraphError(
                f"the module {self.name!r} already has a constant or placeholder {name!r}; choose another name, or "
                "change it with set_constant"
            )

    def _change(self: Any, name: str, new: dict[str, Any]) -> None:
        """Change the data of a constant or placeholder in every graph, and the types of downstream nodes."""
        # In a copy first, inner graphs before those that contain them: if inference fails, nothing has changed.
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
