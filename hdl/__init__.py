"""Hardware: components, VHDL, cycle-exact simulation, and GHDL as the judge of both."""

from graphrewrite.hdl.component import Component, Resources, Site
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.cosimulate import Report, cosimulate
from graphrewrite.hdl.design import Design
from graphrewrite.hdl.emit import emit
from graphrewrite.hdl.errors import (
    DeadlockError,
    DesignError,
    GhdlMissingError,
    HardwareError,
    NetlistError,
    SimulatorError,
)
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.simulate import Simulation, predict, simulate

__all__ = [
    "COMPONENTS",
    "Component",
    "DeadlockError",
    "Design",
    "DesignError",
    "GhdlMissingError",
    "HardwareError",
    "NetlistError",
    "Report",
    "Resources",
    "Schedule",
    "Simulation",
    "SimulatorError",
    "Site",
    "cosimulate",
    "emit",
    "predict",
    "simulate",
]
