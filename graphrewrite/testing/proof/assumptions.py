"""Assumptions of a proof, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphrewrite.formats.text import format_exactly
from graphrewrite.graph import Graph
from graphrewrite.testing.proof.proof import CONSTANTS, Instance
from graphrewrite.types import Stream

__all__ = ["assumptions", "scope"]

_MOST = 12
"""Maximum number of values of an attribute that are listed."""


def assumptions(
    instances: Sequence[Instance],
    left_out: Mapping[str, int],
    elements: Iterable[str] | None,
    ranges: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[str, ...]:
    r"""Return what is assumed where a rule is proved on some graphs, each for all values of its symbols.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : s8f4[N,2]\nr = requantise(x, shift=2, element=u4f2)\ny = output(r)")
    >>> for sentence in assumptions([Instance(g, "proved")], {}, None):
    ...     print(sentence)
    these graphs stand for all in which the rule applies: inputs of s8f4, ranks 2, sizes of at most 2, a batch of 2
    the rule is applied once at each match; whether it terminates is not examined
    attributes are enumerated, not symbolic: requantise element u4f2, high None, low None, shift 2
    """
    if not instances:
        return ()
    graphs = [instance.graph for instance in instances]
    kinds = [graph.result_type(name) for graph in graphs for name in graph.inputs]
    formats = _listed(dict.fromkeys(str(kind.element) for kind in kinds))
    largest = max((d for kind in kinds for d in kind.shape if isinstance(d, int)), default=1)
    sentences = [
        f"these graphs stand for all in which the rule applies: inputs of {formats or 'no type'}, "
        f"ranks {_listed(_in_order(_ranks(graphs))) or 'of none'}, sizes of at most {largest}, a batch of 2",
        "the rule is applied once at each match; whether it terminates is not examined",
    ]
    if operands := _operands(graphs):
        sentences.append(f"operands that an op may lack or have more of: {'; '.join(operands)}")
    if any(instance.is_timed for instance in instances):
        sentences.append("streams give the same values; in which cycles is not examined, `check` compares that")
    if elements is not None:
        sentences.append(f"inputs are of these kinds only: {', '.join(sorted(elements))}")
    if attributes := _attributes(instances):
        sentences.append(f"attributes are enumerated, not symbolic: {attributes}")
    for name, values in (ranges or {}).items():
        listed = _listed(_in_order({_shown(value): value for value in values}))
        sentences.append(f"where it is looked at, {name} takes every one of these values: {listed}")
    known = [instance.graph for instance in instances if CONSTANTS not in instance.symbolic]
    constants = {format_exactly(d["value"]) for g in known for _, d in g.nodes(data=True) if d["type"] == "constant"}
    if constants:
        sentences.append(f"constants: {len(constants)} different arrays")
    return (*sentences, *_omissions(left_out))


def scope(instances: Sequence[Instance]) -> str:
    """Return the ranks and operands of the graphs of some instances, for the verdict itself."""
    graphs = [instance.graph for instance in instances]
    ranks = _in_order(_ranks(graphs))
    named = [f"rank{'s' if len(ranks) > 1 else ''} {_listed(ranks)}"] if ranks else []
    return "; ".join([*named, *_operands(graphs)])


def _ranks(graphs: Iterable[Graph]) -> dict[str, int]:
    """Return the ranks of all inputs, by their names."""
    kinds = [graph.result_type(name) for graph in graphs for name in graph.inputs]
    # Streams have the axes of one frame.
    ranks = [len(kind.shape) + isinstance(kind, Stream) for kind in kinds]
    return {str(rank): rank for rank in ranks}


def _operands(graphs: Iterable[Graph]) -> list[str]:
    """Return which operands there are of ops that may lack some, or have any number of them."""
    seen: dict[str, dict[str, None]] = {}
    for graph in graphs:
        for node in graph.in_order():
            op, operands = graph.op(node), graph.operands(node)
            if op.name not in ("input", "output", "constant") and (op.variadic or op.required < len(op.operands)):
                words = f"{len(operands)} operands" if op.variadic else ", ".join(op.operands[: len(operands)])
                seen.setdefault(op.name, {}).setdefault(words)
    return [f"{name} of {_listed(words)}" for name, words in seen.items()]


def _omissions(left_out: Mapping[str, int]) -> Iterator[str]:
    """Yield reasons grouped by kind, with the first as an example."""
    kinds: dict[str, list[str]] = {}
    for reason in left_out:
        kinds.setdefault(re.sub(r"\(.*?\)|'.*?'|.*raises.*|-?\d+", _kind_only, reason), []).append(reason)
    for reasons in kinds.values():
        count = sum(left_out[reason] for reason in reasons)
        example = f", as in: {reasons[0]}" if len(reasons) > 1 else f": {reasons[0]}"
        yield f"left out {count} graph{'s' if count > 1 else ''}{example}"


def _kind_only(match: re.Match[str]) -> str:
    return "raises" if "raises" in match[0] else ""


def _attributes(instances: Sequence[Instance]) -> str:
    seen: dict[str, dict[str, dict[str, Any]]] = {}
    for instance in instances:
        graph = instance.graph
        for node in graph.in_order():
            kind = graph.nodes[node]["type"]
            if kind not in ("input", "output", "constant"):
                for name, value in sorted(graph.attributes(node).items()):
                    if f"{kind}.{name}" in instance.symbolic and value is not None:
                        continue
                    seen.setdefault(kind, {}).setdefault(name, {}).setdefault(_shown(value), value)
    return "; ".join(
        f"{kind} {', '.join(f'{name} {_listed(_in_order(values))}' for name, values in names.items())}"
        for kind, names in seen.items()
        if names
    )


def _shown(value: Any) -> str:
    return str(value) if not isinstance(value, tuple) else f"[{','.join(map(str, value))}]"


def _in_order(values: Mapping[str, Any]) -> list[str]:
    """Return numbers by size, consecutive ones as a range."""
    numbers = sorted(v for v in values.values() if type(v) is int)
    others = [name for name, v in values.items() if type(v) is not int]
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return [*others, f"{numbers[0]} to {numbers[-1]}"]
    return [*others, *map(str, numbers)]


def _listed(words: Iterable[str]) -> str:
    listed = list(words)
    return " | ".join(listed[:_MOST]) + (f" | … ({len(listed)})" if len(listed) > _MOST else "")
