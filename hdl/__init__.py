"""Hardware: components, VHDL, cycle-exact simulation, and GHDL as the judge of both."""

from graphrewrite.hdl.checking.check import CheckReport, check_component
from graphrewrite.hdl.component import Component, Resources, Site, per_beat, spaced
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.cosimulate import Report, cosimulate
from graphrewrite.hdl.design import Design
from graphrewrite.hdl.emit import emit
from graphrewrite.hdl.errors import (
    ComponentError,
    ContractError,
    DeadlockError,
    DesignError,
    GhdlMissingError,
    HardwareError,
    MismatchError,
    NetlistError,
    SimulatorError,
    SynthesisError,
)
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.simulate import Simulation, predict, simulate
from graphrewrite.hdl.synthesis import SynthesisReport, synthesise

__all__ = [
    "COMPONENTS",
    "CheckReport",
    "Component",
    "ComponentError",
    "ContractError",
    "DeadlockError",
    "Design",
    "DesignError",
    "GhdlMissingError",
    "HardwareError",
    "MismatchError",
    "NetlistError",
    "Report",
    "Resources",
    "Schedule",
    "Simulation",
    "SimulatorError",
    "Site",
    "SynthesisError",
    "SynthesisReport",
    "check_component",
    "cosimulate",
    "emit",
    "per_beat",
    "predict",
    "simulate",
    "spaced",
    "synthesise",
]
