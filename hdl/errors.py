"""Errors between a stream graph and running hardware."""

from typing import Any

from graphrewrite.errors import GraphRewriteError, MissingDependencyError

__all__ = [
    "ComponentError",
    "ContractError",
    "DeadlockError",
    "DesignError",
    "GhdlMissingError",
    "HardwareError",
    "MismatchError",
    "NetlistError",
    "SimulatorError",
    "SynthesisError",
]


class HardwareError(GraphRewriteError):
    """Root of the errors of ``graphrewrite.hdl``."""


class NetlistError(HardwareError):
    """A graph is no network of hardware components: a foreign op, a value with no or several readers."""


class ComponentError(HardwareError):
    """A component is not complete, or its parts (op, entity, timing) contradict each other."""


class ContractError(ComponentError):
    """A component breaks the stream contract; says which rule, at which port, in which cycle."""


class MismatchError(ComponentError):
    """A component gives other values, or gives them in other cycles, than its meaning and its schedule say.

    Parameters
    ----------
    message : str
        Where, and what to expect.
    difference : object
        The first difference, as data.
    """

    def __init__(self, message: str, difference: Any = None) -> None:
        self.difference = difference
        super().__init__(message)


class DeadlockError(HardwareError):
    """A network stops for good; names the components that wait for one another."""


class DesignError(HardwareError):
    """A design cannot be written, read or given vectors."""


class SimulatorError(HardwareError):
    """GHDL refused a design or stopped in the middle of it."""


class GhdlMissingError(HardwareError, MissingDependencyError):
    """GHDL is not installed; says how to get it."""


class SynthesisError(HardwareError):
    """A design cannot be synthesised: an unknown family, a part that GHDL or Yosys refuses, time that is up."""
