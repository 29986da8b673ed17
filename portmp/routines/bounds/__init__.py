"""Bounds of errors beside results of products and sums."""
