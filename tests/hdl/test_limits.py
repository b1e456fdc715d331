"""What a component computes at the limit of what it takes, and refuses a step beyond, with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.accumulate import accumulate
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.adder_graph import adder_graph
from graphrewrite.hdl.components.affine import affine
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.concat import concat
from graphrewrite.hdl.components.constant import constant
from graphrewrite.hdl.components.delay import delay
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.components.interpolate import interpolate
from graphrewrite.hdl.components.lookup import lookup
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.multiply import multiply
from graphrewrite.hdl.components.pad import pad
from graphrewrite.hdl.components.popcount import popcount
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.hdl.components.softmax import exponentials, softmax
from graphrewrite.hdl.components.split import split
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.hdl.components.total import total
from graphrewrite.hdl.components.window import window
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Stream

Attributes = dict[str, Any]


def signed(width: int) -> FixedPoint:
    return FixedPoint(True, width)


def unsigned(width: int) -> FixedPoint:
    return FixedPoint(False, width)


S8, U8 = signed(8), unsigned(8)
LINE = Stream(S8, (6, 4))
FOLDED = Stream(S8, (6, 4), 3)
IMAGE = Stream(S8, (2, 5, 6))
BITS = Stream(unsigned(1), (2,))
CUBE = Stream(S8, (2, 3, 3, 3))
SINGLE = Stream(S8, (1, 4))
SUMS = {"adders": [[0, 1, 0, 0, 0]], "outputs": [[2, 0, 1]], "bias": [0], "element": signed(9)}
UNREAD = {**SUMS, "outputs": [[0, 0, 1]]}
WIDE = [0, 1, 48, 0, 0]
SHIFTED = {**SUMS, "element": S8, "shift": 1, "rounding": "half_up"}
LINES = {"base": [0, 0], "slope": [0, 0], "rest": 7, "shift": 0, "low": -128, "element": S8}
NO_LEVELS = np.zeros((6, 0), np.int64)
ZERO = {"adders": np.zeros((0, 5), np.int64), "outputs": [[0, 0, 0]], "bias": [1], "element": signed(9)}
SAME: Attributes = {}

LIMITS: list[tuple[Op, tuple[Stream, ...], Attributes, Attributes, str]] = [
    (add, (LINE, LINE), {"element": signed(9)}, {"element": S8}, "sums of -256 to 254"),
    (add, (LINE, LINE), {"element": signed(11), "shifts": (0, 2)}, {"element": signed(10)}, "sums of -640 to 635"),
    (add, (LINE, LINE), {"element": signed(11), "shifts": (2, 0)}, {"element": signed(10)}, "sums of -640 to 635"),
    (add, (LINE, LINE), {"element": signed(12), "shifts": (0, 0)}, {"shifts": (0, -1)}, "two numbers of bits"),
    (add, (LINE, LINE), {"element": signed(12), "shifts": (1, 0)}, {"shifts": (1, 0, 0)}, "two numbers of bits"),
    (multiply, (LINE, LINE), {"element": signed(16)}, {"element": signed(15)}, "products of -16256 to 16384"),
    (multiply, (LINE, LINE), {"element": signed(16), "stages": 3}, {"stages": 4}, "1 to 3 pipeline stages"),
    (multiply, (LINE, LINE), {"element": signed(16), "stages": 1}, {"stages": 0}, "1 to 3 pipeline stages"),
    (clip, (LINE,), {"low": 3, "high": 3}, {"low": 4}, "leave no number"),
    (accumulate, (LINE,), {"kind": "sum", "element": signed(10)}, {"element": signed(9)}, "sums of -512 to 508"),
    (accumulate, (LINE,), {"kind": "maximum", "element": S8}, {"element": signed(9)}, "leave out element"),
    (total, (LINE,), {"groups": 2, "element": signed(9)}, {"element": S8}, "sums of -256 to 254"),
    (total, (LINE,), {"groups": 1, "element": S8}, {"groups": 0}, "do not divide"),
    (maximum, (LINE,), {"groups": 3, "blocks": 1}, {"blocks": 0}, "do not divide"),
    (maximum, (LINE,), {"groups": 3, "stages": 2}, {"stages": 3}, "there are 2 levels"),
    (maximum, (LINE,), {"groups": 3, "stages": 1}, {"stages": 0}, "there are 2 levels"),
    (affine, (LINE,), {"gain": 2**29 - 1, "element": signed(37)}, {"gain": 2**29}, "a gain exceeds 30 bits"),
    (affine, (LINE,), {"gain": 1, "bias": 2**45, "element": signed(47)}, {"bias": 2**47}, "a bias exceeds 48 bits"),
    (affine, (Stream(signed(34), (2,)),), {"gain": 1, "element": signed(48)}, {"gain": 2**28}, "exceed 61 bits"),
    (affine, (LINE,), {"gain": -1, "element": signed(9)}, {"element": S8}, "results of -127 to 128"),
    (affine, (LINE,), {"gain": 1, "bias": 1, "element": signed(9)}, {"element": S8}, "results of -127 to 128"),
    (affine, (LINE,), {"gain": 1, "element": S8, "stages": 3}, {"stages": 4}, "1 to 3 pipeline stages"),
    (argmax, (LINE,), {"element": unsigned(3)}, {"element": unsigned(2)}, "give u3f0"),
    (argmax, (Stream(S8, (5, 4)),), {"element": unsigned(3)}, {"element": unsigned(2)}, "give u3f0"),
    (argmax, (Stream(S8, (4, 4)),), {"element": unsigned(2)}, {"element": unsigned(1)}, "give u2f0"),
    (argmax, (LINE,), {"element": unsigned(3)}, {"element": signed(4)}, "give u3f0"),
    (argmax, (LINE,), {"element": unsigned(31)}, {"element": unsigned(32)}, "give u3f0"),
    (argmax, (LINE,), {"element": unsigned(3), "stages": 3}, {"stages": 4}, "1 to 3 pipeline stages"),
    (argmax, (FOLDED,), {"element": unsigned(3), "stages": 3}, {"stages": 4}, "1 to 3 pipeline stages"),
    (argmax, (SINGLE,), {"element": unsigned(1), "stages": 1}, {"stages": 2}, "1 to 1 pipeline stages"),
    (requantise, (LINE,), {"shift": 60, "element": S8}, {"shift": 61}, "more than 60 bits"),
    (requantise, (LINE,), {"shift": -52, "element": S8}, {"shift": -53}, "more than 60 bits"),
    (requantise, (LINE,), {"shift": [1, 2, 3, 4, 5, 6], "element": S8}, {"shift": [1, 2, 3, 4, 5]}, "do not fit"),
    (requantise, (LINE,), {"shift": 1, "element": S8, "low": 2, "high": 2}, {"low": 3}, "leave no number"),
    (requantise, (LINE,), {"shift": 1, "element": S8, "offset": 2**47 - 1}, {"offset": 2**47}, "exceeds 48 bits"),
    (requantise, (LINE,), {"shift": 1, "element": S8, "offset": 1 - 2**47}, {"offset": -(2**47)}, "exceeds 48 bits"),
    (requantise, (LINE,), {"shift": 1, "element": S8, "stages": 2}, {"stages": 3}, "1 to 2 pipeline stages"),
    (requantise, (FOLDED,), {"shift": [1, 1, 1, 1, 1, 2], "element": S8, "stages": 3}, {"stages": 4}, "1 to 3 pi"),
    (requantise, (LINE,), {"shift": 1, "element": signed(48)}, {"element": signed(49)}, "at most 48 bits"),
    (lookup, (Stream(signed(12), (2,)),), {"table": [1, 2], "element": S8}, {"table": []}, "no vector or matrix"),
    (lookup, (Stream(S8, (2,)),), {"table": [[1], [2]], "element": S8}, {"table": [[[1]], [[2]]]}, "no vector or m"),
    (lookup, (LINE,), {"table": [1], "element": S8}, {"table": 1}, "no vector or matrix"),
    (lookup, (LINE,), {"table": [-128, 127], "element": S8}, {"table": [-129, 127]}, "entries of -129 to 127"),
    (threshold, (LINE,), {"levels": [[1]], "element": U8}, {"levels": [1]}, "do not fit"),
    (threshold, (LINE,), {"levels": [[1]] * 6, "element": U8}, {"levels": NO_LEVELS}, "do not fit"),
    (threshold, (LINE,), {"levels": [[1]], "element": U8}, {"levels": [[1.0]]}, "do not fit"),
    (threshold, (LINE,), {"levels": [[1]], "element": unsigned(31)}, {"element": unsigned(32)}, "the 31 bits"),
    (threshold, (LINE,), {"levels": [[1] * 3], "element": unsigned(2)}, {"element": unsigned(1)}, "results of 0 to 3"),
    (threshold, (LINE,), {"levels": [[1, 2]], "element": signed(2), "step": -1}, {"step": -2}, "results of -4 to 0"),
    (threshold, (LINE,), {"levels": [[1]], "element": S8, "offset": 126}, {"offset": 127}, "results of 127 to 128"),
    (threshold, (LINE,), {"levels": [[1]], "element": U8, "stages": 2}, {"stages": 3}, "1 to 2 pipeline stages"),
    (interpolate, (LINE,), LINES, {"shift": -1}, "exceeds 48 bits"),
    (interpolate, (LINE,), {**LINES, "shift": 47}, {"shift": 48}, "exceeds 48 bits"),
    (interpolate, (LINE,), {**LINES, "rest": 7}, {"base": [0] * 256, "slope": [0] * 256, "rest": 0}, "not the range"),
    (interpolate, (LINE,), LINES, {"base": [0], "slope": [0], "rest": 8}, "not the range"),
    (interpolate, (LINE,), LINES, {"slope": [[0, 0]]}, "are no lines"),
    (interpolate, (LINE,), LINES, {"base": [[[0, 0]]], "slope": [[[0, 0]]]}, "are no lines"),
    (interpolate, (LINE,), LINES, {"base": [0.0, 0.0]}, "are no lines"),
    (interpolate, (LINE,), {**LINES, "stages": 2}, {"stages": 3}, "1 to 2 pipeline stages"),
    (concat, (LINE, LINE), {"axis": 2}, {"axis": 3}, "have no axis 3"),
    (split, (LINE,), {"at": 5}, {"at": 6}, "empty; give 1 to 5"),
    (split, (LINE,), {"at": 1}, {"at": 0}, "empty; give 1 to 5"),
    (split, (FOLDED,), {"at": 3}, {"at": 2}, "within a beat"),
    (select, (LINE,), {"order": [0]}, {"order": []}, "are no channels"),
    (select, (LINE,), {"order": [0]}, {"order": [-1]}, "are no channels"),
    (select, (LINE,), {"order": [5]}, {"order": [6]}, "are no channels"),
    (refold, (LINE,), {"lanes": 1}, {"lanes": 0}, "lanes"),
    (refold, (Stream(S8, (12, 4), 6),), {"lanes": 3}, {"lanes": 4}, "do not divide each other"),
    (refold, (Stream(S8, (12, 4), 2),), {"lanes": 4}, {"lanes": 3}, "do not divide each other"),
    (repeat, (LINE,), {"factors": (1,)}, {"factors": (0,)}, "must be positive"),
    (repeat, (IMAGE,), {"factors": (1, 2)}, {"factors": (1, 2, 1)}, "one factor"),
    (repeat, (Stream(S8, (2, 3, 3)),), {"factors": (2, 2)}, {"factors": (2,)}, "one factor"),
    (pad, (LINE,), {"pads": (0, 1)}, {"pads": (1, -1)}, "must not be negative"),
    (pad, (LINE,), {"pads": (0, 1)}, {"pads": (1, 1, 1, 1)}, "or \\[C,L\\]"),
    (pad, (LINE,), {"pads": (1, 1), "fill": -128}, {"fill": -129}, "fill -129 is no s8f0"),
    (pad, (LINE,), {"pads": (1, 1), "fill": 127}, {"fill": 128}, "fill 128 is no s8f0"),
    (delay, (LINE,), {"positions": 3}, {"positions": 4}, "give 1 to 3"),
    (delay, (LINE,), {"positions": 1}, {"positions": 0}, "give 1 to 3"),
    (delay, (Stream(S8, (2, 2)),), {"positions": 1, "initial": -128}, {"initial": -129}, "initial -129 is no s8f0"),
    (reshape, (LINE,), {"shape": (4, 6)}, {"shape": ()}, "does not hold"),
    (reshape, (LINE,), {"shape": (24,)}, {"shape": (-4, -6)}, "does not hold"),
    (fifo, (LINE,), {"depth": 1}, {"depth": 0}, "stores nothing"),
    (fork, (LINE,), {"branches": 2}, {"branches": 3}, "has two branches"),
    (fork, (LINE,), {"branches": 2}, {"branches": 1}, "has two branches"),
    (window, (LINE,), {"kernel": (4,)}, {"kernel": (5,)}, "exceeds"),
    (window, (LINE,), {"kernel": (3,), "pads": (2, 0)}, {"pads": (3, 0)}, "wholly in the pads"),
    (window, (LINE,), {"kernel": (2,), "pads": (0, 9)}, {"pads": (0, -1)}, "not negative"),
    (window, (LINE,), {"kernel": (2,), "pads": (1, 0)}, {"pads": (-1, 0)}, "not negative"),
    (window, (LINE,), {"kernel": (1,)}, {"kernel": (0,)}, "must be positive"),
    (window, (LINE,), {"kernel": (1,), "strides": (1,)}, {"strides": (0,)}, "must be positive"),
    (window, (LINE,), {"kernel": (1,), "dilations": (1,)}, {"dilations": (0,)}, "must be positive"),
    (window, (IMAGE,), {"kernel": (2, 2), "strides": (1, 1)}, {"strides": (1,)}, "a number for each axis"),
    (window, (IMAGE,), {"kernel": (2, 2), "dilations": (1, 1)}, {"dilations": (1,)}, "a number for each axis"),
    (window, (IMAGE,), {"kernel": (2, 2), "pads": (0, 0, 1, 1)}, {"pads": (0, 1)}, "a number for each axis"),
    (window, (LINE,), {"kernel": (2,), "fill": 127}, {"fill": 128}, "fill 128 is no s8f0"),
    (window, (LINE,), {"kernel": (2,), "groups": 6}, {"groups": 4}, "groups=4"),
    (window, (LINE,), {"kernel": (2,), "groups": 1}, {"groups": 0}, "groups=0"),
    (window, (FOLDED,), {"kernel": (2,), "groups": 2}, {"groups": 1}, "groups=1"),
    (matvec, (BITS,), {"weights": [[-(2**29), 0]], "bias": [0], "element": signed(31)},
     {"weights": [[-(2**29) - 1, 0]]}, "a weight exceeds 30 bits"),
    (matvec, (LINE,), {"weights": [[1] * 6], "bias": [2], "element": signed(11)},
     {"element": signed(10)}, "-766 to 764"),
    (matvec, (LINE,), {"weights": [[-1] * 6], "bias": [0], "element": signed(11)},
     {"element": signed(10)}, "762 to 768"),
    (matvec, (LINE,), {"weights": [[1] * 6], "bias": [0], "element": signed(11), "stages": 6},
     {"stages": 7}, "1 to 6"),
    (matvec, (LINE,), {"weights": [[1] * 6], "bias": [0], "element": signed(11)}, {"bias": [[0]]}, "do not fit"),
    (matvec, (LINE,), {"weights": [[1] * 6], "bias": [0], "element": signed(11)}, {"groups": 0}, "groups=0"),
    (matvec, (LINE,), {"weights": [[0] * 6, [-1] * 6, [1] * 6], "bias": [0] * 3, "element": signed(11)},
     {"element": signed(10)}, "-768 to 768"),
    (matvec, (FOLDED,), {"weights": [[1] * 3] * 6, "bias": [0] * 6, "element": signed(11), "groups": 2, "lanes": 3},
     {"lanes": 2}, "do not fit 2 groups"),
    (popcount, (BITS,), {"weights": [[1, -1]], "bias": [0], "element": signed(3), "coding": "bipolar"},
     {"element": signed(2)}, "sums of -2 to 2"),
    (popcount, (BITS,), {"weights": [[0, 0], [1, -1], [0, 0]], "bias": [0] * 3, "element": signed(3)},
     {"element": signed(2)}, "sums of -2 to 2"),
    (popcount, (BITS,), {"weights": [[0, 0], [1, 1], [-1, 0]], "bias": [0] * 3, "element": signed(3),
     "coding": "binary"}, {"element": signed(2)}, "sums of -1 to 2"),
    (popcount, (BITS,), {"weights": [[1, 1]], "bias": [0], "element": signed(31)}, {"element": signed(32)}, "31 bits"),
    (popcount, (BITS,), {"weights": [[1, 1]], "bias": [0], "element": S8, "stages": 3}, {"stages": 4}, "1 to 3 pipe"),
    (popcount, (Stream(unsigned(1), (37,)),), {"weights": [[1] * 37], "bias": [0], "element": S8, "stages": 4},
     {"stages": 5}, "1 to 4 pipe"),
    (popcount, (Stream(unsigned(1), (36,)),), {"weights": [[1] * 36], "bias": [0], "element": S8, "stages": 3},
     {"stages": 4}, "1 to 3 pipe"),
    (popcount, (BITS,), {"weights": [[1, 1]], "bias": [0], "element": S8}, {"weights": [[1, 2]]}, "is not -1, 0 or 1"),
    (popcount, (BITS,), {"weights": [[1, 1]], "bias": [0], "element": S8}, {"weights": [[1, 1.0]]}, "is not -1, 0 or"),
    (popcount, (BITS,), {"weights": [[1, -1]], "bias": [0], "element": signed(2), "coding": "binary"},
     {"element": unsigned(2)}, "sums of -1 to 1"),
    (popcount, (BITS,), {"weights": [[1, 1]], "bias": [0], "element": unsigned(2), "coding": "binary"},
     {"element": unsigned(1)}, "sums of 0 to 2"),
    (softmax, (LINE,), {"table": [3, 1], "shift": 8, "element": FixedPoint(False, 8, 8)}, {"shift": 9}, "give 0 to 8"),
    (softmax, (LINE,), {"table": [3, 1], "shift": 0, "element": FixedPoint(False, 8, 8)}, {"shift": -1}, "give 0 to 8"),
    (adder_graph, (Stream(S8, (2, 4)),), {**SUMS, "stages": 2}, {"stages": 3}, "1 to 2 pipeline stages"),
    (adder_graph, (Stream(S8, (2, 4)),), {**SUMS, "stages": 1}, {"stages": 0}, "1 to 2 pipeline stages"),
    (adder_graph, (Stream(S8, (2, 4)),), {**ZERO, "stages": 1}, {"stages": 2}, "1 to 1 pipeline stages"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"element": S8}, "sums of -256 to 254"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"bias": [1], "element": S8}, "sums of -255 to 255"),
    (adder_graph, (Stream(S8, (2, 4)),), {**SUMS, "outputs": [[0, 0, 1], [2, 0, 1], [2, 0, -1]], "bias": [0] * 3,
     "element": signed(10)}, {"element": signed(9)}, "sums of -256 to 256"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"bias": [0, 0]}, "does not fit 1 outputs"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"low": 0}, "that are not shifted; give shift=0"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"offset": 1}, "that are not shifted; give shift=0"),
    (adder_graph, (Stream(S8, (2, 4)),), {**SHIFTED, "shift": 0, "element": signed(9)}, {"shift": -1}, "to the right"),
    (adder_graph, (Stream(S8, (2, 4)),), SHIFTED, {"rounding": "to_zero"}, "to the right"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"adders": [[0, 2, 0, 0, 0]]}, "reads the numbers 0 and 2"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"adders": [[-1, 1, 0, 0, 0]]}, "reads the numbers -1 and 1"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"adders": [[0, 1, 1, 1, 0]]}, "adder 0"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"adders": [[0, 1, 0, 0, 2]]}, "adder 0"),
    (adder_graph, (Stream(S8, (2, 4)),), {**UNREAD, "adders": [[0, 1, 0, 48, 0]]}, {"adders": [[0, 1, 0, 49, 0]]},
     "adder 0 shifts by 0 and 49"),
    (adder_graph, (Stream(S8, (2, 4)),), {**UNREAD, "adders": [[0, 1, 48, 0, 0]]}, {"adders": [[0, 1, 49, 0, 0]]},
     "adder 0 shifts by 49 and 0"),
    (adder_graph, (Stream(S8, (2, 4)),), {**UNREAD, "adders": [WIDE, [2, 0, 4, 0, 0]]},
     {"adders": [WIDE, [2, 0, 5, 0, 0]]}, "adder 1 gives numbers of more than 60 bits"),
    (adder_graph, (Stream(S8, (2, 4)),), {**UNREAD, "adders": [WIDE, [0, 2, 0, 4, 1]]},
     {"adders": [WIDE, [0, 2, 0, 5, 1]]}, "adder 1 gives numbers of more than 60 bits"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"outputs": [[3, 0, 1]]}, "give one of 3 numbers"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"outputs": [[2, 0, 2]]}, "0..48 bits, a sign"),
    (adder_graph, (Stream(S8, (2, 4)),), SUMS, {"outputs": [[2, -1, 1]]}, "0..48 bits, a sign"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "operands", "within", "beyond", "told"), LIMITS, ids=[f"{each[0].name}, {each[4]}" for each in LIMITS]
)
def test_the_limit_is_taken_and_what_is_beyond_is_refused(
    op: Op, operands: tuple[Stream, ...], within: Attributes, beyond: Attributes, told: str
) -> None:
    assert Site.of(op, *operands, **within).results
    with pytest.raises(TypeMismatchError, match=told):
        Site.of(op, *operands, **{**within, **beyond})


OTHERS: list[tuple[Op, tuple[Stream, ...], tuple[Stream, ...], Attributes, str]] = [
    (add, (LINE, LINE), (LINE, FOLDED), {"element": signed(9)}, "differ in shape or lanes"),
    (add, (LINE, LINE), (LINE, Stream(S8, (6, 5))), {"element": signed(9)}, "differ in shape or lanes"),
    (multiply, (LINE, LINE), (LINE, FOLDED), {"element": signed(16)}, "differ in shape or lanes"),
    (multiply, (LINE, LINE), (LINE, Stream(S8, (6, 5))), {"element": signed(16)}, "differ in shape or lanes"),
    (concat, (LINE, LINE), (LINE, IMAGE), {"axis": 2}, "have no axis 2 in common"),
    (concat, (LINE, Stream(S8, (6, 9))), (LINE, Stream(S8, (5, 9), 5)), {"axis": 2}, "channels or positions"),
    (concat, (FOLDED, FOLDED), (FOLDED, LINE), {"axis": 1}, "differ in lanes"),
    (concat, (IMAGE, Stream(S8, (2, 9, 6))), (IMAGE, Stream(S8, (2, 9, 7))), {"axis": 2}, "channels or positions"),
    (lookup, (Stream(signed(12), (2,)),), (Stream(signed(13), (2,)),), {"table": [1], "element": S8}, "to 12 bits"),
    (delay, (Stream(S8, (2, 2)),), (Stream(S8, (2, 1)),), {"positions": 1}, "single position"),
    (pad, (IMAGE,), (CUBE,), {"pads": (0,) * 4}, r"give \[C,H,W\]"),
    (pad, (LINE,), (Stream(S8, (6,)),), {"pads": (0,) * 2}, r"give \[C,H,W\]"),
    (repeat, (IMAGE,), (CUBE,), {"factors": (1, 1)}, r"give \[C,H,W\]"),
    (window, (IMAGE,), (CUBE,), {"kernel": (1, 1)}, r"give \[C,L\] or \[C,H,W\]"),
    (select, (LINE,), (FOLDED,), {"order": [0]}, "in several beats"),
    (matvec, (FOLDED,), (Stream(S8, (6, 4), 2),),
     {"weights": [[1] * 3] * 6, "bias": [0] * 6, "element": signed(11), "groups": 2, "lanes": 3}, "do not fit 2 gr"),
    (adder_graph, (Stream(S8, (2, 4)),), (Stream(S8, (2, 4), 1),), SUMS, "has folded channels"),
    (clip, (Stream(signed(48), (2,)),), (Stream(signed(49), (2,)),), {}, "at most 48 bits"),
    (maximum, (Stream(S8, (12,), 6),), (Stream(S8, (12,), 4),), {"groups": 2, "blocks": 2}, "is not one of 2 blocks"),
    (maximum, (Stream(S8, (12,), 3),), (Stream(S8, (12,), 4),), {"groups": 2}, "refold to a divisor of 6"),
    (popcount, (BITS,), (Stream(unsigned(2), (2,)),),
     {"weights": [[1, 1]], "bias": [0], "element": S8, "coding": "binary"}, "does not hold binary numbers"),
    (popcount, (BITS,), (Stream(signed(1), (2,)),),
     {"weights": [[1, 1]], "bias": [0], "element": S8, "coding": "binary"}, "does not hold binary numbers"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "taken", "refused", "attributes", "told"), OTHERS, ids=[f"{each[0].name}, {each[4]}" for each in OTHERS]
)
def test_one_stream_is_taken_and_another_refused(
    op: Op, taken: tuple[Stream, ...], refused: tuple[Stream, ...], attributes: Attributes, told: str
) -> None:
    assert Site.of(op, *taken, **attributes).results
    with pytest.raises(TypeMismatchError, match=told):
        Site.of(op, *refused, **attributes)


@pytest.mark.parametrize(("value", "wrong"), [([0], 0), ([7], [8]), ([-8], [-9]), ([[1, 2]], [[]]), ([1], [1.0])])
def test_a_constant_has_channels_and_fits_its_format(value: Any, wrong: Any) -> None:
    assert Site.of(constant, value=value, element=signed(4)).results[0].shape == np.shape(value)
    with pytest.raises(TypeMismatchError, match="give"):
        Site.of(constant, value=wrong, element=signed(4))


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ({"bits": 12, "width": 8}, {"bits": 13}),
        ({"bits": 1, "width": 8}, {"bits": 0}),
        ({"width": 24}, {"width": 25}),
        ({"width": 1}, {"width": 0}),
        ({"step": 0.5}, {"step": 0.0}),
        ({"step": 0.5}, {"step": float("inf")}),
    ],
)
def test_tables_of_exponentials_have_limits(within: Attributes, beyond: Attributes) -> None:
    table, _ = exponentials(S8, **within)
    assert len(table) <= 1 << within.get("bits", 10)
    assert table[0] == table.max()
    with pytest.raises(TypeMismatchError, match="give"):
        exponentials(S8, **{**within, **beyond})
