"""Comparing a model with what it was rewritten to, on generated inputs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from graphrewrite.errors import UnknownOpError

if TYPE_CHECKING:
    from graphrewrite.rewriting.traces import Trace
    from graphrewrite.testing.subject import Transformation

__all__ = ["Compared", "compared"]


class Compared(NamedTuple):
    """What a comparison of outputs found.

    Attributes
    ----------
    difference : str, optional
        What differs.
    verdict : str
        What to say.
    is_equal : bool, optional
        None where nothing was compared.
    """

    difference: str | None
    verdict: str
    is_equal: bool | None = None

    def __bool__(self) -> bool:
        return self.is_equal is True


def compared(found: Trace, rules: Transformation, seeds: Iterable[int]) -> Compared:
    """Compare the outputs before and after a rewrite, bit for bit if all rules that fired are exact.

    Evaluation adds up floats in an order that follows from how they lie in memory and from the size of the batch: what
    differs by this alone is equal within rounding, and the verdict says so.
    """
    from graphrewrite.testing.comparison import NoVerdictError, difference
    from graphrewrite.testing.engines import ENGINES
    from graphrewrite.testing.strategies.inputs import batch_for
    from graphrewrite.testing.subject import Subject

    before, after = found.before, found.graph
    subject = Subject(rules)
    fired = {getattr(member, "keeps", "exact") for member in subject.members if member.name in found.counts}
    is_exact = fired <= {"exact"} and len(subject.members) == len(subject.names)
    by_engine, why_not, other_order = False, "", None
    for seed in seeds:
        inputs = batch_for(before, seed, moderate=not is_exact)
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items())
        try:
            unlike = difference(before, after, inputs, keeps="exact" if is_exact else "rounding", tolerance=None)
            if unlike is not None and is_exact and unlike.bound is None:
                bits, unlike = unlike, difference(before, after, inputs, keeps="rounding", tolerance=None)
                other_order = other_order or (bits if unlike is None else None)
        except (NoVerdictError, UnknownOpError) as error:
            return Compared(None, f"outputs were not compared: the model cannot be evaluated ({error})")
        if unlike is None and find_spec("onnxruntime") is not None and not why_not:
            try:
                unlike = ENGINES["onnxruntime"](before, after, batch_for(before, seed, moderate=True), None)
                by_engine = True
            except NoVerdictError as error:
                why_not = f"; not by onnxruntime: {error}"
        if unlike is not None and "assumes" in fired:
            return Compared(None, f"outputs differ, as rules that assume something may: {unlike.reason}", False)
        if unlike is not None:
            verdict = f"the outputs differ, and nothing is written: {unlike.reason}; inputs {shapes}, seed {seed}"
            return Compared(unlike.reason, verdict, False)
    how = "equal bit for bit" if is_exact and other_order is None else "equal within rounding"
    where = f"on generated {shapes or 'nothing, for there is no input'}"
    if other_order is not None:
        where += f" (not bit for bit, as where floats are added up in another order: {other_order.reason})"
    engines = ", and within rounding as onnxruntime computes them" if by_engine else why_not
    return Compared(None, f"{how}: {', '.join(before.outputs)}, {where}{engines}", True)
