"""Memories of 100,000 words and more: GHDL reads them, and they are what the numpy meaning says."""

import numpy as np
import pytest

from graphrewrite.hdl.checking import check_component
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.lookup import LOOKUP, lookup
from graphrewrite.types import FixedPoint, Stream


@pytest.mark.ghdl
def test_a_table_for_each_of_25_channels() -> None:
    x = Stream(FixedPoint(True, 12), (25, 4), 1)
    tables = np.random.default_rng(3).integers(-128, 128, (25, 4096))
    site = Site.of(lookup, x, table=tables, low=-2048, element=FixedPoint(True, 8))
    assert LOOKUP.resources(site).memory_bits == 25 * 4096 * 8
    assert check_component(LOOKUP, corners=[site], count=0).configurations == 1
