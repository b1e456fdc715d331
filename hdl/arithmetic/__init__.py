"""Arithmetic that components share: matrix products over steps, networks of adders, constants of each channel."""
