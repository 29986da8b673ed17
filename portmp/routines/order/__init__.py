"""Orders: sorting, searching, where extrema are."""
