"""What can go wrong between a stream graph and running hardware."""

from graphrewrite.errors import GraphRewriteError, MissingDependencyError

__all__ = ["DeadlockError", "DesignError", "GhdlMissingError", "HardwareError", "NetlistError", "SimulatorError"]


class HardwareError(GraphRewriteError):
    """Root of the errors of ``graphrewrite.hdl``."""


class NetlistError(HardwareError):
    """A graph is no network of hardware components: a foreign op, a value with no or several readers."""


class DeadlockError(HardwareError):
    """A network stops for good; names the components that wait for one another."""


class DesignError(HardwareError):
    """A design cannot be written, read or given vectors."""


class SimulatorError(HardwareError):
    """GHDL refused a design or stopped in the middle of it."""


class GhdlMissingError(HardwareError, MissingDependencyError):
    """GHDL is not installed; says how to get it."""
