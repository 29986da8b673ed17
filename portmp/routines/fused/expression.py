"""Expressions as networks: what a traced function computes, as data.

An expression is a network that calls the networks of operators, with a rounding after each
operation where the format has one in memory. So it is rendered, and evaluated on the host, as
operators are, and its bits are those of the operations one by one.
"""

import hashlib
from dataclasses import dataclass
from functools import cache

from portmp import formats
from portmp.errors import UnsupportedError
from portmp.formats import Format
from portmp.networks import Network, language
from portmp.networks.language import NETWORKS
from portmp.networks.levels import kind

TRUTH = "bool"
ROUNDING = "stored_"
"""What names of networks begin with that round as a format is stored."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A network of operands; there is one object for each.

    ``leaves``: what each operand is: the format in which it lies in memory, ``bool``, or nothing
    for a number that is passed by value. ``form`` computes, ``result`` is the format of what comes
    out (``bool``: truth values). ``reduction``: what makes one number of each row, or nothing.
    """

    form: Format
    network: Network
    leaves: tuple[str, ...]
    result: str
    reduction: str

    @property
    def names(self) -> tuple[str, ...]:
        """What operands are called in the kernel."""
        return tuple([name for name, _ in self.network.inputs])

    @property
    def stored(self) -> dict[str, Format]:
        """The formats in which operands and the result lie, and that are rounded to on the way."""
        lies = [*zip(self.names, self.leaves, strict=True), ("out", self.result)]
        nets = [net for net in self.network.calls if net.startswith(ROUNDING)]
        lies += [(net, net.removeprefix(ROUNDING)) for net in nets]
        return {name: formats.get(form) for name, form in lies if form not in ("", TRUTH)}


@cache
def expression(
    form: str, leaves: tuple[str, ...], lines: tuple[str, ...], result: str, reduction: str = ""
) -> Expression:
    """The expression of these lines, in which operands are called as ``operand_name`` says."""
    f = formats.get(form)
    words = kind(f.limbs)
    names = [operand_name(i) for i in range(len(leaves))]
    kinds = ["flag" if leaf == TRUTH else words for leaf in leaves]
    signature = " ".join(f"{n}:{k}" for n, k in zip(names, kinds, strict=True))
    signature += f" -> {'flag' if result == TRUTH else words}"
    content = "\n".join((form, signature, *lines))
    # Digits at its end would be a number of limbs.
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    name = "fused_" + "".join(chr(ord("a") + int(digit, 16)) for digit in digest)
    about, bound = "a traced function", "that of its operations"
    net = language.network(name, signature, "\n".join(lines), source=about, bound=bound)
    NETWORKS.setdefault(name, net)
    return Expression(f, NETWORKS[name], leaves, result, reduction)


def operand_name(number: int) -> str:
    """What an operand is called: without digits, since those of planes follow."""
    return "x" + (operand_name(number // 26 - 1)[1:] if number > 25 else "") + chr(97 + number % 26)


@cache
def rounding(form: Format) -> str:
    """The network that rounds a value as a format is stored; nothing where words are."""
    if not form.coded and all(plane == form.word for plane in form.planes):
        return ""
    spelled = [name for name in (form.name, *form.aliases) if name.isidentifier()]
    if not spelled:
        raise UnsupportedError(f"fuse: {form.name}: a format of portmp's own, no array's")
    v = kind(form.limbs)
    name, source = ROUNDING + spelled[0], f"as {form.name} is stored"
    language.declare(name, f"x:{v} -> {v}", "stored.mako", source=source, bound="the format's")
    return name
