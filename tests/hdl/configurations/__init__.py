"""Configurations of every component: corner cases first, then random ones.

The module that is named like the component's own in ``hdl/components`` has ``draw(rng) -> Site``, a random one from
its parameter space, and ``corners() -> Iterator[Site]``, those that must not be missed; it is found by its name.
"""

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.checking.check import draw_cases
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components import COMPONENTS
from tests.hdl.configurations.drawing import Rng

RANDOM = 50
BY_NAME = {component.op.function.__module__.rpartition(".")[2]: component for component in COMPONENTS}
"""Every component by the name of its module; several may share an entity."""


@dataclass(frozen=True)
class Configurations:
    """What one module holds."""

    draw: Callable[[Rng], Site]
    corners: Callable[[], Iterator[Site]]


def configurations_of(name: str) -> Configurations:
    """The configurations of a component; fails with what to write where there are none."""
    present = {module.name for module in pkgutil.iter_modules(__path__)} - {"drawing"}
    assert name in present, (
        f"the component {name} has no configurations; write tests/hdl/configurations/{name}.py with"
        " draw(rng) -> Site and corners() -> Iterator[Site]"
    )
    module = import_module(f"{__name__}.{name}")
    return Configurations(module.draw, module.corners)


def cases(name: str, count: int = RANDOM, seed: int = 0) -> list[Case]:
    """All corner cases of a component and ``count`` random ones."""
    found = configurations_of(name)
    return list(draw_cases(BY_NAME[name], found.draw, corners=found.corners(), count=count, seed=seed))
