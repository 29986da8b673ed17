"""Devices: found, chosen, and probed before their first use."""

from portmp.discovery.finding import (
    BACKENDS,
    INTERPRETED,
    Found,
    devices,
    find,
    get,
    hardware,
    interpreter,
    opened,
)

__all__ = [
    "BACKENDS",
    "INTERPRETED",
    "Found",
    "devices",
    "find",
    "get",
    "hardware",
    "interpreter",
    "opened",
]
