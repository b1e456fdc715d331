"""Faults in time: cycles of delays, streams that stop for good, frames that take longer."""

from __future__ import annotations

from graphrewrite import Constant, decline, op, rule
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.register import register
from graphrewrite.hdl.components.reshape import reshape

SMALLEST = {
    "fifo_dropped": 9,
    "store_of_half_the_depth": 3,
    "deeper_store_for_both": 9,
    "store_as_a_register": 9,
    "store_at_the_other_operand": 11,
}
"""Networks around a pattern: one stream parts, waits on one way, is held back on the other, and is added up."""


@rule
def fifo_dropped(x):
    """What waited in the fifo waits nowhere, and a network with a longer way beside it stops."""
    yield fifo(x)
    return x


@rule
def store_of_half_the_depth(x, d):
    """Half of the beats wait before it, and a frame takes longer."""
    yield fifo(x, depth=d)
    return fifo(x, depth=d // 2) if d > 1 else decline("none is left")


@rule
def deeper_store_for_both(x, a, b):
    """Two fifos hold the sum of what they hold, not the greater number."""
    yield fifo(fifo(x, depth=a), depth=b)
    return fifo(x, depth=max(a, b))


@rule
def store_as_a_register(x, d):
    """A register is a fifo of two beats."""
    yield fifo(x, depth=d)
    return register(x) if d > 2 else decline("a register is as deep")


@rule
def store_at_the_other_operand(x, y):
    """What comes early has to wait, not what is late."""
    total = add(fifo(x), y)
    yield total
    return add(x, fifo(y, depth=2), like=total)


@rule
def product_row_by_row(x):
    """One row a step takes as many times the cycles as there are rows."""
    product = matvec(x)
    yield product
    lanes = product.type.lanes
    if lanes == 1 or product.groups > 1:
        return decline("one row a step, or a group")
    return refold(matvec(x, like=product, lanes=1), lanes=lanes)


@rule
def through_a_single_lane(x):
    """The values are the same, but a beat of several lanes takes several cycles."""
    narrow = refold(x)
    yield narrow
    lanes = narrow.type.lanes
    if lanes != x.type.channels or x.type.lanes == 1:
        return decline("one lane")
    return refold(reshape(refold(x, lanes=1), shape=x.type.shape, lanes=1), lanes=lanes)


@rule
def delays_added(x, a, b):
    """One cycle too many."""
    yield op.delay(op.delay(x, cycles=a), cycles=b)
    return op.delay(x, cycles=a + b + 1)


@rule
def delay_of_constant(x: Constant):
    """In the first cycles a delay gives its initial value."""
    yield op.delay(x)
    return op.identity(x)


@rule
def initial_value_passed_by(x):
    """The initial value goes through what follows, too."""
    late = op.register(x)
    yield op.neg(late)
    return op.register(op.neg(x), initial=late.initial) if late.initial else op.register(op.neg(x), initial=1)


@rule
def one_operand_delayed(x, y):
    """Both operands of the sum are late, not one."""
    first, second = op.register(x), op.register(y)
    yield op.add(first, second)
    return op.add(op.register(x, initial=first.initial), y) if x != y else decline("one operand")


@rule
def delay_as_a_register(x, n):
    """A register is a delay of one cycle."""
    late = op.delay(x, cycles=n)
    yield late
    return op.register(x, initial=late.initial) if n > 1 else decline("one cycle")
