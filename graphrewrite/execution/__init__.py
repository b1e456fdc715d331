"""Evaluation of graphs: by the functions of ops or by implementations, compiled to programs, with statistics."""

from graphrewrite.execution.evaluator import evaluate
from graphrewrite.execution.implementation import Implementation, insert_conversions, replace_generic
from graphrewrite.execution.program import Program, compile_graph
from graphrewrite.execution.sequence import evaluate_sequence
from graphrewrite.execution.statistics import Evaluation, evaluation

__all__ = [
    "Evaluation",
    "Implementation",
    "Program",
    "compile_graph",
    "evaluate",
    "evaluate_sequence",
    "evaluation",
    "insert_conversions",
    "replace_generic",
]


def __dir__() -> list[str]:
    return sorted(__all__)
