"""Programs over memory: each op computes into a region; rules then make regions few."""

from graphrewrite.lowering.memory.memory_lowering import lower_to_memory

__all__ = ["lower_to_memory"]
