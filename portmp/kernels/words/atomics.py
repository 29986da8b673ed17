"""Atomic operations on elements of arrays and of block memory."""

from portmp.errors import RenderError
from portmp.kernels.words.base import joined_name
from portmp.kernels.words.memory import Memory
from portmp.kernels.words.types import Type

SWAP = "compare_and_swap"
ATOMICS = {
    "add": "{0} + {1}",
    "min": "({1} < {0} ? {1} : {0})",
    "max": "({1} > {0} ? {1} : {0})",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "exchange": "{1}",
    SWAP: "",
}
"""What is stored in place of {0}, where an operation is made from compare-and-swap."""

_OF_REALS = ("add", "min", "max", "exchange")
_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


class Atomics(Memory):
    """Native operations where the platform has them, else loops of compare-and-swap."""

    def atomic(self, op: str, name: str, *indices_and_values: object) -> str:
        """An atomic operation on an element; the number that was there before.

        ``atomic("add", "bins", "i", 1)``; op: add, min, max, and, or, xor, exchange,
        compare_and_swap (which takes the expected and the new number). *name*: an array that is
        written, or block memory; int32, uint32, int64, uint64, and for add, min, max and exchange
        float32 and float64.
        """
        if op not in ATOMICS:
            raise RenderError(f"atomic: {op!r} given, {', '.join(ATOMICS)} are known")
        count = 2 if op == SWAP else 1
        indices, values = indices_and_values[:-count], indices_and_values[-count:]
        own = self.memory[self._current("atomic")].arrays
        axes = own[name][1] if name in own else len(self._parameter(name).shape or ())
        if len(indices_and_values) != axes + count:
            numbers = "the expected and the new number" if op == SWAP else "a number"
            raise RenderError(
                f"atomic: {op}: {name} takes {axes} indices and {numbers}, "
                f"{len(indices_and_values)} operands given"
            )
        kind, place, space = (
            self._in_block(name, indices) if name in own else self._in_array(name, indices)
        )
        known = [n for n in _TYPES if n.startswith(("int", "uint")) or op in _OF_REALS]
        if kind.number not in known:
            raise RenderError(
                f"atomic: {op}: {name} has elements of {kind.number or kind}, "
                f"{', '.join(known)} are allowed"
            )
        if kind.bytes == 8:
            if not self.traits.wide_atomics:
                raise RenderError(f"atomic: {name}: this device has no atomics of 64 bits")
            self.extensions |= dict.fromkeys(self.platform.wide_atomics)
        native = self.platform.atomics.get((op, kind.number))
        if native:
            text = native.format(f"&{place}", *(f"({kind})({value})" for value in values))
            return f"({kind})({text})"
        name = joined_name("atomic", op, kind, space)
        self.function(name, "atomic", kind=kind, combined=ATOMICS[op], space=space)
        return f"{name}(&{place}, {values[0]})"

    def _in_block(self, name: str, indices: tuple[object, ...]) -> tuple[Type, str, str]:
        """Type, place and memory of an element of block memory."""
        kind, _ = self.memory[self._kernel].arrays[name]
        return kind, name + "".join(f"[{index}]" for index in indices), "block"

    def _in_array(self, name: str, indices: tuple[object, ...]) -> tuple[Type, str, str]:
        """The same of an element of an array."""
        parameter = self._parameter(name)
        if not (parameter.is_array and parameter.written):
            raise RenderError(f"atomic: {name} is {parameter.way}, out or inout arrays are allowed")
        if not parameter.is_plain and parameter.format(self.own).coded:
            raise RenderError(f"atomic: {name}: elements of a storage format have no atomics")
        return self.type_of(name), f"{name}0[{self.at(name, *indices)}]", "device"
