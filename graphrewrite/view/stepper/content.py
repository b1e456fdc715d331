"""Content of the rewrite viewer as data: frames with boxes and arrows before and after a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from graphrewrite.view.scene import Box
from graphrewrite.view.table import Table

__all__ = ["Binding", "Card", "DiffLine", "Frame", "Link", "Numbers", "Rectangle", "Shape", "Stepper"]


class Numbers(dict[Any, int]):
    """Things by number, each once, in the order of their first use.

    Examples
    --------
    >>> numbers = Numbers()
    >>> numbers("b"), numbers("a"), numbers("b"), list(numbers)
    (0, 1, 0, ['b', 'a'])
    """

    def __call__(self, thing: Any) -> int:
        """Return the number of a thing."""
        return self.setdefault(thing, len(self))


class Rectangle(NamedTuple):
    """Centre and size of a box, in pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Shape:
    """A node in a frame.

    Attributes
    ----------
    node : int
        Its number in `Stepper.nodes`.
    before, after : Box or None
        As it is drawn on each side; None where it is not there, or tucked into its readers.
    mark_before, mark_after : str
        ``"matched"``, ``"removed"``, ``"added"`` or nothing.
    is_matched : bool
        Whether it is ringed before the step.
    hidden_before, hidden_after : tuple of two int
        Numbers of its operands and of its readers outside of the frame.
    """

    node: int
    before: Box | None
    after: Box | None
    mark_before: str = ""
    mark_after: str = ""
    is_matched: bool = False
    hidden_before: tuple[int, int] = (0, 0)
    hidden_after: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Link:
    """An operand in a frame.

    Attributes
    ----------
    source, destination : int
        Positions in `Frame.shapes`.
    result, port : int, int or None
        As of an `graphrewrite.view.scene.Arrow`.
    state : str
        ``"kept"``, ``"removed"`` or ``"added"``.
    before, after : str
        The type that it carries on each side.
    is_order : bool
        Whether it is a control edge, which carries nothing.
    """

    source: int
    destination: int
    result: int
    port: int | None
    state: str
    before: str = ""
    after: str = ""
    is_order: bool = False


@dataclass(frozen=True)
class Binding:
    """A binding of a match: a name of the rule, its value as text, and its nodes."""

    name: str
    text: str
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class DiffLine:
    """A line of the difference: ``-`` or ``+``, or a space for a remark; and the node that it is of."""

    sign: str
    text: str
    node: int | None = None


@dataclass(frozen=True)
class Frame:
    """One step.

    Attributes
    ----------
    number : int
        From 1.
    card : int
        The rule or pass, as a position in `Stepper.cards`.
    place : str
        The nodes whose values it replaces.
    seconds : float
        Time since the previous step.
    nodes_before, nodes_after : int
        The number of nodes of the whole graph.
    matched, removed, added, changed : tuple of int
        Nodes, by their number; all of them, drawn or not.
    bindings : tuple of Binding
    diff : tuple of DiffLine
    shapes : tuple of Shape
    links : tuple of Link
    left_out : tuple of two int
        Numbers of nodes of the step that are not drawn, before and after.
    places : tuple of Rectangle
        The rectangle of each shape, the same on both sides; empty where nothing could be laid out.
    curves : tuple of tuple of int
        The Bézier curve of each link: x and y in turn, three points for each bend after the first.
    """

    number: int
    card: int
    place: str
    seconds: float
    nodes_before: int
    nodes_after: int
    matched: tuple[int, ...]
    removed: tuple[int, ...]
    added: tuple[int, ...]
    changed: tuple[int, ...]
    bindings: tuple[Binding, ...]
    diff: tuple[DiffLine, ...]
    shapes: tuple[Shape, ...] = ()
    links: tuple[Link, ...] = ()
    left_out: tuple[int, int] = (0, 0)
    places: tuple[Rectangle, ...] = ()
    curves: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Card:
    """A rule or a pass.

    Attributes
    ----------
    name : str
    kind : str
        ``"rule"`` or ``"pass"``.
    place : str
        File and line; empty where unknown.
    doc : str
        Its docstring.
    source : str
        Its lines of Python; empty where unknown.
    pattern : str
        Its pattern, in one line; empty for a pass.
    fired : int
        The number of its steps.
    """

    name: str
    kind: str
    place: str
    doc: str
    source: str
    pattern: str
    fired: int


@dataclass(frozen=True)
class Stepper:
    """A trace as the viewer shows it.

    Attributes
    ----------
    title : str
        ``"31 → 18 nodes in 9 steps"``.
    graph : str
        The graph's name.
    notice : str
        A message about steps that are left out; empty where there are none.
    table : Table
        Counts and times of each rule.
    reasons : Table
        Reasons of rules that declined.
    idle : tuple of str
        Rules that were never tried: no node has the type of their root.
    cards : tuple of Card
    nodes : tuple of str
        Names of all nodes that a frame shows or names.
    frames : tuple of Frame
    hint : str
        Why no graph is drawn; empty where graphs are.
    """

    title: str
    graph: str
    notice: str
    table: Table
    reasons: Table
    idle: tuple[str, ...]
    cards: tuple[Card, ...]
    nodes: tuple[str, ...]
    frames: tuple[Frame, ...]
    hint: str = ""
