"""The hardware components: one file each, with the op's meaning, its VHDL generics, its schedule and its cost.

Examples
--------
>>> [component.op.name for component in COMPONENTS]
['stream_add', 'argmax', 'stream_clip', 'fifo', 'fork', 'matvec',
 'stream_maximum', 'stream_requantise', 'stream_reshape', 'window']
"""

from graphrewrite.hdl.component import Component
from graphrewrite.hdl.components.add import ADD
from graphrewrite.hdl.components.argmax import ARGMAX
from graphrewrite.hdl.components.clip import CLIP
from graphrewrite.hdl.components.fifo import FIFO
from graphrewrite.hdl.components.fork import FORK
from graphrewrite.hdl.components.matvec import MATVEC
from graphrewrite.hdl.components.maximum import MAXIMUM
from graphrewrite.hdl.components.requantise import REQUANTISE
from graphrewrite.hdl.components.reshape import RESHAPE
from graphrewrite.hdl.components.window import WINDOW

__all__ = ["COMPONENTS"]

COMPONENTS: tuple[Component, ...] = (ADD, ARGMAX, CLIP, FIFO, FORK, MATVEC, MAXIMUM, REQUANTISE, RESHAPE, WINDOW)
"""Every component, by name of its op."""
