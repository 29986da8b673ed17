"""Names of the platforms' interfaces, as their bindings for Python have them.

``ci/porting bindings`` writes those that `portmp port` goes by, names.json.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
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


def _declared_in(folder: Path) -> frozenset[str]:
    """Words of C headers, without those of comments; nothing where there are none."""
    paths = (path for path in sorted(folder.rglob("*.h*")) if not _OF_OTHERS & {*path.parts})
    texts = (path.read_text(errors="replace") for path in paths)
    plain = (re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL) for text in texts)
    return frozenset(word for text in plain for word in re.findall(r"\w+", text))


_OF_OTHERS = frozenset(("hip_prof_str.h", "nvidia_detail", "nvcc_detail"))
"""Headers that name functions which are not there on AMD."""
NVCC = "/usr/local/cuda/bin/nvcc"
_CUDA = re.compile(r"(cuda|cu|CU|nvrtc)[A-Z_]\w*|CU[a-z]\w+|make_cuda\w+")


def made() -> dict[str, Any]:
    """The content of names.json, from the bindings and the headers that are installed.

    What is stored stays: names that an older version had, and those of headers that are not here.
    """
    hip, cuda = bound_names("hip"), bound_names("cuda")
    stored = json.loads(names.FILE.read_text())
    wanted = re.compile(r"(hip|HIP)[A-Za-z_]")
    known = names._by_plain(n for n in hip if wanted.match(n) and not n.endswith("_st"))
    errors = {v: n for n, v in hip.items() if n.startswith("hipError") and isinstance(v, int)}
    by_value, of_cuda = {}, set(stored["cuda"])
    for name, value in cuda.items():
        if not _CUDA.fullmatch(name) or name in names._CALLED_OTHERWISE:
            continue
        is_error = name.startswith(("cudaError", "CUDA_ERROR_"))
        if not names._renamed(name, known) and is_error and errors.get(value) in known:
            by_value[name] = errors[value]
        else:
            of_cuda.add(name)
    toolkits = {Path(nvcc).resolve().parents[1] for nvcc in (shutil.which("nvcc"), NVCC) if nvcc}
    for name in {name for one in toolkits for name in _declared_in(one / "include")}:
        if _CUDA.fullmatch(name) and names._renamed(name, known):
            of_cuda.add(name)
    runtime = {n for n in known.values() if re.match(r"hip(?!blas|fft|rand|sparse|solver)[A-Z]", n)}
    of_rocm_5 = _declared_in(Path("/usr/include/hip"))
    return {
        "hip": sorted(set(known.values())),
        "cuda": sorted(of_cuda - set(by_value)),
        "by_value": dict(sorted(by_value.items())),
        "later": sorted(runtime - of_rocm_5) if of_rocm_5 else stored.get("later", []),
    }


if __name__ == "__main__":
    names.FILE.write_text(json.dumps(made(), indent=0) + "\n", encoding="utf-8")
