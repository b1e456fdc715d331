"""Files of profiles: JSON with a line for each value. What is wrong in a file that was edited is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ProfileError
from graphrewrite.lowering.quantisation.value_histogram import BINS, ValueHistogram

if TYPE_CHECKING:
    from graphrewrite.lowering.quantisation.value_profile import ValueProfile

__all__ = ["read_profile", "write_profile"]

_SCHEMA, _VERSION = "graphrewrite value profile", 1
_HEAD = {"schema": str, "version": int, "model": str, "fingerprint": str, "samples": int, "values": dict}
_VALUE = ("range", "low", "high", "zeros", "width", "first", "counts")
_HINT = 'to change what quantising takes, give the value a "range": [low, high], and leave the histogram as it is'


def write_profile(profile: ValueProfile, path: Path) -> None:
    """Write a profile to a file."""
    head = {
        "schema": _SCHEMA,
        "version": _VERSION,
        "model": profile.model,
        "fingerprint": profile.fingerprint,
        "samples": profile.samples,
    }
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    rows = []
    for name, values in profile.values.items():
        data: dict[str, Any] = {"range": list(profile.ranges[name])} if name in profile.ranges else {}
        data |= {"low": values.low, "high": values.high, "zeros": values.zeros, "width": values.width}
        data |= {"first": values.first, "counts": values.counts.tolist()}
        rows.append(f"    {json.dumps(name)}: {json.dumps(data)}")
    path.write_text("\n".join(["{", *lines, '  "values": {', ",\n".join(rows), "  }", "}", ""]), "utf-8")


def read_profile(path: Path) -> dict[str, Any]:
    """Return the fields of a profile in a file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.json")])
        raise ProfileError(f"there is no file {str(path)!r}{near}; `graphrewrite profile` writes one") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ProfileError(f"{str(path)!r} is no JSON file that can be read ({error})") from None
    if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
        raise ProfileError(f"{str(path)!r} is no profile; `graphrewrite profile` writes one")
    if found.get("version") != _VERSION:
        raise ProfileError(
            f"{str(path)!r} is of version {found.get('version')!r}, and this is graphrewrite for version {_VERSION}; "
            "gather it again, or update the older of the two"
        )
    for key, kind in _HEAD.items():
        if not isinstance(found.get(key), kind):
            raise ProfileError(f"{str(path)!r}: {key!r} is missing or no {kind.__name__}; gather the profile again")
    _refuse_unknown(found, _HEAD, str(path))
    values, ranges = {}, {}
    for name, data in found["values"].items():
        where = f"{str(path)!r}, {name!r}"
        if not isinstance(data, dict):
            raise ProfileError(f"{where} is {data!r}, not a histogram; {_HINT}")
        _refuse_unknown(data, _VALUE, where)
        values[name] = _histogram(data, where)
        if "range" in data:
            ranges[name] = tuple(data["range"]) if isinstance(data["range"], list) else data["range"]
    fields = {key: found[key] for key in ("model", "fingerprint", "samples")}
    return {**fields, "values": values, "ranges": ranges}


def _refuse_unknown(data: dict[str, Any], known: Any, where: str) -> None:
    for key in data:
        if key not in known:
            raise ProfileError(f"{where} has {key!r}, which is nothing of a profile{did_you_mean(key, known)}")


def _histogram(data: dict[str, Any], where: str) -> ValueHistogram:
    for key in _VALUE[1:]:
        if key not in data:
            raise ProfileError(f"{where} has no {key!r}; {_HINT}")
    ends, whole, counts = (data["low"], data["high"]), (data["zeros"], data["first"]), data["counts"]
    if not all(_is_number(end) and np.isfinite(end) for end in ends) or ends[0] > ends[1]:
        raise ProfileError(f"{where}: 'low' and 'high' are {ends[0]!r} and {ends[1]!r}, and no ends of values; {_HINT}")
    is_whole = all(isinstance(number, int) and not isinstance(number, bool) for number in whole)
    if not is_whole or whole[0] < 0 or not isinstance(counts, list) or len(counts) > 2 * BINS:
        raise ProfileError(f"{where}: its histogram is broken; {_HINT}")
    if not all(isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**62 for count in counts):
        raise ProfileError(f"{where}: counts are whole numbers from 0; {_HINT}")
    made = ValueHistogram(float(ends[0]), float(ends[1]), whole[0], np.array(counts, np.int64), whole[1])
    if not made.fits or data["width"] != made.width:
        raise ProfileError(f"{where}: its bins do not lie between 'low' and 'high'; {_HINT}")
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
