"""Hardware: components, VHDL, cycle-exact simulation, and GHDL as the judge of both."""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import no_attribute
from graphrewrite.hdl.checking.check import CheckReport, check_component
from graphrewrite.hdl.component import Component, Resources, Site, per_beat, spaced
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.emission.design import Design
from graphrewrite.hdl.emission.project import emit
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
from graphrewrite.hdl.ghdl.cosimulation import CosimulationReport, cosimulate
from graphrewrite.hdl.port_encoding import Encoding
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.simulation.simulation import Simulation, predict, simulate
from graphrewrite.hdl.synthesis import SynthesisReport, synthesise

Report = CosimulationReport  # the name before the test kit's `Report`; it goes with the next release

__all__ = [
    "COMPONENTS",
    "CheckReport",
    "Component",
    "ComponentError",
    "ContractError",
    "CosimulationReport",
    "DeadlockError",
    "Design",
    "DesignError",
    "Encoding",
    "GhdlMissingError",
    "HardwareError",
    "MismatchError",
    "NetlistError",
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


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
