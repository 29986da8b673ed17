"""OpenCL C to machine code of this processor with a plain clang: no driver, headers or libraries.

The text is compiled as it is. A prelude declares what work-items know, ``opencl_builtins`` the
functions that it names, and behind it stand entries for the loader: ``portmp_run_NAME`` does blocks
of a kernel whose work-items need not meet, one after the other; a kernel with barriers has
``portmp_call_NAME``, which does one work-item, and block memory of each thread.
"""

import os
import platform as machine
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from portmp import paths
from portmp.compilers import opencl_builtins, tools
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import BackendUnavailable, CompileError

PRELUDE = Path(__file__).with_name("opencl_prelude.h")
OLDEST = 17
_DEBIAN = "on Debian and Ubuntu apt-get install"

STACK_OF_FIBRE, STACK = 200_000, 8_000_000
"""Bytes of variables that a kernel may have; pool.c has some more on its stacks."""

_KERNEL = re.compile(r"__kernel [^\n]*?(\w+)\($", re.MULTILINE)
_SIZES = re.compile(r"reqd_work_group_size\((\d+), (\d+), (\d+)\)")
_SINGLE = "reqd_work_group_size(1, 1, 1)"
_MEETS = re.compile(r"\b(work_group_)?barrier\s*\(|\b(__)?local\b")
_ASKS = re.compile(r"\bget_(local|global|group|num)_\w+\s*\(")
_CONTRACTS = re.compile(r"FP_CONTRACT\s+(?!OFF\b)\w+")
_THREADS = re.compile(
    r"^(@(?:portmp_item_|portmp_blocks_)\b[^\n=]*= internal "
    r"|@[^\n=]*= internal (?=[^\n]* undef\b))",
    re.MULTILINE,
)
"""In LLVM's text, variables of each thread: what work-items know, and memory of blocks."""
_PLACED = re.compile(
    r"(?<!__constant )\b(?!return\b|else\b)[A-Za-z_]\w*\s+\w+\s*\["  # double t[
    r"|[,*]\s*\w+\s*\[[^\]]*\]\s*[;,=]"  # double s, t[4];
    r"|[=?:)]\s*&\s*[A-Za-z_]"  # double *p = &s;
)
"""What may be variables at places in memory: arrays, but for tables, and pointers to one."""
_RUNS = re.compile(r"^define [^\n]*@portmp_run_(\w+)\((.*?)^}", re.MULTILINE | re.DOTALL)
_KEPT = " = alloca "
"""In LLVM's text, what does the blocks of a kernel; memory that a work-item needs for itself."""

_TABLES_RIGHT = 23


def _bytes_with(mask: int, value: int, *, equal: bool = True) -> bytes:
    """A class of bytes for regular expressions: those whose bits under a mask are this, or not."""
    found = [rb"\x%02x" % byte for byte in range(256) if (byte & mask == value) == equal]
    return b"[" + b"".join(found) + b"]"


_MASKED_TABLE = re.compile(
    b"\x62" + _bytes_with(15, 3) + _bytes_with(7, 5) + _bytes_with(7, 0, equal=False) + b"\x25"
)
"""VPTERNLOG with a mask, which only AVX-512 has. Before version 23 LLVM gives some of them the
truth table of operands in another order (its issue 157929): a choice of copysign(x, y) or y goes
wrong. Such code is compiled again, without AVX-512.
"""


@dataclass(frozen=True)
class Clang:
    """A clang's command, its version, and a linker's command."""

    command: tuple[str, ...]
    version: str
    linker: tuple[str, ...]


def _candidates() -> Iterator[Clang]:
    """Clangs that may be there: the user's, pip's, the system's, which takes longer to start."""
    if named := os.environ.get("PORTMP_CLANG"):
        yield _with_linker(named)
        return
    spec = find_spec("ziglang")
    if spec is not None and spec.origin:
        program = Path(spec.origin).with_name("zig.exe" if os.name == "nt" else "zig")
        yield Clang((str(program), "clang"), "", (str(program), "ld.lld"))
    for path in tools.versioned_tools("clang"):
        yield _with_linker(str(path))


def _linkers() -> list[str]:
    """The system's, which start sooner than clang does, where they need no options."""
    names = ("ld.lld", "ld") if sys.platform == "linux" else ()
    return [str(found) for name in names for found in tools.versioned_tools(name)]


def _with_linker(path: str) -> Clang:
    """A clang of the system's."""
    return Clang((path,), "", tuple(_linkers()[:1]) or (path, "-nostdlib"))


def found() -> Iterator[Clang]:
    """Those that are new enough, the best first; BackendUnavailable says what installs one."""
    tried, none = [], True
    for one in _candidates():
        major, line = tools.version_of(one.command)
        if major >= OLDEST:
            none = False
            yield Clang(one.command, line, one.linker)
        else:
            tried.append(f"{' '.join(one.command)}: {line}")
    if none and (named := os.environ.get("PORTMP_CLANG")):
        raise BackendUnavailable(
            f"PORTMP_CLANG={named} is no clang of at least {OLDEST}: {tried[0]}; unset it, or name "
            "one that is"
        )
    if none:
        because = f" ({'; '.join(tried)})" if tried else ""
        raise BackendUnavailable(f"no clang of at least version {OLDEST}{because}; {install()}")


def install() -> str:
    """What brings a compiler, or another one, of what is not there yet."""
    if os.environ.get("PORTMP_CLANG"):
        return "unset PORTMP_CLANG, or name another clang"
    ways = [] if find_spec("ziglang") else ["pip install '.[cpu]' in a checkout of portmp"]
    clangs = (str(path) for path in tools.versioned_tools("clang"))
    if not any(tools.version_of((path,))[0] >= OLDEST for path in clangs):
        ways.append(f"{_DEBIAN} clang-19")
    elif sys.platform == "linux" and not _linkers():
        ways.append(f"{_DEBIAN} lld-19, a linker")
    return ", or ".join(ways) or f"a clang of another version from {OLDEST} on, on PATH"


@cache
def features() -> str:
    """What the processor has, as the system tells it: code of one may be none of another."""
    facts = f"{sys.platform} {machine.machine()}"
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return f"{facts} {machine.processor()}"
    told = re.findall(r"^(?:vendor_id|cpu family|model|flags|Features|isa)\s*:.*", text, re.M)
    return f"{facts} {' '.join(dict.fromkeys(told))}"


@cache
def _own() -> str:
    """Digest of what is compiled beside the text."""
    files = (PRELUDE, Path(opencl_builtins.__file__), Path(__file__))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


class CpuCompiler(Compiler):
    """OpenCL C by one clang."""

    name = "clang"

    def __init__(self, clang: Clang) -> None:
        self._clang = clang

    def version(self) -> str:
        """Version line of clang, and digests of prelude and processor."""
        features_key = sha256(features().encode()).hexdigest()[:12]
        return f"{self._clang.version} prelude {_own()} processor {features_key}"

    def options(self, arch: str) -> tuple[str, ...]:
        """Options for an architecture: ``native``, ``x86-64-v3``, or a target by clang's name."""
        return (
            *((f"-march={arch}",) if arch.startswith(("native", "x86-64")) else ("-target", arch)),
            "-ffp-contract=off",
            "-fPIC",
            "-fno-stack-protector",
            "-fno-math-errno",
            "-Wno-everything",
            "-Werror=frame-larger-than",
        )

    def compile(self, source: str, arch: str) -> bytes:
        """A shared library with an entry for each kernel; messages place lines in ``<stdin>``."""
        return self._linked(self.object(source, arch))

    def library(self, source: str) -> bytes:
        """A shared library of freestanding C."""
        return self._linked(self.object_of_c(source))

    def object(self, source: str, arch: str) -> bytes:
        """What is linked to a library."""
        made = self._object(source, arch)
        here = arch == "native" and machine.machine() in ("x86_64", "AMD64")
        major = re.search(r"version (\d+)", self._clang.version)
        trusted = major and int(major[1]) >= _TABLES_RIGHT
        if trusted or not (here or arch.startswith("x86-64")) or not _MASKED_TABLE.search(made):
            return made
        return self._object(source, arch, "-mno-avx512f")

    def _object(self, source: str, arch: str, *more: str) -> bytes:
        if asked := _CONTRACTS.search(source):
            raise CompileError(
                f"{asked[0]}: what is contracted differs between processors; fma(x, y, z) says so"
            )
        text = _Text(source)
        with paths.temporary_folder("tool") as folder:
            builtins = folder / "builtins.h"
            builtins.write_text(opencl_builtins.definitions(source))
            language = [
                *("-x", "cl", "-cl-std=CL3.0", "-cl-no-stdinc", *_EXTENSIONS),
                *("-cl-fp32-correctly-rounded-divide-sqrt", *text.definitions()),
                *("-include", str(PRELUDE), "-include", str(builtins)),
            ]
            most = STACK_OF_FIBRE if text.fibres else STACK
            options = [*self.options(arch), *more, *text.optimisation]
            options.append(f"-Wframe-larger-than={most}")
            if not text.fibres:
                mixed: frozenset[str] = frozenset()
                if text.doubtful:
                    alone = self._made([*language, *options, "-emit-llvm", "-S"], text.whole(None))
                    mixed = frozenset(m[1] for m in _RUNS.finditer(alone.decode()) if _KEPT in m[2])
                return self._made([*language, *options, "-c"], text.whole(mixed))
            plain = ["-emit-llvm", "-S", "-Xclang", "-disable-llvm-passes"]
            listing = self._made([*language, *options, *plain], text.whole()).decode()
            return self._made(["-x", "ir", *options, "-c"], self._functions(listing))

    def _functions(self, listing: str) -> str:
        """LLVM's text with memory of blocks in each thread, and kernels as functions."""
        return _THREADS.sub(r"\1thread_local ", listing).replace(" spir_kernel ", " ")

    def object_of_c(self, source: str, *more: str) -> bytes:
        """The same of freestanding C, with *more* options."""
        options = ["-x", "c", "-std=c11", "-O2", "-fPIC", "-ffreestanding"]
        options += ["-fvisibility=hidden", "-fno-stack-protector", "-c"]
        return self._made([*options, *more], source)

    def _made(self, options: Sequence[str], source: str) -> bytes:
        """What clang makes of a text."""
        return tools.made([*self._clang.command, *options, "-"], source)

    def _linked(self, code: bytes) -> bytes:
        return self._joined("-shared", code)

    def _joined(self, how: str, *objects: bytes) -> bytes:
        """What the linker makes of objects."""
        with paths.temporary_folder("tool") as folder:
            given = [folder / f"{number}.o" for number in range(len(objects))]
            for file, content in zip(given, objects, strict=True):
                file.write_bytes(content)
            return tools.made([*self._clang.linker, how, *map(str, given)])

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        raise BackendUnavailable(
            "instructions of processors are not read; compile for the platform cuda or rocm"
        )

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """The kernels by name: what they take of a processor is not read."""
        return [KernelReport(n, arch, None, None, None, None, None) for n in kernels(binary)]


class ProgramCompiler(CpuCompiler):
    """OpenCL C to programs of one thread for another processor, which need nothing of a system.

    *main*: freestanding C with their beginning, which finds kernels in ``portmp_kernels``.
    """

    def __init__(self, clang: Clang, target: str, main: str) -> None:
        super().__init__(clang)
        self.target = target
        self._digest = sha256(main.encode()).hexdigest()[:12]
        self._main = paths.made(
            f"{self.version()}\0{target}", lambda: self.object_of_c(main, "-target", self.target)
        )

    def version(self) -> str:
        """Version line of clang, and digests of prelude, processor and programs' beginning."""
        return f"{super().version()} main {self._digest}"

    def _functions(self, listing: str) -> str:
        return listing.replace(" spir_kernel ", " ")

    def _linked(self, code: bytes) -> bytes:
        rows, lines = [], []
        for name in kernels(code):
            row = f"portmp_run_{name}", f"portmp_call_{name}", "portmp_here"
            lines += [f"extern __attribute__((weak)) char {entry}[];" for entry in row]
            rows.append(f"{{{', '.join(row)}, 0}}")
        kind = "struct { void *run, *call, *here; long each; }"
        lines.append(f"{kind} portmp_kernels[] = {{{', '.join(rows)}}};")
        table = self.object_of_c("\n".join(lines), "-fvisibility=default", "-target", self.target)
        return self._joined("-static", self._main, code, table)


_EXTENSIONS = (
    "-Xclang",
    "-cl-ext=+cl_khr_fp64,+__opencl_c_fp64,+__opencl_c_generic_address_space"
    ",+__opencl_c_program_scope_global_variables,+cl_khr_byte_addressable_store"
    ",+cl_khr_int64_base_atomics,+__cl_clang_function_pointers",
)


def kernels(binary: bytes) -> list[str]:
    """The kernels of a binary, in order."""
    # Not all begin a name: what constants of a function are called may end in it.
    return sorted({n.decode() for n in re.findall(rb"\bportmp_(?:run|call)_(\w+)\0", binary)})


@dataclass(frozen=True)
class _Parameter:
    """A kernel's parameter: its type and name, as the text has them."""

    type: str
    name: str

    def value(self, place: int) -> str:
        """What the entry gives for it."""
        if re.match(r"(__)?local\b", self.type):
            return f"({self.type})item_->block_memory"
        return f"*({self.type} *)(arguments_ + {8 * place})"


class _Text:
    """A text of OpenCL C: its kernels, and how their work-items are run."""

    def __init__(self, source: str) -> None:
        self._source = source
        heads = list(_KERNEL.finditer(source))
        self._kernels = {m[1]: _parameters(source, m.end()) for m in heads}
        self._sizes = {m[1]: _sizes(m[0]) for m in heads}
        self._several = len(heads) > source.count(_SINGLE)
        places = {m[1]: _body(source, m.end()) for m in heads}
        self._bodies = {name: source[slice(*place)] for name, place in places.items()}
        outside = source
        for body in self._bodies.values():
            outside = outside.replace(body, "", 1)
        meets = self._several and _MEETS.search(source) is not None
        self.fibres = meets or _ASKS.search(outside) is not None
        """Whether work-items may meet, or functions that are no kernels ask which they are."""

    @property
    def optimisation(self) -> list[str]:
        """Options by what they gain.

        Texts with a work-item a block have explicit vectors, which lose nothing by the level that
        takes half the time. Of loops over work-items vectors are made where all is inlined.
        """
        if not self._several:
            return ["-O1"]
        return ["-O2"] if self.fibres else ["-O2", "-mllvm", "-inline-threshold=20000"]

    def definitions(self) -> list[str]:
        """Options that define words of the language."""
        words = ["-Dreqd_work_group_size(x,y,z)=unused"]
        if self.fibres:
            return [*words, "-DPORTMP_FIBRES"]
        inlined = " inline __attribute__((always_inline))" if self._several else ""
        return [*words, f"-D__kernel=static{inlined}", "-D__local="]

    @property
    def doubtful(self) -> bool:
        """Whether turns of a loop over work-items may have variables at places in memory."""
        return self._several and not self.fibres and _PLACED.search(self._source) is not None

    def whole(self, mixed: frozenset[str] | None = frozenset()) -> str:
        """The text, on its own lines, and the entries.

        *mixed*: kernels whose work-items use one place in memory for variables of their own, so
        that a loop over them is no vector's; None where that is to be seen.
        """
        source, entry = self._source, _BLOCKS
        if self.fibres:
            entry = _ITEM
        else:
            source = _KERNEL.sub(lambda m: f"{m[0]}const portmp_item *portmp_item_, ", source)
        entries = []
        for name, parameters in self._kernels.items():
            taken = "".join(
                f"    {one.type} a{i}_ = {one.value(i)};\n" for i, one in enumerate(parameters)
            )
            known = [] if self.fibres else ["item_"]
            call = f"{name}({', '.join([*known, *(f'a{i}_' for i in range(len(parameters)))])});"
            pragma = "" if mixed and name in mixed else _ALONE if mixed is None else _TOGETHER
            run = self._items(name, call).replace("{pragma}", pragma) if self._several else call
            entries.append(
                entry.replace("{name}", name)
                .replace("{taken}", taken)
                .replace("{run}", run)
                .replace("{call}", call)
            )
        return "\n".join([source, *([_HERE] if self.fibres else []), *entries])

    def _items(self, name: str, call: str) -> str:
        """Statements that do all work-items of a block.

        Where the body begins by leaving out numbers of work-items from an extent on, blocks without
        such do not ask: stores by a mask take long.
        """
        x, y, z = sizes = self._sizes[name]
        loops = _ITEMS.replace("{x}", x).replace("{y}", y).replace("{z}", z)
        whole, tests = call, []
        macros = "\n".join(re.findall(r"^\s*#.*(?:\\\n.*)*", self._source, re.MULTILINE))
        for i, one in enumerate(self._kernels[name]):
            axis = _guarded(self._bodies[name], one, macros)
            if axis is not None:
                tests.append(f"(long)((item_->group[{axis}] + 1) * {sizes[axis]}) <= a{i}_")
                whole = re.sub(rf"\ba{i}_\b", "LONG_MAX", whole)
        if not tests:
            return loops.replace("{call}", call)
        quick, all_of = loops.replace("{call}", whole), loops.replace("{call}", call)
        return f"if ({' && '.join(tests)}) {{ {quick} }} else {{ {all_of} }}"


def _guarded(body: str, parameter: _Parameter, macros: str) -> int | None:
    """The axis along which a body's only use of an extent is to bound the number of work-items.

    *macros*: lines of the text that may use names of either.
    """
    name = parameter.name
    if parameter.type != "const long" or len(re.findall(rf"\b{name}\b", body)) != 1:
        return None
    test = re.search(rf"\bif \((?:[^()]* && )?(\w+) < {name}(?=\)| && )", body)
    if test is None:
        return None
    item = test[1]
    number = re.search(
        rf"\bconst long {item} = \(\(long\)\(int\)get_group_id\((\d)\) \* \d+ "
        rf"\+ \(int\)get_local_id\(\1\)\);",
        body,
    )
    # The number may have one declaration only: after a type, or a comma.
    declared = re.findall(rf"\b(?!return\b|case\b|else\b|goto\b)[A-Za-z_]\w*\s+{item}\b", body)
    more = re.search(rf",\s*{item}\s*=", body) or re.search(rf"\b({name}|{item})\b", macros)
    return int(number[1]) if number and len(declared) == 1 and not more else None


_HERE = """
__global portmp_item *portmp_here(__global portmp_blocks *blocks_)
{
    portmp_blocks_ = blocks_;
    return &portmp_item_;
}
"""

_ITEM = """
void portmp_call_{name}(const char *arguments_)
{
    __global portmp_item *const item_ = &portmp_item_;
{taken}    {call}
}
"""

_BLOCKS = """
void portmp_run_{name}(const char *arguments_, const portmp_blocks *blocks_)
{
    portmp_item known_, *const item_ = &known_;
    const ulong x_ = blocks_->groups[0], y_ = blocks_->groups[1];
    for (int axis_ = 0; axis_ < 3; axis_++) {
        item_->groups[axis_] = blocks_->groups[axis_];
        item_->size[axis_] = blocks_->size[axis_];
        item_->place[axis_] = 0;
    }
    item_->block_memory = blocks_->block_memory;
    item_->group[0] = blocks_->begin % x_;
    item_->group[1] = blocks_->begin / x_ % y_;
    item_->group[2] = blocks_->begin / (x_ * y_);
{taken}    for (long left_ = blocks_->end - blocks_->begin; left_ > 0; left_--) {
        {run}
        if (++item_->group[0] == x_) {
            item_->group[0] = 0;
            if (++item_->group[1] == y_) {
                item_->group[1] = 0;
                item_->group[2]++;
            }
        }
    }
}
"""

_ITEMS = """for (uint k_ = 0; k_ < {z}; k_++)
            for (uint j_ = 0; j_ < {y}; j_++) {
                {pragma}
                for (uint i_ = 0; i_ < {x}; i_++) {
                    portmp_item one_ = *item_, *const item_ = &one_;
                    item_->place[0] = i_;
                    item_->place[1] = j_;
                    item_->place[2] = k_;
                    {call}
                }
            }"""

_TOGETHER = '_Pragma("clang loop vectorize(assume_safety)")'
_ALONE = '_Pragma("clang loop vectorize(disable) unroll(disable)")'


def _sizes(head: str) -> tuple[str, str, str]:
    """Work-items of a block along each axis: numbers where the head tells them."""
    found = _SIZES.search(head)
    x, y, z = found.groups() if found else (f"blocks_->size[{axis}]" for axis in range(3))
    return x, y, z


def _parameters(source: str, start: int) -> list[_Parameter]:
    """The parameters of the head whose bracket opens just before *start*."""
    parts, depth, last = [], 0, start
    for i in range(start, len(source)):
        c = source[i]
        if c == "(":
            depth += 1
        elif c == ")" and depth:
            depth -= 1
        elif c in ",)" and not depth:
            parts.append(source[last:i].strip())
            last = i + 1
            if c == ")":
                break
    found = (re.fullmatch(r"(.*?)\b(\w+)\s*", part, re.DOTALL) for part in parts)
    return [_Parameter(m[1].strip(), m[2]) for m in found if m and m[1].strip()]


def _body(source: str, start: int) -> tuple[int, int]:
    """Where the body of the head that ends at *start* begins and ends."""
    first, depth = source.find("{", start), 0
    for brace in re.finditer(r"[{}]", source[first:]) if first >= 0 else ():
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return first, first + brace.end()
    return len(source), len(source)
