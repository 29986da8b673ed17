"""Gravity in extended precision: the experiments of a paper."""
