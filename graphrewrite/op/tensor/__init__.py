"""Ops on tensors of any numbers: arithmetic, comparisons, reductions, and ops that move entries."""
