"""Step functions of integers of many kinds, their lines and the ops that compute them: values, and recorded texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from graphrewrite import FixedPoint, Graph, Tensor, decline, evaluate, op, rewrite, rule
from graphrewrite.formats import to_text
from graphrewrite.lowering.prequantised.affine_functions import Corners, line_near, line_through, slope_through
from graphrewrite.lowering.prequantised.rescaling import rescaled
from graphrewrite.lowering.prequantised.step_functions import Steps, part_of, steps_of, within

Function = Callable[[np.ndarray], np.ndarray]


class Case(NamedTuple):
    """A function of numbers of shape ``[numbers, channels]``, and the format of these numbers."""

    function: Function
    element: FixedPoint
    channels: int
    is_monotone: bool = False

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest number."""
        return int(self.element.minimum), int(self.element.maximum)


def drawn(random: np.random.Generator) -> Iterator[tuple[Function, bool]]:
    """Functions of one to three channels, each with what it is drawn from; and whether it is monotone."""
    channels = int(random.integers(1, 4))
    factors, addends = random.integers(-40, 40, channels), random.integers(-300, 300, channels)
    shift, low, high = int(random.integers(0, 8)), int(random.integers(-90, 1)), int(random.integers(1, 90))
    slopes, offsets = random.normal(0, 0.3, channels), random.normal(0, 5, channels)
    places = np.sort(random.integers(-60, 60, (channels, int(random.integers(1, 9)))), axis=1)
    values = random.integers(-50, 50, 1 << 9)
    yield lambda x: (x * factors + addends) >> shift, True
    yield lambda x: np.clip((x * factors + addends) >> shift, low, high), True
    yield lambda x: np.rint(x * factors / (1 << shift)), True
    yield lambda x: np.clip(np.rint((x * factors + 2 * addends) / (2 << shift)), low, high), True
    yield lambda x: np.floor(x * slopes + offsets), True
    yield lambda x: np.clip(np.rint(x * abs(slopes) + offsets), 0, high), True
    yield lambda x: (x[..., None] >= places).sum(axis=-1) - 2, True
    yield lambda x: ((x[..., None] >= places) * np.arange(1, places.shape[1] + 1)).sum(axis=-1), True
    yield lambda x: (x >= places[:, 0]) * factors[0], True
    yield lambda x: 0 * x + factors, True
    yield lambda x: (x >= 0) * 1, True
    yield lambda x: np.where(x < 0, x >> 2, x), True
    yield lambda x: np.where(x < 0, (x * factors) >> shift, (x * 3 + addends) >> 1), False
    yield lambda x: np.where(abs(x - low) < high, values[x & 511], factors[0]), False
    yield abs, False
    yield lambda x: np.sign(x) * np.floor(np.sqrt(abs(x) * (1.0 + shift))), True
    yield lambda x: (x * 37) & 63, False
    yield lambda x: np.rint(x / 2), True
    yield lambda x: np.rint((x + high) * factors / 16), True
    yield lambda x: np.floor(np.sqrt(abs(x))), False
    yield lambda x: (x * 37 & 63 > 40) * 1, False
    yield lambda x: np.clip(x, -1, 1), True
    yield lambda x: np.clip(x >> shift, 0, 2), True
    yield lambda x: np.clip((x + low) >> shift, 0, 2), True
    yield lambda x: np.rint((x + 4) / 16), True
    yield lambda x: np.clip(np.rint((x + low) / 8), -30, 30), True
    yield lambda x: x, True
    yield lambda x: np.clip(x, low, high), True


def cases() -> Iterator[Case]:
    """Each function in a format that is narrow, wide, or so wide that its steps are searched for."""
    random = np.random.default_rng(0)
    for number in range(2):
        for at, (function, is_monotone) in enumerate(drawn(random)):
            bits = (5, 8, 11, 13, 22, 22)[(number + at) % 6]
            channels = function(np.zeros((1, 1), np.int64)).shape[-1]
            if bits > 20 and (number + at) % 2:
                function = limited(function, 30)
            yield Case(function, FixedPoint(bool((number + at) % 4), bits), channels, is_monotone)
    # So wide that products by some multipliers would be too wide, if ever there were such numbers.
    for width in (44, 48, 52):
        yield Case(lambda x: np.clip(np.rint(x * 0.29387), -25, 25), FixedPoint(True, width), 1, True)
    yield Case(lambda x: np.clip(x >> 3, -7, 7), FixedPoint(True, 20), 1, True)
    yield Case(lambda x: np.clip(np.floor(x * 0.29387), -9, 150), FixedPoint(True, 52), 1, True)


def limited(function: Function, most: int) -> Function:
    """A function with few levels."""
    return lambda x: np.clip(function(x), -most, most)


JOB: dict[str, Any] = {}
"""What the rule below computes."""


@rule(kind="lowering")
def compute(x):
    """A place in a rule, where ops are made."""
    yield op.identity(op.from_fixed(x))
    made = rescaled(x, JOB["steps"], JOB["element"], levels=60)
    if isinstance(made, str):
        JOB["reason"] = made
        return decline(made)
    return op.from_fixed(made, fraction=0, element="f64")


def tried(case: Case, steps: Steps, element: FixedPoint, low: int, high: int) -> str:
    """The ops that compute a function of some numbers; of these the values are compared."""
    whole = Graph("g")
    x = whole.input("x", Tensor(case.element, ("N", case.channels)))
    whole.output("y", op.identity(op.from_fixed(x, fraction=0, element="f64")))
    JOB.update(steps=steps, element=element)
    graph = rewrite(whole, [compute])
    if graph == whole:
        return str(JOB["reason"])
    numbers = np.arange(low, high + 1, max(1, (high - low) // 500))[:, None]
    numbers = np.broadcast_to(np.append(numbers, [[high]], axis=0), (len(numbers) + 1, case.channels))
    found = evaluate(graph, {"x": numbers.astype(case.element.dtype)})["y"]
    np.testing.assert_array_equal(found, case.function(numbers), err_msg=str(graph))
    return to_text(graph, whole=True)


def said(steps: Steps) -> str:
    """The steps as a text."""
    table = None if steps.table is None else crc32(steps.table.tobytes())
    corners = [[part.tolist() for part in each] for each in steps.corners]
    return repr([*steps._replace(table=table, corners=corners)])


def made_of(case: Case) -> Iterator[str]:
    """What a function becomes, and parts of it."""
    low, high = case.ends
    steps = steps_of(case.function, low, high, case.channels, is_monotone=case.is_monotone, most=400)
    if isinstance(steps, str):
        yield steps
        return
    yield said(steps)
    result = FixedPoint.holding(min(0, steps.least), max(1, steps.most))
    yield tried(case, steps, result, low, high)
    if low <= steps.least <= steps.most <= high:
        yield tried(case, steps, case.element, low, high)
    if not steps.corners:
        if (part := part_of(steps, max(low, -20), 20)) is not None:
            yield said(part)
        return
    yield f"{line_through(steps.corners)} {line_near(steps.corners, max(high, -low))}"
    yield repr([slope is not None and round(slope * 1e6) for slope in map(slope_through, steps.corners)])
    first, last = low + (high - low) // 3, high - (high - low) // 5
    ends: Any = np.array([first] * case.channels), np.array([last] * case.channels)
    narrow = within(steps, *ends)
    yield said(narrow)
    yield tried(case, narrow, result, first, last)


def texts() -> Iterator[str]:
    """Those of all functions."""
    for case in cases():
        yield from made_of(case)


def direct() -> Iterator[str]:
    """Lines through corners that are far away, and near those that no line satisfies."""
    places, levels = np.array([2, 5, 9, 11, 20]), np.array([1, 2, 3, 4, 7])
    still = np.array([], np.int64)
    for far in (0, 10, 18, 21, 24, 27, 30):
        for high in (0, 4, 16, 22, 30):
            reached, level = places << far, levels << high
            steep = Corners(reached, level, reached - 1, level)
            flat = Corners(still, still, reached, level + 9)
            channels = [steep, Corners(-reached[::-1], -level[::-1], still, still), flat]
            for some in ([steep], channels[1:], channels):
                yield f"{line_through(some)} {line_near(some, 40 << far)}"


def test_steps_lines_and_ops(same_text: Any) -> None:
    """All of them have the function's values; which ones they are was recorded then."""
    made = [*texts(), *direct()]
    for kind in (
        "integer_threshold(",
        "lookup(",
        "integer_add(",
        "requantise(",
        "half_even",
        "no multiplier",
        "too many",
    ):
        assert any(kind in text for text in made), kind
    same_text("\n".join(made))
