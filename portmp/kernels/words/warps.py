"""Words of logical warps: 8, 16 or 32 neighbours of a block, the same on every device."""

from portmp.errors import RenderError
from portmp.kernels.words.arithmetic import OPERATORS
from portmp.kernels.words.base import joined_name
from portmp.kernels.words.threads import Threads
from portmp.kernels.words.types import Type, typed

WHOLE = {
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
    "minimum": "({0} < {1} ? {0} : {1})",
    "maximum": "({0} > {1} ? {0} : {1})",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
}
"""How plain numbers are combined by reductions and scans."""

WARPS = (8, 16, 32)
"""Lanes that a logical warp may have."""


class Warps(Threads):
    """Lanes, shuffles, reductions, scans and votes."""

    @property
    def exchange(self) -> str:
        """What returns another thread's number within a warp; empty where threads use memory."""
        return self.platform.exchange.get(self.traits.exchange, "")

    def _warp(self, word: str, width: int) -> str:
        """Check that a kernel may use words of warps; the arguments that functions take."""
        kernel = self._current(word)
        if width not in WARPS:
            raise RenderError(
                f"{word}: width {width!r} given, {', '.join(map(str, WARPS))} are allowed"
            )
        threads = self.blocks[kernel].threads
        if threads % max(WARPS):
            raise RenderError(
                f"{word}: blocks of {threads} threads given, a multiple of {max(WARPS)} is needed"
            )
        if self.exchange:
            return self.linear_id()
        if not self.scratch[kernel]:
            self.scratch[kernel] = f"{self.platform.shared} int exchanged_[{threads}];"
            self.memory[kernel].static += 4 * threads
        return f"{self.linear_id()}, exchanged_"

    def lane(self, width: int = 32) -> str:
        """The thread's index in its logical warp."""
        self._warp("lane", width)
        return f"({self.linear_id()} & {width - 1})"

    def warp(self, width: int = 32) -> str:
        """The logical warp's index in the block."""
        self._warp("warp", width)
        return f"({self.linear_id()} / {width})"

    def _exchanged(self, word: str, kind: str | None) -> Type:
        """The type whose numbers lanes exchange, and the function that exchanges them."""
        kind = self.value if kind is None else typed(word, kind)
        if not kind.form and not kind.is_integer:
            raise RenderError(f"{word}: {kind} given, numbers of 32 and 64 bits are exchanged")
        if kind.form and kind.form.words > 1:
            self._exchanged(word, self.of(kind.form.name).real)
        self.function(joined_name("shuffle", kind), "shuffle", kind=kind)
        return kind

    def shuffle(self, x: object, lane: object, kind: str | None = None, width: int = 32) -> str:
        """The x of another lane of the logical warp, by its index modulo the width."""
        warp = self._warp("shuffle", width)
        name = joined_name("shuffle", self._exchanged("shuffle", kind))
        source = f"(({self.linear_id()} & -{width}) | (({lane}) & {width - 1}))"
        return f"{name}({x}, {source}, {warp})"

    def shuffle_up(self, x: object, by: object, kind: str | None = None, width: int = 32) -> str:
        """The x of the lane that many lower; the first lanes get their own."""
        lane = self.lane(width)
        return self.shuffle(x, f"{lane} < ({by}) ? {lane} : {lane} - ({by})", kind, width)

    def shuffle_down(self, x: object, by: object, kind: str | None = None, width: int = 32) -> str:
        """The x of the lane that many higher; the last lanes get their own."""
        lane = self.lane(width)
        return self.shuffle(x, f"{lane} + ({by}) < {width} ? {lane} + ({by}) : {lane}", kind, width)

    def shuffle_xor(self, x: object, mask: object, kind: str | None = None, width: int = 32) -> str:
        """The x of the lane whose index differs in the bits of the mask."""
        return self.shuffle(x, f"{self.lane(width)} ^ ({mask})", kind, width)

    def _combined(self, what: str, op: str, x: object, kind: str | None, width: int) -> str:
        warp = self._warp(what, width)
        kind = self._exchanged(what, kind)
        known = OPERATORS if kind.form else WHOLE
        pairs = [name for name in known if name in WHOLE]
        if op not in pairs:
            raise RenderError(f"{what}: {op!r} given, {', '.join(pairs)} combine {kind}")
        combined = self.of(kind.form.name).operator(op, "{0}", "{1}") if kind.form else WHOLE[op]
        name = joined_name(what, kind, op, width)
        self.function(name, what, kind=kind, combined=combined, width=width)
        return f"{name}({x}, {warp})"

    def warp_reduce(self, op: str, x: object, kind: str | None = None, width: int = 32) -> str:
        """All lanes' x combined, in one order on every device; each lane gets the result.

        Halves are combined first: lane i with i + width/2, then i with i + width/4, ...; the lower
        lane's number is the first operand.
        """
        return self._combined("warp_reduce", op, x, kind, width)

    def warp_scan(self, op: str, x: object, kind: str | None = None, width: int = 32) -> str:
        """The x of this lane and all lower ones combined (inclusive), in one order everywhere.

        For d = 1, 2, 4, ...: lanes from d on combine the number d lanes below with their own.
        """
        return self._combined("warp_scan", op, x, kind, width)

    def ballot(self, condition: object, width: int = 32) -> str:
        """An unsigned number whose bit i says whether the condition holds in lane i."""
        bit = f"(({condition}) ? 1u << {self.lane(width)} : 0u)"
        return self.warp_reduce("or", bit, self.type("uint32"), width)

    def warp_any(self, condition: object, width: int = 32) -> str:
        """Whether the condition holds in any lane of the logical warp."""
        return f"({self.ballot(condition, width)} != 0u)"

    def warp_all(self, condition: object, width: int = 32) -> str:
        """Whether the condition holds in all lanes of the logical warp."""
        return f"({self.ballot(condition, width)} == {hex((1 << width) - 1)}u)"
