"""Right rules about time: delays of sequences, and stores of streams."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.register import register
from graphrewrite.hdl.components.requantise import requantise


@rule
def stores_added(x, a, b):
    """Two fifos hold what one of both depths holds."""
    yield fifo(fifo(x, depth=a), depth=b)
    return fifo(x, depth=a + b)


@rule
def deeper_store(x, d):
    """More places are never too many."""
    yield fifo(x, depth=d)
    return fifo(x, depth=d + 1) if d < 6 else decline("deep enough")


@rule
def two_places_as_a_register(x):
    """A fifo of two places is a register."""
    yield fifo(x, depth=2)
    return register(x)


@rule
def store_before_a_limit(x, d):
    """A fifo holds as many beats before a limit as after it."""
    limited = clip(x, low=0)
    yield fifo(limited, depth=d)
    return clip(fifo(x, depth=d), like=limited)


@rule
def register_dropped(x):
    """A register only adds a cycle to the latency; fifos are chosen for what is there."""
    yield register(x)
    return x


@rule
def limit_of_a_narrowed_stream(x):
    """A requantisation limits at zero itself."""
    narrow = requantise(x)
    limited = clip(narrow, low=0)
    yield limited
    if limited.type != narrow.type or {limited.high, narrow.low, narrow.high} != {None}:
        return decline("other limits")
    return requantise(x, like=narrow, low=0)


@rule
def delays_joined(x, a, b):
    """Delays of one initial value add up."""
    inner = op.delay(x, cycles=a)
    outer = op.delay(inner, cycles=b)
    yield outer
    if inner.initial != outer.initial:
        return decline("other initial values")
    return op.delay(x, cycles=a + b, initial=inner.initial)


@rule
def register_as_a_delay(x):
    """A register is a delay of one cycle."""
    late = op.register(x)
    yield late
    return op.delay(x, cycles=1, initial=late.initial)


@rule
def rectified_before_the_register(x):
    """The initial value is rectified as well."""
    late = op.register(x)
    yield op.relu(late)
    return op.register(op.relu(x), initial=max(late.initial, 0))


@rule
def identity_before_a_delay(x, n):
    """An identity is one in every cycle."""
    late = op.delay(x, cycles=n)
    yield op.identity(late)
    return op.delay(op.identity(x), cycles=n, initial=late.initial)
