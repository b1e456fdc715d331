"""Messages of protocol buffers with a field changed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["INTEGERS", "TEXTS", "change_field", "put", "sites"]

INTEGERS = (0, 1, -1, 2, 3, 7, 8, 9, 16, 17, 23, 99, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, math.inf, -math.inf, math.nan)
TEXTS = (
    *("", " ", "x", "y", "N", "-1", "2*N", "N//0", "N+", "?1", "?a", "x:1", "a.b", "N" * 3000, "../../x", "/dev/zero"),
    *("\u202etxt", "é", "\x00", "\n", "e\u0301", "'); drop", "__class__", "input", "constant", "{0}", "%s", "\ud7ff"),
    *("weights.bin", ".", "..", "Relu", "If", "Loop", "Scan", "Reshape", "Constant", "ai.onnx", "com.microsoft", "f"),
)


_Site = tuple[Any, Any]


def sites(message: Any) -> Iterator[_Site]:
    """Every message in a model with each of its fields, set or not."""
    pending = [message]
    while pending:
        here = pending.pop()
        for field in here.DESCRIPTOR.fields:
            yield here, field
        for field, value in here.ListFields():
            if field.message_type is not None:
                pending.extend(value if field.is_repeated else [value])


def _scalar(field: Any, old: Any, rng: random.Random, names: list[str]) -> Any:
    kind = field.cpp_type
    if field.type == field.TYPE_BYTES:
        cut = old[: rng.randrange(len(old) + 1)] if old else b""
        return rng.choice([b"", cut, old + b"\0\1\2", b"\xff" * 4, rng.choice(TEXTS).encode(), bytes(64)])
    if kind == field.CPPTYPE_STRING:
        return rng.choice([rng.choice(TEXTS), rng.choice(names), rng.choice(names), old + "_", old[:-1]])
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice(_FLOATS)
    value = rng.choice([*INTEGERS, old + 1, old - 1, old * 2, rng.randrange(30)])
    low, high = (-(2**63), 2**63 - 1) if kind == field.CPPTYPE_INT64 else (-(2**31), 2**31 - 1)
    if kind == field.CPPTYPE_ENUM:
        return rng.choice([value.number for value in field.enum_type.values])
    if kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        low = 0
    return min(max(value, low), high)


def put(values: Any, messages: list[Any]) -> None:
    """Replace repeated messages by others, some perhaps of the same."""
    copies = []
    for message in messages:
        copies.append(type(message)())
        copies[-1].CopyFrom(message)
    del values[:]
    values.extend(copies)


def change_field(model: Any, rng: random.Random, names: list[str]) -> str:
    """Change a field of a message or of one that it holds; return what."""
    # Fields that are set are more likely to matter than those that are not.
    every = list(sites(model))
    filled = [(m, f) for m, f in every if (len(getattr(m, f.name)) if f.is_repeated else m.HasField(f.name))]
    message, field = rng.choice(filled if filled and rng.random() < 0.85 else every)
    where = f"{message.DESCRIPTOR.name}.{field.name}"
    if field.message_type is not None:
        alike = [m for m, _ in every if m.DESCRIPTOR is field.message_type]
        other = type(alike[0])() if alike else None
        if other is not None:
            other.CopyFrom(rng.choice(alike))
        if field.is_repeated:
            return f"{_rearrange(getattr(message, field.name), other, rng)} {where}"
        if other is None or rng.random() < 0.4:
            message.ClearField(field.name)
            return f"clear {where}"
        getattr(message, field.name).CopyFrom(other)
        return f"replace {where}"
    if field.is_repeated:
        values = list(getattr(message, field.name))
        default = "" if field.cpp_type == field.CPPTYPE_STRING else 0
        how = rng.choice(["set", "set", "drop", "double", "shuffle", "clear"])
        if how == "set" or not values:
            at = rng.randrange(len(values) + 1)
            old = values[at] if at < len(values) else (b"" if field.type == field.TYPE_BYTES else default)
            values[at : at + 1] = [_scalar(field, old, rng, names)]
        elif how == "drop":
            del values[rng.randrange(len(values))]
        elif how == "double":
            values *= 2
        elif how == "shuffle":
            rng.shuffle(values)
        else:
            values = []
        del getattr(message, field.name)[:]
        getattr(message, field.name).extend(values)
        return f"{how} {where}"
    if rng.random() < 0.15:
        message.ClearField(field.name)
        return f"clear {where}"
    value = _scalar(field, getattr(message, field.name), rng, names)
    setattr(message, field.name, value)
    return f"set {where} = {value!r:.40}"


def _rearrange(values: Any, other: Any, rng: random.Random) -> str:
    how = rng.choice(["drop", "double", "shuffle", "insert", "swap"])
    if how == "insert" or not values:
        if other is not None:
            values.append(other)
        return "insert in"
    at, to = rng.randrange(len(values)), rng.randrange(len(values))
    changed = list(values)
    if how == "drop":
        del changed[at]
    elif how == "double":
        changed.append(changed[at])
    elif how == "swap":
        changed[at], changed[to] = changed[to], changed[at]
    else:
        rng.shuffle(changed)
    put(values, changed)
    return f"{how} in"
