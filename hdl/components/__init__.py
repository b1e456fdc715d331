"""The hardware components: one file each, with the op's meaning, its VHDL generics, its schedule and its cost.

Examples
--------
>>> {component.op.level for component in COMPONENTS}
{'stream'}
"""

from graphrewrite.hdl.component import Component
from graphrewrite.hdl.components.accumulate import ACCUMULATE
from graphrewrite.hdl.components.add import ADD
from graphrewrite.hdl.components.adder_graph import ADDER_GRAPH
from graphrewrite.hdl.components.affine import AFFINE
from graphrewrite.hdl.components.argmax import ARGMAX
from graphrewrite.hdl.components.clip import CLIP
from graphrewrite.hdl.components.concat import CONCAT
from graphrewrite.hdl.components.constant import CONSTANT
from graphrewrite.hdl.components.delay import DELAY
from graphrewrite.hdl.components.fifo import FIFO
from graphrewrite.hdl.components.fork import FORK
from graphrewrite.hdl.components.interpolate import INTERPOLATE
from graphrewrite.hdl.components.lookup import LOOKUP
from graphrewrite.hdl.components.matvec import MATVEC
from graphrewrite.hdl.components.maximum import MAXIMUM
from graphrewrite.hdl.components.multiply import MULTIPLY
from graphrewrite.hdl.components.pad import PAD
from graphrewrite.hdl.components.popcount import POPCOUNT
from graphrewrite.hdl.components.refold import REFOLD
from graphrewrite.hdl.components.register import REGISTER
from graphrewrite.hdl.components.repeat import REPEAT
from graphrewrite.hdl.components.requantise import REQUANTISE
from graphrewrite.hdl.components.reshape import RESHAPE
from graphrewrite.hdl.components.select_lanes import SELECT
from graphrewrite.hdl.components.softmax import SOFTMAX
from graphrewrite.hdl.components.split import SPLIT
from graphrewrite.hdl.components.threshold import THRESHOLD
from graphrewrite.hdl.components.total import TOTAL
from graphrewrite.hdl.components.window import WINDOW
from graphrewrite.runtime.catalogue import Catalogue

__all__ = ["COMPONENTS"]

COMPONENTS: tuple[Component, ...] = Catalogue(
    (
        ACCUMULATE,
        ADD,
        ADDER_GRAPH,
        AFFINE,
        ARGMAX,
        CLIP,
        CONCAT,
        CONSTANT,
        DELAY,
        FIFO,
        FORK,
        INTERPOLATE,
        LOOKUP,
        MATVEC,
        MAXIMUM,
        MULTIPLY,
        PAD,
        POPCOUNT,
        REFOLD,
        REGISTER,
        REPEAT,
        REQUANTISE,
        RESHAPE,
        SELECT,
        SOFTMAX,
        SPLIT,
        THRESHOLD,
        TOTAL,
        WINDOW,
    )
)
"""Every component, by name of its op."""
