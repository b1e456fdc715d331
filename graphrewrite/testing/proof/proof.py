"""Results of `prove`: a verdict, its assumptions, and the instances that were examined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphrewrite.graph import Graph
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.page import ProofPage
from graphrewrite.view.display import Display

__all__ = ["CONSTANTS", "Instance", "Proof"]

CONSTANTS = "constants"
"""What the entries of constants are called in verdicts."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A graph on which a rule was examined, for all values of its inputs; true if it is proved there.

    Attributes
    ----------
    graph : Graph
        The graph before the rule is applied.
    verdict : str
        ``"proved"``, ``"refuted"`` or ``"unknown"``.
    why : str
        The reason, if it is unknown.
    counterexample : Counterexample or None
        Inputs that refute it.
    symbolic : tuple of str
        Attributes for all of whose values it is proved, such as ``"requantise.shift"``, and ``"constants"``.
    sampled : mapping of str to str
        Attributes, and ``"constants"``, for some of whose values only it is proved, each with the reason.
    is_timed : bool
        Whether there are streams, before or after: the cycles of their values are not examined.
    """

    graph: Graph
    verdict: str
    why: str = ""
    counterexample: Counterexample | None = None
    symbolic: tuple[str, ...] = ()
    sampled: Mapping[str, str] = field(default_factory=dict)
    is_timed: bool = False

    def __bool__(self) -> bool:
        return self.verdict == "proved"

    def __repr__(self) -> str:
        return f"<instance of {len(self.graph)} nodes: {self.verdict}{f', {self.why}' if self.why else ''}>"


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """The result of `prove`; true if the rule is proved.

    Attributes
    ----------
    name : str
        The transformation.
    instances : tuple of Instance
        The graphs, each for all values of its inputs.
    assumed : tuple of str
        Assumptions of the verdict, in sentences.
    why : str
        The reason for the verdict "unknown".
    seconds : float
        Duration; the verdict does not depend on it.
    scope : str
        Ranks and operands of the graphs, for the verdict in one sentence.
    """

    name: str
    instances: Sequence[Instance]
    assumed: tuple[str, ...] = ()
    why: str = ""
    seconds: float = 0.0
    scope: str = ""

    def __repr__(self) -> str:
        return f"<proof of {self.name}: {self.verdict}, {len(self.instances)} graphs>"

    @property
    def counts(self) -> Counter[str]:
        """The number of instances of each verdict."""
        return Counter(instance.verdict for instance in self.instances)

    @property
    def verdict(self) -> str:
        """One of ``"proved"``, ``"refuted"`` and ``"unknown"``, or what is less than proved.

        That is ``"proved for samples"``, and with streams, whose cycles are not examined, ``"proved of values"``.
        """
        if self.counts["refuted"]:
            return "refuted"
        if self.why or self.sampled:
            return "unknown" if self.why else "proved for samples"
        return "proved of values" if self.is_timed else "proved"

    @property
    def is_timed(self) -> bool:
        """Whether there are streams, whose cycles are not examined."""
        return any(instance.is_timed for instance in self.instances)

    @property
    def sampled(self) -> dict[str, str]:
        """Attributes, and ``"constants"``, for some of whose values only it is proved, each with the reason."""
        found: dict[str, str] = {}
        for instance in self.instances:
            found = {**instance.sampled, **found}
        return dict(sorted(found.items()))

    @property
    def symbolic(self) -> tuple[str, ...]:
        """Attributes, and ``"constants"``, for all of whose values it is proved."""
        return tuple(sorted({name for i in self.instances for name in i.symbolic} - self.sampled.keys()))

    @property
    def counterexample(self) -> Counterexample | None:
        """If it is refuted, the graph and the inputs that show it, as numpy computes them."""
        return next((i.counterexample for i in self.instances if i.counterexample is not None), None)

    def __bool__(self) -> bool:
        return self.verdict == "proved"

    def _headline(self) -> str:
        """The verdict, in one sentence."""
        if self.counterexample is not None:
            return f"{self.name}: refuted: {self.counterexample.reason}"
        count = self.counts["proved"]
        graphs = f"{count} graph{'s' if count != 1 else ''}{f' ({self.scope})' if self.scope else ''}"
        if self.why:
            part = f" On {graphs} it is proved for all values of the inputs." if count else ""
            return f"{self.name}: unknown: {self.why}.{part}"
        time = " Time is not examined." if self.is_timed else ""
        covered = f"{self.name}: proved{' of values' if time else ''} for"
        if not self.sampled:
            return f"{covered} all values of {self._covered()} of {graphs}.{time}"
        names = "; ".join(f"{name} ({why})" for name, why in self.sampled.items())
        return f"{covered} samples of {names}. Of the rest, for all values of {self._covered()} of {graphs}.{time}"

    def _covered(self) -> str:
        """The numbers for all of whose values it is proved."""
        attributes = [name for name in self.symbolic if name != CONSTANTS]
        listed = ["the inputs", *(["the constants"] if CONSTANTS in self.symbolic else [])]
        if attributes:
            listed.append(f"the attribute{'s' if len(attributes) > 1 else ''} {', '.join(attributes)}")
        return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"{self.name}: refuted: {self.counterexample}"
        rows = [f"- {sentence}" for sentence in self.assumed]
        return "\n".join([self._headline(), *(["Assumed:", *rows] if rows else [])])

    @property
    def page(self) -> ProofPage:
        """The content of the display, as data."""
        page = None if self.counterexample is None else self.counterexample.page
        return ProofPage(self._headline(), self.assumed, page)

    def show(self) -> Display:
        """Return the display of it: the verdict with its assumptions, or with the two graphs that refute it."""
        return Display(self.page, str(self), template="proof.html", title=self._headline())

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        return self.show()._repr_html_()
