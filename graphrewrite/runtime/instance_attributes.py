"""Attributes that each instance makes for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["OfInstances"]


class OfInstances:
    """Descriptor of an attribute that each instance makes for itself, while its class has another, or none.

    Examples
    --------
    >>> class Counted:
    ...     size = OfInstances(lambda counted: 3, "unknown")
    >>> Counted.size, Counted().size
    ('unknown', 3)
    """

    def __init__(self, make: Callable[[Any], Any], of_class: Any = None) -> None:
        self.make, self.of_class = make, of_class

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None:
            return self.make(instance)
        if self.of_class is None:
            raise AttributeError(f"{owner.__name__} has none of its own")
        return self.of_class
