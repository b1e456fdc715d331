"""Exact arithmetic on mantissas: fixed point, integer products, tables, thresholds."""
