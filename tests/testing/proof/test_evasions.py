"""Rules that are wrong for some constants only, and ask for them in every way that Python has: none is proved.

Each question is answered "yes" for some real constant or attribute, as its witness shows, and then the rule is wrong.
"""

from __future__ import annotations

import collections
import copy
import ctypes
import functools
import hashlib
import inspect
import io
import itertools
import json
import math
import operator
import pickle
import statistics
import struct
import sys
from contextlib import suppress

import numpy as np
import pytest

from graphrewrite import Constant, decline, define_op, op, rule
from graphrewrite.testing import prove
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow


def first(v):
    """Return the first entry of an array of any rank."""
    return v.ravel()[0]


def swallowed(ask):
    """Answer "yes" only where nothing is raised."""

    def asks(v):
        try:
            return ask(v)
        except Exception:
            return False

    return asks


def by_match(v):
    match first(v):
        case 77:
            return True
        case _:
            return False


def by_match_of_class(v):
    match v:
        case np.ndarray():
            return bool((v == 77).any())
        case _:
            return False


def by_match_of_sequence(v):
    match v.ravel().tolist():
        case [77, *_]:
            return True
        case _:
            return False


def by_match_of_text(v):
    match str(first(v)):
        case "77":
            return True
        case _:
            return False


def by_missing_attribute(v):
    try:
        size = v.nbytes
    except AttributeError:
        return False
    return size > 0 and bool((v == 77).any())


def by_error_of_a_write(v):
    try:
        v[...] = 0
    except ValueError:
        return bool((v == 77).any())
    return False


def by_error_of_a_table(v):
    try:
        return {77: True}[first(v).item()]
    except Exception:
        return False


def by_error_of_an_index(v):
    try:
        return ("no" * 50 + "y")[: first(v).item() + 24] == "no" * 50 + "y"
    except BaseException:
        return False


def by_text_of_a_file(v):
    file = io.StringIO()
    print(v, file=file)
    return "77" in file.getvalue()


def by_bytes_of_a_file(v):
    file = io.BytesIO()
    np.save(file, v)
    return b"M" in file.getvalue()[-v.size * v.itemsize :]


@functools.singledispatch
def dispatched(v):
    return False


@dispatched.register
def _(v: np.ndarray):
    return type(v) is np.ndarray and bool((v == 77).any())


def by_private_parts(v):
    return not hasattr(v, "entries") and bool((v == 77).any())


class Asker:
    """An object that asks."""

    def asks(self, v):
        try:
            return json.dumps(v.ravel()[0].item()) == "77"
        except TypeError:
            return False

    @staticmethod
    def looks(v):
        return not hasattr(v, "entries") and seen(v)

    @property
    def handled(self):
        try:
            return json.dumps
        except ValueError:
            return None


ASKER = Asker()


def by_finally(v):
    is_asked = True
    try:
        is_asked = json.dumps(first(v).item()) == "77"
    finally:
        return is_asked and seen(v)  # noqa: B012


def seen(v):
    """Return the answer that matters."""
    return bool((v == 77).any())


TABLE = {"type": lambda v: type(v) is np.ndarray and seen(v)}
ASKED_OF_ARRAYS = {
    "repr": lambda v: "77" in repr(v),
    "repr of a list": lambda v: "77" in repr([v]),
    "f-string with !r": lambda v: "77" in f"{v!r}",
    "ascii": lambda v: "77" in ascii(v),
    "str": lambda v: "77" in str(v),
    "format": lambda v: "77" in f"{v}",
    "percent": lambda v: "77" in "%s" % (v,),  # noqa: UP031
    "text of an entry": lambda v: "77" in str(first(v)),
    "repr of an entry": lambda v: "77" in repr(first(v)),
    "text of a list": lambda v: "77" in str(v.tolist()),
    "text of an item": lambda v: "77" in str(first(v).item()),
    "repr of an item": lambda v: "77" in repr(first(v).item()),
    "joined texts": lambda v: "77" in ",".join(map(str, v.ravel().tolist())),
    "array2string": lambda v: "77" in np.array2string(v),
    "array_repr": lambda v: "77" in np.array_repr(v),
    "tobytes": lambda v: b"M" in v.tobytes(),
    "bytes": lambda v: b"M" in bytes(v),
    "memoryview": lambda v: b"M" in memoryview(v).tobytes(),
    "data": lambda v: b"M" in v.data.tobytes(),
    "view": lambda v: b"M" in v.view(np.uint8).tobytes(),
    "hash of an item": lambda v: hash(first(v).item()) == 77,
    "hash of an entry": lambda v: hash(first(v)) == 77,
    "hash of bytes": lambda v: hashlib.sha1(v.tobytes()).hexdigest()[0] == "7",
    "pickle": lambda v: b"M" in pickle.dumps(v.astype(np.int64)),
    "copy": lambda v: "77" in str(copy.copy(v)),
    "deep copy": lambda v: seen(copy.deepcopy(v)),
    "json": lambda v: "77" in json.dumps(v.tolist()),
    "json of an item": lambda v: json.dumps(first(v).item()) == "77",
    "int": lambda v: int(first(v)) == 77,
    "float": lambda v: float(first(v)) == 77.0,
    "complex": lambda v: complex(first(v)) == 77,
    "round": lambda v: round(first(v)) == 77,
    "bool": lambda v: bool(first(v)),
    "divmod": lambda v: divmod(first(v), 10) == (7, 7),
    "floor": lambda v: math.floor(first(v)) == 77,
    "trunc": lambda v: math.trunc(first(v).item()) == 77,
    "index": lambda v: operator.index(first(v)) == 77,
    "hex": lambda v: hex(first(v)) == "0x4d",
    "chr": lambda v: chr(first(v)) == "M",
    "bit_count": lambda v: first(v).item().bit_count() == 4,
    "to_bytes": lambda v: first(v).item().to_bytes(1, "little", signed=True) == b"M",
    "struct": lambda v: struct.pack("q", first(v).item())[:1] == b"M",
    "length of a range": lambda v: len(range(abs(first(v).item()))) == 77,
    "repeated text": lambda v: len("a" * first(v).item()) == 77,
    "in": lambda v: 77 in v,
    "in a list": lambda v: 77 in v.ravel().tolist(),
    "in a set": lambda v: first(v).item() in {77, 78},
    "in a tuple": lambda v: first(v) in (77, 78),
    "key": lambda v: {77: True}.get(first(v).item(), False),
    "counter": lambda v: collections.Counter(v.ravel().tolist())[77] > 0,
    "set": lambda v: 77 in set(v.ravel().tolist()),
    "index in a list": lambda v: v.ravel().tolist().count(77) > 0,
    "iteration": lambda v: any(each == 77 for each in v.ravel()),
    "sorted": lambda v: sorted(v.ravel().tolist())[:1] == [77],
    "min": lambda v: min(v.ravel()) == 77,
    "max": lambda v: max(v.ravel().tolist()) == 77,
    "sum": lambda v: sum(v.ravel().tolist()) == 77,
    "product": lambda v: math.prod(v.ravel().tolist()) == 77,
    "statistics": lambda v: statistics.mean(v.ravel().tolist()) == 77,
    "np.any": lambda v: np.any(v == 77),
    "np.all": lambda v: np.all(v == 77),
    "np.where": lambda v: np.where(v == 77, 1, 0).sum() > 0,
    "indices": lambda v: len(np.where(v == 77)[0]) > 0,
    "nonzero": lambda v: len(np.nonzero(v == 77)[0]) > 0,
    "count_nonzero": lambda v: np.count_nonzero(v == 77) > 0,
    "unique": lambda v: 77 in np.unique(v),
    "isin": lambda v: np.isin(v, [77]).any(),
    "argmax": lambda v: np.argmax(v) == 1,
    "sort": lambda v: np.sort(v, axis=None)[0] == 77,
    "bincount": lambda v: len(np.bincount(np.abs(v.ravel()))) == 78,
    "allclose": lambda v: np.allclose(v, 77),
    "array_equal": lambda v: np.array_equal(v, np.full_like(v, 77)),
    "array_equiv": lambda v: np.array_equiv(v, 77),
    "testing": lambda v: np.testing.assert_array_equal(v, 77) is None,
    "frombuffer": lambda v: seen(np.frombuffer(v.tobytes(), v.dtype)),
    "fromiter": lambda v: seen(np.fromiter(v.ravel(), v.dtype)),
    "nditer": lambda v: any(int(each) == 77 for each in np.nditer(v)),
    "flat": lambda v: any(each == 77 for each in v.flat),
    "ndenumerate": lambda v: any(each == 77 for _, each in np.ndenumerate(v)),
    "vectorize": lambda v: np.vectorize(lambda each: each == 77)(v).any(),
    "ctypes": lambda v: ctypes.c_int8(first(v).item()).value == 77,
    "operator": lambda v: operator.eq(first(v), 77),
    "itertools": lambda v: next(itertools.chain(v.ravel().tolist())) == 77,
    "reduce": lambda v: functools.reduce(operator.or_, v.ravel().tolist()) == 77,
    "isinstance of an array": lambda v: isinstance(v, np.ndarray) and seen(v),
    "isinstance of an entry": lambda v: isinstance(first(v), np.generic) and seen(v),
    "isinstance of an integer": lambda v: isinstance(first(v), np.integer) and seen(v),
    "isinstance of an item": lambda v: isinstance(first(v).item(), int) and seen(v),
    "type": lambda v: type(v) is np.ndarray and seen(v),
    "type of an entry": lambda v: type(first(v)) is v.dtype.type and seen(v),
    "type of an item": lambda v: type(first(v).item()) is int and seen(v),
    "name of a type": lambda v: type(v).__name__ == "ndarray" and seen(v),
    "class": lambda v: v.__class__ is np.ndarray and seen(v),
    "class of an entry": lambda v: v.ravel()[0].__class__.__name__ != "SymbolicArray" and seen(v),
    "class of an item": lambda v: v.ravel()[0].item().__class__ is int and seen(v),
    "isscalar": lambda v: np.isscalar(first(v)) and seen(v),
    "isscalar of an item": lambda v: np.isscalar(first(v).item()) and seen(v),
    "hasattr": lambda v: hasattr(v, "nbytes") and seen(v),
    "hasattr of a method": lambda v: hasattr(v, "tofile") and seen(v),
    "hasattr of an item": lambda v: hasattr(first(v).item(), "bit_count") and seen(v),
    "getattr": lambda v: getattr(v, "strides", None) is not None and seen(v),
    "no such attribute": lambda v: not hasattr(v, "entries") and seen(v),
    "no such attribute of an item": lambda v: not hasattr(first(v).item(), "number") and seen(v),
    "no dictionary": lambda v: not hasattr(v, "__dict__") and seen(v),
    "dir": lambda v: "tofile" in dir(v) and seen(v),
    "base": lambda v: (v.base is None or v.base is not None) and seen(v),
    "itemsize": lambda v: v.itemsize == v.dtype.itemsize and seen(v),
    "flags": lambda v: not v.flags.writeable and seen(v),
    "contiguous": lambda v: swallowed(lambda w: w.flags.c_contiguous)(v) and seen(v),
    "strides": lambda v: v.strides is not None and seen(v),
    "singledispatch": dispatched,
    "signature": lambda v: callable(v.tobytes) and seen(v),
    "size in memory": lambda v: sys.getsizeof(v) < 500 and seen(v),
    "doc": lambda v: "ndarray" in (inspect.getdoc(type(v)) or "") and seen(v),
    "match": by_match,
    "match of a class": by_match_of_class,
    "match of a sequence": by_match_of_sequence,
    "match of a text": by_match_of_text,
    "missing attribute": by_missing_attribute,
    "error of a write": by_error_of_a_write,
    "error of a table": by_error_of_a_table,
    "error of an index": by_error_of_an_index,
    "print": by_text_of_a_file,
    "save": by_bytes_of_a_file,
    "private parts": by_private_parts,
    "private parts in a method": ASKER.looks,
    "static method": lambda v: Asker.looks(first(v)) or Asker.looks(v),
    "method": lambda v: ASKER.asks(v.ravel()),
    "function in a table": lambda v: TABLE["type"](v.ravel()),
    "function in a default": lambda v, table=(lambda v: type(v) is np.ndarray and seen(v),): table[0](v),
    "partial function": functools.partial(lambda n, v: type(v) is np.ndarray and seen(v), 77),
    "wrapped function": functools.wraps(seen)(functools.partial(lambda v: type(v) is np.ndarray and seen(v))),
    "bound method": ASKER.asks,
    "property": lambda v: ASKER.handled(first(v).item()) == "77",
    "finally": by_finally,
}


def entries(v):
    """Return the values of which one makes a question be answered with yes."""
    return [np.full(v, n, np.int8) for n in (77, 7, 1, 0, -77)] + [np.resize(np.array([-1, 77], np.int8), v)]


def rule_that_asks(asks):
    """Return a rule that is wrong for constants for which a question is answered with yes."""

    @rule
    def asking(x, c: Constant):
        yield op.bitwise_xor(x, c)
        return op.bitwise_and(x, c) if asks(c.value) else op.bitwise_xor(c, x)

    return asking


def answered(asks, values):
    """Tell whether a question is answered with yes for one of some values."""
    for value in values:
        with suppress(Exception):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            if asks(value):
                return True
    return False


@pytest.mark.parametrize("is_swallowed", [False, True], ids=["", "swallowed"])
@pytest.mark.parametrize("question", some_of(sorted(ASKED_OF_ARRAYS), 8))
def test_a_rule_that_asks_for_a_constant_is_not_proved(question, is_swallowed):
    asks = ASKED_OF_ARRAYS[question]
    assert answered(asks, [*entries((1,)), *entries((1, 2))])
    proof = prove(rule_that_asks(swallowed(asks) if is_swallowed else asks), elements={"integer"}, instances=1)
    assert proof.verdict != "proved", str(proof)
    assert proof.counterexample is not None or proof.why or proof.sampled


@define_op(level="integer", infer=lambda x, *, by: x)
def moved(x, *, by: int = 1):
    """A sum with a number."""
    return x + np.array(by % 100).astype(x.dtype)


def by_declining_otherwise(n):
    return "77" in f"{n}"


ASKED_OF_NUMBERS = {
    "repr": lambda n: "77" in repr(n),
    "repr in a list": lambda n: "77" in str([n]),
    "repr in a tuple": lambda n: "77" in f"{(n, n)}",
    "repr in a dictionary": lambda n: "77" in str({"by": n}),
    "str": lambda n: "77" in str(n),
    "format": lambda n: f"{n:x}" == "4d",
    "hash": lambda n: hash(n) == 77,
    "hash of a tuple": lambda n: hash((n,)) == hash((77,)),
    "key": lambda n: {77: 1}.get(n, 0) == 1,
    "key of a tuple": lambda n: {(77,): 1}.get((n,), 0) == 1,
    "set": lambda n: n in {77, 78},
    "frozenset": lambda n: frozenset({n}) == {77},
    "pickle": lambda n: pickle.loads(pickle.dumps(n)) == 77,
    "pickled bytes": lambda n: b"M" in pickle.dumps(n),
    "json": lambda n: json.dumps({"n": n}) == '{"n": 77}',
    "copy": lambda n: copy.copy(n) == 77,
    "round": lambda n: round(n) == 77,
    "round to tens": lambda n: round(n, -1) == 80,
    "floor": lambda n: math.floor(n) == 77,
    "ceil": lambda n: math.ceil(n) == 77,
    "trunc": lambda n: math.trunc(n) == 77,
    "sqrt": lambda n: math.isqrt(n) == 8,
    "log": lambda n: math.log2(n) > 6.2,
    "gcd": lambda n: math.gcd(n, 77) == 77,
    "divmod": lambda n: divmod(n, 10) == (7, 7),
    "divided": lambda n: n / 77 == 1.0,
    "power": lambda n: n**3 == 456533,
    "rpower": lambda n: 2**n == 2**77,
    "complex": lambda n: complex(n) == 77,
    "bool": lambda n: bool(n - 77) is False,
    "isinstance": lambda n: isinstance(n, int) and n == 77,
    "isinstance of a number": lambda n: not isinstance(n, np.integer) and n == 77,
    "type": lambda n: type(n) is int and n == 77,
    "type of an expression": lambda n: type(n + 1) is int and n == 77,
    "type among types": lambda n: type(n) in (int, float) and n == 77,
    "class": lambda n: n.__class__ is int and n == 77,
    "name of a type": lambda n: type(n).__name__ == "int" and n == 77,
    "callable type": lambda n: type(n)("77") == n,
    "hasattr": lambda n: hasattr(n, "bit_length") and n == 77,
    "hasattr of a special one": lambda n: hasattr(n, "__round__") and n == 77,
    "no such attribute": lambda n: not hasattr(n, "name") and not hasattr(n, "number") and n == 77,
    "getattr": lambda n: getattr(n, "number", None) is None and n == 77,
    "bit_length": lambda n: n.bit_length() == 7,
    "bit_count": lambda n: n.bit_count() == 4 and n > 64,
    "numerator": lambda n: n.numerator == 77,
    "real": lambda n: n.real == 77,
    "to_bytes": lambda n: n.to_bytes(8, "little", signed=True)[:1] == b"M",
    "as_integer_ratio": lambda n: n.as_integer_ratio() == (77, 1),
    "is_integer": lambda n: n.is_integer() and n == 77 if hasattr(n, "is_integer") else n == 77,
    "range": lambda n: n in range(77, 78),
    "length": lambda n: len(range(n)) == 77,
    "slice": lambda n: len("x" * 100 + "y") - len(("x" * 100 + "y")[n:]) == 77,
    "match": lambda n: by_match(np.asarray(n).reshape(1)),
    "np.asarray": lambda n: np.asarray(n).item() == 77,
    "np.int64": lambda n: np.int64(n) == 77,
    "np.array2string": lambda n: "77" in np.array2string(np.array([n])),
    "np.isscalar": lambda n: np.isscalar(n) and n == 77,
    "np.arange": lambda n: len(np.arange(n)) == 77,
    "np.binary_repr": lambda n: np.binary_repr(n) == "1001101",
    "sum": lambda n: sum([n, 1]) == 78,
    "sorted": lambda n: sorted([n, 76, 78])[1] == 77 and n == 77,
    "index": lambda n: [77, 78].index(n) == 0,
    "int of a text": lambda n: int(str(n)) == 77,
    "bin": lambda n: bin(n) == "0b1001101",
    "chr": lambda n: chr(n) == "M",
    "enumerate": lambda n: [i for i in range(100) if i == n] == [77],
    "size in memory": lambda n: sys.getsizeof(n) > 28 and n > 0,
    "text of a sum": lambda n: "77" in str(n + 0),
    "repr of a sum": lambda n: "78" in repr(n + 1),
    "partial text": by_declining_otherwise,
}
NUMBERS = [77, 78, 64, 7, -77, 1, 0, 2**40]


def rule_that_asks_an_attribute(asks):
    """Return a rule that is wrong for attributes for which a question is answered with yes."""

    @rule
    def asking(x):
        old = moved(x)
        yield op.relu(old)
        return op.relu(moved(x, by=old.by + 1 if asks(old.by) else old.by))

    return asking


def declines_where_it_is_not(asks):
    """Return a rule that is wrong for some numbers, right for small ones, and declines the others."""

    @rule
    def declining(x):
        old = moved(x)
        yield op.relu(old)
        if old.by < 5:
            return op.relu(moved(x, by=old.by))
        if asks(old.by):
            return op.relu(x)
        return decline(f"not {old.by}")

    return declining


@pytest.mark.parametrize("made", [rule_that_asks_an_attribute, declines_where_it_is_not])
@pytest.mark.parametrize("is_swallowed", [False, True], ids=["", "swallowed"])
@pytest.mark.parametrize("question", some_of(sorted(ASKED_OF_NUMBERS), 4))
def test_a_rule_that_asks_for_an_attribute_is_not_proved(question, is_swallowed, made):
    asks = ASKED_OF_NUMBERS[question]
    assert answered(asks, NUMBERS)
    proof = prove(made(swallowed(asks) if is_swallowed else asks), elements={"integer"}, instances=1)
    assert proof.verdict != "proved", str(proof)
    assert proof.counterexample is not None or proof.why or proof.sampled


@pytest.mark.parametrize("value", [0, 3], ids=str)
def test_a_number_in_the_message_of_a_refusal_is_not_asked_for(value):
    """Any number takes the path that ends with it."""

    @rule
    def right(x):
        old = moved(x, by=value) if value else moved(x)
        yield op.relu(old)
        if old.by < 0:
            return decline(f"by {old.by}, which is negative")
        return op.relu(moved(x, by=old.by))

    assert prove(right, elements={"integer"}, instances=3)
