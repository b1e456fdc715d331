"""Proofs: rules decided for all values of their inputs, by z3 on bit-vectors."""
