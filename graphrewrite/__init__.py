"""Rewrite graphs, watch it happen, test and prove it, and take a trained network down to VHDL.

Examples
--------
>>> from graphrewrite import Graph, Tensor, op, rewrite, rule
>>> @rule
... def drop_double_negation(x):
...     "Minus minus x is x."
...     yield op.neg(op.neg(x))
...     return x
>>> g = Graph("g")
>>> x = g.input("x", Tensor("f32", ("N",)))
>>> _ = g.output("y", -(-x))
>>> print(rewrite(g, [drop_double_negation]))
graph g
x = input() : f32[N]
y = output(x)
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from graphrewrite.front import *  # noqa: F403 - the public names, for tools that do not run this
else:

    def __getattr__(name: str) -> Any:
        """Load a module of the package, or all public names, when one of them is asked for.

        pytest imports the package wherever it runs, for the sake of the plugin; what is not used should cost nothing.
        """
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _FUNCTIONS and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        front = import_module(f"{__name__}.front")
        globals().update({public: getattr(front, public) for public in front.__all__}, __all__=front.__all__)
        if name not in globals():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals()[name]

    def __dir__() -> list[str]:
        public = import_module(f"{__name__}.front").__all__  # before the modules are listed that it loads
        inside = [
            name for name, value in globals().items() if getattr(value, "__name__", "").startswith(f"{__name__}.")
        ]
        return sorted({*public, *inside, *(name for name in globals() if name.startswith("__"))})


class _Package(ModuleType):
    """The package: a module that is called as one of its functions, such as `trace`, does not take that one's place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _FUNCTIONS):
            super().__setattr__(name, value)


_FUNCTIONS = frozenset({"diff", "evaluate", "evaluation", "rewrite", "rule", "trace", "verify"})
"""Public functions that are called as the module where they are."""
sys.modules[__name__].__class__ = _Package
