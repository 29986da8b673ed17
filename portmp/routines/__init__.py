"""Routines: what runs on planes. One file a routine: checks, definition, launches."""
