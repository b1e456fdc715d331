"""Programs over memory whose instructions move entries, or have others between them, as lines of a graph."""

from __future__ import annotations

from graphrewrite import Rule
from graphrewrite.rules.memory import parts

__all__ = ["DECLINES"]

X = "x = input() : f32[4,3]\n"
A = "a = alloc(element='f32', shape=[4, 3]) : f32[4,3]\n"
SCALED = "x = input() : i8<0.5:0,0.25:0 @0>[2,3]\n"
DECLINES: dict[Rule, tuple[str, ...]] = {
    parts.view_reshape: (
        # Computes.
        X + A + "r = into(a, x, of='relu')",
        # Moves entries.
        X
        + "a = alloc(element='f32', shape=[3, 4]) : f32[3,4]\n"
        + "r = into(a, x, of='transpose', attributes={'perm': [1, 0]})",
        # The axis of the scales is another one afterwards.
        SCALED
        + "a = alloc(element=i8<0.5:0,0.25:0 @1>, shape=[1, 2, 3]) : i8<0.5:0,0.25:0 @1>[1,2,3]\n"
        + "r = into(a, x, of='unsqueeze', attributes={'axes': [0]})",
    ),
    parts.insert_concat: (
        # Rows lie between those of the other one.
        X + "a = alloc(element='f32', shape=[4, 6]) : f32[4,6]\nr = into(a, x, x, of='concat', attributes={'axis': 1})",
        # Each row has a scale of its own.
        SCALED
        + "a = alloc(element=i8<0.5:0,0.25:0,0.5:0,0.25:0 @0>, shape=[4, 3]) : i8<0.5:0,0.25:0,0.5:0,0.25:0 @0>[4,3]\n"
        + "r = into(a, x, x, of='concat', attributes={'axis': 0})",
    ),
    parts.extract_slice: (
        # In steps of two.
        X
        + "a = alloc(element='f32', shape=[2, 3]) : f32[2,3]\n"
        + "r = into(a, x, of='slice', attributes={'starts': [0], 'ends': [4], 'axes': [0], 'steps': [2]})",
    ),
    parts.view_extract: (
        # Others lie between.
        X + "a = alloc(element='f32', shape=[4, 1]) : f32[4,1]\nr = extract(a, x, starts=[0, 1])",
        # One row, whose entries have different scales.
        "x = input() : i8<0.5:0,0.25:0 @1>[3,2]\n"
        + "a = alloc(element=i8<0.5:0,0.25:0 @1>, shape=[1, 2]) : i8<0.5:0,0.25:0 @1>[1,2]\n"
        + "r = extract(a, x, starts=[1, 0])",
    ),
    parts.drop_whole_view: (X + "r = view(x, shape=[12])",),
}
