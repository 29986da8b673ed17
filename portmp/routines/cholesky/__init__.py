"""Cholesky factors of positive definite matrices, by blocks."""
