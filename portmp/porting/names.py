"""Names of CUDA's interfaces in HIP.

Most change their prefix alone. Which names of HIP there are is in names.json, made from the
bindings for Python: ``ci/porting bindings`` writes it again.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from portmp.paths import PACKAGE
from portmp.porting.tables import named, table

FILE = PACKAGE / "porting/names.json"

HEADERS: dict[str, str] = table("headers")
"""Headers that have another name in HIP; other headers of Thrust and of C++ keep theirs."""
DEFINED: dict[str, str] = table("defined")
"""What compilers and headers define, so that programs can ask for them."""
_CALLED_OTHERWISE: dict[str, str] = table("called") | DEFINED

_PREFIXES = (
    *((r"cudaDevAttr(?=[A-Z])", "hipDeviceAttribute"), (r"CU_JIT(?=_)", "hipJitOption")),
    *((r"CU_DEVICE_ATTRIBUTE(?=_)", "hipDeviceAttribute"), (r"cuda(?=[A-Z])", "hip")),
    *(
        (rf"{cuda}{n}(?={after})", f"{hip}{n}")
        for n in ("blas", "fft", "rand", "sparse", "solver")
        for cuda, hip, n, after in (("CU", "HIP", n.upper(), "_"), ("cu", "hip", n, "[A-Z]"))
    ),
    *((r"NVRTC(?=_)", "HIPRTC"), (r"nvrtc(?=[A-Z])", "hiprtc"), (r"cu(?=[A-Z])", "hip")),
    (r"CU(DA)?(?=_(?!ERROR_|VERSION))|CU(?=[a-z])", "HIP"),
)


def defaults(name: str, given: int) -> tuple[str, ...]:
    """What must be added to a call with so many arguments."""
    least, *values = table("defaults").get(name, (0,))
    return tuple(values[given - least :]) if given >= least else ()


def header(name: str) -> str:
    """What a header is called in HIP; nothing for one that keeps its name, or has none there."""
    alike = (other for p, other in table("headers_alike").items() if re.fullmatch(p, name))
    return HEADERS.get(name) or next(alike, "")


POINTERS = {"cudaMallocPitch": 0, "cudaHostGetDevicePointer": 0, "cudaGetSymbolAddress": 0}
"""Functions that take a pointer to a pointer to anything in CUDA alone: at which place."""


@cache
def _known() -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    sets = {key: frozenset(found[key]) for key in ("cuda", "later")}
    return found | {"hip": _by_plain(found["hip"]), **sets}


def _by_plain(some: Iterable[str]) -> dict[str, str]:
    """Names by how they are compared, and by their letters alone where no two have the same."""
    some = list(some)
    loose: dict[str, list[str]] = {}
    for name in some:
        loose.setdefault(_letters(name), []).append(name)
    return {f"~{k}": n[0] for k, n in loose.items() if len(n) == 1} | {_plain(n): n for n in some}


def _letters(name: str) -> str:
    return name.lower().replace("_", "")


def _plain(name: str) -> str:
    """A name as it is compared: MultiProcessorCount is MultiprocessorCount in HIP."""
    return name.lower() if name.startswith("hipDeviceAttribute") else name


def _renamed(name: str, known: Mapping[str, str]) -> str:
    """By the change of a prefix, if HIP has that name; else nothing."""
    for prefix, other in _PREFIXES:
        changed = re.sub(f"^{prefix}", other, name)
        key = f"~{_letters(changed)}" if prefix.startswith("CU_") else _plain(changed)
        if changed != name and key in known:
            return known[key]
    return _by_letters(name, known)


def _by_letters(name: str, known: Mapping[str, str]) -> str:
    """Constants and types of the driver's: CU_STREAM_NON_BLOCKING, CUmemLocation."""
    found = re.match(r"CUDA_(?=[A-Z]+[_0-9])|CU_|CU(?=[a-z])", name)
    if not found:
        return ""
    rest = _letters(name[found.end() :])
    return next((known[key] for key in (f"~hip{rest}", f"~hip{rest}t") if key in known), "")


@cache
def hip_name(name: str) -> str | None:
    """What a name of CUDA is called in HIP; nothing ('') where CUDA has it and HIP has not;
    None for a name that is not known to be CUDA's.
    """
    if name in _CALLED_OTHERWISE:
        return _CALLED_OTHERWISE[name]
    if re.match(r"CUBLASLT_|cublasLt[A-Z]", name):  # no bindings for Python tell of them
        return re.sub("^cu", "hip", re.sub("^CU", "HIP", name))
    if re.fullmatch(r"cu(blas)?[A-Z]\w*_v2", name):
        return hip_name(name.removesuffix("_v2"))
    if re.fullmatch(r"(CU[a-z]|cuda[A-Z])\w*_enum", name):
        return hip_name(name.removesuffix("_enum"))  # the tag of an enumeration
    known = _known()
    found = known["by_value"].get(name) or _renamed(name, known["hip"])
    if re.match(r"cu(da)?[A-Z]|CU(DA)?_|CU[a-z]|make_cuda|nvrtc", name):
        return found if name in known["cuda"] | known["by_value"].keys() else None
    return found or ("" if name in known["cuda"] else None)


def later(name: str) -> str:
    """What a name of CUDA is called in HIP, where ROCm 5.2 has not got it yet."""
    other = hip_name(name) or ""
    return other if other in _known()["later"] | named("later_templates") else ""
