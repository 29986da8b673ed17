"""Names of the platforms' interfaces, as their bindings for Python have them.

``ci/porting bindings`` writes those that `portmp port` goes by, names.json.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from portmp.compilers.hiprtc import find_library, findable
from portmp.errors import BackendUnavailable
from portmp.porting import names


@lru_cache(maxsize=4)
def bound_names(of: str) -> Mapping[str, Any]:
    """Names of a platform's interfaces, from its bindings for Python; enumerators with values."""
    return _cuda_names() if of == "cuda" else _hip_names()


def _cuda_names() -> dict[str, Any]:
    try:
        from cuda.bindings import driver, nvrtc, runtime
    except ImportError as error:
        raise BackendUnavailable(f"cuda-bindings is missing: {error}") from None
    return _with_enumerators([runtime, driver, nvrtc])


def _hip_names() -> dict[str, Any]:
    """Of all libraries that hip-python describes; values where the runtime's library is here."""
    found: dict[str, Any] = {}
    stubs = importlib.util.find_spec("rocm")
    for folder in (stubs.submodule_search_locations or ()) if stubs else ():
        for path in Path(folder, "bindings").glob("*.pyi"):
            found |= dict.fromkeys(_DECLARED.findall(path.read_text(encoding="utf-8")))
    if not found:
        raise BackendUnavailable("hip-python is missing: pip install hip-python[libraries]")
    if find_library("amdhip64"):
        with findable("amdhip64"):
            from hip import hip, hiprtc
        found |= _with_enumerators([hip, hiprtc])
    return found


_DECLARED = re.compile(r"^(?:def |class | *)(hip\w+|rocm\w+|HIP\w+)\s*[(:=]", re.MULTILINE)


def _with_enumerators(modules: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in modules:
        for name, value in vars(module).items():
            found[name] = value
            if isinstance(value, type) and hasattr(value, "__members__"):
                found.update({k: int(v) for k, v in value.__members__.items()})
    return found


def made() -> dict[str, Any]:
    """The content of names.json, from the bindings that are installed."""
    hip, cuda = bound_names("hip"), bound_names("cuda")
    wanted = re.compile(r"(hip|HIP)[A-Za-z_]")
    known = names._by_plain(n for n in hip if wanted.match(n) and not n.endswith("_st"))
    errors = {v: n for n, v in hip.items() if n.startswith("hipError") and isinstance(v, int)}
    by_value, missing = {}, []
    for name, value in cuda.items():
        if not re.match(r"(cuda|cu|CU|nvrtc)[A-Z_]", name) or name in names._CALLED_OTHERWISE:
            continue
        if names._renamed(name, known):
            continue
        if name.startswith(("cudaError", "CUDA_ERROR_")) and errors.get(value) in known:
            by_value[name] = errors[value]
        else:
            missing.append(name)
    return {
        "hip": sorted(set(known.values())),
        "cuda": sorted(missing),
        "by_value": dict(sorted(by_value.items())),
    }


if __name__ == "__main__":
    names.FILE.write_text(json.dumps(made(), indent=0) + "\n", encoding="utf-8")
