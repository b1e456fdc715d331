"""Legal, unique, stable VHDL identifiers from names that nobody vouches for."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["KEYWORDS", "NameTable", "comment", "identifier", "telling"]

KEYWORDS = frozenset(
    """
    abs access after alias all and architecture array assert assume assume_guarantee attribute begin block body buffer
    bus case component configuration constant context cover default disconnect downto else elsif end entity exit
    fairness file for force function generate generic group guarded if impure in inertial inout is label library linkage
    literal loop map mod nand new next nor not null of on open or others out package parameter port postponed procedure
    process property protected pure range record register reject release rem report restrict restrict_guarantee return
    rol ror select sequence severity shared signal sla sll sra srl strong subtype then to transport type unaffected
    units until use variable vmode vprop vunit wait when while with xnor xor
    """.split()  # noqa: SIM905 - a list of words reads better as text
)
"""Reserved words of VHDL (IEEE 1076-2008, 15.10)."""

_DECLARED = frozenset(
    """
    bit bit_vector boolean character clk false ieee integer integer_vector line natural now numeric_std positive
    real rst signed std std_logic std_logic_1164 std_logic_vector string text textio time true unsigned work
    """.split()  # noqa: SIM905 - a list of words reads better as text
)
_LONGEST = 48


def identifier(name: str) -> str:
    """Return the nearest legal identifier: lower case, letters, digits and single underscores, a letter first.

    Examples
    --------
    >>> identifier("/conv1/Conv"), identifier("../../x"), identifier("signal"), identifier("7é"), identifier("")
    ('conv1_conv', 'x', 'signal_n', 'n_7e', 'n')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = "_".join(re.findall(r"[a-z0-9]+", plain)) or "n"
    if not words[0].isalpha():
        words = f"n_{words}"
    words = words[:_LONGEST].rstrip("_")
    return f"{words}_n" if words in KEYWORDS | _DECLARED else words


def comment(text: str) -> str:
    r"""Return text that is safe after ``--``: printable ASCII on one line, at most 200 characters.

    Examples
    --------
    >>> comment("a\nend; é")
    'a\\nend; \\xe9'
    """
    safe = ascii(text)[1:-1].replace("\\'", "'")
    return safe if len(safe) <= 200 else safe[:197] + "..."


class NameTable:
    """Gives each name an identifier of its own; VHDL does not tell upper from lower case.

    Examples
    --------
    >>> table = NameTable(["top"])
    >>> [table.give(name) for name in ("Top", "a/b", "A_B", "a b")]
    ['top_2', 'a_b', 'a_b_2', 'a_b_3']
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in reserved}

    def give(self, name: str) -> str:
        """Return an identifier for a name that no earlier call has returned."""
        stem = identifier(name)
        candidate, count = stem, 1
        while candidate in self._taken:
            count += 1
            candidate = f"{stem}_{count}"
        self._taken.add(candidate)
        return candidate


def telling(origins: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return for each node which of its origins to call it after: the first, or if many share that, the rarest.

    Examples
    --------
    >>> telling({"a": ("scale", "conv"), "b": ("scale", "relu"), "c": ("fc",), "d": ("fc",)})
    {'a': 'conv', 'b': 'relu', 'c': 'fc', 'd': 'fc'}
    """
    shared = Counter(name for origin in origins.values() for name in set(origin))
    few = max(len(origins) // 3, 1)
    return {
        node: origin[0] if shared[origin[0]] <= few else min(origin, key=lambda name: shared[name])
        for node, origin in origins.items()
    }
