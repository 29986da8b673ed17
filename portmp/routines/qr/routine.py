"""QR by Householder's reflections, as one object."""

from collections.abc import Iterator

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines.case import Case
from portmp.routines.factor import panel, small
from portmp.routines.qr import launch, reference
from portmp.routines.routine import Routine
from portmp.runtime.program import CompilationUnit


class Qr(Routine):
    """a = q r by blocks."""

    name = "qr"
    stored = False
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Steps of a panel; panels of few rows."""
        many = launch.of_many(form, device)
        yield from panel.units(panel.alone(launch.alone_spec, form, device), many)
        yield from small.units(
            form, lambda n: launch.small_shape(form, device, n, n), launch.small_spec
        )

    def cases(self, form: Format) -> Iterator[Case]:
        for name, shape in (
            ("ordinary-9x5", (9, 5)),
            ("wide-4x7", (4, 7)),
            ("tall-260x3", (260, 3)),
            ("small-16x16", (16, 16)),
            ("small-50x12", (50, 12)),
        ):
            a = inputs.ordinary(form, shape, f"qr {name}")
            yield Case("qr", name, form, (a,), "linalg.qr", reference.orthogonal)
        a = inputs.ordinary(form, (41, 38), "qr blocks")
        yield Case("qr", "blocks-41x38", form, (a,), "linalg.qr", reference.upper, {"mode": "r"})
