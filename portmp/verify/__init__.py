"""Digests of results: the cases, those recorded, and the command that compares them."""
