"""GHDL's beats against the expected ones: the first difference, and the fault that it looks like."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphrewrite.hdl.checking.case import Beat, Case
from graphrewrite.hdl.emission.entity import ports
from graphrewrite.types import Stream

__all__ = ["WrongBeat", "compare"]

_RUNS = ("", ", in the run that a reset cuts off", ", after a reset in mid-frame")


@dataclass(frozen=True)
class WrongBeat:
    """The first beat of a port that is not as it should be.

    Attributes
    ----------
    port : str
        The stream, by its name at the entity.
    run : int
        From 0; before each is a reset.
    frame, beat : int
        Where in the run, from 0.
    expected, actual : str
        Lanes and cycle; "nothing" where no beat is.
    kind : str
        What it looks like: a lost beat, a doubled one, all beats late …; empty for another.
    """

    port: str
    run: int
    frame: int
    beat: int
    expected: str
    actual: str
    kind: str = ""

    def __str__(self) -> str:
        what = f"{self.port}, frame {self.frame}, beat {self.beat}{_RUNS[min(self.run, 2)]}"
        return f"{what}: expected {self.expected}, got {self.actual}" + (f" ({self.kind})" if self.kind else "")


def compare(case: Case, simulated: dict[str, list[list[Beat]]]) -> WrongBeat | None:
    """Return the first difference between what a configuration did and what it should have done."""
    for name, stream, takes in sorted(ports(case.site), key=lambda port: port[2]):
        for run, expected in enumerate(case.expected[name]):
            actual = simulated[name][run] if run < len(simulated[name]) else []
            if not case.site.operands:
                actual = actual[: len(expected)]  # nothing ends what reads nothing
            length = max(len(actual), len(expected))
            at = next((i for i in range(length) if actual[i : i + 1] != expected[i : i + 1]), None)
            if at is not None:
                kind = "" if takes else _kind(expected, actual, at)
                frame, beat = divmod(at, stream.beats)
                return WrongBeat(name, run, frame, beat, _shown(stream, expected, at), _shown(stream, actual, at), kind)
    return None


def _shown(stream: Stream, beats: Sequence[Beat], at: int) -> str:
    if at >= len(beats):
        return "nothing"
    cycle, payload = beats[at]
    element = stream.element
    mask = (1 << element.width) - 1
    lanes = [payload >> (lane * element.width) & mask for lane in range(stream.lanes)]
    if element.signed:
        lanes = [number - (mask + 1) * (number > element.maximum) for number in lanes]
    return f"{lanes[0] if len(lanes) == 1 else lanes} in cycle {cycle}"


def _kind(expected: Sequence[Beat], actual: Sequence[Beat], at: int) -> str:
    """Name the single fault that explains all differences from a beat on."""
    due, words = [word for _, word in expected], [word for _, word in actual]
    if due == words:
        late = {b - a for (a, _), (b, _) in zip(expected, actual, strict=True)} - {0}
        if len(late) == 1:
            (by,) = late
            return f"all values are right, {abs(by)} cycle{'s' * (abs(by) > 1)} {'late' if by > 0 else 'early'}"
        return "all values are right, in other cycles"
    if not actual:
        return "no beat came at all"
    # Of a value that repeats, any of the beats may be the one that is lost: the first difference is after it.
    if len(words) < len(due) and words == due[: len(words)]:
        missing = len(due) - len(words)
        return f"the last {missing} beats are missing" if missing > 1 else "the last beat is missing"
    if words == [*due[:at], *due[at + 1 :]] or (words[at:] and words[at:] == due[at + 1 :][: len(words) - at]):
        return "this beat is lost, the others follow"
    if len(words) > len(due) and words[: len(due)] == due:
        more = len(words) - len(due)
        return f"{more} beats too many" if more > 1 else "a beat too many"
    if at and words[at : at + 1] == due[at - 1 : at] and words[at + 1 :] == due[at:][: len(words) - at - 1]:
        return "the beat before came twice"
    if sorted(words) == sorted(due) and [c for c, _ in expected] == [c for c, _ in actual]:
        return "the same beats in another order"
    return ""
