"""What the probe finds of a device: how it may be used, or that it may not."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.codegen.platform import Traits

NARROWEST = 128
"""Bits of the loads that kernels have on every device."""


@dataclass(frozen=True)
class Verdict:
    """How a device may be used: with these traits, or not at all."""

    traits: Traits
    repairs: tuple[str, ...] = ()
    refusal: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data for a line or a file."""
        return {
            "traits": asdict(self.traits),
            "repairs": list(self.repairs),
            "refusal": self.refusal,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Verdict":
        """From plain data; KeyError or TypeError where it is none."""
        return cls(Traits(**data["traits"]), tuple(data["repairs"]), data["refusal"])


def narrower(device: Device) -> Traits | None:
    """The device's traits with vectors half as long, or None where it has none to halve."""
    traits = device.traits
    if platform.get(device.platform).vectors == (1,) or traits.vector_bits <= NARROWEST:
        return None
    return replace(traits, vector_bits=traits.vector_bits // 2)
