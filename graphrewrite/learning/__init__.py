"""Learning: gradients as graphs, losses, optimisers and training.

Examples
--------
>>> from graphrewrite import Graph, evaluate
>>> graph = Graph.parse('''graph g
... x = input() : f32[3]
... y = reduce_sum_square(x, keep_dims=False)
... loss = output(y)''')
>>> evaluate(differentiate(graph), {"x": [1, 2, 3]})["d_x"].tolist()
[2.0, 4.0, 6.0]
"""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import no_attribute
from graphrewrite.learning.differentiation import differentiate
from graphrewrite.learning.errors import DifferentiationError, TrainingError

__all__ = ["DifferentiationError", "TrainingError", "differentiate"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
