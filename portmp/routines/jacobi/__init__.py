"""Jacobi's method: symmetric matrices become diagonal, columns orthogonal."""
