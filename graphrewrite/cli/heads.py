"""What the hardware of a classifier gives: as the option `--head` says, or as an error why not."""

from __future__ import annotations

from collections.abc import Iterator

from graphrewrite import Graph
from graphrewrite.lowering import LoweringError, decisions_in_hardware, softmax_as_arg_max, softmax_in_hardware
from graphrewrite.lowering.host_cut import HostCut
from graphrewrite.lowering.integer.classifier_heads import SOFT, classify, end_of, probabilities
from graphrewrite.lowering.integer.hardware_heads import heads_of_host, scores_in_hardware, softmax_bounds

__all__ = ["head_behind", "head_notes", "headed", "with_hardware_head"]

_HEADS = {"auto": softmax_as_arg_max, "class": classify, "softmax": probabilities}
_ENDS = {"class": ("arg_max", "greater"), "softmax": ("softmax",)}
_MOVING = frozenset({"reshape", "transpose"})
_GIVEN = {
    "arg_max": "the hardware gives the class: the place of the greatest score",
    "integer_threshold": "the hardware gives the decision",
    "integer_softmax": "the hardware gives probabilities: the softmax of the scores",
}


def head_behind(cut: HostCut, head: str) -> str:
    """Return the head of a network whose last ops may be the host's, or raise `LoweringError` if it has none then."""
    if cut.after and head in _ENDS:
        raise LoweringError(f"--head {head} is for the end of a network, which --host leaves to the host; drop either")
    return "scores" if cut.after else head


def headed(graph: Graph, head: str) -> Graph:
    """Return a network with another head, or raise `LoweringError` if no output can have it."""
    new = _HEADS.get(head, Graph.copy)(graph)
    if head in _ENDS and not any(new.nodes[end_of(new, name)]["type"] in _ENDS[head] for name in new.outputs):
        kinds = ", ".join(f"{name}: {graph.result_type(*graph.operands(name)[0])}" for name in graph.outputs)
        raise LoweringError(
            f"--head {head} needs an output that is a vector of scores, and there is {kinds}; choose --head scores"
        )
    return new


def with_hardware_head(integer: Graph, head: str) -> Graph:
    """Return an integer network whose hardware computes the head, or raise `LoweringError` if that is asked for."""
    if head == "scores":
        return scores_in_hardware(integer)
    new = decisions_in_hardware(integer)
    new = softmax_in_hardware(new) if head == "softmax" else new
    for node, why in heads_of_host(new).items() if head in _ENDS else ():
        if new.nodes[node]["type"] in _ENDS[head]:
            raise LoweringError(f"--head {head} has no hardware for {why}; --head scores leaves it to the host")
    return new


def head_notes(imported: Graph, integer: Graph) -> list[str]:
    """Return what the hardware gives and what is left to the host, as the integer network has it."""
    notes: dict[str, list[str]] = {}
    for name in imported.outputs:
        for note in _notes_of(imported, integer, name):
            notes.setdefault(note, []).append(name)
    several = len(imported.outputs) > 1
    bounds = [
        f"{node}: probabilities are within {bound:.2g} of the softmax of its operand"
        for node, bound in softmax_bounds(integer).items()
    ]
    return [f"{', '.join(names)}: {note}" if several else note for note, names in notes.items()] + bounds


def _notes_of(imported: Graph, integer: Graph, name: str) -> Iterator[str]:
    given, host = _given(integer, name)
    was = imported.nodes[end_of(imported, name)]["type"]
    is_truth = integer.result_type(*integer.operands(name)[0]).element == "bool"
    for kind in given:
        if kind == "arg_max" and was in SOFT:
            yield f"the softmax before {name} is replaced by argmax: the hardware gives the class"
        elif kind in _GIVEN and (kind != "integer_threshold" or is_truth):
            yield _GIVEN[kind]
    for node, why in heads_of_host(integer).items():
        if node in host and integer.nodes[node]["type"] in SOFT:
            yield f"the softmax before {name} is left to the host; the hardware gives its operand"
        elif node in host:
            yield f"the class is left to the host, {why}"


def _given(integer: Graph, name: str) -> tuple[list[str], set[str]]:
    """The ops that give the mantissas of an output, and the host's nodes behind them."""
    host, kinds, pending = set[str](), [], [integer.operands(name)[0].node]
    while pending:
        node = pending.pop()
        if node in host:
            continue
        host.add(node)
        if integer.nodes[node]["type"] == "from_fixed":
            giving = integer.operands(node)[0].node
            while integer.nodes[giving]["type"] in _MOVING:
                giving = integer.operands(giving)[0].node
            kinds.append(integer.nodes[giving]["type"])
        else:
            pending.extend(o.node for o in integer.operands(node))
    return kinds, host
