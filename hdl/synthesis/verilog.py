"""GHDL's synthesis of a design to Verilog, and the modules that it consists of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphrewrite.hdl.errors import SimulatorError, SynthesisError
from graphrewrite.hdl.ghdl import simulator as ghdl

__all__ = ["Verilog", "to_verilog"]

_MODULE = re.compile(r"^module (\w+).*?^endmodule\b", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (\w+) (\w+) \($", re.MULTILINE)
_PORT = re.compile(r"^\s*(?:\(|  )?(input|output)\s+(?:reg\s+|wire\s+)?(?:\[(\d+):(\d+)\]\s*)?(\w+)", re.MULTILINE)
_TEXT = re.compile(r'= "([01XZ]+)"')


@dataclass(frozen=True)
class Verilog:
    """A design as Verilog: one module for each configuration of an entity.

    Attributes
    ----------
    top : str
        The module of the whole.
    modules : mapping of str to str
        Text of each module, by name.

    Examples
    --------
    >>> text = '''module inner
    ...   (input  a,
    ...    output [1:0] b);
    ... endmodule
    ... module outer
    ...   (input  a);
    ...   inner one_i (
    ...     .a(a));
    ... endmodule'''
    >>> design = Verilog.of(text, "outer")
    >>> design.module_of("one_i")
    'inner'
    >>> design.ports("inner")
    [('a', True, 1), ('b', False, 2)]
    """

    top: str
    modules: Mapping[str, str]

    @classmethod
    def of(cls, text: str, top: str) -> "Verilog":
        """Return the modules of a text."""
        modules = {match[1]: match[0] for match in _MODULE.finditer(text)}
        name = next((name for name in modules if name.lower() == top.lower()), None)
        if name is None:
            raise SynthesisError(f"GHDL gives no module {top}; it gives {', '.join(modules) or 'none'}")
        return cls(name, modules)

    def module_of(self, instance: str) -> str | None:
        """Return the module of an instance, which is named after those around it, as in ``block_1_i.conv_1_i``."""
        module: str | None = self.top
        for label in instance.lower().split("."):
            module = self._instances.get(module or "", {}).get(label)
        return module

    @cached_property
    def _instances(self) -> dict[str, dict[str, str]]:
        """The modules of instances, by the module around them and their name in small letters."""
        return {
            name: {label.lower(): module for module, label in _INSTANCE.findall(text) if module in self.modules}
            for name, text in self.modules.items()
        }

    def closure(self, module: str) -> str:
        """Return the text of a module with all that it is made of."""
        needed, ahead = [module], [module]
        while ahead:
            inner = dict.fromkeys(name for name, _ in _INSTANCE.findall(self.modules[ahead.pop()]))
            new = [name for name in inner if name in self.modules and name not in needed]
            needed += new
            ahead += new
        return "\n\n".join(self.modules[name] for name in needed) + "\n"

    def ports(self, module: str) -> list[tuple[str, bool, int]]:
        """Return the ports of a module: name, whether it is an input, and width."""
        head = self.modules[module].partition(";")[0]
        return [
            (name, direction == "input", int(high or 0) - int(low or 0) + 1)
            for direction, high, low, name in _PORT.findall(head)
        ]


def to_verilog(sources: Sequence[Path], top: str, timeout: float | None = None) -> Verilog:
    """Return GHDL's synthesis of an entity."""
    try:
        text = ghdl.synthesise(sources, top, language="verilog", timeout=timeout)
    except SimulatorError as error:
        raise SynthesisError(str(error)) from None
    return Verilog.of(_with_numbers(text), top)


def _with_numbers(text: str) -> str:
    """Return Verilog whose constants are numbers: GHDL 2.0 assigns some as texts, which Verilog reads as characters.

    Examples
    --------
    >>> _with_numbers('assign row = "0101";')
    "assign row = 4'b0101;"
    """
    return _TEXT.sub(lambda match: f"= {len(match[1])}'b{match[1]}", text)
