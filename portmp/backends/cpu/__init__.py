"""Processors by a plain clang, without any driver."""
