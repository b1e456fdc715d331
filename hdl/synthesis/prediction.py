"""placeholder while being written"""

from collections.abc import Mapping
from typing import Any

from graphrewrite.hdl.synthesis.family import Family, Usage


def predicted_usage(component: Mapping[str, Any], family: Family) -> Usage:
    """Predict."""
    r = component["resources"]
    return Usage(lut=8 * r["adders"], ff=r["registers"], dsp=r["multipliers"])
