"""Instructions to the rows of eight numbers that the interpreter runs.

A row: operation, target, second target, three sources, an immediate, a fourth source. A
place in a wave's registers is an offset; bit 20 says that each lane has its own word, bits 21
and 22 of a source negate it and take its absolute value. What an encoding adds to an operation
(packed halves, parts of words, two operations at once) becomes rows of its own, through
registers that no instruction names.
"""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from portmp.emulator import atomics, instructions, lanes, marks, modifiers
from portmp.emulator.listing import Instruction
from portmp.errors import DeviceError

ROW = 8
EVERY_LANE = 1 << 31
SHORT_ADDRESS = 1 << 30
LANE, NEGATED, ABSOLUTE = 1 << 20, 1 << 21, 1 << 22

_VECTOR, _OWN, _ACCUMULATION = 1 << 29, 1 << 30, 1 << 31
"""Places that are counted from where registers of a kind begin, until all of them are known."""

EXEC, VCC, M0, SCC, SINK = 126, 106, 124, 128, 132
SCALARS = 160
"""Scalar registers and the interpreter's own words; constants follow."""
_SAVED, _MASK, _INDEX = SINK + 2, SINK + 4, SINK + 6

INDEXED = 256
"""Registers of lanes that a kernel has which chooses them by a number."""

SHARED_APERTURE, PRIVATE_APERTURE = 0x10000, 0x20000
"""Upper words of flat addresses in block memory and in a lane's own."""

SCRATCH_DESCRIPTOR = (0x1000, 0x1000, 0xFFFFFFFF, 0)
"""What a launch puts into the four registers of a buffer descriptor: memory of each lane's own."""

_NAMED = {
    "vcc": VCC,
    "vcc_lo": VCC,
    "vcc_hi": VCC + 1,
    "exec": EXEC,
    "exec_lo": EXEC,
    "exec_hi": EXEC + 1,
    "m0": M0,
    "scc": SCC,
    "flat_scratch": 102,
    "flat_scratch_lo": 102,
    "flat_scratch_hi": 103,
}
_TRAP = 108
_INVERSE_OF_TWO_PI = {False: 0x3E22F983, True: 0x3FC45F306DC9C882}
_NUMBER = re.compile(r"-?\d+|-?0x[0-9a-f]+")
_APERTURES = {"src_shared_base": SHARED_APERTURE, "src_private_base": PRIVATE_APERTURE}
_HARDWARE_BASES = "HW_REG_SH_MEM_BASES"
_CYCLES = {"HW_REG_SHADER_CYCLES": 0, "HW_REG_SHADER_CYCLES_LO": 0, "HW_REG_SHADER_CYCLES_HI": 32}
"""Registers of the hardware that count, and which bit of the count is their first."""

_REGISTER = re.compile(r"(s|v|a|ttmp)(?:(\d+)|\[(\d+):(\d+)\])")
_HALF_REGISTER = re.compile(r"(v\d+)\.([lh])")
_HARDWARE = re.compile(r"hwreg\((\w+)(?:,(\d+),(\d+))?\)")
_ACCESS = re.compile(r"(global|flat|scratch|buffer)_(load|store)_(\w+)")
_SHARED = re.compile(r"ds_(read|write)(2?)(st64)?_([bui])(\d+)")


class Unknown(DeviceError):
    """An instruction or operand that the interpreter does not have."""


@dataclass
class Row:
    """One step of the interpreter; ``address`` is its instruction's, ``to`` a branch's aim."""

    operation: str
    target: int = 0
    second: int = 0
    sources: tuple[int, ...] = ()
    immediate: int = 0
    flags: int = 0
    address: int = 0
    to: int | None = None


@dataclass(frozen=True)
class Program:
    """Rows, the constants that they name, and where a wave's lanes' words begin.

    ``jumps``: the row of each word of code, all ones where no instruction begins; empty where no
    row jumps by an address.
    """

    rows: np.ndarray
    jumps: np.ndarray
    constants: np.ndarray
    vectors: int
    registers: int
    instructions: tuple[Instruction, ...]

    def instruction(self, row: int) -> Instruction:
        """The instruction that *row* belongs to."""
        return self.instructions[row]


Mutation = Callable[[Row], Row]
"""Changes rows before they run: for tests that break an instruction."""


class Assembler:
    """The rows of one kernel: for waves of *lanes*, code at *base*, of *arch* (none: of any)."""

    def __init__(self, lanes: int, base: int, arch: str = "") -> None:
        self.lanes = lanes
        self.base = base
        self.arch = arch
        self.table = instructions.operations()
        self.constants: list[int] = []
        self._places: dict[int, int] = {}
        self._known: dict[tuple[str, str, bool], int] = {}
        self.rows: list[Row] = []
        self.most = {"v": 3, "a": 0}
        self.temporaries = 0
        self._indexed: frozenset[str] = frozenset()

    # --- operands -----------------------------------------------------------------------

    def constant(self, value: int) -> int:
        """The place of a constant of two words."""
        if value not in self._places:
            self._places[value] = SCALARS + len(self.constants)
            self.constants += [value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF]
        return self._places[value]

    def temporary(self) -> str:
        """A register of lanes that no instruction names: ``t0``, ``t1`` ..."""
        self.temporaries += 1
        return f"t{self.temporaries - 1}"

    def place(self, text: str, kind: str, written: bool = False) -> int:
        """The place that an operand names, with its modifiers, for a type of operand."""
        known = self._known.get((text, kind, written))
        if known is None:
            known = self._known[text, kind, written] = self._placed(text, kind, written)
        return known

    def _placed(self, text: str, kind: str, written: bool) -> int:
        flags = 0
        if text.startswith("-") and not _NUMBER.fullmatch(text) and not _is_float(text):
            flags, text = NEGATED, text[1:]
        if text.startswith("|") and text.endswith("|"):
            flags, text = flags | ABSOLUTE, text[1:-1]
        if text in ("null", "off"):
            return SINK if written else self.constant(0)
        if text in _NAMED:
            return _NAMED[text] | flags
        if text in _APERTURES and kind in "lq" and not written:
            return self.constant(_APERTURES[text] << 32)
        if found := _REGISTER.fullmatch(text):
            return self._register(found) | flags
        if found := re.fullmatch(r"t(\d+)", text):
            return int(found[1]) * self.lanes | LANE | flags | _OWN
        if written:
            raise Unknown(f"{text!r} is no register")
        return self._literal(text, kind) | flags

    def _register(self, found: re.Match[str]) -> int:
        family, first = found[1], int(found[2] or found[3])
        last = int(found[4] or first)
        if family == "s":
            return first
        if family == "ttmp":
            return _TRAP + first
        self.most[family] = max(self.most[family], last + 1)
        # Where AGPRs and the interpreter's own registers begin is known at the end.
        return first * self.lanes | LANE | (_ACCUMULATION if family == "a" else _VECTOR)

    def _literal(self, text: str, kind: str) -> int:
        if _is_float(text):
            return self.constant(_float_bits(text, wide=kind in "lqd"))
        if not _NUMBER.fullmatch(text):
            raise Unknown(f"{text!r} is no operand that the interpreter knows")
        value = int(text, 0)
        if kind not in "lqd":
            return self.constant(value & 0xFFFFFFFF)
        if text.startswith("0x") and kind == "d":
            # A literal of a double is its upper word.
            return self.constant(value << 32 if value <= 0xFFFFFFFF else value)
        # Literals of unsigned types are extended with zeros: so LLVM's s_mov_b64 takes them.
        if kind == "q" and text.startswith("0x") and 0x80000000 <= value <= 0xFFFFFFFF:
            raise Unknown(f"{text!r}: how it extends to 64 bits is not known")
        return self.constant(value & 0xFFFFFFFFFFFFFFFF)

    # --- rows ---------------------------------------------------------------------------

    def add(self, name: str, target: int = 0, sources: Iterable[int] = (), **more: int) -> Row:
        """Append a row."""
        if name not in self.table:
            raise Unknown(f"operation {name!r} is not known")
        row = Row(name, target, sources=tuple(sources), **more)
        self.rows.append(row)
        return row

    def instruction(self, one: Instruction) -> None:
        """Append the rows of an instruction."""
        start = len(self.rows)
        try:
            self._translate(one)
        except Unknown as error:
            raise Unknown(f"instruction {one.text!r} at {one.address:#x}: {error}") from None
        for row in self.rows[start:]:
            row.address = one.address

    def _translate(self, one: Instruction) -> None:
        name = instructions.canonical(one.mnemonic)
        if name in instructions.IGNORED:
            return
        encoding = one.mnemonic.rpartition("_")[2]
        refused = modifiers.unknown(name, one, encoding)
        if refused == ["clamp"]:
            self._clamped(name, one)
            return
        if refused:
            raise Unknown(f"the modifier {refused[0]}")
        if self._indexed and name.startswith(("v_", "s_branch", "s_cbranch", "s_setpc")):
            self._by_index(name, one)
        elif one.second:
            if modifiers.unknown("", one.second, ""):
                raise Unknown("modifiers of the second operation")
            self._pair(one, one.second)
        elif encoding == "sdwa":
            self._parts(name, one)
        elif encoding == "dpp":
            self._exchanged(name, one)
        elif any(map(_HALF_REGISTER.search, one.operands)):
            self._halves_of_registers(name, one)
        else:
            self._translator(name)(name, one)

    def _clamped(self, name: str, one: Instruction) -> None:
        """A result that ends at zero and one, or at the type's ends."""
        if name in instructions.SATURATED:
            self._operation(instructions.SATURATED[name], one.operands)
            return
        known = self.table.get(name)
        if known is None or known.kind != "vector" or known.result not in ("f", "d"):
            raise Unknown("the modifier clamp")
        self._operation(name, one.operands)
        limit = f"v_clamp_f{64 if known.result == 'd' else 32}"
        self._operation(limit, [one.operands[0], one.operands[0]])

    def _translator(self, name: str) -> Callable[[str, Instruction], None]:
        """What makes the rows of an instruction of this name."""
        if "saveexec" in name:
            return self._save_exec
        families: dict[str | tuple[str, ...], Callable[[str, Instruction], None]] = {
            tuple(HALVES): self._packed_halves,
            ("ds_bpermute_", "ds_permute_"): self._from_lanes,
            "ds_swizzle_": self._swizzled,
            ("v_permlane16_b32", "v_permlanex16_b32"): self._chosen,
            "v_permlane64_b32": self._halves_exchanged,
            "v_swap_b32": self._swapped,
            "v_dot4_i32_iu8": self._dot,
            ("v_movreld_b32", "v_movrels_b32"): self._to_or_from_index,
            "s_set_gpr_idx_o": self._index_mode,
            "v_mfma_f64_16x16x4f64": self._matrices,
            "v_pk_": self._packed,
            ("global_", "flat_", "buffer_", "scratch_", "ds_", "s_load"): self._memory,
            "v_cmpx_": self._compare_exec,
            ("s_cbranch", "s_branch"): self._branch,
            "s_getpc": self._here,
            "s_setpc": self._jump,
            "s_swappc": self._call,
            "s_getreg_": self._hardware,
            "s_setreg_": self._set_hardware,
            ("s_memtime", "s_memrealtime", "s_sendmsg"): self._clock,
            "s_barrier": self._barrier,
            "s_sleep": self._mark,
        }
        for start, method in families.items():
            if name.startswith(start):
                return method
        return self._plain

    def _plain(self, name: str, one: Instruction) -> None:
        # Since gfx10 (whose operations on halves have one encoding, hence a name without its
        # suffix) the other half of the result's register stays; before, it becomes zero.
        known = self.table.get(name)
        half = known and known.kind == "vector" and name.endswith(instructions.OF_HALVES)
        if half and one.mnemonic[-4:] not in ("_e32", "_e64"):
            self._low_half(name, one)
        else:
            self._operation(name, one.operands)

    def _low_half(self, name: str, one: Instruction) -> None:
        target, kept = one.operands[0], self.temporary()
        self._operation(name, [kept, *one.operands[1:]])
        self._insert(target, kept)

    def _dot(self, name: str, one: Instruction) -> None:
        first, second, rest = one.numbers("neg_lo", 3, 0)
        if rest:
            raise Unknown("a sum that neg_lo negates")
        self._operation(instructions.DOTS[first, second], one.operands)

    def _matrices(self, name: str, one: Instruction) -> None:
        target, *sources = one.operands
        row = self.add(name, self.place(target, "d", True))
        row.sources = tuple(self.place(text, "d") for text in sources)

    def _index_mode(self, name: str, one: Instruction) -> None:
        """Registers of the moves between are counted from an index on, sources or targets."""
        if name == "s_set_gpr_idx_off":
            self._indexed = frozenset()
            return
        index, modes = one.operands
        found = re.fullmatch(r"gpr_idx\(([\w,]+)\)", modes)
        self._indexed = frozenset(found[1].split(",")) if found else frozenset()
        if not self._indexed or not self._indexed <= {"SRC0", "DST"}:
            raise Unknown(modes)
        # a copy: M0, which the hardware takes, keeps what it holds
        self.add("s_mov_b32", _INDEX, [self.place(index, "u")])

    def _by_index(self, name: str, one: Instruction) -> None:
        if name != "v_mov_b32" or one.mnemonic.endswith(("_sdwa", "_dpp")):
            raise Unknown("registers by an index")
        target, source = one.operands
        if not self._indexed & {"SRC0"}:
            self._index_row("register_write", target, source, _INDEX, 1)
            return
        kept = self.temporary()
        self._index_row("register_read", kept, source, _INDEX, 1)
        if self._indexed & {"DST"}:
            self._index_row("register_write", target, kept, _INDEX, 1)
        else:
            self._operation("v_mov_b32", [target, kept])

    def _to_or_from_index(self, name: str, one: Instruction) -> None:
        way = "register_write" if name == "v_movreld_b32" else "register_read"
        self._index_row(way, one.operands[0], one.operands[1], M0, 0)

    def _index_row(self, name: str, target: str, source: str, index: int, low_byte: int) -> None:
        indexed = target if name == "register_write" else source
        if not indexed.startswith("v"):
            raise Unknown(f"{indexed} by an index")
        self.most["v"] = INDEXED
        row = self.add(name, self.place(target, "u", True), immediate=low_byte)
        row.sources = (self.place(source, "u"), index)

    def _halves_of_registers(self, name: str, one: Instruction) -> None:
        """An operation on 16 bits of registers (true16); the other half of its target stays."""
        plain = instructions.OF_BITS.get(name, name)
        known = self.table.get("v_mov_b32" if name in instructions.EXTENDED else plain)
        if known is None or not name.endswith(instructions.OF_HALVES):
            raise Unknown("it is not one of those that the interpreter has of halves")
        first = _first_source(known)
        given = list(one.operands)
        for index, text in enumerate(given[first:], first):
            if half := _HALF_REGISTER.fullmatch(text):
                sign = instructions.EXTENDED.get(name, "{}")
                given[index] = self._part(sign.format(half[1]), _HALVES_OF_WORDS[half[2]])
            elif _is_float(text) or _HALF_REGISTER.search(text):
                raise Unknown(f"{text!r} as a half")
        if name in instructions.EXTENDED:
            plain = "v_mov_b32"
        target = _HALF_REGISTER.fullmatch(given[0])
        if not target:
            self._operation(plain, given)
            return
        kept = self.temporary()
        self._operation(plain, [kept, *given[1:]])
        self._operation("v_and_b32", [kept, "0xffff", kept])
        self._insert(target[1], kept, target[2] == "h")

    def _insert(self, target: str, half: str, high: bool = False) -> None:
        """One half of a register, whose other one stays."""
        if high:
            self._operation("v_and_b32", [target, "0xffff", target])
            self._operation("v_lshl_or_b32", [target, half, "16", target])
        else:
            self._operation("v_and_b32", [target, "0xffff0000", target])
            self._operation("v_or_b32", [target, half, target])

    def _barrier(self, name: str, one: Instruction) -> None:
        # since gfx12 in two halves, with the number of a barrier: -1 is that of all waves
        if one.operands not in ((), ("0xffff",), ("-1",)):
            raise Unknown("its barrier")
        self.add(name)

    def _mark(self, name: str, one: Instruction) -> None:
        """Waiting means nothing here, unless it marks where threads meet."""
        if operation := marks.SLEEPS.get(int(one.operands[0], 0)):
            self.add(operation)

    def _branch(self, name: str, one: Instruction) -> None:
        self.add(name).to = one.following + 4 * _halfword(one.operands[0], True)

    def _here(self, name: str, one: Instruction) -> None:
        here = self.constant(self.base + one.following)
        self.add("s_mov_b64", self.place(one.operands[0], "l", True), [here])

    def _jump(self, name: str, one: Instruction) -> None:
        self.add(name, sources=[self.place(one.operands[0], "l")])

    def _call(self, name: str, one: Instruction) -> None:
        target, to = one.operands
        self.add("s_mov_b64", _SAVED, [self.place(to, "l")])
        self._here(name, replace(one, operands=(target,)))
        self.add("s_setpc_b64", sources=[_SAVED])

    def _hardware(self, name: str, one: Instruction) -> None:
        """A field of a register of the hardware: of those that are known, clocks and bases."""
        target, text = one.operands
        found = _HARDWARE.fullmatch(text)
        if found is None or found[1] not in {_HARDWARE_BASES, *_CYCLES}:
            raise Unknown(f"what {text} holds")
        first, size = int(found[2] or 0), int(found[3] or 32)
        if found[1] in _CYCLES:
            self._time(self.place(target, "u", True), _CYCLES[found[1]] + first, size)
            return
        bases = SHARED_APERTURE | PRIVATE_APERTURE >> 16
        value = self.constant(bases >> first & (1 << size) - 1)
        self.add("s_mov_b32", self.place(target, "u", True), [value])

    def _set_hardware(self, name: str, one: Instruction) -> None:
        # Where a lane's own memory lies is known without.
        if not re.match(r"hwreg\(HW_REG_FLAT_SCR_(LO|HI)\)", one.operands[0]):
            raise Unknown(f"writes {one.operands[0]}")

    def _clock(self, name: str, one: Instruction) -> None:
        """The time, in both words; other messages have no answer here."""
        message = one.operands[-1]
        if name == "s_sendmsg" and message == "sendmsg(MSG_DEALLOC_VGPRS)":
            return
        asked = name == "s_sendmsg_rtn_b64" and message == "sendmsg(MSG_RTN_GET_REALTIME)"
        if name.startswith("s_sendmsg") and not asked:
            raise Unknown(f"the message {message}")
        self._time(self.place(one.operands[0], "l", True), 0, 64)

    def _time(self, target: int, first: int, size: int) -> None:
        self.add("s_clock", target, immediate=first | size << 8)

    def _operation(self, name: str, operands: Sequence[str]) -> Row:
        """A plain operation with its operands in the order of the assembler."""
        known = self.table.get(name)
        if known is None or known.kind == "memory":
            raise Unknown("it is not one of those that the interpreter has")
        if known.kind == "lane":
            return self._lane(name, operands)
        given = list(operands)
        row = self.add(name)
        if known.result or known.kind == "compare":
            row.target = self.place(given.pop(0), known.result or "l", True)
        if known.kind == "carry":
            row.second = self.place(given.pop(0), "l", True)
        if name in ("s_addk_i32", "s_mulk_i32"):
            given = [operands[0], given[0]]
        if name in ("s_movk_i32", "s_addk_i32", "s_mulk_i32") or name.startswith("s_cmpk_"):
            signed = not name.endswith("u32")
            given[-1] = str(_halfword(given[-1], signed))
        if len(given) == len(known.sources) - 1 and known.sources[-1] == "m":
            given.append("vcc")
        if len(given) != len(known.sources):
            raise Unknown(f"{len(given)} sources, {len(known.sources)} expected")
        row.sources = tuple(self.place(t, k) for t, k in zip(given, known.sources, strict=True))
        return row

    def _lane(self, name: str, operands: Sequence[str]) -> Row:
        row = self.add(name, self.place(operands[0], "u", True))
        row.sources = tuple(self.place(text, "u") for text in operands[1:])
        return row

    def _from_lanes(self, name: str, one: Instruction) -> None:
        """Words of lanes, or to lanes, that an address in each lane names, four bytes a lane."""
        self._lane(name, one.operands).immediate = int(one.modifiers.get("offset", "0"), 0)

    def _move(self, target: str, source: str, way: str, number: int, masks: int) -> None:
        """Words of lanes that are known before a launch."""
        row = self.add("lane_move", self.place(target, "u", True), second=_MASK)
        row.sources = (self.place(source, "u"), number)
        row.immediate = list(lanes.WAYS).index(way) | masks

    def _swizzled(self, name: str, one: Instruction) -> None:
        target, source = one.operands
        try:
            way, number = lanes.swizzle(one.modifiers.get("offset", "0"))
        except ValueError as error:
            raise Unknown(str(error)) from None
        self._move(target, source, way, number, lanes.BOUND | lanes.EVERYWHERE)

    def _halves_exchanged(self, name: str, one: Instruction) -> None:
        # a wave of 32 lanes has no other half, and the instruction does nothing
        if self.lanes == 64:
            masks = lanes.FETCHED | lanes.EVERYWHERE
            self._move(one.operands[0], one.operands[1], "other_half", 0, masks)

    def _chosen(self, name: str, one: Instruction) -> None:
        """A word of a lane in the same row, or in the row beside it, by four bits a lane."""
        fetched, bound = one.numbers("op_sel", 2, 0)[:2]
        row = self._lane("lane_choice", one.operands)
        row.immediate = name.startswith("v_permlanex16") | fetched << 1 | bound << 2

    def _swapped(self, name: str, one: Instruction) -> None:
        kept = self.temporary()
        first, second = one.operands
        for target, source in ((kept, first), (first, second), (second, kept)):
            self._operation("v_mov_b32", [target, source])

    def _exchanged(self, name: str, one: Instruction) -> None:
        """An operation whose first source comes from other lanes (DPP)."""
        known = self.table.get(name)
        if known is None or known.kind not in ("vector", "carry", "compare"):
            raise Unknown("it is not one of those that the interpreter has with words of others")
        if known.sources[0] not in "uif" or name.endswith(instructions.OF_HALVES):
            raise Unknown("words of other lanes, of more or less than 32 bits")
        try:
            way, number = lanes.modified(one.modifiers, one.words)
            masks = lanes.masks(one.modifiers, way)
        except ValueError as error:
            raise Unknown(str(error)) from None
        given, first = list(one.operands), _first_source(known)
        source = given[first].strip("-|")
        moved = self.temporary()
        self._move(moved, source, way, number, masks)
        given[first] = given[first].replace(source, moved)
        self.add("s_mov_b64", _SAVED, [EXEC])
        self.add("s_mov_b64", EXEC, [_MASK])
        left = {k: v for k, v in one.modifiers.items() if k not in modifiers.EXCHANGED}
        plain = replace(one, operands=tuple(given), modifiers=left, words=frozenset())
        self._translator(name)(name, plain)
        self.add("s_mov_b64", EXEC, [_SAVED])

    def _compare_exec(self, name: str, one: Instruction) -> None:
        plain = name.replace("v_cmpx_", "v_cmp_")
        if len(one.operands) == 3:
            # Before GCN's successors it also writes the mask that it names.
            self._operation(plain, one.operands)
            mask = self.place(one.operands[0], "l", True)
            self.add("s_mov_b64", EXEC, [mask])
        else:
            self._operation(plain, ["exec", *one.operands])

    def _save_exec(self, name: str, one: Instruction) -> None:
        bits = name[-3:]
        logic = name.removesuffix(f"_saveexec_{bits}")
        target, source = self.place(one.operands[0], "l", True), self.place(one.operands[1], "l")
        self.add(f"s_mov_{bits}", _SAVED, [EXEC])
        self.add(f"{logic}_{bits}", EXEC, [source, EXEC])
        self.add(f"s_mov_{bits}", target, [_SAVED])

    # --- what encodings add -------------------------------------------------------------

    def _pair(self, one: Instruction, other: Instruction) -> None:
        """Two operations at once: both read before one writes."""
        first = instructions.canonical(one.mnemonic)
        kept = self.temporary()
        row = self._operation(first, one.operands)
        if "old" in self.table[first].text:
            self.rows.pop()
            self.add("v_mov_b32", self.place(kept, "u", True), [self.place(one.operands[0], "u")])
            self.rows.append(row)
        target, row.target = row.target, self.place(kept, "u", True)
        self._operation(instructions.canonical(other.mnemonic), other.operands)
        self.add("v_mov_b32", target, [row.target])

    def _packed(self, name: str, one: Instruction) -> None:
        """An operation on two words of a pair of registers."""
        plain = "v_" + name.removeprefix("v_pk_")
        count = len(one.operands) - 1
        if plain == "v_mov_b32":
            choice = one.numbers("op_sel", 2, 0)
            halves = [[(one.operands[1], choice[0], 0)], [(one.operands[2], choice[1], 0)]]
        else:
            halves = []
            for select, negate, default in (("op_sel", "neg_lo", 0), ("op_sel_hi", "neg_hi", 1)):
                choice, signs = one.numbers(select, count, default), one.numbers(negate, count, 0)
                halves.append(list(zip(one.operands[1:], choice, signs, strict=True)))
        kept = [self.temporary() for _ in halves]
        for half, target in zip(halves, kept, strict=True):
            self._operation(plain, [target, *(_word(*source) for source in half)])
        for which, source in enumerate(kept):
            self._operation("v_mov_b32", [_word(one.operands[0], which, 0), source])

    def _packed_halves(self, name: str, one: Instruction) -> None:
        """An operation on both halves of words."""
        target, *sources = one.operands
        if {"neg_lo", "neg_hi"} & one.modifiers.keys():
            raise Unknown("a sign of halves")
        if any(_is_float(source) for source in sources):
            raise Unknown("which half holds a constant is not known")
        kept = []
        for select, default in (("op_sel", 0), ("op_sel_hi", 1)):
            choice = one.numbers(select, len(sources), default)
            halves = [self._part(s, f"WORD_{c}") for s, c in zip(sources, choice, strict=True)]
            kept.append(self.temporary())
            self._operation(HALVES[name], [kept[-1], *halves])
        low, high = kept
        self._operation("v_and_b32", [low, "0xffff", low])
        self._operation("v_lshl_or_b32", [target, high, "16", low])

    def _parts(self, name: str, one: Instruction) -> None:
        """An operation on bytes or halves of words (SDWA)."""
        known = self.table.get(name)
        if known is None:
            raise Unknown("it is not one of those that the interpreter has")
        first = _first_source(known)
        given = list(one.operands)
        for index, kind in enumerate(known.sources):
            choice = one.modifiers.get(f"src{index}_sel", "DWORD")
            if kind != "m" and choice != "DWORD":
                given[first + index] = self._part(given[first + index], choice)
        choice = one.modifiers.get("dst_sel", "DWORD")
        if choice == "DWORD" or known.kind == "compare":
            self._operation(name, given)
            return
        target, given[0] = given[0], self.temporary()
        self._operation(name, given)
        shift, size = _PARTS[choice]
        mask = (1 << size) - 1
        kept = given[0]
        self._operation("v_and_b32", [kept, str(mask), kept])
        self._operation("v_lshlrev_b32", [kept, str(shift), kept])
        unused = one.modifiers.get("dst_unused", "UNUSED_PAD")
        if unused == "UNUSED_PRESERVE":
            others = self.temporary()
            self._operation("v_and_b32", [others, str(0xFFFFFFFF ^ mask << shift), target])
            self._operation("v_or_b32", [kept, kept, others])
        elif unused != "UNUSED_PAD":
            raise Unknown(f"dst_unused:{unused}")
        self._operation("v_mov_b32", [target, kept])

    def _part(self, text: str, choice: str) -> str:
        """A register that holds the chosen bits of a source."""
        signed = text.startswith("sext(")
        plain = text[5:-1] if signed else text
        if plain.startswith(("-", "|")) and not _NUMBER.fullmatch(plain):
            raise Unknown(f"{text!r} of a part of a word")
        shift, size = _PARTS[choice]
        kept = self.temporary()
        extract = "v_bfe_i32" if signed else "v_bfe_u32"
        self._operation(extract, [kept, plain, str(shift), str(size)])
        return kept

    # --- memory -------------------------------------------------------------------------

    def _memory(self, name: str, one: Instruction) -> None:
        if atomic := atomics.access(name, self.arch):
            self._atomic(atomic, one)
        elif name.startswith("s_load_"):
            self._scalar_load(name, one)
        elif "_d16" in name:
            self._half(name, one)
        elif found := _SHARED.fullmatch(name):
            self._shared(found, one)
        else:
            self._array(name, one)

    def _scalar_load(self, name: str, one: Instruction) -> None:
        offset = _offset(one)
        width = name.removeprefix("s_load_dword")
        words = int(width[1:]) if width else 1
        target, base, *rest = one.operands
        index = self.constant(0)
        for text in rest:
            if _NUMBER.fullmatch(text):
                offset += int(text, 0)
            elif text != "null":
                index = self.place(text, "u")
        row = self.add("s_load", self.place(target, "l", True), immediate=offset)
        row.sources = (self.place(base, "l"), index)
        row.second = 4 * words

    def _half(self, name: str, one: Instruction) -> None:
        """A byte or half from or to one half of a word, whose other half stays."""
        plain, _, high = name.partition("_d16")
        loads = "_load_" in name or "_read_" in name
        kept = self.temporary()
        operands = list(one.operands)
        data = 0 if loads or name.startswith("buffer_") else 1
        target, operands[data] = operands[data], kept
        if not loads:
            self._operation("v_lshrrev_b32", [kept, "16" if high else "0", target])
        self._memory(plain, replace(one, operands=tuple(operands)))
        if loads:
            self._operation("v_and_b32", [kept, "0xffff", kept])
            self._insert(target, kept, bool(high))

    def _array(self, name: str, one: Instruction) -> None:
        """Memory that addresses reach: arrays, a lane's own, or either."""
        found = _ACCESS.fullmatch(name)
        nbytes = instructions.WIDTHS.get(found[3]) if found else None
        if not found or not nbytes:
            raise Unknown("it is not one of those that the interpreter has")
        space, way, _ = found.groups()
        operands = list(one.operands)
        if space == "flat":
            operands.append("off")
        if space == "buffer":
            # Checked when it runs: only a lane's own memory is reached so.
            low, high = (SCRATCH_DESCRIPTOR[i] | SCRATCH_DESCRIPTOR[i + 1] << 32 for i in (0, 2))
            expected = [self.constant(low), self.constant(high)]
            self.add("scratch_descriptor", sources=[self.place(operands.pop(2), "l"), *expected])
            data, address, base = operands
            space = "scratch"
        elif way == "load":
            data, address, base = operands
        else:
            address, data, base = operands
        words_of_base = "u" if space == "scratch" else "l"
        row = self.add(f"{space}_{way}", SINK, second=nbytes, immediate=_offset(one))
        place = self.place(data, "u", written=way == "load")
        row.sources = (self.place(address, "u"), self.place(base, words_of_base), place)
        row.flags = SHORT_ADDRESS if space == "global" and base != "off" else 0
        if way == "load":
            row.target = place
            self._extend(data, nbytes, found[3].startswith("s") and found[3] != "short")

    def _extend(self, target: str, nbytes: int, signed: bool) -> None:
        """The sign of a byte or half that was loaded."""
        if signed:
            self._operation("v_bfe_i32", [target, target, "0", str(8 * nbytes)])

    def _shared(self, found: re.Match[str], one: Instruction) -> None:
        nbytes = int(found[5]) // 8
        if not found[2]:
            offsets = [_offset(one)]
        else:
            unit = nbytes * (64 if found[3] else 1)
            offsets = [_offset(one, f"offset{i}") * unit for i in (0, 1)]
        if found[1] == "write":
            address, *values = one.operands
            for offset, value in zip(offsets, values, strict=True):
                row = self.add("shared_store", SINK, second=nbytes, immediate=offset)
                row.sources = (self.place(address, "u"), self.constant(0), self.place(value, "u"))
            return
        target, address = one.operands
        place = self.place(address, "u")
        if len(offsets) > 1:
            # The first result may lie where the address does.
            kept = self.place(self.temporary(), "u", True)
            self.add("v_mov_b32", kept, [place])
            place = kept
        for i, offset in enumerate(offsets):
            at = self.place(target, "u", True) + i * (nbytes // 4) * self.lanes
            row = self.add("shared_load", at, second=nbytes, immediate=offset)
            row.sources = (place, self.constant(0))
        self._extend(target, nbytes, found[4] == "i")

    def _atomic(self, access: atomics.Access, one: Instruction) -> None:
        operands = list(one.operands)
        base, returns = "off", access.returns
        if access.space == "global":
            base = operands.pop()
        if access.space != "shared":
            returns = len(operands) == 3
            said = {"glc", "sc0"} & one.words or "RETURN" in one.modifiers.get("th", "")
            if returns != bool(said):
                raise Unknown("whether it returns the number before")
        target = operands.pop(0) if returns else "null"
        address, *numbers = operands
        words = access.operation.nbytes // 4
        places = [self.place(text, "u") for text in numbers]
        if access.swaps and access.space != "shared":
            places.append(places[0] + words * self.lanes)
        if len(places) != 1 + access.swaps:
            raise Unknown(f"{len(numbers)} numbers")
        if access.expected_first:
            places.reverse()
        row = self.add(f"{access.space}_atomic", self.place(target, "u", True), second=4 * words)
        row.sources = (self.place(address, "u"), self.place(base, "l"), *places)
        row.immediate = _offset(one)
        row.flags = list(atomics.operations()).index(access.operation.name) << 16
        if base != "off":
            row.flags |= SHORT_ADDRESS

    # --- the end ------------------------------------------------------------------------

    def finish(self, listed: Sequence[Instruction], mutation: Mutation | None = None) -> Program:
        """Numbers for all rows."""
        first: dict[int, int] = {}
        for index, row in enumerate(self.rows):
            first.setdefault(row.address, index)
        aims = self._aims(listed, first)
        jumps = self._jumps(aims)
        number = {name: i for i, name in enumerate(self.table)}
        constants = len(self.constants) + 2
        vectors = SCALARS + constants
        accumulation = vectors + self.most["v"] * self.lanes
        own = accumulation + self.most["a"] * self.lanes
        starts = {_VECTOR: vectors, _ACCUMULATION: accumulation, _OWN: own}

        def settled(place: int) -> int:
            for bit, start in starts.items():
                if place & bit:
                    return (place & ~bit) + start
            return place

        table = np.zeros((len(self.rows), ROW), np.uint32)
        for index, plain in enumerate(self.rows):
            row = mutation(replace(plain)) if mutation else plain
            sources = [settled(place) for place in row.sources] + [SINK] * 4
            aim = row.immediate if row.to is None else aims[row.to]
            in_memory = row.operation.endswith(("_load", "_store", "_atomic"))
            second = row.second if in_memory else settled(row.second)  # bytes, or a place
            head = (number[row.operation] | row.flags, settled(row.target), second)
            table[index] = (*head, *sources[:3], aim & 0xFFFFFFFF, sources[3])
        numbers = np.array([*self.constants, 0, 0], np.uint32)
        total = own + self.temporaries * self.lanes
        by_address = {one.address: one for one in listed}
        origins = tuple(by_address[row.address] for row in self.rows)
        return Program(table, jumps, numbers, vectors, total, origins)

    def _jumps(self, aims: dict[int, int]) -> np.ndarray:
        """The row of each word of code; the rows that jump learn where it is."""
        jumping = [row for row in self.rows if row.operation == "s_setpc_b64"]
        if not jumping:
            return np.zeros(0, np.uint32)
        start, end = min(aims), max(aims)
        table = np.full((end - start) // 4 + 1, 0xFFFFFFFF, np.uint32)
        for address, aim in aims.items():
            if aim < len(self.rows):
                table[(address - start) // 4] = aim
        for row in jumping:
            row.sources = (*row.sources, self.constant(self.base + start), table.size)
            row.immediate = ROW * len(self.rows)
        return table

    def _aims(self, listed: Sequence[Instruction], first: dict[int, int]) -> dict[int, int]:
        """The row at which each instruction, also one without rows, continues."""
        aims: dict[int, int] = {}
        following = len(self.rows)
        for one in reversed(listed):
            following = first.get(one.address, following)
            aims[one.address] = following
        return aims


HALVES: dict[str, str] = instructions.table("packed_halves")
"""Packed operations of 16 bits, and what gives their 16 bits in a whole word."""

_PARTS = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
    "DWORD": (0, 32),
}


_HALVES_OF_WORDS = {"l": "WORD_0", "h": "WORD_1"}


def _first_source(operation: instructions.Operation) -> int:
    written = bool(operation.result) or operation.kind == "compare"
    return written + (operation.kind == "carry")


def _offset(one: Instruction, name: str = "offset") -> int:
    return int(one.modifiers.get(name, "0"), 0)


def _halfword(text: str, signed: bool) -> int:
    value = int(text, 0) & 0xFFFF
    return value - ((value & 0x8000) << 1) if signed else value


def _is_float(text: str) -> bool:
    return re.fullmatch(r"-?\d+\.\d+(e[+-]?\d+)?", text) is not None


def _float_bits(text: str, wide: bool) -> int:
    if text.startswith("0.15915494"):
        return _INVERSE_OF_TWO_PI[wide]
    return int.from_bytes(struct.pack("<d" if wide else "<f", float(text)), "little")


def _word(text: str, which: int, negated: int) -> str:
    """One word of a pair of registers."""
    if found := re.fullmatch(r"(-?)(s|v|a)\[(\d+):(\d+)\]", text):
        sign = "-" if bool(found[1]) != bool(negated) else ""
        return f"{sign}{found[2]}{int(found[3]) + which}"
    if text in ("vcc", "exec"):
        return f"{text}_{'hi' if which else 'lo'}"
    if text == "0":
        return "-0.0" if negated else text
    if which:
        raise Unknown(f"the upper word of {text!r}")
    if negated:
        raise Unknown(f"{text!r} negated")
    return text


def assemble(
    listed: Sequence[Instruction],
    lanes: int,
    base: int,
    mutation: Mutation | None = None,
    arch: str = "",
) -> Program:
    """The rows of a kernel, whose first instruction is the first one, and of functions behind it.

    Unknown is raised for what the interpreter does not have.
    """
    one = Assembler(lanes, base, arch)
    for instruction in listed:
        one.instruction(instruction)
    return one.finish(listed, mutation)
