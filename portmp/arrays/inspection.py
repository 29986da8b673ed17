"""What portmp offers, in the words of the array API standard."""

from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays import dtypes
from portmp.arrays.dtypes import BOOL, INTEGER, Dtype
from portmp.backends.base import Device

__array_api_version__ = "2024.12"
_MOST_AXES = 64


class Info:
    """Capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves open, and portmp has."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MOST_AXES,
        }

    def default_device(self) -> Device:
        """The device of arrays that are given none."""
        return discovery.get()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of arrays that are given none."""
        return {
            "real floating": dtypes.default(),
            "complex floating": dtypes.resolved(complex),
            "integral": INTEGER,
            "indexing": INTEGER,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Dtype]:
        """The standard's dtypes by name, or those of a kind.

        Formats that the standard does not know are in ``portmp.formats``.
        """
        known: dict[str, Dtype] = {"bool": BOOL}
        known |= {name: np.dtype(name) for name in (*dtypes.SIGNED, *dtypes.UNSIGNED)}
        known |= {name: formats.get(name) for name in formats.NUMPYS}
        if device is not None and not discovery.get(device).properties.float64:
            known = {n: d for n, d in known.items() if getattr(d, "word", "float32") == "float32"}
        return {n: d for n, d in known.items() if kind is None or dtypes.isdtype(d, kind)}

    def devices(self) -> list[Device]:
        """Every device that works; ``portmp devices`` lists refused ones, too, with the reason."""
        return discovery.devices()


def __array_namespace_info__() -> Info:
    """Capabilities, devices and dtypes."""
    return Info()
