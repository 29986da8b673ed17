"""How an array's elements are spelled in kernels: values of a format, or plain numbers."""

from dataclasses import dataclass

from portmp.codegen.platform import Platform
from portmp.codegen.writer import SCALAR, Writer


def number(platform: Platform, dtype: str) -> str:
    """The C type of a plain number of this dtype of NumPy."""
    text = {
        "bool": "unsigned char",
        "int8": platform.int8,
        "int16": "short",
        "int32": "int",
        "int64": platform.index,
        "uint32": "unsigned",
        "uint64": f"unsigned {platform.index}",
    }
    return text.get(dtype) or SCALAR[dtype]


def times(text: str, count: int) -> str:
    """The product with a number, which may be 1; nothing where it is 0."""
    return text if count == 1 else f"{text} * {count}" if count else ""


def plus(text: str, *more: int | str) -> str:
    """The sum with numbers and texts, of which some may be 0 or nothing."""
    return " + ".join([text, *(str(one) for one in more if one)])


def wide(dtype: str) -> str:
    """The dtype in which plain numbers of *dtype* are computed with: the longest of their kind."""
    return "uint64" if dtype.startswith("uint") else "int64"


@dataclass(frozen=True)
class Elements:
    """One operand's elements: of the plain *dtype* or, without one, values of the format."""

    w: Writer
    name: str
    dtype: str = ""

    @property
    def type(self) -> str:
        """The C type of an element in a variable."""
        return number(self.w.platform, self.dtype) if self.dtype else self.w.value

    def load(self, index: str) -> str:
        """The element at *index*; of truth values any byte but 0 is true."""
        if not self.dtype:
            return self.w.element(self.name, index)
        held = f"{self.name}0[{index}]"
        return f"({held} != 0)" if self.dtype == "bool" else held

    def store(self, index: str, value: str) -> list[str]:
        """Statements that store a variable's value at *index*."""
        if self.dtype:
            return [f"{self.name}0[{index}] = {value};"]
        return [self.w.store(self.name, k, index, self.w.word_of(value, k)) for k in self.w.limbs]


def at(operand: str, rank: int, offset: str = "") -> str:
    """Where an operand's element is, by indices i0, i1 ... of a kernel's axes."""
    steps = [f"i{axis} * {operand}_stride{axis}" for axis in range(rank)]
    return " + ".join([f"{operand}_start", *steps, *([offset] if offset else [])])


def ordering(dtype: str, descending: bool = False) -> str:
    """The name of the function that says which of two elements stands first."""
    return "_".join(["after" if descending else "before", *([dtype] if dtype else [])])
