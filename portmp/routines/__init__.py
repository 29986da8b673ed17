"""Routines on devices, a folder each: schedules, launches, search spaces, the host's reference."""
