"""Number formats: their registry, encodings in memory, conversions."""

from portmp.formats.registry import (
    ACCURACIES,
    NAMES,
    ROLES,
    ROUNDINGS,
    STANDARD,
    STORAGE,
    STORED,
    Accumulator,
    Format,
    get,
    has_bounds,
    norms,
    rounded_as,
    wider,
    with_bound,
)

__all__ = [
    "ACCURACIES",
    "NAMES",
    "ROLES",
    "ROUNDINGS",
    "STANDARD",
    "STORAGE",
    "STORED",
    "Accumulator",
    "Format",
    "get",
    "has_bounds",
    "norms",
    "rounded_as",
    "wider",
    "with_bound",
]
