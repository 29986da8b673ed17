"""Compilers: rendered source to machine code and its resource report, without a device."""
