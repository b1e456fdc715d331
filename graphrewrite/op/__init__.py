"""The op library, and the one notation: ``op.relu(op.conv(x, w))`` computes, builds a node, or is a pattern.

An op is a value (`graphrewrite.op.define.Op`), made of a numpy function by `define_op`. Called with arrays it computes;
with values of a graph it adds a node; with variables of a rule it is a pattern.

Examples
--------
>>> import numpy as np
>>> from graphrewrite import op
>>> op.relu(np.array([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

from graphrewrite.errors import UnknownOpError
from graphrewrite.op.define import define_op
from graphrewrite.op.generic_op import generic
from graphrewrite.op.library import LIBRARY, find_op
from graphrewrite.op.literals import as_constant, constant_type
from graphrewrite.op.nn.convolution import depthwise_conv
from graphrewrite.op.op import Op
from graphrewrite.op.other_names import did_you_mean_op

__all__ = ["LIBRARY", "Op", "as_constant", "constant_type", "define_op", "depthwise_conv", "find_op", "generic"]


globals().update({name: found for name, found in LIBRARY.items() if name not in globals()})
# Of the module itself: rules look ops up at each match, and a function for what a module lacks takes long to reach.


def __getattr__(name: str) -> Op:
    raise AttributeError(str(UnknownOpError(f"unknown op {name!r}{did_you_mean_op(name)}")))


def __dir__() -> list[str]:
    return sorted([*__all__, *LIBRARY])
