"""What clang's prelude declares of HIP: the same names as hiprtc, with exact results.

One text has every name, and both compilers take it. The interpreter runs what is exact.
"""

from __future__ import annotations

import math
import re
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiers

from portmp import discovery
from portmp.compilers.base import Compiler
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.errors import CompileError

COMPILERS: dict[str, tuple[str, type[Compiler]]] = {
    "gfx90a": ("hiprtc", HiprtcCompiler),
    "gfx942": ("clang", ClangCompiler),
    "gfx1100": ("clang", ClangCompiler),
    "gfx1201": ("clang", ClangCompiler),
}
INTERPRETED = ("gfx90a", "gfx1100")

X, Y, Z = 0x80F31705, 0x1234CDEF, 0x21
P, Q = 0x9ABCDEF0_12345678, 0x0FEDCBA9_87654321
F, G, H = 2.75, -3.5, 0.0625
GIVEN = """
in += threadIdx.x;
const unsigned x = in[0], y = in[1], z = in[2];
const int i = (int)x, j = (int)y;
const unsigned long long p = in[4], q = in[5];
const long long k = (long long)p, l = (long long)q;
const double f = __longlong_as_double(in[6]), g = __longlong_as_double(in[7]);
const double h = __longlong_as_double(in[8]), infinity = __longlong_as_double(in[9]);
const double none = __longlong_as_double(in[10]);
const float fs = (float)f, gs = (float)g, hs = (float)h;
"""
"""Numbers that the compiler cannot know, nor that all threads have the same."""


def signed(number: int, bits: int) -> int:
    """The number in two's complement."""
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def reversed_bits(number: int, bits: int) -> int:
    return int(f"{number:0{bits}b}"[::-1], 2)


def permuted(x: int, y: int, choice: int) -> int:
    """Bytes of y and x that four digits choose."""
    both = (y << 32 | x).to_bytes(8, "little")
    return int.from_bytes(bytes(both[choice >> 4 * n & 7] for n in range(4)), "little")


I1, J1, K1, L1 = signed(X, 32), signed(Y, 32), signed(P, 64), signed(Q, 64)

INTEGERS: dict[str, int] = {
    "__popc(x)": X.bit_count(),
    "__popcll(p)": P.bit_count(),
    "__clz(y)": 32 - Y.bit_length(),
    "__clz(0)": 32,
    "__clzll(q)": 64 - Q.bit_length(),
    "__ffs(x)": (X & -X).bit_length(),
    "__ffs(i)": (X & -X).bit_length(),
    "__ffs(0)": 0,
    "__ffsll(p)": (P & -P).bit_length(),
    "__ffsll(k)": (P & -P).bit_length(),
    "__brev(x)": reversed_bits(X, 32),
    "__brevll(p)": reversed_bits(P, 64),
    "__byte_perm(x, y, 0x7240)": permuted(X, Y, 0x7240),
    "__funnelshift_l(x, y, z)": (Y << 32 | X) << Z % 32 >> 32 & 0xFFFFFFFF,
    "__funnelshift_lc(x, y, z)": X,
    "__funnelshift_r(x, y, z)": (Y << 32 | X) >> Z % 32 & 0xFFFFFFFF,
    "__funnelshift_rc(x, y, z)": Y,
    "__mulhi(i, j)": I1 * J1 >> 32,
    "__umulhi(x, y)": X * Y >> 32,
    "__umul64hi(p, q)": P * Q >> 64,
    "__mul24(i, j)": signed(signed(X, 24) * signed(Y, 24), 32),
    "__umul24(x, y)": signed((X & 0xFFFFFF) * (Y & 0xFFFFFF), 32),
    "min(i, j)": min(I1, J1),
    "max(i, j)": max(I1, J1),
    "min(x, y)": min(X, Y),
    "max(p, q) == p": 1,
    "min(k, l)": min(K1, L1),
    "max(k, l)": max(K1, L1),
    "abs(i)": abs(I1),
    "abs(k)": abs(K1),
    "labs((long)k)": abs(K1),
    "llabs(k)": abs(K1),
    "__float_as_int(fs)": struct.unpack("<i", struct.pack("<f", F))[0],
    "__float_as_uint(gs)": struct.unpack("<I", struct.pack("<f", G))[0],
    "__double_as_longlong(g)": struct.unpack("<q", struct.pack("<d", G))[0],
    "__double2hiint(g)": struct.unpack("<q", struct.pack("<d", G))[0] >> 32,
    "__double2loint(f)": 0,
    "__float2int_rz(gs)": -3,
    "__double2int_rz(g)": -3,
    "__double2ll_rz(g)": -3,
    "isnan(none) + 2 * isnan(f) + 4 * isnan((float)none)": 5,
    "isinf(infinity) + 2 * isinf(none) + 4 * isinf((float)infinity)": 5,
    "isfinite(f) + 2 * isfinite(none) + 4 * isfinite(hs)": 5,
    "(signbit(g) != 0) + 2 * (signbit(f) != 0) + 4 * (signbit(gs) != 0)": 5,
    "lrint(g)": -4,
    "llrint(f)": 3,
    "lround(f - 0.25)": 3,
    "llround(g)": -4,
    "lrintf(gs)": -4,
    "sizeof(float3) + sizeof(double3) + sizeof(int2) + sizeof(uchar4)": 12 + 24 + 8 + 4,
    "alignof(float4) + alignof(double2) + alignof(float3)": 16 + 16 + 4,
    "(long long)(make_int3(1, 2, i) + make_int3(0, 0, 1)).z": I1 + 1,
    "make_uint4(1, 2, 3, x).w": X,
    "(long long)make_longlong2(7, k).y": K1,
    "make_short2(1, -2).y": -2,
    "dim3(4, 5).y * 10 + dim3(4, 5).z": 51,
    "[](int a) { return a + 1; }(3)": 4,
}
"""Integers and what they are."""

BY_CLANG: dict[str, int] = {
    "__byte_perm(x, y, z)": permuted(X, Y, Z),
    "__mul64hi(k, l)": K1 * L1 >> 64,
    "max(i, l)": max(I1, L1),
}
"""Those that hiprtc of ROCm 5.2 makes wrong (by a float64) or of instructions that the interpreter
does not have.
"""

NUMBERS: dict[str, float] = {
    "min(f, g)": G,
    "max(fs, gs)": F,
    "min(fs, g)": G,
    "fmin(f, none)": F,
    "fminf(fs, gs)": G,
    "fmax(f, g)": F,
    "fmaxf(fs, gs)": F,
    "fabs(g)": -G,
    "fabsf(gs)": -G,
    "abs(g)": -G,
    "abs(gs)": -G,
    "floor(g)": -4,
    "floorf(gs)": -4,
    "ceil(g)": -3,
    "ceilf(fs)": 3,
    "trunc(g)": -3,
    "truncf(fs)": 2,
    "round(g)": -4,
    "roundf(gs)": -4,
    "rint(g)": -4,
    "rintf(f - 0.25f)": 2,
    "nearbyint(f - 0.25)": 2,
    "copysign(f, g)": -F,
    "copysignf(hs, gs)": -H,
    "ldexp(f, 3)": F * 8,
    "ldexpf(gs, -2)": G / 4,
    "scalbn(g, 2)": G * 4,
    "fma(f, g, h)": F * G + H,
    "fmaf(fs, gs, hs)": F * G + H,
    "sqrt(f * f)": F,
    "__dsqrt_rn(h)": 0.25,
    "__dadd_rn(f, g)": F + G,
    "__dsub_rn(f, g)": F - G,
    "__dmul_rn(f, g)": F * G,
    "__ddiv_rn(f, g)": F / G,
    "__fma_rn(f, g, h)": F * G + H,
    "__fadd_rn(fs, gs)": F + G,
    "__fsub_rn(fs, gs)": F - G,
    "__fmul_rn(fs, gs)": F * G,
    "__fdiv_rn(fs, gs)": float(np.float32(F) / np.float32(G)),
    "__fmaf_rn(fs, gs, hs)": F * G + H,
    "__drcp_rn(h)": 16,
    "__saturatef(gs) + __saturatef(fs) + __saturatef(hs)": 1 + H,
    "__int2float_rn(i)": float(np.float32(I1)),
    "__uint2float_rn(x)": float(np.float32(X)),
    "__int2double_rn(i)": I1,
    "__ll2double_rn(k)": float(K1),
    "__double2float_rn(h / 3)": float(np.float32(H / 3)),
    "__int_as_float(__float_as_int(gs))": G,
    "__uint_as_float(0x40490fdbu)": struct.unpack("<f", struct.pack("<I", 0x40490FDB))[0],
    "__longlong_as_double(__double_as_longlong(g))": G,
    "__hiloint2double(0x3ff00000, 1)": 1 + 2.0**-52,
    "make_float4(1, 2, 3, fs).w": F,
    "(make_double3(1, 2, f) * 2.0).z": 2 * F,
    "(make_float2(fs, gs) + make_float2(hs, hs)).y": G + H,
    "modf(g, &part) + 16 * part": -0.5 - 48,
    "modff(fs, &parts) + 16 * parts": 0.75 + 32,
}
"""Numbers whose value is exact, or rounded once."""

LIBRARY: dict[str, float] = {
    "exp(f - f)": 1,
    "exp2(16 * h * 10)": 1024,
    "fdim(f, g)": F - G,
    "nextafter(h * 16, 2.0)": 1 + 2.0**-52,
    "sinf(fs - fs)": 0,
    "cosf(fs - fs)": 1,
    "atan2(f - f, f)": 0,
    "tanh(f - f)": 0,
    "erf(infinity)": 1,
}
"""Functions of AMD's device library where their value is exact."""

ONE = re.split(
    r"\s+",
    "exp exp2 expm1 log log2 log10 log1p logb sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh cbrt erf erfc tgamma lgamma sqrt fabs floor ceil trunc rint "
    "nearbyint round",
)
OWN = re.split(r"\s+", "exp10 sinpi cospi rcbrt erfcx rsqrt")
TWO = re.split(r"\s+", "pow fmod remainder atan2 hypot fdim nextafter fmin fmax copysign")
NATIVE = re.split(
    r"\s+", "__expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __frsqrt_rn __frcp_rn"
)
WORDS = ("int", "unsigned", "unsigned long", "unsigned long long")
VECTORS = (
    *("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong"),
    *("ulonglong", "float", "double"),
)


def compiled_only() -> list[str]:
    """Statements that have no value to compare, or that the interpreter does not take."""
    found = [f"out[0] += (long long){name}(f) + (long long){name}f(fs);" for name in ONE + OWN]
    found += [f"static_assert(sizeof({name}(fs)) == 4 && sizeof({name}(i)) == 8);" for name in ONE]
    found += [f"out[0] += {name}(f, g) + {name}f(fs, gs) + {name}(fs, 2);" for name in TWO]
    found += [f"out[0] += {name}(fs);" for name in NATIVE]
    for word in (*WORDS, "float", "double"):
        names = ["Add", "Sub", "Min", "Max", "Exch"]
        names += ["And", "Or", "Xor"] if word in WORDS else []
        for name in names:
            found.append(f"out[0] += atomic{name}(({word}*)out, ({word})1);")
        found.append(f"out[0] += atomicCAS(({word}*)out, ({word})1, ({word})2);")
    found += ["out[0] += atomicInc((unsigned*)out, 5u) + atomicDec((unsigned*)out, 5u);"]
    found += ["out[0] += atomicAdd_system((int*)out, 1) + atomicCAS_system((int*)out, 1, 2);"]
    for kind in ("", "_up", "_down", "_xor"):
        for word in (*WORDS, "long", "long long", "float", "double"):
            found.append(f"out[0] += __shfl{kind}(({word})p, 1) + __shfl{kind}(({word})p, 1, 8);")
    for name in VECTORS:
        for count in range(1, 5):
            made = f"make_{name}{count}({', '.join('1234'[:count])})"
            found.append(f"{{ {name}{count} v = {made}; v.x += 1; out[0] += v.x; }}")
    for name in ("float", "double", "int"):
        for op in "+-*/":
            for count in (2, 3, 4):
                one = f"make_{name}{count}({', '.join('1234'[:count])})"
                found.append(f"{{ auto v = {one}; v = v {op} v; v {op}= v; out[0] += v.y; }}")
    found += ["out[0] += clock() + clock64() + wall_clock64() + warpSize + __lane_id();"]
    found += ["__threadfence(); __threadfence_block(); __threadfence_system(); __syncthreads();"]
    found += ["out[0] += __syncthreads_count(i) + __syncthreads_and(i) + __syncthreads_or(i);"]
    found += ["out[0] += __ballot(i) + __any(i) + __all(i) + __ldg((const int*)out);"]
    found += ["memcpy(out, out + 8, 8); memset(out, 0, 8);"]
    found += [f"out[0] += {text};" for text in BY_CLANG]
    found += ["out[0] += frexp(f, &whole) + whole;", "out[0] += frexpf(fs, &whole) + whole;"]
    found += ["{ double s, c; sincos(f, &s, &c); out[0] += s + c; }"]
    found += ["{ float s, c; sincosf(fs, &s, &c); out[0] += s + c; }"]
    found += ["{ dim3 d = blockDim; auto t = threadIdx; out[0] += d.x + t.x; }"]
    found += ["out[0] += __powf(fs, gs) + __fdividef(fs, gs) + fdividef(fs, gs);"]
    found += ["out[0] += __float2int_rn(fs) + __double2int_rn(f) + __float2uint_rn(fs);"]
    found += ["out[0] += __float2ll_rn(fs) + __double2ll_rn(f) + ilogb(f) + ilogbf(fs);"]
    found += ["{ struct __align__(16) apart { int a; }; static_assert(alignof(apart) == 16); }"]
    found += ['printf("%d %f\\n", i, f);', "if (i == 7) abort();"]
    return found


def kernel(name: str, body: str) -> str:
    """A kernel that reads numbers and writes integers and numbers."""
    return (
        f'extern "C" __global__ void {name}(const unsigned long long* in, long long* out, '
        f"double* numbers)\n{{{GIVEN}int whole; double part; float parts;\n{body}\n}}\n"
    )


def assigned(target: str, expressions: dict[str, Any]) -> str:
    """A statement for each expression."""
    return "\n".join(
        # A number apart from the expression: what that writes is read after it.
        f"{{ {target}[{n}] = {text}; }}"
        if "&" not in text or "[]" in text
        else f"{{ const auto first = {text.partition(' + ')[0]}; "
        f"{target}[{n}] = first + {text.partition(' + ')[2]}; }}"
        for n, text in enumerate(expressions)
    )


SHUFFLES = """
const int lane = threadIdx.x;
out[0 * 64 + lane] = __shfl(lane * 3, 5);
out[1 * 64 + lane] = __shfl((double)lane, (lane + 1) & 7, 8);
out[2 * 64 + lane] = __shfl_up((long long)lane << 40, 3, 16);
out[3 * 64 + lane] = __shfl_down((float)lane, 3, 16);
out[4 * 64 + lane] = __shfl_xor((unsigned)lane, 9, 32);
out[5 * 64 + lane] = __shfl_xor(lane, 4, 4);
out[6 * 64 + lane] = __ballot((lane & 5) == 1);
out[7 * 64 + lane] = __any(lane == 3) + 2 * __all(lane >= 0) + 4 * __all(lane > 0);
out[8 * 64 + lane] = __lane_id() + 100 * warpSize;
"""


def shuffled(lanes: int) -> list[list[int]]:
    """What a warp of *lanes* writes."""

    def within(lane: int, other: int, width: int) -> int:
        return other if lane // width == other // width else lane

    every = range(lanes)
    return [
        [15 for _ in every],
        [(n + 1) % 8 + n // 8 * 8 for n in every],
        [within(n, n - 3, 16) << 40 for n in every],
        [within(n, n + 3, 16) for n in every],
        [n ^ 9 for n in every],
        [min(n ^ 4, n) for n in every],  # an earlier group is reached, a later one is not
        [signed(sum(1 << n for n in every if n & 5 == 1), 64) for _ in every],
        [1 + 2 for _ in every],
        [n + 100 * lanes for n in every],
    ]


@cache
def source() -> str:
    """One text with every name."""
    return "\n".join(
        (
            kernel("compiled", "\n".join(compiled_only())),
            kernel("integers", assigned("out", INTEGERS)),
            kernel("numbers", assigned("numbers", NUMBERS)),
            kernel("library", assigned("numbers", LIBRARY)),
            kernel("lanes", SHUFFLES),
        )
    )


@pytest.mark.parametrize("arch", COMPILERS)
def test_every_name_compiles(arch: str) -> None:
    """By hiprtc, whose names these are, and by clang with the prelude."""
    tier, compiler = COMPILERS[arch]
    tiers.check(tier)
    assert {r.name for r in compiler().report(compiler().compile(source(), arch), arch)} == {
        *("compiled", "integers", "numbers", "library", "lanes")
    }


def run(arch: str, name: str, text: str, threads: int = 1) -> tuple[list[int], list[float]]:
    """The integers and the numbers that a kernel writes on the interpreter."""
    tiers.check(COMPILERS[arch][0])
    device = discovery.get(f"emulated:{arch}")
    loaded = device.load(device.compile(text), [name])[name]
    floats = struct.unpack("<5Q", struct.pack("<5d", F, G, H, math.inf, math.nan))
    given = np.array([X, Y, Z, 0, P, Q, *floats], np.uint64)
    integers, numbers = np.zeros(1024, np.int64), np.zeros(1024)
    buffers = device.allocate_parts([given.nbytes, integers.nbytes, numbers.nbytes])
    for buffer, content in zip(buffers, (given, integers, numbers), strict=True):
        device.queue.write(buffer, content)
    device.queue.launch(loaded, (1, 1, 1), (threads, 1, 1), buffers)
    device.queue.read(buffers[1], integers)
    device.queue.read(buffers[2], numbers)
    return integers.tolist(), numbers.tolist()


@pytest.mark.parametrize("arch", INTERPRETED)
def test_integers(arch: str) -> None:
    """Bits and integers, against Python's."""
    expected = INTEGERS if COMPILERS[arch][0] == "hiprtc" else INTEGERS | BY_CLANG
    found, _ = run(arch, "integers", kernel("integers", assigned("out", expected)))
    assert dict(zip(expected, found, strict=False)) == expected


@pytest.mark.parametrize("arch", INTERPRETED)
def test_numbers(arch: str) -> None:
    """Numbers, bit for bit."""
    _, found = run(arch, "numbers", kernel("numbers", assigned("numbers", NUMBERS)))
    assert dict(zip(NUMBERS, map(float.hex, found), strict=False)) == {
        text: float(value).hex() for text, value in NUMBERS.items()
    }


@pytest.mark.parametrize("arch", INTERPRETED)
def test_library(arch: str) -> None:
    """Functions of AMD's device library, where their values are exact."""
    _, found = run(arch, "library", kernel("library", assigned("numbers", LIBRARY)))
    assert dict(zip(LIBRARY, map(float.hex, found), strict=False)) == {
        text: float(value).hex() for text, value in LIBRARY.items()
    }


@pytest.mark.parametrize("arch", INTERPRETED)
def test_lanes(arch: str) -> None:
    """Shuffles, votes and lanes, on waves of 64 and warps of 32."""
    lanes = 64 if arch == "gfx90a" else 32
    found, _ = run(arch, "lanes", kernel("lanes", SHUFFLES), lanes)
    expected = shuffled(lanes)
    assert [found[64 * n : 64 * n + lanes] for n in range(len(expected))] == expected


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("call", ["__shfl_sync(~0u, i, 1)", "__activemask()", "__trap()"])
def test_names_that_neither_has(arch: str, call: str) -> None:
    """CUDA's, and those of a later ROCm: the same template compiles for all architectures."""
    tier, compiler = COMPILERS[arch]
    tiers.check(tier)
    with pytest.raises(CompileError, match="undeclared identifier"):
        compiler().compile(kernel("k", f"{call};"), arch)


def test_without_the_device_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One sentence says what installs it; what needs no library compiles."""
    tiers.check("clang")
    monkeypatch.setenv("HIP_DEVICE_LIB_PATH", str(tmp_path))
    compiler = ClangCompiler()
    assert compiler.version().endswith("library none")
    assert compiler.compile(kernel("k", "numbers[0] = floor(f);"), "gfx1100")
    for call, name in (("exp(f)", "__ocml_exp_f64"), ('printf("%d", i)', "__ockl_printf_begin")):
        with pytest.raises(CompileError, match=f"needs {name} .*apt-get install rocm-device-libs"):
            compiler.compile(kernel("k", f"numbers[0] = {call};"), "gfx1100")
