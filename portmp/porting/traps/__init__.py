"""Traps in CUDA sources: where an entry of the reference applies, and with what certainty."""
