"""Devices: found, chosen, and probed before their first use."""

from portmp.discovery.finding import (
    BACKENDS,
    CHECKED,
    HOST,
    INTERPRETED,
    Found,
    device,
    devices,
    find,
    get,
    hardware,
    interpreter,
    opened,
    queue_of,
)

__all__ = [
    "BACKENDS",
    "CHECKED",
    "HOST",
    "INTERPRETED",
    "Found",
    "device",
    "devices",
    "find",
    "get",
    "hardware",
    "interpreter",
    "opened",
    "queue_of",
]
