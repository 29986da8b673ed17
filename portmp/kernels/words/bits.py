"""Words of integers' bits and bytes."""

from portmp.errors import RenderError
from portmp.kernels.words.base import Base
from portmp.kernels.words.types import typed


class Bits(Base):
    """Counts of bits, choices of bytes, sums of products of bytes."""

    def _bits(self, word: str, x: object, kind: str | None) -> str:
        kind = self.type("uint32") if kind is None else typed(word, kind)
        if not kind.is_integer:
            raise RenderError(f"{word}: {kind} given, integers of 32 and 64 bits have it")
        unsigned = self.type(f"uint{8 * kind.bytes}")
        return self.platform.bits[word, kind.bytes].format(f"({unsigned})({x})")

    def popcount(self, x: object, kind: str | None = None) -> str:
        """How many bits of an integer are set: ``popcount("x")``, ``popcount("y", uint64)``."""
        return self._bits("popcount", x, kind)

    def leading_zeros(self, x: object, kind: str | None = None) -> str:
        """How many bits of an integer are zero above its highest one: all of them for 0."""
        return self._bits("leading_zeros", x, kind)

    def permute_bytes(self, x: object, y: object, selector: object) -> str:
        """An unsigned number of four bytes chosen from x (bytes 0 to 3) and y (4 to 7).

        The lowest three bits of each half byte of the selector choose a byte; 0x3210 is x itself.
        """
        unsigned = self.type("uint32")
        given = [f"({unsigned})({one})" for one in (x, y, selector)]
        if self.platform.permute_bytes:
            return self.platform.permute_bytes.format(*given)
        return f"{self.function('permute_bytes', 'permute_bytes')}({', '.join(given)})"

    def dot4(self, x: object, y: object, start: object = 0, kind: str | None = None) -> str:
        """The sum of *start* and the products of the four bytes of x and of y, modulo 2^32.

        Signed bytes of int32 (the default), unsigned ones of uint32.
        """
        kind = self.type("int32") if kind is None else typed("dot4", kind)
        if kind.dtype not in ("int32", "uint32"):
            raise RenderError(f"dot4: {kind} given, int32 and uint32 have four bytes")
        sign = "signed" if kind.dtype == "int32" else "unsigned"
        name = self.function(f"dot4_{sign}", "dot4", signed=sign == "signed")
        return f"{name}({', '.join(f'({kind})({one})' for one in (x, y, start))})"
