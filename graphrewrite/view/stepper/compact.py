"""Content of the viewer as compact JSON: texts and boxes stored once, geometry as rows of numbers."""

from __future__ import annotations

import json
from typing import Any

from graphrewrite.view.plain import plain
from graphrewrite.view.scene import Box
from graphrewrite.view.stepper.content import Frame, Link, Numbers, Rectangle, Shape, Stepper
from graphrewrite.view.stepper.measure import lines_of

__all__ = ["compact", "script_data"]

STATES = ("kept", "removed", "added")
"""Of links, by number; of shapes, ``matched`` comes after them."""
_MARKS = ("", "removed", "added", "matched")


class _Boxes(Numbers):
    """Boxes by number: equal ones are one; hashing one takes long, so that it is done once for each object."""

    def __init__(self) -> None:
        super().__init__()
        self.by_identity: dict[int, tuple[Box, int]] = {}

    def __call__(self, thing: Any) -> int:
        if id(thing) not in self.by_identity:
            self.by_identity[id(thing)] = (thing, super().__call__(thing))
        return self.by_identity[id(thing)][1]


def compact(stepper: Stepper) -> dict[str, Any]:
    """Return all that the page's script needs, as primitive data."""
    texts, boxes = Numbers(), _Boxes()
    frames = [_frame(frame, texts, boxes) for frame in stepper.frames]
    described = [_box(box, texts) for box in boxes]
    return {
        "cards": [[card.name, card.kind, card.place, card.doc, card.pattern, card.fired] for card in stepper.cards],
        "nodes": list(stepper.nodes),
        "frames": frames,
        "boxes": described,
        "texts": list(texts),
    }


def _box(box: Box, texts: Numbers) -> list[Any]:
    head, below, notes = lines_of(box)
    rows = [
        texts(head),
        texts(below),
        [texts(note) for note in notes],
        texts("\n".join(map(plain, box.tooltip.split("\n")))),
    ]
    return [*rows, box.look.family, box.look.level, [texts(port) for port in box.ports], box.results, int(box.round)]


def _frame(frame: Frame, texts: Numbers, boxes: Numbers) -> list[Any]:
    return [
        frame.number,
        frame.card,
        frame.place,
        round(frame.seconds * 1e6),
        [frame.nodes_before, frame.nodes_after],
        [list(frame.matched), list(frame.removed), list(frame.added), list(frame.changed)],
        [[texts(b.name), texts(b.text), list(b.nodes)] for b in frame.bindings],
        [[line.sign, texts(line.text), -1 if line.node is None else line.node] for line in frame.diff],
        [number for i, shape in enumerate(frame.shapes) for number in _shape(shape, boxes, frame.places[i])],
        [_link(link, texts, frame.curves[i]) for i, link in enumerate(frame.links)],
        list(frame.left_out),
    ]


def _shape(shape: Shape, boxes: Numbers, place: Rectangle) -> list[int]:
    sides = [-1 if box is None else boxes(box) for box in (shape.before, shape.after)]
    marks = [_MARKS.index(shape.mark_before), _MARKS.index(shape.mark_after), int(shape.is_matched)]
    return [shape.node, *sides, *marks, *shape.hidden_before, *shape.hidden_after, *place]


def _link(link: Link, texts: Numbers, curve: tuple[int, ...]) -> list[int]:
    """Return source, destination, state, result, texts before and after, whether it is an order, and the curve."""
    labels = [texts(label) for label in (link.before, link.after)]
    ends = [link.source, link.destination, STATES.index(link.state), link.result, *labels, int(link.is_order)]
    # Each point is relative to the previous one, which takes fewer digits.
    steps = [p - (curve[i - 2] if i > 1 else 0) for i, p in enumerate(curve)]
    return [*ends, *steps]


def script_data(data: Any) -> str:
    r"""Return JSON that may stand in a script element or in an attribute, whatever is in it.

    Examples
    --------
    >>> script_data(["</script>", "it's"])
    '["\\u003c/script\\u003e","it\\u0027s"]'
    """
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for letter in "<>&'":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
