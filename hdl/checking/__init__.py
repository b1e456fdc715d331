"""Check components against GHDL: values and cycles over their parameter space, with stalls and resets.

One line for a component of your own (it runs in a notebook or a test)::

    check_component(MINE, draw, seed=1)
"""

from graphrewrite.hdl.checking.check import CheckReport, check_component
from graphrewrite.hdl.checking.comparison import WrongBeat

__all__ = ["CheckReport", "WrongBeat", "check_component"]
