"""Values of generics as VHDL reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.ghdl import simulator as ghdl


@pytest.mark.ghdl
def test_ghdl_reads_every_integer(tmp_path: Path) -> None:
    # GHDL 2.0 takes literals from 2147483600 to 2147483629 for an overflow.
    ends = [2**31 - 1 - k for k in range(60)]
    numbers = np.array([0, -1, 10**9, *ends, *(-n for n in ends), -(2**31)])
    bench = tmp_path / "numbers.vhd"
    wanted = " and ".join(f"V({i}) = {literal(int(n))}" for i, n in enumerate(numbers))
    text = "".join(f"{value} " for value in numbers)
    bench.write_text(
        "entity numbers is\nend entity;\narchitecture a of numbers is\n"
        f"  constant V : integer_vector := {literal(numbers, indent=4)};\nbegin\n  process\n  begin\n"
        f"    assert {wanted} severity failure;\n"
        "    for i in V'range loop\n      report \"is \" & integer'image(V(i));\n    end loop;\n    wait;\n"
        "  end process;\nend architecture;\n"
    )
    told = ghdl.run([bench], "numbers", folder=tmp_path)
    assert [line.rpartition("is ")[2] for line in told.splitlines() if "is " in line] == text.split()


@pytest.mark.parametrize("size", [0, 1, 2147483598, 2147483599, 2147483600, 2**31 - 1, 2**31])
def test_a_number_is_one_literal_or_the_sum_of_two_that_ghdl_reads(size: int) -> None:
    for number in (-size, size) if size < 2**31 else (-size,):
        terms = [int(term) for term in literal(number).replace("+ ", "").replace("- ", "-").split()]
        assert sum(terms) == number
        assert max(map(abs, terms)) <= 2147483599
        assert len(terms) == 1 + (size > 2147483599)
