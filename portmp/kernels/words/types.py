"""C types as words see them, and the blocks that kernels run in."""

from dataclasses import dataclass

from portmp import formats
from portmp.arrays.plain import DTYPES
from portmp.errors import RenderError
from portmp.formats import Format


class Type(str):
    """The text of a C type, with its size in bytes.

    ``form``: the format whose values it has; ``dtype``: the plain integers that it has.
    """

    bytes: int
    form: Format | None
    dtype: str

    def __new__(cls, text: str, size: int, form: Format | None = None, dtype: str = "") -> "Type":
        made = super().__new__(cls, text)
        made.bytes, made.form, made.dtype = size, form, dtype
        return made

    @property
    def number(self) -> str:
        """The name of its plain integers or single words: int32, float64; empty for others."""
        return self.dtype or (self.form.name if self.form and self.form.words == 1 else "")

    @property
    def is_integer(self) -> bool:
        """Whether it has plain integers of 32 or 64 bits."""
        return bool(self.dtype) and self.bytes in (4, 8)


class Value(str):
    """The text of a number in C; *kind*: the format or the dtype that it has."""

    kind: str

    def __new__(cls, text: str, kind: str) -> "Value":
        made = super().__new__(cls, text)
        made.kind = kind
        return made


def suited(word: str, operand: object, form: Format) -> str:
    """An operand's text, for a format's arithmetic; RenderError for one known to be of another.

    What is one word in C becomes another one by itself.
    """
    if isinstance(operand, Value) and operand.kind != form.name:
        words = 1 if operand.kind in DTYPES else formats.get(operand.kind).words
        if max(words, form.words) > 1:
            how = "from_real(...)" if words == 1 else "from_real of what limb(name, 0) says"
            if operand.kind == form.component.name:
                how = "from_parts(..., part.number(0))"
            elif words == 2 * form.words:
                how = "real_part(...), imag_part(...) or absolute(...)"
            raise RenderError(
                f"{word}: {operand} is {operand.kind}, {form.name} is needed: {how} makes it one"
            )
    return str(operand)


def typed(word: str, kind: object) -> Type:
    """The type that a word was given; RenderError where it is none."""
    if not isinstance(kind, Type):
        raise RenderError(f"{word}: {kind!r} given as a type; value, real, int32 ... are types")
    return kind


@dataclass(frozen=True)
class Block:
    """Threads of a block along the three axes."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def dimensions(self) -> tuple[int, int, int]:
        """The three numbers."""
        return self.x, self.y, self.z

    @property
    def threads(self) -> int:
        """All of them."""
        return self.x * self.y * self.z
