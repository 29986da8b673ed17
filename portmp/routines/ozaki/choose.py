"""How gemm multiplies: methods by name, and by what integers each makes products."""

from portmp.backends.base import Device
from portmp.errors import ArgumentError, choice
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.ozaki import integers, residues, slices, systems
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.launch import Way
from portmp.routines.ozaki.options import Auto, Method, Ozaki1, Ozaki2
from portmp.routines.products import engines

ByIntegers = Ozaki1 | Ozaki2
METHODS: dict[str, Method | None] = {
    "auto": Auto(),
    "direct": None,
    "ozaki1": Ozaki1(),
    "ozaki2": Ozaki2(),
}


def way(form: Format, device: Device, k: int, method: ByIntegers) -> Way:
    """How a method makes products over *k* steps; refuses what it has none for."""
    called = type(method).__name__.lower()
    ozaki.check(form, device, called, method.engine, method.workspace)
    by: ozaki.Scheme
    if isinstance(method, Ozaki1):
        by = slices.Digits(slices.chosen(form, method), method.word)
    else:
        few = systems.system(form, k, method.moduli, method.bits)
        by = residues.of_system(device, k, few, method.workspace, method.components)
    engine = engines.get(device, method.engine, by.word)
    return Way(by, engine, method.workspace, method)


def cut(form: Format, k: int, method: ByIntegers) -> integers.Integers:
    """What operands become for a method's products over *k* steps."""
    if isinstance(method, Ozaki1):
        return slices.chosen(form, method)
    return systems.system(form, k, method.moduli, method.bits)


def resolve(method: object, accuracy: str, schedule: object, form: Format) -> Method | None:
    """The options of a method by its name or itself; None is the direct product."""
    if isinstance(method, (Auto, Ozaki1, Ozaki2)):
        found: Method | None = method
    else:
        found = METHODS[choice("method:", method, METHODS, ", Auto, Ozaki1, Ozaki2")]
    if accuracy != "accurate" or schedule is not None:
        if isinstance(found, (Ozaki1, Ozaki2)):
            raise ArgumentError("accuracy and schedule: given, but only method direct has them")
        return None
    if isinstance(found, (Ozaki1, Ozaki2)):
        base.computes(form, "gemm by integers")
    return found
