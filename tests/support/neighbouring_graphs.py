"""Graphs that differ from others in one place: a number, an attribute, a format, an op, an operand, a reader."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import Any
from zlib import crc32

from graphrewrite import Graph
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats import to_text
from graphrewrite.op import LIBRARY
from tests.support.lowering_rules import OPS

__all__ = ["neighbours"]

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
_FORMAT = re.compile(r"\b([su])(\d+)f(-?\d+)\b")
_ATTRIBUTE = re.compile(r", (\w+)=(\[[^=]*\]|'[^']*'|[^,)\[]+)(?=, \w+=|\))")
_OPERANDS = re.compile(r"= \w+\(((?:\w+(?:, )?)*)")
_RESULT = re.compile(r"^(\w+ = (?!input\(|constant\()\w+\(.*\)) : .*$", re.MULTILINE)
_ALIKE = (
    ("greater", "greater_or_equal", "less", "less_or_equal"),
    ("add", "sub", "mul", "div", "maximum", "minimum"),
    ("floor", "round", "ceil", "sign", "relu", "neg", "abs", "tanh", "leaky_relu"),
    ("max_pool", "average_pool", "lp_pool"),
    ("reduce_max", "reduce_min", "reduce_sum", "reduce_mean"),
    ("arg_max", "arg_min"),
    ("global_average_pool", "global_max_pool"),
)
_PRODUCT = re.compile(r"^\w+ = vjp_(\w+)\((\w+), (.*)\)$", re.MULTILINE)
_CALL = re.compile(r"^\w+ = (\w+)\(.*\)$", re.MULTILINE)
_DEFAULTS = {
    each.name: {k: v for k, v in each.attributes.items() if not isinstance(v, str)}
    for each in (*LIBRARY.values(), *OPS)
}
"""What attributes are where they are not given, but for words."""
_HUGE = re.compile(r" : \w+\[[^\]]*\d{6}")
"""A type whose arrays have no room."""
_MOST = 20
"""Tries for each neighbour that is wanted."""


def neighbours(name: str, texts: Iterable[str], count: int) -> list[str]:
    """Return up to so many graphs, each one change or two away from one of some graphs.

    Parameters
    ----------
    name : str
        What the changes follow from.
    texts : iterable of str
        Graphs with the types of all values.
    count : int
    """
    choose, given, found = random.Random(crc32(name.encode())), [*texts], dict[str, None]()
    for _ in range(_MOST * count if given else 0):
        text = _RESULT.sub(r"\1", choose.choice(given))
        for _ in range(choose.choice((1, 1, 1, 2))):
            text = choose.choice(_CHANGES)(text, choose)
        try:
            text = to_text(Graph.parse(_with_fitting_gradient(text), ops=OPS), whole=True)
        except (GraphRewriteError, OverflowError, ValueError):
            continue
        if text not in given and not _HUGE.search(text):
            found[text] = None
        if len(found) == count:
            break
    return [*found]


def _with_fitting_gradient(text: str) -> str:
    """The gradient that a product of a Jacobian is given, of the type of the result of what was changed."""
    product = _PRODUCT.search(text)
    if product is None or f"\n{product[2]} = input()" not in text:
        return text
    operands = re.sub(r", (?:wrt|of_result)=\d+", "", product[3])
    graph = Graph.parse(f"{text[: product.start()]}value = {product[1]}({operands})", ops=OPS)
    which = re.search(r", of_result=(\d+)", product[3])
    kind = graph.result_type("value", int(which[1]) if which else 0)
    return re.sub(rf"^({product[2]} = input\(\)) : .*$", rf"\1 : {kind}", text, flags=re.MULTILINE)


def _replaced(text: str, start: int, stop: int, by: str) -> str:
    return text[:start] + by + text[stop:]


def _number(text: str, choose: random.Random) -> str:
    """Another number: close by, the opposite, a power of two, nothing."""
    places = [*_NUMBER.finditer(text)]
    if not places:
        return text
    place = choose.choice(places)
    n = float(place[0]) if set(place[0]) & set(".e") else int(place[0])
    near = [n + 1, n - 1, -n, 0, 1, 2 * n, -1, 2, 3]
    if isinstance(n, int):
        near += [1 << abs(n).bit_length(), n + 8, n // 2, choose.choice((1 << 15, 1 << 23, 1 << 31, 1 << 40, 1 << 46))]
    else:
        near += [n / 3, n * 1e4, 0.5, -0.0, float("inf"), float("nan")]
    return _replaced(text, *place.span(), str(choose.choice(near)))


def _numbers(text: str, choose: random.Random) -> str:
    """All numbers of a line that has several: equal, opposite, another one's, or in another order."""
    places = [(s, t) for s, t in _lists(text) if len(_NUMBER.findall(text[s:t])) > 1]
    if not places:
        return text
    start, stop = choose.choice(places)
    numbers = _NUMBER.findall(text[start:stop])
    others = choose.choice(
        [
            [numbers[0]] * len(numbers),
            numbers[::-1],
            [number.removeprefix("-") if number[0] == "-" else f"-{number}" for number in numbers],
            [choose.choice(numbers) for _ in numbers],
            [choose.choice(("0", "1", "-1")) for _ in numbers],
            ["1"] * len(numbers),
            ["0"] * len(numbers),
        ]
    )
    is_real = any("." in number for number in numbers)
    given = iter(f"{float(other)}" if is_real else other for other in others)
    return _replaced(text, start, stop, _NUMBER.sub(lambda _: next(given), text[start:stop]))


def _lists(text: str) -> list[tuple[int, int]]:
    """Where lists of numbers stand: the values of attributes and constants."""
    return [match.span(1) for match in re.finditer(r"=(\[[^=():']*\])", text)]


def _attribute(text: str, choose: random.Random) -> str:
    """An attribute less, or another truth."""
    places = [*_ATTRIBUTE.finditer(text)]
    if not places:
        return text
    place = choose.choice(places)
    opposite = {"True": "False", "False": "True"}.get(place[2])
    if opposite is not None and choose.random() < 0.7:
        return _replaced(text, *place.span(2), opposite)
    if place[2][0] == "[" and choose.random() < 0.4:  # one number for all, or for one
        return _replaced(text, *place.span(2), (_NUMBER.findall(place[2]) or ["0"])[0])
    return _replaced(text, *place.span(), "")


def _further_attribute(text: str, choose: random.Random) -> str:
    """An attribute more, with another value than it has where it is not given."""
    lines = [m for m in _CALL.finditer(text) if m[1] in _DEFAULTS]
    if not lines:
        return text
    line = choose.choice(lines)
    names = [name for name in _DEFAULTS[line[1]] if f" {name}=" not in line[0]]
    if not names:
        return text
    name = choose.choice(names)
    default = _DEFAULTS[line[1]][name]
    numbers = [choose.choice((0, 1, 1, 2, -1)) for _ in range(choose.choice((1, 2, 2, 4)))]
    if isinstance(default, bool):
        value: Any = not default
    elif isinstance(default, float):
        value = choose.choice((default / 2, 2 * default, default + 1, -1.0))
    elif isinstance(default, int):
        value = default + choose.choice((1, 1, 2, -1))
    else:
        value = choose.choice((numbers, numbers, numbers[0]))
    return _replaced(text, line.end() - 1, line.end(), f", {name}={value})")


def _format(text: str, choose: random.Random) -> str:
    """Another format in one place, or another type of real numbers everywhere."""
    places = [*_FORMAT.finditer(text)]
    reals = [each for each in ("f16", "f32", "f64") if each in text]
    if reals and (not places or choose.random() < 0.3):
        return text.replace(choose.choice(reals), choose.choice(("f16", "f32", "f64", "i32")))
    if not places:
        return text
    place = choose.choice(places)
    sign, width, fraction = place[1], int(place[2]), int(place[3])
    changed = choose.choice(
        [
            ("u" if sign == "s" else "s", width, fraction),
            (sign, max(1, width - 1), fraction),
            (sign, width + 1, fraction),
            (sign, choose.choice((1, 2, 8, 12, 13, 16, 24, 32, 40, 47, 48)), fraction),
            (sign, width, fraction + choose.choice((-1, 1, -fraction))),
        ]
    )
    return _replaced(text, *place.span(), "{}{}f{}".format(*changed))


def _size(text: str, choose: random.Random) -> str:
    """Another size of an input, or another open one."""
    places = [*re.finditer(r"= input\(\) : [^\n]*?(\[[^\]]*\])", text)]
    if not places:
        return text
    place = choose.choice(places)
    sizes = place[1][1:-1].split(",")
    at = choose.randrange(len(sizes))
    old, new = sizes[at], choose.choice(("N", "1", "2", "3", "4", "6", "0", "M"))
    sizes[at] = new
    if old == "N" or choose.random() < 0.5:  # of all that has it
        return re.sub(rf"(?<=[\[,]){re.escape(old)}(?=[\],])", new, text)
    return _replaced(text, *place.span(1), f"[{','.join(sizes)}]")


def _op(text: str, choose: random.Random) -> str:
    """An op of the same kind."""
    places = [(m, kinds) for kinds in _ALIKE for kind in kinds for m in re.finditer(rf"(?<== ){kind}(?=\()", text)]
    if not places:
        return text
    place, kinds = choose.choice(places)
    return _replaced(text, *place.span(), choose.choice(kinds))


def _operand(text: str, choose: random.Random) -> str:
    """Operands the other way round, one less, or another one."""
    places = [m for m in _OPERANDS.finditer(text) if "," in m[1] and m[1].count(", ")]
    if not places:
        return text
    place = choose.choice(places)
    operands = [each for each in place[1].split(", ") if each]
    at, others = choose.randrange(len(operands)), re.findall(r"^(\w+) = ", text[: place.start()], re.MULTILINE)
    changed = choose.choice(
        [operands[::-1], [*operands[:at], choose.choice(others or operands), *operands[at + 1 :]], operands[:-1]]
    )
    trailing = ", " if place[1].endswith(", ") else ""
    return _replaced(text, *place.span(1), ", ".join(changed) + trailing)


def _bias(text: str, choose: random.Random) -> str:
    """A layer with a bias that had none."""
    for place in re.finditer(
        r"^\w+ = (conv|conv_transpose|linear)\(\w+, (\w+)(?=[,)])(?!, \w+[,)])", text, re.MULTILINE
    ):
        kind = re.search(rf"^{place[2]} = .*: (f\d+)\[(\d+),(\d+)", text, re.MULTILINE)
        if kind is not None:
            count = int(kind[3] if place[1] == "conv_transpose" else kind[2])
            value = ", ".join(f"{choose.randint(-8, 8) / 4}" for _ in range(count))
            line = f"further_bias = constant(value=[{value}]) : {kind[1]}[{count}]\n"
            return text[: place.start()] + line + place[0] + ", further_bias" + text[place.end() :]
    return text


def _reader(text: str, choose: random.Random) -> str:
    """A further reader of a value."""
    values = re.findall(r"^(\w+) = (?!output)", text, re.MULTILINE)
    return f"{text.rstrip()}\nfurther = output({choose.choice(values)})\n" if values else text


_CHANGES = (
    *(_number, _number, _number, _numbers, _numbers, _attribute, _attribute, _further_attribute),
    *(_format, _size, _op, _operand, _bias, _reader),
)
