"""Content of the displays of counterexamples, reports and proofs."""

from __future__ import annotations

from dataclasses import dataclass

from graphrewrite.testing.failure.columns import ListingLine
from graphrewrite.view.layout.drawing import Drawing

__all__ = ["Bar", "CounterexamplePage", "ProofPage", "ReportPage", "ReportsPage"]


@dataclass(frozen=True)
class CounterexamplePage:
    """A counterexample, for the template ``counterexample.html``.

    Attributes
    ----------
    reason : str
        What does not hold.
    notes : tuple of str
        Lines below it.
    given : str
        The original graph in the text form, if it is neither of the two that are compared.
    titles : tuple of str
        What stands above each graph.
    pairs : tuple of tuple of ListingLine or None
        Their lines beside one another.
    drawing : Drawing
        Both graphs.
    code : str
        A test that fails.
    """

    reason: str
    notes: tuple[str, ...]
    given: str
    titles: tuple[str, str]
    pairs: tuple[tuple[ListingLine | None, ListingLine | None], ...]
    drawing: Drawing
    code: str


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: its label, its count, and its height in percent of the highest."""

    name: str
    count: int
    height: int


@dataclass(frozen=True)
class ReportPage:
    """A report, for the template ``report.html``.

    Attributes
    ----------
    headline : str
        The verdict in a line.
    advice : tuple of str
        What to do.
    statistics : tuple of tuple of str
        What was tried: titles, and what belongs to them.
    sizes : tuple of Bar
        The sizes of the graphs.
    ends : tuple of str
        The smallest and the largest of them.
    counterexample : CounterexamplePage or None
        The smallest that was found.
    """

    headline: str
    advice: tuple[str, ...] = ()
    statistics: tuple[tuple[str, str], ...] = ()
    sizes: tuple[Bar, ...] = ()
    ends: tuple[str, str] = ("", "")
    counterexample: CounterexamplePage | None = None


@dataclass(frozen=True)
class ReportsPage:
    """Reports of several rules, for the template ``reports.html``.

    Attributes
    ----------
    headline : str
        How many hold.
    reports : tuple of tuple of str and ReportPage
        Each with its name.
    """

    headline: str
    reports: tuple[tuple[str, ReportPage], ...]


@dataclass(frozen=True)
class ProofPage:
    """A proof, for the template ``proof.html``.

    Attributes
    ----------
    headline : str
        The verdict in a sentence.
    assumed : tuple of str
        What it rests on.
    counterexample : CounterexamplePage or None
        What refutes it.
    """

    headline: str
    assumed: tuple[str, ...] = ()
    counterexample: CounterexamplePage | None = None
