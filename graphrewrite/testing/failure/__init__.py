"""Explanations of a failure: values on the edges, the first node that differs, the rule that caused it, a test."""
