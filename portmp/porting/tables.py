"""Tables of what CUDA's names, types and headers are elsewhere: tables.toml."""

import re
import tomllib
from functools import cache, lru_cache
from typing import Any

from portmp.paths import PACKAGE


@cache
def _all() -> dict[str, dict[str, Any]]:
    return tomllib.loads((PACKAGE / "porting/tables.toml").read_text(encoding="utf-8"))


def table(name: str) -> dict[str, Any]:
    """One of them."""
    return _all()[name]


def named(key: str) -> frozenset[str]:
    """One of the sets of names."""
    return frozenset(table("names")[key].split())


@lru_cache(maxsize=65536)
def row(name: str, text: str) -> Any:
    """What a table says by the first pattern that matches a whole text; None without one."""
    return next((says for p, says in table(name).items() if re.fullmatch(p, text)), None)
