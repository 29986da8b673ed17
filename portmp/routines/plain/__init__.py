"""Elementwise operations on plain integers and truth values."""
