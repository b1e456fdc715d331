"""Folding: how many multipliers each layer gets, and how many lanes the streams between layers have.

`foldings` lists the ways to spread one matrix product over cycles, `refold_graph` builds a stream graph with one of
them chosen for each, and `fold` chooses: by hand, for an interval, or within a budget.
"""
