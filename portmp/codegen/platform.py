"""Platforms as data: what differs between CUDA-via-HIP, ROCm/HIP and OpenCL C.

Templates read these tables by capability and never ask for a vendor. Every entry that
is a trap when porting is explained in docs/porting.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from portmp.errors import ArgumentError, suggestion


@dataclass(frozen=True)
class Traits:
    """What rendered text depends on beside the platform: found by the driver or the probe."""

    warp_size: int = 32
    fma: str = "builtin"
    """Or ``contracted``: an expression is the instruction, and the function is missing or wrong."""
    division: str = "native"
    """Or where float32's may err: ``widened`` through float64; ``corrected`` by its residual."""
    sqrt: str = "native"
    """Or ``widened``, where float32's is not correctly rounded."""
    root: str = "estimate"
    """What 1/sqrt starts from: the hardware's estimate, by a function or by ``assembly`` where that
    does more; ``ieee``: a root and a division."""
    dot4: str = "plain"
    """How products of four bytes are summed; or by ``assembly``."""
    exchange: str = "instruction"
    """How threads of a warp exchange numbers; or by ``memory``."""
    wide_atomics: bool = True
    """Whether there are atomic operations on 64 bits."""
    vector_bits: int = 512
    """The longest explicit vectors that the device's compiler is given."""
    barriers: str = "optimised"
    """Or ``unoptimised``: else what work-items keep over a barrier is mixed up."""
    matrix_unit: str = ""
    """By which of the platform's units warps multiply small matrices of float64, if one adds up as
    products are defined."""


@dataclass(frozen=True)
class MatrixUnit:
    """A unit by which a warp adds a product of small matrices of float64 to its sums."""

    rows: int
    """Of the left factor, and of the sums."""
    columns: int
    """Of the right factor, and of the sums."""
    steps: int
    """That are added up."""
    lanes: int
    """Threads of a warp."""
    factors: tuple[str, str]
    """A lane's row of the left factor, which is its column of the right one, and its step; it also
    has those lanes / 4 rows and 4 steps further."""
    sums: tuple[str, str]
    """Row and column of a lane's first sum."""
    row_step: int
    """A lane has a sum in each so-many-th row ..."""
    beside: int
    """... in so many columns beside each other."""
    first: tuple[str, str]
    """Where its first row and column begin, of GEMM's kernel."""
    statement: Callable[[Sequence[str], Sequence[str], Sequence[str]], str]
    """Adds the product: of names of sums, row by row, of numbers of the left and right factor."""

    @property
    def across(self) -> int:
        """Rows of the left factor, and columns of the right one, that lanes hold side by side."""
        return self.lanes // 4

    @property
    def heights(self) -> int:
        """In how many rows of the left factor a lane holds numbers."""
        return self.rows // self.across

    @property
    def left(self) -> int:
        """How many numbers of the left factor a lane holds, one row after the other."""
        return self.heights * self.right

    @property
    def right(self) -> int:
        """How many of the right one."""
        return self.steps // 4

    @property
    def held(self) -> int:
        """How many sums."""
        return self.rows // self.row_step * self.beside


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One platform's dialect. Without a default are what every platform spells in its own way; the
    defaults are C99, for one thread a block. An empty entry is something that the platform does
    not have: kernels do without.

    ``{0}`` stands for what fills an entry, if nothing else is said: an axis, a type, an argument.
    """

    name: str
    title: str
    kernel: str
    """A kernel's qualifiers, {0}: the threads of a block, all in one axis."""
    local_id: str
    group_id: str
    fma: Mapping[str, str]
    block_kernel: str = "void"
    """A kernel's qualifiers for blocks of {0} x {1} x {2} threads, {3} in all."""
    group_count: str = "1"
    prologue: str = ""
    standalone: str = ""
    resident_kernel: str = ""
    """The same with registers that let {1} blocks, {2} warps a scheduler, share a compute unit."""
    function: str = "static inline"
    overloaded: str = ""
    """What begins functions of one name for several types, where the language needs that."""
    noinline: str = ""
    """What keeps a function of vectors out of its caller's body."""
    pointer: str = "{0} *"
    const_pointer: str = "const {0} *"
    constant: str = "static const"
    """The qualifier of tables that all threads read at one place."""
    table: str = "static const"
    """The qualifier of tables where each thread reads another place."""
    shared: str = "static"
    shared_pointer: str = "{0} *"
    barrier: str = ""
    device_barrier: str = ""
    index: str = "long long"
    int8: str = "signed char"
    unroll: str = ""
    unrolled: int = 1
    """Steps of a loop over a table that GPUs have written out: all, or as many as registers for
    constants allow."""
    sqrt: Mapping[str, str] = field(
        default_factory=lambda: {"float32": "sqrtf({0})", "float64": "sqrt({0})"}
    )
    fabs: Mapping[str, str] = field(
        default_factory=lambda: {"float32": "fabsf({0})", "float64": "fabs({0})"}
    )
    roots: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Statements that set y to 1/sqrt(x), by kind and word, {0}: lanes; ``estimate`` is the
    hardware's, ``assembly`` the same as an instruction, others are functions."""
    # Bits of doubles and floats, {l}: lanes, {d}: twice as many.
    high_word: str = "(int)((union {{ double d; long long i; }}){{ .d = {0} }}.i >> 32)"
    low_word: str = "(int)(union {{ double d; long long i; }}){{ .d = {0} }}.i"
    double_of: str = (
        "y = (union {{ long long i; double d; }})"
        "{{ .i = (long long)({0}) << 32 | (unsigned)({1}) }}.d;"
    )
    as_int: str = "(union {{ float f; int i; }}){{ .f = {0} }}.i"
    as_float: str = "(union {{ int i; float f; }}){{ .i = {0} }}.f"
    as_long: str = "(union {{ double d; long long i; }}){{ .d = {0} }}.i"
    as_double: str = "(union {{ long long i; double d; }}){{ .i = {0} }}.d"
    unsigned_shift: str = "(int)((unsigned)({0}) >> {1})"
    any: str = "{0}"
    """Whether a flag is set in any lane."""
    dot4: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Statements that set y to c and the products of four bytes of a and b, by the trait's kind and
    the sign."""
    warp_barrier: str = ""
    exchange: Mapping[str, str] = field(default_factory=dict)
    """By the trait, the statement that returns the x of thread ``from`` of this warp, {0}: its
    lanes less one."""
    atomics: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By operation and type, {0}: an address, then numbers; others are made of compare_and_swap."""
    wide_atomics: tuple[str, ...] = ()
    """Lines that atomics of 64 bits need."""
    dynamic_shared: str = ""
    """What declares block memory whose size a launch decides, dynamic_; it begins at a multiple of
    16 bytes."""
    dynamic_parameter: str = ""
    """The same where it is a parameter."""
    library: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Functions by name and word, of which nothing is promised."""
    permute_bytes: str = ""
    vector_names: Mapping[str, str] = field(default_factory=dict)
    """What types of vectors begin with."""
    vector_of: str = ""
    """A vector, of a type and its members."""
    bits: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Functions of an integer by name and bytes."""
    fences: Mapping[str, str] = field(default_factory=dict)
    """Statements that order a thread's accesses to the memory of its block, or of the device."""
    grid_barrier: Mapping[str, str] = field(default_factory=dict)
    """Where blocks may wait for each other, the statements to ``wait`` for all and, at the end, to
    ``leave`` the barrier as it was: {0} points to a counter, at first 0, of blocks that came, {1}:
    how many do until then."""
    async_copy: str = ""
    async_wait: str = ""
    tile_copies: Mapping[int, str] = field(default_factory=dict)
    """Statements that begin a copy of so many bytes to block memory, {0} from {1}, of which {2} are
    there and the rest is zeros; or the first load {3}, an array, where nothing copies beside a
    thread's other work."""
    tile_copies_end: str = ""
    """Makes those so far a group."""
    tile_copies_wait: str = ""
    """Waits until all groups but the last {0} are done."""
    tile_stores: Mapping[int, str] = field(default_factory=dict)
    """What writes {1} to {0} later, where nothing copies meanwhile."""
    matrix_units: Mapping[str, MatrixUnit] = field(default_factory=dict)
    """By the trait."""
    prefetch: str = ""
    clock: str = ""
    """Counts a compute unit's cycles."""
    vectors: tuple[int, ...] = (1,)
    """Lanes of explicit vectors, which are computed with."""
    memory_vectors: bool = False
    """Whether there are types of two and four neighbours with members x, y, z, w (``float4``) to
    read and write memory by."""
    out_parameter: str = "{0} *"
    traits: Traits = Traits()

    @property
    def defaults(self) -> Traits:
        """The traits of devices of which nothing else is known."""
        known = ("estimate", "float32") in self.roots
        return self.traits if known else replace(self.traits, root="ieee")

    def unrolled_by(self, count: int) -> str:
        """What has the loop that follows written out *count* times; 1: not at all."""
        return f"{self.unroll} {count}" if self.unroll else ""

    def kernel_of(self, threads: int, blocks: int = 1) -> str:
        """A kernel's qualifiers for *threads* a block, *blocks* resident in a compute unit."""
        if blocks == 1 or not self.resident_kernel:
            return self.kernel.format(threads)
        warps = -(-blocks * threads // (self.defaults.warp_size * _SCHEDULERS))
        return self.resident_kernel.format(threads, blocks, warps)

    def widths(self, traits: Traits, word: str) -> tuple[int, ...]:
        """Lanes that vectors of *word* may have: none longer than the device takes.

        Where quotients or roots of float32 are widened, its vectors turn into float64's.
        """
        widened = "widened" in (traits.division, traits.sqrt)
        bits = 32 if word == "float32" and not widened else 64
        return tuple(w for w in self.vectors if w == 1 or w * bits <= traits.vector_bits)

    def root(self, kind: str, word: str, width: int = 1) -> str:
        """The statement that sets y to 1/sqrt(x); ArgumentError where there is no such kind."""
        if (kind, word) not in self.roots:
            names = {"estimate": "fast"}
            own = {names.get(k, k) for k, w in self.roots if w == word} - {"assembly"}
            raise ArgumentError(
                f"root: {names.get(kind, kind)!r} given, {self.title} has for {word}: "
                + ", ".join(["exact", *sorted({"division", *own})])
            )
        return self.roots[kind, word].format(width if width > 1 else "")

    def axis(self, text: str, axis: int) -> str:
        """Index text of one axis: ``threadIdx.x`` or ``get_local_id(0)``."""
        return text.format("xyz"[axis] if "." in text else axis)


_SCHEDULERS = 4
"""SIMD units of a compute unit, on every GPU that has a way to ask for resident warps."""

_ASSEMBLY = {
    "float32": 'asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));',
    "float64": 'asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));',
}
_ROOTS = {
    ("rsqrt", "float32"): "y = rsqrtf(x);",
    ("rsqrt", "float64"): "y = rsqrt(x);",
    ("rounded", "float32"): "y = __frsqrt_rn(x);",
}

_DOT_ASSEMBLY = {
    ("assembly", sign): (
        f'asm("dp4a.{kind}.{kind} %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));'
    )
    for sign, kind in (("signed", "s32"), ("unsigned", "u32"))
}


def _mma(rows: int) -> MatrixUnit:
    """NVIDIA's, of 8 columns and 4 steps; layout: PTX ISA, "Matrix Fragments for mma.m16n8k4"."""

    def statement(sums: Sequence[str], left: Sequence[str], right: Sequence[str]) -> str:
        groups = len(sums), len(left), len(right)
        first = [sum(groups[:i]) for i in range(3)]
        named = [
            "{" + ", ".join(f"%{start + i}" for i in range(count)) + "}"
            for start, count in zip(first, groups, strict=True)
        ]
        shape = f"m{rows}n8k4.row.col.f64.f64.f64.f64"
        text = f"mma.sync.aligned.{shape} {named[0]}, {named[1]}, {named[2]}, {named[0]};"
        written = ", ".join(f'"+d"({one})' for one in sums)
        read = ", ".join(f'"d"({one})' for one in (*left, *right))
        return f'asm("{text}" : {written} : {read});'

    return MatrixUnit(
        *(rows, 8, 4, 32),
        factors=("lane / 4", "lane % 4"),
        sums=("lane / 4", "lane % 4 * 2"),
        row_step=8,
        beside=2,
        first=("a_row_in_warp", "(b_col_in_warp - lane_row) / 2 + lane_step"),
        statement=statement,
    )


def _mfma(sums: Sequence[str], left: Sequence[str], right: Sequence[str]) -> str:
    """AMD's, which the compiler knows by a function: of waits and registers it takes care."""
    kept = " ".join(f"{one} = sums_[{i}];" for i, one in enumerate(sums))
    return (
        "{ typedef double sums_of_lane_ __attribute__((ext_vector_type(4))); "
        f"sums_of_lane_ sums_ = {{{', '.join(sums)}}}; "
        f"sums_ = __builtin_amdgcn_mfma_f64_16x16x4f64({left[0]}, {right[0]}, sums_, 0, 0, 0); "
        f"{kept} }}"
    )


_MATRIX_UNITS = {"16x8x4": _mma(16), "8x8x4": _mma(8)}

# Layout: AMD's matrix instruction calculator, V_MFMA_F64_16X16X4_F64 of CDNA 2 and CDNA 3: A[i][k]
# is in lane 16 k + i, B[k][j] in lane 16 k + j, D[i][j] in lane 16 (i % 4) + j, registers i / 4.
# The one of 4 x 4 x 4 in four blocks does half as much a cycle, no more than multiply-adds.
_MFMA = MatrixUnit(
    *(16, 16, 4, 64),
    factors=("lane % 16", "lane / 16"),
    sums=("lane / 16", "lane % 16"),
    row_step=4,
    beside=1,
    first=("a_row_in_warp - lane_row + lane_step", "b_col_in_warp"),
    statement=_mfma,
)


def _tile_copies(place: str) -> dict[int, str]:
    """By bytes; *place*: a number for an address of block memory."""
    return {
        count: (
            f'asm volatile("cp.async.{cached}.shared.global [%0], [%1], {count}, %2;"'
            f' :: "r"({place}), "l"({{1}}), "r"({{2}}) : "memory");'
        )
        for count, cached in ((8, "ca"), (16, "cg"))
    }


_TILE_COPIES_END = 'asm volatile("cp.async.commit_group;" ::: "memory");'
_TILE_COPIES_WAIT = 'asm volatile("cp.async.wait_group {0};" ::: "memory");'

_COMBINING = ("add", "min", "max", "and", "or", "xor")
_ATOMIC_FUNCTIONS = {
    **{op: f"atomic{op.capitalize()}({{0}}, {{1}})" for op in _COMBINING},
    "exchange": "atomicExch({0}, {1})",
    "compare_and_swap": "atomicCAS({0}, {1}, {2})",
}
_WIDE = "unsigned long long"
_ATOMICS = {
    (op, kind): text
    for kind in ("int32", "uint32", "uint64")
    for op, text in _ATOMIC_FUNCTIONS.items()
} | {
    # the same bits, whatever the sign
    (op, "int64"): _ATOMIC_FUNCTIONS[op]
    .replace("{0}", f"({_WIDE} *)({{0}})")
    .replace("{1}", f"({_WIDE})({{1}})")
    .replace("{2}", f"({_WIDE})({{2}})")
    for op in ("add", "and", "or", "xor", "exchange", "compare_and_swap")
}


def _kept(op: str, text: str) -> str:
    """An atomic that clang makes no plain load or store of, as it does where 0 is added, or where
    nobody looks at what was exchanged: those who look for races take them for no atomics.
    """
    hidden = 'asm volatile("" : "+v"(x_));'
    if op == "exchange":
        return f"({{{{ auto x_ = {text}; {hidden} x_; }}}})"
    if op == "compare_and_swap":
        return text
    return f"({{{{ auto x_ = {{1}}; {hidden} {text.replace('{1}', 'x_')}; }}}})"


_ATOMICS_32 = {
    **{op: f"atomic_{op}({{0}}, {{1}})" for op in _COMBINING},
    "exchange": "atomic_xchg({0}, {1})",
    "compare_and_swap": "atomic_cmpxchg({0}, {1}, {2})",
}
_ATOMICS_64 = {
    "add": "atom_add({0}, {1})",
    "exchange": "atom_xchg({0}, {1})",
    "compare_and_swap": "atom_cmpxchg({0}, {1}, {2})",
}

_VECTOR_NAMES = {
    "int32": "int",
    "uint32": "uint",
    "int64": "longlong",
    "uint64": "ulonglong",
    "float32": "float",
    "float64": "double",
}

_MATHEMATICS = ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh")


def _library(single: str) -> Mapping[tuple[str, str], str]:
    """Functions of C's library, whose names end with *single* for float32."""
    found = {}
    for word, end, one in (("float32", single, "1.0f"), ("float64", "", "1.0")):
        found["rcp", word] = f"({one} / ({{0}}))"
        found["rsqrt", word] = f"rsqrt{end}({{0}})"
        found |= {(name, word): f"{name}{end}({{0}})" for name in _MATHEMATICS}
        found |= {(name, word): f"{name}{end}({{0}}, {{1}})" for name in ("pow", "atan2")}
    return found


_HIP: dict[str, object] = {
    "standalone": "#include <hip/hip_runtime.h>\n",
    "kernel": 'extern "C" __global__ void __launch_bounds__({0})',
    "resident_kernel": 'extern "C" __global__ void __launch_bounds__({0}, {1})',
    "block_kernel": 'extern "C" __global__ void __launch_bounds__({3})',
    "group_count": "gridDim.{0}",
    "atomics": _ATOMICS,
    "dynamic_shared": "alignas(16) extern __shared__ char dynamic_[];",
    "library": _library("f"),
    "permute_bytes": "__byte_perm({0}, {1}, {2})",
    "vector_names": _VECTOR_NAMES,
    "vector_of": "make_{0}({1})",
    "bits": {
        ("popcount", 4): "__popc({0})",
        ("popcount", 8): "__popcll({0})",
        ("leading_zeros", 4): "__clz({0})",
        ("leading_zeros", 8): "__clzll({0})",
    },
    "fences": {"block": "__threadfence_block();", "device": "__threadfence();"},
    "function": "static __device__ __forceinline__",
    "constant": "__constant__",
    "table": "static __device__ const",
    "shared": "__shared__",
    "barrier": "__syncthreads();",
    "device_barrier": "__syncthreads();",
    "local_id": "threadIdx.{0}",
    "group_id": "blockIdx.{0}",
    "unroll": "#pragma unroll",
    "high_word": "__double2hiint({0})",
    "low_word": "__double2loint({0})",
    "double_of": "y = __hiloint2double({0}, {1});",
    "as_int": "__float_as_int({0})",
    "as_float": "__int_as_float({0})",
    "as_long": "__double_as_longlong({0})",
    "as_double": "__longlong_as_double({0})",
    "memory_vectors": True,
}

CUDA = Platform(
    name="cuda",
    title="CUDA via HIP (NVIDIA)",
    unrolled=64,
    fma={"float32": "__fmaf_rn({0}, {1}, {2})", "float64": "__fma_rn({0}, {1}, {2})"},
    sqrt={"float32": "__fsqrt_rn({0})", "float64": "__dsqrt_rn({0})"},
    roots=_ROOTS | {("estimate", word): text for word, text in _ASSEMBLY.items()},
    dot4=_DOT_ASSEMBLY,
    warp_barrier="__syncwarp();",
    exchange={"instruction": "return __shfl_sync(0xffffffffu, x, from);"},
    async_copy=(
        'asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"'
        ' :: "r"((unsigned)__cvta_generic_to_shared({0})), "l"({1}) : "memory");'
    ),
    async_wait='asm volatile("cp.async.wait_all;" ::: "memory");',
    grid_barrier={
        # acquire and release, which is all that a barrier needs: __threadfence() is a longer fence
        "wait": (
            "__syncthreads(); if (threadIdx.x == 0) {{ int came_;"
            ' asm volatile("fence.acq_rel.gpu;" ::: "memory"); atomicAdd({0}, 1);'
            ' do asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(came_) : "l"({0}) : "memory");'
            ' while (came_ < {1}); asm volatile("fence.acq_rel.gpu;" ::: "memory"); }}'
            " __syncthreads();"
        ),
        "leave": "if (threadIdx.x == 0 && atomicAdd({0}, 1) == {1} - 1) *{0} = 0;",
    },
    clock="clock64()",
    traits=Traits(warp_size=32, dot4="assembly"),
    tile_copies=_tile_copies("(unsigned)__cvta_generic_to_shared({0})"),
    tile_copies_end=_TILE_COPIES_END,
    tile_copies_wait=_TILE_COPIES_WAIT,
    matrix_units=_MATRIX_UNITS,
    **_HIP  # type: ignore[arg-type]
    | {
        "atomics": _ATOMICS
        | {(op, "int64"): _ATOMIC_FUNCTIONS[op] for op in ("min", "max")}
        | {("add", kind): _ATOMIC_FUNCTIONS["add"] for kind in ("float32", "float64")}
        | {("exchange", "float32"): _ATOMIC_FUNCTIONS["exchange"]}
    },
)

ROCM = Platform(
    name="rocm",
    title="ROCm/HIP (AMD)",
    unrolled=5,
    fma={"float32": "fmaf({0}, {1}, {2})", "float64": "fma({0}, {1}, {2})"},
    roots=_ROOTS
    | {
        ("estimate", "float32"): "y = __builtin_amdgcn_rsqf(x);",
        ("estimate", "float64"): "y = __builtin_amdgcn_rsq(x);",
    },
    # hiprtc turns sqrtf into the bare instruction, which is not correctly rounded. Quotients of
    # powers of two by numbers with all bits set depend on how exact the reciprocal's estimate is.
    warp_barrier=(
        '__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier();'
    ),
    exchange={"instruction": "return __builtin_amdgcn_ds_bpermute((from & {0}) << 2, x);"},
    clock="(long long)__builtin_readcyclecounter()",
    tile_copies={
        8: "({3})[0] = ({2}) > 0 ? *({1}) : 0.0;",
        16: (
            "{{ double2 both_ = {{0.0, 0.0}}; if (({2}) > 8) both_ = *(const double2 *)({1}); else"
            " if (({2}) > 0) both_.x = *({1}); ({3})[0] = both_.x; ({3})[1] = both_.y; }}"
        ),
    },
    tile_stores={8: "*({0}) = ({1})[0];", 16: "({0})[0] = ({1})[0]; ({0})[1] = ({1})[1];"},
    matrix_units={"16x16x4": _MFMA},
    traits=Traits(warp_size=64, sqrt="widened", division="corrected"),
    **_HIP  # type: ignore[arg-type]
    | {
        "resident_kernel": 'extern "C" __global__ void __launch_bounds__({0}, {2})',
        "atomics": {key: _kept(key[0], text) for key, text in _ATOMICS.items()},
    },
)

OPENCL = Platform(
    name="opencl",
    title="OpenCL C (any GPU, CPUs)",
    prologue="#pragma OPENCL FP_CONTRACT OFF\n",
    overloaded="__attribute__((overloadable)) ",
    kernel="__kernel __attribute__((reqd_work_group_size({0}, 1, 1))) void",
    block_kernel="__kernel __attribute__((reqd_work_group_size({0}, {1}, {2}))) void",
    group_count="get_num_groups({0})",
    atomics={(op, kind): _ATOMICS_32[op] for kind in ("int32", "uint32") for op in _ATOMICS_32}
    | {(op, kind): _ATOMICS_64[op] for kind in ("int64", "uint64") for op in _ATOMICS_64},
    wide_atomics=("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable",),
    dynamic_parameter="__local ulong2 *dynamic_",
    exchange={
        "assembly": (
            'int y; asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" '
            ': "=r"(y) : "r"(x), "r"(from)); return y;'
        )
    },
    library=_library(""),
    vector_names=_VECTOR_NAMES | {"int64": "long", "uint64": "ulong"},
    vector_of="({0})({1})",
    bits={
        ("popcount", 4): "popcount({0})",
        ("popcount", 8): "(int)popcount({0})",
        ("leading_zeros", 4): "clz({0})",
        ("leading_zeros", 8): "(int)clz({0})",
    },
    fences={
        "block": "mem_fence(CLK_LOCAL_MEM_FENCE);",
        "device": "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    },
    pointer="__global {0} *",
    const_pointer="__global const {0} *",
    constant="__constant const",
    table="__constant const",
    shared="__local",
    shared_pointer="__local {0} *",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    device_barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    local_id="get_local_id({0})",
    group_id="get_group_id({0})",
    index="long",
    int8="char",
    unroll="#pragma unroll",
    unrolled=64,
    fma={"float32": "fma({0}, {1}, {2})", "float64": "fma({0}, {1}, {2})"},
    sqrt={"float32": "sqrt({0})", "float64": "sqrt({0})"},
    fabs={"float32": "fabs({0})", "float64": "fabs({0})"},
    roots={
        ("estimate", "float32"): "y = native_rsqrt(x);",
        ("estimate", "float64"): "y = rsqrt(x);",
        ("rsqrt", "float32"): "y = rsqrt(x);",
        ("rsqrt", "float64"): "y = rsqrt(x);",
        ("rounded", "float32"): "y = single_root{0}(x);",
    }
    | {("assembly", word): text for word, text in _ASSEMBLY.items()},
    high_word="as_int{d}({0}).odd",
    low_word="as_int{d}({0}).even",
    double_of="{{ int{d} words; words.odd = {0}; words.even = {1}; y = as_double{l}(words); }}",
    as_int="as_int{l}({0})",
    as_float="as_float{l}({0})",
    as_long="as_long{l}({0})",
    as_double="as_double{l}({0})",
    unsigned_shift="as_int{l}(as_uint{l}({0}) >> {1})",
    any="any({0})",
    noinline="__attribute__((noinline))",
    dot4=_DOT_ASSEMBLY,
    # The language's own prefetch does nothing in the CPUs' runtimes, which are built on clang.
    prefetch="__builtin_prefetch({0});",
    vectors=(1, 2, 4, 8),
    memory_vectors=True,
    # NVIDIA's: a pointer to block memory is a number there
    tile_copies=_tile_copies("(uint)(ulong)({0})"),
    tile_copies_end=_TILE_COPIES_END,
    tile_copies_wait=_TILE_COPIES_WAIT,
    matrix_units=_MATRIX_UNITS,
)

# --- all platforms ---------------------------------------------------------------------------

_ALL = (
    # in the order in which devices are listed
    CUDA,
    ROCM,
    OPENCL,
)
PLATFORMS = {p.name: p for p in _ALL}


def get(name: str) -> Platform:
    """Return the platform called *name*: cuda, rocm or opencl."""
    if name in PLATFORMS:
        return PLATFORMS[name]
    near = suggestion(name, list(PLATFORMS))
    raise ArgumentError(f"unknown platform {name!r}{near}; platforms: {', '.join(PLATFORMS)}")
