"""What `prove` says of every exact rule of the library for whole numbers: the table ``docs/proofs.md``.

Run as a module, it writes the table.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from graphrewrite import Rule, hdl, lowering, rules
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.testing import prove
from graphrewrite.testing.proof.proof import Proof

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"
NUMBERS = MANTISSAS | {"bool"}
INSTANCES, EFFORT = 2, 200_000

_KINDS = {
    r"applied to none of 0 graphs": "it is about floats: no graph of whole numbers has its pattern",
    r"applied to none of (\d+) graphs": "its guard declines all graphs that were generated",
    r"no graph that contains": "no graph is generated: a table among its attributes has no generator",
    r"z3 gave up": "z3 gives up",
    r"not every path|needs to know a number|looked up by its hash|argument of": "its code needs to know a number",
    r"types are not followed|unhashable": "its types depend on a number as a key, which is not followed",
    r"numpy that they do not": "z3 and numpy disagree: neither proves it",
    r"handles errors|is not followed": "its code handles errors, or calls code that is not followed",
    r"some are no whole numbers|some have more|some are of": "an attribute is no whole number, or a table",
    r"rounds|holds \d+ bits exactly|no exact arithmetic|exponent of ldexp": "floats in it round",
    r"has a state": "an op in it has a state",
}
_OTHER = "a function in it is not translated to z3"
_TOO_LARGE = "its constants make terms that z3 does not finish to build"
UNDECIDED = frozenset(
    {
        "lowering.composite.fixed_point.write_lookup_by_gather",
        "lowering.prequantised.stored_rescaling.lower_rescaled_sum",
        "lowering.prequantised.sums_and_products.lower_sum_steps",
        "lowering.streaming.constant_sources.map_from_constant",
        "lowering.streaming.constant_sources.map_with_constant",
        "rules.indices.narrow_constant_indices",
        "rules.limits.leave_out_limit",
        "rules.quantised.pick_stored",
        "rules.signs.drop_sign_before_even",
    }
)
"""Rules that are not tried: z3's units of work do not count what it takes to build its terms."""


class Row(NamedTuple):
    """What is said of a rule: the verdict, and why it is not proved."""

    verdict: str
    reason: str

    @classmethod
    def of(cls, proof: Proof) -> Row:
        """Return what a proof says, without what differs from one checkout to the other."""
        if proof.verdict == "refuted":
            return cls("refuted", str(proof.counterexample and proof.counterexample.reason))
        reasons: dict[str, list[str]] = {}
        for name, why in proof.sampled.items():
            reasons.setdefault(_kind(why), []).append(name)
        sampled = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in reasons.items())
        return cls(proof.verdict, _kind(proof.why) if proof.why else sampled)


def _kind(why: str) -> str:
    """Return a reason by its kind, with the number of graphs on which it rests, if it does."""
    for pattern, kind in _KINDS.items():
        if found := re.search(pattern, why):
            return " ".join((kind, *(f"({count})" for count in found.groups())))
    return _OTHER


@cache
def exact_rules() -> Mapping[str, Rule]:
    """All exact rules of three packages, by module and name."""
    found = {}
    for package in (rules, lowering, hdl):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for rule in vars(importlib.import_module(info.name)).values():
                if isinstance(rule, Rule) and rule.keeps == "exact":
                    found[f"{rule.__module__.removeprefix('graphrewrite.')}.{rule.name}"] = rule
    return dict(sorted(found.items()))


def said_of(name: str) -> Row:
    """Return what `prove` says of a rule."""
    if name in UNDECIDED:
        return Row("unknown", _TOO_LARGE)
    return Row.of(prove(exact_rules()[name], elements=NUMBERS, instances=INSTANCES, effort=EFFORT))


def written(rows: Mapping[str, Row]) -> str:
    """Return the page."""
    counts = Counter(row.verdict for row in rows.values())
    lines = [
        "# Proofs of the library's rules",
        "",
        f"What `prove` says of {len(rows)} exact rules, all in `rules`, `lowering` and `hdl` (which has none),",
        "for whole numbers, with constants and whole-numbered attributes as symbols,",
        f"on {INSTANCES} graphs each and with {EFFORT:,} units of z3's work for a question.",
        "Of rules that make streams the values alone are proved; `check` compares cycles.",
        "A test compares this page with what is said today; `python -m tests.testing.proof.library_rules` writes it.",
        "",
        "| verdict | rules |",
        "|---|---|",
        *(f"| {verdict} | {count} |" for verdict, count in sorted(counts.items())),
        "",
        "| why not | rules |",
        "|---|---|",
        *(f"| {kind} | {count} |" for kind, count in _causes(rows)),
        "",
        "| rule | verdict | of what, and why not |",
        "|---|---|---|",
        *(f"| `{name}` | {row.verdict} | {row.reason} |" for name, row in rows.items()),
        "",
    ]
    return "\n".join(lines)


def _causes(rows: Mapping[str, Row]) -> list[tuple[str, int]]:
    """Return each reason, with the number of rules of which it is one."""
    kinds = [*dict.fromkeys(_KINDS.values()), _OTHER, _TOO_LARGE]
    counts = {kind: sum(kind in row.reason for row in rows.values()) for kind in kinds}
    return [(kind, count) for kind, count in counts.items() if count]


def read() -> dict[str, Row]:
    """Return the rows of the page."""
    cells = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {name.strip("`"): Row(verdict, *(reason or [""])) for name, verdict, *reason in cells}


if __name__ == "__main__":
    found = {}
    for each in exact_rules():
        found[each] = said_of(each)
        sys.stderr.write(f"{each}: {found[each]}\n")
    PAGE.write_text(written(found))
