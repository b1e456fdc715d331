"""Types of edges of one's own, such as relations with columns: what their values are is for the type to say."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.named import OBJECT
from graphrewrite.types.own_members import OwnType
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Tensor

__all__ = ["EdgeType", "boxed", "unboxed"]


class EdgeType(OwnType, is_base=True):
    r"""Base of types of edges that are part of a dialect; a class that derives from it is a frozen dataclass.

    Its fields are plain values: numbers, texts, None, other types, and tuples of them (lists become tuples). From them
    follow equality and the text form, which is parsed again where the dialect is known. The values that flow along such
    an edge are objects of any kind; the methods below say what is known of them.

    Parameters
    ----------
    dialect : Dialect
        The dialect, given in the class statement.

    Examples
    --------
    >>> from graphrewrite import Dialect, Graph
    >>> rel = Dialect("rel")
    >>> class Relation(EdgeType, dialect=rel):
    ...     "Rows with named columns."
    ...     columns: tuple[str, ...]
    >>> print(Relation(["id", "age"]))
    rel.Relation(columns=['id', 'age'])
    >>> text = "graph g\nt = input() : rel.Relation(columns=['id', 'age'])\ny = output(t)"
    >>> Graph.parse(text, ops=[rel]).input_types == (rel.Relation(["id", "age"]),)
    True
    """

    _plain = (*OwnType._plain, Tensor, Stream)
    element: ClassVar[str] = OBJECT
    shape: ClassVar[tuple[int, ...]] = ()
    layout: ClassVar[None] = None
    unknowns: ClassVar[tuple[str, ...]] = ()

    def as_value(self, given: Any) -> Any:
        """Return the value that an object stands for, which is what ops get: the object itself, if not overridden.

        Values that mean the same should be equal: by them `graphrewrite.testing` compares what graphs give. An object
        that is no value of this type is refused by an error, such as `TypeMismatchError`.

        Parameters
        ----------
        given : object
            What an evaluation was given as an input, or what an op has returned.
        """
        return given

    def sample(self, rng: np.random.Generator) -> Any:
        """Return some value, with which `graphrewrite.testing` tries rules.

        Parameters
        ----------
        rng : numpy.random.Generator
            What chooses it.

        Raises
        ------
        TypeMismatchError
            If not overridden.
        """
        raise TypeMismatchError(
            f"{self.full_name} does not say which values it has; define its method `sample`, which takes a generator "
            "of random numbers and returns one"
        )


def boxed(value: Any) -> np.ndarray:
    """Return an array without axes that holds an object, as which it goes through an evaluation.

    Examples
    --------
    >>> boxed([1, 2]).shape, unboxed(boxed([1, 2]))
    ((), [1, 2])
    """
    if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
        return value
    box = np.empty(1, object)
    box[0] = value
    return box.reshape(())


def unboxed(array: Any) -> Any:
    """Return the object that an array without axes holds; anything else itself."""
    return array.item() if isinstance(array, np.ndarray) and array.dtype == object and not array.ndim else array
