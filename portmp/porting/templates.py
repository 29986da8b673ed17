"""A first portmp template of a CUDA kernel: portmp's words, and marks for the rest.

What is not translated stands in the template as an ``#error``, so that nothing computes something
else unnoticed.
"""

import json
import re
from dataclasses import dataclass

from portmp.porting.sources import text_of
from portmp.porting.translation import Writer
from portmp.porting.traps.base import Facts, Inside, sizes_of


@dataclass(frozen=True)
class Template:
    """A kernel as portmp's: the file's text, and what is not translated, by lines of the source."""

    name: str
    text: str
    marks: tuple[tuple[int, str], ...]


def of(facts: Facts, inside: Inside) -> Template:
    """The template of a kernel."""
    writer = Writer(facts, inside)
    writer.take_parameters()
    body = inside.node.child_by_field_name("body")
    guard = _guard(inside, writer)
    lines = list(writer.statements(body, 1)) if body is not None else []
    for line, why in [mark for mark in writer.marks if mark[1].startswith("a parameter")]:
        lines.insert(1, f"#error line {line} is not translated, {json.dumps(why)}")
    lines = _at_the_head(lines)
    size = guard if guard and writer.arrays else ""
    if size:
        _give_shapes(inside, writer, size)
    if guard:
        extent = f'threads="{guard}"'
    else:
        axes = [a for a in "xyz" if re.search(rf"\bblockIdx\.{a}\b", inside.text)] or ["x"]
        writer.extra += [f"blocks_{a}: int64" for a in axes] if len(axes) > 1 else ["blocks: int64"]
        names = [f'"blocks_{a}"' for a in axes]
        extent = f"grid=({', '.join(names)})" if len(axes) > 1 else 'grid="blocks"'
    block = _block(facts, inside)
    return Template(inside.name, _file(writer, lines, extent, block), tuple(writer.marks))


def _at_the_head(lines: list[str]) -> list[str]:
    """Block memory declared first, as all platforms want it."""
    memory = [line for line in lines if line.strip().startswith("${shared(")]
    rest = [line for line in lines if line not in memory]
    return rest[:1] + ["        " + line.strip() for line in memory] + rest[1:]


def _guard(inside: Inside, writer: Writer) -> str:
    """The parameter that a thread's number is compared with; nothing if there is none."""
    index = {
        name
        for name, values in inside.values.items()
        if any((found := writer.thread(v)) and found.c == "${global_id()}" for v in values)
    }
    bounds = set()
    for node in inside.nodes:
        if node.type != "if_statement":
            continue
        text = text_of(node.child_by_field_name("condition"))
        one = re.fullmatch(r"\(\s*(\w+)\s*(?:<|>=)\s*(\w+)\s*\)", text)
        if one and one[1] in index and one[2] in writer.kinds and one[2] in writer.parameters:
            bounds.add(one[2])
    return bounds.pop() if len(bounds) == 1 and "blockIdx.y" not in inside.text else ""


def _give_shapes(inside: Inside, writer: Writer, size: str) -> None:
    """Arrays that are read and written at a thread's number alone have its bound for a length."""
    index = {
        name
        for name, values in inside.values.items()
        if len(values) == 1 and (found := writer.thread(values[0])) and "global_id" in found.c
    }
    for name, array in writer.arrays.items():
        places = [
            text_of(node.named_children[-1]).strip("[] ")
            for node in inside.nodes
            if node.type == "subscript_expression"
            and text_of(node.child_by_field_name("argument")) == name
        ]
        if places and all(place in index for place in places):
            array.shape = size


def _block(facts: Facts, inside: Inside) -> str:
    """The block that the source launches the kernel with, where it says so."""
    launch = rf"\b{re.escape(inside.name)}\s*(?:<[^<>;]*>)?\s*<<<([^;]*?)>>>"
    for found in re.finditer(launch, facts.source.text):
        parts = re.split(r",(?![^()]*\))", found[1])
        if len(parts) < 2:
            continue
        sizes = sizes_of(facts, parts[1].strip())
        if sizes and all(sizes):
            return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
    flat = not re.search(r"\b(threadIdx|blockDim)\s*\.\s*[yz]\b", inside.text)
    return "256" if flat else "(16, 16)"


_IMPORT = "import portmp as mp"


def _file(writer: Writer, lines: list[str], extent: str, block: str) -> str:
    name = writer.inside.name
    about = f"{name}, from {writer.facts.source.name.rpartition('/')[2]}"
    marks = "".join(f"\n    line {line}: {why}" for line, why in writer.marks)
    rest = f"\n\nNot translated:\n{marks}\n" if marks else ""
    body = "\n".join(f"    {line}" if line[:1] not in "#" else line for line in lines)
    body = re.sub(r"^    ( *#error)", r"\1", body, flags=re.MULTILINE)
    return f'''"""{about}: a first template, written by portmp port.{rest}"""

{_IMPORT}

{name} = mp.Kernel(
    r"""
    ${{kernel()}}
{body}
    """,
    "{writer.signature()}",
    {extent},
    block={block},
    format="{writer.format}",
)
'''
