"""What identifies a kernel: template, format, schedule and the numbers of its definition.

A KernelSpec is plain, hashable data. Rendered for a platform it gives source text;
the same spec always gives the same text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from portmp import formats, networks
from portmp.codegen import platform, render
from portmp.codegen.platform import Traits
from portmp.codegen.render import RenderedSource
from portmp.codegen.signature import Computed, Parameter, Signature
from portmp.codegen.writer import Writer
from portmp.networks import Network


@dataclass(frozen=True)
class KernelSpec:
    """One kernel (or a few that belong together) of a template.

    ``roles`` names networks by role; ``values`` are the template's other parameters; ``stored``
    names the storage formats of operands ("*": of all that are not named), where they have one.
    ``signatures`` say what each of its kernels takes.
    """

    name: str
    template: str
    format: str
    width: int = 1
    roles: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, Any], ...] = ()
    stored: tuple[tuple[str, str], ...] = ()
    signatures: tuple[Signature, ...] = ()

    @cached_property
    def _hash(self) -> int:
        parts = self.name, self.template, self.format, self.width, self.roles, self.values
        return hash((*parts, self.stored, self.signatures))

    def __hash__(self) -> int:
        # Looked up at every launch: computed once.
        return self._hash

    def renamed(self, name: str) -> "KernelSpec":
        """The same, of which the kernel that is called as the spec has another name."""
        signatures = [
            replace(one, kernel=name) if one.kernel == self.name else one for one in self.signatures
        ]
        return replace(self, name=name, signatures=tuple(signatures))

    def signature(self, kernel: str = "") -> Signature:
        """What a kernel takes: the first one, or the one of this name."""
        wanted = kernel or self.signatures[0].kernel
        return next(one for one in self.signatures if one.kernel == wanted)

    def render(
        self, on: str, traits: Traits | None = None, emitted: set[str] | None = None
    ) -> RenderedSource:
        """Source text for platform *on*; *emitted* collects what the module defines."""
        table = platform.get(on)
        form = formats.get(self.format)
        known = set() if emitted is None else emitted
        device = traits or table.defaults
        nets: Mapping[str, Network] = {role: networks.get(n) for role, n in self.roles}
        taken = [one for kernel in self.signatures for one in kernel.parameters]
        computed = tuple(dict.fromkeys(one for one in taken if isinstance(one, Computed)))
        writer = Writer(table, device, form, 1, known, self.stored, computed=computed)

        def head(kernel: str = self.name) -> str:
            """A kernel's name and parameters."""
            return self.signature(kernel).head(writer)

        context: dict[str, Any] = {
            "name": self.name,
            "w": writer.wider(self.width) if self.width > 1 else writer,
            "v": writer,
            "networks": nets,
            "head": head,
            **dict(self.values),
        }
        opened = render.opening(table.prologue if writer.first("prologue") else "")
        return render.joined(opened, render.render(self.template, context))


def spec(
    name: str,
    template: str,
    form: formats.Format,
    roles: Mapping[str, Network],
    *,
    width: int = 1,
    stored: Mapping[str, formats.Format] | None = None,
    takes: Sequence[Parameter] | Mapping[str, Sequence[Parameter]] = (),
    **values: Any,
) -> KernelSpec:
    """Build a KernelSpec from networks and keyword parameters.

    A storage format is that of all operands; *stored* gives single ones theirs. *takes*: the
    parameters of the one kernel, which is called as the spec, or of several by their names.
    """
    known = dict(stored or {}) | ({"*": form} if form.coded else {})
    taken = takes if isinstance(takes, Mapping) else {name: takes} if takes else {}
    return KernelSpec(
        name,
        template,
        form.arithmetic.name,
        width,
        tuple((role, net.name) for role, net in roles.items()),
        tuple(values.items()),
        tuple((operand, f.name) for operand, f in known.items()),
        tuple(Signature(kernel, tuple(parameters)) for kernel, parameters in taken.items()),
    )


def rendered(specs: Iterable[KernelSpec], on: str, traits: Traits | None = None) -> RenderedSource:
    """One source text with all *specs*, which share a format; arithmetic appears once."""
    emitted: set[str] = set()
    return render.joined(*(s.render(on, traits, emitted) for s in specs))
