"""Traits by compute capability, whichever platform leads to the device."""

from collections.abc import Iterable


def _capability(arch: str) -> int:
    """90 for ``sm_90``; 0 for what is called otherwise."""
    number = arch.removeprefix("sm_")
    return int(number) if number != arch and number.isdigit() else 0


def dot4(arch: str) -> str:
    """The trait: the instruction came with 6.1."""
    return "assembly" if _capability(arch) >= 61 else "plain"


def exchange(arch: str) -> str:
    """The trait where no built-in function is the shuffle, which came with 3.0."""
    return "assembly" if _capability(arch) else "memory"


def matrix_unit(arch: str, known: Iterable[str]) -> str:
    """The trait, if it is *known* to a platform: with 8.0, larger ones with 9.0; since CDNA 2."""
    number = _capability(arch)
    found = "16x8x4" if number >= 90 else "8x8x4" if number >= 80 else _UNITS.get(arch, "")
    return found if found in known else ""


_UNITS = dict.fromkeys(("gfx90a", "gfx942"), "16x16x4")
"""AMD's architectures that have one; those that are known here."""
