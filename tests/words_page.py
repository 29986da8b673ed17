"""The reference of the vocabulary: each word with its texts on all platforms, and what it costs.

``python tests/words_page.py > docs/words.md`` writes it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from portmp import formats
from portmp.codegen.platform import PLATFORMS
from portmp.errors import RenderError
from portmp.kernels.kernel import Kernel
from portmp.kernels.vocabulary import VERSION, WORDS, Words
from portmp.kernels.words.arithmetic import FUNCTIONS, OPERATORS, Arithmetic
from portmp.kernels.words.complexes import PARTS

TAKES = "k(n_: int32, x: in [n], y: inout [n], k: inout int32 [n], p: in float64 [m, n])"
"""What the kernel of all examples takes; its format is dd."""


@dataclass(frozen=True)
class Example:
    """A call of a word, what it costs, and the function in tests/ that holds it to its meaning."""

    call: str
    cost: str
    test: str


_NOTHING = "nothing: a number when the template is rendered"
_REGISTER = "a read of a register or two"
_EXCHANGE = (
    "32 bits: one instruction on GPUs through CUDA, HIP and NVIDIA's OpenCL; elsewhere a write to "
    "block memory, two barriers and a read. More bits: as often as they have 32"
)
_ATOMIC = "one instruction where the text is one; a loop otherwise, once more for each conflict"

SECTIONS: dict[str, dict[str, Example]] = {
    "Types": {
        "type": Example('type("uint64")', _NOTHING, "test_integers_of_every_size"),
        "type_of": Example('type_of("y")', _NOTHING, "test_atomics_on_integers"),
        "of": Example(
            'of("qd").add("a", "b")', _NOTHING, "test_formats_of_both_words_in_one_kernel"
        ),
        "vector": Example("vector(real, 2)", _NOTHING, "test_vectors"),
    },
    "Kernels and threads": {
        "kernel": Example("kernel()", "what a launch costs", "test_every_format"),
        "thread_id": Example("thread_id(0)", _REGISTER, "test_blocks_and_grids_of_three_axes"),
        "block_id": Example("block_id(1)", _REGISTER, "test_blocks_and_grids_of_three_axes"),
        "block_size": Example("block_size(0)", _NOTHING, "test_blocks_and_grids_of_three_axes"),
        "grid_size": Example("grid_size(2)", _REGISTER, "test_blocks_and_grids_of_three_axes"),
        "global_id": Example("global_id()", "a product and a sum of 64 bits", "test_every_format"),
        "global_size": Example(
            "global_size()", "a product of 64 bits", "test_blocks_and_grids_of_three_axes"
        ),
        "linear_id": Example(
            "linear_id()", "a sum for each axis after the first", "test_logical_warps"
        ),
    },
    "Meeting": {
        "barrier": Example("barrier()", "the slowest warp's time", "test_dynamic_block_memory"),
        "fence": Example('fence("device")', "what is under way to memory", "test_bits_of_integers"),
    },
    "Memory": {
        "shared": Example(
            'shared(real, "t", 32, 33)',
            "block memory: fewer blocks at a time",
            "test_dynamic_block_memory",
        ),
        "constant": Example(
            'constant(value, "w", ["0.1"])',
            "one read where all lanes of a warp read one place",
            "test_constants",
        ),
        "at": Example('at("p", "i", "j")', "a product and a sum for each axis", "test_views"),
        "load": Example(
            'load("x", "i")',
            "a read for each limb; decoding of storage formats",
            "test_every_format",
        ),
        "store": Example(
            'store("y", "i", "v")', "a write for each limb; encoding", "test_every_format"
        ),
        "load_vector": Example('load_vector("k", "i", 4)', "one read", "test_vectors"),
        "store_vector": Example('store_vector("k", "i", "v", 4)', "one write", "test_vectors"),
        "atomic": Example('atomic("add", "k", "i", 1)', _ATOMIC, "test_atomics_on_integers"),
    },
    "Logical warps": {
        "lane": Example("lane()", "an and", "test_logical_warps"),
        "warp": Example("warp(8)", "a shift", "test_logical_warps"),
        "shuffle": Example('shuffle("v", "j")', _EXCHANGE, "test_logical_warps"),
        "shuffle_up": Example('shuffle_up("i", 1, int32, 16)', _EXCHANGE, "test_logical_warps"),
        "shuffle_down": Example('shuffle_down("i", 1, int32)', _EXCHANGE, "test_logical_warps"),
        "shuffle_xor": Example('shuffle_xor("i", 4, int32)', _EXCHANGE, "test_logical_warps"),
        "warp_reduce": Example(
            'warp_reduce("add", "v")', "log2(width) exchanges and operations", "test_logical_warps"
        ),
        "warp_scan": Example(
            'warp_scan("add", "v")', "log2(width) exchanges and operations", "test_logical_warps"
        ),
        "ballot": Example(
            'ballot("i > 3")', "log2(width) exchanges of 32 bits", "test_logical_warps"
        ),
        "warp_any": Example('warp_any("i > 3")', "a ballot", "test_logical_warps"),
        "warp_all": Example('warp_all("i > 3")', "a ballot", "test_logical_warps"),
    },
    "Bits and bytes": {
        "popcount": Example('popcount("i")', "an instruction or two", "test_bits_of_integers"),
        "leading_zeros": Example(
            'leading_zeros("i")', "an instruction or two", "test_bits_of_integers"
        ),
        "permute_bytes": Example(
            'permute_bytes("i", "j", 0x5410)',
            "an instruction where the text is one, else about twenty",
            "test_bytes_are_permuted",
        ),
        "dot4": Example(
            'dot4("i", "j", 0)', "an instruction where the device has one, else ten", "test_dot4"
        ),
    },
    "The platform's own": {
        "approximate": Example(
            'approximate("exp", "t")', "the library's", "test_approximate_functions"
        ),
        "clock": Example("clock()", "tens of cycles", "test_clocks"),
        "printf": Example('printf("%d\\n", "i")', "very much", "test_printing"),
        "require": Example(
            'require("i < n", "beyond the end")',
            "nothing; where the kernel is checked (as here) a branch, and the call waits",
            "test_what_a_kernel_requires",
        ),
    },
}
"""All words but those of arithmetic."""

_ARITHMETIC = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y",
    "fma": "x * y + z: a product and a sum, each rounded (one limb: one rounding)",
    "sqrt": "the square root",
    "negative": "-x",
    "absolute": "the absolute value",
    "minimum": "the smaller one; x where they are equal; NaN where one is",
    "maximum": "the larger one; x where they are equal; NaN where one is",
    "compare": "-1, 0 or 1 as x is less than y, equal or greater; 2 where one is NaN",
}

_INTRODUCTION = f"""# The words of kernels, one by one

This page is made from the platforms' tables by `python tests/words_page.py`.
[Kernels of your own](kernels.md) tells how words are used. The vocabulary's version is {VERSION}:
words keep their meaning within a version, new ones may come.

Texts are those of a kernel in the format `dd`, in blocks of 64 threads, that takes

```text
{TAKES}
```

What begins with the name of a format or a word, such as `dd_add_guarded`, is a function that stands
before the kernel; `kernel.render(platform)` shows it. Tests are in `tests/test_kernel*.py`.
"""


_COMPLEX = (
    *(f'{word}("z")' for word in PARTS),
    'equal("z", "w")',
    'from_parts("x", "y")',
    'part.add("x", "y")',
    'mul("x", "z")',
    'fma("x", "z", number("2j"))',
)


def texts(call: str, form: str = "dd") -> dict[str, str]:
    """What a word says on each platform; the refusal where a platform does not have it."""
    if call == "kernel()":
        kernel = Kernel("${kernel()}\n{\n}\n", "k(k: inout int32 [n])", threads="n", block=64)
        shown = {name: kernel.render(name) for name in PLATFORMS}
        return {name: text[text.index(_head(text)) :].strip() for name, text in shown.items()}
    template = "${kernel()}\n{\n<<${" + call + "}>>\n}\n"
    kernel = Kernel(template, TAKES, threads="n", block=64, format=form, checked=True)
    found = {}
    for name in PLATFORMS:
        try:
            # on a line of their own: functions before the kernel shift bits
            match = re.search("^<<(.*)>>$", kernel.render(name), re.DOTALL | re.MULTILINE)
            found[name] = match[1] if match else ""
        except RenderError as error:
            found[name] = f"refused: {error}"
    return found


def _head(text: str) -> str:
    """The line in which a kernel begins."""
    return next(line for line in text.splitlines() if "k_kernel(" in line)


def page() -> str:
    """The reference as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    yield from _arithmetic()
    for section, words in SECTIONS.items():
        yield f"## {section}\n"
        for word, example in words.items():
            yield from _entry(word, example)


def _entry(word: str, example: Example) -> Iterator[str]:
    method = getattr(Words, word)
    parameters = [
        str(p).split(":")[0].split("=")[0].strip() + _default(p)
        for p in list(inspect.signature(method).parameters.values())[1:]
    ]
    yield f"### `{word}({', '.join(parameters)})`\n"
    yield inspect.cleandoc(method.__doc__ or "").replace("``", "`") + "\n"
    yield f"Cost: {example.cost}. Test: `{example.test}`.\n"
    yield from _table(example.call)


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return ""
    return f"={parameter.default!r}"


def _table(call: str, form: str = "dd") -> Iterator[str]:
    said = texts(call, form)
    yield "```text"
    yield f"{'template':9} ${{{call}}}"
    if len(set(said.values())) == 1:
        yield f"{'all':9} {next(iter(said.values()))}"
    else:
        for name, text in said.items():
            yield f"{name:9} " + text.replace("\n", "\n" + 10 * " ")
    yield "```\n"


def _arithmetic() -> Iterator[str]:
    yield "## Arithmetic\n"
    yield (
        'On values of the kernel\'s format; `of("ds").add(...)` on those of another. Same bits\n'
        "everywhere, by the rules of [bits](bits.md). The numbers are operations on single words, "
        "without\nguards for infinities:\n"
    )
    names = [n for n in formats.STANDARD if not formats.get(n).coded]
    yield "| word | is | " + " | ".join(f"`{n}`" for n in names) + " |"
    yield "|---|---|" + "---:|" * len(names)
    for word, meaning in _ARITHMETIC.items():
        costs = [sum(formats.get(n).operator(OPERATORS[word]).cost.values()) for n in names]
        yield f"| `{word}` | {meaning} | " + " | ".join(map(str, costs)) + " |"
    yield "\nTests: `test_operators_are_the_formats_own`, `test_every_format`.\n"
    yield "Elementary functions, by their words:\n"
    yield "\n".join(textwrap.wrap(", ".join(f"`{word}`" for word in FUNCTIONS), 98)) + "\n"
    yield (
        "What they are, their errors and operations: [functions](functions.md). Test: "
        "`test_functions_in_kernels`.\n"
    )
    yield from _table('exp("v")')
    yield from _table('add("a", "b")')
    yield "### Complex values\n"
    yield (
        "Where the format is complex, here `cdd`: words of complex values z and w alone, and "
        "those\nthat take real values x and y, too. Tests: `test_kernel_complex.py`.\n"
    )
    for call in _COMPLEX:
        yield from _table(call, "cdd")
    for word, call in (
        ("number", 'number("0.1")'),
        ("from_real", 'from_real("t")'),
        ("limb", 'limb("v", 1)'),
    ):
        yield f"### `{word}`\n"
        yield inspect.cleandoc(getattr(Arithmetic, word).__doc__ or "").replace("``", "`") + "\n"
        yield from _table(call)


def words() -> set[str]:
    """The words of the page."""
    return {word for section in SECTIONS.values() for word in section}


if __name__ == "__main__":
    assert words() == set(WORDS)
    print(page(), end="")
