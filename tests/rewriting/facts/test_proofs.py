"""z3 proves for all limits and all numbers within them that the functions of ranges and of known bits are right.

The functions themselves run on symbols: where they compare, both ways are followed.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

z3 = pytest.importorskip("z3")

from graphrewrite.rewriting.facts.numbers import bits, ranges  # noqa: E402

BITS, WIDE = 8, 20
"""Numbers of so many bits, in words in which nothing overflows."""
FEWER = {"mul": 4, "div": 4}
"""Products and quotients, which are hard for z3, are proved for numbers of fewer bits."""


class Paths:
    """The ways through a function: the answers to its comparisons so far, and what they mean."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers, self.conditions = answers, list[Any]()

    def decide(self, condition: Any) -> bool:
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        if len(self.conditions) == len(self.answers):
            self.answers.append(True)
        answer = self.answers[len(self.conditions)]
        self.conditions.append(condition if answer else z3.Not(condition))
        return answer


class Truth:
    """A comparison of symbols, which an `if` decides."""

    def __init__(self, paths: Paths, term: Any) -> None:
        self.paths, self.term = paths, term

    def __bool__(self) -> bool:
        return self.paths.decide(self.term)

    def __eq__(self, other: object) -> Any:
        return bool(self) == bool(other)

    __hash__ = None  # type: ignore[assignment]


class Symbol:
    """A whole number that is not known."""

    def __init__(self, paths: Paths, term: Any) -> None:
        self.paths, self.term = paths, term

    def of(self, other: Any) -> Any:
        return other.term if isinstance(other, Symbol) else z3.BitVecVal(other, WIDE)

    def __hash__(self) -> int:
        return hash(self.term)


def arithmetic(name: str, function: Callable[[Any, Any], Any]) -> None:
    setattr(Symbol, f"__{name}__", lambda a, b: Symbol(a.paths, function(a.term, a.of(b))))
    setattr(Symbol, f"__r{name}__", lambda a, b: Symbol(a.paths, function(a.of(b), a.term)))


for name, function in {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "lshift": lambda a, b: a << b, "rshift": lambda a, b: a >> b, "floordiv": z3.UDiv,  # of what is not negative
}.items():  # fmt: skip
    arithmetic(name, function)
for name, function in {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}.items():  # fmt: skip
    setattr(Symbol, f"__{name}__", lambda a, b, f=function: Truth(a.paths, f(a.term, a.of(b))))
Symbol.__neg__ = lambda a: Symbol(a.paths, -a.term)  # type: ignore[attr-defined]
Symbol.__invert__ = lambda a: Symbol(a.paths, ~a.term)  # type: ignore[attr-defined]
Symbol.__abs__ = lambda a: Symbol(a.paths, z3.If(a.term < 0, -a.term, a.term))  # type: ignore[attr-defined]
Symbol.__bool__ = lambda a: a.paths.decide(a.term != 0)  # type: ignore[attr-defined]


def ways(function: Callable[[Paths], Any]) -> Iterator[tuple[list[Any], Any]]:
    """Yield what a function returns on each way through it, and the conditions of that way."""
    open_: list[list[bool]] = [[]]
    while open_:
        paths = Paths(open_.pop())
        given = len(paths.answers)
        found = function(paths)
        open_ += [[*paths.answers[:i], False] for i in range(given, len(paths.answers))]
        yield paths.conditions, found


def term_of(value: Any) -> Any:
    return value.term if isinstance(value, Symbol) else z3.BitVecVal(value, WIDE)


def never(*conditions: Any) -> None:
    solver = z3.SolverFor("QF_BV")
    solver.set("rlimit", 60_000_000)
    solver.add(*conditions)
    assert solver.check() == z3.unsat, solver.model() if solver.check() == z3.sat else "z3 does not know"


def number(name: str, bits_of: int = BITS) -> Any:
    return z3.SignExt(WIDE - bits_of, z3.BitVec(name, bits_of))


def divided(a: Any, b: Any) -> Any:
    return z3.If(b == 0, 0, a / b)  # of bit vectors, towards zero


def modulo(a: Any, b: Any) -> Any:
    rest = z3.SRem(a, b)
    return z3.If(b == 0, 0, z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), rest + b, rest))


def larger(a: Any, b: Any) -> Any:
    return z3.If(a > b, a, b)


def smaller(a: Any, b: Any) -> Any:
    return z3.If(a < b, a, b)


def half_even(bits_: int) -> Callable[[Any], Any]:
    def rounded(a: Any) -> Any:
        whole, rest, half = a >> bits_, a & ((1 << bits_) - 1), 1 << bits_ >> 1
        up = z3.Or(rest > half, z3.And(rest == half, whole & 1 == 1))
        return a << -bits_ if bits_ <= 0 else whole + z3.If(up, z3.BitVecVal(1, WIDE), z3.BitVecVal(0, WIDE))

    return rounded


def chosen(numbers: tuple[Any, ...], is_better: Callable[[Any, Any], Any]) -> Any:
    """The least or the greatest of some numbers as one term, where Python would compare."""
    first, *rest = numbers if len(numbers) > 1 else tuple(numbers[0])
    paths = next((each.paths for each in (first, *rest) if isinstance(each, Symbol)), None)
    found = term_of(first)
    for each in rest:
        found = z3.If(is_better(term_of(each), found), term_of(each), found)
    return Symbol(paths, found)


@pytest.fixture(autouse=True)
def extremes_are_terms(monkeypatch):
    monkeypatch.setattr(ranges, "min", lambda *numbers: chosen(numbers, lambda a, b: a < b), raising=False)
    monkeypatch.setattr(ranges, "max", lambda *numbers: chosen(numbers, lambda a, b: a > b), raising=False)


RANGES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (ranges.sum_of, lambda a, b: a + b),
    "sub": (ranges.difference, lambda a, b: a - b),
    "mul": (ranges.product, lambda a, b: a * b),
    "maximum": (ranges.greater, larger),
    "minimum": (ranges.lesser, smaller),
    "div": (ranges.quotient, divided),
    "mod": (ranges.remainder, modulo),
    "square": (ranges.square, lambda a: a * a),
    "neg": (ranges.negative, lambda a: -a),
    "abs": (ranges.absolute, lambda a: z3.If(a < 0, -a, a)),
    "clip": (lambda x: ranges.limited(x, -5, 9), lambda a: z3.If(a < -5, -5, z3.If(a > 9, 9, a))),
    "requantise by 2": (lambda x: ranges.rounded_shift(x, 2), half_even(2)),
    "requantise by 1": (lambda x: ranges.rounded_shift(x, 1), half_even(1)),
    "requantise by -3": (lambda x: ranges.rounded_shift(x, -3), lambda a: a << 3),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RANGES)
def test_results_are_within_their_ranges(name):
    of_limits, meaning = RANGES[name]
    count = meaning.__code__.co_argcount
    width = FEWER.get(name, BITS)
    limits = [(number(f"low{i}", width), number(f"high{i}", width)) for i in range(count)]
    entries = [number(f"entry{i}", width) for i in range(count)]
    within = [z3.And(low <= a, a <= high) for (low, high), a in zip(limits, entries, strict=True)]

    def found(paths: Paths) -> Any:
        return of_limits(*[(Symbol(paths, low), Symbol(paths, high)) for low, high in limits])

    result = meaning(*entries)
    for conditions, (low, high) in ways(found):
        never(*within, *conditions, z3.Or(result < term_of(low), result > term_of(high)))


BITWISE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "and": (bits.conjunction, lambda a, b: a & b),
    "or": (bits.disjunction, lambda a, b: a | b),
    "xor": (bits.exclusion, lambda a, b: a ^ b),
    "not": (bits.negated, lambda a: ~a),
    "add": (bits.sum_of, lambda a, b: a + b),
    "sub": (bits.difference, lambda a, b: a - b),
    "mul": (bits.product, lambda a, b: a * b),
    "shift left": (lambda x: bits.shifted_left(x, 3), lambda a: a << 3),
    "shift right": (lambda x: bits.shifted_right(x, 3), lambda a: a >> 3),
    "wrap i4": (lambda x: bits.wrapped(x, 4, signed=True), lambda a: z3.SignExt(WIDE - 4, z3.Extract(3, 0, a))),
    "wrap u4": (lambda x: bits.wrapped(x, 4, signed=False), lambda a: z3.ZeroExt(WIDE - 4, z3.Extract(3, 0, a))),
}


@pytest.mark.parametrize("name", BITWISE)
def test_known_bits_are_right(name):
    of_bits, meaning = BITWISE[name]
    count = meaning.__code__.co_argcount
    # In two's complement without end: what is known of the sign is known of all bits above.
    known = [(number(f"zeros{i}"), number(f"ones{i}")) for i in range(count)]
    entries = [number(f"entry{i}") for i in range(count)]
    fits = [z3.And(a & zeros == 0, a & ones == ones) for (zeros, ones), a in zip(known, entries, strict=True)]

    def found(paths: Paths) -> Any:
        return of_bits(*[(Symbol(paths, zeros), Symbol(paths, ones)) for zeros, ones in known])

    result = meaning(*entries)
    for conditions, (zeros, ones) in ways(found):
        never(*fits, *conditions, z3.Or(result & term_of(zeros) != 0, ~result & term_of(ones) != 0))


def test_ranges_and_bits_tell_of_each_other():
    from graphrewrite.rewriting.facts.numbers.fact import integers

    for low in range(-9, 10):
        for high in range(low, 10):
            for zeros, ones in ((0, 0), (1, 0), (2, 1), (~5, 0), (0, -4), (~3, 1)):
                fact = integers(low, high, zeros, ones)
                for a in range(low, high + 1):
                    if not a & zeros and a & ones == ones:
                        assert fact.low <= a <= fact.high
                        assert not a & fact.zeros
                        assert a & fact.ones == fact.ones
