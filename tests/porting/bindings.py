"""Names of the platforms' interfaces, as their bindings for Python have them.

``ci/porting bindings`` writes those that `portmp port` goes by, names.json.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from portmp.compilers.hiprtc import find_library, findable
from portmp.errors import BackendUnavailable
from portmp.porting import names
from portmp.porting.sources import of_type, parsed, text_of, walk
from portmp.porting.tables import table


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
    return frozenset(
        word for text in _plain(folder.rglob("*.h*")) for word in re.findall(r"\w+", text)
    )


def _plain(paths: Iterable[Path]) -> Iterator[str]:
    for path in sorted(path for path in paths if not _OF_OTHERS & {*path.parts}):
        text = path.read_text(errors="replace")
        yield re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


_DECLARED_AS = re.compile(
    r"(?:[{,(]|\b(?:struct|union|enum|define)\b)\s*([A-Za-z]\w*)|\b([A-Za-z]\w*)\s*[(;]"
)
"""Enumerators, tags, macros, functions, types: no parameters, whose names stand behind a type."""


def _names_of(paths: Iterable[Path]) -> frozenset[str]:
    """What headers declare."""
    found = (_DECLARED_AS.finditer(text) for text in _plain(paths))
    return frozenset(one[1] or one[2] for some in found for one in some)


def toolkits() -> list[Path]:
    """Folders of NVIDIA's headers."""
    found = (Path(nvcc).resolve().parents[1] for nvcc in (shutil.which("nvcc"), NVCC) if nvcc)
    return sorted({one / "include" for one in found if (one / "include/cuda.h").exists()})


def _of_runtime(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.h") if _OF_RUNTIME.fullmatch(path.name)]


def names_of_runtime(folder: Path) -> frozenset[str]:
    """What programs can name of CUDA's runtime and driver, kernels' part of it too."""
    found = _names_of(_of_runtime(folder))
    return frozenset(n for n in found if _CUDA.fullmatch(n) and not _INNER.search(n))


def members(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Members of the structures that headers declare, those of structures inside of them too."""
    found: dict[str, set[str]] = {}
    for text in _plain(paths):
        root = parsed(re.sub(r"\b__device_builtin__\b", " ", text).encode())
        for node in of_type(list(walk(root)), "struct_specifier"):
            inner = walk(node.child_by_field_name("body"))
            fields = {text_of(one) for one in inner if one.type == "field_identifier"}
            outer = node.parent
            defined = outer is not None and outer.type == "type_definition"
            called = [text_of(node.child_by_field_name("name"))]
            called += map(text_of, outer.children_by_field_name("declarator") if defined else ())
            for name in called if fields else ():
                found.setdefault(name, set()).update(fields)
    return found


def members_told() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Members of CUDA's structures that HIP's of that name have not, by headers and by the table.

    Of HIP's headers here; nothing where they or NVIDIA's are not.
    """
    of_hip = members(_ROCM.rglob("*.h"))
    missing: dict[str, set[str]] = {}
    for folder in toolkits():
        for kind, fields in members(_of_runtime(folder)).items():
            other = names.hip_name(kind) or ""
            held = of_hip.get(other) or of_hip.get(other.removesuffix("_t"))
            if other and held:
                missing[kind] = {one for one in fields - held if one != "reserved"}
    told = {kind: {*f" {row[1]} {row[2]}".split()} for kind, row in table("members").items()}
    return missing, told


_OF_RUNTIME = re.compile(
    r"cuda(_device_runtime_api|_gl_interop|_runtime|_runtime_api|Profiler|GL)?\.h|cuComplex\.h"
    r"|(driver|texture|surface|library)_types\.h|channel_descriptor\.h"
)
_INNER = re.compile(r"_pt[sd][sz]$|_v\d(_st)?$|_enum$|_H_?$|_HAS_BEEN_DEFINED$|^CU(DA)?_FORCE")
"""What none names: forms of functions by their streams, old versions, tags, guards."""


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
    of_rocm_5 = _declared_in(_ROCM)
    every = {*hip, *_names_of(_ROCM.rglob("*.h"))}
    wanted_names = (n for n in every if wanted.match(n) and not n.endswith("_st"))
    known = names._by_plain(sorted(wanted_names, key=lambda name: (name in of_rocm_5, name)))
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
    for folder in toolkits():
        of_runtime = names_of_runtime(folder)
        for name in _declared_in(folder):
            if name in of_runtime or (_CUDA.fullmatch(name) and names._renamed(name, known)):
                of_cuda.add(name)
    of_cuda -= by_value.keys()
    reached = {names._renamed(name, known) for name in of_cuda} | set(by_value.values())
    alike = set(map(names._letters, reached))
    kept = {n for n in known.values() if names._letters(n) in alike or _OF_LIBRARIES.match(n)}
    reached |= kept | {*names._CALLED_OTHERWISE.values()} & set(known.values())
    later = {n for n in reached if not _OF_LIBRARIES.match(n)} - of_rocm_5
    return {
        "hip": sorted(kept),
        "cuda": sorted(of_cuda),
        "by_value": dict(sorted(by_value.items())),
        "later": sorted(later) if of_rocm_5 else stored.get("later", []),
    }


_ROCM = Path("/usr/include/hip")
_OF_LIBRARIES = re.compile(r"(?i)hip(blas|fft|rand|sparse|solver|rtc)")
"""Names whose counterparts no list of CUDA's has: those of the runtime that none leads to go."""


if __name__ == "__main__":
    names.FILE.write_text(json.dumps(made(), indent=0) + "\n", encoding="utf-8")
