"""Faults put in on purpose: does a fast test notice each of them?

usage: ci/faults [--list] [--keep-cache FOLDER] [WORD ...]      faults whose names hold a word

Each fault is a change of one text in one file. The sources are copied, the named tests run on the
copy as it is (they must pass), then once for each fault, which at least one of them must notice.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "portmp",
    "templates",
    "tests",
    "docs",
    "ci",
    ".ci",
    "bench",
    "README.md",
    "CHANGELOG.md",
    "pyproject.toml",
)
PASSED, FAILED = 0, 1
"""Exit statuses of pytest; of others (no test, no import, a wrong option) nothing follows."""


Run = tuple[str, str, bool]
"""Files of tests, pytest's -k, and whether slow tests run."""


@dataclass(frozen=True)
class Fault:
    """*old* stands once in *file*, *new* in its place; *tests*: files, *chosen*: pytest's -k.

    *slow*: whether slow tests are among them.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
    chosen: str = ""
    slow: bool = False

    @property
    def run(self) -> Run:
        """What should notice it."""
        return self.tests, self.chosen, self.slow

    def changed(self, text: str) -> str:
        """The file's text with the fault; ValueError where there is not one place for it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {text.count(self.old)} places in {self.file}")
        return text.replace(self.old, self.new)


EXPANSIONS = "portmp/networks/expansions.py"
OPERATORS = "portmp/networks/operators.py"
RECORDED = "test_reference.py"
ENCODE = "portmp/formats/encode.py"
INSTRUCTIONS = "portmp/emulator/instructions.toml"
HELPERS = "templates/emulator/helpers.mako"
ACCESSES = "templates/emulator/memory.mako"
EMULATED = "test_emulator_instructions.py"
MEMORIES = "test_emulator_memory.py"
CHECKS = "templates/emulator/checking.mako"
CHECKED = "test_emulator_checks.py"

ENTRIES = "portmp/porting/entries"


def entry(name: str, path: str, old: str, new: str) -> Fault:
    """A wrong claim of the porting reference, which its evidence must not bear out."""
    tests = "test_porting_entries.py", f"test_evidence and {path}"
    return Fault(f"entry: {name}", f"{ENTRIES}/{path}.toml", old, new, *tests)


FAULTS = (
    # --- networks: a gate changed, a step dropped ----------------------------------------
    Fault(
        "add2: a limb's error dropped",
        EXPANSIONS,
        "y0 = y0 + y1\ny0 = y0 + x1",
        "y0 = y0 + x1",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "mul2: a cross product of the wrong limbs",
        EXPANSIONS,
        "d = x[1] * y[0]\nc = c + d",
        "d = x[1] * y[1]\nc = c + d",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "div2: the residual's low limb with the wrong sign",
        EXPANSIONS,
        "d = x[1] - r[1]",
        "d = x[1] + r[1]",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "sqrt2: the low limb left out",
        EXPANSIONS,
        "r = x[1] + r\nl = r / (g + g)",
        "l = r / (g + g)",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "rsqrt_word: the residual of another step",
        EXPANSIONS,
        "h = 0.5 * y\nreturn fma(h, r, y)",
        "h = 0.5 * y\nreturn fma(h, f, y)",
        RECORDED,
        "rsqrt_word",
    ),
    Fault(
        "add3: renormalisation cut short",
        EXPANSIONS,
        "AD x1 x2; TS x1 y1; TS y0 x1;",
        "AD x1 x2; TS y0 x1;",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "mul3: a product's part lost",
        EXPANSIONS,
        "h = (c + d) + (f1 + f2)",
        "h = (c + d) + f2",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "div3: the residual's sign",
        EXPANSIONS,
        "x[2] -e01 -p02 -e10",
        "x[2] -e01 p02 -e10",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "add4: two_sum taken for fast_two_sum's place",
        EXPANSIONS,
        "TS x0 y0; TS x1 y1; TS x2 y2; TS x3 y3;",
        "TS x0 y0; QS x1 y1; TS x2 y2; TS x3 y3;",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "mul4: a low product lost",
        EXPANSIONS,
        "AD e10 p03; AD p11 p20; TS p01 e01",
        "AD e10 p03; TS p01 e01",
        RECORDED,
        "recorded_results",
    ),
    Fault(
        "accumulate2: a cross product lost",
        EXPANSIONS,
        "e = fma(x[1], y[0], e)\na, t = two_sum(s[0], p)\nv",
        "a, t = two_sum(s[0], p)\nv",
        RECORDED,
        "recorded_dot_products",
    ),
    Fault(
        "accumulate3: a carry lost",
        EXPANSIONS,
        "d = s[3] + ((w1 + w2) + w3)",
        "d = s[3] + (w1 + w3)",
        RECORDED,
        "recorded_dot_products",
    ),
    Fault(
        "finish2: no sweeps",
        EXPANSIONS,
        '2 * _UP[2] + "AD b c; QS a b"',
        '"AD b c; QS a b"',
        RECORDED,
        "recorded_dot_products",
    ),
    # --- operators, special values ------------------------------------------------------
    Fault(
        "min: zeros of both signs",
        OPERATORS,
        'f"-(-{x0} - {y0})" if op == "min"',
        'f"{x0} + {y0}" if op == "min"',
        "test_arrays.py",
        "minimum_and_maximum and dd",
    ),
    Fault(
        "max: the wrong one of two",
        OPERATORS,
        'else "less(d, 0)"',
        'else "less(0, d)"',
        "test_arrays.py",
        "minimum_and_maximum and dd",
    ),
    Fault(
        "max: NaN lost",
        OPERATORS,
        "select(isnan({y0}), {y}, w{i})",
        "select(isnan({y0}), {x}, w{i})",
        "test_arrays.py",
        "minimum_and_maximum and dd",
    ),
    Fault(
        "compare: NaN of the second",
        OPERATORS,
        'f"s = select(isnan({y0}), 2, s)\\n"',
        '"s = select(isnan(d), s, s)\\n"',
        "test_arrays.py",
        "comparisons_with_special and dd",
    ),
    Fault(
        "an infinity with a NaN below it",
        OPERATORS,
        "{'0' if i else h}",
        "{'r[%d]' % i if i else h}",
        "test_arrays.py",
        "special_values_are and dd",
    ),
    Fault(
        "abs: low limbs keep their signs",
        OPERATORS,
        "select(negative, -{limb}, {limb})",
        "select(negative, {limb}, {limb})",
        "test_arrays.py",
        "operators_keep_their_bounds and dd",
    ),
    Fault(
        "host fma: rounded twice",
        "portmp/networks/ieee.py",
        "odd: Array = (truncated | inexact).view",
        "odd: Array = (bits | (inexact & False)).view",
        RECORDED,
        "test_fma",
    ),
    # --- templates ----------------------------------------------------------------------
    Fault(
        "two_sum: half of the error",
        "templates/arithmetic/arithmetic.mako",
        "*e = (a - (s - t)) + (b - t);",
        "*e = b - t;",
        "test_arrays.py",
        "operators_keep_their_bounds and dd",
    ),
    Fault(
        "gemm: a barrier dropped",
        "templates/blas/gemm.mako",
        "${kept(tiles)}\n        ${p.barrier}\n    }",
        "${kept(tiles)}\n    }",
        "test_schedules.py",
        "test_gemm and dd",
    ),
    Fault(
        "gemm by units: what follows the last step is 0 times 0",
        "templates/blas/gemm_units.mako",
        "] = -0.0;",
        "] = 0.0;",
        "test_gemm_units.py",
        "test_products",
    ),
    Fault(
        "gemm by units: a slab takes the place of those before",
        "templates/blas/gemm_units.mako",
        "sum[i][j] += *at;",
        "sum[i][j] += 0;",
        "test_gemm_units.py",
        "test_products",
    ),
    Fault(
        "gemm by units: what AMD's lanes hold lies in rows that follow each other",
        "portmp/codegen/platform.py",
        "    apart=4,\n",
        "    apart=16,\n",
        "test_gemm_units.py",
        "test_interpreted and hostile",
    ),
    Fault(
        "gemm by units: what a thread loaded goes to the stage that is read",
        "templates/blas/gemm_units.mako",
        '${stored(t, ahead, " " * 8)}',
        '${stored(t, "stage", " " * 8)}',
        "test_gemm_units.py",
        "test_interpreted and tiny",
    ),
    Fault(
        "interpreter: sums of matrices' products in other rows",
        "templates/emulator/exchanges.mako",
        "i = lane / 16 + 4 * r",
        "i = lane / 16 * 4 + r",
        "test_emulator_instructions.py",
        "products_of_matrices",
    ),
    Fault(
        "probe: a unit that is not there is kept",
        "portmp/discovery/probe.py",
        'return replace(traits, matrix_unit="")',
        "return None",
        "test_gemm_units.py",
        "test_unit",
    ),
    Fault(
        "probe: a unit that adds up otherwise is kept",
        "portmp/discovery/probe.py",
        "return _differences(given[2].read_dense(), [chain(*hosts)])",
        "return 0, hosts[2].size",
        "test_gemm_units.py",
        "test_unit",
    ),
    Fault(
        "gemm: rows beyond the end",
        "portmp/routines/gemm/tiles.py",
        'return f"{self.operand}_kk + {in_k} < there && {place} < {self.extent}"',
        'return f"{self.operand}_kk + {in_k} < there && {place} < {self.extent} - 1"',
        "test_schedules.py",
        "test_gemm and dd",
    ),
    Fault(
        "packed gemm: the last column of a panel",
        "templates/blas/gemm_panels.mako",
        "n - first_col < ${columns} ? (int)(n - first_col) : ${columns};",
        "n - first_col < ${columns} ? (int)(n - first_col) - 1 : ${columns};",
        "test_blas.py",
        "gemm_of_every_shape and dd",
    ),
    Fault(
        "packed gemm: a missing mask at the end of a row",
        "templates/blas/gemm_panels.mako",
        "const int lanes = n - col < ${s.width} ? (int)(n - col) : ${s.width};",
        "const int lanes = ${s.width};",
        "test_blas.py",
        "gemm_of_views and dd",
    ),
    Fault(
        "packed gemm: slabs not renormalised",
        "templates/blas/gemm_panels.mako",
        "if (end - k0 == ${period}) {",
        "if (end - k0 == ${period} + 1) {",
        "test_blas.py",
        "slabs_of_batches and dd",
    ),
    Fault(
        "out=: the check left out",
        "portmp/routines/base.py",
        "    if out.elements != elements:\n",
        "    return\n    if out.elements != elements:\n",
        "test_out.py",
        "concat or sum",
    ),
    Fault(
        "refused devices among those that work",
        "portmp/discovery/finding.py",
        "    return list(accepted(listed()))\n",
        "    return listed()\n",
        "test_refused.py",
        "first",
    ),
    Fault(
        "beta ignored",
        "templates/blas/epilogue.mako",
        "if (beta_kind == 2)",
        "if (beta_kind == 3)",
        "test_blas.py",
        "alpha_and_beta and dd",
    ),
    Fault(
        "c read where beta is 0",
        "templates/blas/epilogue.mako",
        "if (beta_kind != 0) {",
        "if (beta_kind >= 0) {",
        "test_ozaki_levels.py",
        "few_direct and dd",
    ),
    Fault(
        "elementwise: a stride ignored",
        "templates/blas/elementwise.mako",
        'f"i{a} * {operand}_stride{a}"',
        'f"i{a} * {operand}_stride0"',
        "test_arrays.py",
        "views_of_views or broadcasting",
    ),
    Fault(
        "elementwise: an offset ignored",
        "templates/blas/elementwise_vectors.mako",
        'w.load_vector(operand, k, f"{operand}_start + i")',
        'w.load_vector(operand, k, "i")',
        "test_schedules.py test_arrays.py",
        "(test_elementwise and ds) or views_of_views",
    ),
    Fault(
        "elementwise: the tail's last element",
        "templates/blas/elementwise_vectors.mako",
        "const int lanes = (int)(end - i);",
        "const int lanes = (int)(end - i) - 1;",
        "test_arrays.py",
        "(operators_keep_their_bounds or minimum_and_maximum) and dd",
    ),
    Fault(
        "elementwise: vectors beyond the end",
        "templates/blas/elementwise_vectors.mako",
        "i + ${s.width} <= end;",
        "i < end;",
        "test_schedules.py test_arrays.py",
        "(test_elementwise and ds) or (axpy_and_scal and float32)",
    ),
    Fault(
        "max of an empty lane: identity",
        "portmp/routines/reduce/launch.py",
        '"identity": IDENTITY[kind],',
        '"identity": 0.0,',
        "test_arrays.py",
        "sums_and_extrema",
    ),
    Fault(
        "sums: a tree of another shape",
        "templates/blas/reduce_sweep.mako",
        "z[r][lane], z[r][lane + distance]);",
        "z[r][lane + distance], z[r][distance]);",
        "test_schedules.py",
        "gemv_and_dot and float32",
    ),
    Fault(
        "lu: the smallest pivot",
        "templates/linalg/lu_panel_vectors.mako",
        "(other > value ||",
        "(other < value ||",
        "test_bits.py",
        "device_gives and dd and rest",
    ),
    Fault(
        "gravity: a particle attracts itself",
        "templates/nbody/gravity_pair.mako",
        '${w.lane_of("inverse0", i, lane)} = ${v.literal(0)};',
        '${w.lane_of("inverse0", i, lane)} = ${w.lane_of("inverse0", i, lane)};',
        "test_nbody.py",
        "does_not_attract_itself",
    ),
    # --- calls --------------------------------------------------------------------------
    Fault(
        "gemm: a batch's stride lost",
        "portmp/codegen/signature.py",
        "found += (value.start, *steps[-2:], steps[0] if len(steps) == 3 else 0)",
        "found += (value.start, *steps[-2:], 0)",
        "test_blas.py",
        "gemm_of_batches and dd",
    ),
    Fault(
        "gemm: operands in the other order",
        "portmp/arrays/blas.py",
        '_turned(operand(a, "a"), trans_a), _turned(operand(b, "b"), trans_b)',
        '_turned(operand(a, "a"), trans_b), _turned(operand(b, "b"), trans_a)',
        "test_blas.py",
        "gemm_of_views and dd",
    ),
    Fault(
        "broadcasting: a repeated axis moves on",
        "portmp/runtime/planes.py",
        "[0 if n == 1 != want else step for",
        "[step for",
        "test_arrays.py",
        "broadcasting",
    ),
    Fault(
        "overlap of views that touch",
        "portmp/runtime/planes.py",
        "if low > other_high or other_low > high:",
        "if low >= other_high or other_low >= high:",
        "test_arrays.py",
        "share_one_element",
    ),
    Fault(
        "norms without scaling",
        "portmp/arrays/blas.py",
        "    exponent = definition.norm_exponent(x.format.word, largest)\n",
        "    exponent = None\n",
        "test_arrays.py",
        "norms_neither and dd",
    ),
    Fault(
        "leapfrog: a kick too long",
        "portmp/nbody/system.py",
        "ends = [weights[0] / 2,",
        "ends = [weights[0],",
        "test_system.py",
        "a_step_is or test_order",
    ),
    # --- formats, texts, files ----------------------------------------------------------
    Fault(
        "storage: ties away from even",
        ENCODE,
        "- one + (size >> dropped & one)",
        "- one + one",
        "test_storage.py",
        "rounding_of_exact or recorded_conversions",
    ),
    Fault(
        "storage: a NaN becomes an infinity",
        ENCODE,
        "np.where(np.isnan(words), quiet, found)",
        "np.where(np.isnan(words), most, found)",
        "test_storage.py",
        "every_number or conversions",
    ),
    Fault(
        "storage: rounded twice",
        ENCODE,
        "    image[error != 0] |= one\n",
        "",
        "test_storage.py",
        "rounded_once or rounding_of",
    ),
    Fault(
        "storage on devices: a carry lost",
        "templates/arithmetic/storage.mako",
        "high + (sum < low);",
        "high;",
        "test_storage.py",
        "convert_as_the_host and slfp64",
    ),
    Fault(
        "decimal: ties up",
        "portmp/formats/convert.py",
        "(excess > 0 or (excess == 0 and quotient & 1))",
        "(excess >= 0)",
        "test_convert.py",
        "float32_edges or to_string or strings_are",
    ),
    Fault(
        "decimal: 9.99 to 10.0",
        "portmp/formats/decimal.py",
        "exponent += len(text) - digits",
        "exponent += 0",
        "test_convert.py",
        "to_string or strings_are",
    ),
    Fault(
        "Matrix Market: symmetric ignored",
        "portmp/files/matrix_market.py",
        'if banner.symmetry != "general" and row != column:',
        'if banner.symmetry == "skew-symmetric" and row != column:',
        "test_files.py",
        "matrix_market",
    ),
    Fault(
        "Matrix Market: written by rows",
        "portmp/files/matrix_market.py",
        "texts.T.ravel()",
        "texts.ravel()",
        "test_files.py",
        "round_trip and mtx and ds",
    ),
    # --- benchmarks, energy -------------------------------------------------------------
    Fault(
        "floors: bits for bytes",
        "portmp/bench/roofline.py",
        "case.nbytes / limits.memory)",
        "8 * case.nbytes / limits.memory)",
        "test_bench.py",
        "floors",
    ),
    Fault(
        "floors of CPUs: the shorter pipe",
        "portmp/bench/roofline.py",
        "    return max(instructions.get(",
        "    return min(instructions.get(",
        "test_bench.py",
        "floors",
    ),
    Fault(
        "energy: a counter that begins again",
        "portmp/backends/rapl.py",
        "(now - self._last) % self._range",
        "(now - self._last)",
        "test_energy.py",
        "powercap",
    ),
    Fault(
        "energy: from the first reading",
        "portmp/bench/energy.py",
        "(first, low), (last, high) = steps[0], steps[-1]",
        "(first, low), (last, high) = readings[0], steps[-1]",
        "test_energy.py",
        "means_by_hand or observation",
    ),
    # --- keys, devices ------------------------------------------------------------------
    Fault(
        "processors: masked truth tables are trusted",
        "portmp/compilers/cpu.py",
        "or not _MASKED_TABLE.search(made)",
        "or True",
        "test_cpu.py",
        "choices_of_signs",
    ),
    Fault(
        "plans: strides are left out of what they are found by",
        "portmp/runtime/planes.py",
        "key = (self.elements, self.shape, self.strides, start)",
        "key = (self.elements, self.shape, start)",
        "test_launch.py",
        "told_apart and add",
    ),
    Fault(
        "plans: what waited for compilers is not planned again",
        "portmp/runtime/launch.py",
        "    if planner.awaited:\n",
        "    if False:\n",
        "test_launch.py",
        "compiled_together",
    ),
    Fault(
        "plans: an operand begins where the first call's did",
        "portmp/runtime/launch.py",
        "held.append(one.start)",
        "held.append(0)",
        "test_launch.py",
        "slices_share_plans and default",
    ),
    Fault(
        "plans: what is left of a start is not told",
        "portmp/runtime/planes.py",
        "start = start and 1 + start % PERIOD",
        "start = bool(start)",
        "test_launch.py",
        "known_by_their_rest",
    ),
    Fault(
        "plans: how far views of one memory are apart is not told",
        "portmp/runtime/launch.py",
        "key.append((first, _apart(starts[first], one.start)))",
        "key.append(first)",
        "test_launch.py",
        "shifted_results",
    ),
    Fault(
        "rows of one chunk: infinities are left to the limbs",
        "templates/blas/combine.mako",
        'if (!(${w.fabs(memory + "[0]")} <= ${w.largest})) {',
        "if (false) {",
        "test_schedules.py",
        "one_chunk and default",
    ),
    Fault(
        "truth values: bytes are counted",
        "portmp/codegen/elements.py",
        'return f"({held} != 0)" if self.dtype == "bool" else held',
        "return held",
        "test_memory_of_others.py",
        "any_byte and opencl and 255",
    ),
    Fault(
        "indices: short ones overflow",
        "portmp/arrays/indexing.py",
        "indices = indices.astype(np.int64)",
        "pass",
        "test_memory_of_others.py",
        "short_indices and opencl",
    ),
    Fault(
        "solve: a pivot that may be rounding errors hides another that is zero",
        "templates/linalg/weak_pivots.mako",
        "if (before > 0)",
        "if (before > 9)",
        "test_linalg.py",
        "may_be_rounding_errors",
    ),
    Fault(
        "put: arrays of longer formats are rounded",
        "portmp/arrays/choosing.py",
        'elementwise.beside_one(values, like, like.dtype, "values")',
        "creation.asarray(values, dtype=like.dtype, device=like.queue)",
        "test_lost_digits.py",
        "not_rounded and put",
    ),
    Fault(
        "sparse: users may change the columns that kernels read",
        "portmp/linalg/sparse.py",
        "return PlainArray(moves.copied(self.rows.columns))",
        "return PlainArray(self.rows.columns)",
        "test_memory_of_others.py",
        "patterns_stay and host",
    ),
    Fault(
        "zeros: parts that are not asked for are set, too",
        "portmp/backends/driver_api.py",
        "return block.places == tuple([part.place for part in parts])",
        "return True",
        "test_pool.py",
        "zeros_of_a_gpu",
    ),
    Fault(
        "plans: two views of one memory are taken for views of two",
        "portmp/runtime/launch.py",
        "if buffer in memory:",
        "if False:",
        "test_launch.py",
        "its_own_or_shared",
    ),
    Fault(
        "plans: numbers of the first call are those of all",
        "portmp/runtime/launch.py",
        "        if not _varies(one):\n            stand_ins.append(one)\n",
        "        if True:\n            stand_ins.append(one)\n",
        "test_launch.py",
        "other_memory_and_numbers and float64",
    ),
    Fault(
        "fuse: results on the way are not rounded as they are stored",
        "portmp/arrays/tracing.py",
        'text = f"{net}({text})" if net else text',
        "text = text",
        "test_fuse.py",
        "random_expressions and float16",
    ),
    Fault(
        "fuse: a view of a result begins where the result does",
        "portmp/arrays/tracing.py",
        "start += sum(i * s for i, s in zip(first, strides, strict=True))",
        "start += 0",
        "test_fuse.py",
        "views_and_broadcasting",
    ),
    Fault(
        "fuse: a number around the function is that of the first call",
        "portmp/arrays/fusing.py",
        "return [read, lambda: repr(read())]",
        "return []",
        "test_fuse.py",
        "test_numbers",
    ),
    Fault(
        "capture: what the host writes in a block is written once",
        "portmp/runtime/planes.py",
        "queue.do(type(queue).copy, (buffer, made[i], part.nbytes, start), made)",
        "queue.copy(buffer, made[i], part.nbytes, start)",
        "test_capture.py",
        "memory_of_the_loop",
    ),
    Fault(
        "capture: a loop of compiled code leaves its last launch out",
        "portmp/backends/cpu/runtime.py",
        "self._threads.repeat, self._place, len(words)",
        "self._threads.repeat, self._place, len(words) - 1",
        "test_capture.py",
        "bits_of_the_calls and cpu and dd",
    ),
    Fault(
        "memory: a block is given out while another queue may use it",
        "portmp/backends/pool.py",
        "            self.noted\n            or pool.closed",
        "            pool.closed",
        "test_pool.py",
        "another_queue",
    ),
    Fault(
        "memory: nobody notes that another queue uses it",
        "portmp/runtime/planes.py",
        "            buffer.note(queue)\n",
        "            pass\n",
        "test_pool.py",
        "another_queue",
    ),
    Fault(
        "memory: a limit that holds for single blocks alone",
        "portmp/backends/pool.py",
        "reserve.held + layout.nbytes > reserve.limit",
        "layout.nbytes > reserve.limit",
        "test_pool.py",
        "limit",
    ),
    Fault(
        "memory: what is on its way to a GPU is overwritten",
        "portmp/backends/driver_api.py",
        "                before.wait()\n",
        "                pass\n",
        "test_pool.py",
        "small_copies",
    ),
    Fault(
        "kernels of users: a tuned schedule outlives an edit",
        "portmp/kernels/tuned.py",
        'f"{declared}\\0{text}".encode()',
        'f"{declared}".encode()',
        "test_kernel_tools.py",
        "test_tuning",
    ),
    Fault(
        "kernels of users: a candidate sees the results of the one before",
        "portmp/kernels/tuning.py",
        "        self.clear()\n",
        "",
        "test_kernel_tools.py",
        "other_bits",
    ),
    Fault(
        "kernels of users: threads compile each for themselves",
        "portmp/kernels/kernel.py",
        "found = known.get(key) or self._loaded_on(device, name, dense)",
        "found = self._loaded_on(device, name, dense)",
        "test_kernel_tools.py",
        "threads_compile_once",
    ),
    Fault(
        "kernels of users: two views of an array are taken for one array given twice",
        "portmp/kernels/kernel.py",
        "        if len({*operands}) < len(operands):\n",
        "        if False:\n",
        "test_kernel_calls.py",
        "given_twice",
    ),
    Fault(
        "kernels of users: one array is input and result",
        "portmp/kernels/kernel.py",
        'if not (seen is view and parameter.way == "inout") and',
        "if seen is not view and",
        "test_first_minutes.py",
        "kernels_refuse",
    ),
    Fault(
        "constants beside floats: numbers are made as constants are",
        "portmp/formats/constants.py",
        "    from_float: Any = Exact.from_float  # comparisons make numbers\n",
        "",
        "test_exact_numbers.py",
        "what_python_expects",
    ),
    Fault(
        "masked arrays of integers: the mask is lost",
        "portmp/arrays/creation.py",
        "    convert.refuse_masked(data, argument)\n",
        "",
        "test_arrays.py",
        "operands_that_do_not_fit",
    ),
    Fault(
        "arrays like another: the default format",
        "portmp/arrays/numpy_protocol.py",
        'with dtypes.default_format(getattr(x, "format", None) or dtypes.default()):',
        "with dtypes.default_format(dtypes.default()):",
        "test_first_minutes.py",
        "like_makes",
    ),
    Fault(
        "advice about formats: the shorter one's digits",
        "portmp/formats/meeting.py",
        "if all(fits(one, form) for one in forms) and also(form):",
        "if any(fits(one, form) for one in forms):",
        "test_first_minutes.py",
        "advice_of_routines",
    ),
    Fault(
        "text of arrays: no more digits than the format has",
        "portmp/arrays/printing.py",
        '"short" if all_digits else "shown"',
        '"shown"',
        "test_first_minutes.py",
        "printed_makes_the_array_again",
    ),
    Fault(
        "kernels of users: a grid that a number decides is the first call's",
        "portmp/kernels/kernel.py",
        "fixed=self._repeats)",
        "fixed=True)",
        "test_kernel_calls.py",
        "numbers_and_grids",
    ),
    Fault(
        "kernels of users: kept digests are not compared",
        "portmp/kernels/verifying.py",
        "error = kept.difference(outcome)",
        'error = ""',
        "test_kernel_tools.py",
        "verifying_on_all",
    ),
    Fault(
        "kernels of users: OpenCL's block memory is aligned for bytes",
        "portmp/codegen/platform.py",
        "__local ulong2 *dynamic_",
        "__local char *dynamic_",
        "test_kernel_words.py",
        "aligned_by_its_type",
    ),
    Fault(
        "kernels: a note without traits",
        "portmp/runtime/program.py",
        "device.platform, device.traits, unit)",
        "device.platform, unit)",
        "test_cache.py",
        "key_depends or not_rendered",
    ),
    Fault(
        "kernels: a binary's name without its compiler",
        "portmp/runtime/program.py",
        "parts = device.compiler_key(), device.traits.barriers",
        "parts = device.traits.barriers",
        "test_cache.py",
        "key_depends",
    ),
    Fault(
        "kernels: damage unseen",
        "portmp/paths.py",
        "hmac.compare_digest(data[:start], seal):",
        "True:",
        "test_cache.py",
        "damage",
    ),
    Fault(
        "cache: a folder that others write to is believed",
        "portmp/paths.py",
        "    if facts.st_mode & _OTHERS:\n",
        "    if False:\n",
        "test_cache.py",
        "others_write",
    ),
    Fault(
        "cache: links are followed",
        "portmp/paths.py",
        "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_RDONLY | os.O_NONBLOCK",
        "test_cache.py",
        "regular",
    ),
    Fault(
        "cache: a seal without its file's name",
        "portmp/paths.py",
        'name.encode() + b"\\0" + body',
        "body",
        "test_cache.py",
        "seal",
    ),
    Fault(
        "probe: a verdict's key without traits",
        "portmp/discovery/probe.py",
        "{known}\\0{asdict(device.traits)}",
        "{known}",
        "test_probe.py",
        "other_traits",
    ),
    Fault(
        "probe: a verdict on an interpreter outlives its code",
        "portmp/discovery/probe.py",
        "{device.name}\\0{program.code()}",
        "{device.name}",
        "test_probe.py",
        "interpreter_goes",
    ),
    Fault(
        "probe: a check skipped",
        "portmp/discovery/probe.py",
        "        if differing:\n",
        '        if differing and check != "rounding":\n',
        "test_probe.py",
        "no_cure or break_arithmetic",
    ),
    Fault(
        "probe: what a barrier mixes up is not looked at",
        "portmp/discovery/probe.py",
        "[-given * given[::-1]]",
        "numbers.read_dense()",
        "test_probe.py",
        "before_a_barrier",
    ),
    Fault(
        "processor: nobody waits at a barrier",
        "portmp/backends/cpu/pool.c",
        "static void meet(struct blocks *blocks) { pass((struct crew *)blocks); }",
        "static void meet(struct blocks *blocks) { (void)blocks; }",
        "test_cpu.py",
        "blocks_that_meet",
    ),
    Fault(
        "processor: launches do not wait for those before them",
        "portmp/backends/cpu/pool.c",
        "    if (!queue->first)\n        queue->last = 0;",
        "    if (launch->after && launch->after->after)\n        share(launch->after->after);\n"
        "    if (!queue->first)\n        queue->last = 0;",
        "test_cpu.py",
        "launches_in_order",
    ),
    Fault(
        "processor: rounding is the calling thread's",
        "portmp/backends/cpu/pool.c",
        "    set_floats(NEAREST);",
        "",
        "test_cpu.py",
        "rounding_of_other_libraries",
    ),
    Fault(
        "processor: block memory is shared by threads",
        "portmp/compilers/cpu.py",
        'return _THREADS.sub(r"\\1thread_local ", listing).replace',
        'return re.sub(r"(@portmp_.*= internal )", r"\\1thread_local ", listing).replace',
        "test_cpu.py",
        "blocks_that_meet",
    ),
    Fault(
        "processor: an extent is thought to be unlimited where it is a number, too",
        "portmp/compilers/cpu.py",
        'if parameter.type != "const long" or len(re.findall(rf"\\b{name}\\b", body)) != 1:',
        'if parameter.type != "const long":',
        "test_cpu.py",
        "extents_that_are_used_otherwise",
    ),
    Fault(
        "processor: products and sums are contracted",
        "portmp/compilers/cpu.py",
        '"-ffp-contract=off"',
        '"-ffp-contract=fast"',
        "test_cpu.py",
        "contraction",
    ),
    Fault(
        "processor: code is kept for any processor",
        "portmp/compilers/cpu.py",
        "features_key = sha256(features().encode())",
        'features_key = sha256(b"")',
        "test_cpu.py",
        "code_is_for",
    ),
    Fault(
        "emulated processor: each text's first kernel",
        "portmp/backends/cpu/emulated.py",
        "there.index(name)))",
        "0))",
        "test_emulated_processors.py",
        "kernels_of_one_text",
    ),
    Fault(
        "emulated processor: memory as it was at a process's first launch",
        "portmp/backends/cpu/worker.c",
        "if (more && mapped(next",
        "if (more && !there && mapped(next",
        "test_emulated_processors.py",
        "memory_that_grows",
    ),
    Fault(
        "emulated processor: processes that compute outlive their parent",
        "portmp/backends/cpu/worker.c",
        "system_call(PRCTL, 1, 9,",
        "system_call(PRCTL, 1, 0,",
        "test_emulated_processors.py",
        "end_with_their_parent",
    ),
    Fault(
        "opencl: programs with barriers optimised all the same",
        "portmp/backends/opencl/runtime.py",
        '("-cl-opt-disable",) if spoiled else ()',
        "()",
        "test_probe.py",
        "before_a_barrier",
    ),
    Fault(
        "kernels: a binary's name without the trait of barriers",
        "portmp/runtime/program.py",
        "device.compiler_key(), device.traits.barriers, text",
        "device.compiler_key(), text",
        "test_probe.py",
        "before_a_barrier",
    ),
    Fault(
        "probe: a crash approves",
        "portmp/discovery/isolated.py",
        "return Verdict(device.traits, tuple(repairs), str(ended))",
        "return Verdict(device.traits, tuple(repairs))",
        "test_probe.py",
        "a_crash_refuses",
    ),
    Fault(
        "vectors longer than the device takes",
        "portmp/codegen/platform.py",
        "if w == 1 or w * bits <= traits.vector_bits)",
        "if w == 1 or w * bits <= 512)",
        "test_probe.py",
        "longer_vectors and ds",
    ),
    Fault(
        "schedules: stored over another shape's",
        "portmp/schedules/database.py",
        'if k not in ("schedule", "measured")}',
        'if k not in ("schedule", "measured", "shape")}',
        "test_tuning.py",
        "storing",
    ),
    Fault(
        "schedules: the device before the shape",
        "portmp/schedules/database.py",
        "    for shape, names, level in itertools.product(shapes, groups, LEVELS):",
        "    for level, names, shape in itertools.product(LEVELS, groups, shapes):",
        "test_tuning.py",
        "shape_counts_most",
    ),
    # --- AMD code interpreted -----------------------------------------------------------
    Fault(
        "interpreter: a carry of a carry lost",
        INSTRUCTIONS,
        'v_addc_co_u32 = ["u", "uum", "a + b + c", "((ulong)a + b + c) >> 32"]',
        'v_addc_co_u32 = ["u", "uum", "a + b + c", "((ulong)a + b) >> 32"]',
        EMULATED,
        "carries and wave64",
    ),
    Fault(
        "interpreter: a scalar borrow",
        INSTRUCTIONS,
        '"(ulong)a < (ulong)b + scc"',
        '"a < b + scc"',
        EMULATED,
        "s_subb and wave64",
    ),
    Fault(
        "interpreter: the wrong half of a product",
        INSTRUCTIONS,
        'v_mul_hi_u32 = ["u", "uu", "(uint)(((ulong)a * b) >> 32)"]',
        'v_mul_hi_u32 = ["u", "uu", "(uint)(((ulong)a * b) >> 31)"]',
        EMULATED,
        "v_mul_hi_u32 and wave64",
    ),
    Fault(
        "interpreter: lanes that are off",
        "templates/emulator/interpreter.mako",
        "lane < LANES; ++lane) if (active >> lane & 1)",
        "lane < LANES; ++lane)",
        EMULATED,
        "lanes_that_are_off and wave64",
    ),
    Fault(
        "interpreter: an fma rounded twice",
        INSTRUCTIONS,
        'v_fma_f64 = ["d", "ddd", "FMA64(a, b, c)"]',
        'v_fma_f64 = ["d", "ddd", "a * b + c"]',
        EMULATED,
        "operations_are_exact and v_fma_f64 and wave64",
    ),
    Fault(
        "interpreter: the sign of a number over zero",
        HELPERS,
        "if (d == 0 || isinf(n))\n        return as_${word}(negative | ${infinity});",
        "if (d == 0 || isinf(n))\n        return as_${word}(${infinity});",
        EMULATED,
        "quotients_are_completed and wave64",
    ),
    Fault(
        "interpreter: a quotient below all numbers",
        HELPERS,
        "n == 0 || exponent${bits}(n) - exponent${bits}(d) < -${far})",
        "n == 0)",
        EMULATED,
        "quotients_are_completed and wave64",
    ),
    Fault(
        "interpreter: v_div_scale as the guides have it",
        HELPERS,
        "return s == d || !subnormal${bits}(n / d) ? scaled${bits}(s, -${power}) : s;",
        "return subnormal${bits}(n / d) ? s == d ? scaled${bits}(s, ${power}) : s"
        " : scaled${bits}(s, -${power});",
        EMULATED,
        "quotients_are_scaled and not back and wave64",
    ),
    Fault(
        "interpreter: v_div_fmas as the guides have it",
        INSTRUCTIONS,
        'v_div_fmas_f64 = ["d", "dddm", "quotient64(a, b, c, m)"]',
        'v_div_fmas_f64 = ["d", "dddm", "scaled64(FMA64(a, b, c), '
        'm ? exponent64(c) > 1023 ? 128 : -128 : 0)"]',
        EMULATED,
        "quotients_are_scaled_back and wave64",
    ),
    Fault(
        "interpreter: a carry lost",
        INSTRUCTIONS,
        'v_add_co_u32 = ["u", "uu", "a + b", "r < a"]',
        'v_add_co_u32 = ["u", "uu", "a + b", "0"]',
        EMULATED,
        "carries and v_add_co and wave64",
    ),
    Fault(
        "interpreter: the upper word of a product",
        INSTRUCTIONS,
        'v_mad_u64_u32 = ["l", "uul", "(ulong)a * b + c", "r < c"]',
        'v_mad_u64_u32 = ["l", "uul", "(ulong)(a * b) + c", "r < c"]',
        EMULATED,
        "carries and v_mad_u64 and wave64",
    ),
    Fault(
        "interpreter: the first lane, on or off",
        "templates/emulator/exchanges.mako",
        "const uint lane = exec ? popcount((exec & -exec) - 1) : 0;",
        "const uint lane = 0;",
        EMULATED,
        "moves_between_lanes and wave64",
    ),
    Fault(
        "interpreter: a signalling NaN that gives way",
        HELPERS,
        "    if (ieee && signalling${bits}(b))\n        return quieted${bits}(b);\n",
        "",
        EMULATED,
        "operations_are_exact and v_max_f64 and wave64",
    ),
    Fault(
        "interpreter: the wrong half of a register",
        "portmp/emulator/assembler.py",
        'self._insert(target[1], kept, target[2] == "h")',
        "self._insert(target[1], kept)",
        EMULATED,
        "halves_of_registers and wave64",
    ),
    Fault(
        "interpreter: stores of lanes that are off",
        ACCESSES,
        "EACH {\n                            uint space = which / 3;",
        "for (uint lane = 0; lane < LANES; ++lane) if (way == STORE || (active >> lane & 1)) {\n"
        "                            uint space = which / 3;",
        MEMORIES,
        "touch_no_memory and wave64",
    ),
    Fault(
        "interpreter: addresses without a carry",
        ACCESSES,
        "address = own + ((ulong)at1[1] << 32 | at1[0]) +",
        "address = ((own >> 32) + at1[1] << 32 | (uint)((uint)own + at1[0])) +",
        MEMORIES,
        "multiples_of_4_gib and wave64",
    ),
    Fault(
        "interpreter: arrays behind a multiple of 4 GiB",
        "portmp/emulator/machine.py",
        "self._middles.popleft() - size // 2 // ALIGNMENT * ALIGNMENT",
        "self._middles.popleft()",
        MEMORIES,
        "multiples_of_4_gib and wave64",
    ),
    Fault(
        "checks: lanes of a wave in order",
        CHECKS,
        "THREAD_OF(one.who ^ who) != 0 :",
        "0 :",
        CHECKED,
        "races_need_a_barrier",
    ),
    Fault(
        "checks: the second reader forgotten",
        CHECKS,
        "        if (!foreign)\n            unit->other = last;",
        "",
        CHECKED,
        "after_others_have_read",
    ),
    Fault(
        "checks: what an earlier block wrote",
        CHECKS,
        "if (unit->written < t.block)",
        "if (unit->written < 1)",
        CHECKED,
        "unwritten_in_each_block",
    ),
    Fault(
        "checks: bytes that nobody wrote",
        CHECKS,
        "have &= known[i / 4] >> (i & 3) & 1 ? ~0u : 0;",
        "have &= known[i / 4] ? ~0u : 0;",
        CHECKED,
        "one_by_one",
    ),
    Fault(
        "checks: words whose bytes are used later",
        CHECKS,
        "            units[4 * word + byte] = units[word];",
        "            units[4 * word + byte] = units[4 * word + byte];",
        CHECKED,
        "used_later or lie_across",
    ),
    Fault(
        "checks: a barrier that some reach",
        CHECKS,
        "    if (there != threads)\n        note(",
        "    if (there > threads)\n        note(",
        CHECKED,
        "barriers_that_some_reach",
    ),
    Fault(
        "interpreter: a store of two branches has the line of what follows",
        "portmp/emulator/lines.py",
        "[_UNSURE, table[index]]",
        "[table[index], table[index]]",
        CHECKED,
        "test_stores_of_two_branches",
    ),
    Fault(
        "checks: no marks",
        "portmp/emulator/marks.py",
        "wanted = warp or (block and single)",
        "wanted = False",
        CHECKED,
        "barriers_of_warps or one_wave",
    ),
    # --- correct rounding, bounds beside results ---
    Fault(
        "a product's last digit is dropped",
        "templates/exact/words.mako",
        "    add_digit(work, step, digit + 4, s3 >> 32, negative);",
        "",
        "test_exact.py",
        "devices_round and dd",
    ),
    Fault(
        "what words do not hold of a sum is dropped",
        "templates/exact/accumulate.mako",
        "                    add_word(mine, step, ${rest}, ${unit});\n",
        "",
        "test_exact.py",
        "held_in_words",
    ),
    Fault(
        "errors of products below the smallest subnormal are lost",
        "portmp/routines/exact/accumulator.py",
        "SAFE = 2.0**-960",
        "SAFE = 2.0**-1022",
        "test_exact.py",
        "held_in_words",
    ),
    Fault(
        "a sum's ties go up",
        "templates/exact/rounded.mako",
        "number += below != 0 || (number & 1) != 0;",
        "number += 1;",
        "test_exact.py",
        "test_sums_on_devices",
    ),
    Fault(
        "what is far below a tie is not seen",
        "templates/exact/rounded.mako",
        "for (int i = 0; i < next && below == 0; ++i)",
        "for (int i = 1; i < next && below == 0; ++i)",
        "test_exact.py",
        "test_sums_on_devices",
    ),
    Fault(
        "products are added with one sign",
        "templates/exact/words.mako",
        "${x}_negative${i} != ${y}_negative${j}",
        "${x}_negative${i}",
        "test_exact.py",
        "devices_round and dd",
    ),
    Fault(
        "folded sums lose the parts beyond the first",
        "templates/exact/add_up.mako",
        "for (${long} at = which; at < count * parts; at += kept)",
        "for (${long} at = which; at < kept; at += kept)",
        "test_exact.py",
        "test_lengths and 20000",
    ),
    Fault(
        "bounds leave out running sums",
        "portmp/networks/bounded.py",
        'lines, words = ["a = fma(x[0], y[0], s[0])", "radius = radius + fabs(a)"], ["a"]',
        'lines, words = ["a = fma(x[0], y[0], s[0])", "radius = radius + 0"], ["a"]',
        "test_certified.py",
        "on_the_host and float64",
    ),
    Fault(
        "products that sums of three limbs leave out count too little",
        "portmp/networks/bounded.py",
        "THREE, FOUR = (0.7109375, 0.7109375)",
        "THREE, FOUR = (0.59375, 0.59375)",
        "test_certified.py",
        "cover",
    ),
    Fault(
        "halves in the product that a step of two limbs adds are not made up for",
        "portmp/networks/bounded.py",
        "scales = 2 * how.products * u",
        "scales = how.products * u",
        "test_certified.py",
        "words_of_products and 2",
    ),
    Fault(
        "products that a step adds leave out third limbs",
        "portmp/networks/bounded.py",
        "reversed(list(enumerate(each)))",
        "reversed(list(enumerate(each[:2])))",
        "test_certified.py",
        "words_of_products and 3",
    ),
    Fault(
        "what the last words of four limbs of float64 lose is not counted",
        "portmp/networks/bounded.py",
        "_alike(2.0**-12, *FOUR)",
        "_alike(0.0, *FOUR)",
        "test_certified.py",
        "cover and 4_float64",
        slow=True,
    ),
    Fault(
        "bounds leave out what the ends of sums drop",
        "portmp/networks/bounded.py",
        'f"radius = fma(fabs({{}}), {1 / u!r}, radius)"',
        'f"radius = fma(fabs({{}}), 0.0, radius)"',
        "test_certified.py",
        "ends_count",
    ),
    Fault(
        "results of whole vectors keep what is not finite",
        "templates/blas/gemm_panels.mako",
        '                if (!${beyond("z")}) {',
        "                if (1) {",
        "test_certified.py",
        "whole_vectors and dd",
    ),
    Fault(
        "bounds of whole tiles keep what is not finite",
        "templates/blas/gemm.mako",
        "                if (last && !(${w.fabs(",
        "                if (!last && !(${w.fabs(",
        "test_certified.py",
        "whole_tiles and gfx90a and float64 and four",
    ),
    Fault(
        "products of whole tiles lose earlier slabs",
        "templates/blas/gemm.mako",
        "                if (slab > 0) {\n",
        "                if (slab > 1024) {\n",
        "test_schedules.py",
        "whole_tiles and gfx90a and float64-2",
    ),
    Fault(
        "bounds leave out underflow",
        "portmp/routines/certified.py",
        "    unit = LOST[form.limbs] * 2.0 ** SMALLEST[form.word]\n",
        "    unit = 0.0\n",
        "test_certified.py",
        "underflow",
    ),
    Fault(
        "results from leading limbs have a bound of nothing",
        "portmp/routines/reference.py",
        "lower[-1] = np.where(bad, value[0].dtype.type(np.inf), value[-1])",
        "lower[-1] = np.where(bad, value[0].dtype.type(0), value[-1])",
        "test_certified.py",
        "near_overflow",
    ),
    Fault(
        "what storing cuts off is not counted",
        "portmp/routines/certified.py",
        'value, bound = short, of("add", bound, of("mul", away, RAISED))',
        "value, bound = short, bound",
        "test_certified.py",
        "on_the_host and float16",
    ),
    Fault(
        "fmod: the nearest multiple below the largest numbers overflows",
        "portmp/networks/functions/rounding.py",
        'return f"less({2.0 ** (s.largest_exponent - 1)!r}, {word})"',
        'return f"less(1e999, {word})"',
        "test_functions.py",
        "largest_numbers and dd",
    ),
    Fault(
        "residues of one matrix as both factors: the second one's rows are the first one's",
        "portmp/routines/ozaki/launch.py",
        "replace(words[-1], first=columns.start - spans[-1].start)",
        "replace(words[-1], first=rows.start - spans[-1].start)",
        "test_linalg.py",
        "cut_their_rows_once and gpu",
    ),
    Fault(
        "residues: shares of sums without the signs of their factors",
        "portmp/routines/ozaki/systems.py",
        "(2**33 * f + self.product)",
        "(2**33 * abs(f) + self.product)",
        "test_ozaki.py",
        "systems_tell_sums_apart and dd",
    ),
    Fault(
        "syrk in place: the diagonal is put back too",
        "portmp/routines/triangular/launch.py",
        "first = -1 if lower else 1",
        "first = 0",
        "test_linalg.py",
        "syrk_in_place and part and direct and device",
    ),
    Fault(
        "syrk in place: copies of a part of a triangle write zeros beyond it",
        "templates/linalg/triangle.mako",
        "inside == (written == 2)",
        "written == 2",
        "test_linalg.py",
        "syrk_in_place and part and direct and device",
    ),
    Fault(
        "trmm in place: a block is written while it is read",
        "portmp/routines/triangular/steps.py",
        "self.multiply(t, self.copied(b), b, ",
        "self.multiply(t, b, b, ",
        "test_linalg.py",
        "triangular_products_in_place and direct and device",
    ),
    Fault(
        "trmm: halves take the product beside the other triangle",
        "portmp/routines/triangular/steps.py",
        "mine, other = parts[::-1] if lower else parts",
        "mine, other = parts if lower else parts[::-1]",
        "test_linalg.py",
        "triangular_products_in_place and direct and device",
    ),
    Fault(
        "cholesky: rows below are divided by the root before theirs",
        "templates/linalg/cholesky_panel.mako",
        '${div}(mine[0], ${there("roots", "column")})',
        '${div}(mine[0], ${there("roots", "(column > 0 ? column - 1 : 0)")})',
        "test_linalg_small.py",
        "cholesky_panels and default and dd",
    ),
    Fault(
        "small matrices of two panels: a system's factors are those of the column before",
        "templates/linalg/blocks.mako",
        'factors = ${a_at("side", "0")};',
        'factors = ${a_at("side", "0")} - column_step;',
        "test_linalg_small.py",
        "test_lu and default and dd and 64x64",
    ),
    Fault(
        "small matrices of two panels: sums are not renormalised",
        "templates/linalg/blocks.mako",
        "if (end == done + ${period})",
        "if (end > done + ${period})",
        "test_linalg_small.py",
        "test_qr and default and dd",
    ),
    Fault(
        "lu of two panels: the other columns' rows stay where they were",
        "templates/linalg/lu_small.mako",
        'target(f"{begin} + spots[side + {u * abreast}]", f"{other} + j")',
        'target(f"{begin} + side + {u * abreast}", f"{other} + j")',
        "test_linalg_small.py",
        "test_lu and default and dd and 64x64",
    ),
    Fault(
        "lu of small matrices: the second of two steps searches the first one's column",
        "templates/linalg/lu_small.mako",
        'w.word_of(f"own[{t}]", 0)',
        'w.word_of("own[0]", 0)',
        "test_linalg_small.py",
        "test_lu and default and dd and 16",
    ),
    Fault(
        "wide residues: sums of a part of the depth are not reduced",
        "templates/ozaki/rebuild_wide.mako",
        'y = ${double.fma("-x", "modulus", "y")};',
        "y = y - x;",
        "test_ozaki.py",
        "kinds_of_moduli and dd",
    ),
    Fault(
        "products of rows on CPUs: the first steps alone",
        "templates/ozaki/product_panels.mako",
        "start < depth; start += ${steps}",
        "start < depth && start < ${steps}; start += ${steps}",
        "test_ozaki.py",
        "kinds_of_moduli and dd",
    ),
    Fault(
        "wide residues: digits of sums are those of the wide moduli's product",
        "portmp/routines/ozaki/systems.py",
        "return self.told or -(-self._least",
        "return -(-self._least",
        "test_ozaki.py",
        "wide_systems",
    ),
    Fault(
        "levels: what a column is lifted by is left out",
        "templates/ozaki/levels.mako",
        "a_lifted + b_lift[j]",
        "a_lifted",
        "test_ozaki_levels.py",
        "bits_are_the_hosts and dd",
    ),
    Fault(
        "levels: sizes are rounded up",
        "templates/ozaki/sizes.mako",
        "(unsigned)scaled :",
        "(unsigned)scaled + 1 :",
        "test_ozaki_levels.py",
        "bits_are_the_hosts and dd",
    ),
    Fault(
        "levels: sums of magnitudes are a power of two off",
        "templates/ozaki/exponents.mako",
        "size_of((double)x, up, more)",
        "size_of((double)x, up, 4 * more)",
        "test_ozaki_levels.py",
        "bits_are_the_hosts and dd",
    ),
    Fault(
        "levels: factors of a transposed direct product change places",
        "portmp/routines/ozaki/judged.py",
        "ozaki.turned(product) if turned else product",
        "product",
        "test_ozaki_levels.py",
        "bits_are_the_hosts and dd",
    ),
    Fault(
        "levels: places of a transposed product are taken for others",
        "portmp/routines/ozaki/judged.py",
        '{"down": 1, "right": self.m} if turned else',
        '{"down": 1, "right": self.m} if not turned else',
        "test_ozaki_levels.py",
        "few_direct or bits_are_the_hosts",
    ),
    Fault(
        "levels: an addend in the output's memory is overwritten by the first level",
        "portmp/routines/ozaki/judged.py",
        "kept = given._replace(c=moves.copied(given.c))",
        "pass",
        "test_ozaki_levels.py",
        "bits_are_the_hosts and dd",
    ),
    Fault(
        "levels: the reference asks for fewer bits than the bound needs",
        "portmp/routines/ozaki/levels.py",
        "return DIRECT[form.compute.limbs - 1] + more",
        "return DIRECT[form.compute.limbs - 1] + more + 9",
        "test_ozaki_levels.py",
        "no_element_is_worse",
    ),
    Fault(
        "squares of moduli: the upper digits of one factor stand in the other one's places",
        "portmp/routines/ozaki/residues.py",
        "of_squares(at=(0, 1), depth=2, first=1)",
        "of_squares(at=(0, 0), depth=2, first=1)",
        "test_ozaki_levels.py",
        "squares",
    ),
    Fault(
        "listed elements: renormalised at the first of each period",
        "templates/ozaki/elements.mako",
        "% ${period} == ${period - 1}",
        "% ${period} == 0",
        "test_ozaki_levels.py",
        "few_direct and dd",
    ),
    Fault(
        "factorisations: elements that are left are forgotten",
        "portmp/routines/triangular/launch.py",
        "if not unmade.read_parts()[0][0]:",
        "if unmade.read_parts():",
        "test_ozaki_levels.py",
        "hope and dd",
    ),
    Fault(
        "plans: memory is given out twice",
        "portmp/runtime/launch.py",
        "return self.idle.pop(sizes.index(min(fitting)))",
        "return self.idle[sizes.index(min(fitting))]",
        "test_ozaki_levels.py",
        "hope and dd",
    ),
    Fault(
        "factorisations: a plan holds products that read",
        "portmp/routines/triangular/launch.py",
        "most = max(size for one in given for size in one.shape[1:])",
        "most = side - definition.half(side)",
        "test_ozaki_levels.py",
        "no_plan",
    ),
    Fault(
        "factorisations: what was done in vain is not undone",
        "portmp/routines/triangular/launch.py",
        "moves.copied(copy, out=one)",
        "pass",
        "test_ozaki_levels.py",
        "hope and dd",
    ),
    Fault(
        "tight by integers: what is left needs more moduli",
        "portmp/routines/ozaki/apart.py",
        "math.ceil(Fraction(found.known) * 2 * 4**found.bits)",
        "math.ceil(Fraction(found.known) * 4**found.bits / 8)",
        "test_certified_by_integers.py",
        "tell_all and float64",
    ),
    Fault(
        "tight by integers: what operands were cut off is not counted",
        "portmp/routines/ozaki/apart.py",
        "size = np.where(here, np.abs(_rounded(rest)) + found.cut, found.known)",
        "size = np.where(here, np.abs(_rounded(rest)), found.known)",
        "test_certified_by_integers.py",
        "different_sizes",
    ),
    Fault(
        "tight by integers: results' underflow is not known",
        "portmp/routines/ozaki/apart.py",
        "bound = np.where(here, size, size + found.lost).astype(word)",
        "bound = size.astype(word)",
        "test_certified_by_integers.py",
        "of_all_sizes",
    ),
    Fault(
        "tight bounds are negative where results are too large",
        "portmp/routines/certified.py",
        'away = of("abs", leading(elementwise.apply("sub", [value, there])))',
        'away = leading(elementwise.apply("sub", [value, there]))',
        "test_certified_tight.py",
        "hostile_sums and harmonic and ts",
    ),
    Fault(
        "distances from exact sums are rounded to nearest",
        "templates/exact/apart.mako",
        "            size = next_up(size);\n",
        "            size = size;\n",
        "test_certified_tight.py",
        "bits_of_the_host and qs",
    ),
    Fault(
        "tight bounds of results that take c's place are those with another c",
        "portmp/arrays/blas.py",
        '    return given._replace(c=routine.apply("copy", [given.c]))\n',
        "    return given\n",
        "test_certified_tight.py",
        "any_way",
    ),
    Fault(
        "bounds of norms leave out what squares lose",
        "portmp/arrays/norm_bounds.py",
        "    error = error + leading(square) * (MUL[form.limbs] * relative * RAISED)\n",
        "    error = 0 * error\n",
        "test_certified_tight.py",
        "norms_have_bounds",
    ),
    Fault(
        "norms: squares of small numbers underflow",
        "portmp/networks/normwise.py",
        "low = select(less(size, {small}), x[0] * {_power(sizes.shift)}, 0)",
        "low = select(less(size, {small}), x[0], 0)",
        "test_certified_normwise.py",
        "norms_are_not_below",
    ),
    Fault(
        "bounds by norms where norms overflow",
        "portmp/networks/normwise.py",
        "return select(finite(room), bound, fabs(room)), 0, 0",
        "return bound, 0, 0",
        "test_certified_normwise.py",
        "what_overflows and dd",
    ),
    Fault(
        "bounds by norms leave out what beta c loses",
        "portmp/routines/normwise.py",
        "bound = _with_addend(bound, c, abs(float(beta[0])), loss.addend * raised)",
        "bound = _with_addend(bound, c, abs(float(beta[0])), 0.0)",
        "test_certified_normwise.py",
        "any_product",
    ),
    Fault(
        "bounds by norms of products by integers as of direct ones",
        "portmp/routines/normwise.py",
        "return rounded + left_out + END * form.compute.unit_roundoff",
        "return END * form.compute.unit_roundoff",
        "test_certified_normwise.py",
        "on_the_host and dd-ordinary",
    ),
    Fault(
        "cg: solutions that overflow are given",
        "portmp/linalg/iterative.py",
        "if size >= np.finfo(x.format.word).maxexp and not",
        "if False and not",
        "test_hostile_cases.py",
        "beyond_the_range",
    ),
    # --- functions and random numbers -----------------------------------------------------
    Fault(
        "functions: fewer bits of pi for large arguments",
        "portmp/networks/functions/trigonometric.py",
        "return 2 * s.limbs + 2",
        "return s.limbs + 1",
        "test_functions.py",
        "test_errors and cos and float64",
    ),
    Fault(
        "functions: small remainders of pi are kept",
        "portmp/networks/functions/trigonometric.py",
        "(2.0**8, 2.0**-30) if",
        "(2.0**8, 0.0) if",
        "test_functions.py",
        "test_errors and sin and ts",
    ),
    Fault(
        "functions: a table of exp a limb short",
        "portmp/networks/functions/exponential.py",
        "rows = [s.words(constants.exp(j * step), s.limbs + 1) for j in range(STEPS)]",
        "rows = [(*s.words(constants.exp(j * step), s.limbs), 0.0) for j in range(STEPS)]",
        "test_functions.py",
        "test_errors and exp and dd",
    ),
    Fault(
        "functions: the remainder keeps as few words for far quotients",
        "portmp/networks/functions/rounding.py",
        "NEAR, FAR = 2, 4",
        "NEAR, FAR = 2, 2",
        "test_functions.py",
        "gaps",
    ),
    Fault(
        "functions: -0 to a power that is no odd integer",
        "portmp/networks/functions/powers.py",
        'out.named(f"both({whole}, {odd_sum(out, s, integers)})", "odd")',
        'out.named(f"either({whole}, {odd_sum(out, s, integers)})", "odd")',
        "test_functions.py",
        "test_special_values and pow and dd",
    ),
    Fault(
        "random: a round less",
        "portmp/routines/random/stream.py",
        "ROUNDS = 10",
        "ROUNDS = 9",
        "test_random.py",
        "known_answers",
    ),
    Fault(
        "random: the key's second word stays on devices",
        "templates/random/philox.mako",
        "        key1 += ${step1}u;\n",
        "",
        "test_random.py",
        "known_answers",
    ),
    Fault(
        "random: a draw begins anywhere",
        "portmp/random/philox.py",
        "self._go(-self._position % words)",
        "self._go(0)",
        "test_random.py",
        "other_kinds_between",
    ),
    Fault(
        "random: gaps between limbs",
        "portmp/networks/functions/draws.py",
        "robust=s.limbs > 2",
        "robust=False",
        "test_random.py",
        "digits_of_any_kind",
    ),
    Fault(
        "random: integers lose a carry",
        "templates/random/integers.mako",
        "carry = high + (sum >> 32);",
        "carry = high;",
        "test_random.py",
        "integers_are_scaled_words",
    ),
    Fault(
        "random: a jump stays where it is",
        "portmp/random/philox.py",
        "upper = (upper + jumps) % 2**64",
        "upper = upper % 2**64",
        "test_random.py",
        "children_and_jumps",
    ),
    # --- reports: what a file proves, what is a change, names as text -------------------------
    Fault(
        "report: texts of files are not escaped",
        "portmp/report/page.py",
        'lookup = TemplateLookup(default_filters=["h"], strict_undefined=True)',
        "lookup = TemplateLookup(strict_undefined=True)",
        "test_report_comparison.py",
        "script",
    ),
    Fault(
        "report: digests are not compared",
        "portmp/report/checks.py",
        "if known.get(key, digest) != digest:",
        "if not digest:",
        "test_devices_measured.py",
        "a_digest",
    ),
    Fault(
        "report: no ceiling",
        "portmp/report/checks.py",
        "        yield from _above(part, row, what)\n",
        "",
        "test_devices_measured.py",
        "above_the_ceiling",
    ),
    Fault(
        "report: a change beyond one spread alone",
        "portmp/bench/compare.py",
        "math.prod(1 + spread(row) for row in measured)",
        "1 + spread(measured[0])",
        "test_report_comparison.py",
        "beyond_both",
    ),
    Fault(
        "history: one start decides",
        "bench/history.py",
        "ALIKE = 0.9",
        "ALIKE = 0.5",
        "test_bench_history.py",
        "what_is_a_change",
    ),
    # --- the porting reference: claims that do not hold, and the tool ------------------------
    entry(
        "a message that is another",
        "warps/syncwarp",
        "says = \"error: use of undeclared identifier '__syncwarp'; did you mean '__sync_swap'?",
        "says = \"error: use of undeclared identifier '__syncwarp'; did you mean '__sync'?",
    ),
    entry(
        "a text said to be refused that compiles",
        "host/default-arguments",
        "hipStreamWaitEvent(stream, event) !=",
        "hipStreamWaitEvent(stream, event, 0) !=",
    ),
    entry(
        "a wrong number, of an interpreted GPU",
        "warps/ballot-64-bits",
        'gfx90a = ["0xaaaaaaaaaaaaaaaa"]',
        'gfx90a = ["0xaaaaaaaa"]',
    ),
    entry(
        "a wrong number, of a GPU's record",
        "arithmetic/contraction",
        'h200 = ["0x1p-104"]',
        'h200 = ["0x1p-105"]',
    ),
    entry("a wrong number, of PoCL", "arithmetic/contraction", "pocl = [0.0]", "pocl = [1.0]"),
    entry(
        "instructions that are not there",
        "arithmetic/contraction",
        'finds = "^DFMA"\ntimes = 0',
        'finds = "^DFMA"\ntimes = 1',
    ),
    entry(
        "other resources",
        "launch/launch-bounds-second",
        "at_least = 60\nat_most = 64",
        "at_least = 30\nat_most = 32",
    ),
    entry(
        "a worst error that is none",
        "mathematics/power",
        "worst = { h200 = 0.71, gfx90a = 1.03, gfx1100 = 1.03, pocl = 0.78 }",
        "worst = { h200 = 0.71, gfx90a = 1.03, gfx1100 = 1.03, pocl = 0.5 }",
    ),
    entry(
        "a program that prints something else", "host/pointer-arithmetic", "4096: 0", "4096: -13"
    ),
    entry(
        "a constant with another value",
        "host/pinned",
        "hipHostMallocDefault = 0",
        "hipHostMallocDefault = 1",
    ),
    entry(
        "a name that is there after all",
        "host/pinned",
        'lacks = ["hipHostAllocMapped", ',
        'lacks = ["hipHostMalloc", ',
    ),
    Fault(
        "entry: a message that nobody gave",
        f"{ENTRIES}/warps/match-any.toml",
        "sees = \"`error: use of undeclared identifier '__match_any_sync'`\"",
        "sees = \"`error: no matching function for call to '__match_any_sync'`\"",
        "test_porting_entries.py",
        "test_messages_are_proved and warps/match-any",
    ),
    Fault(
        "port: a scan of a group takes the next thread in",
        "portmp/porting/cuda_groups.h",
        "if (rank <= mine)",
        "if (rank <= mine + 1)",
        "test_port.py",
        "test_groups",
    ),
    Fault(
        "port: lanes shuffle the structure that threadIdx.x is",
        "portmp/porting/cuda_warps.h",
        "cuda_number_if<T, __is_empty(T)>",
        "cuda_number_if<T, false>",
        "test_port.py",
        "test_warps_of_32",
    ),
    Fault(
        "port: floats match by their values",
        "portmp/porting/cuda_warps.h",
        "(cuda_shfl(mine, lane) == mine)",
        "(cuda_shfl(number, lane) == number)",
        "test_port.py",
        "test_warps_of_32",
    ),
    Fault(
        "port: strings are told as what the HIP text has right",
        "portmp/porting/hipify.py",
        "if trap.platform != HIP or trap.kept:",
        "if trap.platform != HIP:",
        "test_port_silent.py",
        "test_told",
    ),
    Fault(
        "port: a comment behind a macro's value counts",
        "portmp/porting/sources.py",
        'return re.sub(r"//.*|/\\*.*?\\*/", " ", text_of(node), flags=re.DOTALL).strip()',
        "return text_of(node).strip()",
        "test_port.py",
        "test_small_sources",
    ),
    Fault(
        "port: a member that HIP has not is not told",
        "portmp/porting/tables.toml",
        "disableTrilinearOptimization seamlessCubemap",
        "disableTrilinearOptimization",
        "test_port.py",
        "test_small_sources",
    ),
    Fault(
        "checks: an index beyond an array of block memory is a race",
        "portmp/emulator/arrays.py",
        'return "" if found in meant else " or ".join(sorted(meant))',
        'return ""',
        "test_emulator_checks.py",
        "test_an_index_beyond_an_array",
    ),
    Fault(
        "port: a function of the driver by the name of the runtime's",
        "portmp/porting/tables.toml",
        '"cuLaunchCooperativeKernel" = "hipModuleLaunchCooperativeKernel"\n',
        "",
        "test_port.py",
        "test_names_of_the_bindings",
    ),
    Fault(
        "port: words in macros are not seen",
        "portmp/porting/sources.py",
        "        return hidden | words\n",
        "        return words\n",
        "test_port.py",
        "test_small_sources or test_traps",
    ),
    Fault(
        "port: a branch that is left out counts",
        "portmp/porting/report.py",
        "    return replace(trap, certainty=POSSIBLE, words=words)\n",
        "    return trap\n",
        "test_port.py",
        "test_small_sources",
    ),
    Fault(
        "port: no last argument",
        "portmp/porting/tables.toml",
        '"cudaStreamWaitEvent" = [2, "0"]\n',
        "",
        "test_port.py",
        "test_small_sources",
    ),
    Fault(
        "port: what the HIP text has right is counted all the same",
        "portmp/porting/report.py",
        "    left = [t for r in reports for t in r.traps if not t.cured]\n",
        "    left = [t for r in reports for t in r.traps]\n",
        "test_port.py",
        "test_what_the_hip_text_cures",
    ),
    Fault(
        "foreign: float64 beside float32 is rounded to it",
        "portmp/arrays/foreign.py",
        '"float64" if "float64" in map(_dtype, guests)',
        '"float32" if "float32" in map(_dtype, guests)',
        "test_foreign_calls.py",
        "dtypes_that_meet",
    ),
    Fault(
        "foreign: steps that are no whole elements are taken for such",
        "portmp/arrays/foreign.py",
        "(x.ctypes.data, *x.strides)",
        "(x.ctypes.data,)",
        "test_foreign_calls.py",
        "views",
    ),
    Fault(
        "foreign: arrays of others are overwritten",
        "portmp/arrays/foreign.py",
        "            return self.host is not None and value\n",
        "            return value\n",
        "test_foreign_calls.py",
        "overwriting",
    ),
    Fault(
        "foreign: memory is taken without waiting for its stream",
        "portmp/arrays/exchange.py",
        "__dlpack__(stream=device.stream_number(queue))",
        "__dlpack__(stream=-1)",
        "test_foreign_calls.py",
        "not_copied",
    ),
    Fault(
        "vendors: shares are turned round",
        "portmp/bench/vendors.py",
        "(by.faster(OURS, THEIRS)",
        "(by.faster(THEIRS, OURS)",
        "test_bench_vendors.py",
        "command",
    ),
    Fault(
        "port: branches in a list of parameters are read as they stand",
        "portmp/porting/prepared.py",
        "            if unlike or heads or group[0][0] in inside:\n",
        "            if unlike or heads:\n",
        "test_port.py",
        "test_nothing_moves",
    ),
    # --- the papers' experiments ----------------------------------------------------------
    Fault(
        "papers: times over float64's are the other way round",
        "portmp/bench/papers/hpcs2011/measured.py",
        "t.way: rounds.faster(k, key) for",
        "t.way: rounds.faster(key, k) for",
        "test_bench_hpcs2011.py",
        "test_turns",
    ),
    Fault(
        "papers: a paper's share of at most 1 % is told as 1 %",
        "portmp/bench/papers/hpcs2011/experiments.py",
        '"<= " * (form in most)',
        '"<= " * (form in ())',
        "test_bench_hpcs2011.py",
        "test_words_of_the_paper",
    ),
    Fault(
        "papers: the splitting on CPUs stands beside blocks of GPUs",
        "portmp/bench/papers/ts2021/experiments.py",
        'block = BLOCK if bench.kind == "gpu" else None',
        "block = BLOCK",
        "test_bench_ts2021.py",
        "test_blocks_are_for_gpus",
    ),
    Fault(
        "papers: trying the roots uses up their time",
        "portmp/bench/papers/nbody/measured.py",
        "        self.budget.share_out(self.budget.passed(), experiment)\n",
        "",
        "test_bench_nbody.py",
        "test_trying_takes_time_of_all",
    ),
    Fault(
        "papers: a library's matrix by columns is not transposed",
        "portmp/backends/blas.py",
        "sizes = names.transposed, n, m\n            self._call(names.gemv",
        "sizes = names.plain, n, m\n            self._call(names.gemv",
        "test_ozaki.py",
        "test_library_arguments",
    ),
    Fault(
        "complex: the real part of a product adds the imaginary parts' product",
        "portmp/networks/complexes.py",
        'real = p("sub", p("mul", a, c), p("mul", b, d))',
        'real = p("add", p("mul", a, c), p("mul", b, d))',
        "test_complex.py",
        "test_what_is_exact",
    ),
    Fault(
        "complex: the root of a negative number has no sign of its imaginary zero",
        "portmp/networks/complexes.py",
        'imaginary = p.signed(p.select(zero, p.word("0"), p.select(left, root, other)), "b")',
        'imaginary = p.select(zero, p.word("0"), p.select(left, root, other))',
        "test_complex.py",
        "test_special_values_are_those_of_c99 and sqrt-1",
    ),
    Fault(
        "complex: a quotient's dividend is not scaled, so that it overflows",
        "portmp/networks/complexes.py",
        "    to = p.chosen_power(huge, tiny, -8, half)",
        "    to = p.chosen_power(huge, tiny, 0, half)",
        "test_complex.py",
        "test_extremes and div",
    ),
    Fault(
        "complex: the matrix of a product by integers has the wrong sign",
        "portmp/routines/complexes/products.py",
        'elementwise.apply("neg", [q], _block(made, 0, k, a.shape))',
        'elementwise.apply("copy", [q], _block(made, 0, k, a.shape))',
        "test_complex_products.py",
        "test_correct_rounding and cdd",
    ),
    Fault(
        "complex: what takes real numbers alone is not asked",
        "portmp/runtime/launch.py",
        "if isinstance(one, Planes) and function not in TAKES_COMPLEX:",
        "if isinstance(one, Planes) and function in TAKES_COMPLEX:",
        "test_complex.py",
        "test_reductions",
    ),
)


# --- running ---------------------------------------------------------------------------------


def copied(folder: Path) -> None:
    """The sources, without what Python compiled."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, folder / name, ignore=ignored)
        elif source.is_file():
            shutil.copy2(source, folder / name)


@contextmanager
def seeded(folder: Path, fault: Fault) -> Iterator[None]:
    """The copy with a fault in it."""
    path = folder / fault.file
    text = path.read_text(encoding="utf-8")
    path.write_text(fault.changed(text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def ran(folder: Path, run: Run, cache: Path) -> tuple[int, str]:
    """Exit status of pytest on the copy, and the last line that it prints."""
    files, chosen, slow = run
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        *(f"tests/{name}" for name in files.split()),
        *(["-k", chosen] if chosen else []),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PORTMP_TEST_CACHE": str(cache),
        "PORTMP_SLOW": "all" if slow else "none",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, (failed or lines)[-1 if not failed else 0]


def without_tests(line: str) -> bool:
    """Whether all that was chosen was skipped, for want of a tool."""
    return "skipped" in line and "passed" not in line


def judged(folder: Path, fault: Fault, cache: Path, sound: dict[Run, str]) -> str:
    """``noticed``, ``skipped ...`` or what is wrong."""
    if fault.run not in sound:
        status, line = ran(folder, fault.run, cache)
        sound[fault.run] = (
            ""
            if status == PASSED and not without_tests(line)
            else f"skipped: {line}"
            if status == PASSED
            else f"NO PROOF: its tests do not pass without it: {line}"
        )
    if sound[fault.run]:
        return sound[fault.run]
    with seeded(folder, fault):
        status, line = ran(folder, fault.run, cache)
    # A signal: memory that was not there. Nothing but skips: the probe refuses the device.
    if status == FAILED or status < 0 or (status == PASSED and without_tests(line)):
        return f"noticed: {line}"
    return "NOT NOTICED" if status == PASSED else f"NO PROOF: pytest ended with {status}: {line}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="faults whose names hold a word")
    parser.add_argument("--list", action="store_true", help="name them and their tests, run none")
    parser.add_argument("--keep-cache", type=Path, help="a folder that keeps compiled kernels")
    asked = parser.parse_args(words)
    chosen = [f for f in FAULTS if not asked.words or any(w in f.name for w in asked.words)]
    if not chosen:
        parser.error(f"no fault's name holds {' or '.join(asked.words)}; --list names them")
    if asked.list:
        for fault in chosen:
            print(f"{fault.name}: {fault.file} ({fault.tests} -k {fault.chosen!r})")
        return 0
    counts = {"noticed": 0, "skipped": 0, "unnoticed": 0}
    sound: dict[Run, str] = {}
    with tempfile.TemporaryDirectory(prefix="portmp-faults-") as made:
        folder = Path(made) / "tree"
        folder.mkdir()
        copied(folder)
        cache = (asked.keep_cache or Path(made) / "cache").resolve()
        for number, fault in enumerate(chosen, 1):
            start = time.monotonic()
            said = judged(folder, fault, cache, sound)
            kind = said.partition(":")[0]
            counts[kind if kind in counts else "unnoticed"] += 1
            seconds = time.monotonic() - start
            print(f"{number}/{len(chosen)} {fault.name} ({seconds:.0f} s): {said}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["unnoticed"] else 0


if __name__ == "__main__":
    sys.exit(main())
