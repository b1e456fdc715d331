"""What makes two graphs equal, with names and without, and a hash that equal graphs share."""

from graphrewrite.structure.structure import (
    Describe,
    describe_data,
    describe_edge,
    equals,
    inner_hashes,
    structure_hash,
)

__all__ = ["Describe", "describe_data", "describe_edge", "equals", "inner_hashes", "structure_hash"]
