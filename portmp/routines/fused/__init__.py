"""Expressions of elementwise operations as one kernel, with a reduction at the end or without."""
