"""Triangular systems and products, and what factorisations by blocks are made of."""
