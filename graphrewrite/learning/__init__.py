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
from graphrewrite.learning.finetuning import FineTuned, finetune
from graphrewrite.learning.losses import INFERENCE_FORMS, TRAINING_FORMS, loss
from graphrewrite.learning.optimisers import SGD, Adam, Optimiser
from graphrewrite.learning.pruning import Pruning
from graphrewrite.learning.schedules import cosine, exponential, stepwise
from graphrewrite.learning.training import Fit, Interrupted, fit
from graphrewrite.learning.training_forms import parameters

__all__ = [
    "INFERENCE_FORMS",
    "SGD",
    "TRAINING_FORMS",
    "Adam",
    "DifferentiationError",
    "FineTuned",
    "Fit",
    "Interrupted",
    "Optimiser",
    "Pruning",
    "TrainingError",
    "cosine",
    "differentiate",
    "exponential",
    "finetune",
    "fit",
    "loss",
    "parameters",
    "stepwise",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
