"""What a synthesis tool makes of a constant matrix product without multipliers, for predicting what it takes.

Yosys adds neighbouring products at once: a row of partial products for each bit of a factor, which carry-save adders
bring down to two numbers, and a carry chain that adds these. What several sums need is formed once, and so is a product
that is shifted; sums of sums are carry chains.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import batched
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
